/* The faults of the chaos test: begun at random, ended in order, and recorded with their times. */
#ifndef CURATOR_TEST_CHAOS_FAULTS_H
#define CURATOR_TEST_CHAOS_FAULTS_H

#include "chaos_hostile.h"
#include "chaos_judge.h"
#include "chaos_kinds.h"
#include "chaos_third.h"
#include "support/hosts.h"
#include "support/proxy.h"
#include "support/zk_server.h"

#include <sys/types.h>

/* A worker's slot: when its process is killed, another takes it over. */
typedef struct
{
  int process;
  pid_t pid;
  int session_ms;
  Proxy *proxies[3];
  char *connect_string;
  int usual_fds;
  MachineClocks *clocks; /* what the process sees of them */
  ChaosNames *names;
  char *names_path;
  gboolean by_name;       /* its processes know the servers by their names */
  int accepted_before[3]; /* of a server that has moved: connections until then; -1: none has */
} ChaosSlot;

typedef struct
{
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
  guint hostile_counted; /* of what it has served */
  Hosts *absent;         /* in the lists of some slots, each in a way of its own; NULL: none */
  int first_absent;      /* where the list of the first slot is in the order of these ways */
  ChaosSlot slots[CHAOS_WORKERS];
  GRand *rand;
  GArray *faults; /* of ChaosFault */
  gboolean verbose;
  const char *security; /* of the servers, as of ZkServerSetup */
  /* Kills the process in that slot and starts a new one in it. */
  void (*replace) (gpointer data, int slot);
  gpointer data;
} ChaosScene;

/* One round: some simultaneous faults for a while, and a calm phase. FALSE if the ensemble has not
 * recovered. */
gboolean chaos_round (ChaosScene *scene);
/* Moved servers that clients have found, and connections to the hostile and the absent hosts, since
 * the last call. */
void chaos_faults_note_effects (ChaosScene *scene);
/* The IPv4 address, big-endian, of "a.b.c.d:port". */
guint32 chaos_faults_host (const char *address);
/* Says in the slot's names where its servers are. */
void chaos_faults_tell_hosts (ChaosSlot *slot);

#endif
