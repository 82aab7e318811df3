/* The fixed-node lock: its node is recognised after a lost answer, and never taken over from
 * another client. */
#include "integration/taking.h"
#include "support/held_lease.h"

#define PATH      "/fixed/node"
#define SETTLE_MS 20000 /* no session expires meanwhile */

PAIR_TEST (test_hold_and_hand_over)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) first = fixed_node_new (client, PATH);
  g_autoptr (CuratorLock) second = fixed_node_new (peer, PATH);
  assert_acquired (first);
  assert_ok (curator_lock_acquire (first, 0, NULL, &error), &error);
  assert_string_equal (curator_lease_get_node_path (held_lease (first)), PATH);
  assert_int_equal (raw_zk_owner (fixture->raw, PATH), curator_client_get_session_id (client));
  g_auto (GStrv) nodes = participants_of (second);
  assert_int_equal (g_strv_length (nodes), 1);
  assert_string_equal (nodes[0], PATH);
  assert_not_acquired (second, 0, CURATOR_ERROR_TIMED_OUT);
  g_autoptr (Contender) waiter = contender_start (second, LONG_MS, NULL);
  wait_ms (100);
  assert_released (first);
  wait_ms (50);
  assert_false (contender_has_returned (waiter));
  guint64 token = curator_lease_get_fencing_token (held_lease (first));
  assert_released (first);
  contender_assert_granted (waiter);
  assert_true (waiter->token > token);
  contender_join (waiter);
  assert_no_residue (fixture, "/fixed", SETTLE_MS);
}

/* Two locks in one session: the loser must not take the winner's node for its own, even after a
 * lost answer. */
PROXY_TEST (test_p29_not_confused_within_a_session)
{
  g_autoptr (CuratorLock) first = fixed_node_new (client, PATH);
  g_autoptr (CuratorLock) second = fixed_node_new (client, PATH);
  assert_acquired (first);
  for (int i = 0; i < 2; i++) {
    proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1,
               i == 0 ? PROXY_CUT_BEFORE_REPLY : PROXY_CUT_BEFORE);
    g_autoptr (Taking) other = taking_start_lock (second, 3000, NULL);
    assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
    assert_true (taking_wait (other, LONG_MS));
    assert_null (other->leases);
    assert_true (raw_zk_exists (fixture->raw, PATH));
    assert_lease_state (held_lease (first), CURATOR_LEASE_STATE_HELD,
                        LONG_MS); /* connected again */
  }
  assert_released (first);
  assert_no_residue (fixture, "/fixed", SETTLE_MS);
}

/* The caller gave up while its create was in flight; the node belongs to another client by then. */
PAIR_TEST (test_p29_node_of_the_next_holder)
{
  g_autoptr (CuratorLock) theirs = fixed_node_new (peer, PATH);
  g_autoptr (CuratorLock) lock = fixed_node_new (client, PATH);
  raw_zk_make_path (fixture->raw, "/fixed");
  /* The create never arrived, and another client holds by then: its node stays. */
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE);
  assert_not_acquired (lock, 300, CURATOR_ERROR_NO_ANSWER);
  assert_acquired (theirs);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  wait_ms (300);
  assert_int_equal (raw_zk_owner (fixture->raw, PATH), curator_client_get_session_id (peer));
  assert_int_equal (curator_lease_get_state (held_lease (theirs)), CURATOR_LEASE_STATE_HELD);
  assert_released (theirs);
  assert_no_residue (fixture, "/fixed", SETTLE_MS);
}

/* A foreign program owns the node; its deletion grants the lock to us. */
CLIENT_TEST (test_p29_node_of_a_foreign_program)
{
  g_autoptr (CuratorLock) lock = fixed_node_new (client, PATH);
  raw_zk_make_path (fixture->raw, "/fixed");
  assert_int_equal (raw_zk_create (fixture->raw, PATH, "x", ZOO_EPHEMERAL, NULL), ZOK);
  assert_not_acquired (lock, 3000, CURATOR_ERROR_TIMED_OUT);
  assert_int_equal (raw_zk_owner (fixture->raw, PATH), raw_zk_session (fixture->raw));
  g_autoptr (Taking) waiter = taking_start_lock (lock, LONG_MS, NULL);
  taking_assert_waits (waiter);
  assert_int_equal (raw_zk_delete (fixture->raw, PATH), ZOK);
  taking_assert_granted (waiter);
  taking_give_back (waiter);
  assert_no_residue (fixture, "/fixed", SETTLE_MS);
}

SUITE ("fixed-node lock", fixture_start_calm, fixture_stop)
