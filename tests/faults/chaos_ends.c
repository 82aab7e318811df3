/* Clients that end at any moment: by close or by their last reference, by the actor, a listener, a
 * callback or a destroy function, while threads wait, hold and end, and calls are cancelled.
 * Nothing may take longer than client.h says, and nothing may stay on the servers. */
#include "chaos_actors.h"
#include "support/waiting.h"

#include <pthread.h>

#define LONGEST_CLOSE_MS 14000 /* what client.h says, and four seconds for a busy machine */
#define SOON_MS          1500  /* for the library to get to user code, if there is a connection */
#define CONNECT_MS       1000
#define HOLD_MS          300
#define N_VICTIMS        3

typedef enum
{
  BY_ACTOR,
  BY_LAST_REFERENCE,
  BY_LISTENER,
  BY_CALLBACK,
  BY_DESTROY,
  BY_CANCELLED_THREADS, /* and the actor */
  N_WAYS
} Way;

typedef struct
{
  const ChaosProcess *process;
  CuratorClient *client;
  CuratorLock *lock;
  GCancellable *cancellable;
  Way way;
  gint n_waiting; /* atomic; threads in a call */
  gint n_owed;    /* atomic; user functions that are still to be called */
  pthread_t victims[N_VICTIMS];
} Life;

/* The time of the process: that in which it did not run does not count. */
static gint64
process_ms (const Life *life)
{
  const ChaosProcess *process = life->process;
  return wait_now_ms () - shared_get (&process->cells->stalled_ms[process->number]);
}

static void
note_close (const Life *life, gint64 began_ms)
{
  if (process_ms (life) - began_ms > LONGEST_CLOSE_MS)
    wait_ms (2 * TICK_OF_WATCH_MS); /* until a stall that has just ended is counted */
  const gint64 took_ms = process_ms (life) - began_ms;
  if (took_ms > LONGEST_CLOSE_MS + 2 * TICK_OF_WATCH_MS) {
    g_printerr ("the end of a client took %d ms, way %d\n", (int) took_ms, (int) life->way);
    shared_add (&life->process->cells->slow_ends, 1);
  }
}

static void
close_client (const Life *life)
{
  const gint64 began_ms = process_ms (life);
  curator_client_close (life->client);
  note_close (life, began_ms);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Every second one ends while it holds the lock. */
static void *
wait_hold_and_end (void *data)
{
  Life *life = data;
  const int salt = g_atomic_int_add (&life->n_waiting, 1);
  const gboolean acquired =
      curator_lock_acquire (life->lock, CURATOR_WAIT_FOREVER, life->cancellable, NULL);
  g_atomic_int_add (&life->n_waiting, -1);
  if (!acquired)
    return NULL;
  wait_ms (salt * HOLD_MS / N_VICTIMS);
  if (salt % 2 == 0)
    pthread_exit (NULL);
  curator_lock_release (life->lock, CONNECT_MS, NULL, NULL);
  return NULL;
}

/* --- user code that ends its client ----------------------------------------------------------- */

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  Life *life = data;
  if (life->way == BY_LISTENER && state == CURATOR_CONNECTION_STATE_CONNECTED)
    close_client (life);
}

static void
on_destroy (gpointer data)
{
  Life *life = data;
  if (life->way == BY_DESTROY)
    close_client (life);
  g_atomic_int_add (&life->n_owed, -1);
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Life *life = data;
  g_clear_pointer (&lease, curator_lease_unref);
  close_client (life);
  g_atomic_int_add (&life->n_owed, -1);
}

/* --- the actor -------------------------------------------------------------------------------- */

/* Whatever happens before, the actor closes the client, too, unless the last reference does. */
static void
end (Life *life, guint listener)
{
  if (life->way == BY_LAST_REFERENCE)
    g_cancellable_cancel (life->cancellable);
  if (life->way == BY_CALLBACK) {
    g_atomic_int_inc (&life->n_owed);
    curator_lock_acquire_then (life->lock, SOON_MS, NULL, on_acquired, life);
  }
  if (life->way == BY_DESTROY)
    curator_client_remove_state_listener (life->client, listener);
  for (int i = 0; i < N_VICTIMS && life->way == BY_CANCELLED_THREADS; i++)
    pthread_cancel (life->victims[i]);
  if (life->way == BY_CALLBACK || life->way == BY_DESTROY)
    wait_ms (SOON_MS / N_VICTIMS);
  if (life->way != BY_LAST_REFERENCE)
    close_client (life);
  for (int i = 0; i < N_VICTIMS; i++)
    pthread_join (life->victims[i], NULL);
  const gint64 began_ms = process_ms (life);
  curator_lock_unref (life->lock);
  curator_client_unref (life->client);
  note_close (life, began_ms);
  while (g_atomic_int_get (&life->n_owed) > 0)
    wait_ms (5);
}

void
chaos_ends_once (const ChaosProcess *process, GRand *rand)
{
  Life life = { .process = process,
                .way = (Way) g_rand_int_range (rand, 0, N_WAYS),
                .cancellable = g_cancellable_new (),
                .n_owed = 1 };
  g_autofree char *path =
      g_strdup_printf (CHAOS_ROOT "/ends-%d", g_rand_int_range (rand, 0, CHAOS_WORKERS / 2));
  life.client = chaos_client_new (process);
  life.lock = curator_mutex_new (life.client, path, NULL);
  const guint listener =
      curator_client_add_state_listener (life.client, on_state, &life, on_destroy);
  g_assert_true (curator_client_start (life.client, NULL));
  for (int i = 0; i < N_VICTIMS; i++)
    pthread_create (&life.victims[i], NULL, wait_hold_and_end, &life);
  if (g_rand_int_range (rand, 0, 4) > 0) {
    G_GNUC_UNUSED const gboolean connected =
        curator_client_block_until_connected (life.client, CONNECT_MS, NULL, NULL);
    wait_ms (g_rand_int_range (rand, 0, HOLD_MS));
  }
  shared_add (&process->cells->ends_in_calls, g_atomic_int_get (&life.n_waiting) > 0);
  end (&life, listener);
  g_object_unref (life.cancellable);
  shared_add (&process->cells->ends, 1);
}
