// SPDX-License-Identifier: Apache-2.0
// Changes a program in C from 0.2 to 1.0; ../upgrading.md has the command and what is left to you.

// How long: 0 was the connection timeout here, and what had no timeout waited as long.
@@ expression list before; expression cancellable, error;
   identifier function = {
     curator_attempt_revoke_full, curator_find_locks_full, curator_inspect_full,
     curator_leader_latch_get_leader_full, curator_leader_latch_get_participants_full,
     curator_leader_selector_get_leader_full, curator_leader_selector_get_participants_full,
     curator_lease_get_data_full, curator_lock_get_participant_nodes_full,
     curator_semaphore_get_participant_nodes_full, curator_shared_count_set_full,
     curator_shared_count_start_full, curator_shared_count_try_set_full }; @@
function (before,
- 0
+ CURATOR_WAIT_DEFAULT
  , cancellable, error)

@@ expression list[1] before; expression error;
   identifier function = {
     curator_leader_latch_get_leader, curator_leader_latch_get_participants,
     curator_leader_selector_get_leader, curator_leader_selector_get_participants,
     curator_lease_get_data, curator_lease_release, curator_lock_get_participant_nodes,
     curator_lock_release, curator_semaphore_get_participant_nodes, curator_shared_count_start }; @@
function (before,
- error
+ CURATOR_WAIT_DEFAULT, NULL, error
  )

@@ expression list[2] before; expression error;
   identifier function = { curator_attempt_revoke, curator_delete_ownerless, curator_inspect,
                           curator_shared_count_set }; @@
function (before,
- error
+ CURATOR_WAIT_DEFAULT, NULL, error
  )

@@ expression list[4] before; expression error;
   identifier function = { curator_find_locks, curator_inspect_all, curator_shared_count_try_set }; @@
function (before,
- error
+ CURATOR_WAIT_DEFAULT, NULL, error
  )

@@ expression semaphore, leases; @@
curator_semaphore_return_all (semaphore, leases
+ , CURATOR_WAIT_DEFAULT, NULL, NULL
  )

@@ expression object, callback, data;
   identifier function = { curator_lease_release_async, curator_lock_release_async }; @@
function (object,
- callback
+ CURATOR_WAIT_DEFAULT, NULL, callback
  , data)

// Names.
@@ symbol CURATOR_CREATE_EPHEMERAL, CURATOR_CREATE_EPHEMERAL_SEQUENTIAL, CURATOR_CREATE_PERSISTENT,
   CURATOR_CREATE_PERSISTENT_SEQUENTIAL, CURATOR_LEADER_LATCH_NOTIFY_LEADER,
   CURATOR_LEADER_LATCH_SILENT, CURATOR_LEASE_HELD, CURATOR_LEASE_LOST, CURATOR_LEASE_RELEASED,
   CURATOR_LEASE_SUSPECT, CURATOR_PARTICIPANT_LATCH, CURATOR_PARTICIPANT_LEASE,
   CURATOR_PARTICIPANT_MUTEX, CURATOR_PARTICIPANT_OTHER, CURATOR_PARTICIPANT_READ,
   CURATOR_PARTICIPANT_TURN, CURATOR_PARTICIPANT_WRITE, CURATOR_STATE_CONNECTED, CURATOR_STATE_LOST,
   CURATOR_STATE_READ_ONLY, CURATOR_STATE_RECONNECTED, CURATOR_STATE_SUSPENDED,
   CURATOR_TRACE_FAILED, CURATOR_TRACE_GRANTED, CURATOR_TRACE_HEARTBEAT, CURATOR_TRACE_LOST,
   CURATOR_TRACE_RELEASED, curator_attempt_revoke, curator_attempt_revoke_full,
   curator_client_get_session_timeout, curator_delete_ownerless, curator_find_locks,
   curator_find_locks_full, curator_inspect, curator_inspect_all, curator_inspect_full,
   curator_leader_latch_get_leader_full, curator_leader_latch_get_participants_full,
   curator_leader_selector_get_leader_full, curator_leader_selector_get_participants_full,
   curator_lease_get_data_full, curator_lease_release_async, curator_lock_acquire_async,
   curator_lock_get_participant_nodes_full, curator_lock_release_async, curator_rw_lock_read_lock,
   curator_rw_lock_write_lock, curator_semaphore_acquire_async,
   curator_semaphore_get_participant_nodes_full, curator_shared_count_set_full,
   curator_shared_count_start_full, curator_shared_count_try_set_full; @@
(
- curator_attempt_revoke
+ curator_client_attempt_revoke
|
- curator_attempt_revoke_full
+ curator_client_attempt_revoke
|
- curator_delete_ownerless
+ curator_client_delete_ownerless
|
- curator_find_locks
+ curator_client_find_locks
|
- curator_find_locks_full
+ curator_client_find_locks
|
- curator_inspect
+ curator_client_inspect
|
- curator_inspect_full
+ curator_client_inspect
|
- curator_inspect_all
+ curator_client_inspect_all
|
- curator_client_get_session_timeout
+ curator_client_get_session_timeout_ms
|
- curator_leader_latch_get_leader_full
+ curator_leader_latch_get_leader
|
- curator_leader_latch_get_participants_full
+ curator_leader_latch_get_participants
|
- curator_leader_selector_get_leader_full
+ curator_leader_selector_get_leader
|
- curator_leader_selector_get_participants_full
+ curator_leader_selector_get_participants
|
- curator_lease_get_data_full
+ curator_lease_get_data
|
- curator_lease_release_async
+ curator_lease_release_then
|
- curator_lock_acquire_async
+ curator_lock_acquire_then
|
- curator_lock_get_participant_nodes_full
+ curator_lock_get_participant_nodes
|
- curator_lock_release_async
+ curator_lock_release_then
|
- curator_rw_lock_read_lock
+ curator_rw_lock_get_read_lock
|
- curator_rw_lock_write_lock
+ curator_rw_lock_get_write_lock
|
- curator_semaphore_acquire_async
+ curator_semaphore_acquire_n_then
|
- curator_semaphore_get_participant_nodes_full
+ curator_semaphore_get_participant_nodes
|
- curator_shared_count_set_full
+ curator_shared_count_set
|
- curator_shared_count_start_full
+ curator_shared_count_start
|
- curator_shared_count_try_set_full
+ curator_shared_count_try_set
|
- CURATOR_CREATE_EPHEMERAL
+ CURATOR_CREATE_MODE_EPHEMERAL
|
- CURATOR_CREATE_EPHEMERAL_SEQUENTIAL
+ CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL
|
- CURATOR_CREATE_PERSISTENT
+ CURATOR_CREATE_MODE_PERSISTENT
|
- CURATOR_CREATE_PERSISTENT_SEQUENTIAL
+ CURATOR_CREATE_MODE_PERSISTENT_SEQUENTIAL
|
- CURATOR_LEADER_LATCH_NOTIFY_LEADER
+ CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER
|
- CURATOR_LEADER_LATCH_SILENT
+ CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT
|
- CURATOR_LEASE_HELD
+ CURATOR_LEASE_STATE_HELD
|
- CURATOR_LEASE_LOST
+ CURATOR_LEASE_STATE_LOST
|
- CURATOR_LEASE_RELEASED
+ CURATOR_LEASE_STATE_RELEASED
|
- CURATOR_LEASE_SUSPECT
+ CURATOR_LEASE_STATE_SUSPECT
|
- CURATOR_PARTICIPANT_LATCH
+ CURATOR_PARTICIPANT_KIND_LATCH
|
- CURATOR_PARTICIPANT_LEASE
+ CURATOR_PARTICIPANT_KIND_LEASE
|
- CURATOR_PARTICIPANT_MUTEX
+ CURATOR_PARTICIPANT_KIND_MUTEX
|
- CURATOR_PARTICIPANT_OTHER
+ CURATOR_PARTICIPANT_KIND_OTHER
|
- CURATOR_PARTICIPANT_READ
+ CURATOR_PARTICIPANT_KIND_READ
|
- CURATOR_PARTICIPANT_TURN
+ CURATOR_PARTICIPANT_KIND_TURN
|
- CURATOR_PARTICIPANT_WRITE
+ CURATOR_PARTICIPANT_KIND_WRITE
|
- CURATOR_STATE_CONNECTED
+ CURATOR_CONNECTION_STATE_CONNECTED
|
- CURATOR_STATE_LOST
+ CURATOR_CONNECTION_STATE_LOST
|
- CURATOR_STATE_READ_ONLY
+ CURATOR_CONNECTION_STATE_READ_ONLY
|
- CURATOR_STATE_RECONNECTED
+ CURATOR_CONNECTION_STATE_RECONNECTED
|
- CURATOR_STATE_SUSPENDED
+ CURATOR_CONNECTION_STATE_SUSPENDED
|
- CURATOR_TRACE_FAILED
+ CURATOR_TRACE_KIND_FAILED
|
- CURATOR_TRACE_GRANTED
+ CURATOR_TRACE_KIND_GRANTED
|
- CURATOR_TRACE_HEARTBEAT
+ CURATOR_TRACE_KIND_HEARTBEAT
|
- CURATOR_TRACE_LOST
+ CURATOR_TRACE_KIND_LOST
|
- CURATOR_TRACE_RELEASED
+ CURATOR_TRACE_KIND_RELEASED
)

@@ typedef CuratorAcquireCallback, CuratorLockAcquireCallback; @@
- CuratorAcquireCallback
+ CuratorLockAcquireCallback

@@ typedef CuratorReleaseCallback, CuratorLockReleaseCallback; @@
- CuratorReleaseCallback
+ CuratorLockReleaseCallback

@@ typedef CuratorSemaphoreCallback, CuratorSemaphoreAcquireNCallback; @@
- CuratorSemaphoreCallback
+ CuratorSemaphoreAcquireNCallback

// A borrowed lease has an owner now, which gives it back at the end of its block.
@@ expression lock; @@
- curator_lease_ref (curator_lock_get_lease (lock))
+ curator_lock_dup_lease (lock)

@@ typedef CuratorLease; type T; identifier value, getter =~ "^curator_lease_get_"; expression lock;
   fresh identifier lease = value ## "_lease"; @@
+ CuratorLease *lease = curator_lock_get_lease (lock);
  T value = getter (
- curator_lock_get_lease (lock)
+ lease
  );

@@ identifier lease; expression lock, other;
   fresh identifier owner = "g_autoptr (CuratorLease) " ## lease; @@
- CuratorLease *lease = curator_lock_get_lease (lock);
+ owner = curator_lock_dup_lease (lock);
  ... when != return lease;
      when != other = lease

@@ expression function, lock; symbol owned_lease;
   fresh identifier owner = "g_autoptr (CuratorLease) " ## "owned_lease"; @@
+ owner = curator_lock_dup_lease (lock);
  function (..., <+...
- curator_lock_get_lease (lock)
+ owned_lease
  ...+>, ...);

// Numbers.
@policy@ identifier allow; expression user_data, destroy; @@
curator_retry_policy_new_custom (allow, user_data, destroy)

@@ identifier policy.allow, retry_count, elapsed_ms, sleep_ms, data;
   typedef guint, gint64, gpointer, GError; @@
allow (
-  int retry_count
+  guint retry_count
   , gint64 elapsed_ms,
-  gint64 *sleep_ms
+  const GError *error, gint64 *sleep_ms
   , gpointer data)
{ ... }

@@ expression asked, retry_count, elapsed_ms, sleep_ms; @@
curator_retry_policy_allow_retry (asked, retry_count, elapsed_ms,
+ NULL,
  sleep_ms)

@@ identifier decide, driver, children, n_children, own, max_leases, results, data;
   typedef CuratorLockDriver, CuratorPredicateResults, gsize, guint, gpointer; @@
decide (CuratorLockDriver *driver, const char *const *children, gsize n_children, const char *own,
-  int max_leases
+  guint max_leases
   , CuratorPredicateResults *results, gpointer data)
{ ... }

// Headers that curator.h does not include any more.
@drivers@ identifier function =~ "^curator_(lock_driver|mutex_new_with_driver|node_request)"; @@
function (...)

@depends on drivers@ @@
#include <curator/curator.h>
+ #include <curator/lock_internals.h>

@zookeeper@ @@
#include <curator/zookeeper.h>

@acl depends on !zookeeper@ @@
curator_client_set_acl (...)

@depends on acl@ @@
#include <curator/curator.h>
+ #include <curator/zookeeper.h>
