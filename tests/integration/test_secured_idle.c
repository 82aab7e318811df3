/* An idle secured client: libzookeeper's own pings, whose dates the channel knows, take the place of
 * reads. The client logs in by SASL in clear text, so that the proxy can count its requests. */
#include "secured.h"

#include "client/client-private.h"
#include "client/monitor.h"
#include "client/session.h"

/* A read is due T/6 after a ping: as late may a ping be under load. */
#define IDLE_SESSION_MS 9000

typedef struct
{
  Proxy *proxy;
  int n;
} Pings;

static gboolean
has_pinged (gpointer data)
{
  const Pings *pings = data;
  return proxy_count (pings->proxy, PROXY_PING) >= pings->n;
}

static void
wait_for_pings (Fixture *fixture, int n)
{
  Pings pings = { fixture->proxy, n };
  assert_true (wait_until (has_pinged, &pings, LONG_MS));
}

static CuratorLeaseEvidence
evidence_of (CuratorClient *client)
{
  curator_client_lock (client);
  const CuratorLeaseEvidence evidence = client->session->evidence;
  curator_client_unlock (client);
  return evidence;
}

static void
test_idle (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = secured_client (proxy_address (fixture->proxy), NULL);

  curator_client_set_session_timeout (client, IDLE_SESSION_MS);
  assert_ok (curator_client_set_sasl_digest (client, SASL_USER, SASL_PASSWORD, &error), &error);
  client_start (client);
  assert_int_equal (curator_client_get_session_timeout (client), IDLE_SESSION_MS);
  wait_for_pings (fixture, 2);
  const gint64 second_us = curator_client_boottime_us (client);
  wait_for_pings (fixture, 4);
  print_message ("%d requests and %d pings\n", proxy_count (fixture->proxy, PROXY_ANY_REQUEST),
                 proxy_count (fixture->proxy, PROXY_PING));
  assert_int_equal (proxy_count (fixture->proxy, PROXY_EXISTS), 0);

  const CuratorLeaseEvidence idle = evidence_of (client);
  assert_true (idle.n_marks > 0);
  assert_true (idle.marks[(idle.n_marks - 1) % CURATOR_N_MARKS].sent_us > second_us);
  assert_true (idle.known_us < second_us);
  assert_int_equal (idle.proof_us, 0);
  /* A lock's first transaction proves that the leader was told what the third ping told a server. */
  g_autoptr (CuratorLock) lock = mutex_new (client, "/idle");
  assert_ok (curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);
  assert_true (evidence_of (client).known_us > second_us);
  assert_ok (curator_lock_release (lock, &error), &error);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_idle) };
  return cmocka_run_group_tests_name ("secured_idle", tests, secured_start_clear,
                                      secured_stop_clear);
}
