/* The operations of one multi, and their results. Any thread; no lock: it belongs to one
 * request. */
#pragma once

#include <glib.h>
#include <zookeeper/zookeeper.h>

typedef struct
{
  int n;
  zoo_op_t *ops;
  zoo_op_result_t *results;
  char **paths;
} CuratorZkMulti;

/* The same operation, for any version, on each path. */
CuratorZkMulti *curator_zk_multi_new (const char *const *paths, int n_paths,
                                      void (*init_op) (zoo_op_t *op, const char *path,
                                                       int version));
void curator_zk_multi_free (gpointer multi);
/* rc: of the whole. -1 if none has failed. */
int curator_zk_multi_failed_index (const CuratorZkMulti *multi, int rc);
