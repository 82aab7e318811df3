/* Asking a holder to release: listener and request (Revocable, RevocationSpec, Revoker).
 *
 * Threads: any; guarded by the client's mutex; the listener runs on the callback lane.
 */
#include "lock/revocation.h"
#include "lock/wire.h"

#include "base/path.h"
#include "base/tag.h"
#include "core/client-record.h"
#include "core/listeners.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "curator/lock.h"
#include "curator/semaphore.h"
#include "lock/lease-private.h"
#include "nodes/call.h"

#include <string.h>

struct _CuratorRevocable
{
  CuratorRefs refs;
  CuratorRevocationSpec spec;
};

typedef struct
{
  CuratorClient *client; /* a memory reference */
  CuratorRevocable *revocable;
  CuratorLease *lease;
} Request;

static CURATOR_UNLOCKED void
revocable_unref (CuratorRevocable *revocable, CuratorClient *client)
{
  if (revocable != NULL && curator_refs_dec (&revocable->refs)) {
    curator_user_data_destroy (client, revocable->spec.destroy, revocable->spec.user_data);
    g_free (revocable);
  }
}

static void
call_spec_listener (gpointer data)
{
  Request *request = data;
  const CuratorRevocationSpec *spec = &request->revocable->spec;
  if (spec->is_semaphore)
    ((CuratorSemaphoreRevocationListener) spec->listener) (spec->owner, request->lease,
                                                           spec->user_data);
  else
    ((CuratorRevocationListener) spec->listener) (spec->owner, spec->user_data);
}

static void
free_request (gpointer data)
{
  Request *request = data;
  request->revocable->spec.unref_owner (request->revocable->spec.owner);
  g_clear_pointer (&request->lease, curator_lease_unref);
  revocable_unref (request->revocable, request->client);
  curator_client_memory_unref (request->client);
  g_free (request);
}

gboolean
curator_revocation_report (CuratorLockInternals *internals, CuratorLease *hold)
{
  CuratorRevocable *revocable = internals->revocable;

  if (revocable != NULL && revocable->spec.is_semaphore && hold == NULL)
    return FALSE;
  if (revocable == NULL || !curator_refs_try_inc (revocable->spec.owner_refs))
    return TRUE;
  curator_client_memory_ref (internals->client);
  curator_refs_inc (&revocable->refs);
  Request *request = g_new (Request, 1);
  *request =
      (Request){ internals->client, revocable, hold != NULL ? curator_lease_try_ref (hold) : NULL };
  curator_dispatch_push (internals->client, CURATOR_LANE_CALLS, call_spec_listener, request,
                         free_request);
  return TRUE;
}

void
curator_revocation_set (CuratorLockInternals *internals, const CuratorRevocationSpec *spec)
{
  CuratorRevocable *revocable = NULL;

  if (spec != NULL) {
    revocable = g_new (CuratorRevocable, 1);
    curator_refs_init (&revocable->refs);
    revocable->spec = *spec;
  }
  curator_client_lock (internals->client);
  CuratorRevocable *before = internals->revocable;
  internals->revocable = revocable;
  curator_client_unlock (internals->client);
  revocable_unref (before, internals->client);
}

gboolean
curator_client_attempt_revoke (CuratorClient *client, const char *lock_node_path, gint64 timeout_ms,
                               GCancellable *cancellable, GError **error)
{
  CuratorLimits limits;

  CURATOR_CHECK_WAITING (CURATOR_IS_CLIENT (client), cancellable, error, FALSE);
  if (!curator_limits_init (&limits, client, timeout_ms, cancellable, error)
      || !curator_path_validate (lock_node_path, error))
    return FALSE;
  g_autofree char *path = curator_client_full_path (client, lock_node_path);
  g_autoptr (GError) local = NULL;
  g_autoptr (CuratorCallResult) node =
      curator_call (&limits, CURATOR_CALL_GET, path, NULL, 0, NULL, &local);
  /* A node that may not be read may be written. */
  if (node == NULL && local->domain != CURATOR_ZK_ERROR) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  /* The path of a lock in place of one of its nodes. */
  if (node != NULL && node->stat.cversion > 0) {
    g_autofree char *shown = curator_path_escape (curator_client_user_path (client, path));
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "%s is no lock node: nodes are created below it", shown);
  }
  g_clear_error (&local);
  g_autoptr (GBytes) payload =
      g_bytes_new_static (CURATOR_REVOKE_PAYLOAD, strlen (CURATOR_REVOKE_PAYLOAD));
  g_autoptr (CuratorCallResult) result =
      curator_call (&limits, CURATOR_CALL_SET, path, payload, -1, NULL, &local);

  /* A node that is gone needs no revocation. */
  if (result == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZNONODE)) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  return TRUE;
}
