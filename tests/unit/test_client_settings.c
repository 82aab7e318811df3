/* A client before its start: settings, those that start refuses, and those that come too late. No
 * server is contacted. */
#include "addresses.h"
#include "base/path.h"
#include "channel/channel_sasl.h"
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
#include <sys/wait.h>
#include <unistd.h>

/* No server listens there. */
#define NOWHERE "127.0.0.1:1"

static gboolean
has_error (GError **error, CuratorError code)
{
  const gboolean has = g_error_matches (*error, CURATOR_ERROR, code);
  g_clear_error (error);
  return has;
}

/* What is refused, and what the values at the ends of a number mean, is in
 * integration/arguments/test_adversary and test_extremes; the message names the setting. */
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

  for (gsize i = 0; i < G_N_ELEMENTS (timeouts); i++) {
    g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
    g_autoptr (GError) error = NULL;
    timeouts[i].set (client, 0);
    assert_false (curator_client_start (client, &error));
    assert_non_null (strstr (error->message, timeouts[i].named));
  }
}

/* In a process of its own: Cyrus SASL looks for its modules once. NULL: as it should be. */
static const char *
start_without_modules (gboolean by_digest)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (GError) error = NULL;

  if (!(by_digest ? curator_client_set_sasl_digest (client, "me", "secret", &error)
                  : curator_client_set_sasl_gssapi (client, NULL, NULL, &error)))
    return "it cannot be set";
  if (curator_client_start (client, &error))
    return "it starts";
  if (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED))
    return "it is another error";
  return strstr (error->message, by_digest ? "SASL DIGEST-MD5: " : "SASL GSSAPI: ") != NULL
                 && g_str_has_suffix (error->message, by_digest ? " libsasl2-modules"
                                                                : " libsasl2-modules-gssapi-mit")
             ? NULL
             : "the error does not name mechanism and package";
}

TEST (test_mechanisms_without_modules)
{
  g_autofree char *empty = g_dir_make_tmp ("no-modules-XXXXXX", NULL);

  for (int by_digest = 0; curator_sasl_is_built_in () && by_digest <= 1; by_digest++) {
    int status;
    const pid_t pid = fork ();
    if (pid == 0) {
      g_setenv ("SASL_PATH", empty, TRUE);
      const char *wrong = start_without_modules (by_digest);
      if (wrong != NULL)
        print_error ("without its module: %s\n", wrong);
      _exit (wrong != NULL);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
  }
  rmdir (empty);
}

TEST (test_shortest_heartbeat)
{
  static const gint64 short_ms[] = { 1, 99 };
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (short_ms); i++) {
    curator_client_set_heartbeat_interval (client, short_ms[i]);
    assert_int_equal (client->settings.heartbeat_ms, 100);
  }
  curator_client_set_heartbeat_interval (client, 101);
  assert_int_equal (client->settings.heartbeat_ms, 101);
}

/* After a failed start, start may be called again, and after an end before it no more. */
TEST (test_start_again)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (CuratorClient) never = curator_client_new (NOWHERE, NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new (never, "/settings", NULL);
  g_autoptr (GError) error = NULL;

  assert_int_equal (curator_client_get_session_id (client), 0);
  assert_int_equal (curator_client_get_session_timeout_ms (client), 0);
  curator_client_set_session_timeout (client, 0);
  assert_false (curator_client_start (client, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
  curator_client_set_session_timeout (client, (1 << 30) - 1);
  assert_true (curator_client_start (client, &error));
  curator_client_close (client);
  curator_client_close (never);
  assert_false (curator_client_start (never, &error));
  assert_true (has_error (&error, CURATOR_ERROR_CLOSED));
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
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++) {
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

/* A valid path may be too long once a node's name is appended. */
TEST (test_too_long)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autofree char *longest = g_strnfill (CURATOR_PATH_MAX_LENGTH - 128, 'a');
  g_autofree char *longer = g_strnfill (CURATOR_PATH_MAX_LENGTH - 127, 'a');
  g_autofree char *name = g_strnfill (65, 'a');
  g_autoptr (GError) error = NULL;

  assert_null (curator_mutex_new_with_driver (client, "/a", name, 1, NULL, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
  *longest = *longer = '/';
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, longest, &error);
  assert_non_null (lock);
  assert_null (curator_mutex_new (client, longer, &error));
  assert_true (has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
}

/* A name without an address is left out as long as another has one, and keeps what it had; and the
 * number of addresses is odd, since libzookeeper leaves half of an even one out. */
TEST (test_server_list)
{
  static const char list[] = "127.0.0.1:1,a:2,[::1]:3";
  g_autoptr (GPtrArray) servers = servers_of (list);

  assert_true (curator_servers_have_names (servers));
  assert_joined (servers, FALSE, "127.0.0.1:1,::1:3,127.0.0.1:1");
  resolve (servers, 1, "", "unknown");
  g_autofree char *why = curator_servers_dup_why (servers);
  assert_string_equal (why, "a: unknown");
  resolve (servers, 1, "10.0.0.1", NULL);
  resolve (servers, 1, "10.0.0.1", NULL);
  assert_joined (servers, TRUE, "127.0.0.1:1,10.0.0.1:2,::1:3");
  resolve (servers, 1, "10.0.0.2", NULL);
  assert_joined (servers, FALSE, "127.0.0.1:1,10.0.0.2:2,::1:3");
  assert_joined (servers, TRUE, "127.0.0.1:1,10.0.0.2:2,10.0.0.1:2,::1:3,127.0.0.1:1");
  resolve (servers, 1, "", "unknown");
  assert_joined (servers, FALSE, "127.0.0.1:1,10.0.0.2:2,::1:3");

  g_autoptr (GPtrArray) later = servers_of (list);
  curator_servers_inherit (later, servers);
  assert_joined (later, FALSE, "127.0.0.1:1,10.0.0.2:2,::1:3");
}

static guint n_criticals; /* the test's own calls cause them; other threads log less */

/* What comes too late changes nothing. */
TEST (test_too_late)
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
  for (int i = 0; i < 3; i++) {
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
