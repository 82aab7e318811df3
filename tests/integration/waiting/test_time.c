/* The duration of calls: timeouts and cancellation work whatever the server does. */
#include "integration/fixture.h"
#include "support/metronome.h"

/* Less than the session and connection timeouts, for which a call must not wait. */
#define OVERRUN_MS (SESSION_MS / 2)
#define CANCEL_MS  (SESSION_MS / 2)

static void
check_timeout (CuratorLock *lock, int timeout_ms, gboolean may_lose)
{
  g_autoptr (GError) error = NULL;
  gint64 start = wait_now_ms ();
  assert_false (curator_lock_acquire (lock, timeout_ms, NULL, &error));
  gint64 took = wait_now_ms () - start;
  /* types.h: milliseconds for the whole call. */
  assert_promised_ms (took, timeout_ms + OVERRUN_MS, start);
  /* In so short a time the server may not have answered. */
  may_lose = may_lose || timeout_ms - metronome_stalled_us (start * 1000) / 1000 < 100;
  if (!may_lose
      || (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)
          && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST))) {
    assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
    assert_true (took >= timeout_ms - 1);
  }
}

static void
check_cancel (CuratorLock *lock, int after_ms)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (Contender) contender = contender_start (lock, CURATOR_WAIT_FOREVER, cancellable);
  wait_ms (after_ms);
  gint64 cancelled_ms = wait_now_ms ();
  g_cancellable_cancel (cancellable);
  assert_true (contender_wait (contender, LONG_MS));
  /* lock.h: a cancelled call returns at once. */
  assert_promised_ms (contender->returned_ms - cancelled_ms, CANCEL_MS, cancelled_ms);
  assert_false (contender->acquired);
  assert_error (&contender->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* What the connection does, and how long the calls wait. */
static const struct
{
  const char *name;
  ProxyMode mode;
  int timeouts[6]; /* up to 0 */
} grounds[] = {
  { "held by another", PROXY_PASS, { 1, 20, 100, 300, 1000 } },
  { "a silent server", PROXY_HOLE, { 50, 300, 4000 } }, /* the connection is given up meanwhile */
  { "no server any more", PROXY_REFUSE, { 50, 300, 2000 } },
};

TEST (test_p17_on_every_ground)
{
  for (gsize i = 0; i < G_N_ELEMENTS (grounds); i++) {
    const gboolean is_held = grounds[i].mode == PROXY_PASS;
    g_autoptr (CuratorClient) client =
        client_connect_for (fixture_proxy (fixture), is_held ? LONG_SESSION_MS : SESSION_MS);
    g_autoptr (CuratorLock) lock = mutex_new (client, "/time/grounds");
    Contender *holder = is_held ? contender_of (lock) : NULL;
    print_message ("%s\n", grounds[i].name);
    proxy_set_mode (fixture->proxy, grounds[i].mode);
    check_cancel (lock, 0);
    for (const int *timeout = grounds[i].timeouts; *timeout != 0; timeout++)
      check_timeout (lock, *timeout, !is_held);
    check_cancel (lock, 100);
    proxy_set_mode (fixture->proxy, PROXY_PASS);
    contender_free (holder);
    assert_acquired (lock);
    assert_released (lock);
    assert_no_residue (fixture, "/time/grounds", LONG_MS);
  }
}

/* Never connected: the same bounds. */
TEST (test_p17_no_server)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *address = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (address);
  assert_ok (curator_client_start (client, &error), &error);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/time/none");
  check_timeout (lock, 50, TRUE);
  check_timeout (lock, 500, TRUE);
  check_cancel (lock, 100);
}

/* An exhausted retry policy ends a call before its timeout: Curator's ConnectionLoss. */
TEST (test_retries_used_up)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_n_times (2, 50);
  g_autoptr (CuratorClient) client = curator_client_new (fixture_proxy (fixture), policy);
  curator_client_set_session_timeout (client, SESSION_MS);
  curator_client_set_connection_timeout (client, 300);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/time/retries");
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  gint64 start = wait_now_ms ();
  assert_false (curator_lock_acquire (lock, 60000, NULL, &error));
  gint64 took = wait_now_ms () - start;
  assert_curator_error (&error, CURATOR_ERROR_CONNECTION_LOST);
  /* retry.h: two retries, not the whole time. */
  assert_promised_ms (took, 10000, start);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
}

PROMPT_SUITE ("time", fixture_start_slow, fixture_stop)
