/* A client before its start: settings, and settings that start refuses. No server is contacted. */
#include "base/path.h"
#include "base/server_list.h"
#include "client/settings.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "addresses.h"
#include "unit.h"

#include "curator/curator.h"
#include "curator/zookeeper.h"

#include <string.h>

/* No server listens there. */
#define NOWHERE "127.0.0.1:1"

static gboolean
has_error (GError **error, CuratorError code)
{
  const gboolean has = g_error_matches (*error, CURATOR_ERROR, code);
  g_clear_error (error);
  return has;
}

static void
test_timeouts (void **state)
{
  static const gint64 bad[] = { 0, -1, G_MININT64, (gint64) G_MAXINT32 + 1, G_MAXINT64 };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (CuratorClient) session = curator_client_new (NOWHERE, NULL);
      g_autoptr (CuratorClient) connection = curator_client_new (NOWHERE, NULL);
      g_autoptr (CuratorClient) tick = curator_client_new (NOWHERE, NULL);
      g_autoptr (CuratorClient) heartbeat = curator_client_new (NOWHERE, NULL);
      g_autoptr (GError) error = NULL;

      curator_client_set_session_timeout (session, bad[i]);
      assert_false (curator_client_start (session, &error));
      assert_non_null (strstr (error->message, "session"));
      assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
      curator_client_set_connection_timeout (connection, bad[i]);
      assert_false (curator_client_start (connection, &error));
      assert_non_null (strstr (error->message, "connection"));
      assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
      curator_client_set_server_tick (tick, bad[i]);
      assert_false (curator_client_start (tick, &error));
      assert_non_null (strstr (error->message, "tick"));
      assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
      curator_client_set_heartbeat_interval (heartbeat, bad[i]);
      assert_false (curator_client_start (heartbeat, &error));
      assert_non_null (strstr (error->message, "heartbeat"));
      assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
    }
}

/* libzookeeper doubles it, in an int. */
static void
test_longest_session (void **state)
{
  static const gint64 long_ms[] = { (1 << 30) - 1, 1 << 30, G_MAXINT32 };

  for (gsize i = 0; i < G_N_ELEMENTS (long_ms); i++)
    {
      g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
      g_autoptr (GError) error = NULL;

      curator_client_set_session_timeout (client, long_ms[i]);
      assert_int_equal (curator_client_start (client, &error), i == 0);
      assert_true (i == 0 || has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
    }
}

static void
test_shortest_heartbeat (void **state)
{
  static const gint64 short_ms[] = { 1, 99 };
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (short_ms); i++)
    {
      curator_client_set_heartbeat_interval (client, short_ms[i]);
      assert_int_equal (client->settings.heartbeat_ms, 100);
    }
  curator_client_set_heartbeat_interval (client, 101);
  assert_int_equal (client->settings.heartbeat_ms, 101);
}

/* After a failed start, start may be called again. */
static void
test_start_again (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (GError) error = NULL;

  curator_client_set_session_timeout (client, 0);
  assert_false (curator_client_start (client, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
  curator_client_set_session_timeout (client, (1 << 30) - 1);
  assert_true (curator_client_start (client, &error));
  assert_false (curator_client_start (client, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
  curator_client_close (client);
  assert_false (curator_client_start (client, &error));
  assert_true (has_error (&error, CURATOR_ERROR_CLOSED));
}

static void
test_no_connect_string (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new (NULL, NULL);
  g_autoptr (GError) error = NULL;

  assert_false (curator_client_start (client, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
}

static void
test_not_started (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/settings", NULL);
  g_autoptr (GError) error = NULL;

  assert_false (curator_lock_acquire (lock, 0, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_NOT_STARTED));
  assert_null (curator_lock_get_participant_nodes (lock, 0, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_NOT_STARTED));
  assert_false (curator_attempt_revoke (client, "/settings/a", 0, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_NOT_STARTED));
  assert_int_equal (curator_client_get_session_id (client), 0);
  assert_int_equal (curator_client_get_session_timeout (client), 0);
  curator_client_close (client);
  assert_false (curator_lock_acquire (lock, 0, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_CLOSED));
}

static void
test_namespace (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE "/root", NULL);
  g_autoptr (GError) error = NULL;

  assert_true (curator_client_set_namespace (client, "first", &error));
  assert_string_equal (client->settings.prefix, "/root/first");
  assert_true (curator_client_set_namespace (client, "", &error));
  assert_string_equal (client->settings.prefix, "/root");
  assert_true (curator_client_set_namespace (client, "second", &error));
  assert_true (curator_client_set_namespace (client, NULL, &error));
  assert_string_equal (client->settings.prefix, "/root");
  assert_string_equal (curator_client_user_path (client, "/root/a"), "/a");
  assert_string_equal (curator_client_user_path (client, "/rooted"), "/rooted");
  g_autofree char *root = curator_client_full_path (client, "/");
  assert_string_equal (root, "/root");
  assert_true (curator_client_start (client, &error));
  curator_client_close (client);

  g_autoptr (CuratorClient) plain = curator_client_new (NOWHERE, NULL);
  g_autofree char *slash = curator_client_full_path (plain, "/");
  g_autofree char *path = curator_client_full_path (plain, "/a");
  assert_string_equal (slash, "/");
  assert_string_equal (path, "/a");
}

static void
count (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

static void
ignore_event (const CuratorTraceEvent *event, gpointer data)
{
}

static void
assert_joined (GPtrArray *servers, gboolean with_former, const char *expected)
{
  g_autoptr (GPtrArray) copy = curator_servers_copy (servers, with_former);
  g_autofree char *joined = curator_servers_join (copy);
  assert_int_equal (g_strcmp0 (joined, expected), 0);
}

/* The list of a client that was never connected, which no other thread changes. What is refused has changed
 * nothing. */
static CURATOR_NOT_ANALYSED void
test_update_servers (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE "/app", NULL);
  g_autoptr (GError) error = NULL;

  assert_false (curator_client_update_servers (client, NOWHERE, &error));
  assert_true (has_error (&error, CURATOR_ERROR_NOT_STARTED));
  assert_true (curator_client_start (client, &error));
  static const char *const bad[] = { "", "a:0", "a:1/other", "tls://a:1" };
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      assert_false (curator_client_update_servers (client, bad[i], &error));
      assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
    }
  assert_joined (client->known, FALSE, "127.0.0.1:1");
  assert_true (curator_client_update_servers (client, "127.0.0.2:1,127.0.0.3", &error));
  assert_joined (client->known, FALSE, "127.0.0.2:1,127.0.0.3:2181,127.0.0.2:1");
  assert_true (curator_client_update_servers (client, "[::1]:7/app", &error));
  assert_joined (client->known, FALSE, "::1:7");
  curator_client_close (client);
  assert_false (curator_client_update_servers (client, NOWHERE, &error));
  assert_true (has_error (&error, CURATOR_ERROR_CLOSED));
}

static void
test_servers_of_an_adopted_handle (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new_for_zhandle (NULL, NULL);
  g_autoptr (CuratorClient) other = curator_client_new_for_zhandle (NULL, NULL);
  g_autoptr (GError) error = NULL;

  curator_client_set_follow_configuration (other, TRUE);
  assert_false (curator_client_start (other, &error));
  assert_true (has_error (&error, CURATOR_ERROR_UNSUPPORTED));
  assert_true (curator_client_start (client, &error));
  assert_false (curator_client_update_servers (client, NOWHERE, &error));
  assert_non_null (strstr (error->message, "zoo_set_servers ()"));
  assert_true (has_error (&error, CURATOR_ERROR_UNSUPPORTED));
  curator_client_close (client);
}

/* The latest value counts, and the one before is freed. */
static void
test_set_twice (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GError) error = NULL;
  struct ACL_vector none = { 0 };
  static gint n_freed;

  curator_client_set_compression (client, TRUE);
  curator_client_set_compression (client, FALSE);
  curator_client_set_default_data (client, "one", 3);
  curator_client_set_default_data (client, "three", 5);
  assert_int_equal (g_bytes_get_size (client->default_data), 5);
  curator_client_set_callback_context (client, context);
  curator_client_set_callback_context (client, context);
  assert_ptr_equal (client->settings.callback_context, context);
  curator_client_set_callback_context (client, NULL);
  assert_null (client->settings.callback_context);
  curator_client_set_acl (client, &ZOO_CREATOR_ALL_ACL);
  curator_client_set_acl (client, &ZOO_READ_ACL_UNSAFE);
  assert_int_equal (client->settings.acl.count, 1);
  curator_client_set_acl (client, &none);
  assert_int_equal (client->settings.acl.count, 0);
  curator_client_set_acl (client, NULL);
  assert_int_equal (client->settings.acl.count, 0);
  curator_client_set_trace (client, ignore_event, &n_freed, count);
  curator_client_set_trace (client, ignore_event, &n_freed, count);
  assert_int_equal (g_atomic_int_get (&n_freed), 1);
  curator_client_add_auth (client, "digest", NULL, 0);
  assert_true (curator_client_start (client, &error));
  assert_int_equal (client->settings.acl.count, 1);
  curator_client_close (client);
  g_clear_pointer (&client, curator_client_unref);
  /* A client's threads release its memory when they exit. */
  for (int i = 0; i < 60000 && g_atomic_int_get (&n_freed) < 2; i++)
    g_usleep (1000);
  assert_int_equal (g_atomic_int_get (&n_freed), 2);
}

static void
test_deadlines (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  const gint64 now = curator_client_now_us (client);

  assert_true (curator_client_deadline (client, CURATOR_WAIT_FOREVER) == G_MAXINT64);
  assert_true (curator_client_deadline (client, G_MAXINT64) == G_MAXINT64);
  assert_true (curator_client_deadline (client, 1000) >= now + G_USEC_PER_SEC);
  assert_true (curator_client_deadline (client, G_MAXINT64 / 2000) > now);
}

static void
test_names_of_locks (void **state)
{
  g_autofree char *longer = g_strnfill (65, 'a');
  const char *const bad[] = { longer, "", "a/b", "/", "a\001", "\xff", NULL };
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      assert_null (curator_mutex_new_with_driver (client, "/a", bad[i], 1, NULL, &error));
      assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
    }
  assert_null (curator_mutex_new_with_driver (client, "/a", "lock-", 0, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
  assert_null (curator_fixed_node_lock_new (client, "a", &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
}

/* A valid path may be too long once a node's name is appended. */
static void
test_long_paths (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autofree char *longest = g_strnfill (CURATOR_PATH_MAX_LENGTH - 128, 'a');
  g_autofree char *longer = g_strnfill (CURATOR_PATH_MAX_LENGTH - 127, 'a');
  g_autoptr (GError) error = NULL;

  *longest = *longer = '/';
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, longest, &error);
  assert_non_null (lock);
  assert_null (curator_mutex_new (client, longer, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
}

static void
resolved (GPtrArray *servers, guint index, const char *addresses)
{
  g_autoptr (GPtrArray) found = addresses_of (addresses != NULL ? addresses : "");
  curator_server_resolved (servers->pdata[index], found, addresses != NULL ? NULL : "unknown");
}

/* A name without an address is left out as long as another has one, and keeps what it had; and the
 * number of addresses is odd, since libzookeeper leaves half of an even one out. */
static void
test_server_list (void **state)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorConnectString) parsed =
      curator_connect_string_parse ("127.0.0.1:1,a:2,[::1]:3", &error);
  g_autoptr (GPtrArray) servers = curator_servers_new (parsed->hosts);

  assert_true (curator_servers_have_names (servers));
  assert_joined (servers, FALSE, "127.0.0.1:1,::1:3,127.0.0.1:1");
  resolved (servers, 1, NULL);
  g_autofree char *why = curator_servers_dup_why (servers);
  assert_string_equal (why, "a: unknown");
  resolved (servers, 1, "10.0.0.1");
  assert_joined (servers, FALSE, "127.0.0.1:1,10.0.0.1:2,::1:3");
  resolved (servers, 1, "10.0.0.1");
  assert_joined (servers, TRUE, "127.0.0.1:1,10.0.0.1:2,::1:3");
  resolved (servers, 1, "10.0.0.2");
  assert_joined (servers, FALSE, "127.0.0.1:1,10.0.0.2:2,::1:3");
  assert_joined (servers, TRUE, "127.0.0.1:1,10.0.0.2:2,10.0.0.1:2,::1:3,127.0.0.1:1");
  resolved (servers, 1, NULL);
  assert_joined (servers, FALSE, "127.0.0.1:1,10.0.0.2:2,::1:3");

  g_autoptr (GPtrArray) later = curator_servers_new (parsed->hosts);
  curator_servers_inherit (later, servers);
  assert_joined (later, FALSE, "127.0.0.1:1,10.0.0.2:2,::1:3");
}

/* Every number has a name, or is reported as unknown. */
static void
test_state_and_error_names (void **state)
{
  for (int i = -1; i < 10; i++)
    {
      assert_non_null (curator_connection_state_to_string ((CuratorConnectionState) i));
      assert_non_null (curator_lease_state_to_string ((CuratorLeaseState) i));
    }
  assert_null (curator_counter_to_string ((CuratorCounter) -1));
}

/* A multi-lock without members is always held. */
static void
test_lock_without_members (void **state)
{
  g_autoptr (CuratorLock) nothing = curator_multi_lock_new (NULL, 0);
  g_autoptr (GError) error = NULL;

  assert_true (curator_lock_acquire (nothing, 0, NULL, &error));
  assert_true (curator_lock_is_acquired_in_this_process (nothing));
  assert_true (curator_lock_is_owned_by_current_thread (nothing));
  assert_null (curator_lock_dup_lease (nothing));
  assert_null (curator_lock_get_participant_nodes (nothing, 0, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_UNSUPPORTED));
  assert_false (curator_lock_make_revocable (nothing, NULL, NULL, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_UNSUPPORTED));
  assert_true (curator_lock_release (nothing, 0, NULL, &error));
}

static GLogWriterOutput
swallow (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  return (level & G_LOG_LEVEL_MASK) < G_LOG_LEVEL_WARNING
             ? g_log_writer_default (level, fields, n_fields, data)
             : G_LOG_WRITER_HANDLED;
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_timeouts),
    cmocka_unit_test (test_longest_session),
    cmocka_unit_test (test_shortest_heartbeat),
    cmocka_unit_test (test_start_again),
    cmocka_unit_test (test_no_connect_string),
    cmocka_unit_test (test_not_started),
    cmocka_unit_test (test_namespace),
    cmocka_unit_test (test_update_servers),
    cmocka_unit_test (test_servers_of_an_adopted_handle),
    cmocka_unit_test (test_set_twice),
    cmocka_unit_test (test_deadlines),
    cmocka_unit_test (test_names_of_locks),
    cmocka_unit_test (test_long_paths),
    cmocka_unit_test (test_server_list),
    cmocka_unit_test (test_state_and_error_names),
    cmocka_unit_test (test_lock_without_members),
  };

  g_log_set_writer_func (swallow, NULL, NULL);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
