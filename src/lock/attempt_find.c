/* Is that node ours? After a create of unknown outcome, and when a name is taken.
 *
 * Mirrors ProtectedMode and CreateBuilderImpl.findProtectedNodeInForeground. Threads: any; guarded by
 * the client's mutex. A sync goes before every look: the server that we are connected to now may not
 * have yet what the one before has carried out.
 */
#include "lock/attempt-private.h"

#include "client/path.h"

/* @locks client mutex held. Whose is the node with the name that we wanted, or found by GUID? */
static void
on_owner_known (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  g_autofree char *path = g_steal_pointer (&attempt->candidate);

  attempt->read = NULL;
  if (rc == ZNONODE)
    {
      attempt->unknown = attempt->unknown && attempt->prefix != NULL;
      curator_attempt_try_step (attempt, ATTEMPT_STARTING, curator_attempt_create);
    }
  else if (rc != ZOK)
    {
      curator_attempt_step_failed (attempt, rc, "looking at the node in");
    }
  else if ((attempt->prefix != NULL
            || (attempt->unknown && curator_reply_has_payload (reply, attempt->payload)))
           && reply->stat->ephemeralOwner
                  == (curator_attempt_is_ephemeral (attempt) ? attempt->session->id : 0))
    {
      curator_attempt_own_node (attempt, path, reply->stat->czxid);
    }
  else
    {
      curator_attempt_wait_for (attempt, curator_path_leaf (path));
    }
}

/* @locks client mutex required. */
static void
look_at (Attempt *attempt, const char *leaf)
{
  g_free (attempt->candidate);
  attempt->candidate = curator_path_join (attempt->internals->base, leaf);
  attempt->read =
      curator_request_get (attempt->session, attempt->candidate, FALSE, on_owner_known, attempt);
}

/* @locks client mutex held (retry loop). */
void
curator_attempt_look_whose (gpointer data)
{
  Attempt *attempt = data;
  g_autofree char *leaf =
      g_strconcat (attempt->prefix != NULL ? attempt->prefix : "", attempt->wanted->name, NULL);
  look_at (attempt, leaf);
}

/* @locks client mutex held. The children after a sync: is one of them ours? */
static void
on_found (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  const char *found = NULL;

  attempt->read = NULL;
  if (rc != ZOK && rc != ZNONODE)
    {
      curator_attempt_step_failed (attempt, rc, "looking for our node in");
      return;
    }
  for (int i = 0; rc == ZOK && i < reply->children->count; i++)
    {
      if (g_str_has_prefix (reply->children->data[i], attempt->prefix))
        {
          found = reply->children->data[i];
        }
    }
  if (found != NULL)
    {
      look_at (attempt, found);
      return;
    }
  attempt->unknown = FALSE;
  curator_attempt_try_step (attempt, ATTEMPT_STARTING, curator_attempt_create);
}

/* @locks client mutex held. */
static void
on_synced (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  attempt->read = NULL;
  if (rc != ZOK && rc != ZNONODE)
    {
      curator_attempt_step_failed (attempt, rc, "looking for our node in");
      return;
    }
  if (attempt->prefix == NULL)
    {
      curator_attempt_look_whose (attempt);
      return;
    }
  attempt->read = curator_request_get_children (attempt->session, attempt->internals->base, FALSE,
                                                on_found, attempt);
}

/* @locks client mutex held (retry loop). */
void
curator_attempt_find (gpointer data)
{
  Attempt *attempt = data;
  attempt->read =
      curator_request_sync (attempt->session, attempt->internals->base, on_synced, attempt);
}
