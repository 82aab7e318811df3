/* The command under its lease: signals, deadlines, and an end that leaves nothing running. */
#ifndef ZKFLOCK_SUPERVISOR_H
#define ZKFLOCK_SUPERVISOR_H

#include "options.h"
#include "runner/guard.h"
#include "runner/launcher.h"

#include <curator/curator.h>

typedef struct _Supervisor Supervisor;

typedef struct
{
  const Options *options;
  const char *path; /* for messages */
  Launcher *launcher;
  Guard *guard;
  CuratorLease *lease;
  gint64 session_timeout_ms; /* as granted */
  const char *const *environment;
} SupervisorJob;

/* Runs the command until its whole process group is dead; returns the exit code. Iterates the
 * default main context. lost (out): the hold ended first. */
int supervisor_run (const SupervisorJob *job, gboolean *lost);
/* From inside that iteration: somebody asks for the lock. Nothing happens while none runs. */
void supervisor_revoke (void);

#endif
