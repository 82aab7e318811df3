/* Curator's own tests of its leader selector, by their names: TestLeaderSelector,
 * TestLeaderSelectorParticipants, TestLeaderSelectorEdges, TestLeaderAcls. */
#include "integration/leaders/leading.h"

#include <string.h>

#define PATH "/one/two/me"

static gboolean
leads (Leading *leading)
{
  return curator_leader_selector_has_leadership (leading->selector);
}

/* testInterruption: a function that ends by itself, interrupted or not, leaves no node. */
TEST (test_interruption)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (Leading) leading = leading_start_new (client, PATH, NULL, NULL);
  leading_assert_entered (leading, 1);
  g_cancellable_cancel (leading_cancellable (leading));
  leading_assert_left (leading, 1);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* testErrorPolicies, testServerDying: with the standard rule the leader is told before the loss,
 * with the looser one at the loss. */
TEST (test_error_policies)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (Leading) standard = leading_start_new (client, "/test/standard", NULL, NULL);
  g_autoptr (Leading) loose = leading_new (client, "/test/loose", NULL, NULL);
  curator_leader_selector_set_until_lost (loose->selector, TRUE);
  leading_start (loose);
  leading_assert_entered (standard, 1);
  leading_assert_entered (loose, 1);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  leading_assert_left (standard, 1);
  leading_assert_left (loose, 1);
  assert_int_equal (leading_cancelled (standard), 1);
  assert_int_equal (leading_cancelled (loose), 1);
  assert_false (loose->held_at_cancellation);
}

/* The two rules when the connection is interrupted and the session lives on. */
TEST (test_interrupted_connection)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (Leading) standard = leading_start_new (client, "/test/standard", NULL, NULL);
  g_autoptr (Leading) loose = leading_new (client, "/test/loose", NULL, NULL);
  curator_leader_selector_set_until_lost (loose->selector, TRUE);
  leading_start (loose);
  leading_assert_entered (standard, 1);
  leading_assert_entered (loose, 1);
  proxy_cut (fixture->proxy);
  leading_assert_left (standard, 1);
  assert_int_equal (leading_cancelled (standard), 1);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  /* A cancellation would have come before that state, on the same thread. */
  assert_false (g_cancellable_is_cancelled (leading_cancellable (loose)));
  assert_true (leads (loose));
  curator_client_close (client);
}

/* testLeaderNodeDeleteOnInterrupt: interrupted without a server; the node is deleted later. */
TEST (test_leader_node_delete_on_interrupt)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
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
TEST (test_interrupt_leadership)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (Leading) leading = leading_new (client, PATH, NULL, NULL);
  curator_leader_selector_interrupt_leadership (leading->selector);
  curator_leader_selector_set_auto_requeue (leading->selector, TRUE);
  leading_start (leading);
  for (int i = 1; i <= 3; i++)
    {
      leading_assert_entered (leading, i);
      curator_leader_selector_interrupt_leadership (leading->selector);
      curator_leader_selector_interrupt_leadership (leading->selector);
    }
  leading_assert_entered (leading, 4);
  for (int i = 2; i <= 4; i++)
    assert_true (leading_token (leading, i) > leading_token (leading, i - 1));
  curator_leader_selector_close (leading->selector);
  leading_assert_left (leading, 4);
  assert_true (leading->led_at_entry);
}

/* testAutoRequeue */
TEST (test_auto_requeue)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (Leading) leading = leading_new (client, PATH, NULL, NULL);
  leading->at_once = TRUE;
  curator_leader_selector_set_auto_requeue (leading->selector, TRUE);
  leading_start (leading);
  leading_assert_left (leading, 5);
  assert_false (curator_leader_selector_requeue (leading->selector));
}

static Leading *
other_of (Leading *const pair[2], Leading *leading)
{
  return pair[0] == leading ? pair[1] : pair[0];
}

/* The one of both that leads. */
static Leading *
leader_of (Leading *const pair[2])
{
  Leading *first = leads (pair[0]) ? pair[0] : pair[1];
  assert_true (leads (first));
  assert_false (leads (other_of (pair, first)));
  return first;
}

/* testKillSessionThenCloseShouldElectNewLeader: unlike Java's, a selector that waits in the queue
 * keeps waiting in the next session. */
TEST (test_kill_session_then_close_should_elect_new_leader)
{
  Reign reign = { 0 };
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (Leading) one = leading_start_new (client, PATH, "one", &reign);
  leading_assert_entered (one, 1);
  g_autoptr (Leading) two = leading_start_new (client, PATH, "two", &reign);
  assert_children (fixture, PATH, 2, LONG_MS);
  fixture_expire (fixture);
  leading_assert_left (one, 1);
  assert_int_equal (leading_cancelled (one), 1);
  leading_assert_entered (two, 1);
  assert_soon (curator_leader_selector_requeue (one->selector));
  assert_false (curator_leader_selector_requeue (two->selector));
  assert_children (fixture, PATH, 2, LONG_MS);
  curator_leader_selector_close (two->selector);
  leading_assert_entered (one, 2);
  assert_int_equal (g_atomic_int_get (&reign.most), 1);
}

/* testKillServerThenCloseShouldElectNewLeader, TestLeaderSelectorCluster.testRestart,
 * testLostRestart: the servers are gone until the session has ended; with auto-requeue both queue
 * again by themselves. */
TEST (test_kill_server_then_close_should_elect_new_leader)
{
  Reign reign = { 0 };
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
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
  assert_soon (!leads (one));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_soon (leads (one) || leads (two));
  Leading *leader = leader_of (pair);
  Leading *other = other_of (pair, leader);
  const int before = leading_entered (other);
  curator_leader_selector_close (leader->selector);
  leading_assert_entered (other, before + 1);
  assert_int_equal (g_atomic_int_get (&reign.most), 1);
}

/* testClosing */
TEST (test_closing)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (Leading) one = leading_start_new (client, PATH, NULL, NULL);
  g_autoptr (Leading) two = leading_start_new (client, PATH, NULL, NULL);
  Leading *const pair[] = { one, two };
  assert_soon (leads (one) || leads (two));
  assert_children (fixture, PATH, 2, LONG_MS);
  Leading *leader = leader_of (pair);
  Leading *other = other_of (pair, leader);
  curator_leader_selector_close (other->selector);
  assert_children (fixture, PATH, 1, LONG_MS);
  assert_true (leads (leader));
  curator_leader_selector_close (leader->selector);
  curator_leader_selector_close (leader->selector);
  assert_soon (!leads (leader));
  assert_int_equal (leading_entered (other), 0);
  assert_false (curator_leader_selector_requeue (leader->selector));
  assert_false (curator_leader_selector_start (leader->selector, &error));
  assert_curator_error (&error, CURATOR_ERROR_CLOSED);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* testRotatingLeadership, TestLeaderSelectorWithExecutor.test: five selectors, each three times, in
 * the order in which they queued. */
TEST (test_rotating_leadership)
{
  enum
  {
    LEADERS = 5,
    ROUNDS = 3
  };
  Reign reign = { 0 };
  guint64 last_token = 0;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  Leading *leaders[LEADERS];
  for (int i = 0; i < LEADERS; i++)
    {
      leaders[i] = leading_start_new (client, PATH, NULL, &reign);
      assert_children (fixture, PATH, i + 1, LONG_MS);
    }
  for (int round = 1; round <= ROUNDS; round++)
    {
      for (int i = 0; i < LEADERS; i++)
        {
          leading_assert_entered (leaders[i], round);
          const guint64 token = leading_token (leaders[i], round);
          assert_true (token > last_token);
          last_token = token;
          leading_tell_return (leaders[i]);
          leading_assert_left (leaders[i], round);
          if (round < ROUNDS)
            {
              assert_soon (curator_leader_selector_requeue (leaders[i]->selector));
              assert_children (fixture, PATH, LEADERS, LONG_MS);
            }
        }
    }
  assert_int_equal (g_atomic_int_get (&reign.most), 1);
  assert_no_residue (fixture, PATH, LONG_MS);
  for (int i = 0; i < LEADERS; i++)
    leading_free (leaders[i]);
}

/* TestLeaderSelectorParticipants.testId */
TEST (test_id)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
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
  GPtrArray *participants = curator_leader_selector_get_participants (
      leading->selector, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (participants != NULL, &error);
  g_autofree char *ids = leading_join_ids (participants);
  assert_string_equal (ids, "A is A");
}

/* TestLeaderSelectorParticipants.testBasic: ten selectors name the same ten, in order. */
TEST (test_basic)
{
  enum
  {
    SELECTORS = 10
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  Leading *leaders[SELECTORS];
  for (int i = 0; i < SELECTORS; i++)
    {
      g_autofree char *id = g_strdup_printf ("%d", i);
      leaders[i] = leading_start_new (client, "/ls", id, NULL);
      assert_children (fixture, "/ls", i + 1, LONG_MS);
    }
  leading_assert_entered (leaders[0], 1);
  for (int i = 0; i < SELECTORS; i++)
    {
      GPtrArray *participants = curator_leader_selector_get_participants (
          leaders[i]->selector, CURATOR_WAIT_DEFAULT, NULL, &error);
      assert_ok (participants != NULL, &error);
      g_autofree char *ids = leading_join_ids (participants);
      assert_string_equal (ids, "0,1,2,3,4,5,6,7,8,9");
    }
  for (int i = 0; i < SELECTORS; i++)
    leading_free (leaders[i]);
}

/* TestLeaderSelectorEdges.flappingTest: the connection breaks right after the node was created, and
 * the retry policy is used up: no node stays, and another selector can lead. */
TEST (test_flapping)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_n_times (0, 0);
  g_autoptr (CuratorClient) client = curator_client_new (fixture_proxy (fixture), policy);
  curator_client_set_session_timeout (client, SESSION_MS);
  client_start (client);
  assert_int_equal (raw_zk_make_path (fixture->raw, PATH), ZOK);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_CUT_BEFORE_REPLY);
  g_autoptr (Leading) one = leading_start_new (client, PATH, NULL, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  assert_no_residue (fixture, PATH, LONG_MS);
  assert_int_equal (leading_entered (one), 0);
  g_autoptr (Leading) two = leading_start_new (client, PATH, NULL, NULL);
  leading_assert_entered (two, 1);
  assert_soon (curator_leader_selector_requeue (one->selector));
}

/* TestLeaderAcls.testAclErrorWithLeader: a forbidden path grants nothing and ends nothing; the
 * selector leads once it is allowed. */
TEST (test_acl_error_with_leader)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  assert_int_equal (raw_zk_make_path (fixture->raw, "/forbidden"), ZOK);
  assert_int_equal (
      raw_zk_set_world_acl (fixture->raw, "/forbidden", ZOO_PERM_READ | ZOO_PERM_ADMIN), ZOK);
  g_autoptr (Leading) once = leading_start_new (client, "/forbidden", NULL, NULL);
  assert_soon (curator_leader_selector_requeue (once->selector));
  curator_leader_selector_close (once->selector);
  g_autoptr (Leading) again = leading_new (client, "/forbidden", NULL, NULL);
  curator_leader_selector_set_auto_requeue (again->selector, TRUE);
  leading_start (again);
  assert_int_equal (raw_zk_set_world_acl (fixture->raw, "/forbidden", ZOO_PERM_ALL), ZOK);
  leading_assert_entered (again, 1);
}

SUITE ("Curator's leader selector tests", fixture_start, fixture_stop)
