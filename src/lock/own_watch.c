/* Watching one's own node: is it asked back, is it still there?
 *
 * Mirrors Revocable, Revoker and LockInternals.checkRevocableWatcher, but compares the payload on
 * the arming read too, so that an early request is not missed. Threads: watch events come on
 * ZooKeeper's thread; guarded by the client's mutex; the listener runs on the callback lane.
 */
#include "lock/own_watch.h"

#include "client/call.h"
#include "client/monitor.h"
#include "client/path.h"
#include "client/request.h"
#include "client/settings.h"
#include "client/watches.h"
#include "curator/lock.h"
#include "lock/lease-private.h"

#include <string.h>

#define REVOKE_PAYLOAD "__REVOKE__"

struct _CuratorRevocable
{
  CuratorRefs refs;
  CuratorRevocationSpec spec;
};

struct _CuratorOwnWatch
{
  CuratorLockInternals *internals;
  CuratorSession *session;
  char *path;
  CuratorWatch *watch;
  CuratorRequest *read;
  gint64 told_mzxid;        /* one request is told once, however often it is read */
  gboolean is_asked;        /* and was not told yet, because the lock is still waited for */
  CuratorLease *lease;      /* borrowed: the lease ends the watch before it is freed */
  void (*gone) (gpointer data);
  gpointer data;
};

typedef struct
{
  CuratorRevocable *revocable;
  CuratorLease *lease;
} Request;

static void
revocable_unref (CuratorRevocable *revocable)
{
  if (curator_refs_dec (&revocable->refs))
    {
      if (revocable->spec.destroy != NULL)
        {
          revocable->spec.destroy (revocable->spec.user_data);
        }
      g_free (revocable);
    }
}

static void
tell_request (gpointer data)
{
  Request *request = data;
  const CuratorRevocationSpec *spec = &request->revocable->spec;
  spec->call (spec->listener, spec->owner, request->lease, spec->user_data);
}

static void
free_request (gpointer data)
{
  Request *request = data;
  request->revocable->spec.unref_owner (request->revocable->spec.owner);
  g_clear_pointer (&request->lease, curator_lease_unref);
  revocable_unref (request->revocable);
  g_free (request);
}

/* @locks client mutex required. */
static void
tell (CuratorOwnWatch *own)
{
  CuratorRevocable *revocable = own->internals->revocable;

  own->is_asked = revocable != NULL && revocable->spec.only_holds && own->lease == NULL;
  if (revocable == NULL || own->is_asked || !curator_refs_try_inc (revocable->spec.owner_refs))
    {
      return;
    }
  Request *request = g_new (Request, 1);
  request->revocable = revocable;
  request->lease = own->lease != NULL ? curator_lease_try_ref (own->lease) : NULL;
  curator_refs_inc (&revocable->refs);
  curator_dispatch_callback (own->internals->client, tell_request, request, free_request);
}

/* @locks client mutex required. Only the exact payload asks, and each write of it once. */
static void
look_at_payload (CuratorOwnWatch *own, const char *data, int length, const struct Stat *stat)
{
  if (length == (int) strlen (REVOKE_PAYLOAD) && memcmp (data, REVOKE_PAYLOAD, (size_t) length) == 0
      && stat->mzxid != own->told_mzxid)
    {
      own->told_mzxid = stat->mzxid;
      tell (own);
    }
}

/* @locks client mutex held. */
static void
on_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorOwnWatch *own = data;
  own->read = NULL;
  if (rc == ZOK)
    {
      look_at_payload (own, reply->data, reply->data_length, reply->stat);
    }
}

static void
own_free (CuratorOwnWatch *own)
{
  if (own->read != NULL)
    {
      curator_request_forget (own->read);
    }
  curator_session_unref (own->session);
  curator_lock_internals_unref (own->internals);
  g_free (own->path);
  g_free (own);
}

/* @locks client mutex held. */
static void
on_watch (CuratorWatch *watch, CuratorWatchNews news, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  CuratorOwnWatch *own = data;

  switch (news)
    {
    case CURATOR_WATCH_ARMED:
      if (reply != NULL && reply->data_length >= 0)
        {
          look_at_payload (own, reply->data, reply->data_length, reply->stat);
        }
      else if (reply == NULL && own->read == NULL && own->internals->revocable != NULL)
        {
          /* Somebody behind us here had set the watch already. */
          own->read = curator_request_get (own->session, own->path, FALSE, on_read, own);
        }
      break;
    case CURATOR_WATCH_CHANGED:
      break;
    case CURATOR_WATCH_GONE:
    case CURATOR_WATCH_FAILED:
      g_clear_pointer (&own->watch, curator_watch_release);
      if (news == CURATOR_WATCH_GONE && own->gone != NULL)
        {
          own->gone (own->data);
        }
      break;
    default:
      g_assert_not_reached ();
    }
}

CuratorOwnWatch *
curator_own_watch_new (CuratorLockInternals *internals, CuratorSession *session, const char *path)
{
  CuratorOwnWatch *own = g_new0 (CuratorOwnWatch, 1);
  own->internals = curator_lock_internals_ref (internals);
  own->session = curator_session_ref (session);
  own->path = g_strdup (path);
  own->watch
      = curator_watch_add (session, path, ZWATCHTYPE_DATA, CURATOR_WATCH_NEEDED, on_watch, own);
  if (own->watch == NULL)
    {
      g_clear_pointer (&own, own_free);
    }
  return own;
}

void
curator_own_watch_set_gone (CuratorOwnWatch *own, void (*gone) (gpointer data), gpointer data)
{
  own->gone = gone;
  own->data = data;
}

void
curator_own_watch_set_lease (CuratorOwnWatch *own, CuratorLease *lease)
{
  own->lease = lease;
  if (own->is_asked)
    {
      tell (own);
    }
}

void
curator_own_watch_free (CuratorOwnWatch *own)
{
  g_clear_pointer (&own->watch, curator_watch_release);
  own_free (own);
}

void
curator_own_watch_abandon (CuratorOwnWatch *own)
{
  if (own->watch != NULL)
    {
      curator_watch_abandon (g_steal_pointer (&own->watch));
    }
  own_free (own);
}

gboolean
curator_revocation_is_on (CuratorLockInternals *internals)
{
  return internals->revocable != NULL;
}

void
curator_revocation_set (CuratorLockInternals *internals, const CuratorRevocationSpec *spec)
{
  CuratorRevocable *revocable = g_new0 (CuratorRevocable, 1);

  curator_refs_init (&revocable->refs);
  revocable->spec = *spec;
  curator_client_lock (internals->client);
  CuratorRevocable *before = internals->revocable;
  internals->revocable = revocable;
  curator_client_unlock (internals->client);
  g_clear_pointer (&before, revocable_unref);
}

void
curator_revocation_clear (CuratorLockInternals *internals)
{
  curator_client_lock (internals->client);
  CuratorRevocable *before = g_steal_pointer (&internals->revocable);
  curator_client_unlock (internals->client);
  g_clear_pointer (&before, revocable_unref);
}

gboolean
curator_attempt_revoke (CuratorClient *client, const char *lock_node_path, GError **error)
{
  g_return_val_if_fail (client != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);
  if (!curator_client_check_usable (client, error)
      || !curator_path_validate (lock_node_path, error))
    {
      return FALSE;
    }
  g_autofree char *path = curator_client_full_path (client, lock_node_path);
  g_autoptr (GBytes) payload = g_bytes_new_static (REVOKE_PAYLOAD, strlen (REVOKE_PAYLOAD));
  g_autoptr (GError) local = NULL;
  g_autoptr (CuratorCallResult) result
      = curator_call (client, CURATOR_CALL_SET, path, payload, -1, NULL, &local);

  /* Gone already is what was wanted. */
  if (result == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZNONODE))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  return TRUE;
}
