/* Curator's own tests of its leader latch, by their names: TestLeaderLatch. */
#include "integration/leaders/latches.h"

#include <string.h>

#define PATH "/one/two/me"

#define N_LATCHES 10
#define N_SILENT  3
/* Full path of the node that holds the latch's leadership. */
static char *
node_of (Latch *latch)
{
  g_autoptr (CuratorLease) lease = curator_leader_latch_dup_lease (latch->latch);
  assert_non_null (lease);
  return g_strdup (curator_lease_get_node_path (lease));
}

/* testUncreatedPathGetLeader, testRelativePath */
CLIENT_TEST (test_uncreated_path_get_leader)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Latch) latch = latch_new (client, "/foo/bar", "id");
  g_autoptr (CuratorLeaderParticipant) leader =
      curator_leader_latch_get_leader (latch->latch, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_null (leader);
  assert_null (error);
  assert_string_equal (curator_leader_latch_get_id (latch->latch), "id");
  assert_null (curator_leader_latch_new (client, "parent", NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
}

/* testGetChildrenHitsNoNode: the servers come back without any node. */
CLIENT_TEST (test_get_children_hits_no_node)
{
  g_auto (Latches) latches = latches_start (fixture, client, PATH, 2);
  latch_assert_leads (latches.of[0]);
  /* A latch may make its node anew in between. */
  assert_soon (raw_zk_delete_tree (fixture->raw, "/one") == ZOK);
  assert_children (fixture, PATH, 2, LONG_MS);
  assert_soon (latches_leading (&latches) > 0);
  assert_int_equal (latches_leading (&latches), 1);
}

/* testSessionInterruptionDoNotCauseBrainSplit: the leader whose session was ended never leads
 * together with the next one, and queues behind it. */
TEST (test_session_interruption_do_not_cause_brain_split)
{
  g_autoptr (CuratorClient) client0 = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorClient) client1 = client_connect (fixture_server (fixture));
  g_autoptr (Latch) latch0 = latch_start_new (client0, PATH, "id0");
  latch_assert_leads (latch0);
  g_autoptr (Latch) latch1 = latch_start_new (client1, PATH, "id1");
  assert_children (fixture, PATH, 2, LONG_MS);
  fixture_expire (fixture);
  latch_assert_leads (latch1);
  latch_assert_heard (latch0, "+-");
  assert_children (fixture, PATH, 2, LONG_MS);
  assert_false (latch_leads (latch0));
  latch_assert_heard (latch1, "+");
}

/* testResettingOfLeadershipAfterConcurrentLeadershipChange: each leader in turn loses its node to a
 * third party. */
CLIENT_TEST (test_resetting_of_leadership)
{
  g_auto (Latches) latches = latches_start (fixture, client, PATH, 2);
  latch_assert_leads (latches.of[0]);
  g_autofree char *first = node_of (latches.of[0]);
  assert_int_equal (raw_zk_delete (fixture->raw, first), ZOK);
  latch_assert_leads (latches.of[1]);
  latch_assert_heard (latches.of[0], "+-");
  assert_children (fixture, PATH, 2, LONG_MS);
  g_autofree char *second = node_of (latches.of[1]);
  assert_int_equal (raw_zk_delete (fixture->raw, second), ZOK);
  latch_assert_leads (latches.of[0]);
  latch_assert_heard (latches.of[1], "+-");
  latch_assert_heard (latches.of[0], "+-+");
  assert_children (fixture, PATH, 2, LONG_MS);
}

/* testLeadershipElectionWhenNodeDisappearsAfterChildrenAreRetrieved: the leader leaves while the
 * candidate's list is on its way. */
PAIR_TEST (test_node_disappears_after_children_are_retrieved)
{
  g_autoptr (Latch) leader = latch_start_new (peer, PATH, "initial-leader");
  latch_assert_leads (leader);
  proxy_arm (fixture->proxy, PROXY_GET_CHILDREN, 1, 1, PROXY_HOLD_REPLY);
  g_autoptr (Latch) candidate = latch_start_new (client, PATH, "candidate-0");
  assert_children (fixture, PATH, 2, LONG_MS);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  g_autoptr (Latch) other = latch_start_new (peer, PATH, "candidate-1");
  assert_children (fixture, PATH, 3, LONG_MS);
  curator_leader_latch_close (leader->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  assert_children (fixture, PATH, 2, LONG_MS);
  proxy_let_go (fixture->proxy);
  latch_assert_leads (candidate);
  assert_false (latch_leads (other));
}

/* Leads until its session is lost. */
static Latch *
loose_new (CuratorClient *client)
{
  Latch *loose = latch_new (client, "/test/loose", NULL);
  curator_leader_latch_set_until_lost (loose->latch, TRUE);
  latch_start (loose);
  latch_assert_leads (loose);
  return loose;
}

/* testSessionErrorPolicy: the connection is interrupted, the session lives on. */
PROXY_TEST (test_session_error_policy)
{
  g_autoptr (Latch) standard = latch_start_new (client, "/test/standard", NULL);
  g_autoptr (Latch) loose = loose_new (client);
  latch_assert_leads (standard);
  g_autofree char *before = node_of (standard);
  proxy_cut (fixture->proxy);
  latch_assert_heard (standard, "+-+");
  latch_assert_heard (loose, "+");
  g_autofree char *after = node_of (standard);
  assert_string_equal (before, after);
}

/* testErrorPolicies, testLostConnection, testWithCircuitBreaker: the servers are gone until the
 * session is lost; then one of the ten leads again. */
TEST (test_lost_connection)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_proxy (fixture), 15000);
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (Latch) loose = loose_new (client);
  g_auto (Latches) latches = latches_start (fixture, client, PATH, 10);
  latch_assert_leads (latches.of[0]);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  latch_assert_heard (latches.of[0], "+-");
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  latch_assert_heard (loose, "+-");
  assert_int_equal (latches_leading (&latches), 0);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_soon (latches_leading (&latches) > 0);
  latch_assert_leads (loose);
  assert_children (fixture, PATH, 10, LONG_MS);
  assert_int_equal (latches_leading (&latches), 1);
  curator_client_close (client);
}

/* testProperCloseWithoutConnectionEstablished */
TEST (test_proper_close_without_connection_established)
{
  g_autoptr (GError) error = NULL;
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  assert_ok (curator_client_start (client, &error), &error);
  g_autoptr (Latch) latch = latch_start_new (client, PATH, NULL);
  curator_leader_latch_close (latch->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  assert_false (raw_zk_exists (fixture->raw, PATH)
                && raw_zk_count_children (fixture->raw, PATH) > 0);
  latch_assert_heard (latch, "");
}

/* testCreateDeleteRace: closed while its creation is unanswered. */
PROXY_TEST (test_create_delete_race)
{
  assert_int_equal (raw_zk_make_path (fixture->raw, PATH), ZOK);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLD_REPLY);
  g_autoptr (Latch) latch = latch_start_new (client, PATH, NULL);
  assert_children (fixture, PATH, 1, LONG_MS);
  curator_leader_latch_close (latch->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
  proxy_let_go (fixture->proxy);
  assert_no_residue (fixture, PATH, LONG_MS);
  latch_assert_heard (latch, "");
}

/* testCorrectWatching: one that leaves the middle of the queue lets nobody lead. */
CLIENT_TEST (test_correct_watching)
{
  g_auto (Latches) latches = latches_start (fixture, client, PATH, 10);
  latch_assert_leads (latches.of[0]);
  curator_leader_latch_close (latches.of[2]->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  assert_children (fixture, PATH, 9, LONG_MS);
  assert_int_equal (latches_leading (&latches), 1);
  assert_true (latch_leads (latches.of[0]));
}

static gint n_leading; /* atomic, like the next */
static gint n_mistakes;

static void *
lead_once (void *client)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLeaderLatch) latch = curator_leader_latch_new (client, PATH, NULL, &error);
  if (latch == NULL || !curator_leader_latch_start (latch, &error)
      || !curator_leader_latch_await (latch, 2 * LONG_MS, NULL, &error)
      || g_atomic_int_add (&n_leading, 1) != 0)
    g_atomic_int_inc (&n_mistakes);
  wait_ms (g_random_int_range (0, 10));
  g_atomic_int_add (&n_leading, -1);
  curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  return NULL;
}

/* testWaiting: ten threads lead one after the other. */
CLIENT_TEST (test_waiting)
{
  pthread_t threads[10];
  for (int loop = 0; loop < 3; loop++) {
    for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
      pthread_create (&threads[i], NULL, lead_once, client);
    for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
      pthread_join (threads[i], NULL);
    assert_int_equal (g_atomic_int_get (&n_mistakes), 0);
  }
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* testBasic, testBasicAlt: leadership passes on in the order of the queue. */
CLIENT_TEST (test_basic)
{
  g_auto (Latches) latches = latches_start (fixture, client, PATH, 5);
  for (int i = 0; i < 5; i++) {
    latch_assert_leads (latches.of[i]);
    assert_int_equal (latches_leading (&latches), 1);
    curator_leader_latch_close (latches.of[i]->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
    assert_false (latch_leads (latches.of[i]));
  }
  assert_no_residue (fixture, PATH, LONG_MS);
}

typedef struct
{
  CuratorLeaderLatchCloseMode mode;
  gboolean has_led;
} Twice;

static gint n_gained; /* atomic, like the next; of all */
static gint n_lost;
static gint n_closed;

/* Leads twice: the first time it gives its leadership back, the second time it closes. */
static void
lead_twice (CuratorLeaderLatch *latch, gboolean is_leader, gpointer user_data)
{
  Twice *twice = user_data;
  g_atomic_int_inc (is_leader ? &n_gained : &n_lost);
  if (is_leader && twice->has_led) {
    curator_leader_latch_close (latch, twice->mode);
    g_atomic_int_inc (&n_closed);
  } else if (is_leader) {
    twice->has_led = TRUE;
    g_autoptr (CuratorLease) lease = curator_leader_latch_dup_lease (latch);
    if (lease != NULL)
      curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
  }
}

/* testCallbackSanity, testCallbackNotifyLeader: three latches close silently, seven do not. */
CLIENT_TEST (test_callback_notify_leader)
{
  g_autoptr (GError) error = NULL;
  CuratorLeaderLatch *latches[N_LATCHES];
  Twice twice[N_LATCHES] = { 0 };
  for (int i = 0; i < N_LATCHES; i++) {
    twice[i].mode = i < N_SILENT ? CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT
                                 : CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER;
    latches[i] = curator_leader_latch_new (client, PATH, NULL, &error);
    assert_ok (latches[i] != NULL, &error);
    curator_leader_latch_add_listener (latches[i], lead_twice, &twice[i], NULL);
    assert_ok (curator_leader_latch_start (latches[i], &error), &error);
  }
  assert_soon (g_atomic_int_get (&n_closed) >= N_LATCHES);
  assert_soon (g_atomic_int_get (&n_lost) >= 2 * N_LATCHES - N_SILENT);
  assert_int_equal (g_atomic_int_get (&n_gained), 2 * N_LATCHES);
  for (int i = 0; i < N_LATCHES; i++) {
    assert_false (curator_leader_latch_start (latches[i], &error));
    assert_curator_error (&error, CURATOR_ERROR_CLOSED);
    curator_leader_latch_unref (latches[i]);
  }
  curator_client_close (client);
  assert_int_equal (g_atomic_int_get (&n_lost), 2 * N_LATCHES - N_SILENT);
}

/* testCallbackDontNotify: a latch that does not lead has nothing to tell, a silent one tells
 * nothing. */
CLIENT_TEST (test_callback_dont_notify)
{
  g_autoptr (Latch) leader = latch_start_new (client, PATH, NULL);
  latch_assert_leads (leader);
  latch_assert_heard (leader, "+");
  g_autoptr (Latch) notified = latch_start_new (client, PATH, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  curator_leader_latch_close (notified->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
  curator_leader_latch_close (leader->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  assert_no_residue (fixture, PATH, LONG_MS);
  curator_client_close (client);
  latch_assert_heard (leader, "+");
  latch_assert_heard (notified, "");
}

/* testNoServerAtStart */
TEST (test_no_server_at_start)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_n_times (1, 0);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  g_autoptr (CuratorClient) client = curator_client_new (fixture_proxy (fixture), policy);
  curator_client_set_connection_timeout (client, 100);
  assert_ok (curator_client_start (client, &error), &error);
  g_autoptr (Latch) latch = latch_start_new (client, PATH, NULL);
  assert_false (curator_leader_latch_await (latch->latch, 1500, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_CONNECTION_LOST);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  latch_assert_leads (latch);
  latch_assert_heard (latch, "+");
}

SUITE ("Curator's leader latch tests", fixture_start_calm, fixture_stop)
