/* A client before its start: settings, those that start refuses, and those that come too late. No
 * server is contacted. */
#include "addresses.h"
#include "base/path.h"
#include "base/server_list.h"
#include "client/settings.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "lock/lock_internals-private.h"
#include "unit.h"

#include "curator/curator.h"
#include "curator/lock_internals.h"
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

/* The values at the ends of each number are tried by integration/arguments/test_extremes; the
 * message names the setting. */
TEST (test_timeouts)
{
  static const struct
  {
    void (*set) (CuratorClient *client, gint64 ms);
    const char *named;
  } timeouts[] = { { curator_client_set_session_timeout, "session" },
                   { curator_client_set_connection_timeout, "connection" },
                   { curator_client_set_server_tick, "tick" },
                   { curator_client_set_heartbeat_interval, "heartbeat" } };
  static const gint64 bad[] = { 0, -1, G_MININT64, (gint64) G_MAXINT32 + 1, G_MAXINT64 };

  for (gsize i = 0; i < G_N_ELEMENTS (bad) * G_N_ELEMENTS (timeouts); i++)
    {
      g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
      g_autoptr (GError) error = NULL;
      timeouts[i % G_N_ELEMENTS (timeouts)].set (client, bad[i / G_N_ELEMENTS (timeouts)]);
      assert_false (curator_client_start (client, &error));
      assert_non_null (strstr (error->message, timeouts[i % G_N_ELEMENTS (timeouts)].named));
      assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
    }
}

/* libzookeeper doubles it, in an int. */
TEST (test_longest_session)
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

TEST (test_shortest_heartbeat)
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
TEST (test_start_again)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (GError) error = NULL;

  curator_client_set_session_timeout (client, 0);
  assert_false (curator_client_start (client, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
  curator_client_set_session_timeout (client, (1 << 30) - 1);
  assert_true (curator_client_start (client, &error));
  assert_false (curator_client_start (client, &error));
  assert_true (has_error (&error, CURATOR_ERROR_ALREADY_STARTED));
  curator_client_close (client);
  assert_false (curator_client_start (client, &error));
  assert_true (has_error (&error, CURATOR_ERROR_CLOSED));
}

TEST (test_no_connect_string)
{
  g_autoptr (CuratorClient) client = curator_client_new (NULL, NULL);
  g_autoptr (GError) error = NULL;

  assert_false (curator_client_start (client, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
}

TEST (test_not_started)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/settings", NULL);
  g_autoptr (GError) error = NULL;

  assert_false (curator_lock_acquire (lock, 0, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_NOT_STARTED));
  assert_null (curator_lock_get_participant_nodes (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_NOT_STARTED));
  assert_false (
      curator_client_attempt_revoke (client, "/settings/a", CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_NOT_STARTED));
  assert_int_equal (curator_client_get_session_id (client), 0);
  assert_int_equal (curator_client_get_session_timeout_ms (client), 0);
  curator_client_close (client);
  assert_false (curator_lock_acquire (lock, 0, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_CLOSED));
}

TEST (test_namespace)
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

/* The list of a client that was never connected, which no other thread changes. What is refused has
 * changed nothing. */
CURATOR_NOT_ANALYSED
TEST (test_update_servers)
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

TEST (test_servers_of_an_adopted_handle)
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
TEST (test_set_twice)
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
  curator_client_add_acl (client, "auth", "", CURATOR_PERMISSIONS_ALL);
  curator_client_add_acl (client, "ip", "::1",
                          CURATOR_PERMISSIONS_READ | CURATOR_PERMISSIONS_CREATE);
  assert_int_equal (client->settings.acl.count, 2);
  assert_string_equal (client->settings.acl.data[1].id.scheme, "ip");
  assert_string_equal (client->settings.acl.data[1].id.id, "::1");
  assert_int_equal (client->settings.acl.data[1].perms, ZOO_PERM_READ | ZOO_PERM_CREATE);
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

TEST (test_deadlines)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  const gint64 now = curator_client_now_us (client);

  assert_true (curator_client_deadline (client, CURATOR_WAIT_FOREVER) == G_MAXINT64);
  assert_true (curator_client_deadline (client, G_MAXINT64) == G_MAXINT64);
  assert_true (curator_client_deadline (client, 1000) >= now + G_USEC_PER_SEC);
  assert_true (curator_client_deadline (client, G_MAXINT64 / 2000) > now);
}

TEST (test_names_of_locks)
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
TEST (test_long_paths)
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
TEST (test_server_list)
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
TEST (test_state_and_error_names)
{
  for (int i = -1; i < 10; i++)
    {
      assert_non_null (curator_connection_state_to_string ((CuratorConnectionState) i));
      assert_non_null (curator_lease_state_to_string ((CuratorLeaseState) i));
    }
  assert_null (curator_counter_to_string ((CuratorCounter) -1));
}

/* A multi-lock without members is always held. */
TEST (test_lock_without_members)
{
  g_autoptr (CuratorLock) nothing = curator_multi_lock_new (NULL, 0);
  g_autoptr (GError) error = NULL;

  assert_true (curator_lock_acquire (nothing, 0, NULL, &error));
  assert_true (curator_lock_is_acquired_in_this_process (nothing));
  assert_true (curator_lock_is_owned_by_current_thread (nothing));
  assert_null (curator_lock_dup_lease (nothing));
  assert_null (curator_lock_get_participant_nodes (nothing, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_UNSUPPORTED));
  assert_false (curator_lock_make_revocable (nothing, NULL, NULL, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_UNSUPPORTED));
  assert_true (curator_lock_release (nothing, CURATOR_WAIT_DEFAULT, NULL, &error));
}

/* --- a setter that comes too late logs one critical message, and changes nothing -------------- */

static guint n_criticals; /* the test's own calls cause them; other threads log less */

#define N_SETTERS     15
#define FIRST_TO_FAIL 11 /* these have an error, and in time some of them use it */

static void
set_one (CuratorClient *client, guint which)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (GError) error = NULL;
  gboolean is_set = FALSE;

  switch (which)
    {
    case 0:
      curator_client_set_session_timeout (client, 4321);
      break;
    case 1:
      curator_client_set_connection_timeout (client, 4321);
      break;
    case 2:
      curator_client_set_server_tick (client, 4321);
      break;
    case 3:
      curator_client_set_heartbeat_interval (client, 4321);
      break;
    case 4:
      curator_client_add_auth (client, "digest", "a:b", 3);
      break;
    case 5:
      curator_client_set_acl (client, &ZOO_CREATOR_ALL_ACL);
      break;
    case 6:
      curator_client_set_default_data (client, "late", 4);
      break;
    case 7:
      curator_client_set_compression (client, TRUE);
      break;
    case 8:
      curator_client_set_follow_configuration (client, TRUE);
      break;
    case 9:
      curator_client_set_callback_context (client, g_main_context_default ());
      break;
    case 10:
      curator_client_set_trace (client, ignore_event, NULL, NULL);
      break;
    case FIRST_TO_FAIL:
      is_set = curator_client_set_namespace (client, "late", &error);
      break;
    case 12:
      is_set = curator_client_set_tls (client, tls, &error);
      break;
    case 13:
      is_set = curator_client_set_sasl_digest (client, "user", "password", &error);
      break;
    default:
      is_set = curator_client_set_sasl_gssapi (client, NULL, NULL, &error);
    }
  assert_true (n_criticals == 0 || (!is_set && error == NULL));
}

/* What the setters write. */
typedef struct
{
  gpointer pointers[7];
  int numbers[10];
} Written;

/* Nobody else writes them: a client with default data does not look its host's address up. */
static CURATOR_NOT_ANALYSED Written
written (const CuratorClient *client)
{
  return (Written){ { client->settings.namespace_, client->settings.tls, client->settings.sasl,
                      client->default_data, client->settings.callback_context,
                      client->settings.acl.data, client->settings.prefix },
                    { client->settings.session_timeout_ms, client->settings.connection_timeout_ms,
                      client->settings.server_tick_ms, client->settings.has_server_tick,
                      client->settings.heartbeat_ms, (int) client->settings.auths->len,
                      client->settings.compression, client->settings.follows_configuration,
                      client->settings.acl.count, client->settings.trace != NULL } };
}

static void
check_setter (CuratorClient *client, guint which, gboolean is_late)
{
  const Written before = written (client);
  n_criticals = 0;
  set_one (client, which);
  const Written after = written (client);
  const gboolean is_changed = memcmp (&before, &after, sizeof before) != 0;
  if (n_criticals != (is_late ? 1 : 0) || is_changed != !is_late)
    {
      fail_msg ("setter %u, %s: %u criticals, and it was %s", which, is_late ? "late" : "in time",
                n_criticals, is_changed ? "set" : "not set");
    }
}

/* In time each of them does something, or else it could not be seen that it does nothing. */
TEST (test_too_late)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (CuratorClient) never = curator_client_new (NOWHERE, NULL);
  g_autoptr (GError) error = NULL;

  curator_client_set_default_data (client, "data", 4);
  assert_true (curator_client_start (client, &error));
  curator_client_close (never);
  for (guint i = 0; i < N_SETTERS; i++)
    {
      g_autoptr (CuratorClient) fresh = curator_client_new (NOWHERE, NULL);
      if (i <= FIRST_TO_FAIL)
        check_setter (fresh, i, FALSE);
      check_setter (client, i, TRUE);
      check_setter (never, i, TRUE);
    }
  curator_client_close (client);
  for (guint i = 0; i < N_SETTERS; i++)
    check_setter (client, i, TRUE);
}

/* What else has a moment. */
TEST (test_too_late_for_others)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (NULL, NULL, NULL);
  g_autoptr (CuratorLeaderLatch) latch = curator_leader_latch_new (client, "/setters", "", NULL);
  g_autoptr (GError) error = NULL;

  n_criticals = 0;
  curator_lock_driver_set_nothing_overtakes (driver, TRUE);
  curator_lock_driver_set_nothing_overtakes (driver, FALSE);
  curator_leader_latch_set_until_lost (latch, TRUE);
  assert_int_equal (n_criticals, 0);
  g_autoptr (CuratorLock) lock =
      curator_mutex_new_with_driver (client, "/setters", "lock-", 1, driver, &error);
  assert_non_null (lock);
  curator_lock_driver_set_nothing_overtakes (driver, TRUE);
  assert_int_equal (n_criticals, 1);
  assert_false (driver->nothing_overtakes);
  assert_true (curator_client_start (client, &error));
  assert_true (curator_leader_latch_start (latch, &error));
  curator_leader_latch_set_until_lost (latch, FALSE);
  assert_int_equal (n_criticals, 2);
}

/* A wrong value of a text, or one that is too long: integration/arguments/test_adversary has all of
 * them, this the codes. */
TEST (test_codes_of_wrong_values)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (GError) error = NULL;
  static const char much[4097];

  assert_false (curator_tls_set_ca_file (tls, "/nowhere/ca.pem", &error));
  assert_true (
      has_error (&error, HAS_TLS ? CURATOR_ERROR_INVALID_ARGUMENT : CURATOR_ERROR_UNSUPPORTED));
  for (int i = 0; i < 3; i++)
    {
      g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
      if (i < 2)
        curator_client_add_auth (client, i == 0 ? "sasl" : "x509", "a", 1);
      else
        curator_client_set_default_data (client, much, sizeof much);
      assert_false (curator_client_start (client, &error));
      assert_true (
          has_error (&error, i < 2 ? CURATOR_ERROR_UNSUPPORTED : CURATOR_ERROR_LIMIT_EXCEEDED));
    }
}

static GLogWriterOutput
swallow (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  if ((level & G_LOG_LEVEL_CRITICAL) != 0)
    n_criticals++;
  return unit_swallow_warnings (level, fields, n_fields, data);
}

int
main (void)
{
  g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_writer_func (swallow, NULL, NULL);
  return suite_run ("client settings", NULL, NULL);
}
