/* The faults of the chaos test: begun at random, ended in order, and recorded with their times. */
#pragma once

#include "chaos.h"
#include "chaos_hostile.h"
#include "chaos_kinds.h"
#include "chaos_third.h"
#include "support/hosts.h"
#include "support/proxy.h"
#include "support/zk_server.h"

#include <pthread.h>

/* What any process asks for, and any server grants. */
#define CHAOS_LONGEST_SESSION_MS 6000

typedef enum
{
  CHAOS_AT_SERVERS, /* or between them */
  CHAOS_PATH_SILENT,
  CHAOS_PATH_BAD,
  CHAOS_STOPPED,
  CHAOS_ASLEEP,
  CHAOS_KILLED,
  CHAOS_ACL,
  CHAOS_QUOTA,
  CHAOS_THIRD_PARTY /* any */
} ChaosFaultKind;

typedef struct
{
  ChaosFaultKind kind;
  int process; /* 0: servers */
  gint64 from_ns;
  gint64 to_ns;
} ChaosFault;

/* A worker's slot: when its process is killed, another takes it over. */
typedef struct
{
  int process;
  pid_t pid;
  int session_ms;
  Proxy *proxies[3];
  char *connect_string;
  int usual_fds;
  ResolverNames *names;
  gboolean by_name;       /* its processes know the servers by their names */
  int accepted_before[3]; /* of a server that has moved: connections until then; -1: none has */
} ChaosSlot;

typedef struct _ChaosScene ChaosScene;
struct _ChaosScene
{
  char *directory; /* of the epoch, as the next two */
  pthread_t watcher;
  pthread_t observer;
  int last_process;
  guint failures;
  FILE *figures;
  ZkEnsemble *ensemble;
  ZkEnsembleSetup setup; /* as the members are configured now */
  guint n_ensembles;     /* so far */
  gboolean unequal;      /* the members grant different session timeouts */
  GHashTable *timeouts;  /* session, as the servers print it, to its timeout in ms */
  guint shortened;       /* timeouts that changed under a session */
  guint lengthened;
  ChaosKinds kinds;
  ChaosThird *third;
  ChaosHostile *hostile;
  Hosts *absent;     /* in the lists of some slots, each in a way of its own; NULL: none */
  ChaosCells *cells; /* of the epoch */
  ChaosSlot slots[CHAOS_WORKERS];
  GRand *rand;
  GArray *faults; /* of ChaosFault */
  gboolean verbose;
  const char *security; /* of the servers, as of ZkServerSetup */
  /* Kills the process in that slot and starts a new one in it. */
  void (*replace) (ChaosScene *scene, ChaosSlot *slot);
};

/* One round: some simultaneous faults for a while, and a calm phase. FALSE if the ensemble has not
 * recovered. */
gboolean chaos_round (ChaosScene *scene);
/* Moved servers that clients have found, and connections to the hostile and the absent hosts, since
 * the last call. */
void chaos_faults_note_effects (ChaosScene *scene);
/* Says in the slot's names where its servers are. */
void chaos_faults_tell_hosts (ChaosSlot *slot);
