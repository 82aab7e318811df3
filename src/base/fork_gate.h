/* A gate through which every thread passes before it works with GLib for us; fork() closes it.
 *
 * GLib has locks of which fork() knows nothing: for small blocks, types, quarks, main contexts. A
 * child that inherits one locked hangs at its next use. So fork() waits until all that passed have
 * left, but not for longer than a second. Nobody waits for another thread, a server or a function
 * of the user's inside. No thread is cancelled inside, nor where it has suspended its passage to
 * wait. Threads: any. Not for signal handlers.
 */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <time.h>

/* Nest. enter waits while a fork is under way, so the caller holds no lock of ours. */
void curator_gate_enter (void);
void curator_gate_leave (void);
/* Around what waits: leaves altogether, and returns what resume takes. */
guint curator_gate_suspend (void);
void curator_gate_resume (guint depth);

/* Inside until the end of the block. */
#define CURATOR_INSIDE_GATE                                                                        \
  __attribute__ ((cleanup (curator_gate_leave_block))) G_GNUC_UNUSED const int inside_gate =       \
      curator_gate_enter_block ()

static inline int
curator_gate_enter_block (void)
{
  curator_gate_enter ();
  return 0;
}

static inline void
curator_gate_leave_block (const int *unused)
{
  curator_gate_leave ();
}

/* Like pthread_cond_timedwait (), for a caller inside; until may be NULL. It may return early. */
int curator_gate_cond_wait (pthread_cond_t *cond, pthread_mutex_t *mutex,
                            const struct timespec *until);

/* Like pthread_atfork (): before is called with the gate closed and everybody out. At most
 * eight. */
void curator_gate_at_fork (void (*before) (void), void (*in_parent) (void),
                           void (*in_child) (void));
