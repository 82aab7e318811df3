/* Gives libzookeeper another list of servers for a living handle of ours.
 *
 * Threads: any. A mutex of this file guards the handles' lists; no other lock is taken under it. */
#pragma once

#include "zk/zk_handle.h"

/* An opened handle, and one that is about to be closed. */
void curator_zk_servers_add (CuratorZkHandle *handle, const char *addresses);
void curator_zk_servers_remove (CuratorZkHandle *handle);
/* set_servers of the ops table. */
gboolean curator_zk_servers_set (CuratorZkOps *ops, CuratorZkHandle *handle, GPtrArray *servers,
                                 const char *addresses, gboolean leave);
/* The log callback of every handle. */
void curator_zk_servers_log_line (const char *line);
