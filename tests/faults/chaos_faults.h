/* The faults of the chaos: begun at random, ended in order, and noted with their times. */
#ifndef CURATOR_TEST_CHAOS_FAULTS_H
#define CURATOR_TEST_CHAOS_FAULTS_H

#include "chaos_judge.h"
#include "support/proxy.h"
#include "support/zk_server.h"

#include <sys/types.h>

/* A worker's place: the process in it changes when it is killed. */
typedef struct
{
  int process;
  pid_t pid;
  int session_ms;
  Proxy *proxies[3];
  char *connect_string;
  int usual_fds;
} ChaosSlot;

typedef struct
{
  ZkEnsemble *ensemble;
  ChaosSlot slots[CHAOS_WORKERS];
  GRand *rand;
  GArray *faults; /* of ChaosFault */
  gboolean verbose;
  /* Kills the process in that slot and puts a new one there. */
  void (*replace) (gpointer data, int slot);
  gpointer data;
} ChaosScene;

/* One round: some faults at once, for a while, and the calm after them. FALSE if the ensemble has not
 * become whole again. */
gboolean chaos_round (ChaosScene *scene);

#endif
