/* Deletes lock nodes that no session owns.
 *
 * Curator has no counterpart. Threads: any; takes the client's mutex only for the requests.
 */
#include "curator/inspect.h"

#include "base/tag.h"
#include "core/namespace.h"
#include "inspect/fetch.h"
#include "inspect/inspection-private.h"
#include "nodes/call.h"

gboolean
curator_client_delete_ownerless (CuratorClient *client, const CuratorParticipant *participant,
                                 gint64 timeout_ms, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), FALSE);
  CURATOR_CHECK_WAITING (CURATOR_IS_PARTICIPANT (participant), cancellable, error, FALSE);
  if (!participant->is_readable || participant->session_id != 0)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "%s: %s", participant->node_path,
                           participant->is_readable ? "a session owns it"
                                                    : "its owner is not known");
  CuratorLimits limits;
  if (!curator_limits_init (&limits, client, timeout_ms, cancellable, error))
    return FALSE;
  char *path = curator_client_full_path (client, participant->node_path);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (paths, path);
  g_autoptr (GArray) read = curator_fetch (&limits, CURATOR_FETCH_DATA, paths, error);
  if (read == NULL)
    return FALSE;
  const CuratorFetched *now = &g_array_index (read, CuratorFetched, 0);
  /* Otherwise it is not the node that was inspected; a later one may have an owner. */
  if (now->rc != ZOK || now->stat.ephemeralOwner != 0 || now->stat.czxid != participant->czxid)
    return TRUE;
  g_autoptr (GError) local = NULL;
  g_autoptr (CuratorCallResult) result =
      curator_call (&limits, CURATOR_CALL_REMOVE, path, NULL, -1, NULL, &local);
  if (result == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZNONODE)) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  return TRUE;
}
