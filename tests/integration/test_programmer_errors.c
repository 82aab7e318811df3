/* Programmer errors: NULL arguments, and an error that is already set.
 *
 * Every function logs one critical message, returns its null value, and does nothing.
 */
#include "fixture.h"

#include <curator/lock_internals.h>
#include <curator/zookeeper.h>

static guint n_criticals; /* all calls are the test's own */

static void
count_criticals (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
  if ((level & G_LOG_LEVEL_CRITICAL) != 0)
    {
      n_criticals++;
      return;
    }
  g_log_default_handler (domain, level, message, data);
}

static void
check_refused (gboolean as_said, const char *call, int line)
{
  if (n_criticals != 1 || !as_said)
    {
      fail_msg ("line %d: %s: %u criticals, %s", line, call, n_criticals,
                as_said ? "returned nothing" : "returned something");
    }
}

#define assert_refused(call)                                                                       \
  G_STMT_START                                                                                     \
  {                                                                                                \
    n_criticals = 0;                                                                               \
    call;                                                                                          \
    check_refused (TRUE, #call, __LINE__);                                                         \
  }                                                                                                \
  G_STMT_END
#define assert_refused_with(value, call)                                                           \
  G_STMT_START                                                                                     \
  {                                                                                                \
    n_criticals = 0;                                                                               \
    check_refused ((call) == (value), #call, __LINE__);                                            \
  }                                                                                                \
  G_STMT_END

typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLease *lease;
  GError *stale; /* was set before the call */
} Things;

static void
make_things (Things *things, void **state)
{
  things->client = client_connect (fixture_server (*state));
  things->lock = mutex_new (things->client, "/errors/mutex");
  things->lease = curator_lock_acquire_lease (things->lock, LONG_MS, NULL, NULL);
  things->stale = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_FAILED, "of an earlier call");
  assert_non_null (things->lease);
}

static void
drop_things (Things *things)
{
  /* Refused calls have not changed them. */
  assert_string_equal (things->stale->message, "of an earlier call");
  assert_int_equal (curator_lease_get_state (things->lease), CURATOR_LEASE_HELD);
  g_error_free (things->stale);
  curator_lease_unref (things->lease);
  curator_lock_unref (things->lock);
  curator_client_unref (things->client);
}

static void
nobody_is_told (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
}

static void
test_client (void **state)
{
  Things things;
  guint64 counters[1];

  make_things (&things, state);
  CuratorClient *client = things.client;
  assert_refused_with (NULL, curator_client_ref (NULL));
  assert_refused (curator_client_unref (NULL));
  assert_refused (curator_client_close (NULL));
  assert_refused_with (FALSE, curator_client_start (NULL, NULL));
  assert_refused_with (FALSE, curator_client_start (client, &things.stale));
  assert_refused_with (FALSE, curator_client_block_until_connected (NULL, 0, NULL, NULL));
  assert_refused_with (CURATOR_STATE_LOST, curator_client_get_connection_state (NULL));
  assert_refused_with (0, curator_client_get_session_id (NULL));
  assert_refused_with (0, curator_client_get_session_timeout (NULL));
  assert_refused_with (0, curator_client_add_state_listener (NULL, nobody_is_told, NULL, NULL));
  assert_refused_with (0, curator_client_add_state_listener (client, NULL, NULL, NULL));
  assert_refused (curator_client_remove_state_listener (NULL, 1));
  assert_refused_with (0, curator_client_get_counters (NULL, counters, 1));
  assert_refused_with (0, curator_client_get_counters (client, NULL, 1));
  assert_refused_with (NULL, curator_client_format_metrics (NULL));
  assert_refused_with (FALSE, curator_client_set_namespace (NULL, "n", NULL));
  assert_refused_with (FALSE, curator_attempt_revoke (NULL, "/a", 0, NULL, NULL));
  assert_refused_with (FALSE, curator_attempt_revoke (client, "/a", 0, NULL, &things.stale));
  assert_refused (curator_client_forward_event (NULL, NULL, 0, 0, ""));
  assert_refused (curator_client_forward_event (client, NULL, 0, 0, ""));
  assert_refused_with (FALSE, curator_client_set_zhandle (NULL, NULL, NULL));
  assert_refused_with (FALSE, curator_client_set_zhandle (client, NULL, &things.stale));
  drop_things (&things);
}

/* Settings are refused after the start. */
static void
test_settings_too_late (void **state)
{
  Things things;

  make_things (&things, state);
  CuratorClient *const clients[] = { NULL, things.client };
  for (gsize i = 0; i < G_N_ELEMENTS (clients); i++)
    {
      CuratorClient *client = clients[i];
      assert_refused (curator_client_set_session_timeout (client, 1000));
      assert_refused (curator_client_set_connection_timeout (client, 1000));
      assert_refused (curator_client_add_auth (client, "digest", "a:b", 3));
      assert_refused (curator_client_set_acl (client, &ZOO_OPEN_ACL_UNSAFE));
      assert_refused (curator_client_set_default_data (client, "", 0));
      assert_refused (curator_client_set_compression (client, TRUE));
      assert_refused (curator_client_set_follow_configuration (client, TRUE));
      assert_refused (curator_client_set_callback_context (client, NULL));
      assert_refused (curator_client_set_trace (client, NULL, NULL, NULL));
    }
  drop_things (&things);

  g_autoptr (CuratorClient) latent = client_new (fixture_server (*state));
  assert_refused (curator_client_add_auth (latent, NULL, "a:b", 3));
}

static void
test_trace_events (void **state)
{
  assert_refused_with (CURATOR_TRACE_GRANTED, curator_trace_event_get_kind (NULL));
  assert_refused_with (NULL, curator_trace_event_get_path (NULL));
  assert_refused_with (0, curator_trace_event_get_duration_us (NULL));
  assert_refused_with (0, curator_trace_event_get_session_id (NULL));
}

static void
test_creating_locks (void **state)
{
  Things things;

  make_things (&things, state);
  CuratorClient *client = things.client;
  CuratorLock *const no_lock[] = { things.lock, NULL };
  assert_refused_with (NULL, curator_mutex_new (NULL, "/a", NULL));
  assert_refused_with (NULL, curator_mutex_new (client, "/a", &things.stale));
  assert_refused_with (NULL, curator_fixed_node_lock_new (NULL, "/a", NULL));
  assert_refused_with (NULL, curator_fixed_node_lock_new (client, "/a", &things.stale));
  assert_refused_with (NULL, curator_semaphore_mutex_new (NULL, "/a", NULL));
  assert_refused_with (NULL, curator_semaphore_mutex_new (client, "/a", &things.stale));
  assert_refused_with (NULL, curator_rw_lock_new (NULL, "/a", NULL, 0, NULL));
  assert_refused_with (NULL, curator_rw_lock_new (client, "/a", NULL, 0, &things.stale));
  assert_refused_with (NULL, curator_rw_lock_read_lock (NULL));
  assert_refused_with (NULL, curator_rw_lock_write_lock (NULL));
  assert_refused_with (NULL, curator_rw_lock_ref (NULL));
  assert_refused (curator_rw_lock_unref (NULL));
  assert_refused_with (NULL, curator_multi_lock_new (NULL, 1));
  assert_refused_with (NULL, curator_multi_lock_new (no_lock, G_N_ELEMENTS (no_lock)));
  assert_refused_with (NULL, curator_multi_lock_new_for_paths (client, NULL, NULL));
  assert_refused_with (NULL, curator_multi_lock_new_for_paths_sorted (client, NULL, NULL));
  drop_things (&things);
}

static void
test_locks (void **state)
{
  Things things;
  g_autoptr (CuratorLock) nothing = curator_multi_lock_new (NULL, 0);

  make_things (&things, state);
  CuratorLock *lock = things.lock;
  assert_refused_with (NULL, curator_lock_ref (NULL));
  assert_refused (curator_lock_unref (NULL));
  assert_refused_with (FALSE, curator_lock_acquire (NULL, 0, NULL, NULL));
  assert_refused_with (FALSE, curator_lock_acquire (lock, 0, NULL, &things.stale));
  assert_refused_with (NULL, curator_lock_acquire_lease (NULL, 0, NULL, NULL));
  assert_refused_with (NULL, curator_lock_acquire_lease (lock, 0, NULL, &things.stale));
  assert_refused (curator_lock_acquire_async (NULL, 0, NULL, NULL, NULL));
  assert_refused (curator_lock_acquire_async (nothing, 0, NULL, NULL, NULL));
  assert_refused (curator_lock_acquire_async (lock, 0, NULL, NULL, NULL));
  assert_refused_with (FALSE, curator_lock_release (NULL, 0, NULL, NULL));
  assert_refused_with (FALSE, curator_lock_release (lock, 0, NULL, &things.stale));
  assert_refused (curator_lock_release_async (NULL, NULL, NULL));
  assert_refused_with (FALSE, curator_lock_is_acquired_in_this_process (NULL));
  assert_refused_with (FALSE, curator_lock_is_owned_by_current_thread (NULL));
  assert_refused_with (NULL, curator_lock_get_participant_nodes (NULL, 0, NULL, NULL));
  assert_refused_with (NULL, curator_lock_get_participant_nodes (lock, 0, NULL, &things.stale));
  assert_refused_with (NULL, curator_lock_dup_lease (NULL));
  assert_refused_with (FALSE, curator_lock_make_revocable (NULL, NULL, NULL, NULL, NULL));
  assert_refused_with (FALSE, curator_lock_make_revocable (lock, NULL, NULL, NULL, &things.stale));
  drop_things (&things);
}

static void
test_leases (void **state)
{
  Things things;
  zoo_op_t op;

  make_things (&things, state);
  CuratorLease *lease = things.lease;
  assert_refused_with (NULL, curator_lease_ref (NULL));
  assert_refused (curator_lease_unref (NULL));
  assert_refused_with (NULL, curator_lease_get_node_path (NULL));
  assert_refused_with (NULL, curator_lease_get_node_name (NULL));
  assert_refused_with (0, curator_lease_get_fencing_token (NULL));
  assert_refused_with (0, curator_lease_get_session_id (NULL));
  assert_refused_with (CURATOR_LEASE_LOST, curator_lease_get_state (NULL));
  assert_refused_with (0, curator_lease_get_remaining_ms (NULL));
  assert_refused_with (-1, curator_lease_get_fd (NULL));
  assert_refused_with (0, curator_lease_add_listener (NULL, NULL, NULL, NULL));
  assert_refused_with (0, curator_lease_add_listener (lease, NULL, NULL, NULL));
  assert_refused (curator_lease_remove_listener (NULL, 1));
  assert_refused_with (NULL, curator_lease_get_data (NULL, 0, NULL, NULL));
  assert_refused_with (NULL, curator_lease_get_data (lease, 0, NULL, &things.stale));
  assert_refused_with (FALSE, curator_lease_release (NULL, 0, NULL, NULL));
  assert_refused_with (FALSE, curator_lease_release (lease, 0, NULL, &things.stale));
  assert_refused_with (FALSE, curator_lease_init_check_op (NULL, &op, NULL));
  assert_refused_with (FALSE, curator_lease_init_check_op (lease, NULL, NULL));
  assert_refused_with (FALSE, curator_lease_init_check_op (lease, &op, &things.stale));
  drop_things (&things);
}

static void
try_request (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data)
{
  gboolean *tried = data;

  assert_string_equal (curator_node_request_get_name (request), "lock-");
  assert_refused (curator_node_request_set_name (request, NULL));
  assert_refused (curator_node_request_set_name (request, "a/b"));
  *tried = TRUE;
}

static void
test_drivers (void **state)
{
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = try_request };
  g_autoptr (CuratorClient) client = client_connect (fixture_server (*state));
  gboolean tried = FALSE;
  CuratorLockDriver *driver = curator_lock_driver_new (&funcs, &tried, NULL);
  g_autoptr (GError) error = NULL;

  assert_refused_with (NULL, curator_lock_driver_ref (NULL));
  assert_refused (curator_lock_driver_unref (NULL));
  assert_refused (curator_lock_driver_set_nothing_overtakes (NULL, TRUE));
  assert_refused_with (NULL, curator_node_request_get_name (NULL));
  assert_refused (curator_node_request_set_name (NULL, "a"));
  assert_refused (curator_node_request_set_mode (NULL, CURATOR_CREATE_EPHEMERAL));
  assert_refused (curator_node_request_set_data (NULL, "", 0));
  assert_refused (curator_node_request_set_protected (NULL, TRUE));

  g_autoptr (CuratorLock) lock =
      curator_mutex_new_with_driver (client, "/errors/driver", "lock-", 1, driver, &error);
  curator_lock_driver_unref (driver);
  assert_ok (curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);
  assert_true (tried);
  assert_ok (curator_lock_release (lock, 0, NULL, &error), &error);
}

static void
test_retry_policies (void **state)
{
  gint64 sleep_ms;

  assert_refused_with (NULL, curator_retry_policy_ref (NULL));
  assert_refused (curator_retry_policy_unref (NULL));
  assert_refused_with (NULL, curator_retry_policy_new_custom (NULL, NULL, NULL));
  assert_refused_with (FALSE, curator_retry_policy_allow_retry (NULL, 0, 0, &sleep_ms));
}

static void
test_semaphores_and_counts (void **state)
{
  Things things;

  make_things (&things, state);
  CuratorClient *client = things.client;
  g_autoptr (CuratorSemaphore) semaphore = curator_semaphore_new (client, "/errors/s", 1, NULL);
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (client, "/errors/n", 1, NULL);
  assert_refused_with (NULL, curator_semaphore_new (NULL, "/a", 1, NULL));
  assert_refused_with (NULL, curator_semaphore_new_with_shared_count (client, "/a", NULL, NULL));
  assert_refused_with (0, curator_semaphore_get_max_leases (NULL));
  assert_refused (curator_semaphore_set_node_data (NULL, "", 0));
  assert_refused_with (NULL, curator_semaphore_acquire (semaphore, 0, NULL, &things.stale));
  assert_refused_with (NULL, curator_semaphore_acquire_n (NULL, 1, 0, NULL, NULL));
  assert_refused (curator_semaphore_acquire_async (semaphore, 1, 0, NULL, NULL, NULL));
  assert_refused (curator_semaphore_return_all (semaphore, NULL, 0, NULL, NULL));
  assert_refused_with (NULL, curator_semaphore_get_participant_nodes (NULL, 0, NULL, NULL));
  assert_refused_with (FALSE, curator_semaphore_make_revocable (NULL, NULL, NULL, NULL, NULL));
  assert_refused_with (NULL, curator_shared_count_new (NULL, "/a", 1, NULL));
  assert_refused_with (FALSE, curator_shared_count_start (count, 0, NULL, &things.stale));
  assert_refused_with (0, curator_shared_count_get (NULL));
  assert_refused_with (FALSE, curator_shared_count_set (NULL, 1, 0, NULL, NULL));
  assert_refused (curator_shared_count_close (NULL));
  drop_things (&things);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_client),
    heal_and_test (test_settings_too_late),
    heal_and_test (test_trace_events),
    heal_and_test (test_creating_locks),
    heal_and_test (test_locks),
    heal_and_test (test_leases),
    heal_and_test (test_drivers),
    heal_and_test (test_retry_policies),
    heal_and_test (test_semaphores_and_counts),
  };

  /* Elsewhere a critical message ends the test. */
  g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_default_handler (count_criticals, NULL);
  return cmocka_run_group_tests_name ("programmer_errors", tests, fixture_start, fixture_stop);
}
