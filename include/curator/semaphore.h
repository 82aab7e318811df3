/* A semaphore: a number of leases among all processes, handed out in order of arrival.
 *
 * Mirrors InterProcessSemaphoreV2. A lease belongs to no thread: release it with
 * curator_lease_release(), curator_semaphore_return_all() or the last unref. All processes must use
 * the same number of leases, or follow one shared count. Lowering the number revokes no lease.
 * All functions are thread-safe.
 */
#ifndef CURATOR_SEMAPHORE_H
#define CURATOR_SEMAPHORE_H

#include <curator/lease.h>
#include <curator/shared_count.h>
#include <curator/types.h>
#include <curator/visibility.h>

#include <gio/gio.h>

G_BEGIN_DECLS

/** Receives the result of curator_semaphore_acquire_n_then(), once. Runs as a callback; see
 *  client.h.
 *  @param leases  transfer full, of #CuratorLease, with curator_lease_unref() as free function;
 *                 NULL on error
 *  @param error   NULL on success; borrowed */
typedef void (*CuratorSemaphoreAcquireNCallback) (CuratorSemaphore *semaphore, GPtrArray *leases,
                                                  const GError *error, gpointer user_data);

/** Receives the result of curator_semaphore_acquire_then(), once. Runs as a callback; see
 *  client.h.
 *  @param lease  transfer full; NULL on error
 *  @param error  NULL on success; borrowed */
typedef void (*CuratorSemaphoreAcquireCallback) (CuratorSemaphore *semaphore, CuratorLease *lease,
                                                 const GError *error, gpointer user_data);

/** Receives the result of curator_semaphore_return_all_then(), once. Runs as a callback; see
 *  client.h.
 *  @param error  NULL if the server has confirmed, else why it has not; borrowed */
typedef void (*CuratorSemaphoreReturnCallback) (CuratorSemaphore *semaphore, const GError *error,
                                                gpointer user_data);

/** Called when another client asks for a lease back. Runs as a callback; see client.h.
 *  @param lease  borrowed */
typedef void (*CuratorSemaphoreRevocationListener) (CuratorSemaphore *semaphore,
                                                    CuratorLease *lease, gpointer user_data);

/** Creates a semaphore. Sends no request. Mirrors
 *  InterProcessSemaphoreV2(CuratorFramework, String, int).
 *  @param path        absolute; acquiring creates its children "locks" and "leases" as needed
 *  @param max_leases  1 to 2147483647
 *  @return a new semaphore; NULL with INVALID_ARGUMENT */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorSemaphore *curator_semaphore_new (CuratorClient *client, const char *path, guint max_leases,
                                         GError **error);

/** Creates a semaphore whose number of leases follows @p count. Mirrors
 *  InterProcessSemaphoreV2(CuratorFramework, String, SharedCountReader).
 *  @param count  the caller starts it; the semaphore takes its own reference. No lease is granted
 *                while it is not positive
 *  @return a new semaphore; NULL with INVALID_ARGUMENT */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorSemaphore *curator_semaphore_new_with_shared_count (CuratorClient *client, const char *path,
                                                           CuratorSharedCount *count,
                                                           GError **error);

/** The path that the constructor was given. Owned by the semaphore. No Java counterpart. */
CURATOR_API
const char *curator_semaphore_get_path (const CuratorSemaphore *semaphore);

/** The client that the constructor was given. Borrowed: valid as long as the semaphore. No Java
 *  counterpart. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorClient *curator_semaphore_get_client (const CuratorSemaphore *semaphore);

/** The number of leases, or the last known value of the shared count; 0 while that is negative. */
CURATOR_API
guint curator_semaphore_get_max_leases (const CuratorSemaphore *semaphore);

/** Sets the payload of the nodes of later leases; copied. NULL for the client's default data. With
 *  more than 4096 bytes, acquires fail with LIMIT_EXCEEDED. Mirrors
 *  InterProcessSemaphoreV2.setNodeData. */
CURATOR_API
void curator_semaphore_set_node_data (CuratorSemaphore *semaphore, const void *data, gsize length);

/** Acquires one lease. Timeout, cancellation and errors are those of curator_lock_acquire().
 *  Mirrors InterProcessSemaphoreV2.acquire() and acquire(long, TimeUnit).
 *  @return a new lease, to be released and unreffed; NULL with an error */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLease *curator_semaphore_acquire (CuratorSemaphore *semaphore, gint64 timeout_ms,
                                         GCancellable *cancellable, GError **error);

/** Acquires @p n leases or none, within one timeout. Mirrors acquire(int) and
 *  acquire(int, long, TimeUnit).
 *  @param n  at least 1, at most 2147483647 and, unless the semaphore follows a shared count, at
 *            most the number of leases, else INVALID_ARGUMENT (Java waits forever). With a shared
 *            count, a larger number waits until the count has grown
 *  @return a new array of leases with curator_lease_unref() as free function: g_ptr_array_unref()
 *          releases them all in the background. NULL with an error */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
GPtrArray *curator_semaphore_acquire_n (CuratorSemaphore *semaphore, guint n, gint64 timeout_ms,
                                        GCancellable *cancellable, GError **error);

/** Like curator_semaphore_acquire_n(), but returns at once. The callback runs exactly once, never
 *  inside this call, also when the client is closed. No Java counterpart. */
CURATOR_API
void curator_semaphore_acquire_n_then (CuratorSemaphore *semaphore, guint n, gint64 timeout_ms,
                                       GCancellable *cancellable,
                                       CuratorSemaphoreAcquireNCallback callback,
                                       gpointer user_data);

/** Like curator_semaphore_acquire(), but returns at once. The callback runs exactly once, never
 *  inside this call, also when the client is closed. No Java counterpart. */
CURATOR_API
void curator_semaphore_acquire_then (CuratorSemaphore *semaphore, gint64 timeout_ms,
                                     GCancellable *cancellable,
                                     CuratorSemaphoreAcquireCallback callback, gpointer user_data);

/** Releases every lease in the array, in order, all at once, and waits for the server. The caller
 *  keeps the array. Mirrors InterProcessSemaphoreV2.returnAll, which ignores failures.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it. It ends the wait, not the releases
 *  @return FALSE with the first failure and the messages of all, as curator_lease_release(): every
 *          lease was released nevertheless */
CURATOR_API
gboolean curator_semaphore_return_all (CuratorSemaphore *semaphore, GPtrArray *leases,
                                       gint64 timeout_ms, GCancellable *cancellable,
                                       GError **error);

/** Like curator_semaphore_return_all(), but returns at once: every hold has ended then. The
 *  callback runs exactly once, never inside this call, also when the client is closed. The caller
 *  keeps the array. No Java counterpart.
 *  @param cancellable  may be NULL; any thread may cancel it. It calls the callback, and the
 *                      releases go on */
CURATOR_API
void curator_semaphore_return_all_then (CuratorSemaphore *semaphore, GPtrArray *leases,
                                        gint64 timeout_ms, GCancellable *cancellable,
                                        CuratorSemaphoreReturnCallback callback,
                                        gpointer user_data);

/** Full paths of the lease nodes, oldest first, including one that is not granted yet. Empty if the
 *  path does not exist (Java throws). Names are untrusted and may hold any byte. Mirrors
 *  InterProcessSemaphoreV2.getParticipantNodes, which returns bare names.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return a NULL-terminated array for g_strfreev(); NULL with NO_ANSWER or CONNECTION_LOST if no
 *          server answered in time, G_IO_ERROR_CANCELLED ... */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
char **curator_semaphore_get_participant_nodes (CuratorSemaphore *semaphore, gint64 timeout_ms,
                                                GCancellable *cancellable, GError **error);

/** Lets other clients ask for a lease back, with curator_client_attempt_revoke() on its node. It
 *  covers leases acquired after this call; their nodes have an empty payload. The listener stays
 *  until replaced, or cleared with NULL. No Java counterpart; Java semaphores ignore such requests.
 *  @param listener  NULL to clear
 *  @param destroy   frees @p user_data once no call can follow; may be NULL
 *  @return FALSE with an error; the caller then keeps ownership of user_data */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_semaphore_make_revocable (CuratorSemaphore *semaphore,
                                           CuratorSemaphoreRevocationListener listener,
                                           gpointer user_data, GDestroyNotify destroy,
                                           GError **error);

/** Adds a reference and returns @p semaphore. */
CURATOR_API
CuratorSemaphore *curator_semaphore_ref (CuratorSemaphore *semaphore);

/** Drops a reference; dropping the last one frees the semaphore. Its leases stay valid. */
CURATOR_API
void curator_semaphore_unref (CuratorSemaphore *semaphore);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorSemaphore, curator_semaphore_unref)

G_END_DECLS

#endif
