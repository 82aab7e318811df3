/* Runs the command under its lease: forwards signals, enforces the deadline, and ends the whole
 * process group. */
#pragma once

#include "base/options.h"
#include "runner/guard.h"
#include "runner/launcher.h"

#include <curator/curator.h>

typedef struct _Supervisor Supervisor;

typedef struct
{
  gboolean lost;    /* the hold ended first */
  gboolean started; /* the command could be run */
} SupervisorEnd;

typedef struct
{
  const Options *options;
  const char *path; /* shown in messages */
  Launcher *launcher;
  Guard *guard;
  Cgroup *cgroup;
  CuratorLease *lease;
  gint64 session_timeout_ms; /* as the server granted it */
  gint64 ends_us;            /* CLOCK_BOOTTIME, of --max-hold; G_MAXINT64: never */
  const char *const *environment;
} SupervisorJob;

/* job is borrowed and must outlive the supervisor. NULL with errno: there is no timer. */
Supervisor *supervisor_new (const SupervisorJob *job);
/* Runs the command until its whole process group, or its control group, is dead or the hold has
 * ended and it could not be killed; returns the exit code. Iterates the
 * default main context. */
int supervisor_run (Supervisor *self, SupervisorEnd *end);
/* Sends TERM to the command because another client asks for the lock. Call it in that iteration;
 * ignored while no command runs. */
void supervisor_revoke (Supervisor *self);
void supervisor_free (Supervisor *self);
