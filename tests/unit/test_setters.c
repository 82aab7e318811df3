/* Setters: at the wrong moment each logs one critical message and changes nothing; a value that is wrong in
 * itself is a GError, of the setter or of the call that uses it. No server is contacted. */
#include "core/client-record.h"
#include "lock/lock_internals-private.h"
#include "unit.h"

#include "curator/curator.h"
#include "curator/lock_internals.h"

#include <zookeeper/zookeeper.h>

#include <string.h>

/* No server listens there. */
#define NOWHERE "127.0.0.1:1"

static guint n_criticals; /* all calls are the test's own */

static void
count_criticals (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
  n_criticals += (level & G_LOG_LEVEL_CRITICAL) != 0 ? 1 : 0;
}

/* --- the wrong moment --------------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  void (*set) (CuratorClient *client);
} Setter;

static void
ignore_event (const CuratorTraceEvent *event, gpointer data)
{
}

static void
set_session_timeout (CuratorClient *client)
{
  curator_client_set_session_timeout (client, 4321);
}

static void
set_connection_timeout (CuratorClient *client)
{
  curator_client_set_connection_timeout (client, 4321);
}

static void
set_server_tick (CuratorClient *client)
{
  curator_client_set_server_tick (client, 4321);
}

static void
set_heartbeat_interval (CuratorClient *client)
{
  curator_client_set_heartbeat_interval (client, 4321);
}

static void
set_namespace (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  assert_false (curator_client_set_namespace (client, "late", &error));
  assert_null (error);
}

static void
add_auth (CuratorClient *client)
{
  curator_client_add_auth (client, "digest", "a:b", 3);
}

static void
set_acl (CuratorClient *client)
{
  curator_client_set_acl (client, &ZOO_CREATOR_ALL_ACL);
}

static void
set_default_data (CuratorClient *client)
{
  curator_client_set_default_data (client, "late", 4);
}

static void
set_compression (CuratorClient *client)
{
  curator_client_set_compression (client, TRUE);
}

static void
set_follow_configuration (CuratorClient *client)
{
  curator_client_set_follow_configuration (client, TRUE);
}

static void
set_callback_context (CuratorClient *client)
{
  curator_client_set_callback_context (client, g_main_context_default ());
}

static void
set_trace (CuratorClient *client)
{
  curator_client_set_trace (client, ignore_event, NULL, NULL);
}

static void
set_tls (CuratorClient *client)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (GError) error = NULL;
  assert_false (curator_client_set_tls (client, tls, &error));
  assert_null (error);
}

static void
set_sasl_digest (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  assert_false (curator_client_set_sasl_digest (client, "user", "password", &error));
  assert_null (error);
}

static void
set_sasl_gssapi (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  assert_false (curator_client_set_sasl_gssapi (client, NULL, NULL, &error));
  assert_null (error);
}

/* clang-format off */
#define SETTER(what) { #what, what }
/* clang-format on */

static const Setter setters[] = {
  SETTER (set_session_timeout),
  SETTER (set_connection_timeout),
  SETTER (set_server_tick),
  SETTER (set_heartbeat_interval),
  SETTER (set_namespace),
  SETTER (add_auth),
  SETTER (set_acl),
  SETTER (set_default_data),
  SETTER (set_compression),
  SETTER (set_follow_configuration),
  SETTER (set_callback_context),
  SETTER (set_trace),
  SETTER (set_tls),
  SETTER (set_sasl_digest),
  SETTER (set_sasl_gssapi),
};

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
assert_late (CuratorClient *client, const char *moment)
{
  for (gsize i = 0; i < G_N_ELEMENTS (setters); i++)
    {
      const Written before = written (client);
      n_criticals = 0;
      setters[i].set (client);
      const Written after = written (client);
      if (n_criticals != 1 || memcmp (&before, &after, sizeof before) != 0)
        {
          fail_msg ("%s %s: %u criticals, and it %s", setters[i].name, moment, n_criticals,
                    memcmp (&before, &after, sizeof before) != 0 ? "was set" : "was not set");
        }
    }
}

/* In time each of them does something, or else it could not be seen that it does nothing. */
static void
test_in_time (void **state)
{
  for (gsize i = 0; i < G_N_ELEMENTS (setters); i++)
    {
      g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
      const gboolean is_secured = i >= G_N_ELEMENTS (setters) - 3;
      const gboolean has_error = is_secured || setters[i].set == set_namespace;
      const Written before = written (client);
      n_criticals = 0;
      if (!has_error) /* the others assert that they fail */
        {
          setters[i].set (client);
          const Written after = written (client);
          assert_int_not_equal (memcmp (&before, &after, sizeof before), 0);
        }
      assert_int_equal (n_criticals, 0);
    }
}

static void
test_too_late (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (CuratorClient) never = curator_client_new (NOWHERE, NULL);
  g_autoptr (GError) error = NULL;

  curator_client_set_default_data (client, "data", 4);
  assert_true (curator_client_start (client, &error));
  assert_late (client, "after start");
  curator_client_close (client);
  assert_late (client, "after close");
  curator_client_close (never);
  assert_late (never, "after close without start");
}

/* What else has a moment. */
static void
test_too_late_for_others (void **state)
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
  curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_SILENT);
  curator_leader_latch_set_until_lost (latch, FALSE);
  assert_int_equal (n_criticals, 3);
}

/* --- values that are wrong in themselves -------------------------------------------------------- */

typedef struct
{
  const char *what;
  gboolean (*set) (CuratorClient *client, const char *text, gint64 number, GError **error);
  const char *text;
  gint64 number;
  CuratorError code;
} WrongValue;

static gboolean
wrong_session_timeout (CuratorClient *client, const char *text, gint64 number, GError **error)
{
  curator_client_set_session_timeout (client, number);
  return curator_client_start (client, error);
}

static gboolean
wrong_connection_timeout (CuratorClient *client, const char *text, gint64 number, GError **error)
{
  curator_client_set_connection_timeout (client, number);
  return curator_client_start (client, error);
}

static gboolean
wrong_server_tick (CuratorClient *client, const char *text, gint64 number, GError **error)
{
  curator_client_set_server_tick (client, number);
  return curator_client_start (client, error);
}

static gboolean
wrong_heartbeat_interval (CuratorClient *client, const char *text, gint64 number, GError **error)
{
  curator_client_set_heartbeat_interval (client, number);
  return curator_client_start (client, error);
}

static gboolean
wrong_namespace (CuratorClient *client, const char *text, gint64 number, GError **error)
{
  return curator_client_set_namespace (client, text, error);
}

static gboolean
wrong_auth (CuratorClient *client, const char *text, gint64 number, GError **error)
{
  curator_client_add_auth (client, text, "a", 1);
  return curator_client_start (client, error);
}

static gboolean
wrong_default_data (CuratorClient *client, const char *text, gint64 number, GError **error)
{
  g_autofree char *data = g_malloc0 ((gsize) number);
  curator_client_set_default_data (client, data, (gsize) number);
  return curator_client_start (client, error);
}

static gboolean
wrong_ca_file (CuratorClient *client, const char *text, gint64 number, GError **error)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  return curator_tls_set_ca_file (tls, text, error) && curator_client_set_tls (client, tls, error);
}

static gboolean
wrong_connect_string (CuratorClient *client, const char *text, gint64 number, GError **error)
{
  g_autoptr (CuratorClient) other = curator_client_new (text, NULL);
  return curator_client_start (other, error);
}

/* clang-format off */
#define NUMBER(set, number) { #set, set, NULL, number, CURATOR_ERROR_INVALID_ARGUMENT }
#define TEXT(set, text, code) { #set, set, text, 0, code }
/* clang-format on */
#define TOO_LARGE ((gint64) G_MAXINT32 + 1)

static const WrongValue wrong_values[] = {
  NUMBER (wrong_session_timeout, 0),
  NUMBER (wrong_session_timeout, -1),
  NUMBER (wrong_session_timeout, 9),
  NUMBER (wrong_session_timeout, 1 << 30),
  NUMBER (wrong_session_timeout, G_MAXINT64),
  NUMBER (wrong_connection_timeout, 0),
  NUMBER (wrong_connection_timeout, G_MININT64),
  NUMBER (wrong_connection_timeout, TOO_LARGE),
  NUMBER (wrong_server_tick, 0),
  NUMBER (wrong_server_tick, -1),
  NUMBER (wrong_server_tick, TOO_LARGE),
  NUMBER (wrong_heartbeat_interval, 0),
  NUMBER (wrong_heartbeat_interval, -1),
  NUMBER (wrong_heartbeat_interval, TOO_LARGE),
  TEXT (wrong_namespace, "a//b", CURATOR_ERROR_INVALID_ARGUMENT),
  TEXT (wrong_namespace, "..", CURATOR_ERROR_INVALID_ARGUMENT),
  TEXT (wrong_namespace, "/a", CURATOR_ERROR_INVALID_ARGUMENT),
  TEXT (wrong_auth, "sasl", CURATOR_ERROR_UNSUPPORTED),
  TEXT (wrong_auth, "x509", CURATOR_ERROR_UNSUPPORTED),
  { "wrong_default_data", wrong_default_data, NULL, 4097, CURATOR_ERROR_LIMIT_EXCEEDED },
  TEXT (wrong_connect_string, "a:0", CURATOR_ERROR_INVALID_ARGUMENT),
#if HAS_TLS
  TEXT (wrong_ca_file, "/nowhere/ca.pem", CURATOR_ERROR_INVALID_ARGUMENT),
#else
  TEXT (wrong_ca_file, "/nowhere/ca.pem", CURATOR_ERROR_UNSUPPORTED),
#endif
};

static void
test_wrong_values (void **state)
{
  for (gsize i = 0; i < G_N_ELEMENTS (wrong_values); i++)
    {
      const WrongValue *wrong = &wrong_values[i];
      g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
      g_autoptr (GError) error = NULL;
      n_criticals = 0;
      if (wrong->set (client, wrong->text, wrong->number, &error) || n_criticals != 0
          || !g_error_matches (error, CURATOR_ERROR, (int) wrong->code))
        {
          fail_msg ("%s %s%" G_GINT64_FORMAT ": %u criticals, error: %s", wrong->what,
                    wrong->text != NULL ? wrong->text : "", wrong->number, n_criticals,
                    error != NULL ? error->message : "none");
        }
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_in_time),
    cmocka_unit_test (test_too_late),
    cmocka_unit_test (test_too_late_for_others),
    cmocka_unit_test (test_wrong_values),
  };

  g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_default_handler (count_criticals, NULL);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
