// SPDX-License-Identifier: Apache-2.0
// Changes a program in C from 0.2 to 0.3; ../upgrading.md has the command and what is left to you.

@@ expression client, path, error; @@
- curator_attempt_revoke (client, path, error)
+ curator_attempt_revoke (client, path, 0, NULL, error)

@@ expression list arguments; @@
- curator_attempt_revoke_full (arguments)
+ curator_attempt_revoke (arguments)

@@ expression client, participant, error; @@
- curator_delete_ownerless (client, participant, error)
+ curator_delete_ownerless (client, participant, 0, NULL, error)

@@ expression client, path, max_nodes, complete, error; @@
- curator_find_locks (client, path, max_nodes, complete, error)
+ curator_find_locks (client, path, max_nodes, complete, 0, NULL, error)

@@ expression list arguments; @@
- curator_find_locks_full (arguments)
+ curator_find_locks (arguments)

@@ expression client, path, error; @@
- curator_inspect (client, path, error)
+ curator_inspect (client, path, 0, NULL, error)

@@ expression list arguments; @@
- curator_inspect_full (arguments)
+ curator_inspect (arguments)

@@ expression client, path, previous, complete, error; @@
- curator_inspect_all (client, path, previous, complete, error)
+ curator_inspect_all (client, path, previous, complete, 0, NULL, error)

@@ expression latch, error; @@
- curator_leader_latch_get_leader (latch, error)
+ curator_leader_latch_get_leader (latch, 0, NULL, error)

@@ expression list arguments; @@
- curator_leader_latch_get_leader_full (arguments)
+ curator_leader_latch_get_leader (arguments)

@@ expression latch, error; @@
- curator_leader_latch_get_participants (latch, error)
+ curator_leader_latch_get_participants (latch, 0, NULL, error)

@@ expression list arguments; @@
- curator_leader_latch_get_participants_full (arguments)
+ curator_leader_latch_get_participants (arguments)

@@ expression selector, error; @@
- curator_leader_selector_get_leader (selector, error)
+ curator_leader_selector_get_leader (selector, 0, NULL, error)

@@ expression list arguments; @@
- curator_leader_selector_get_leader_full (arguments)
+ curator_leader_selector_get_leader (arguments)

@@ expression selector, error; @@
- curator_leader_selector_get_participants (selector, error)
+ curator_leader_selector_get_participants (selector, 0, NULL, error)

@@ expression list arguments; @@
- curator_leader_selector_get_participants_full (arguments)
+ curator_leader_selector_get_participants (arguments)

@@ expression lease, error; @@
- curator_lease_get_data (lease, error)
+ curator_lease_get_data (lease, 0, NULL, error)

@@ expression list arguments; @@
- curator_lease_get_data_full (arguments)
+ curator_lease_get_data (arguments)

@@ expression lease, error; @@
- curator_lease_release (lease, error)
+ curator_lease_release (lease, 0, NULL, error)

@@ expression lock, error; @@
- curator_lock_get_participant_nodes (lock, error)
+ curator_lock_get_participant_nodes (lock, 0, NULL, error)

@@ expression list arguments; @@
- curator_lock_get_participant_nodes_full (arguments)
+ curator_lock_get_participant_nodes (arguments)

@@ expression lock, error; @@
- curator_lock_release (lock, error)
+ curator_lock_release (lock, 0, NULL, error)

@@ expression semaphore, error; @@
- curator_semaphore_get_participant_nodes (semaphore, error)
+ curator_semaphore_get_participant_nodes (semaphore, 0, NULL, error)

@@ expression list arguments; @@
- curator_semaphore_get_participant_nodes_full (arguments)
+ curator_semaphore_get_participant_nodes (arguments)

@@ expression count, value, error; @@
- curator_shared_count_set (count, value, error)
+ curator_shared_count_set (count, value, 0, NULL, error)

@@ expression list arguments; @@
- curator_shared_count_set_full (arguments)
+ curator_shared_count_set (arguments)

@@ expression count, error; @@
- curator_shared_count_start (count, error)
+ curator_shared_count_start (count, 0, NULL, error)

@@ expression list arguments; @@
- curator_shared_count_start_full (arguments)
+ curator_shared_count_start (arguments)

@@ expression count, version, value, set, error; @@
- curator_shared_count_try_set (count, version, value, set, error)
+ curator_shared_count_try_set (count, version, value, set, 0, NULL, error)

@@ expression list arguments; @@
- curator_shared_count_try_set_full (arguments)
+ curator_shared_count_try_set (arguments)

@@ expression semaphore, leases; @@
- curator_semaphore_return_all (semaphore, leases)
+ curator_semaphore_return_all (semaphore, leases, 0, NULL, NULL)

@@ typedef CuratorSemaphoreCallback, CuratorSemaphoreAcquireCallback; @@
- CuratorSemaphoreCallback
+ CuratorSemaphoreAcquireCallback

@policy@ identifier allow; expression user_data, destroy; @@
curator_retry_policy_new_custom (allow, user_data, destroy)

@@ identifier policy.allow, retry_count, elapsed_ms, sleep_ms, data; typedef guint, gint64, gpointer; @@
allow (
-  int retry_count
+  guint retry_count
   , gint64 elapsed_ms, gint64 *sleep_ms, gpointer data)
{ ... }

@@ identifier decide, driver, children, n_children, own, max_leases, results, data;
   typedef CuratorLockDriver, CuratorPredicateResults, gsize, guint, gpointer; @@
decide (CuratorLockDriver *driver, const char *const *children, gsize n_children, const char *own,
-  int max_leases
+  guint max_leases
   , CuratorPredicateResults *results, gpointer data)
{ ... }

@drivers@ @@
(
curator_lock_driver_new (...)
|
curator_mutex_new_with_driver (...)
)

@depends on drivers@ @@
#include <curator/curator.h>
+ #include <curator/lock_internals.h>
