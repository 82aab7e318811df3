/* Short deadlines over a slow connection, and what an abandoned acquire leaves for the next one.
 * What is true when somebody holds, or nobody answers: test_outage. */
#include "integration/fixture.h"

#include <string.h>

#define ROUND_TRIP_MS 50
#define N_SHORT       1000
#define SHORT_MS      3

TEST (test_free_lock)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/no-answer/free");

  proxy_set_delay (fixture->proxy, 5 * ROUND_TRIP_MS, 5 * ROUND_TRIP_MS);
  for (int i = 0; i < N_SHORT; i++)
    assert_not_acquired (lock, SHORT_MS, CURATOR_ERROR_NO_ANSWER);
  proxy_set_delay (fixture->proxy, 0, 0);
  /* All that is left is litter. */
  assert_ok (curator_lock_acquire (lock, 0, NULL, &error), &error);
  assert_released (lock);
  assert_no_residue (fixture, "/no-answer/free", LONG_MS);
}

/* However long the silence is, there is a connection as long as the state says so. */
TEST (test_silent_server)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_proxy (fixture), SESSION_MS);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/no-answer/silent");
  g_autoptr (GError) error = NULL;

  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_false (curator_lock_acquire (lock, SESSION_MS / 2, NULL, &error));
  if (curator_client_get_connection_state (client) == CURATOR_CONNECTION_STATE_CONNECTED)
    assert_curator_error (&error, CURATOR_ERROR_NO_ANSWER);
}

static const struct
{
  const char *path;
  KindNew first; /* gives up */
  KindNew next;
} litterers[] = {
  { "/litter/mutex", mutex_new, mutex_new },
  { "/litter/fixed", fixed_node_new, fixed_node_new },
  { "/litter/write", writer_new, writer_new },
  { "/litter/read", writer_new, reader_new },
  { "/litter/write-2", reader_new, writer_new },
  { "/litter/sem", semaphore_mutex_new, semaphore_mutex_new },
  { "/litter/multi", multi_lock_new, multi_lock_new },
};

/* A short acquire is given up at every moment of its round trips; the single try after it
 * succeeds. */
TEST (test_own_litter_is_no_contender)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));

  for (gsize r = 0; r < G_N_ELEMENTS (litterers); r++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorLock) first = litterers[r].first (client, litterers[r].path);
    g_autoptr (CuratorLock) next = litterers[r].next (client, litterers[r].path);
    /* The path exists from now on. */
    proxy_set_delay (fixture->proxy, 0, 0);
    assert_acquired (next);
    assert_released (next);
    proxy_set_delay (fixture->proxy, ROUND_TRIP_MS / 2, ROUND_TRIP_MS / 2);
    int n_given_up = 0;
    for (int ms = 10; ms < ROUND_TRIP_MS; ms += 10) {
      const gint64 before_ms = wait_now_ms ();
      if (curator_lock_acquire (first, ms, NULL, &error)) {
        /* Nothing ran on this machine before the answer was there. */
        assert_true (wait_now_ms () - before_ms >= ROUND_TRIP_MS);
        assert_released (first);
        continue;
      }
      n_given_up++;
      assert_curator_error (&error, CURATOR_ERROR_NO_ANSWER);
      assert_ok (curator_lock_acquire (next, 0, NULL, &error), &error);
      assert_released (next);
    }
    assert_true (n_given_up > 0);
  }
}

SUITE ("no answer", fixture_start_calm, fixture_stop)
