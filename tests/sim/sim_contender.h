/* One contender of a contest; see sim_contest.h. Its fields belong to its actor. */
#ifndef SIM_CONTENDER_H
#define SIM_CONTENDER_H

#include "sim_contest.h"

typedef struct
{
  SimMember *member;
  char *name;
  GCancellable *cancellable;
  gint64 timeout_ms;
  gint64 called_at;
  guint n_pauses;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  gboolean told;
  CuratorLease *lease;
  guint belief;
} SimContender;

/* The actor's function; data is the SimContender. */
void sim_contend (gpointer data);

#endif
