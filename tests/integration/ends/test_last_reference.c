/* When a call that waits has returned, the library keeps no reference to the objects of the call:
 * the program's unref is the last, and closes the client before it returns. The thread that wakes
 * the caller goes on only when the caller has looked. */
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

static void
acquire (CuratorLock *lock)
{
  assert_non_null (lock);
  assert_acquired (lock);
  curator_lock_unref (lock);
}

static void
mutex (CuratorClient *client)
{
  acquire (mutex_new (client, "/last/mutex"));
}

static void
fixed_node (CuratorClient *client)
{
  acquire (fixed_node_new (client, "/last/fixed"));
}

static void
semaphore_mutex (CuratorClient *client)
{
  acquire (semaphore_mutex_new (client, "/last/semaphore-mutex"));
}

static void
multi_lock (CuratorClient *client)
{
  acquire (multi_lock_new (client, "/last/a"));
}

static void
lease (CuratorClient *client)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/last/lease", NULL);

  CuratorLease *lease = lease_of (lock);
  curator_lease_unref (lease);
}

static void
released_lease (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/last/lease", NULL);
  g_autoptr (CuratorLease) lease = lease_of (lock);
  assert_ok (curator_lease_release (lease, LONG_MS, NULL, &error), &error);
}

static void
acquire_and_release (CuratorLock *lock)
{
  g_autoptr (GError) error = NULL;

  assert_acquired (lock);
  assert_ok (curator_lock_release (lock, LONG_MS, NULL, &error), &error);
  curator_lock_unref (lock);
}

static void
released_lock (CuratorClient *client)
{
  acquire_and_release (mutex_new (client, "/last/lock"));
}

static void
released_multi_lock (CuratorClient *client)
{
  acquire_and_release (multi_lock_new (client, "/last/a"));
}

static void
semaphore (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSemaphore) semaphore = curator_semaphore_new (client, "/last/s", 5, &error);

  CuratorLease *one = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
  assert_ok (one != NULL, &error);
  curator_lease_unref (one);
}

static void
semaphore_of_several (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSemaphore) semaphore = curator_semaphore_new (client, "/last/n", 5, &error);

  GPtrArray *leases = curator_semaphore_acquire_n (semaphore, 3, LONG_MS, NULL, &error);
  assert_ok (leases != NULL, &error);
  g_ptr_array_unref (leases);
}

static void
latch (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLeaderLatch) latch = curator_leader_latch_new (client, "/last/l", "", &error);

  assert_ok (curator_leader_latch_start (latch, &error), &error);
  assert_ok (curator_leader_latch_await (latch, LONG_MS, NULL, &error), &error);
}

static void
participants (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/last/participants", NULL);

  g_auto (GStrv) nodes = curator_lock_get_participant_nodes (lock, LONG_MS, NULL, &error);
  assert_ok (nodes != NULL, &error);
}

TEST (test_every_waiting_call)
{
  static const struct
  {
    const char *name;
    void (*call) (CuratorClient *client);
    int n_waits;
  } calls[] = {
#define CALL(call) { #call, call, 1 }
#define RELEASE(call)                                                                              \
  {                                                                                                \
#call, call, 2                                                                                 \
  }
    CALL (mutex),
    CALL (fixed_node),
    CALL (semaphore_mutex),
    CALL (multi_lock),
    CALL (lease),
    RELEASE (released_lease),
    RELEASE (released_lock),
    RELEASE (released_multi_lock),
    CALL (semaphore),
    CALL (semaphore_of_several),
    CALL (latch),
    CALL (participants),
#undef CALL
#undef RELEASE
  };
  int wrong = 0;

  stopping.ops = *curator_zk_ops_real ();
  stopping.ops.wake = wake_and_stop;
  stopping.caller = pthread_self ();
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
      CuratorClient *client =
          curator_client_new_with_ops (fixture_server (fixture), policy, &stopping.ops);
      stopping.changed = &client->closing.changed;
      stopping.n_wakes = 0;
      stopping.stops_at = calls[i].n_waits;
      g_atomic_int_set (&stopping.has_looked, 0);
      assert_true (curator_client_start (client, NULL));
      assert_soon (curator_client_get_connection_state (client)
                   == CURATOR_CONNECTION_STATE_CONNECTED);
      calls[i].call (client);
      const gint left = g_atomic_int_get (&client->refs);
      g_atomic_int_set (&stopping.has_looked, 1);
      if (left != 1)
        {
          print_error ("%s: %d references of the library are left\n", calls[i].name, left - 1);
          wrong++;
        }
      curator_client_close (client);
      curator_client_unref (client);
    }
  assert_int_equal (wrong, 0);
}

SUITE ("last reference", fixture_start, fixture_stop)
