/* A member of a multi-lock is lost while a later one is waited for: between any two grants, by a
 * deleted node and by an expired session, flat and nested, waiting and trying. */
#include "integration/taking.h"

#include <string.h>

#define N_MEMBERS 3

typedef enum
{
  LOSS_DELETED,
  LOSS_EXPIRED,
  N_LOSSES
} Loss;

typedef enum
{
  SHAPE_FLAT,
  SHAPE_INNER_LAST,
  SHAPE_INNER_FIRST,
  SHAPE_DEEP_WITH_EMPTY,
  N_SHAPES
} Shape;

/* The member to be lost belongs to a client of its own, which the proxy can cut off. */
typedef struct
{
  CuratorClient *client;
  CuratorClient *victim;
  char *paths[N_MEMBERS];
  CuratorLock *members[N_MEMBERS];
  CuratorLock *whole;
} Locks;

static CuratorLock *
multi_of (CuratorLock *first, CuratorLock *second)
{
  CuratorLock *const locks[] = { first, second };
  return curator_multi_lock_new (locks, second != NULL ? 2 : 1);
}

static CuratorLock *
shape_new (CuratorLock **m, Shape shape)
{
  g_autoptr (CuratorLock) none = curator_multi_lock_new (NULL, 0);
  g_autoptr (CuratorLock) last = multi_of (none, m[2]);
  g_autoptr (CuratorLock) last_two = multi_of (m[1], shape == SHAPE_INNER_LAST ? m[2] : last);
  g_autoptr (CuratorLock) first_two = multi_of (m[0], m[1]);
  g_autoptr (CuratorLock) first = multi_of (m[0], NULL);

  return shape == SHAPE_INNER_LAST        ? multi_of (m[0], last_two)
         : shape == SHAPE_INNER_FIRST     ? multi_of (first_two, m[2])
         : shape == SHAPE_DEEP_WITH_EMPTY ? multi_of (first, last_two)
                                          : curator_multi_lock_new (m, N_MEMBERS);
}

static void
locks_init (Locks *locks, Fixture *fixture, int lost, Shape shape)
{
  static int serial;

  serial++;
  locks->client = client_connect (fixture_server (fixture));
  locks->victim = client_new (fixture_proxy (fixture));
  curator_client_set_connection_timeout (locks->victim, LONG_SESSION_MS);
  client_start (locks->victim);
  for (int i = 0; i < N_MEMBERS; i++) {
    locks->paths[i] = g_strdup_printf ("/loss/%d/%d", serial, i);
    locks->members[i] = mutex_new (i == lost ? locks->victim : locks->client, locks->paths[i]);
  }
  locks->whole = shape_new (locks->members, shape);
}

static void
locks_clear (Locks *locks)
{
  g_clear_pointer (&locks->whole, curator_lock_unref);
  for (int i = 0; i < N_MEMBERS; i++) {
    g_clear_pointer (&locks->members[i], curator_lock_unref);
    g_free (locks->paths[i]);
  }
  g_clear_pointer (&locks->victim, curator_client_unref);
  g_clear_pointer (&locks->client, curator_client_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Locks, locks_clear)

static guint64
count_losses (CuratorClient *client)
{
  guint64 values[CURATOR_COUNTER_LOST_CLOSED + 1];
  curator_client_get_counters (client, values, G_N_ELEMENTS (values));
  return values[CURATOR_COUNTER_LOST_DELETED] + values[CURATOR_COUNTER_LOST_SESSION]
         + values[CURATOR_COUNTER_LOST_CLOCK];
}

static void
delete_node (Fixture *fixture, const char *path)
{
  g_auto (GStrv) nodes = raw_zk_children (fixture->raw, path);
  g_autofree char *node = g_strconcat (path, "/", nodes[0], NULL);
  assert_int_equal (raw_zk_delete (fixture->raw, node), ZOK);
}

static void
lose_member (Fixture *fixture, Locks *locks, int lost, Loss loss)
{
  if (loss == LOSS_EXPIRED)
    fixture_expire (fixture);
  else
    delete_node (fixture, locks->paths[lost]);
  assert_soon (count_losses (locks->victim) == 1);
}

static void
assert_all_nodes (Fixture *fixture, Locks *locks, int n)
{
  for (int i = 0; i < N_MEMBERS; i++)
    assert_children (fixture, locks->paths[i], n, LONG_MS);
}

static void
lose_and_grant (Fixture *fixture, int lost, int waited, Loss loss, Shape shape, gboolean by_thread)
{
  g_auto (Locks) locks = { 0 };
  locks_init (&locks, fixture, lost, shape);
  g_autoptr (CuratorLock) block = mutex_new (locks.client, locks.paths[waited]);
  g_autoptr (Taking) blocker = taking_of_lock (block);
  g_autoptr (Contender) thread = by_thread ? contender_start (locks.whole, LONG_MS, NULL) : NULL;
  g_autoptr (Taking) taking = by_thread ? NULL : taking_start_lock (locks.whole, LONG_MS, NULL);

  assert_children (fixture, locks.paths[waited], 2, LONG_MS);
  assert_children (fixture, locks.paths[lost], 1, LONG_MS);
  lose_member (fixture, &locks, lost, loss);
  taking_give_back (blocker);
  if (by_thread) {
    contender_assert_granted (thread);
    assert_true (curator_lock_is_acquired_in_this_process (locks.whole));
    assert_all_nodes (fixture, &locks, 1);
    contender_join (thread);
    assert_ok (thread->released, &thread->release_error);
  } else {
    taking_assert_granted (taking);
    CuratorLease *lease = taking_lease (taking, 0);
    assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_HELD);
    assert_true (curator_lease_get_remaining_ms (lease) > 0);
    assert_all_nodes (fixture, &locks, 1);
    taking_give_back (taking);
  }
  assert_all_nodes (fixture, &locks, 0);
}

TEST (test_loss_between_any_two_grants)
{
  for (int lost = 0; lost < N_MEMBERS - 1; lost++)
    for (int waited = lost + 1; waited < N_MEMBERS; waited++)
      for (int loss = 0; loss < N_LOSSES; loss++)
        for (int shape = 0; shape < N_SHAPES; shape++)
          for (int by_thread = 0; by_thread < 2; by_thread++)
            lose_and_grant (fixture, lost, waited, loss, shape, by_thread);
}

/* The member that was lost belongs to another contender when the last one is granted: one deadline
 * covers both rounds, and nothing is left behind. */
TEST (test_deadline_covers_both_rounds)
{
  for (int lost = 0; lost < N_MEMBERS - 1; lost++) {
    g_auto (Locks) locks = { 0 };
    locks_init (&locks, fixture, lost, SHAPE_INNER_LAST);
    g_autoptr (CuratorLock) block = mutex_new (locks.client, locks.paths[N_MEMBERS - 1]);
    g_autoptr (CuratorLock) thief = mutex_new (locks.client, locks.paths[lost]);
    g_autoptr (Taking) blocker = taking_of_lock (block);
    const gint64 before_ms = wait_now_ms ();
    g_autoptr (Taking) taking = taking_start_lock (locks.whole, 8000, NULL);
    assert_children (fixture, locks.paths[N_MEMBERS - 1], 2, LONG_MS);
    lose_member (fixture, &locks, lost, LOSS_DELETED);
    g_autoptr (Taking) stolen = taking_of_lock (thief);
    taking_give_back (blocker);
    assert_true (taking_wait (taking, LONG_MS));
    assert_curator_error (&taking->error, CURATOR_ERROR_TIMED_OUT);
    assert_true (taking->returned_ms - before_ms >= 7999);
    taking_give_back (stolen);
    assert_all_nodes (fixture, &locks, 0);
    assert_acquired (locks.whole);
    assert_released (locks.whole);
  }
}

/* The first member's node goes while the server's answer for the second is on its way. */
static void
try_and_lose (Fixture *fixture, Shape shape, gboolean by_thread)
{
  g_auto (Locks) locks = { 0 };
  locks_init (&locks, fixture, 1, shape);
  proxy_arm (fixture->proxy, PROXY_ANY_REQUEST, 1, 1, PROXY_HOLD_REQUEST);
  g_autoptr (Contender) thread = by_thread ? contender_start (locks.whole, 0, NULL) : NULL;
  g_autoptr (Taking) taking = by_thread ? NULL : taking_start_lock (locks.whole, 0, NULL);

  assert_children (fixture, locks.paths[0], 1, LONG_MS);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  delete_node (fixture, locks.paths[0]);
  assert_soon (count_losses (locks.client) == 1);
  proxy_disarm (fixture->proxy);
  proxy_let_go (fixture->proxy);
  assert_true (by_thread ? contender_wait (thread, LONG_MS) : taking_wait (taking, LONG_MS));
  assert_curator_error (by_thread ? &thread->error : &taking->error, CURATOR_ERROR_LOCK_LOST);
  assert_false (curator_lock_is_acquired_in_this_process (locks.members[1]));
  assert_all_nodes (fixture, &locks, 0);
}

TEST (test_try_reports_the_loss)
{
  for (int shape = 0; shape < N_SHAPES; shape++)
    for (int by_thread = 0; by_thread < 2; by_thread++)
      try_and_lose (fixture, shape, by_thread);
}

SUITE ("loss within a multi-lock", fixture_start_calm, fixture_stop)
