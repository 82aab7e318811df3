/* An integer shared by all processes. Mirrors SharedCount and SharedCountReader. All functions are
 * thread-safe. */
#ifndef CURATOR_SHARED_COUNT_H
#define CURATOR_SHARED_COUNT_H

#include <curator/types.h>
#include <curator/visibility.h>

#include <gio/gio.h>

G_BEGIN_DECLS

/** Called with the value of each write, also if it is the same value, and once after each
 *  reconnect. Writes in quick succession may be reported as one. Runs as a callback; see client.h.
 *  Mirrors SharedCountListener.countHasChanged. */
typedef void (*CuratorSharedCountListener) (CuratorSharedCount *count, gint32 value,
                                            gpointer user_data);

/** Creates a count. Sends no request before start. Mirrors SharedCount(CuratorFramework, String,
 *  int).
 *  @param path  absolute path of the node whose payload is the number: 4 bytes, big-endian
 *  @param seed  the value until start, and of the node if start creates it
 *  @return a new count; NULL with INVALID_ARGUMENT */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorSharedCount *curator_shared_count_new (CuratorClient *client, const char *path, gint32 seed,
                                              GError **error);

/** The path that the constructor was given. Owned by the count. No Java counterpart. */
CURATOR_API
const char *curator_shared_count_get_path (const CuratorSharedCount *count);

/** The client that the constructor was given. Borrowed: valid as long as the count. No Java
 *  counterpart. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorClient *curator_shared_count_get_client (const CuratorSharedCount *count);

/** Creates the node if it does not exist, reads it and follows its changes from then on: in each
 *  session, and also when it is deleted and made anew. May be called again, for example to make a
 *  node that was deleted. Mirrors SharedCount.start.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return FALSE with NO_ANSWER or CONNECTION_LOST if no server answered in time,
 *          G_IO_ERROR_CANCELLED ... */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_shared_count_start (CuratorSharedCount *count, gint64 timeout_ms,
                                     GCancellable *cancellable, GError **error);

/** The last known value, which may be out of date, and is kept while there is no node. Sends no request. Mirrors
 *  SharedCount.getCount. */
CURATOR_API
gint32 curator_shared_count_get (const CuratorSharedCount *count);

/** The last known value and its version, for curator_shared_count_try_set(). Mirrors
 *  SharedCount.getVersionedValue.
 *  @param value    out, may be NULL
 *  @param version  out, may be NULL: version of the node's payload. That of a node that was made
 *                  anew is higher than those before, for this count only
 *  @return FALSE, setting nothing, if the node was never read, as before start */
CURATOR_API
gboolean curator_shared_count_get_versioned (const CuratorSharedCount *count, gint32 *value,
                                             gint32 *version);

/** Sets the value unconditionally. Mirrors SharedCount.setCount.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return FALSE with NOT_STARTED, before start and after close; NO_ANSWER or CONNECTION_LOST if no
 *          server answered in time: the value may or may not be set */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_shared_count_set (CuratorSharedCount *count, gint32 value, gint64 timeout_ms,
                                   GCancellable *cancellable, GError **error);

/** Sets the value if its version still is @p version. Mirrors
 *  SharedCount.trySetCount(VersionedValue, int).
 *  @param version  from curator_shared_count_get_versioned() of this count; -1 is INVALID_ARGUMENT
 *                  (in Java it sets the value unconditionally)
 *  @param set      out, may be NULL: FALSE if another client changed the value first, or made the
 *                  node anew, as far as this client has heard; the call has then read the newer
 *                  value
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return FALSE with NOT_STARTED, before start and after close; NO_ANSWER or CONNECTION_LOST if no
 *          server answered in time: the value may or may not be set */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_shared_count_try_set (CuratorSharedCount *count, gint32 version, gint32 value,
                                       gboolean *set, gint64 timeout_ms, GCancellable *cancellable,
                                       GError **error);

/** Adds a listener. Mirrors SharedCount.addListener.
 *  @param destroy  frees @p user_data once no call can follow; may be NULL
 *  @return an id, never 0, for curator_shared_count_remove_listener() */
CURATOR_API
guint curator_shared_count_add_listener (CuratorSharedCount *count,
                                         CuratorSharedCountListener listener, gpointer user_data,
                                         GDestroyNotify destroy);

/** Removes a listener. A call may still be running on another thread; no later one follows. An
 *  unknown id is ignored. Mirrors SharedCount.removeListener. */
CURATOR_API
void curator_shared_count_remove_listener (CuratorSharedCount *count, guint id);

/** Stops following the node, without deleting it. Idempotent. Mirrors SharedCount.close. */
CURATOR_API
void curator_shared_count_close (CuratorSharedCount *count);

/** Adds a reference and returns @p count. */
CURATOR_API
CuratorSharedCount *curator_shared_count_ref (CuratorSharedCount *count);

/** Drops a reference; dropping the last one closes and frees the count. */
CURATOR_API
void curator_shared_count_unref (CuratorSharedCount *count);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorSharedCount, curator_shared_count_unref)

G_END_DECLS

#endif
