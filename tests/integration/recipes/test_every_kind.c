/* Every kind of lock under the same faults: waiters that give up, sessions that end, answers that
 * are lost, nodes that others delete or create. Connections that are cut at each frame:
 * test_frames. */
#include "integration/taking.h"

#include <poll.h>
#include <string.h>

#define SETTLE_MS  20000 /* no session expires meanwhile */
#define GIVE_UP_MS 4000  /* requests are answered before, also where a machine stalls */

typedef struct
{
  const char *name;
  KindNew own;           /* NULL: a semaphore, of which all leases are wanted */
  KindNew other;         /* what excludes it */
  int n_leases;          /* 1, or of a semaphore */
  int n_creates;         /* of an acquire whose paths exist */
  const char *path;      /* below the base */
  const char *queues[3]; /* behind the base; the nodes of the first one wait for each other */
} Kind;

#define TURNS "/locks"

static const Kind kinds[] = {
  { "mutex", mutex_new, mutex_new, 1, 1, "", { "" } },
  { "fixed node", fixed_node_new, fixed_node_new, 1, 1, "/node", { "" } },
  { "semaphore mutex", semaphore_mutex_new, semaphore_mutex_new, 1, 2, "", { "/leases", TURNS } },
  { "reader", reader_new, writer_new, 1, 1, "", { "" } },
  { "writer", writer_new, reader_new, 1, 1, "", { "" } },
  { "multi-lock", multi_lock_new, multi_lock_new, 1, 2, "", { "", "-b" } },
  { "semaphore, 1 of 1", NULL, NULL, 1, 2, "", { "/leases", TURNS } },
  { "semaphore, 2 of 2", NULL, NULL, 2, 3, "", { "/leases", TURNS } },
};

/* One kind on a path of its own. */
typedef struct
{
  const Kind *kind;
  Fixture *fixture;
  CuratorClient *client; /* through the proxy */
  CuratorClient *peer;
  char *base;
  char *queues[3]; /* full paths */
} Case;

static gboolean
is_multi (const Case *it)
{
  return it->kind->own == multi_lock_new;
}

static gboolean
is_fixed (const Case *it)
{
  return it->kind->own == fixed_node_new;
}

static Case
case_on (Fixture *fixture, const Kind *kind, CuratorClient *client, CuratorClient *peer)
{
  static int n_cases;
  Case it = { kind, fixture, client, peer, g_strdup_printf ("/kinds/%d", n_cases++) };

  for (int i = 0; kind->queues[i] != NULL; i++) {
    it.queues[i] = g_strconcat (it.base, kind->queues[i], NULL);
    raw_zk_make_path (fixture->raw, it.queues[i]);
  }
  return it;
}

static void
case_clear (Case *it)
{
  g_free (it->base);
  for (int i = 0; it->queues[i] != NULL; i++)
    g_free (it->queues[i]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Case, case_clear)

static void
for_each_kind (Fixture *fixture, void (*test) (Case *it))
{
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
    g_autoptr (CuratorClient) peer = client_connect (fixture_server (fixture));
    g_auto (Case) it = case_on (fixture, &kinds[i], client, peer);
    print_message ("  %s\n", it.kind->name);
    test (&it);
  }
}

#define KIND_TEST(name, test)                                                                      \
  TEST (name)                                                                                      \
  {                                                                                                \
    for_each_kind (fixture, test);                                                                 \
  }

static Taking *
start (const Case *it, CuratorClient *client, KindNew make, gint64 timeout_ms,
       GCancellable *cancellable)
{
  g_autofree char *path = g_strconcat (it->base, it->kind->path, NULL);
  if (make == NULL) {
    g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, it->kind->n_leases);
    return taking_start (semaphore, it->kind->n_leases, timeout_ms, cancellable);
  }
  g_autoptr (CuratorLock) lock = make (client, path);
  return taking_start_lock (lock, timeout_ms, cancellable);
}

static Taking *
take (const Case *it, CuratorClient *client, KindNew make)
{
  Taking *taking = start (it, client, make, LONG_MS, NULL);
  taking_assert_granted (taking);
  return taking;
}

/* So many calls of the client wait. Those for a fixed node have no node, and one watch. */
static void
assert_queued (const Case *it, CuratorClient *client, int n)
{
  const gboolean has_turns = g_strcmp0 (it->kind->queues[1], TURNS) == 0;

  if (is_fixed (it))
    assert_soon (four_letter_watches_of_session (fixture_server (it->fixture),
                                                 curator_client_get_session_id (client))
                 > 0);
  else
    assert_children (it->fixture, it->queues[n > 1 && has_turns ? 1 : 0],
                     n > 1 && has_turns ? n : it->kind->n_leases + n, LONG_MS);
}

/* Whoever waited has left nothing. */
static void
assert_one_holds (const Case *it)
{
  assert_children (it->fixture, it->queues[0], it->kind->n_leases, SETTLE_MS);
  if (it->queues[1] != NULL)
    assert_children (it->fixture, it->queues[1], is_multi (it) ? 1 : 0, SETTLE_MS);
}

static void
assert_all_gone (const Case *it)
{
  for (int i = 0; it->queues[i] != NULL; i++)
    assert_no_residue (it->fixture, it->queues[i], SETTLE_MS);
}

static void
give_all_back (const Case *it, Taking *taking)
{
  taking_give_back (taking);
  assert_all_gone (it);
}

/* Its nodes are those of the client's session, and its token is the number of the create. */
static void
assert_owned (const Case *it, CuratorClient *client, Taking *taking)
{
  for (guint i = 0; i < taking->leases->len; i++) {
    CuratorLease *lease = taking_lease (taking, i);
    struct Stat stat = { 0 };
    /* After a restart the observer connects again, too. */
    assert_soon (raw_zk_get (it->fixture->raw, curator_lease_get_node_path (lease), NULL, &stat)
                 == ZOK);
    assert_int_equal (stat.czxid, curator_lease_get_fencing_token (lease));
    assert_int_equal (stat.ephemeralOwner, curator_client_get_session_id (client));
    assert_int_equal (stat.ephemeralOwner, curator_lease_get_session_id (lease));
  }
}

/* --- waiters that give up, and clients that close --------------------------------------------- */

static void
assert_ends (Taking *taking, GQuark domain, int code)
{
  assert_true (taking_wait (taking, LONG_MS));
  assert_null (taking->leases);
  assert_int_equal (taking->times, 1);
  assert_error (&taking->error, domain, code);
}

static void
assert_watches_nothing (const Case *it)
{
  assert_soon (four_letter_watches_of_session (fixture_server (it->fixture),
                                               curator_client_get_session_id (it->client))
               == 0);
}

static void
give_up (Case *it)
{
  const KindNew own = it->kind->own;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (Taking) held = take (it, it->peer, it->kind->other);
  g_autoptr (Taking) late = start (it, it->client, own, GIVE_UP_MS, NULL);
  assert_queued (it, it->client, 1);
  g_autoptr (Taking) behind = start (it, it->client, own, GIVE_UP_MS - 50, NULL);
  assert_ends (late, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT);
  assert_ends (behind, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT);
  g_autoptr (Taking) try = start (it, it->client, own, 0, NULL);
  assert_ends (try, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT);
  assert_one_holds (it);
  assert_watches_nothing (it);

  g_autoptr (Taking) first = start (it, it->client, own, CURATOR_WAIT_FOREVER, cancellable);
  assert_queued (it, it->client, 1);
  g_autoptr (Taking) second = start (it, it->client, own, CURATOR_WAIT_FOREVER, cancellable);
  assert_queued (it, it->client, 2);
  g_cancellable_cancel (cancellable);
  assert_ends (first, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_ends (second, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_one_holds (it);
  assert_watches_nothing (it);
  taking_give_back (held);
  g_autoptr (Taking) next = take (it, it->client, own);
  give_all_back (it, next);
}

KIND_TEST (test_p13_timeout_and_cancel_leave_nothing, give_up)

static void
close_client (Case *it)
{
  const KindNew own = it->kind->own;
  g_auto (Case) mine = case_on (it->fixture, it->kind, it->client, it->peer);
  g_autoptr (Taking) theirs = take (it, it->peer, it->kind->other);
  g_autoptr (Taking) held = take (&mine, it->client, own);
  struct pollfd pfd = { .fd = curator_lease_get_fd (taking_lease (held, 0)), .events = POLLIN };
  g_autoptr (Taking) first = start (it, it->client, own, CURATOR_WAIT_FOREVER, NULL);
  assert_queued (it, it->client, 1);
  g_autoptr (Taking) second = start (it, it->client, own, CURATOR_WAIT_FOREVER, NULL);
  assert_queued (it, it->client, 2);
  curator_client_close (it->client);
  assert_ends (first, CURATOR_ERROR, CURATOR_ERROR_CLOSED);
  assert_ends (second, CURATOR_ERROR, CURATOR_ERROR_CLOSED);
  assert_int_equal (poll (&pfd, 1, LONG_MS), 1);
  assert_int_equal (curator_lease_get_state (taking_lease (held, 0)), CURATOR_LEASE_STATE_LOST);
  g_autoptr (Taking) after = start (it, it->client, own, 1000, NULL);
  assert_ends (after, CURATOR_ERROR, CURATOR_ERROR_CLOSED);
  assert_all_gone (&mine);
  assert_one_holds (it);
  give_all_back (it, theirs);
}

KIND_TEST (test_p35_close_wakes_and_frees, close_client)

static void
count_released (CuratorLease *lease, CuratorLeaseState state, gpointer user_data)
{
  if (state == CURATOR_LEASE_STATE_RELEASED)
    g_atomic_int_inc ((int *) user_data);
}

static gpointer
release_it (gpointer lease)
{
  return GINT_TO_POINTER (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

/* Any thread may release a lease, which outlives its lock; whoever listens hears of it once. */
static void
release_elsewhere (Case *it)
{
  g_autoptr (Taking) held = take (it, it->client, it->kind->own);
  guint64 token = 0;

  assert_owned (it, it->client, held);
  for (guint i = 0; i < held->leases->len; i++) {
    g_autoptr (GError) error = NULL;
    int told = 0;
    CuratorLease *lease = taking_lease (held, i);
    struct pollfd pfd = { .fd = curator_lease_get_fd (lease), .events = POLLIN };
    assert_true (curator_lease_get_fencing_token (lease) > token);
    token = curator_lease_get_fencing_token (lease);
    assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_HELD);
    assert_true (curator_lease_get_remaining_ms (lease) > 0);
    curator_lease_add_listener (lease, count_released, &told, NULL);
    assert_int_equal (poll (&pfd, 1, 0), 0);
    assert_non_null (g_thread_join (g_thread_new ("release", release_it, lease)));
    assert_int_equal (poll (&pfd, 1, LONG_MS), 1);
    assert_counter (&told, 1, LONG_MS);
    assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_RELEASED);
    assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  }
  assert_all_gone (it);
}

KIND_TEST (test_released_by_another_thread, release_elsewhere)

/* --- sessions that end, servers that restart -------------------------------------------------- */

/* Their order may have changed in the next session, but they still exclude each other. */
static void
expire_waiters (Case *it)
{
  const KindNew own = it->kind->own;
  g_autoptr (Taking) held = take (it, it->peer, it->kind->other);
  g_autoptr (Taking) first = start (it, it->client, own, LONG_MS, NULL);
  assert_queued (it, it->client, 1);
  g_autoptr (Taking) second = start (it, it->client, own, LONG_MS, NULL);
  assert_queued (it, it->client, 2);
  const gint64 dead = fixture_expire (it->fixture);
  taking_give_back (held);
  Taking *const both[] = { first, second };
  const int sooner = takings_wait (both, 2);
  Taking *granted = both[sooner];
  Taking *other = both[1 - sooner];
  assert_true (own == reader_new || !taking_has_returned (other));
  assert_int_not_equal (curator_client_get_session_id (it->client), dead);
  assert_owned (it, it->client, granted);
  taking_give_back (granted);
  taking_assert_granted (other);
  assert_owned (it, it->client, other);
  give_all_back (it, other);
}

KIND_TEST (test_p12_waiters_in_a_session_that_ends, expire_waiters)

/* What releases the lost hold touches nothing of the next one. */
static void
expire_holder (Case *it)
{
  g_autoptr (Taking) held = take (it, it->client, it->kind->own);
  g_autoptr (Taking) waiter = start (it, it->peer, it->kind->other, LONG_MS, NULL);
  assert_queued (it, it->peer, 1);
  fixture_expire (it->fixture);
  taking_assert_granted (waiter);
  assert_true (curator_lease_get_fencing_token (taking_lease (waiter, 0))
               > curator_lease_get_fencing_token (taking_lease (held, 0)));
  assert_lease_state (taking_lease (held, 0), CURATOR_LEASE_STATE_LOST, LONG_MS);
  taking_give_back (held);
  assert_owned (it, it->peer, waiter);
  assert_one_holds (it);
  assert_int_equal (curator_lease_get_state (taking_lease (waiter, 0)), CURATOR_LEASE_STATE_HELD);
  give_all_back (it, waiter);
}

KIND_TEST (test_p29_release_of_a_lost_hold, expire_holder)

/* All kinds at once: the holds and the waiters of one client outlive the server. */
TEST (test_server_restarts)
{
  Case cases[G_N_ELEMENTS (kinds)];
  Taking *held[G_N_ELEMENTS (kinds)];
  Taking *waiting[G_N_ELEMENTS (kinds)];
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (StateLog) log = state_log_new (client);

  client_start (client);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    cases[i] = case_on (fixture, &kinds[i], client, client);
    held[i] = take (&cases[i], client, kinds[i].own);
    waiting[i] = start (&cases[i], client, kinds[i].other, LONG_MS, NULL);
    assert_queued (&cases[i], client, 1);
  }
  assert_true (zk_server_restart (fixture->server));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    taking_give_back (held[i]);
    taking_assert_granted (waiting[i]);
    assert_owned (&cases[i], client, waiting[i]);
    give_all_back (&cases[i], waiting[i]);
    taking_free (held[i]);
    taking_free (waiting[i]);
    case_clear (&cases[i]);
  }
  curator_client_close (client);
}

/* --- requests that are lost, nodes of others -------------------------------------------------- */

typedef enum
{
  BY_TIMEOUT,
  BY_CANCEL,
  BY_TIMEOUT_THEN_CUT
} Way;

/* The k-th create is on its way when the caller gives up: its node is found and deleted. */
static void
give_up_at (Case *it, int k, Way way)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  proxy_arm (it->fixture->proxy, PROXY_CREATE2, k, 1, PROXY_HOLE_BEFORE_REPLY);
  const gint64 timeout_ms = way == BY_CANCEL ? CURATOR_WAIT_FOREVER : GIVE_UP_MS;
  g_autoptr (Taking) taking = start (it, it->client, it->kind->own, timeout_ms, cancellable);
  assert_true (proxy_wait_fired (it->fixture->proxy, 1, LONG_MS));
  if (way == BY_CANCEL)
    g_cancellable_cancel (cancellable);
  assert_true (taking_wait (taking, SETTLE_MS)); /* while the answer is held back */
  assert_null (taking->leases);
  if (way == BY_TIMEOUT_THEN_CUT)
    proxy_cut (it->fixture->proxy);
  proxy_set_mode (it->fixture->proxy, PROXY_PASS);
  assert_all_gone (it);
  g_autoptr (Taking) next = take (it, it->client, it->kind->own);
  give_all_back (it, next);
}

static void
lose_creates (Case *it)
{
  for (int k = 1; k <= it->kind->n_creates; k++) {
    give_up_at (it, k, BY_TIMEOUT);
    give_up_at (it, k, BY_CANCEL);
  }
  give_up_at (it, 1, BY_TIMEOUT_THEN_CUT);
  proxy_arm (it->fixture->proxy, PROXY_CREATE2, 1, 3, PROXY_CUT_BEFORE);
  g_autoptr (Taking) in_the_end = take (it, it->client, it->kind->own);
  assert_int_equal (proxy_fired (it->fixture->proxy), 3);
  proxy_disarm (it->fixture->proxy);
  assert_owned (it, it->client, in_the_end);
  give_all_back (it, in_the_end);
}

KIND_TEST (test_p1_given_up_with_unknown_outcome, lose_creates)

/* The node to delete is gone already: the deletion is done, not retried forever. */
PROXY_TEST (test_p2_node_deleted_by_another)
{
  const char *path = "/kinds/faster";
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  raw_zk_make_path (fixture->raw, path);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE_REPLY);
  g_autoptr (Taking) taking = taking_start_lock (lock, GIVE_UP_MS, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  assert_true (taking_wait (taking, SETTLE_MS));
  g_auto (GStrv) names = raw_zk_children (fixture->raw, path);
  g_autofree char *node = g_strconcat (path, "/", names[0], NULL);
  assert_int_equal (raw_zk_delete (fixture->raw, node), ZOK);
  proxy_reset_counts (fixture->proxy);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  g_autoptr (Taking) next = taking_of_lock (lock);
  taking_give_back (next);
  assert_no_residue (fixture, path, SETTLE_MS);
  /* One delete for each of the two nodes, and a second one where the outcome of the first was
   * unknown. */
  wait_ms (500);
  assert_in_range (proxy_count (fixture->proxy, PROXY_DELETE), 1, 3);
}

static void
delete_node (Case *it)
{
  g_autoptr (Taking) held = take (it, it->client, it->kind->own);
  g_autoptr (Taking) waiter = start (it, it->peer, it->kind->other, LONG_MS, NULL);
  assert_queued (it, it->peer, 1);
  assert_int_equal (
      raw_zk_delete (it->fixture->raw, curator_lease_get_node_path (taking_lease (held, 0))), ZOK);
  assert_lease_state (taking_lease (held, 0), CURATOR_LEASE_STATE_LOST, SETTLE_MS);
  if (it->kind->n_leases == 1 && !is_multi (it)) /* others hold more nodes */
    taking_assert_granted (waiter);
  taking_give_back (held);
  taking_assert_granted (waiter);
  give_all_back (it, waiter);
}

KIND_TEST (test_p24_node_deleted_by_another, delete_node)

/* Foreign children are no contenders: they neither block nor crash, and they stay. Control
 * characters and invalid UTF-8 cannot be tried: servers refuse them. */
static void
add_foreign_children (Case *it)
{
  g_autofree char *very_long = g_strnfill (300, 'x');
  g_autofree char *all =
      g_strconcat ("0 zzz lock- zlock-0 - %n%s%n __WRIT__ x__READ__0 x__WRIT__-1 "
                   "lease- stranger lock-00000000x1 \xc3\xa4\xe2\x82\xac "
                   "_c_not-a-uuid-lock- _c_ ",
                   very_long, NULL);
  g_auto (GStrv) names = g_strsplit (all, " ", -1);
  const int n = (int) g_strv_length (names);
  if (is_fixed (it))
    return; /* has no queue */
  for (int i = 0; it->queues[i] != NULL; i++)
    for (int k = 0; k < n; k++) {
      g_autofree char *child = g_strconcat (it->queues[i], "/", names[k], NULL);
      assert_int_equal (raw_zk_create (it->fixture->raw, child, "x", ZOO_PERSISTENT, NULL), ZOK);
    }
  g_autoptr (Taking) held = take (it, it->client, it->kind->own);
  g_autoptr (Taking) waiter = start (it, it->peer, it->kind->other, LONG_MS, NULL);
  assert_children (it->fixture, it->queues[0], n + it->kind->n_leases + 1, LONG_MS);
  assert_false (taking_has_returned (waiter));
  if (it->kind->own != NULL && !is_multi (it)) {
    g_autoptr (CuratorLock) lock = it->kind->own (it->client, it->base);
    g_auto (GStrv) nodes = participants_of (lock);
    const gboolean is_rw = it->kind->own != it->kind->other; /* each side counts for itself */
    assert_int_equal (g_strv_length (nodes), is_rw ? 1 : 2);
  }
  taking_give_back (held);
  taking_assert_granted (waiter);
  taking_give_back (waiter);
  for (int i = 0; it->queues[i] != NULL; i++)
    assert_children (it->fixture, it->queues[i], n, SETTLE_MS);
}

KIND_TEST (test_p8_foreign_children, add_foreign_children)

SUITE ("every kind", fixture_start_calm, fixture_stop)
