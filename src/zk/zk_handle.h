/* The handle of the ops tables for libzookeeper: our own handle (zk_real.c) or the program's
 * (zk_adopted.c). */
#pragma once

#include "core/zk_ops.h"
#include "zk/io_thread.h"
#include "zk/zk_rest.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct _CuratorZkSecured CuratorZkSecured;

/* See io_lookups.h. */
typedef struct
{
  atomic_uint under_way; /* the number of their beginning, or 0 */
  guint n_begun;
  atomic_uint n_connected; /* connections of which an event has told */
  atomic_uint n_failed;    /* of these and of later ones */
  atomic_bool was_told;    /* to look up only without a socket */
} CuratorIoLookups;

/* Of zk_socket.c. */
typedef struct
{
  gboolean is_loopback; /* to a channel, which has the socket that matters */
  guint64 inode;        /* at the last look during an attempt, 0: there was none */
  CuratorStage stage;
  gint64 since_us;      /* when it was first seen in that stage */
  atomic_bool is_bound; /* the kernel knows how long the host may acknowledge nothing */
  atomic_bool is_ended; /* by us, and the library has not reported it yet */
} CuratorZkSocket;

struct _CuratorZkHandle
{
  zhandle_t *zh;
  CuratorZkWatcher watcher;
  gpointer context;
  watcher_fn watch; /* the library's watcher for node watches */
  gpointer watch_context;
  CuratorZkRest rest;

  /* Of a handle of our own. */
  pthread_mutex_t opening; /* held until io is complete */
  CuratorIoThread io;
  CuratorIoLookups lookups;
  CuratorZkSocket socket;
  CuratorZkSecured *secured; /* of zk_secured.c, or NULL */
  char *addresses;           /* what the library connects to; guarded by a mutex of zk_servers.c */
  char *next_addresses;      /* from its next failure on, or NULL; the same */

  /* For a shared handle, else NULL; removing our watches then keeps those of others. begin returns
   * the ticket that the library gets in place of the caller's. refused: the library refused the
   * request. */
  CuratorZkTicket *(*begin) (CuratorZkHandle *handle, CuratorZkTicket *ticket);
  void (*refused) (CuratorZkHandle *handle, CuratorZkTicket *ticket);
};
