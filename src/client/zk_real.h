/* What libzookeeper's two users share: a handle of our own (zk_real.c), the program's (zk_adopted.c). */
#ifndef CURATOR_ZK_REAL_H
#define CURATOR_ZK_REAL_H

#include "client/zk_ops.h"

struct _CuratorZkHandle
{
  zhandle_t *zh;
  CuratorZkWatcher watcher;
  gpointer context;
  watcher_fn watch; /* with watch_context: what watches are registered with in the library */
  gpointer watch_context;

  /* For a handle that is not ours alone, else NULL. begin: the ticket that the library gets in place
   * of the asker's. refused: the library has not taken it. Watches of others stay when ours are
   * removed. */
  CuratorZkTicket *(*begin) (CuratorZkHandle *handle, CuratorZkTicket *ticket);
  void (*refused) (CuratorZkHandle *handle, CuratorZkTicket *ticket);
};

#endif
