/* The socket of a handle of our own: how long it may be silent, and its end. */
#pragma once

#include "zk/zk_handle.h"

/* Inside a CONNECTED event: the kernel ends the connection to a host that acknowledges nothing. */
void curator_zk_socket_connected (CuratorZkHandle *handle);
/* bound_silence and end_attempt of the ops table. */
gboolean curator_zk_bound_silence (CuratorZkOps *ops, CuratorZkHandle *handle, gint64 silent_us);
gboolean curator_zk_end_attempt (CuratorZkOps *ops, CuratorZkHandle *handle,
                                 const gint64 patience_us[CURATOR_N_STAGES], CuratorStage *ended);
