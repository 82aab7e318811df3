/* Curator's own tests of its leader selector, by their names: TestLeaderSelector,
 * TestLeaderSelectorParticipants, TestLeaderSelectorEdges. */
#include "integration/leaders/leading.h"

#include <string.h>

#define PATH "/one/two/me"

#define N_LEADERS   5
#define N_ROUNDS    3
#define N_SELECTORS 10
/* The ids of an election, the leader's first. */
static void
assert_participants (Leading *leading, const char *wanted)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) ids = g_string_new (NULL);
  g_autoptr (GPtrArray) all = curator_leader_selector_get_participants (
      leading->selector, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (all != NULL, &error);
  for (guint i = 0; i < all->len; i++) {
    assert_int_equal (curator_leader_participant_is_leader (all->pdata[i]), i == 0);
    g_string_append_printf (ids, "%s%s", i > 0 ? "," : "",
                            curator_leader_participant_get_id (all->pdata[i]));
  }
  assert_string_equal (ids->str, wanted);
}

/* testInterruption: a function that ends by itself, interrupted or not, leaves no node. */
CLIENT_TEST (test_interruption)
{
  g_autoptr (Leading) leading = leading_start_new (client, PATH, NULL, NULL);
  leading_assert_entered (leading, 1);
  g_cancellable_cancel (leading->cancellable);
  leading_assert_left (leading, 1);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* The two rules when the connection is interrupted and the session lives on. */
PROXY_TEST (test_interrupted_connection)
{
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (Leading) standard = leading_start_new (client, "/test/standard", NULL, NULL);
  g_autoptr (Leading) loose = leading_new (client, "/test/loose", NULL, NULL);
  curator_leader_selector_set_until_lost (loose->selector, TRUE);
  leading_start (loose);
  leading_assert_entered (standard, 1);
  leading_assert_entered (loose, 1);
  proxy_cut (fixture->proxy);
  leading_assert_left (standard, 1);
  assert_int_equal (g_atomic_int_get (&standard->cancelled), 1);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  /* A cancellation would have come before that state, on the same thread. */
  assert_false (g_cancellable_is_cancelled (loose->cancellable));
  assert_true (leading_leads (loose));
  curator_client_close (client);
}

/* testLeaderNodeDeleteOnInterrupt: interrupted without a server; the node is deleted later. */
PROXY_TEST (test_leader_node_delete_on_interrupt)
{
  g_autoptr (Leading) leading = leading_new (client, PATH, NULL, NULL);
  curator_leader_selector_set_until_lost (leading->selector, TRUE);
  leading_start (leading);
  leading_assert_entered (leading, 1);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  curator_leader_selector_interrupt_leadership (leading->selector);
  leading_assert_left (leading, 1);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* testInterruptLeadership, testInterruptLeadershipWithRequeue: interrupted when it leads and when
 * it does not; each leadership has a token of its own. */
CLIENT_TEST (test_interrupt_leadership)
{
  Reign reign = { 0 };
  g_autoptr (Leading) leading = leading_new (client, PATH, NULL, &reign);
  curator_leader_selector_interrupt_leadership (leading->selector);
  curator_leader_selector_set_auto_requeue (leading->selector, TRUE);
  leading_start (leading);
  for (int i = 1; i <= 3; i++) {
    leading_assert_entered (leading, i);
    assert_true (i > 1 || leading->led_at_entry);
    curator_leader_selector_interrupt_leadership (leading->selector);
    curator_leader_selector_interrupt_leadership (leading->selector);
  }
  leading_assert_entered (leading, 4);
  curator_leader_selector_close (leading->selector);
  leading_assert_left (leading, 4);
  assert_int_equal (g_atomic_int_get (&reign.mistakes), 0);
}

/* testAutoRequeue */
CLIENT_TEST (test_auto_requeue)
{
  g_autoptr (Leading) leading = leading_new (client, PATH, NULL, NULL);
  leading->at_once = TRUE;
  curator_leader_selector_set_auto_requeue (leading->selector, TRUE);
  leading_start (leading);
  leading_assert_left (leading, 5);
  assert_false (curator_leader_selector_requeue (leading->selector));
}

/* Waits until one of both leads, and only that one, and returns its index. */
static int
leader_of (Leading *const pair[2])
{
  assert_soon (leading_leads (pair[0]) || leading_leads (pair[1]));
  assert_true (leading_leads (pair[0]) != leading_leads (pair[1]));
  return leading_leads (pair[0]) ? 0 : 1;
}

/* testKillSessionThenCloseShouldElectNewLeader: unlike Java's, a selector that waits in the queue
 * keeps waiting in the next session. */
PROXY_TEST (test_kill_session_then_close_should_elect_new_leader)
{
  Reign reign = { 0 };
  g_autoptr (Leading) one = leading_start_new (client, PATH, "one", &reign);
  leading_assert_entered (one, 1);
  g_autoptr (Leading) two = leading_start_new (client, PATH, "two", &reign);
  assert_children (fixture, PATH, 2, LONG_MS);
  fixture_expire (fixture);
  leading_assert_left (one, 1);
  assert_int_equal (g_atomic_int_get (&one->cancelled), 1);
  leading_assert_entered (two, 1);
  assert_soon (curator_leader_selector_requeue (one->selector));
  assert_false (curator_leader_selector_requeue (two->selector));
  assert_children (fixture, PATH, 2, LONG_MS);
  curator_leader_selector_close (two->selector);
  leading_assert_entered (one, 2);
  assert_int_equal (g_atomic_int_get (&reign.mistakes), 0);
}

/* testKillServerThenCloseShouldElectNewLeader, TestLeaderSelectorCluster.testRestart,
 * testLostRestart: the servers are gone until the session has ended; with auto-requeue both queue
 * again by themselves. */
PROXY_TEST (test_kill_server_then_close_should_elect_new_leader)
{
  Reign reign = { 0 };
  g_autoptr (Leading) one = leading_new (client, PATH, "one", &reign);
  g_autoptr (Leading) two = leading_new (client, PATH, "two", &reign);
  Leading *const pair[] = { one, two };
  curator_leader_selector_set_auto_requeue (one->selector, TRUE);
  curator_leader_selector_set_auto_requeue (two->selector, TRUE);
  leading_start (one);
  leading_assert_entered (one, 1);
  leading_start (two);
  assert_children (fixture, PATH, 2, LONG_MS);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  leading_assert_left (one, 1);
  assert_soon (!leading_leads (one));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  const int first = leader_of (pair);
  Leading *other = pair[1 - first];
  const int before = g_atomic_int_get (&other->entered);
  curator_leader_selector_close (pair[first]->selector);
  leading_assert_entered (other, before + 1);
  assert_int_equal (g_atomic_int_get (&reign.mistakes), 0);
}

/* testClosing */
CLIENT_TEST (test_closing)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Leading) one = leading_start_new (client, PATH, NULL, NULL);
  g_autoptr (Leading) two = leading_start_new (client, PATH, NULL, NULL);
  Leading *const pair[] = { one, two };
  assert_children (fixture, PATH, 2, LONG_MS);
  const int first = leader_of (pair);
  Leading *leader = pair[first];
  Leading *other = pair[1 - first];
  curator_leader_selector_close (other->selector);
  assert_children (fixture, PATH, 1, LONG_MS);
  assert_true (leading_leads (leader));
  curator_leader_selector_close (leader->selector);
  curator_leader_selector_close (leader->selector);
  assert_soon (!leading_leads (leader));
  assert_int_equal (g_atomic_int_get (&other->entered), 0);
  assert_false (curator_leader_selector_requeue (leader->selector));
  assert_false (curator_leader_selector_start (leader->selector, &error));
  assert_curator_error (&error, CURATOR_ERROR_CLOSED);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* testRotatingLeadership, TestLeaderSelectorWithExecutor.test: five selectors, each three times, in
 * the order in which they queued. */
CLIENT_TEST (test_rotating_leadership)
{
  Reign reign = { 0 };
  Leading *leaders[N_LEADERS];
  for (int i = 0; i < N_LEADERS; i++) {
    leaders[i] = leading_start_new (client, PATH, NULL, &reign);
    assert_children (fixture, PATH, i + 1, LONG_MS);
  }
  for (int round = 1; round <= N_ROUNDS; round++) {
    for (int i = 0; i < N_LEADERS; i++) {
      leading_assert_entered (leaders[i], round);
      g_atomic_int_set (&leaders[i]->told, TRUE);
      leading_assert_left (leaders[i], round);
      if (round < N_ROUNDS) {
        assert_soon (curator_leader_selector_requeue (leaders[i]->selector));
        assert_children (fixture, PATH, N_LEADERS, LONG_MS);
      }
    }
  }
  assert_int_equal (g_atomic_int_get (&reign.mistakes), 0);
  assert_no_residue (fixture, PATH, LONG_MS);
  for (int i = 0; i < N_LEADERS; i++)
    leading_free (leaders[i]);
}

/* TestLeaderSelectorParticipants.testId */
CLIENT_TEST (test_id)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Leading) leading = leading_new (client, "/ls", "A is A", NULL);
  g_autoptr (CuratorLeaderParticipant) nobody =
      curator_leader_selector_get_leader (leading->selector, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_null (nobody);
  assert_null (error);
  leading_start (leading);
  leading_assert_entered (leading, 1);
  g_autoptr (CuratorLeaderParticipant) leader =
      curator_leader_selector_get_leader (leading->selector, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (leader != NULL, &error);
  assert_true (curator_leader_participant_is_leader (leader));
  assert_string_equal (curator_leader_participant_get_id (leader), "A is A");
  assert_string_equal (curator_leader_selector_get_id (leading->selector), "A is A");
  assert_participants (leading, "A is A");
}

/* TestLeaderSelectorParticipants.testBasic: ten selectors name the same ten, in order. */
CLIENT_TEST (test_basic)
{
  Leading *leaders[N_SELECTORS];
  for (int i = 0; i < N_SELECTORS; i++) {
    g_autofree char *id = g_strdup_printf ("%d", i);
    leaders[i] = leading_start_new (client, "/ls", id, NULL);
    assert_children (fixture, "/ls", i + 1, LONG_MS);
  }
  leading_assert_entered (leaders[0], 1);
  for (int i = 0; i < N_SELECTORS; i++)
    assert_participants (leaders[i], "0,1,2,3,4,5,6,7,8,9");
  for (int i = 0; i < N_SELECTORS; i++)
    leading_free (leaders[i]);
}

/* TestLeaderSelectorEdges.flappingTest: the connection breaks right after the node was created, and
 * the retry policy is used up: no node stays, and another selector can lead. */
TEST (test_flapping)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_n_times (0, 0);
  g_autoptr (CuratorClient) client = curator_client_new (fixture_proxy (fixture), policy);
  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  client_start (client);
  assert_int_equal (raw_zk_make_path (fixture->raw, PATH), ZOK);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_CUT_BEFORE_REPLY);
  g_autoptr (Leading) one = leading_start_new (client, PATH, NULL, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  assert_no_residue (fixture, PATH, LONG_MS);
  assert_int_equal (g_atomic_int_get (&one->entered), 0);
  g_autoptr (Leading) two = leading_start_new (client, PATH, NULL, NULL);
  leading_assert_entered (two, 1);
  assert_soon (curator_leader_selector_requeue (one->selector));
}

SUITE ("Curator's leader selector tests", fixture_start_calm, fixture_stop)
