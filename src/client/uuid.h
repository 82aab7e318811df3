/* Random UUIDs, by which a node's maker knows it again. */
#ifndef CURATOR_UUID_H
#define CURATOR_UUID_H

#include "client/zk_ops.h"

/* Version 4, in lower case. Free with g_free (). */
char *curator_uuid_new (CuratorZkOps *ops);

#endif
