/* Custom drivers: the engine follows their decisions and still cleans up. */
#include "integration/taking.h"
#include "support/held_lease.h"

#include <curator/lock_internals.h>

#include <string.h>

#define SETTLE_MS 20000 /* no session expires meanwhile */

typedef struct
{
  CuratorCreateMode mode;
  gboolean protected_;
  const char *name; /* NULL: the lock name */
} Plan;

/* Atomic. */
static gint n_drivers;       /* whose user data is not freed yet */
static gint max_leases_seen; /* by latest_first */
static gint n_own_unseen;    /* calls of decide_as_java that were not shown their own node */

static void
create_as_planned (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer user_data)
{
  const Plan *plan = user_data;
  curator_node_request_set_mode (request, plan->mode);
  curator_node_request_set_protected (request, plan->protected_);
  if (plan->name != NULL)
    curator_node_request_set_name (request, plan->name);
  curator_node_request_set_data (request, "planned", 7);
}

static void
plan_free (gpointer plan)
{
  g_free (plan);
  g_atomic_int_add (&n_drivers, -1);
}

typedef void (*Predicate) (CuratorLockDriver *driver, const char *const *children, gsize n_children,
                           const char *sequence_node_name, guint max_leases,
                           CuratorPredicateResults *results, gpointer user_data);

/* predicate: NULL is the standard one. The driver has a copy of the plan: it may live as long as a
 * request is in flight. */
static CuratorLock *
lock_of (CuratorClient *client, const char *path, const Plan *plan, Predicate predicate,
         guint max_leases)
{
  g_autoptr (GError) error = NULL;
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = create_as_planned,
                                         .gets_the_lock = predicate };
  g_autoptr (CuratorLockDriver) driver =
      curator_lock_driver_new (&funcs, g_memdup2 (plan, sizeof *plan), plan_free);
  g_atomic_int_inc (&n_drivers);
  CuratorLock *lock =
      curator_mutex_new_with_driver (client, path, "lock-", max_leases, driver, &error);
  assert_ok (lock != NULL, &error);
  return lock;
}

/* StandardLockInternalsDriver.getsTheLock, which takes for granted that it finds its own node. */
static void
decide_as_java (CuratorLockDriver *driver, const char *const *children, gsize n_children,
                const char *own, guint max_leases, CuratorPredicateResults *results,
                gpointer user_data)
{
  gsize index = 0;
  while (index < n_children && strcmp (children[index], own) != 0)
    index++;
  if (index == n_children) {
    g_atomic_int_inc (&n_own_unseen);
    return;
  }
  results->gets_the_lock = index == 0;
  results->path_to_watch = index == 0 ? NULL : children[index - 1];
}

/* TestInterProcessMutex.testPersistentLock: a persistent node outlives the session of its creator,
 * and its release deletes it. */
PAIR_TEST (test_persistent_nodes)
{
  static const CuratorCreateMode modes[] = { CURATOR_CREATE_MODE_PERSISTENT,
                                             CURATOR_CREATE_MODE_PERSISTENT_SEQUENTIAL };
  g_autoptr (StateLog) log = state_log_new (client);
  for (int i = 0; i < 2; i++) {
    Plan plan = { .mode = modes[i], .protected_ = TRUE };
    const Predicate predicate = i == 0 ? decide_as_java : NULL;
    g_autofree char *path = g_strdup_printf ("/driver/stays-%d", i);
    g_autoptr (CuratorLock) lock = lock_of (client, path, &plan, predicate, 1);
    g_autoptr (CuratorLock) theirs = lock_of (peer, path, &plan, predicate, 1);
    assert_acquired (lock);
    assert_true (curator_lock_is_acquired_in_this_process (lock));
    CuratorLease *lease = held_lease (lock);
    assert_int_equal (raw_zk_owner (fixture->raw, curator_lease_get_node_path (lease)), 0);
    g_autoptr (GBytes) data = data_of (lease);
    assert_int_equal (g_bytes_get_size (data), 7);
    g_autoptr (Taking) other = taking_start_lock (theirs, LONG_MS, NULL);
    fixture_expire (fixture);
    assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, i + 1, LONG_MS));
    wait_ms (300); /* after 250 ms a hold watches its own node, in a session that is alive */
    taking_assert_waits (other);
    assert_released (lock);
    taking_assert_granted (other);
    /* A waiter that gives up deletes its node too, although no session expiry would. */
    assert_not_acquired (lock, 3000, CURATOR_ERROR_TIMED_OUT);
    assert_children (fixture, path, 1, SETTLE_MS);
    taking_give_back (other);
    assert_no_residue (fixture, path, SETTLE_MS);
  }
  assert_soon (g_atomic_int_get (&n_drivers) == 0);
  assert_int_equal (g_atomic_int_get (&n_own_unseen), 0);
  curator_client_close (client);
}

/* The answer to the create is lost, and then the caller gives up: one node or none, also of a name
 * without a GUID. */
TEST (test_numbered_nodes_of_unknown_outcome)
{
  static const Plan plans[] = {
    { .mode = CURATOR_CREATE_MODE_PERSISTENT_SEQUENTIAL, .protected_ = TRUE },
    { .mode = CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL, .name = "plain-lock-" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (plans); i++) {
    g_autofree char *path = g_strdup_printf ("/driver/lost-%zu", i);
    g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
    g_autoptr (CuratorLock) lock = lock_of (client, path, &plans[i], NULL, 1);
    raw_zk_make_path (fixture->raw, path);
    proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_CUT_BEFORE_REPLY);
    assert_acquired (lock);
    assert_int_equal (proxy_fired (fixture->proxy), 1);
    assert_children (fixture, path, 1, SETTLE_MS);
    assert_released (lock);
    proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE_REPLY);
    assert_not_acquired (lock, 1000, CURATOR_ERROR_NO_ANSWER);
    proxy_set_mode (fixture->proxy, PROXY_PASS);
    assert_no_residue (fixture, path, SETTLE_MS);
  }
}

/* As the standard lock creates them. */
static const Plan numbered = { .mode = CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL,
                               .protected_ = TRUE };

/* Last come, first served: grants the node that has none behind it, and watches the one behind. */
static void
latest_first (CuratorLockDriver *driver, const char *const *children, gsize n_children,
              const char *sequence_node_name, guint max_leases, CuratorPredicateResults *results,
              gpointer user_data)
{
  g_atomic_int_set (&max_leases_seen, max_leases);
  results->gets_the_lock = strcmp (children[n_children - 1], sequence_node_name) == 0;
  if (!results->gets_the_lock)
    results->path_to_watch = children[n_children - 1];
}

CLIENT_TEST (test_custom_order)
{
  g_autoptr (CuratorLock) lock = lock_of (client, "/driver/latest", &numbered, latest_first, 7);
  /* Each one is the last when it comes: all are granted in this order. */
  g_autoptr (Taking) first = taking_of_lock (lock);
  g_autoptr (Taking) second = taking_of_lock (lock);
  assert_int_equal (g_atomic_int_get (&max_leases_seen), 7);
  taking_give_back (first);
  taking_give_back (second);
  assert_no_residue (fixture, "/driver/latest", SETTLE_MS);
}

/* No node to watch: the driver re-evaluates at every change of the children. */
static void
only_two (CuratorLockDriver *driver, const char *const *children, gsize n_children,
          const char *sequence_node_name, guint max_leases, CuratorPredicateResults *results,
          gpointer user_data)
{
  results->gets_the_lock = n_children <= 2 || strcmp (children[0], sequence_node_name) == 0
                           || strcmp (children[1], sequence_node_name) == 0;
}

static void
take_two_and_a_third (Fixture *fixture, CuratorLock *lock, const char *path)
{
  g_autoptr (Taking) first = taking_of_lock (lock);
  g_autoptr (Taking) second = taking_of_lock (lock);
  g_autoptr (Taking) third = taking_start_lock (lock, LONG_MS, NULL);
  assert_children (fixture, path, 3, LONG_MS);
  taking_assert_waits (third);
  taking_give_back (first);
  taking_assert_granted (third);
  taking_give_back (second);
  taking_give_back (third);
  assert_no_residue (fixture, path, SETTLE_MS);
}

CLIENT_TEST (test_without_a_node_to_watch)
{
  g_autoptr (CuratorLock) lock = lock_of (client, "/driver/two", &numbered, only_two, 2);
  take_two_and_a_third (fixture, lock, "/driver/two");
}

/* max_leases with the standard predicate: the deprecated InterProcessSemaphore's order. */
CLIENT_TEST (test_several_leases)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock =
      curator_mutex_new_with_driver (client, "/driver/n", "lock-", 2, NULL, &error);
  assert_ok (lock != NULL, &error);
  take_two_and_a_third (fixture, lock, "/driver/n");
  assert_null (curator_mutex_new_with_driver (client, "/driver/n", "lock-", 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_null (curator_mutex_new_with_driver (client, "/driver/n", "a/b", 1, NULL, &error));
  assert_string_equal (error->message, "a lock name has no slash");
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
}

/* Not sequential: waits while the name is taken, and never deletes a node of another client. */
CLIENT_TEST (test_one_name)
{
  Plan plan = { .mode = CURATOR_CREATE_MODE_EPHEMERAL, .name = "the-node" };
  g_autoptr (CuratorLock) lock = lock_of (client, "/driver/one", &plan, NULL, 1);
  raw_zk_make_path (fixture->raw, "/driver/one");
  raw_zk_create (fixture->raw, "/driver/one/the-node", "planned", ZOO_PERSISTENT, NULL);
  assert_not_acquired (lock, 3000, CURATOR_ERROR_TIMED_OUT);
  assert_true (raw_zk_exists (fixture->raw, "/driver/one/the-node"));
  g_autoptr (Taking) waiter = taking_start_lock (lock, LONG_MS, NULL);
  taking_assert_waits (waiter);
  raw_zk_delete (fixture->raw, "/driver/one/the-node");
  taking_assert_granted (waiter);
  assert_string_equal (curator_lease_get_node_path (taking_lease (waiter, 0)),
                       "/driver/one/the-node");
  taking_give_back (waiter);
  assert_no_residue (fixture, "/driver/one", SETTLE_MS);
}

/* Two clients contend, one of them with two attempts. */
static void
contend_as_planned (Fixture *fixture, const Plan *plan, Predicate predicate, const char *path)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) second_client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = lock_of (client, path, plan, predicate, 1);
  g_autoptr (CuratorLock) second = lock_of (second_client, path, plan, predicate, 1);
  g_autoptr (Taking) holder = taking_of_lock (lock);
  assert_not_acquired (second, 3000, CURATOR_ERROR_TIMED_OUT);
  g_autoptr (Taking) waiter = taking_start_lock (second, LONG_MS, NULL);
  g_autoptr (Taking) neighbour = taking_start_lock (lock, LONG_MS, NULL);
  Taking *const both[] = { waiter, neighbour };
  taking_assert_waits (waiter);
  assert_false (taking_has_returned (neighbour));
  taking_give_back (holder);
  const int first = takings_wait (both, 2);
  Taking *last = both[1 - first];
  wait_ms (50);
  assert_false (taking_has_returned (last));
  taking_give_back (both[first]);
  taking_assert_granted (last);
  taking_give_back (last);
  assert_no_residue (fixture, path, SETTLE_MS);
  assert_int_equal (g_atomic_int_get (&n_own_unseen), 0);
}

TEST (test_every_kind_of_node_excludes)
{
  for (int kind = 0; kind < 16; kind++) {
    Plan plan = { .mode = (CuratorCreateMode) (kind & 3), .protected_ = (kind & 4) != 0 };
    g_autofree char *path = g_strdup_printf ("/driver/kind-%d", kind);
    contend_as_planned (fixture, &plan, (kind & 8) != 0 ? decide_as_java : NULL, path);
  }
}

/* A name in which the driver finds no number looks foreign to all contenders: an error at once. */
CLIENT_TEST (test_name_without_its_number)
{
  Plan plan = { .mode = CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL,
                .protected_ = TRUE,
                .name = "other-" };
  g_autoptr (CuratorLock) lock = lock_of (client, "/driver/number", &plan, NULL, 1);
  assert_not_acquired (lock, LONG_MS, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_no_residue (fixture, "/driver/number", SETTLE_MS);
}

/* The reply to the create is lost. A persistent node is found by a GUID in its data; data that is
 * not unique must not be taken for proof, or two clients would hold one node. */
PAIR_TEST (test_equal_nodes_of_unknown_outcome)
{
  Plan plan = { .mode = CURATOR_CREATE_MODE_PERSISTENT, .name = "one" };
  g_autoptr (CuratorLock) theirs = lock_of (peer, "/driver/equal", &plan, NULL, 1);
  g_autoptr (CuratorLock) lock = lock_of (client, "/driver/equal", &plan, NULL, 1);
  g_autoptr (Taking) holder = taking_of_lock (theirs);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_CUT_BEFORE_REPLY);
  assert_not_acquired (lock, 3000, CURATOR_ERROR_TIMED_OUT);
  assert_int_equal (proxy_fired (fixture->proxy), 1);
  wait_ms (200);
  assert_true (raw_zk_exists (fixture->raw, "/driver/equal/one"));
  taking_give_back (holder);
  assert_no_residue (fixture, "/driver/equal", SETTLE_MS);
}

SUITE ("drivers", fixture_start_calm, fixture_stop)
