/* Random UUIDs, by which a client recognizes its own nodes. */
#pragma once

#include "core/zk_ops.h"

/* A version 4 UUID in lower case; free with g_free(). */
char *curator_uuid_new (CuratorZkOps *ops);
