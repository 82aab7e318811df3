/* An integer that all processes see and may change. Mirrors SharedCount and SharedCountReader. */
#ifndef CURATOR_SHARED_COUNT_H
#define CURATOR_SHARED_COUNT_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Told each new value that was seen; values that follow quickly may be skipped. Runs where
 *  callbacks run; see client.h. Mirrors SharedCountListener.countHasChanged. */
typedef void (*CuratorSharedCountListener) (CuratorSharedCount *count, gint32 value,
                                            gpointer user_data);

/** Makes a count; nothing is sent before start. Mirrors SharedCount(CuratorFramework, String, int).
 *  @param path  absolute path of the node that holds the number: 4 bytes, big-endian
 *  @param seed  the value if the node does not exist yet, and until start
 *  @return a new count; NULL with INVALID_ARGUMENT */
CURATOR_API
CuratorSharedCount *curator_shared_count_new (CuratorClient *client, const char *path, gint32 seed,
                                              GError **error);

/** Creates the node if need be, reads it and follows its changes from then on. Waits for the
 *  server. Mirrors SharedCount.start. */
CURATOR_API
gboolean curator_shared_count_start (CuratorSharedCount *count, GError **error);

/** The value seen last; asks nobody, so it may be out of date. Mirrors SharedCount.getCount. */
CURATOR_API
gint32 curator_shared_count_get (CuratorSharedCount *count);

/** Value and version seen last, for curator_shared_count_try_set(). Mirrors
 *  SharedCount.getVersionedValue.
 *  @param value    out, may be NULL
 *  @param version  out, may be NULL: version of the node's data
 *  @return FALSE, touching nothing, if the node was never read: there is no version before start */
CURATOR_API
gboolean curator_shared_count_get_versioned (CuratorSharedCount *count, gint32 *value,
                                             gint32 *version);

/** Sets the value, whatever it was. Waits for the server. Mirrors SharedCount.setCount. */
CURATOR_API
gboolean curator_shared_count_set (CuratorSharedCount *count, gint32 value, GError **error);

/** Sets the value if it still is the one of @p version. Waits for the server. Mirrors
 *  SharedCount.trySetCount(VersionedValue, int).
 *  @param version  from curator_shared_count_get_versioned()
 *  @param set      out, may be NULL: FALSE if somebody else was first; the newer value is then read
 *                  before this returns
 *  @return FALSE if the server could not be asked, or the answer was lost */
CURATOR_API
gboolean curator_shared_count_try_set (CuratorSharedCount *count, gint32 version, gint32 value,
                                       gboolean *set, GError **error);

/** Adds a listener. Mirrors SharedCount.addListener.
 *  @param destroy  frees @p user_data when the listener can be called no more; may be NULL
 *  @return an id, never 0 */
CURATOR_API
guint curator_shared_count_add_listener (CuratorSharedCount *count,
                                         CuratorSharedCountListener listener, gpointer user_data,
                                         GDestroyNotify destroy);

/** Removes a listener. One call may still be under way. An unknown id is ignored. Mirrors
 *  SharedCount.removeListener. */
CURATOR_API
void curator_shared_count_remove_listener (CuratorSharedCount *count, guint id);

/** Stops following the node, which stays. Idempotent. Mirrors SharedCount.close. */
CURATOR_API
void curator_shared_count_close (CuratorSharedCount *count);

/** Adds a reference and returns @p count. */
CURATOR_API
CuratorSharedCount *curator_shared_count_ref (CuratorSharedCount *count);

/** Drops a reference; the last one closes and frees. */
CURATOR_API
void curator_shared_count_unref (CuratorSharedCount *count);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorSharedCount, curator_shared_count_unref)

G_END_DECLS

#endif
