/* Asynchronous operations with a deadline, which may be cancelled.
 *
 * Mirrors nothing: Curator's calls block in place. Threads: any; guarded by the client's mutex.
 */
#include "core/op.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/zk_error.h"

#include <gio/gio.h>
#include <string.h>

gpointer
curator_op_alloc (gsize size, const CuratorOpClass *klass, CuratorClient *client,
                  gint64 deadline_us, CuratorOpDone done, gpointer data)
{
  /* glibc's calloc () does not take a block that the thread has just freed. */
  CuratorOp *op = memset (g_malloc (size), 0, size);
  curator_refs_init (&op->refs);
  curator_refs_inc (&op->refs);
  op->klass = klass;
  op->client = client;
  op->deadline_us = deadline_us;
  op->done = done;
  op->data = data;
  curator_client_memory_ref (client);
  return op;
}

CuratorOp *
curator_op_ref (CuratorOp *op)
{
  curator_refs_inc (&op->refs);
  return op;
}

void
curator_op_unref (CuratorOp *op)
{
  if (!curator_refs_dec (&op->refs))
    return;
  CURATOR_INSIDE_GATE;
  if (op->klass->finalize != NULL)
    op->klass->finalize (op);
  g_clear_error (&op->error);
  curator_client_memory_unref (op->client);
  g_free (op);
}

static CURATOR_LOCKED void
on_deadline (gpointer data)
{
  CuratorOp *op = data;
  op->deadline_timer = NULL;
  GError *reason =
      op->klass->timed_out != NULL
          ? op->klass->timed_out (op)
          : g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT, "the timeout has passed");
  if (reason != NULL)
    op->klass->cancel (op, reason);
}

/* What the op asks for was sent, if there is a connection, and nobody can have answered yet. */
static CURATOR_LOCKED void
on_no_time (CuratorLast *no_time)
{
  CuratorOp *op = CURATOR_CONTAINER (no_time, CuratorOp, no_time);
  if (!op->finished)
    on_deadline (op);
}

void
curator_op_start_deadline (CuratorOp *op)
{
  if (op->deadline_us == CURATOR_NO_TIME_US)
    curator_client_before_unlock (op->client, &op->no_time, on_no_time);
  else if (op->deadline_us != G_MAXINT64)
    op->deadline_timer =
        curator_timer_add (op->client, CURATOR_CLOCK_RUNNING, op->deadline_us, on_deadline, op);
}

gboolean
curator_op_begin (CuratorOp *op)
{
  CuratorClient *client = op->client;

  op->link.data = op;
  op->begun_us = curator_locked_now_us (client);
  g_queue_push_tail_link (&client->ops_running, &op->link);
  GError *error = NULL;
  if (!curator_client_is_running (client))
    error = g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED, "the client is not running");
  else if (client->refused.auth_failure != 0)
    error = curator_error_from_zk (client->refused.auth_failure, "connecting to",
                                   client->connect_string);
  if (error != NULL)
    curator_op_finish (op, NULL, error);
  else
    curator_op_start_deadline (op);
  return error == NULL;
}

void
curator_op_continue (CuratorOp *op, gint64 begun_us, gboolean contender_was_shown)
{
  op->begun_us = begun_us;
  op->contender_was_shown = op->contender_was_shown || contender_was_shown;
}

static void
call_done (gpointer data)
{
  CuratorOp *op = data;
  op->done (op, g_steal_pointer (&op->result), op->error, op->data);
  curator_op_unref (op);
}

void
curator_op_stop_deadline (CuratorOp *op)
{
  curator_timer_cancel (op->client, &op->deadline_timer);
}

void
curator_op_finish (CuratorOp *op, gpointer result, GError *error)
{
  g_assert (!op->finished);
  op->finished = TRUE;
  op->result = result;
  op->error = error;
  if (op->link.data != NULL)
    g_queue_unlink (&op->client->ops_running, &op->link);
  curator_op_stop_deadline (op);
  curator_client_after_unlock (op->client, call_done, op);
}

void
curator_op_cancel (CuratorOp *op, GError *reason)
{
  curator_client_lock (op->client);
  if (!op->finished)
    op->klass->cancel (op, g_steal_pointer (&reason));
  curator_client_unlock (op->client);
  g_clear_error (&reason);
}

/* Runs on the thread that cancels. */
static void
on_cancelled (GCancellable *cancellable, gpointer data)
{
  CuratorOp *op = data;
  g_assert (g_atomic_int_get (&op->connected));
  /* Shows ThreadSanitizer that the thread that disconnects waits for this. */
  curator_op_ref (op);
  curator_op_cancel (
      op, g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "the operation was cancelled"));
  curator_op_unref (op);
}

CURATOR_DESTROY_FUNC (unref_op, curator_op_unref)

gulong
curator_op_connect (CuratorOp *op, GCancellable *cancellable)
{
  CURATOR_INSIDE_GATE;
  /* Shows ThreadSanitizer the hand-over, which GCancellable does out of its sight. */
  g_atomic_int_set (&op->connected, TRUE);
  return g_cancellable_connect (cancellable, G_CALLBACK (on_cancelled), curator_op_ref (op),
                                unref_op);
}

void
curator_client_cancel_ops (CuratorClient *client, int rc)
{
  GQueue *running = &client->ops_running;

  /* Each once. Those that go on for a while stay; none is added. */
  for (guint n = running->length; n > 0 && running->length > 0; n--) {
    GList *link = g_queue_pop_head_link (running);
    CuratorOp *op = link->data;
    g_queue_push_tail_link (running, link);
    GError *reason =
        rc == ZCLOSING
            ? g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED, "the client was closed")
            : curator_error_from_zk (rc, "connecting to", client->connect_string);
    op->klass->cancel (op, reason);
  }
}
