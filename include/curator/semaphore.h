/* A semaphore: a number of leases among all processes, handed out in order of arrival.
 *
 * Mirrors InterProcessSemaphoreV2. A lease belongs to no thread: give it back with
 * curator_lease_release(), curator_semaphore_return_all() or the last unref. All processes must
 * agree on the number of leases, or follow one shared count. A lower number takes no lease away.
 * Functions are thread-safe.
 */
#ifndef CURATOR_SEMAPHORE_H
#define CURATOR_SEMAPHORE_H

#include <curator/lease.h>
#include <curator/shared_count.h>
#include <curator/types.h>
#include <curator/visibility.h>

#include <gio/gio.h>

G_BEGIN_DECLS

/** Result of curator_semaphore_acquire_async(), once, where callbacks run; see client.h.
 *  @param leases  transfer full, of #CuratorLease, with curator_lease_unref() as free function;
 *                 NULL on error
 *  @param error   NULL on success; borrowed */
typedef void (*CuratorSemaphoreCallback) (CuratorSemaphore *semaphore, GPtrArray *leases,
                                          const GError *error, gpointer user_data);

/** Told that somebody asks for one lease back, where callbacks run; see client.h. */
typedef void (*CuratorSemaphoreRevocationListener) (CuratorSemaphore *semaphore,
                                                    CuratorLease *lease, gpointer user_data);

/** Makes a semaphore; nothing is sent to the server. Mirrors
 *  InterProcessSemaphoreV2(CuratorFramework, String, int).
 *  @param path        absolute; its children "locks" and "leases" are made as needed
 *  @param max_leases  at least 1
 *  @return a new semaphore; NULL with INVALID_ARGUMENT */
CURATOR_API
CuratorSemaphore *curator_semaphore_new (CuratorClient *client, const char *path, int max_leases,
                                         GError **error);

/** A semaphore whose number of leases is @p count, followed as it changes. Mirrors
 *  InterProcessSemaphoreV2(CuratorFramework, String, SharedCountReader).
 *  @param count  started by you; the semaphore takes a reference of its own. While it is not
 *                positive nobody gets a lease
 *  @return a new semaphore; NULL with INVALID_ARGUMENT */
CURATOR_API
CuratorSemaphore *curator_semaphore_new_with_shared_count (CuratorClient *client, const char *path,
                                                           CuratorSharedCount *count,
                                                           GError **error);

/** The number of leases, or the value of the shared count seen last. */
CURATOR_API
int curator_semaphore_get_max_leases (CuratorSemaphore *semaphore);

/** Payload of leases acquired from now on; copied. NULL for the client's default data. More than
 *  4096 bytes make acquires fail with LIMIT_EXCEEDED. Mirrors
 *  InterProcessSemaphoreV2.setNodeData. */
CURATOR_API
void curator_semaphore_set_node_data (CuratorSemaphore *semaphore, const void *data, gsize length);

/** Acquires one lease. Time-out, cancelling and errors as with curator_lock_acquire(). Mirrors
 *  InterProcessSemaphoreV2.acquire() and acquire(long, TimeUnit).
 *  @return a new lease, to be released and unreffed; NULL with an error */
CURATOR_API
CuratorLease *curator_semaphore_acquire (CuratorSemaphore *semaphore, gint64 timeout_ms,
                                         GCancellable *cancellable, GError **error);

/** Acquires @p n leases or none, within one time-out. Mirrors acquire(int) and
 *  acquire(int, long, TimeUnit).
 *  @param n  at least 1, else INVALID_ARGUMENT; more than there are waits: their number may grow
 *  @return a new array of leases with curator_lease_unref() as free function: g_ptr_array_unref()
 *          releases them all in the background. NULL with an error */
CURATOR_API
GPtrArray *curator_semaphore_acquire_n (CuratorSemaphore *semaphore, int n, gint64 timeout_ms,
                                        GCancellable *cancellable, GError **error);

/** curator_semaphore_acquire_n() without waiting. The callback runs exactly once, never inside this
 *  call, also when the client is closed. */
CURATOR_API
void curator_semaphore_acquire_async (CuratorSemaphore *semaphore, int n, gint64 timeout_ms,
                                      GCancellable *cancellable, CuratorSemaphoreCallback callback,
                                      gpointer user_data);

/** Releases every lease in the array and waits for the server; failures are logged and finished in
 *  the background. The array stays the caller's. Mirrors InterProcessSemaphoreV2.returnAll. */
CURATOR_API
void curator_semaphore_return_all (CuratorSemaphore *semaphore, GPtrArray *leases);

/** Full paths of the lease nodes, oldest first, one that still waits for its turn included. Empty
 *  if the path does not exist (Java throws). What others wrote is untrusted: a name may hold any
 *  byte. Mirrors InterProcessSemaphoreV2.getParticipantNodes, which gives bare names.
 *  @return a NULL-terminated array for g_strfreev(); NULL with an error */
CURATOR_API
char **curator_semaphore_get_participant_nodes (CuratorSemaphore *semaphore, GError **error);

/** Lets others ask for a lease back with curator_attempt_revoke() on its node. Leases acquired
 *  after this call are covered; their nodes have an empty payload. Stays until replaced, or cleared
 *  with NULL. Java semaphores have none of it, and take no notice.
 *  @param listener  NULL to clear
 *  @param destroy   frees @p user_data when the listener can be called no more; may be NULL */
CURATOR_API
gboolean curator_semaphore_make_revocable (CuratorSemaphore *semaphore,
                                           CuratorSemaphoreRevocationListener listener,
                                           gpointer user_data, GDestroyNotify destroy,
                                           GError **error);

/** Adds a reference and returns @p semaphore. */
CURATOR_API
CuratorSemaphore *curator_semaphore_ref (CuratorSemaphore *semaphore);

/** Drops a reference; the last one frees. Leases stay valid without their semaphore. */
CURATOR_API
void curator_semaphore_unref (CuratorSemaphore *semaphore);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorSemaphore, curator_semaphore_unref)

G_END_DECLS

#endif
