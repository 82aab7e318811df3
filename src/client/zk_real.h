/* The handle of the ops tables for libzookeeper: our own handle (zk_real.c) or the program's
 * (zk_adopted.c). */
#ifndef CURATOR_ZK_REAL_H
#define CURATOR_ZK_REAL_H

#include "client/io_thread.h"
#include "client/zk_ops.h"

typedef struct _CuratorZkSecured CuratorZkSecured;

struct _CuratorZkHandle
{
  zhandle_t *zh;
  CuratorZkWatcher watcher;
  gpointer context;
  watcher_fn watch; /* the library's watcher for node watches */
  gpointer watch_context;

  /* Of a handle of our own. */
  pthread_mutex_t opening; /* held until io is complete */
  CuratorIoThread io;
  guint64 attempt;           /* the inode of the socket at the last check, or 0 */
  gint64 attempt_since_us;   /* when it was first seen */
  CuratorZkSecured *secured; /* of zk_secured.c, or NULL */

  /* For a shared handle, else NULL; removing our watches then keeps those of others. begin returns
   * the ticket that the library gets in place of the caller's. refused: the library refused the
   * request. */
  CuratorZkTicket *(*begin) (CuratorZkHandle *handle, CuratorZkTicket *ticket);
  void (*refused) (CuratorZkHandle *handle, CuratorZkTicket *ticket);
};

/* Opens a handle of our own. id: what the first request of libzookeeper shows, or NULL. NULL with errno
 * set. */
CuratorZkHandle *curator_zk_real_open (const char *hosts, const clientid_t *id,
                                       int session_timeout_ms, CuratorZkWatcher watcher,
                                       gpointer context);
void curator_zk_real_close (CuratorZkHandle *handle);

#endif
