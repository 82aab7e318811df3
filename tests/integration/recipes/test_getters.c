/* What an object was given, and what its client knows, can be asked for. */
#include "integration/fixture.h"

#include <string.h>

/* A client in a namespace, whose prefix no getter shows. */
static CuratorClient *
client_in_namespace (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = client_new (fixture_server (fixture));

  assert_null (curator_client_get_namespace (client));
  assert_ok (curator_client_set_namespace (client, "a/b", &error), &error);
  assert_string_equal (curator_client_get_namespace (client), "a/b");
  assert_null (curator_client_dup_server (client));
  client_start (client);
  return client;
}

TEST (test_locks)
{
  static const KindNew kinds[] = { mutex_new, fixed_node_new, semaphore_mutex_new, reader_new,
                                   writer_new };
  static const char *const paths[] = { "/x", "/getters/lock" };
  g_autoptr (CuratorClient) client = client_in_namespace (fixture);

  for (gsize i = 0; i < G_N_ELEMENTS (kinds) * G_N_ELEMENTS (paths); i++) {
    g_autofree char *path = g_strdup_printf ("%s-%zu", paths[i / G_N_ELEMENTS (kinds)], i);
    g_autoptr (CuratorLock) lock = kinds[i % G_N_ELEMENTS (kinds)](client, path);
    assert_ptr_equal (curator_lock_get_client (lock), client);
    assert_int_equal (curator_lock_get_max_hold_ms (lock), CURATOR_WAIT_FOREVER);
    curator_lock_set_max_hold (lock, 1234);
    assert_int_equal (curator_lock_get_max_hold_ms (lock), 1234);
    curator_lock_set_max_hold (lock, CURATOR_WAIT_FOREVER);
    assert_int_equal (curator_lock_get_max_hold_ms (lock), CURATOR_WAIT_FOREVER);
    assert_string_equal (curator_lock_get_path (lock), path);
    g_autoptr (CuratorLease) lease G_GNUC_UNUSED = lease_of (lock);
    assert_string_equal (curator_lock_get_path (lock), path);
  }
}

/* A multi-lock has neither, and the shortest maximum of its members. */
TEST (test_multi_lock)
{
  g_autoptr (CuratorClient) client = client_in_namespace (fixture);
  g_autoptr (CuratorLock) one = mutex_new (client, "/getters/1");
  g_autoptr (CuratorLock) other = mutex_new (client, "/getters/2");
  g_autoptr (CuratorLock) both = curator_multi_lock_new ((CuratorLock *const[]){ one, other }, 2);
  g_autoptr (CuratorLock) none = curator_multi_lock_new (NULL, 0);

  assert_null (curator_lock_get_client (both));
  assert_null (curator_lock_get_path (both));
  assert_int_equal (curator_lock_get_max_hold_ms (both), CURATOR_WAIT_FOREVER);
  curator_lock_set_max_hold (other, 2000);
  assert_int_equal (curator_lock_get_max_hold_ms (both), 2000);
  curator_lock_set_max_hold (one, 1000);
  assert_int_equal (curator_lock_get_max_hold_ms (both), 1000);
  curator_lock_set_max_hold (both, 3000);
  assert_int_equal (curator_lock_get_max_hold_ms (one), 3000);
  assert_int_equal (curator_lock_get_max_hold_ms (both), 3000);
  assert_null (curator_lock_get_client (none));
  assert_null (curator_lock_get_path (none));
  assert_int_equal (curator_lock_get_max_hold_ms (none), CURATOR_WAIT_FOREVER);
}

static void
never_lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
            gpointer data)
{
}

TEST (test_other_recipes)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_in_namespace (fixture);
  static const char *const paths[] = { "/x", "/getters/other" };

  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++) {
    const char *path = paths[i];
    g_autoptr (CuratorSemaphore) semaphore = curator_semaphore_new (client, path, 1, &error);
    assert_ptr_equal (curator_semaphore_get_client (semaphore), client);
    assert_string_equal (curator_semaphore_get_path (semaphore), path);
    g_autoptr (CuratorSharedCount) count = curator_shared_count_new (client, path, 1, &error);
    assert_ptr_equal (curator_shared_count_get_client (count), client);
    assert_string_equal (curator_shared_count_get_path (count), path);
    g_autoptr (CuratorLeaderLatch) latch = curator_leader_latch_new (client, path, NULL, &error);
    assert_ptr_equal (curator_leader_latch_get_client (latch), client);
    assert_string_equal (curator_leader_latch_get_path (latch), path);
    g_autoptr (CuratorLeaderSelector) selector =
        curator_leader_selector_new (client, path, never_lead, NULL, NULL, &error);
    assert_ptr_equal (curator_leader_selector_get_client (selector), client);
    assert_string_equal (curator_leader_selector_get_path (selector), path);
  }
}

static void
assert_server (CuratorClient *client, const char *wanted)
{
  g_autofree char *server = curator_client_dup_server (client);
  if (g_strcmp0 (server, wanted) != 0)
    fail_msg ("the server is %s, not %s", server, wanted);
}

/* By address, without a connection, and after another list of servers was given. */
PROXY_TEST (test_server)
{
  g_autoptr (GError) error = NULL;

  assert_server (client, fixture_proxy (fixture));
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  g_autofree char *server = NULL;
  assert_soon ((g_free (server), server = curator_client_dup_server (client)) == NULL);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  assert_server (client, fixture_proxy (fixture));
  assert_ok (curator_client_update_servers (client, fixture_server (fixture), &error), &error);
  assert_soon ((g_free (server), server = curator_client_dup_server (client)) != NULL
               && g_str_equal (server, fixture_server (fixture)));
  curator_client_close (client);
  assert_null (curator_client_dup_server (client));
}

/* A name is shown as the connect string has it. */
TEST (test_server_by_name)
{
  Proxy *proxy = proxy_new_raw (fixture_server (fixture), "127.0.0.1");
  g_autofree char *named = g_strdup_printf ("localhost%s", strrchr (proxy_address (proxy), ':'));
  g_autofree char *list = g_strdup_printf ("%s/chroot", named);
  assert_int_equal (raw_zk_make_path (fixture->raw, "/chroot"), ZOK);
  g_autoptr (CuratorClient) client = client_connect (list);
  assert_server (client, named);
  curator_client_close (client);
  proxy_free (proxy);
}

SUITE ("getters", fixture_start_calm, fixture_stop)
