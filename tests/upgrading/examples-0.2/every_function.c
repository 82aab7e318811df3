/* Each function of 0.2 that is called otherwise in 1.0. */
#include <curator/curator.h>

static void
on_acquired (CuratorSemaphore *semaphore, GPtrArray *leases, const GError *error, gpointer data)
{
}

/* As statements: without braces, before a comment, of a member without a type. */
static void
end_hold (gpointer *task, CuratorLease *lease)
{
  if (lease != NULL)
    curator_lease_release (lease, NULL);
  for (int turns = 0; turns < 3; turns++)
    curator_lease_release (task[0], NULL); /* any end of the hold wakes the loop */
}

void every_function (CuratorClient *client, CuratorLock *lock, CuratorLease *lease,
                     CuratorSemaphore *semaphore, GPtrArray *leases, CuratorLeaderLatch *latch,
                     CuratorLeaderSelector *selector, CuratorSharedCount *count,
                     CuratorParticipant *participant, GCancellable *cancellable, GError **error);

void
every_function (CuratorClient *client, CuratorLock *lock, CuratorLease *lease,
                CuratorSemaphore *semaphore, GPtrArray *leases, CuratorLeaderLatch *latch,
                CuratorLeaderSelector *selector, CuratorSharedCount *count,
                CuratorParticipant *participant, GCancellable *cancellable, GError **error)
{
  CuratorSemaphoreCallback callback = on_acquired;
  gboolean flag;
  end_hold (NULL, lease);
  curator_semaphore_acquire_async (semaphore, 1, -1, NULL, callback, NULL);
  curator_attempt_revoke (client, "/a", error);
  curator_attempt_revoke_full (client, "/a", 1000, cancellable, error);
  curator_attempt_revoke_full (client, "/a", 0, cancellable, error);
  curator_delete_ownerless (client, participant, error);
  g_auto (GStrv) found = curator_find_locks (client, "/", 10, &flag, error);
  g_auto (GStrv) again = curator_find_locks_full (client, "/", 10, &flag, 0, cancellable, error);
  g_autoptr (CuratorInspection) one = curator_inspect (client, "/a", error);
  g_autoptr (CuratorInspection) two = curator_inspect_full (client, "/a", 0, cancellable, error);
  g_autoptr (GPtrArray) all = curator_inspect_all (client, "/", NULL, &flag, error);
  curator_leader_participant_unref (curator_leader_latch_get_leader (latch, error));
  curator_leader_participant_unref (curator_leader_latch_get_leader_full (latch, 0, NULL, error));
  g_ptr_array_unref (curator_leader_latch_get_participants (latch, error));
  g_ptr_array_unref (curator_leader_latch_get_participants_full (latch, 0, NULL, error));
  curator_leader_participant_unref (curator_leader_selector_get_leader (selector, error));
  curator_leader_participant_unref (
      curator_leader_selector_get_leader_full (selector, 0, NULL, error));
  g_ptr_array_unref (curator_leader_selector_get_participants (selector, error));
  g_ptr_array_unref (curator_leader_selector_get_participants_full (selector, 0, NULL, error));
  g_bytes_unref (curator_lease_get_data (lease, error));
  g_bytes_unref (curator_lease_get_data_full (lease, 0, cancellable, error));
  g_strfreev (curator_lock_get_participant_nodes (lock, error));
  g_strfreev (curator_lock_get_participant_nodes_full (lock, 0, cancellable, error));
  g_strfreev (curator_semaphore_get_participant_nodes (semaphore, error));
  g_strfreev (curator_semaphore_get_participant_nodes_full (semaphore, 0, NULL, error));
  if (curator_shared_count_start (count, error)
      && curator_shared_count_start_full (count, 0, NULL, error)
      && curator_shared_count_set (count, 1, error)
      && curator_shared_count_set_full (count, 1, 0, cancellable, error)
      && curator_shared_count_try_set (count, 1, 2, &flag, error))
    curator_shared_count_try_set_full (count, 1, 2, &flag, 0, cancellable, error);
  curator_lease_release_async (lease, NULL, NULL);
  curator_semaphore_return_all (semaphore, leases);
  curator_client_set_acl (client, &ZOO_CREATOR_ALL_ACL);
  if (leases == NULL && curator_lease_release (lease, error) ? 0 : 1)
    g_debug ("%d", curator_lock_release (lock, NULL));
}
