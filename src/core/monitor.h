/* One mutex per client guards all recipe and session state. A thread that holds it neither blocks
 * nor runs user code. It registers continuations by curator_client_after_unlock(), which
 * curator_client_unlock() runs. guards.h marks the functions and fields that need the mutex.
 */
#ifndef CURATOR_MONITOR_H
#define CURATOR_MONITOR_H

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

void curator_client_memory_ref (CuratorClient *client);
void curator_client_memory_unref (CuratorClient *client);

/* FALSE with FORKED, NOT_STARTED or CLOSED. */
gboolean curator_client_check_usable (CuratorClient *client, GError **error);
gboolean curator_client_check_forked (CuratorClient *client, GError **error);
gboolean curator_client_is_running (CuratorClient *client) CURATOR_LOCKED;

gint64 curator_client_now_us (CuratorClient *client); /* monotonic */
gint64 curator_client_boottime_us (CuratorClient *client);
/* The absolute deadline of a call that begins now; G_MAXINT64 for CURATOR_WAIT_FOREVER. */
gint64 curator_client_deadline (CuratorClient *client, gint64 timeout_ms);

#endif
