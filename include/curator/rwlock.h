/* Many readers or one writer, in order of arrival. Mirrors InterProcessReadWriteLock.
 *
 * Both sides are re-entrant. A thread that holds the write lock can downgrade: it acquires the read
 * lock at once and keeps it when it releases the write lock, so that no other writer comes between.
 * A thread that holds the read lock cannot upgrade: acquiring the write lock fails at once with
 * UNSUPPORTED, because the thread would wait for its own read hold (Java waits). Leases belong to
 * no thread, so they neither downgrade nor upgrade. A reader that comes after a waiting writer
 * waits for that writer.
 */
#ifndef CURATOR_RWLOCK_H
#define CURATOR_RWLOCK_H

#include <curator/lock.h>
#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Creates both locks. Sends no request. Mirrors
 *  InterProcessReadWriteLock(CuratorFramework, String, byte[]).
 *  @param path    absolute; must not contain "__READ__" or "__WRIT__"
 *  @param data    payload of the lock nodes, copied; NULL for the client's default data
 *  @param length  bytes at @p data, at most 4096; 0 for NULL
 *  @return a new pair; NULL with INVALID_ARGUMENT or LIMIT_EXCEEDED */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorRwLock *curator_rw_lock_new (CuratorClient *client, const char *path, const void *data,
                                    gsize length, GError **error);

/** The read lock. Borrowed; a reference to it keeps the pair alive. Its participants are the
 *  readers only. Mirrors InterProcessReadWriteLock.readLock. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLock *curator_rw_lock_get_read_lock (CuratorRwLock *rw_lock);

/** The write lock. Borrowed; a reference to it keeps the pair alive. Its participants are the
 *  writers only. Mirrors InterProcessReadWriteLock.writeLock. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLock *curator_rw_lock_get_write_lock (CuratorRwLock *rw_lock);

/** Adds a reference and returns @p rw_lock. */
CURATOR_API
CuratorRwLock *curator_rw_lock_ref (CuratorRwLock *rw_lock);

/** Drops a reference. The pair is freed with its last reference, those to its locks included. */
CURATOR_API
void curator_rw_lock_unref (CuratorRwLock *rw_lock);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorRwLock, curator_rw_lock_unref)

G_END_DECLS

#endif
