/* Members of a multi-lock that are taken together, on a real server: refused, entered again, of
 * several clients, without parents, cut off at every request, and killed in between. */
#include "integration/taking.h"
#include "support/process.h"
#include "support/scratch.h"

#include <string.h>

#define N_PATHS 4
#define HELD    2 /* index of the member that another client holds */

typedef struct
{
  char *paths[N_PATHS];
  CuratorLock *members[N_PATHS]; /* the second one is a write lock */
  CuratorLock *whole;
} Locks;

static Locks
locks_of (CuratorClient *client, const char *base)
{
  Locks locks = { 0 };
  for (int i = 0; i < N_PATHS; i++) {
    locks.paths[i] = g_strdup_printf ("%s/%d", base, i);
    locks.members[i] =
        i == 1 ? writer_new (client, locks.paths[i]) : mutex_new (client, locks.paths[i]);
  }
  locks.whole = curator_multi_lock_new (locks.members, N_PATHS);
  return locks;
}

static void
locks_clear (Locks *locks)
{
  curator_lock_unref (locks->whole);
  for (int i = 0; i < N_PATHS; i++) {
    curator_lock_unref (locks->members[i]);
    g_free (locks->paths[i]);
  }
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Locks, locks_clear)

static void
make_parents (Fixture *fixture, const Locks *locks)
{
  for (int i = 0; i < N_PATHS; i++)
    assert_int_equal (raw_zk_make_path (fixture->raw, locks->paths[i]), ZOK);
}

static void
assert_each_has (Fixture *fixture, const Locks *locks, int first, int second, int third, int fourth)
{
  const int wanted[N_PATHS] = { first, second, third, fourth };
  for (int i = 0; i < N_PATHS; i++)
    assert_children (fixture, locks->paths[i], wanted[i], LONG_MS);
}

static void
assert_nothing_left (Fixture *fixture, const Locks *locks)
{
  for (int i = 0; i < N_PATHS; i++)
    assert_no_residue (fixture, locks->paths[i], LONG_MS);
}

/* --- a delete that is refused ----------------------------------------------------------------- */

PROXY_TEST (test_one_delete_refused)
{
  g_autoptr (GError) error = NULL;
  g_auto (Locks) locks = locks_of (client, "/together/refused");
  make_parents (fixture, &locks);
  assert_acquired (locks.whole);
  assert_int_equal (
      raw_zk_set_world_acl (fixture->raw, locks.paths[1], ZOO_PERM_ALL & ~ZOO_PERM_DELETE), ZOK);
  assert_false (curator_lock_release (locks.whole, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_non_null (strstr (error->message, locks.paths[1]));
  assert_null (strstr (error->message, locks.paths[0]));
  assert_error (&error, CURATOR_ZK_ERROR, ZNOAUTH);
  assert_each_has (fixture, &locks, 0, 1, 0, 0);
  assert_false (curator_lock_is_acquired_in_this_process (locks.members[1]));
  assert_int_equal (raw_zk_set_world_acl (fixture->raw, locks.paths[1], ZOO_PERM_ALL), ZOK);
  assert_nothing_left (fixture, &locks);
  assert_acquired (locks.whole);
  assert_released (locks.whole);
  assert_nothing_left (fixture, &locks);
}

/* --- members held already, twice, and nested -------------------------------------------------- */

PROXY_TEST (test_entered_again)
{
  g_autoptr (GError) error = NULL;
  g_auto (Locks) locks = locks_of (client, "/together/again");
  make_parents (fixture, &locks);
  CuratorLock *const inside[] = { locks.members[1], locks.members[2], locks.members[3] };
  g_autoptr (CuratorLock) inner = curator_multi_lock_new (inside, G_N_ELEMENTS (inside));
  CuratorLock *const outside[] = { locks.members[0], locks.members[1], locks.members[0], inner };
  g_autoptr (CuratorLock) outer = curator_multi_lock_new (outside, G_N_ELEMENTS (outside));

  proxy_reset_counts (fixture->proxy);
  assert_acquired (locks.members[1]);
  assert_acquired (outer);
  assert_ok (curator_lock_acquire (outer, 0, NULL, &error), &error);
  assert_acquired (locks.whole);
  assert_int_equal (proxy_count (fixture->proxy, PROXY_CREATE2), N_PATHS);
  assert_released (outer);
  assert_released (outer);
  assert_each_has (fixture, &locks, 1, 1, 1, 1);
  assert_released (locks.whole);
  assert_each_has (fixture, &locks, 0, 1, 0, 0);
  assert_false (curator_lock_release (outer, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_nothing_left (fixture, &locks);
}

/* --- members of several clients --------------------------------------------------------------- */

/* Nothing behind a member of another client is created before that one is held. */
PAIR_TEST (test_of_two_clients)
{
  g_autoptr (CuratorClient) between = client_connect (fixture_server (fixture));
  g_auto (Locks) mine = locks_of (client, "/together/mine");
  g_auto (Locks) other = locks_of (between, "/together/other");
  g_auto (Locks) held = locks_of (peer, "/together/other");
  make_parents (fixture, &mine);
  make_parents (fixture, &other);
  CuratorLock *const members[] = { mine.members[0],  mine.members[1], other.members[0],
                                   other.members[1], mine.members[2], mine.members[3] };
  g_autoptr (CuratorLock) whole = curator_multi_lock_new (members, G_N_ELEMENTS (members));
  g_autoptr (Taking) blocker = taking_of_lock (held.members[0]);

  proxy_reset_counts (fixture->proxy);
  g_autoptr (Taking) taking = taking_start_lock (whole, LONG_MS, NULL);
  assert_each_has (fixture, &mine, 1, 1, 0, 0);
  assert_each_has (fixture, &other, 2, 0, 0, 0);
  taking_assert_waits (taking);
  assert_int_equal (proxy_count (fixture->proxy, PROXY_CREATE2), 2);
  taking_give_back (blocker);
  taking_assert_granted (taking);
  assert_each_has (fixture, &mine, 1, 1, 1, 1);
  assert_each_has (fixture, &other, 1, 1, 0, 0);
  assert_int_equal (proxy_count (fixture->proxy, PROXY_CREATE2), N_PATHS);
  taking_give_back (taking);
  assert_nothing_left (fixture, &mine);
  assert_nothing_left (fixture, &other);
}

/* --- missing parents -------------------------------------------------------------------------- */

/* Every create is refused once. */
PROXY_TEST (test_missing_parents)
{
  g_auto (Locks) locks = locks_of (client, "/together/without/parents");
  proxy_reset_counts (fixture->proxy);
  assert_acquired (locks.whole);
  assert_each_has (fixture, &locks, 1, 1, 1, 1);
  assert_int_equal (proxy_count (fixture->proxy, PROXY_CREATE2), 2 * N_PATHS);
  assert_released (locks.whole);
  assert_nothing_left (fixture, &locks);
}

/* --- a connection cut at each request --------------------------------------------------------- */

static void
assert_all_belong_to (Fixture *fixture, const Locks *locks, CuratorClient *client)
{
  assert_each_has (fixture, locks, 1, 1, 1, 1);
  for (int i = 0; i < N_PATHS; i++) {
    g_auto (GStrv) names = raw_zk_children (fixture->raw, locks->paths[i]);
    g_autofree char *node = g_strconcat (locks->paths[i], "/", names[0], NULL);
    assert_int_equal (raw_zk_owner (fixture->raw, node), curator_client_get_session_id (client));
  }
}

/* At the k-th request of an acquire that waits for its third member, or of its release. FALSE if
 * there are fewer. */
static gboolean
cut_at (Fixture *fixture, CuratorClient *direct, int k, ProxyAction action)
{
  g_autofree char *base = g_strdup_printf ("/together/%d-%d", (int) action, k);
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_auto (Locks) theirs = locks_of (direct, base);
  g_auto (Locks) locks = locks_of (client, base);
  make_parents (fixture, &locks);
  g_autoptr (Taking) blocker = taking_of_lock (theirs.members[HELD]);

  proxy_reset_counts (fixture->proxy);
  proxy_arm (fixture->proxy, PROXY_ANY_REQUEST, k, 1, action);
  g_autoptr (Contender) contender = contender_start (locks.whole, LONG_MS, NULL);
  assert_soon (proxy_count (fixture->proxy, PROXY_GET_DATA) > 0); /* it has made all nodes */
  assert_each_has (fixture, &locks, 1, 1, 2, 0);
  assert_false (contender_has_returned (contender));
  taking_give_back (blocker);
  contender_assert_granted (contender);
  assert_all_belong_to (fixture, &locks, client);
  contender_join (contender);
  if (!contender->released)
    assert_curator_error (&contender->release_error, CURATOR_ERROR_RELEASE_PENDING);
  const gboolean fired = proxy_fired (fixture->proxy) > 0;
  proxy_disarm (fixture->proxy);
  assert_nothing_left (fixture, &locks);
  return fired;
}

/* Creates and lists of all, the watch and the delete of the withdrawn one, its second create and
 * list, and the transaction. */
CLIENT_TEST (test_requests_and_replies_lost)
{
  static const ProxyAction actions[] = { PROXY_CUT_BEFORE, PROXY_CUT_BEFORE_REPLY };
  const int least = 2 * N_PATHS + 5;
  for (gsize i = 0; i < G_N_ELEMENTS (actions); i++) {
    int k = 1;
    while (k <= 2 * least && cut_at (fixture, client, k, actions[i]))
      k++;
    print_message ("cut at each of %d requests\n", k - 1);
    assert_in_range (k - 1, least, 2 * least - 1);
  }
}

/* --- death between the creates and the deletes ------------------------------------------------ */

#define DOOMED_BASE "/together/doomed"

/* A process of its own: waits for the third member until it is killed. */
static int
wait_for_ever (const char *address)
{
  g_autoptr (CuratorClient) client = client_connect_for (address, 12000);
  g_auto (Locks) locks = locks_of (client, DOOMED_BASE);
  return curator_lock_acquire (locks.whole, CURATOR_WAIT_FOREVER, NULL, NULL) ? 1 : 2;
}

/* Its nodes stand on all members until its session ends, and no longer. */
CLIENT_TEST (test_killed_in_between)
{
  char *directory = scratch_new ("together");
  g_autofree char *output = g_build_filename (directory, "doomed.out", NULL);
  g_auto (Locks) locks = locks_of (client, DOOMED_BASE);
  make_parents (fixture, &locks);
  g_autoptr (Taking) blocker = taking_of_lock (locks.members[HELD]);

  proxy_arm (fixture->proxy, PROXY_DELETE, 1, 1, PROXY_HOLD_REQUEST);
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  const char *const argv[] = { self, fixture_proxy (fixture), NULL };
  const pid_t pid = process_spawn ((char *const *) argv, output);
  assert_true (pid > 0);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  process_kill (pid);
  proxy_disarm (fixture->proxy);
  assert_each_has (fixture, &locks, 1, 1, 2, 1);
  g_autoptr (Taking) next = taking_start_lock (locks.members[N_PATHS - 1], LONG_MS, NULL);
  taking_assert_granted (next);
  assert_each_has (fixture, &locks, 0, 0, 1, 1);
  taking_give_back (next);
  taking_give_back (blocker);
  assert_nothing_left (fixture, &locks);
  scratch_remove (directory);
}

int
main (int argc, char **argv)
{
  if (argc > 1)
    return wait_for_ever (argv[1]);
  return suite_run ("multi-lock together", fixture_start_calm, fixture_stop);
}
