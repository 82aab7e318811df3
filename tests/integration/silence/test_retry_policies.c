/* Retry policies of the user's: they may call the library, and close the client. Any sleep that they
 * return: arguments/test_extremes. */
#include "integration/taking.h"

#include <string.h>

typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
  gboolean closes;
  int asked;
  int told; /* that the connection was lost */
} Policy;

static void
nobody_is_told (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
}

static void
never_called (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  g_clear_pointer (&lease, curator_lease_unref);
}

/* Everything that does not wait for the server. */
static void
call_all (Policy *policy)
{
  CuratorClient *client = policy->client;
  g_autoptr (CuratorLock) mutex = curator_mutex_new (client, "/policy/other", NULL);
  g_autoptr (CuratorSemaphore) semaphore = curator_semaphore_new (client, "/policy/s", 1, NULL);
  G_GNUC_UNUSED g_autoptr (CuratorRwLock) rw_lock =
      curator_rw_lock_new (client, "/policy/rw", NULL, 0, NULL);
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (client, "/policy/c", 1, NULL);
  g_autoptr (CuratorSemaphore) following =
      curator_semaphore_new_with_shared_count (client, "/policy/f", count, NULL);
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();

  curator_client_get_connection_state (client);
  curator_client_get_session_id (client);
  curator_client_get_session_timeout_ms (client);
  const guint id = curator_client_add_state_listener (client, nobody_is_told, NULL, NULL);
  curator_client_remove_state_listener (client, id);
  curator_client_unref (curator_client_ref (client));
  curator_lock_is_acquired_in_this_process (policy->lock);
  curator_lock_is_owned_by_current_thread (policy->lock);
  G_GNUC_UNUSED g_autoptr (CuratorLease) lease = curator_lock_dup_lease (policy->lock);
  curator_lock_release (policy->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  curator_lock_acquire_then (mutex, 0, NULL, never_called, NULL);
  g_cancellable_cancel (cancelled);
  curator_lock_acquire_then (mutex, CURATOR_WAIT_FOREVER, cancelled, never_called, NULL);
  curator_semaphore_get_max_leases (semaphore);
  curator_semaphore_get_max_leases (following);
  curator_semaphore_set_node_data (semaphore, "x", 1);
  curator_shared_count_get (count);
  curator_shared_count_close (count);
}

static gboolean
ask (guint retry_count, gint64 elapsed_ms, const GError *error, gint64 *sleep_ms, gpointer data)
{
  Policy *policy = data;
  call_all (policy);
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST))
    g_atomic_int_inc (&policy->told);
  g_atomic_int_inc (&policy->asked);
  *sleep_ms = 10;
  if (policy->closes)
    curator_client_close (policy->client);
  return TRUE;
}

static CuratorClient *
client_with (Fixture *fixture, Policy *policy, const char *path)
{
  g_autoptr (CuratorRetryPolicy) asked = curator_retry_policy_new_custom (ask, policy, NULL);
  CuratorClient *client = curator_client_new (fixture_proxy (fixture), asked);
  policy->client = client;
  policy->lock = mutex_new (client, path);
  client_start (client);
  return client;
}

typedef enum
{
  WAY_LOCK,      /* attempt.c */
  WAY_CALL,      /* call.c */
  WAY_SEMAPHORE, /* a turn, then a lease */
  N_WAYS
} Way;

static gboolean
go_the_way (Way way, Policy *policy, gint64 timeout_ms, GError **error)
{
  if (way == WAY_LOCK) {
    return curator_lock_acquire (policy->lock, timeout_ms, NULL, error)
           && curator_lock_release (policy->lock, CURATOR_WAIT_DEFAULT, NULL, error);
  }
  if (way == WAY_CALL) {
    g_autoptr (CuratorSharedCount) count =
        curator_shared_count_new (policy->client, "/policy/count", 1, NULL);
    return curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, error);
  }
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (policy->client, "/policy/permits", 1);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, timeout_ms, NULL, error);
  return lease != NULL && curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, error);
}

/* The reply to the first create is lost, and the policy is asked. */
static void
lose_a_reply (Fixture *fixture, Way way)
{
  raw_zk_make_path (fixture->raw, "/policy");
  proxy_arm (fixture->proxy, way == WAY_CALL ? PROXY_GET_DATA : PROXY_CREATE2, 1, 1,
             PROXY_CUT_BEFORE_REPLY);
}

TEST (test_policies_may_call_the_library)
{
  for (int way = 0; way < N_WAYS; way++) {
    g_autoptr (GError) error = NULL;
    Policy policy = { NULL };
    g_autoptr (CuratorClient) client = client_with (fixture, &policy, "/policy/lock");
    lose_a_reply (fixture, (Way) way);
    assert_ok (go_the_way ((Way) way, &policy, LONG_MS, &error), &error);
    assert_true (g_atomic_int_get (&policy.asked) > 0);
    assert_int_equal (policy.told, policy.asked);
    curator_client_close (client);
    curator_lock_unref (policy.lock);
  }
}

TEST (test_policies_may_close_the_client)
{
  for (int way = 0; way < N_WAYS; way++) {
    g_autoptr (GError) error = NULL;
    Policy policy = { .closes = TRUE };
    g_autoptr (CuratorClient) client = client_with (fixture, &policy, "/policy/close");
    lose_a_reply (fixture, (Way) way);
    assert_false (go_the_way ((Way) way, &policy, LONG_MS, &error));
    assert_curator_error (&error, CURATOR_ERROR_CLOSED);
    curator_client_close (client);
    curator_lock_unref (policy.lock);
  }
}

SUITE ("retry policies", fixture_start_slow, fixture_stop)
