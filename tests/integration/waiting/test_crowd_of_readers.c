/* Thousands of readers behind one writer: what each costs does not grow with their number, and the
 * holder's clock answers meanwhile without the client's mutex.
 */
#include "integration/fixture.h"

#include "core/client-record.h"
#include "core/monitor.h"
#include "support/sanitized.h"

#define FEW            (IS_SANITIZED ? 200 : 1250)
#define MANY           (4 * FEW)
#define READERS_BEHIND (IS_SANITIZED ? 100 : 600)
#define ASKS           200

typedef struct
{
  CuratorRwLock *rw_lock;
  CuratorLease *writer;
  gint n_granted; /* atomic */
} Crowd;

static void
on_granted (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Crowd *crowd = data;
  if (lease != NULL)
    {
      g_atomic_int_inc (&crowd->n_granted);
      curator_lease_unref (lease);
    }
}

static void
crowd_start (Crowd *crowd, CuratorClient *client, const char *path, int n)
{
  g_autoptr (GError) error = NULL;

  crowd->n_granted = 0;
  crowd->rw_lock = curator_rw_lock_new (client, path, NULL, 0, &error);
  assert_non_null (crowd->rw_lock);
  crowd->writer = curator_lock_acquire_lease (curator_rw_lock_get_write_lock (crowd->rw_lock),
                                              LONG_MS, NULL, &error);
  assert_non_null (crowd->writer);
  for (int i = 0; i < n; i++)
    {
      curator_lock_acquire_then (curator_rw_lock_get_read_lock (crowd->rw_lock),
                                 CURATOR_WAIT_FOREVER, NULL, on_granted, crowd);
    }
}

static void
crowd_wait_granted (Crowd *crowd, int n)
{
  const gint64 until = g_get_monotonic_time () + 8 * LONG_MS * 1000;
  while (g_atomic_int_get (&crowd->n_granted) < n && g_get_monotonic_time () < until)
    g_usleep (2000);
  assert_int_equal (g_atomic_int_get (&crowd->n_granted), n);
}

static void
crowd_stop (Crowd *crowd)
{
  curator_lease_unref (crowd->writer);
  curator_rw_lock_unref (crowd->rw_lock);
}

static guint64
requests_of (CuratorClient *client)
{
  guint64 counters[CURATOR_COUNTER_REQUESTS + 1] = { 0 };
  curator_client_get_counters (client, counters, G_N_ELEMENTS (counters));
  return counters[CURATOR_COUNTER_REQUESTS];
}

/* The requests that n readers cost until all are granted and gone. */
static guint64
cost_of (Fixture *fixture, const char *path, int n)
{
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (GError) error = NULL;
  Crowd crowd;

  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  client_start (client);
  const guint64 before = requests_of (client);
  crowd_start (&crowd, client, path, n);
  assert_true (raw_zk_wait_children (fixture->raw, path, n + 1, 8 * LONG_MS));
  assert_ok (curator_lease_release (crowd.writer, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  crowd_wait_granted (&crowd, n);
  const guint64 cost = requests_of (client) - before;
  crowd_stop (&crowd);
  return cost;
}

/* A create, a delete that need not have been sent yet, and a share of the lists: with one list
 * each, four times as many readers read sixteen times as many names. */
TEST (test_a_reader_costs_no_more_in_a_crowd)
{
  const guint64 few = cost_of (fixture, "/few", FEW);
  const guint64 many = cost_of (fixture, "/many", MANY);

  assert_in_range (few, FEW, 5 * FEW / 2);
  assert_in_range (many, MANY, 5 * MANY / 2);
}

typedef struct
{
  CuratorLock *lock;
  CuratorLease *lease;
  gint finished; /* atomic: how many asks */
} Asker;

static gpointer
ask (gpointer data)
{
  Asker *asker = data;
  for (int i = 0; i < ASKS; i++)
    if (curator_lease_get_remaining_ms (asker->lease) > 0
        && curator_lease_get_state (asker->lease) == CURATOR_LEASE_HELD)
      g_atomic_int_inc (&asker->finished);
  return NULL;
}

/* Whatever is done under the client's mutex, however long, the clock does not wait for it. */
TEST (test_the_clock_takes_no_mutex)
{
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  Asker asker = { 0 };
  Crowd crowd;

  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  client_start (client);
  crowd_start (&crowd, client, "/clock", READERS_BEHIND);
  asker.lease = crowd.writer;
  curator_client_lock (client);
  GThread *thread = g_thread_new ("ask", ask, &asker);
  const gint64 until = g_get_monotonic_time () + LONG_MS * 1000;
  while (g_atomic_int_get (&asker.finished) < ASKS && g_get_monotonic_time () < until)
    g_usleep (1000);
  const gint finished = g_atomic_int_get (&asker.finished);
  curator_client_unlock (client);
  g_thread_join (thread);
  assert_int_equal (finished, ASKS);
  assert_true (curator_lease_release (crowd.writer, CURATOR_WAIT_DEFAULT, NULL, NULL));
  crowd_wait_granted (&crowd, READERS_BEHIND);
  crowd_stop (&crowd);
}

/* Nor does a re-entry. */
TEST (test_a_reentry_takes_no_mutex)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_server (fixture), LONG_SESSION_MS);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/reentry");
  assert_true (curator_lock_acquire (lock, LONG_MS, NULL, NULL));
  assert_true (curator_lock_acquire (lock, LONG_MS, NULL, NULL)); /* remembered from here on */
  curator_client_lock (client);
  const gboolean entered = curator_lock_acquire (lock, LONG_MS, NULL, NULL);
  curator_client_unlock (client);
  assert_true (entered);
  for (int i = 0; i < 3; i++)
    assert_true (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

SUITE ("crowd of readers", fixture_start_slow, fixture_stop)
