/* Results that must not be dropped, each dropped; with -DCORRECT, each used. check_misuses compiles
 * both. */
#include <curator/curator.h>
#include <curator/lock_internals.h>
#include <curator/testing.h>
#include <curator/zookeeper.h>

#ifdef CORRECT
#define MISUSE(call)                                                                               \
  if (call)                                                                                        \
  g_print ("used\n")
#else
#define MISUSE(call) call
#endif

void
misuse (CuratorClient *client, CuratorTls *tls, CuratorLock *lock, CuratorLease *lease,
        CuratorSemaphore *semaphore, CuratorSharedCount *count, CuratorLeaderLatch *latch,
        CuratorRwLock *pair, CuratorInspection *inspection, zoo_op_t *op, GError **error)
{
  const CuratorParticipant *first = curator_inspection_get_participant (inspection, 0);
  gboolean set;

  MISUSE (curator_client_new ("localhost", NULL));
  MISUSE (curator_retry_policy_new_one_time (100));
  MISUSE (curator_client_set_namespace (client, "space", error));
  MISUSE (curator_tls_set_ca_file (tls, "ca.pem", error));
  MISUSE (curator_client_set_tls (client, tls, error));
  MISUSE (curator_client_start (client, NULL));
  MISUSE (curator_client_block_until_connected (client, 0, NULL, NULL));
  MISUSE (curator_client_update_servers (client, "localhost", error));
  MISUSE (curator_client_format_metrics (client));
  MISUSE (curator_client_dup_connection_error (client));
  MISUSE (curator_mutex_new (client, "/lock", NULL));
  MISUSE (curator_rw_lock_new (client, "/lock", NULL, 0, NULL));
  MISUSE (curator_lease_get_cancellable (lease));
  MISUSE (curator_multi_lock_new (&lock, 1));
  MISUSE (curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, error));
  MISUSE (curator_lock_acquire (lock, 0, NULL, NULL));
  MISUSE (curator_lock_acquire_lease (lock, 0, NULL, NULL));
  MISUSE (curator_lock_dup_lease (lock));
  MISUSE (curator_lease_extend (lease, 1000, error));
  MISUSE (curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, error));
  MISUSE (curator_lock_make_revocable (lock, NULL, NULL, NULL, error));
  MISUSE (curator_client_attempt_revoke (client, "/lock/node", CURATOR_WAIT_DEFAULT, NULL, error));
  MISUSE (curator_semaphore_acquire (semaphore, 0, NULL, error));
  MISUSE (curator_semaphore_acquire_n (semaphore, 2, 0, NULL, error));
  MISUSE (curator_shared_count_set (count, 1, CURATOR_WAIT_DEFAULT, NULL, error));
  MISUSE (curator_shared_count_try_set (count, 1, 1, &set, CURATOR_WAIT_DEFAULT, NULL, error));
  MISUSE (curator_leader_latch_start (latch, error));
  MISUSE (curator_leader_latch_await (latch, 0, NULL, NULL));
  MISUSE (curator_leader_latch_dup_lease (latch));
  MISUSE (curator_test_server_new (error));
  /* They lock nothing. */
  MISUSE (curator_rw_lock_get_read_lock (pair));
  MISUSE (curator_rw_lock_get_write_lock (pair));
  MISUSE (curator_client_inspect (client, "/lock", CURATOR_WAIT_DEFAULT, NULL, error));
  MISUSE (curator_client_find_locks (client, "/", 0, NULL, CURATOR_WAIT_DEFAULT, NULL, error));
  MISUSE (curator_client_delete_ownerless (client, first, CURATOR_WAIT_DEFAULT, NULL, error));
  MISUSE (curator_lease_init_check_op (lease, op, error));
}
