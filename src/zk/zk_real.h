/* Handles of our own. */
#pragma once

#include "zk/zk_handle.h"

/* Opens a handle of our own. id: what the first request of libzookeeper shows, or NULL. NULL with
 * errno set. */
CuratorZkHandle *curator_zk_real_open (const char *hosts, const clientid_t *id,
                                       int session_timeout_ms, CuratorZkWatcher watcher,
                                       gpointer context);
void curator_zk_real_close (CuratorZkOps *ops, CuratorZkHandle *handle);
