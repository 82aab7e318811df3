/* An idle secured client: libzookeeper's own pings, whose dates the channel knows, take the place
 * of reads. The client logs in by SASL in clear text, so that the proxy can count its requests. */
#define SUITE_FIXTURE Fixture *fixture
#define SUITE_SETUP   NULL
#include "secured.h"

#include "core/client-record.h"
#include "core/monitor.h"
#include "session/session.h"

#define IDLE_SESSION_MS 9000

/* Until so many pings have come. A read may come only if a busy machine delays a ping, or the one
 * before (gap_ms): pings are due every T/3, reads T/2 after a ping, and every T/4 without dates. */
static void
watch_requests (Proxy *proxy, int n_pings, gint64 gap_ms)
{
  int pings = proxy_count (proxy, PROXY_PING);
  int reads = proxy_count (proxy, PROXY_EXISTS);
  gint64 pinged_ms = wait_now_ms ();

  while (pings < n_pings) {
    const int more_pings = proxy_count (proxy, PROXY_PING);
    const int more_reads = proxy_count (proxy, PROXY_EXISTS);
    const gint64 now_ms = wait_now_ms ();
    assert_true (more_reads == reads || MAX (now_ms - pinged_ms, gap_ms) > 2 * IDLE_SESSION_MS / 5);
    assert_true (now_ms - pinged_ms < LONG_MS);
    gap_ms = more_pings > pings ? now_ms - pinged_ms : gap_ms;
    pinged_ms = more_pings > pings ? now_ms : pinged_ms;
    pings = more_pings;
    reads = more_reads;
    wait_ms (10);
  }
}

static CuratorLeaseEvidence
evidence_of (CuratorClient *client)
{
  curator_client_lock (client);
  const CuratorLeaseEvidence evidence = client->session->clock.evidence;
  curator_client_unlock (client);
  return evidence;
}

TEST (test_idle)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = secured_client (proxy_address (fixture->proxy), NULL);

  curator_client_set_session_timeout (client, IDLE_SESSION_MS);
  assert_ok (curator_client_set_sasl_digest (client, SASL_USER, SASL_PASSWORD, &error), &error);
  const gint64 start_ms = wait_now_ms ();
  client_start (client);
  assert_int_equal (curator_client_get_session_timeout_ms (client), IDLE_SESSION_MS);
  assert_soon (proxy_count (fixture->proxy, PROXY_PING) >= 1);
  const gint64 first_us = curator_client_boottime_us (client);
  watch_requests (fixture->proxy, 3, wait_now_ms () - start_ms);
  print_message ("%d requests and %d pings\n", proxy_count (fixture->proxy, PROXY_ANY_REQUEST),
                 proxy_count (fixture->proxy, PROXY_PING));

  const CuratorLeaseEvidence idle = evidence_of (client);
  assert_true (idle.n_marks > 0);
  assert_true (idle.marks[(idle.n_marks - 1) % CURATOR_N_MARKS].sent_us > first_us);
  assert_true (idle.known_us < first_us);
  assert_int_equal (idle.proof_us, 0);
  /* A lock's first transaction proves that the leader was told what the second ping told a
   * server. */
  g_autoptr (CuratorLock) lock = mutex_new (client, "/idle");
  assert_acquired (lock);
  assert_true (evidence_of (client).known_us > first_us);
  assert_released (lock);
}

SUITE ("secured_idle", secured_start_clear, secured_stop_clear)
