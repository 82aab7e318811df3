/* Blocks a thread until its operation has ended.
 *
 * Mirrors nothing: Curator blocks in ZooKeeper's own calls. Threads: the one that waits and the one
 * that brings the result; guarded by the mutex of the seat. A seat is a thread's own mutex and
 * condition variable.
 *
 * NOTES: the waiting thread is woken after the mutex is unlocked, or it would block on it at once.
 * By then it may have woken by itself and be gone with its await, so the seat has a reference
 * count. The count of seats is atomic.
 */
#include "core/await.h"

#include "base/fork_gate.h"
#include "core/client-record.h"
#include "core/cond_init.h"

struct _CuratorSeat
{
  CuratorRefs refs; /* the thread's, and one for each thread that is waking it */
  pthread_mutex_t mutex;
  pthread_cond_t cond;
};

/* From so many on, a wake-up must not walk through those who wait. */
#define MANY_SEATS 128

static gint n_seats;

static void
seat_unref (void *data)
{
  CuratorSeat *seat = data;
  if (curator_refs_dec (&seat->refs)) {
    pthread_cond_destroy (&seat->cond);
    pthread_mutex_destroy (&seat->mutex);
    g_free (seat);
    g_atomic_int_add (&n_seats, -1);
  }
}

/* The thread's seat is created when it first waits, and freed when it ends. */
static GPrivate own_seat = G_PRIVATE_INIT (seat_unref);

void
curator_await_init (CuratorAwait *await, CuratorClient *client)
{
  *await = (CuratorAwait){ .ops = client->ops, .seat = g_private_get (&own_seat) };
  if (await->seat != NULL)
    return;
  await->seat = g_new0 (CuratorSeat, 1);
  curator_refs_init (&await->seat->refs);
  pthread_mutex_init (&await->seat->mutex, NULL);
  curator_cond_init (&await->seat->cond, g_atomic_int_add (&n_seats, 1) >= MANY_SEATS);
  g_private_set (&own_seat, await->seat);
}

static void
wake (CuratorLast *last)
{
  CuratorAwait *await = (CuratorAwait *) last;
  CuratorSeat *seat = await->seat;
  CuratorZkOps *ops = await->ops;

  curator_refs_inc (&seat->refs);
  pthread_mutex_lock (&seat->mutex);
  await->done = TRUE;
  pthread_mutex_unlock (&seat->mutex);
  ops->wake (ops, &seat->cond);
  seat_unref (seat);
}

void
curator_await_done (CuratorOp *op, gpointer result, const GError *error, gpointer data)
{
  CuratorAwait *await = data;
  await->result = result;
  await->error = error != NULL ? g_error_copy (error) : NULL;
  /* The caller's unref that follows is to be the last one. */
  curator_client_at_last (&await->last, wake);
}

gboolean
curator_await_op (CuratorAwait *await, CuratorOp *op, GCancellable *cancellable, gpointer *result,
                  GError **error)
{
  /* The await lies on this thread's stack, so it must not be cancelled before the operation
   * ends. */
  CURATOR_INSIDE_GATE;
  const gulong handler = cancellable != NULL ? curator_op_connect (op, cancellable) : 0;
  CuratorSeat *seat = await->seat;

  const guint depth = curator_gate_suspend ();
  pthread_mutex_lock (&seat->mutex);
  while (!await->done)
    await->ops->wait (await->ops, &seat->cond, &seat->mutex);
  pthread_mutex_unlock (&seat->mutex);
  curator_gate_resume (depth);
  if (handler != 0)
    g_cancellable_disconnect (cancellable, handler);
  curator_op_unref (op);
  if (await->error != NULL) {
    g_propagate_error (error, await->error);
    return FALSE;
  }
  if (result != NULL)
    *result = await->result;
  return TRUE;
}
