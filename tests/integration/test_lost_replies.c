/* Connections cut at chosen requests: one node or none, never an orphan, never two holders. */
#include "fixture.h"
#include "support/held_lease.h"

#include <string.h>

/* Within this time after the reconnect all residue must be gone. */
#define SETTLE_MS 20000 /* no session expires meanwhile */

/* After the cut the acquire continues by itself and succeeds with exactly one node. */
static void
acquire_through_loss (Fixture *fixture, const char *path, int times, ProxyAction action)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  raw_zk_make_path (fixture->raw, path);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, times, action);
  assert_ok (curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);
  assert_true (proxy_fired (fixture->proxy) >= 1);
  assert_children (fixture, path, 1, SETTLE_MS);
  g_auto (GStrv) names = raw_zk_children (fixture->raw, path);
  CuratorLease *lease = held_lease (lock);
  assert_string_equal (names[0], curator_lease_get_node_name (lease));
  assert_int_equal (raw_zk_owner (fixture->raw, curator_lease_get_node_path (lease)),
                    curator_client_get_session_id (client));
  struct Stat stat;
  raw_zk_get (fixture->raw, curator_lease_get_node_path (lease), NULL, &stat);
  assert_int_equal (stat.czxid, curator_lease_get_fencing_token (lease));
  proxy_disarm (fixture->proxy);
  assert_ok (curator_lock_release (lock, 0, NULL, &error), &error);
  assert_no_residue (fixture, path, SETTLE_MS);
}

static void
test_create_reply_lost_once (void **state)
{
  acquire_through_loss (*state, "/lost/once", 1, PROXY_CUT_BEFORE_REPLY);
}

static void
test_create_reply_lost_twice_in_a_row (void **state)
{
  acquire_through_loss (*state, "/lost/twice", 2, PROXY_CUT_BEFORE_REPLY);
}

static void
test_create_never_arrived (void **state)
{
  acquire_through_loss (*state, "/lost/before", 1, PROXY_CUT_BEFORE);
  acquire_through_loss (*state, "/lost/before2", 3, PROXY_CUT_BEFORE);
}

/* The caller gives up while it is unknown whether its node exists. */
static void
give_up_in_a_hole (Fixture *fixture, const char *path, gboolean cancel)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  raw_zk_make_path (fixture->raw, path);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE_REPLY);
  g_autoptr (Contender) contender =
      contender_start (lock, cancel ? CURATOR_WAIT_FOREVER : 300, cancellable);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  if (cancel)
    g_cancellable_cancel (cancellable);
  assert_true (contender_wait (contender, 1000));
  assert_false (contender->acquired);
  assert_int_equal (raw_zk_count_children (fixture->raw, path), 1);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_no_residue (fixture, path, SETTLE_MS);
}

static void
test_p1_given_up_with_unknown_outcome (void **state)
{
  give_up_in_a_hole (*state, "/lost/late", FALSE);
}

static void
test_p2_cancelled_while_creating (void **state)
{
  give_up_in_a_hole (*state, "/lost/off", TRUE);
}

/* The node to delete is gone already: the deletion is done, not retried forever. */
static void
test_p2_node_deleted_by_another (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/lost/faster";
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  raw_zk_make_path (fixture->raw, path);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE_REPLY);
  g_autoptr (Contender) contender = contender_start (lock, 100, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  assert_true (contender_wait (contender, LONG_MS));
  g_auto (GStrv) names = raw_zk_children (fixture->raw, path);
  g_autofree char *node = g_strconcat (path, "/", names[0], NULL);
  assert_int_equal (raw_zk_delete (fixture->raw, node), ZOK);
  proxy_reset_counts (fixture->proxy);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  g_autoptr (Contender) next = contender_start (lock, LONG_MS, NULL);
  assert_true (contender_wait (next, LONG_MS));
  assert_true (next->acquired);
  contender_join (next);
  assert_no_residue (fixture, path, SETTLE_MS);
  /* One delete for each of the two nodes, and a second one where the outcome of the first was
   * unknown. */
  wait_ms (500);
  assert_in_range (proxy_count (fixture->proxy, PROXY_DELETE), 1, 3);
}

/* The same when the connection breaks and a new one must be opened. */
static void
test_p1_given_up_then_cut (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/lost/cut");
  raw_zk_make_path (fixture->raw, "/lost/cut");
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE_REPLY);
  g_autoptr (Contender) contender = contender_start (lock, 200, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  assert_true (contender_wait (contender, 1000));
  proxy_cut (fixture->proxy);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_no_residue (fixture, "/lost/cut", SETTLE_MS);
}

/* Cuts the connection at the k-th request of a contended acquire and release. Returns FALSE when
 * the scenario has fewer requests than k. */
static gboolean
cut_at (Fixture *fixture, CuratorClient *direct, int k, int times, ProxyAction action)
{
  g_autofree char *path = g_strdup_printf ("/sweep/%d-%d-%d", (int) action, times, k);
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) theirs = mutex_new (direct, path);
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  g_autoptr (Contender) holder = contender_start (theirs, LONG_MS, NULL);
  assert_true (contender_wait (holder, LONG_MS));
  assert_true (holder->acquired);

  proxy_arm (fixture->proxy, PROXY_ANY_REQUEST, k, times, action);
  g_autoptr (Contender) contender = contender_start (lock, LONG_MS, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  wait_ms (20);
  assert_false (contender_has_returned (contender));
  contender_join (holder);
  assert_true (contender_wait (contender, LONG_MS));
  assert_true (contender->acquired);
  assert_true (contender->token > holder->token);
  assert_int_equal (raw_zk_owner (fixture->raw, contender->node), contender->session);
  contender_join (contender);
  if (!contender->released)
    assert_curator_error (&contender->release_error, CURATOR_ERROR_RELEASE_PENDING);
  gboolean fired = proxy_fired (fixture->proxy) > 0;
  proxy_disarm (fixture->proxy);
  assert_no_residue (fixture, path, SETTLE_MS);
  return fired;
}

static void
sweep (Fixture *fixture, int times, ProxyAction action)
{
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  int k = 1;
  while (k <= 20 && cut_at (fixture, direct, k, times, action))
    k++;
  print_message ("cut at each of %d requests\n", k - 1);
  assert_true (k > 3);
}

static void
test_sweep_cut_before (void **state)
{
  sweep (*state, 1, PROXY_CUT_BEFORE);
}

static void
test_sweep_cut_before_reply (void **state)
{
  sweep (*state, 1, PROXY_CUT_BEFORE_REPLY);
}

static void
test_sweep_cut_after_reply (void **state)
{
  sweep (*state, 1, PROXY_CUT_AFTER_REPLY);
}

static void
test_sweep_twice_in_a_row (void **state)
{
  sweep (*state, 2, PROXY_CUT_BEFORE_REPLY);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_create_reply_lost_once),
    heal_and_test (test_create_reply_lost_twice_in_a_row),
    heal_and_test (test_create_never_arrived),
    heal_and_test (test_p1_given_up_with_unknown_outcome),
    heal_and_test (test_p1_given_up_then_cut),
    heal_and_test (test_p2_cancelled_while_creating),
    heal_and_test (test_p2_node_deleted_by_another),
    heal_and_test (test_sweep_cut_before),
    heal_and_test (test_sweep_cut_before_reply),
    heal_and_test (test_sweep_cut_after_reply),
    heal_and_test (test_sweep_twice_in_a_row),
  };
  return cmocka_run_group_tests_name ("lost replies", tests, fixture_start_calm, fixture_stop);
}
