/* ZooKeeper's own lock recipe for C, zoo_lock.h, over this library: for programs that were written
 * for it.
 *
 * A library of its own, libcurator-zoolock: curator.h does not include this header, and it includes
 * nothing of GLib. Add the folder of this file to the include path, as pkg-config's curator-zoolock
 * does, and #include <zoo_lock.h> finds it. Functions, types and results are those of ZooKeeper's
 * zoo_lock.h. The locks are those of curator_mutex_new(), on the program's own handle and in its
 * session. So
 *
 *   - two mutexes exclude each other even if they share a session;
 *   - zkr_lock_isowner() is 0 once the hold is lost, by the local clock even without a network, and
 *     the completion is then called with 1;
 *   - processes with ZooKeeper's own recipe do not see these locks: restart them all together.
 *
 * Thread-safe, unlike the original's. The members id and ownerid, which ZooKeeper's header shows,
 * are written by other threads: read them with zkr_lock_isowner() and zkr_lock_getid() where you
 * can. Call none of the functions in a watcher or a completion of the handle: no answer can arrive
 * there. A child of fork() must not use its parent's mutexes, nor its parent's handle; it may have
 * its own.
 */
#ifndef CURATOR_COMPAT_ZOO_LOCK_H
#define CURATOR_COMPAT_ZOO_LOCK_H

#include <zookeeper/zookeeper.h>

#ifdef __cplusplus
extern "C"
{
#endif

  /** Called with 0 when the lock has been acquired, and with 1 when it has been lost or is about to
 *  be released: nobody else has it before the function returns. A lock that is lost before the
 *  function could be called with 0 is not told as acquired. Runs on a thread of the library, in
 *  zkr_lock_unlock() or in zkr_lock_close_handle(). In order and one at a time for each mutex:
 *  until it returns, these and zkr_lock_destroy() wait on other threads. Other mutexes do not wait
 *  for it. */
  typedef void (*zkr_lock_completion) (int rc, void *cbdata);

  /** A mutex. Its members are for reading only; a copy stands for the same mutex. */
  struct zkr_lock_mutex
  {
    zhandle_t *zh;
    char *path;
    struct ACL_vector *acl;
    char *id; /**< name of its node while it is held or waited for, as far as known; or NULL */
    void *cbdata;
    zkr_lock_completion completion;
    int isOwner;   /**< use zkr_lock_isowner() */
    char *ownerid; /**< name of the holder's node, as last seen; "" after the hold was lost */
    void *curator; /**< of the library */
  };

  typedef struct zkr_lock_mutex zkr_lock_mutex_t;

  /** Prepares a mutex. Sends no lock request. The library forwards the handle's events to itself: a
 *  program that calls zoo_set_watcher() does so before this.
 *  @param mutex  out
 *  @param zh     a handle of libzookeeper_mt
 *  @param path   absolute; borrowed until zkr_lock_destroy()
 *  @param acl    of the nodes; copied; NULL: open to all
 *  @return ZOK; ZBADARGUMENTS for a bad path; ZSYSTEMERROR */
  int zkr_lock_init (zkr_lock_mutex_t *mutex, zhandle_t *zh, char *path, struct ACL_vector *acl);

  /** The same with a function that is told of changes.
 *  @param completion  may be NULL */
  int zkr_lock_init_cb (zkr_lock_mutex_t *mutex, zhandle_t *zh, char *path, struct ACL_vector *acl,
                        zkr_lock_completion completion, void *cbdata);

  /** Acquires the lock, or joins its queue. Returns when the mutex is held or others are seen in
 *  front, after the session timeout at the latest. zkr_lock_isowner() says which; if it is not held
 *  yet, the completion will be called. On a mutex that is held or waits already it does nothing.
 *  @return ZOK: held or waited for; ZSESSIONEXPIRED, ZAUTHFAILED, ZCLOSING or another error of
 *    ZooKeeper */
  int zkr_lock_lock (zkr_lock_mutex_t *mutex);

  /** The same, and returns zkr_lock_isowner(): what zkr_lock_lock() returned in older versions of
 *  the recipe, from which copies were made. A file that defines ZKR_LOCK_RETURNS_OWNER has this one
 *  as zkr_lock_lock(). */
  int zkr_lock_lock_isowner (zkr_lock_mutex_t *mutex);

  /** Releases the lock, or leaves its queue.
 *  @return ZOK, also if the hold was lost; ZSYSTEMERROR if it was neither held nor waited for;
 *          ZCONNECTIONLOSS: the hold or the wait has ended, and the node is deleted in the
 *          background */
  int zkr_lock_unlock (zkr_lock_mutex_t *mutex);

  /** Replaces the function that is told of changes. */
  void zkr_lock_setcallback (zkr_lock_mutex_t *mutex, zkr_lock_completion completion);

  /** Returns the function that is told of changes. */
  zkr_lock_completion zkr_lock_getcallback (zkr_lock_mutex_t *mutex);

  /** Ends the mutex: a hold is released, a queue is left. No completion follows. A mutex that is
 *  initialized again without this is destroyed first.
 *  @return ZOK */
  int zkr_lock_destroy (zkr_lock_mutex_t *mutex);

  /** The path of the lock. */
  char *zkr_lock_getpath (zkr_lock_mutex_t *mutex);

  /** Whether the mutex is held now. */
  int zkr_lock_isowner (zkr_lock_mutex_t *mutex);

  /** The name of the holder's node, as last seen: as in ZooKeeper's recipe, not of the mutex's own.
 *  Valid until the next zkr_lock_lock() or zkr_lock_destroy(). */
  char *zkr_lock_getid (zkr_lock_mutex_t *mutex);

  /** zookeeper_close() for a handle that may have had mutexes: ends their locks first. In files
 *  that include this header, zookeeper_close() is this function; a file that does not must call it
 *  for such a handle. */
  int zkr_lock_close_handle (zhandle_t *zh);

#ifndef CURATOR_COMPAT_IMPLEMENTATION
#define zookeeper_close zkr_lock_close_handle
#ifdef ZKR_LOCK_RETURNS_OWNER
#define zkr_lock_lock zkr_lock_lock_isowner
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif
