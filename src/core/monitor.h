/* One mutex per client guards all recipe and session state. A thread that holds it neither blocks
 * nor runs user code. It registers continuations by curator_client_after_unlock(), which
 * curator_client_unlock() runs. guards.h marks the functions and fields that need the mutex.
 */
#pragma once

#include "base/guards.h"
#include "core/dispatch.h"

void curator_client_lock (CuratorClient *client) CURATOR_LOCKS;
void curator_client_unlock (CuratorClient *client) CURATOR_UNLOCKS;
/* The client whose mutex the calling thread holds, or NULL. */
CuratorClient *curator_locked_client (void);
/* Runs func (data) right after the unlock, on the same thread. For internal continuations only,
 * never for user code. */
void curator_client_after_unlock (CuratorClient *client, CuratorWork func,
                                  gpointer data) CURATOR_LOCKED;

/* Runs func at the end of all that the outermost unlock of this thread runs; at once outside of
 * one. Who is woken there finds that the library has dropped its references. The caller's memory;
 * it may be gone when func returns. */
typedef struct _CuratorLast CuratorLast;
struct _CuratorLast
{
  CuratorLast *next;
  void (*func) (CuratorLast *last);
};
void curator_client_at_last (CuratorLast *last, void (*func) (CuratorLast *last));
/* Runs func right before the unlock that follows, with the mutex held. The caller's memory. */
void curator_client_before_unlock (CuratorClient *client, CuratorLast *before,
                                   void (*func) (CuratorLast *before)) CURATOR_LOCKED;

void curator_client_memory_ref (CuratorClient *client);
void curator_client_memory_unref (CuratorClient *client);

/* FALSE with FORKED, NOT_STARTED or CLOSED. */
gboolean curator_client_check_usable (CuratorClient *client, GError **error);
gboolean curator_client_check_forked (CuratorClient *client, GError **error);
gboolean curator_client_is_running (CuratorClient *client) CURATOR_LOCKED;

/* What an expression is while the mutex is held. */
#define CURATOR_WITH_MUTEX(client, expression)                                                     \
  (__extension__({                                                                                 \
    curator_client_lock (client);                                                                  \
    const __auto_type with_mutex = (expression);                                                   \
    curator_client_unlock (client);                                                                \
    with_mutex;                                                                                    \
  }))
/* The same; or, in the child of a fork, what is to stand for it. */
#define CURATOR_UNLESS_FORKED(client, expression, otherwise)                                       \
  (curator_client_check_forked (client, NULL) ? CURATOR_WITH_MUTEX (client, expression)            \
                                              : (otherwise))

gint64 curator_client_now_us (CuratorClient *client); /* monotonic */
gint64 curator_client_boottime_us (CuratorClient *client);
/* The same, read once while a thread holds the mutex. For requests, timers and counts, which may be
 * dated a little early. What judges a hold, or follows an answer, reads again. */
gint64 curator_locked_now_us (CuratorClient *client) CURATOR_LOCKED;
gint64 curator_locked_boottime_us (CuratorClient *client) CURATOR_LOCKED;
gint64 curator_locked_reread_us (CuratorClient *client) CURATOR_LOCKED; /* CLOCK_BOOTTIME */
/* The mutex is about to be given back for a while. */
void curator_locked_forget_clocks (CuratorClient *client) CURATOR_LOCKED;
/* The deadline for a timeout of 0, or a negative one: it has passed. */
#define CURATOR_NO_TIME_US 0
/* The absolute deadline of a call that begins now, from the timeout that the user gave; G_MAXINT64
 * for CURATOR_WAIT_FOREVER, and for what ends later than time does. */
gint64 curator_client_deadline (CuratorClient *client, gint64 timeout_ms);
