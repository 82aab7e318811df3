/* Semaphores: the limit, the order, all or nothing, resizing while running, and leases. */
#include "integration/taking.h"

#include <string.h>

#define LEASES "/leases"
#define LOCKS  "/locks"

/* Of Curator's own tests. */
#define CURATORS "/test/semaphore"

static char *
below (const char *path, const char *child)
{
  return g_strconcat (path, child, NULL);
}

static void
assert_all_gone (Fixture *fixture, const char *path)
{
  g_autofree char *leases = below (path, LEASES);
  g_autofree char *locks = below (path, LOCKS);
  assert_no_residue (fixture, leases, 3000);
  assert_no_residue (fixture, locks, 3000);
}

/* Threads that come and go, by some of Curator's own tests (TestInterProcessSemaphore), too. */
static const struct
{
  const char *name;
  int max;
  int clients;
  int threads;
  int rounds;
  int hold_ms;
  int most;          /* leases that one acquires, a random number up to this */
  int least_at_once; /* are held at some time */
} rushes[] = {
  { "one lease", 1, 2, 12, 15, 5, 1, 1 },
  { "three leases", 3, 2, 12, 15, 5, 2, 3 },
  { "ten leases", 10, 2, 12, 15, 5, 2, 3 },
  { "testMaxPerSession", 5, 10, 10, 20, 2, 5, 1 },
  { "testRelease1AtATime", 5, 10, 10, 10, 30, 1, 5 },
  { "testReleaseInChunks", 11, 1, 100, 1, 2, 1, 1 },
  { "testThreads", 1, 1, 10, 5, 2, 1, 1 },
};

typedef struct
{
  int inside;
  int peak;
  int failures;
} Crowd;

typedef struct
{
  gsize rush;
  Crowd *crowd; /* of all clients */
  CuratorSemaphore *semaphore;
  GRand *rand;
} Visitor;

static void *
come_and_go (void *data)
{
  Visitor *visitor = data;
  Crowd *crowd = visitor->crowd;
  for (int i = 0; i < rushes[visitor->rush].rounds; i++)
    {
      const int n = g_rand_int_range (visitor->rand, 1, rushes[visitor->rush].most + 1);
      g_autoptr (GPtrArray) leases =
          curator_semaphore_acquire_n (visitor->semaphore, n, LONG_MS, NULL, NULL);
      if (leases == NULL || leases->len != (guint) n)
        {
          g_atomic_int_inc (&crowd->failures);
          return NULL;
        }
      const int inside = g_atomic_int_add (&crowd->inside, n) + n;
      for (int peak = g_atomic_int_get (&crowd->peak);
           inside > peak && !g_atomic_int_compare_and_exchange (&crowd->peak, peak, inside);
           peak = g_atomic_int_get (&crowd->peak))
        {
        }
      wait_ms (rushes[visitor->rush].hold_ms);
      g_atomic_int_add (&crowd->inside, -n);
      curator_semaphore_return_all (visitor->semaphore, leases, CURATOR_WAIT_DEFAULT, NULL, NULL);
    }
  return NULL;
}

static void
run_crowd (Fixture *fixture, gsize rush)
{
  g_autofree char *path = g_strdup_printf ("/semaphore/crowd-%zu", rush);
  CuratorClient *clients[10];
  CuratorSemaphore *semaphores[10];
  Visitor visitors[100];
  pthread_t threads[100];
  Crowd crowd = { 0 };

  for (int i = 0; i < rushes[rush].clients; i++)
    {
      clients[i] = client_connect (fixture_server (fixture));
      semaphores[i] = semaphore_new (clients[i], path, (guint) rushes[rush].max);
    }
  for (int i = 0; i < rushes[rush].threads; i++)
    {
      visitors[i] = (Visitor){ rush, &crowd, semaphores[i % rushes[rush].clients],
                               g_rand_new_with_seed ((guint32) i + 1) };
      pthread_create (&threads[i], NULL, come_and_go, &visitors[i]);
    }
  for (int i = 0; i < rushes[rush].threads; i++)
    {
      pthread_join (threads[i], NULL);
      g_rand_free (visitors[i].rand);
    }
  print_message ("%s: at most %d of %d at a time\n", rushes[rush].name, crowd.peak,
                 rushes[rush].max);
  assert_int_equal (crowd.failures, 0);
  assert_in_range (crowd.peak, rushes[rush].least_at_once, rushes[rush].max);
  assert_all_gone (fixture, path);
  for (int i = 0; i < rushes[rush].clients; i++)
    {
      curator_semaphore_unref (semaphores[i]);
      curator_client_unref (clients[i]);
    }
}

TEST (test_p30_never_more_than_its_size)
{
  for (gsize i = 0; i < G_N_ELEMENTS (rushes); i++)
    run_crowd (fixture, i);
}

/* The nodes are those of Curator: a turn under locks, a lease under leases. */
TEST (test_layout)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/semaphore/layout", 2);
  curator_semaphore_set_node_data (semaphore, "data", 4);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
  assert_ok (lease != NULL, &error);
  assert_true (g_regex_match_simple ("^/semaphore/layout/leases/_c_[0-9a-f-]{36}-lease-[0-9]{10}$",
                                     curator_lease_get_node_path (lease), 0, 0));
  assert_children (fixture, "/semaphore/layout/locks", 0, 3000);
  g_autoptr (GBytes) data = curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (data != NULL, &error);
  assert_memory_equal (g_bytes_get_data (data, NULL), "data", 4);
  g_auto (GStrv) nodes =
      curator_semaphore_get_participant_nodes (semaphore, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (nodes != NULL, &error);
  assert_int_equal (g_strv_length (nodes), 1);
  assert_string_equal (nodes[0], curator_lease_get_node_path (lease));
  assert_int_equal (curator_semaphore_get_max_leases (semaphore), 2);
  /* The first waiter has the turn, and those behind it have no lease nodes. */
  g_autoptr (Taking) second = taking_of (semaphore, 1);
  g_autoptr (Taking) third = taking_start (semaphore, 1, LONG_MS, NULL);
  assert_children (fixture, "/semaphore/layout/leases", 3, LONG_MS);
  g_autoptr (Taking) fourth = taking_start (semaphore, 1, LONG_MS, NULL);
  assert_children (fixture, "/semaphore/layout/locks", 2, LONG_MS);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/semaphore/layout/leases"), 3);
  taking_give_back (second);
  taking_assert_granted (third);
  taking_assert_waits (fourth);
  assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  taking_assert_granted (fourth);
  taking_give_back (third);
  taking_give_back (fourth);
  assert_all_gone (fixture, "/semaphore/layout");
}

/* Java keeps the turn for one lease only, so that two callers that want 2 of 2 can take one
 * each. */
TEST (test_two_of_two_never_deadlock)
{
  g_autoptr (CuratorClient) one = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) two = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) first = semaphore_new (one, "/semaphore/both", 2);
  g_autoptr (CuratorSemaphore) second = semaphore_new (two, "/semaphore/both", 2);
  for (int i = 0; i < 60; i++)
    {
      g_autoptr (Taking) a = taking_start (first, 2, LONG_MS, NULL);
      g_autoptr (Taking) b = taking_start (second, 2, LONG_MS, NULL);
      Taking *winner = NULL;
      for (gint64 end = wait_now_ms () + LONG_MS; winner == NULL && wait_now_ms () < end;)
        {
          winner = taking_has_returned (a) ? a : taking_has_returned (b) ? b : NULL;
          g_usleep (200);
        }
      assert_non_null (winner);
      taking_assert_granted (winner);
      Taking *loser = winner == a ? b : a;
      assert_false (taking_has_returned (loser));
      assert_int_equal (winner->leases->len, 2);
      taking_give_back (winner);
      taking_assert_granted (loser);
      taking_give_back (loser);
    }
  assert_all_gone (fixture, "/semaphore/both");
}

/* Only some of the leases are available: none is kept, and one timeout covers all of them. */
TEST (test_p30_all_or_nothing)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/semaphore/all", 3);
  g_autoptr (Taking) one = taking_of (semaphore, 1);
  gint64 before = wait_now_ms ();
  assert_null (curator_semaphore_acquire_n (semaphore, 3, 1000, NULL, &error));
  gint64 took = wait_now_ms () - before;
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
  assert_true (took >= 399);
  assert_children (fixture, "/semaphore/all/leases", 1, 3000);
  assert_children (fixture, "/semaphore/all/locks", 0, 3000);
  assert_null (curator_semaphore_acquire_n (semaphore, 3, 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
  assert_children (fixture, "/semaphore/all/leases", 1, 3000);
  g_autoptr (GPtrArray) two = curator_semaphore_acquire_n (semaphore, 2, 0, NULL, &error);
  assert_ok (two != NULL, &error);
  assert_int_equal (two->len, 2);
  curator_semaphore_return_all (semaphore, two, CURATOR_WAIT_DEFAULT, NULL, NULL);
  taking_give_back (one);
  assert_all_gone (fixture, "/semaphore/all");
}

/* More than there are would wait forever, and keep all others from their leases. */
TEST (test_more_than_there_are)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/semaphore/bad", 1);
  assert_null (curator_semaphore_acquire_n (semaphore, 2, CURATOR_WAIT_FOREVER, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  g_autoptr (Taking) taking = taking_start (semaphore, 2, CURATOR_WAIT_FOREVER, NULL);
  assert_true (taking_wait (taking, LONG_MS));
  assert_curator_error (&taking->error, CURATOR_ERROR_INVALID_ARGUMENT);
  g_auto (GStrv) nodes =
      curator_semaphore_get_participant_nodes (semaphore, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (nodes != NULL, &error);
  assert_int_equal (g_strv_length (nodes), 0);
  assert_false (raw_zk_exists (fixture->raw, "/semaphore/bad"));
}

/* The delete of the turn is lost after the lease was granted: Java leaks the lease then. */
TEST (test_p30_turn_delete_lost)
{
  const char *path = "/semaphore/turn";
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorSemaphore) theirs = semaphore_new (direct, path, 2);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, 2);
  raw_zk_make_path (fixture->raw, "/semaphore/turn/leases");
  raw_zk_make_path (fixture->raw, "/semaphore/turn/locks");
  proxy_arm (fixture->proxy, PROXY_DELETE, 1, 1, PROXY_CUT_BEFORE);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
  assert_ok (lease != NULL, &error);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  g_autoptr (Taking) other = taking_of (theirs, 1);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_HELD);
  assert_children (fixture, "/semaphore/turn/leases", 2, LONG_MS);
  assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  taking_give_back (other);
  assert_all_gone (fixture, path);
}

/* A foreign node with a number takes a lease, as it does from Java's clients. */
TEST (test_numbered_node_of_another)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/semaphore/foreign", 2);
  raw_zk_make_path (fixture->raw, "/semaphore/foreign/leases");
  raw_zk_create (fixture->raw, "/semaphore/foreign/leases/lease-", NULL, ZOO_PERSISTENT_SEQUENTIAL,
                 NULL);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  g_autoptr (Taking) waiter = taking_start (semaphore, 1, LONG_MS, NULL);
  taking_assert_waits (waiter);
  taking_give_back (held);
  taking_assert_granted (waiter);
  taking_give_back (waiter);
  assert_children (fixture, "/semaphore/foreign/leases", 1, LONG_MS);
}

/* --- Curator's own tests, by their names: TestInterProcessSemaphore --------------------------- */

/* testNoOrphanedNodes: the waiter's node is deleted by another client; the waiter recovers and
 * leaves nothing. */
TEST (test_no_orphaned_nodes)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, CURATORS, 1);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  g_autoptr (Taking) waiter = taking_start (semaphore, 1, 60000, NULL);
  assert_children (fixture, CURATORS LEASES, 2, LONG_MS);
  g_auto (GStrv) names = raw_zk_children (fixture->raw, CURATORS LEASES);
  g_autofree char *path = g_strconcat (CURATORS LEASES "/", names[1], NULL);
  assert_int_equal (raw_zk_delete (fixture->raw, path), ZOK);
  taking_give_back (held);
  taking_assert_granted (waiter);
  assert_children (fixture, CURATORS LEASES, 1, 3000);
  taking_give_back (waiter);
  assert_no_residue (fixture, CURATORS LEASES, 3000);
}

/* testAcquireAfterLostServer: the server stops after one client has created its node and before it
 * has listed; after the restart all acquire. */
TEST (test_acquire_after_lost_server)
{
  enum
  {
    N = 10
  };
  Taking *takings[N];
  g_autoptr (CuratorClient) client = client_connect_for (fixture_proxy (fixture), 10000);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, CURATORS, 1);
  raw_zk_make_path (fixture->raw, CURATORS LEASES);
  raw_zk_make_path (fixture->raw, CURATORS LOCKS);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 2, 1, PROXY_HOLE_BEFORE_REPLY);
  for (int i = 0; i < N; i++)
    takings[i] = taking_start (semaphore, 1, 60000, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (zk_server_restart (fixture->server));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  for (int left = N; left > 0; left--)
    {
      Taking *granted = NULL;
      for (gint64 end = wait_now_ms () + LONG_MS; granted == NULL && wait_now_ms () < end;)
        {
          for (int i = 0; i < N && granted == NULL; i++)
            granted = takings[i] != NULL && taking_has_returned (takings[i]) ? takings[i] : NULL;
          wait_ms (2);
        }
      assert_non_null (granted);
      taking_assert_granted (granted);
      taking_give_back (granted);
      for (int i = 0; i < N; i++)
        takings[i] = takings[i] == granted ? NULL : takings[i];
      taking_free (granted);
    }
  assert_no_residue (fixture, CURATORS LEASES, 3000);
  assert_no_residue (fixture, CURATORS LOCKS, 3000);
}

SUITE ("semaphore", fixture_start_calm, fixture_stop)
