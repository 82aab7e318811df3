/* The attempt of libzookeeper to connect, and its end. */
#pragma once

#include "zk/zk_handle.h"

/* end_attempt of the ops table. */
gboolean curator_zk_end_attempt (CuratorZkOps *ops, CuratorZkHandle *handle,
                                 const gint64 patience_us[CURATOR_N_STAGES], CuratorStage *ended);
