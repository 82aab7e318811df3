/* When a call that waits has returned, the library keeps no reference to the objects of the call:
 * the program's unref is the last, and closes the client before it returns. The thread that wakes
 * the caller goes on only when the caller has looked.
 * The same calls of a thread that is cancelled. */
#include "core/client-record.h"
#include "integration/taking.h"

typedef struct
{
  CuratorZkOps ops; /* first */
  pthread_t caller;
  pthread_cond_t *changed; /* of the client: no call waits for it */
  gint n_wakes;            /* atomic, as the next; one for each call that has waited */
  gint has_looked;
  gint stops_at; /* who wakes so many */
} Stopping;

static void
wake_and_stop (CuratorZkOps *ops, pthread_cond_t *cond)
{
  Stopping *stopping = (Stopping *) ops;

  pthread_cond_broadcast (cond);
  if (cond != stopping->changed
      && g_atomic_int_add (&stopping->n_wakes, 1) + 1 == stopping->stops_at
      && !pthread_equal (pthread_self (), stopping->caller))
    (void) holds_within (g_atomic_int_get (&stopping->has_looked) != 0, LONG_MS);
}

static Stopping stopping;

/* --- calls that wait, each of which succeeds -------------------------------------------------- */

static gboolean
lease (CuratorClient *client)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/last/lease", NULL);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (lock, LONG_MS, NULL, NULL);
  return lease != NULL;
}

static gboolean
released_lease (CuratorClient *client)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/last/lease", NULL);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (lock, LONG_MS, NULL, NULL);
  return lease != NULL && curator_lease_release (lease, LONG_MS, NULL, NULL);
}

static gboolean
semaphore (CuratorClient *client)
{
  g_autoptr (CuratorSemaphore) semaphore = curator_semaphore_new (client, "/last/s", 5, NULL);
  g_autoptr (CuratorLease) one = curator_semaphore_acquire (semaphore, LONG_MS, NULL, NULL);
  return one != NULL;
}

static gboolean
semaphore_of_several (CuratorClient *client)
{
  g_autoptr (CuratorSemaphore) semaphore = curator_semaphore_new (client, "/last/n", 5, NULL);
  g_autoptr (GPtrArray) leases = curator_semaphore_acquire_n (semaphore, 3, LONG_MS, NULL, NULL);
  return leases != NULL;
}

static gboolean
latch (CuratorClient *client)
{
  g_autoptr (CuratorLeaderLatch) latch = curator_leader_latch_new (client, "/last/l", "", NULL);
  return curator_leader_latch_start (latch, NULL)
         && curator_leader_latch_await (latch, LONG_MS, NULL, NULL);
}

static gboolean
participants (CuratorClient *client)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/last/participants", NULL);
  g_auto (GStrv) nodes = curator_lock_get_participant_nodes (lock, LONG_MS, NULL, NULL);
  return nodes != NULL;
}

/* --- and several in a row --------------------------------------------------------------------- */

static gboolean
whole_lease (CuratorClient *client)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/last/whole", NULL);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (lock, LONG_MS, NULL, NULL);
  return lease != NULL && curator_lease_get_fd (lease) >= 0
         && curator_lease_get_cancellable (lease) != NULL
         && !curator_lock_acquire (lock, 20, NULL, NULL) /* waits */
         && curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
}

static gboolean
two_levels (CuratorClient *client)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/last/levels", NULL);
  return curator_lock_acquire (lock, LONG_MS, NULL, NULL)
         && curator_lock_acquire (lock, LONG_MS, NULL, NULL)
         && curator_lock_release (lock, LONG_MS, NULL, NULL)
         && curator_lock_release (lock, LONG_MS, NULL, NULL);
}

static gboolean
counted_semaphore (CuratorClient *client)
{
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (client, "/last/c", 2, NULL);
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (client, "/last/counted", count, NULL);
  if (!curator_shared_count_start (count, LONG_MS, NULL, NULL)
      || !curator_shared_count_set (count, 3, LONG_MS, NULL, NULL))
    return FALSE;
  g_autoptr (GPtrArray) leases = curator_semaphore_acquire_n (semaphore, 2, LONG_MS, NULL, NULL);
  const gboolean returned =
      leases != NULL && curator_semaphore_return_all (semaphore, leases, LONG_MS, NULL, NULL);
  curator_shared_count_close (count);
  return returned;
}

static gboolean
whole_latch (CuratorClient *client)
{
  g_autoptr (CuratorLeaderLatch) latch = curator_leader_latch_new (client, "/last/w", "id", NULL);
  if (!curator_leader_latch_start (latch, NULL)
      || !curator_leader_latch_await (latch, LONG_MS, NULL, NULL))
    return FALSE;
  g_autoptr (GPtrArray) participants =
      curator_leader_latch_get_participants (latch, LONG_MS, NULL, NULL);
  curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
  return participants != NULL;
}

static void
lead_briefly (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
              gpointer user_data)
{
}

static gboolean
selector (CuratorClient *client)
{
  g_autoptr (CuratorLeaderSelector) selector =
      curator_leader_selector_new (client, "/last/selector", lead_briefly, NULL, NULL, NULL);
  const gboolean is_started = curator_leader_selector_start (selector, NULL);
  curator_leader_selector_interrupt_leadership (selector);
  curator_leader_selector_close (selector);
  return is_started;
}

static const struct
{
  const char *name;
  int n_waits;                              /* 0: several in a row */
  gboolean (*call) (CuratorClient *client); /* or: */
  KindNew kind;                             /* to be acquired, and released with the second wait */
} calls[] = {
  { "mutex", 1, .kind = mutex_new },
  { "fixed-node", 1, .kind = fixed_node_new },
  { "semaphore-mutex", 1, .kind = semaphore_mutex_new },
  { "multi-lock", 1, .kind = multi_lock_new },
  { "released-mutex", 2, .kind = mutex_new },
  { "released-multi-lock", 2, .kind = multi_lock_new },
  { "lease", 1, lease },
  { "released lease", 2, released_lease },
  { "semaphore", 1, semaphore },
  { "semaphore of several", 1, semaphore_of_several },
  { "latch", 1, latch },
  { "participants", 1, participants },
  { "whole lease", 0, whole_lease },
  { "two levels", 0, two_levels },
  { "counted semaphore", 0, counted_semaphore },
  { "whole latch", 0, whole_latch },
  { "selector", 0, selector },
};

static gboolean
make_call (gsize i, CuratorClient *client)
{
  if (calls[i].call != NULL)
    return calls[i].call (client);
  g_autofree char *path = g_strconcat ("/last/", calls[i].name, NULL);
  g_autoptr (CuratorLock) lock = calls[i].kind (client, path);
  return curator_lock_acquire (lock, LONG_MS, NULL, NULL)
         && (calls[i].n_waits < 2 || curator_lock_release (lock, LONG_MS, NULL, NULL));
}

TEST (test_every_waiting_call)
{
  int wrong = 0;

  stopping.ops = *curator_zk_ops_real ();
  stopping.ops.wake = wake_and_stop;
  stopping.caller = pthread_self ();
  for (gsize i = 0; i < G_N_ELEMENTS (calls) && calls[i].n_waits > 0; i++) {
    g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
    CuratorClient *client =
        curator_client_new_with_ops (fixture_server (fixture), policy, &stopping.ops);
    stopping.changed = &client->ended;
    stopping.n_wakes = 0;
    stopping.stops_at = calls[i].n_waits;
    g_atomic_int_set (&stopping.has_looked, 0);
    assert_true (curator_client_start (client, NULL));
    assert_soon (curator_client_get_connection_state (client)
                 == CURATOR_CONNECTION_STATE_CONNECTED);
    assert_true (make_call (i, client));
    const gint left = g_atomic_int_get (&client->refs);
    g_atomic_int_set (&stopping.has_looked, 1);
    if (left != 1) {
      print_error ("%s: %d references of the library are left\n", calls[i].name, left - 1);
      wrong++;
    }
    curator_client_close (client);
    curator_client_unref (client);
  }
  assert_int_equal (wrong, 0);
}

/* --- of a thread that is cancelled ------------------------------------------------------------ */

typedef struct
{
  CuratorClient *client;
  gsize call;
  gboolean succeeded;
  gboolean ended;
} CancelledLife;

/* Ends at the first cancellation point: no function of the library has one. */
static void *
live_while_cancelled (void *data)
{
  CancelledLife *life = data;

  pthread_cancel (pthread_self ());
  life->succeeded = curator_client_start (life->client, NULL)
                    && curator_client_block_until_connected (life->client, LONG_MS, NULL, NULL)
                    && make_call (life->call, life->client);
  curator_client_close (life->client);
  curator_client_unref (life->client);
  life->ended = TRUE;
  pthread_testcancel ();
  return NULL;
}

TEST (test_whole_life_of_a_cancelled_thread)
{
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++) {
    CancelledLife life = { .client = client_new (fixture_server (fixture)), .call = i };
    pthread_t thread;
    void *result;

    assert_int_equal (pthread_create (&thread, NULL, live_while_cancelled, &life), 0);
    assert_int_equal (pthread_join (thread, &result), 0);
    if (!life.succeeded || !life.ended)
      fail_msg ("%s: %s", calls[i].name, life.ended ? "failed" : "ended the thread");
    assert_ptr_equal (result, PTHREAD_CANCELED);
  }
}

SUITE ("last reference", fixture_start_calm, fixture_stop)
