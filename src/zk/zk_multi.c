/* The operations of one multi, and their results.
 *
 * Threads: any; no lock, because it belongs to one request.
 */
#include "zk/zk_multi.h"

CuratorZkMulti *
curator_zk_multi_new (const char *const *paths, int n_paths,
                      void (*init_op) (zoo_op_t *op, const char *path, int version))
{
  CuratorZkMulti *multi = g_new0 (CuratorZkMulti, 1);
  multi->n = n_paths;
  multi->ops = g_new0 (zoo_op_t, n_paths);
  multi->results = g_new0 (zoo_op_result_t, n_paths);
  multi->paths = g_new0 (char *, n_paths + 1);
  for (int i = 0; i < n_paths; i++) {
    multi->paths[i] = g_strdup (paths[i]);
    init_op (&multi->ops[i], multi->paths[i], -1);
  }
  return multi;
}

void
curator_zk_multi_free (gpointer data)
{
  CuratorZkMulti *multi = data;
  g_strfreev (multi->paths);
  g_free (multi->ops);
  g_free (multi->results);
  g_free (multi);
}

/* Operations before the failed one have ZOK, those after it a filler code. */
int
curator_zk_multi_failed_index (const CuratorZkMulti *multi, int rc)
{
  for (int i = 0; rc != ZOK && i < multi->n; i++)
    if (multi->results[i].err == rc)
      return i;
  return -1;
}
