/* The attempt of libzookeeper to connect, and its end. */
#pragma once

#include "zk/zk_handle.h"

/* end_attempt of the ops table. */
gboolean curator_zk_end_attempt (CuratorZkOps *ops, CuratorZkHandle *handle,
                                 const gint64 patience_us[CURATOR_N_STAGES], CuratorStage *ended);
/* On the IO thread, whose socket has failed: TRUE if that was the end of an attempt by us. */
gboolean curator_zk_attempt_was_ended (CuratorZkHandle *handle);
