/* The check of a hold inside the user's own transaction.
 *
 * Mirrors CuratorMultiTransaction.check. Threads: any; the state is read under the client's mutex,
 * the path of a lease is constant.
 */
#include "curator/zookeeper.h"

#include "base/path.h"
#include "base/tag.h"
#include "core/monitor.h"
#include "lock/lease-impl.h"

gboolean
curator_lease_init_check_op (CuratorLease *lease, zoo_op_t *op, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_LEASE (lease) && op != NULL, error, FALSE);
  const CuratorLease *first = curator_lease_first (lease);
  g_autofree char *shown = curator_path_escape (first->path);

  if (!curator_client_check_forked (lease->client, error))
    return FALSE;
  if (!first->name_is_unique)
    return CURATOR_REFUSE (error, CURATOR_ERROR_UNSUPPORTED,
                           "%s cannot be checked: the next holder's node has the same name", shown);
  if (curator_lease_get_state (lease) >= CURATOR_LEASE_STATE_LOST)
    return CURATOR_REFUSE (error, CURATOR_ERROR_LOCK_LOST, "%s is not held any more", shown);
  zoo_check_op_init (op, first->path, -1);
  return TRUE;
}
