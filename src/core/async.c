/* The common part of the calls that do not wait. Mirrors BackgroundCallback.
 *
 * Threads: an operation may end on any. The user's callback runs on the callback lane; in a child
 * of fork() it runs at once. The cancellable's handler is disconnected there, because an operation
 * may end inside that handler. Nothing is shared but the atomic count of pending parts.
 */
#include "core/async.h"

#include "base/fork_gate.h"
#include "base/thread_start.h"
#include "core/client-record.h"
#include "core/monitor.h"

struct _CuratorAsync
{
  CuratorClient *client; /* a memory reference */
  gpointer owner;
  GDestroyNotify unref_owner;
  CuratorDeliver deliver;
  GCallback callback;
  gpointer user_data;
  GCancellable *cancellable;
  gulong handler;
  gint pending; /* atomic: 2 until the operation, or the call that started it, has ended */
  gpointer result;
  GError *error;
};

CuratorAsync *
curator_async_new (CuratorClient *client, gpointer owner, GDestroyNotify unref_owner,
                   CuratorDeliver deliver, GCallback callback, gpointer user_data)
{
  CuratorAsync *async = g_new (CuratorAsync, 1);
  if (client != NULL)
    curator_client_memory_ref (client);
  *async = (CuratorAsync){ .client = client,
                           .owner = owner,
                           .unref_owner = unref_owner,
                           .deliver = deliver,
                           .callback = callback,
                           .user_data = user_data,
                           .pending = 2 };
  return async;
}

/* Runs on the callback lane. */
static void
deliver (gpointer data)
{
  CuratorAsync *async = data;
  curator_gate_enter ();
  if (async->handler != 0)
    g_cancellable_disconnect (async->cancellable, async->handler);
  curator_gate_leave ();
  async->deliver (async->callback, async->owner, g_steal_pointer (&async->result), async->error,
                  async->user_data);
}

static void
async_free (gpointer data)
{
  CuratorAsync *async = data;
  curator_gate_enter ();
  g_clear_object (&async->cancellable);
  g_clear_error (&async->error);
  curator_gate_leave ();
  async->unref_owner (async->owner);
  g_clear_pointer (&async->client, curator_client_memory_unref);
  g_free (async);
}

/* The callback may end the thread. */
static void *
deliver_here (void *async)
{
  pthread_cleanup_push (async_free, async);
  deliver (async);
  pthread_cleanup_pop (TRUE);
  return NULL;
}

static CURATOR_UNLOCKED void
finish_part (CuratorAsync *async)
{
  CuratorClient *client = async->client;

  if (!g_atomic_int_dec_and_test (&async->pending))
    return;
  /* The callback may run, and free async and client, before curator_client_unlock() returns. */
  curator_client_memory_ref (client);
  curator_client_lock (client);
  curator_dispatch_push (client, CURATOR_LANE_CALLS, deliver, async, async_free);
  curator_client_unlock (client);
  curator_client_memory_unref (client);
}

void
curator_async_done (CuratorOp *op, gpointer result, const GError *error, gpointer data)
{
  CuratorAsync *async = data;
  async->result = result;
  async->error = error != NULL ? g_error_copy (error) : NULL;
  finish_part (async);
}

void
curator_async_end (CuratorAsync *async, GError *error)
{
  async->error = error;
  /* The child of a fork has none of our threads. */
  if (async->client != NULL && curator_client_check_forked (async->client, NULL)) {
    async->pending = 1;
    finish_part (async);
  } else if (async->client != NULL
             || curator_thread_start_detached ("curator-calls", deliver_here, async) != 0) {
    deliver_here (async);
  }
}

void
curator_async_started (CuratorAsync *async, CuratorOp *op, GCancellable *cancellable, GError *error)
{
  if (op == NULL) {
    curator_async_end (async, error);
    return;
  }
  if (cancellable != NULL) {
    async->cancellable = g_object_ref (cancellable);
    async->handler = curator_op_connect (op, cancellable);
  }
  curator_op_unref (op);
  finish_part (async);
}

gboolean
curator_check_call (CuratorClient *client, GCancellable *cancellable, GError **error)
{
  return curator_client_check_usable (client, error)
         && !g_cancellable_set_error_if_cancelled (cancellable, error);
}

gint64
curator_acquire_deadline (CuratorClient *client, gint64 timeout_ms, gboolean *once)
{
  const gint64 deadline_us = curator_client_deadline (client, timeout_ms);
  *once = deadline_us == CURATOR_NO_TIME_US;
  return *once ? curator_client_deadline (client, CURATOR_WAIT_DEFAULT) : deadline_us;
}

gboolean
curator_limits_init (CuratorLimits *limits, CuratorClient *client, gint64 timeout_ms,
                     GCancellable *cancellable, GError **error)
{
  if (!curator_check_call (client, cancellable, error))
    return FALSE;
  *limits = (CuratorLimits){ .client = client,
                             .deadline_us = curator_client_deadline (client, timeout_ms),
                             .cancellable = cancellable };
  return TRUE;
}
