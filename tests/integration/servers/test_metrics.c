/* The metrics, after a workload whose numbers are known, as Prometheus' own parser reads them. */
#include "integration/fixture.h"

#include <stdio.h>
#include <string.h>

/* wanted: what check_metrics takes, separated by spaces. */
static gboolean
is_accepted (const char *text, const char *wanted)
{
  g_autofree char *command = g_strdup_printf ("%s '%s'", CHECK_METRICS, wanted);
  FILE *checker = popen (command, "w");
  assert_non_null (checker);
  assert_true (fputs (text, checker) >= 0);
  return pclose (checker) == 0;
}

static char *
metrics (CuratorClient *client)
{
  char *text = curator_client_format_metrics (client);
  assert_non_null (text);
  return text;
}

/* Replaces the first what. */
static char *
changed (const char *text, const char *what, const char *by)
{
  const char *at = strstr (text, what);
  assert_non_null (at);
  return g_strdup_printf ("%.*s%s%s", (int) (at - text), text, by, at + strlen (what));
}

static gboolean
wait_for_line (CuratorClient *client, const char *line)
{
  g_autofree char *text = NULL;
  return holds_within ((g_free (text), strstr (text = metrics (client), line) != NULL), LONG_MS);
}

static void
work (Fixture *fixture, CuratorClient *client)
{
  enum
  {
    ROUNDS = 10
  };
  g_autoptr (CuratorLock) lock = mutex_new (client, "/metrics/work");
  g_autoptr (CuratorLock) other = mutex_new (client, "/metrics/deleted");
  for (int i = 0; i < ROUNDS; i++) {
    g_autoptr (CuratorLease) lease = lease_of (lock);
    wait_ms (i);
    assert_true (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  }
  g_autoptr (CuratorLease) deleted = lease_of (other);
  assert_int_equal (raw_zk_delete (fixture->raw, curator_lease_get_node_path (deleted)), ZOK);
  assert_true (wait_for_line (client, "curator_lost_holds_total{reason=\"deleted\"} 1\n"));
}

/* A hold, somebody who waits behind it, and somebody who has given up. */
TEST (test_workload)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_server (fixture), LONG_SESSION_MS);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/metrics/queue");
  g_autoptr (CuratorLock) behind = mutex_new (client, "/metrics/queue");

  work (fixture, client);
  g_autoptr (CuratorLease) lease = lease_of (lock);
  assert_not_acquired (behind, 0, CURATOR_ERROR_TIMED_OUT);
  g_autoptr (Contender) waiter = contender_start (behind, LONG_MS, NULL);
  assert_true (wait_for_line (client, "curator_waiters 1\n"));

  g_autofree char *held = metrics (client);
  assert_true (is_accepted (
      held, "curator_grants_total=12 curator_releases_total=10 curator_failures_total=1 "
            "curator_waits_total=1 curator_lost_holds_total{reason=deleted}=1 "
            "curator_lost_holds_total{reason=clock}=0 curator_holds=1 curator_waiters=1 "
            "curator_sessions_total=1 curator_session_timeout_seconds=40 "
            "curator_least_lease_margin_seconds>=1 "
            "curator_heartbeats_total{result=confirmed}>=0 "
            "curator_hold_seconds_bucket{le=65.536000}=11 "
            "curator_connection_state{curator_connection_state=CONNECTED}=1"));
  assert_true (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  assert_true (contender_wait (waiter, LONG_MS));
  contender_join (waiter);

  g_autofree char *free_again = metrics (client);
  assert_true (is_accepted (
      free_again, "curator_grants_total=13 curator_releases_total=12 curator_waits_total=2 "
                  "curator_holds=0 curator_waiters=0 curator_least_lease_margin_seconds=none"));
  curator_client_close (client);
  g_autofree char *closed = metrics (client);
  assert_true (is_accepted (closed, "curator_releases_total=12 curator_holds=0"));
}

/* The parser, and what this test adds to it, find faults of each kind. */
TEST (test_faults_are_found)
{
  static const struct
  {
    const char *what;
    const char *by;
  } faults[] = {
    { "# EOF\n", "" },
    { "curator_grants_total 2", "curator_grants_total 3" },
    { "curator_wait_seconds_bucket{le=\"65.536000\"} 2",
      "curator_wait_seconds_bucket{le=\"65.536000\"} 1" },
    { "curator_wait_seconds_count 2", "curator_wait_seconds_count 1" },
    { "curator_wait_seconds_bucket{le=\"0.001000\"}", "curator_wait_seconds_bucket{le=\"70\"}" },
    { "curator_holds 2", "curator_holds 1" },
    { "curator_wait_seconds_sum ", "curator_wait_seconds_sum 99999" },
    { "# TYPE curator_waits counter", "# TYPE curator_waits gauge" },
  };
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/metrics/a");
  g_autoptr (CuratorLock) other = mutex_new (client, "/metrics/b");
  G_GNUC_UNUSED g_autoptr (CuratorLease) lease = lease_of (lock);
  G_GNUC_UNUSED g_autoptr (CuratorLease) second = lease_of (other);
  g_autofree char *text = metrics (client);

  assert_true (is_accepted (text, "curator_holds=2"));
  assert_false (is_accepted (text, "curator_holds=3"));
  for (gsize i = 0; i < G_N_ELEMENTS (faults); i++) {
    g_autofree char *bad = changed (text, faults[i].what, faults[i].by);
    print_message ("%s -> %s\n", faults[i].what, faults[i].by);
    assert_false (is_accepted (bad, ""));
  }
  curator_client_close (client);
}

/* Figures exist in every phase of a client, and lost holds count as ended. */
TEST (test_phases)
{
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autofree char *latent = metrics (client);
  assert_non_null (strstr (latent, "\ncurator_session_timeout_seconds 0.000000\n"));
  assert_non_null (strstr (latent, "{curator_connection_state=\"SUSPENDED\"} 1\n"));
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/metrics/phases");
  G_GNUC_UNUSED g_autoptr (CuratorLease) lease = lease_of (lock);
  curator_client_close (client);
  g_autofree char *closed = metrics (client);
  assert_true (is_accepted (closed, "curator_lost_holds_total{reason=closed}=1 curator_holds=0 "
                                    "curator_least_lease_margin_seconds=none "
                                    "curator_connection_state{curator_connection_state=LOST}=1"));
}

SUITE ("metrics", fixture_start_calm, fixture_stop)
