/* A lock that is one ephemeral node: who creates it holds it.
 *
 * Mirrors no class of Curator's; programs in many languages do it by hand. Threads: any; guarded by
 * the client's mutex, like the mutex that it is a kind of.
 *
 * NOTES: there is no queue. Every waiter watches the node, all wake when it goes, and one of them
 * is first: with n waiters a release costs n creates. After a create of unknown outcome the node is
 * ours if it belongs to our session and carries our payload, which therefore ends in a UUID.
 */
#include "base/path.h"
#include "base/tag.h"
#include "core/client-record.h"
#include "curator/mutex.h"
#include "mutex/mutex-private.h"

static CuratorNodeRequest *
new_request (CuratorLock *mutex, guint64 owner, GError **error)
{
  CuratorNodeRequest *request = curator_node_request_new (mutex->internals->lock_name);
  curator_node_request_set_mode (request, CURATOR_CREATE_MODE_EPHEMERAL);
  curator_node_request_set_protected (request, FALSE);
  request->has_guid = TRUE;
  return request;
}

CuratorLock *
curator_fixed_node_lock_new (CuratorClient *client, const char *node_path, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client), error, NULL);
  if (!curator_lock_check_path (client, node_path, error))
    return NULL;
  g_autofree char *parent = curator_path_parent (node_path);
  CuratorLockInternals *internals =
      curator_lock_internals_new (client, parent, node_path, curator_path_leaf (node_path), 1,
                                  curator_lock_driver_new_builtin (curator_standard_predicate));
  internals->is_one_node = TRUE;
  return curator_mutex_new_of_kind ("fixed-node lock", new_request, internals);
}
