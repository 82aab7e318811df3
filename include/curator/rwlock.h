/* Many readers or one writer, in order of arrival. Mirrors InterProcessReadWriteLock.
 *
 * Both sides are re-entrant. A thread that holds the write lock gets the read lock at once, and
 * keeps it when it releases the write lock: so a writer becomes a reader without letting another
 * writer in. The other way round waits for ever, for the reader is in front of itself. A reader
 * that comes after a waiting writer waits for it.
 */
#ifndef CURATOR_RWLOCK_H
#define CURATOR_RWLOCK_H

#include <curator/lock.h>
#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Makes both locks; nothing is sent to the server. Mirrors
 *  InterProcessReadWriteLock(CuratorFramework, String, byte[]).
 *  @param path    absolute, free of "__READ__" and "__WRIT__"
 *  @param data    payload of the lock nodes, copied; NULL for the client's default data
 *  @param length  bytes at @p data, at most 4096
 *  @return a new pair; NULL with INVALID_ARGUMENT or LIMIT_EXCEEDED */
CURATOR_API
CuratorRwLock *curator_rw_lock_new (CuratorClient *client, const char *path, const void *data,
                                    gsize length, GError **error);

/** The lock of the readers. Borrowed; a reference to it keeps the pair alive. Its participants are
 *  the readers only. Mirrors InterProcessReadWriteLock.readLock. */
CURATOR_API
CuratorLock *curator_rw_lock_read_lock (CuratorRwLock *rw_lock);

/** The lock of the writer. Borrowed; a reference to it keeps the pair alive. Its participants are
 *  the writers only. Mirrors InterProcessReadWriteLock.writeLock. */
CURATOR_API
CuratorLock *curator_rw_lock_write_lock (CuratorRwLock *rw_lock);

/** Adds a reference and returns @p rw_lock. */
CURATOR_API
CuratorRwLock *curator_rw_lock_ref (CuratorRwLock *rw_lock);

/** Drops a reference; the last one, those of its two locks included, frees. */
CURATOR_API
void curator_rw_lock_unref (CuratorRwLock *rw_lock);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorRwLock, curator_rw_lock_unref)

G_END_DECLS

#endif
