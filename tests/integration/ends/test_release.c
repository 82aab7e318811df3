/* Releases that the server cannot confirm, or refuses: ownership still ends, the node is deleted
 * later. */
#include "integration/fixture.h"
#include "support/metronome.h"

#include <string.h>

#define CONFIRM_MS 800
#define BEHIND_MS  8000 /* time for a busy machine to answer a few requests */

static CuratorClient *
client_with_short_patience (Fixture *fixture)
{
  CuratorClient *client = client_new (fixture_proxy (fixture));
  curator_client_set_connection_timeout (client, CONFIRM_MS);
  client_start (client);
  return client;
}

/* Acquires, loses the server by that mode, releases, and reconnects before the session expires. */
static void
release_without_server (Fixture *fixture, const char *path, ProxyMode mode)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_with_short_patience (fixture);
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  gint64 session = curator_client_get_session_id (client);

  proxy_set_mode (fixture->proxy, mode);
  gint64 start = wait_now_ms ();
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  /* lock.h: a release without a time waits for the connection timeout. */
  assert_promised_ms (wait_now_ms () - start, CONFIRM_MS + SESSION_MS / 2, start);
  assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
  assert_false (curator_lock_is_owned_by_current_thread (lock));
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_RELEASED);
  assert_int_equal (curator_lease_get_remaining_ms (lease), 0);
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_int_equal (raw_zk_count_children (fixture->raw, path), 1);

  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_no_residue (fixture, path, LONG_MS);
  assert_int_equal (curator_client_get_session_id (client), session);
  assert_acquired (lock);
  assert_released (lock);
}

TEST (test_p28_pending_when_refused)
{
  release_without_server (fixture, "/release/refused", PROXY_REFUSE);
}

TEST (test_p28_pending_when_silent)
{
  release_without_server (fixture, "/release/silent", PROXY_HOLE);
}

/* The delete is executed but its reply is lost: NONODE on the next try counts as success. Or it
 * never arrives. */
TEST (test_p28_delete_is_repeated)
{
  static const ProxyAction actions[] = { PROXY_CUT_BEFORE_REPLY, PROXY_CUT_BEFORE };

  for (int i = 0; i < 6; i++) {
    const int times = 1 + i / 2;
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
    g_autoptr (CuratorLock) lock = mutex_new (client, "/release/lost");
    assert_acquired (lock);
    proxy_arm (fixture->proxy, PROXY_DELETE, 1, times, actions[i % 2]);
    assert_ok (curator_lock_release (lock, LONG_MS, NULL, &error), &error);
    assert_int_equal (proxy_fired (fixture->proxy), times);
    assert_no_residue (fixture, "/release/lost", LONG_MS);
  }
}

/* --- releases that nobody waits for ----------------------------------------------------------- */

static gint told; /* atomic; 1: of a success. A failed test is over before it is told */

static void
note_lock (CuratorLock *lock, const GError *error, gpointer user_data)
{
  g_atomic_int_set (&told, error == NULL ? 1 : 2);
}

static void
note_lease (CuratorLease *lease, const GError *error, gpointer user_data)
{
  g_atomic_int_set (&told, error == NULL ? 1 : 2);
}

/* lease: NULL for a hold of this thread. */
static void
start_release (CuratorLock *lock, CuratorLease *lease, gboolean is_heard)
{
  g_atomic_int_set (&told, 0);
  if (lease != NULL)
    curator_lease_release_then (lease, LONG_MS, NULL, is_heard ? note_lease : NULL, NULL);
  else
    curator_lock_release_then (lock, LONG_MS, NULL, is_heard ? note_lock : NULL, NULL);
}

static void
assert_told_if (gboolean is_heard)
{
  assert_soon (!is_heard || g_atomic_int_get (&told) != 0);
  assert_int_equal (g_atomic_int_get (&told), is_heard);
}

/* The hold ends at once, and the callback comes after the outage. */
static void
release_in_an_outage (Fixture *fixture, CuratorLock *lock, const char *path, gboolean by_lease,
                      gboolean is_heard)
{
  g_autoptr (CuratorLease) lease = by_lease ? lease_of (lock) : NULL;
  if (!by_lease)
    assert_acquired (lock);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  start_release (lock, lease, is_heard);
  assert_true (by_lease ? curator_lease_get_state (lease) == CURATOR_LEASE_STATE_RELEASED
                        : !curator_lock_is_acquired_in_this_process (lock));
  assert_true (raw_zk_count_children (fixture->raw, path) > 0);
  assert_int_equal (g_atomic_int_get (&told), 0);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_told_if (is_heard);
  assert_no_residue (fixture, path, LONG_MS);
  /* Once more: a lease that is over is confirmed, and what is not held is ignored. */
  if (by_lease || !is_heard) {
    start_release (lock, lease, is_heard);
    assert_told_if (is_heard);
  }
}

static const struct
{
  const char *path;
  const char *nodes;
  KindNew kind;
} kinds[] = {
  { "/release/later", "/release/later", mutex_new },
  { "/release/semaphore", "/release/semaphore/leases", semaphore_mutex_new },
  { "/release/both", "/release/both", multi_lock_new },
};

TEST (test_p28_nobody_waits)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autoptr (CuratorLock) lock = kinds[i].kind (client, kinds[i].path);
    for (int way = 0; way < 4; way++)
      release_in_an_outage (fixture, lock, kinds[i].nodes, way % 2 == 0, way / 2 == 0);
  }
  assert_no_residue (fixture, "/release/both-b", LONG_MS);
}

/* --- without a permission for a while --------------------------------------------------------- */

static void
permit (Fixture *fixture, const char *path, int permissions)
{
  assert_int_equal (raw_zk_set_world_acl (fixture->raw, path, permissions | ZOO_PERM_ADMIN), ZOK);
}

/* The client and its session stay: the node goes as soon as it may be deleted. */
TEST (test_deleted_when_permitted_again)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/release/permitted");
  assert_acquired (lock);
  const gint64 session = curator_client_get_session_id (client);
  permit (fixture, "/release/permitted", ZOO_PERM_ALL & ~ZOO_PERM_DELETE);
  assert_false (curator_lock_release (lock, LONG_MS, NULL, &error));
  assert_non_null (strstr (error->message, "DELETE"));
  assert_non_null (strstr (error->message, "/release/permitted/"));
  assert_error (&error, CURATOR_ZK_ERROR, ZNOAUTH);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/release/permitted"), 1);
  /* The server answers, and shows that node in front. */
  assert_false (curator_lock_acquire (lock, BEHIND_MS, NULL, &error));
  assert_non_null (strstr (error->message, "a node that this client gave up is in front"));
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
  permit (fixture, "/release/permitted", ZOO_PERM_ALL);
  assert_children (fixture, "/release/permitted", 0, LONG_MS);
  assert_int_equal (curator_client_get_session_id (client), session);
}

/* Servers differ in whether somebody who may not read a node is told whose it is. Where nobody is,
 * it stays until it may be read again. */
TEST (test_fixed_node_that_cannot_be_read)
{
  struct Stat stat;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock =
      curator_fixed_node_lock_new (client, "/release/unreadable", &error);
  assert_acquired (lock);
  permit (fixture, "/release/unreadable", 0);
  if (raw_zk_stat (fixture->raw, "/release/unreadable", &stat) == ZNOAUTH) {
    assert_false (curator_lock_release (lock, LONG_MS, NULL, &error));
    assert_non_null (strstr (error->message, "READ"));
    assert_error (&error, CURATOR_ZK_ERROR, ZNOAUTH);
    assert_true (raw_zk_exists (fixture->raw, "/release/unreadable"));
    permit (fixture, "/release/unreadable", ZOO_PERM_ALL);
    assert_true (raw_zk_wait_gone (fixture->raw, "/release/unreadable", LONG_MS));
    return;
  }
  assert_released (lock);
  assert_false (raw_zk_exists (fixture->raw, "/release/unreadable"));
}

/* The reply to a create is lost, and the parent cannot be listed to find the node, neither by the
 * call nor after it. */
TEST (test_found_when_permitted_again)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/release/found");
  assert_acquired (lock);
  assert_released (lock);
  permit (fixture, "/release/found", ZOO_PERM_ALL & ~ZOO_PERM_READ);
  proxy_reset_counts (fixture->proxy);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_CUT_BEFORE_REPLY);
  assert_false (curator_lock_acquire (lock, LONG_MS, NULL, &error));
  assert_error (&error, CURATOR_ZK_ERROR, ZNOAUTH);
  assert_int_equal (proxy_fired (fixture->proxy), 1);
  assert_soon (proxy_count (fixture->proxy, PROXY_GET_CHILDREN)
                   + proxy_count (fixture->proxy, PROXY_GET_CHILDREN2)
               >= 2);
  permit (fixture, "/release/found", ZOO_PERM_ALL);
  assert_children (fixture, "/release/found", 0, LONG_MS);
}

/* --- a node of another owner in the place of ours --------------------------------------------- */

/* By now the client has dealt with what it had to delete: it sends that first. */
static void
settle (CuratorClient *client)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, "/release/other");

  assert_acquired (lock);
  assert_released (lock);
}

/* Held, or with a release that no server has confirmed, and that ends with the session: the name may
 * be used again then. */
static void
survives_a_later_session (Fixture *fixture, gboolean is_released)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_with_short_patience (fixture);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/release/reused");
  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  g_autofree char *node = g_strdup (curator_lease_get_node_path (lease));

  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  if (is_released) {
    assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
    assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
  }
  assert_true (expire_last_session (fixture->proxy, fixture_server (fixture), NULL));
  assert_int_equal (raw_zk_create (fixture->raw, node, NULL, ZOO_EPHEMERAL, NULL), ZOK);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  settle (client);
  assert_int_equal (raw_zk_owner (fixture->raw, node), raw_zk_session (fixture->raw));
  raw_zk_delete (fixture->raw, node);
  if (!is_released)
    curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
}

TEST (test_name_reused_after_the_session)
{
  survives_a_later_session (fixture, FALSE);
  survives_a_later_session (fixture, TRUE);
}

/* The node is replaced between a refused delete and the next one. */
TEST (test_name_reused_while_refused)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/release/replaced");
  g_autofree char *node = NULL;
  int rc = ZNONODE;

  /* The delete may come between the permission and the replacement. */
  for (int i = 0; rc == ZNONODE && i < 50; i++) {
    assert_acquired (lock);
    g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
    g_free (node);
    node = g_strdup (curator_lease_get_node_path (lease));
    permit (fixture, "/release/replaced", ZOO_PERM_ALL & ~ZOO_PERM_DELETE);
    assert_false (curator_lock_release (lock, LONG_MS, NULL, &error));
    assert_error (&error, CURATOR_ZK_ERROR, ZNOAUTH);
    permit (fixture, "/release/replaced", ZOO_PERM_ALL);
    rc = raw_zk_replace (fixture->raw, node, NULL, ZOO_EPHEMERAL, NULL);
  }
  assert_int_equal (rc, ZOK);
  /* The next tries come after pauses of 0.1, 0.2, 0.4 s. */
  wait_ms (1000);
  assert_int_equal (raw_zk_owner (fixture->raw, node), raw_zk_session (fixture->raw));
  raw_zk_delete (fixture->raw, node);
}

PROMPT_SUITE ("release", fixture_start_calm, fixture_stop)
