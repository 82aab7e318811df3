/* Looks for our node after a create of unknown outcome, or when the name exists.
 *
 * Mirrors ProtectedMode and CreateBuilderImpl.findProtectedNodeInForeground. Threads: any; guarded
 * by the client's mutex. A transaction precedes every search: the server that we are connected to
 * now may lack what the previous one carried out, and a leader that was deposed without knowing it
 * answers a sync but commits nothing.
 */
#include "lock/attempt-private.h"

#include "base/path.h"
#include "session/lease_clock.h"

#include <string.h>

static void read_next_candidate (Attempt *attempt) CURATOR_LOCKED;

/* Without a GUID, another attempt of this session may have created an equal node. A node that is in
 * use here, or about to be deleted, is not the missing one. */
static CURATOR_LOCKED gboolean
matches_unknown_create (Attempt *attempt, const char *path, const CuratorZkReply *reply)
{
  return attempt->unknown && curator_reply_has_payload (reply, attempt->payload)
         && !curator_session_has_stake (attempt->session, path)
         && !curator_reaper_is_deleting (attempt->op.client->reaper, path, reply->stat,
                                         attempt->payload)
         && curator_attempt_is_identifiable (attempt);
}

/* Decides whether the node is ours. */
static CURATOR_LOCKED void
on_candidate_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  g_autofree char *path = g_steal_pointer (&attempt->candidate);

  attempt->read = NULL;
  if (rc != ZOK && rc != ZNONODE)
    {
      curator_attempt_step_failed (attempt, rc, "reading the node in");
    }
  else if (rc == ZOK && (attempt->prefix != NULL || matches_unknown_create (attempt, path, reply))
           && reply->stat->ephemeralOwner
                  == (curator_attempt_is_ephemeral (attempt) ? attempt->session->id : 0))
    {
      /* The server that has shown it has carried out all that was proven before. */
      attempt->stake.checked_us = attempt->session->evidence.proof_us;
      curator_attempt_adopt_node (attempt, path, reply->stat->czxid);
    }
  else if (rc == ZOK && !curator_attempt_is_sequential (attempt))
    {
      attempt->only_litter = curator_reaper_is_deleting (attempt->op.client->reaper, path,
                                                         reply->stat, attempt->payload);
      attempt->behind = attempt->behind && !attempt->only_litter;
      curator_attempt_wait_for (attempt, curator_path_leaf (path), NULL);
    }
  else
    {
      read_next_candidate (attempt);
    }
}

/* Takes path. */
static CURATOR_LOCKED void
read_candidate (Attempt *attempt, char *path)
{
  g_free (attempt->candidate);
  attempt->candidate = path;
  attempt->read = curator_request_get (attempt->session, path, FALSE, on_candidate_read, attempt);
}

/* Without another candidate, creates a node again. */
static CURATOR_LOCKED void
read_next_candidate (Attempt *attempt)
{
  if (attempt->candidates != NULL && attempt->candidates->len > 0)
    {
      read_candidate (attempt, g_ptr_array_steal_index (attempt->candidates, 0));
      return;
    }
  attempt->unknown = FALSE;
  curator_attempt_enter (attempt, ATTEMPT_STARTING);
}

void
curator_attempt_check_owner (gpointer data)
{
  Attempt *attempt = data;
  g_autofree char *leaf = g_strconcat (attempt->prefix != NULL ? attempt->prefix : "",
                                       curator_attempt_name (attempt), NULL);
  g_clear_pointer (&attempt->candidates, g_ptr_array_unref);
  read_candidate (attempt, curator_path_join (attempt->internals->base, leaf));
}

static CURATOR_LOCKED gboolean
may_be_ours (const Attempt *attempt, const char *name)
{
  return attempt->prefix != NULL ? g_str_has_prefix (name, attempt->prefix)
                                 : curator_path_is_numbered (name, curator_attempt_name (attempt));
}

/* Our own names differ only in their numbers. A user's driver is not called with the mutex held. */
static int
compare_numbers (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Collects the children that may be ours. With a GUID all are: the first is kept, the rest is
 * deleted. */
static CURATOR_LOCKED void
on_found (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;

  attempt->read = NULL;
  if (rc != ZOK && rc != ZNONODE)
    {
      curator_attempt_step_failed (attempt, rc, "looking for our node in");
      return;
    }
  g_clear_pointer (&attempt->candidates, g_ptr_array_unref);
  attempt->candidates = g_ptr_array_new_with_free_func (g_free);
  for (int i = 0; rc == ZOK && i < reply->children->count; i++)
    {
      if (may_be_ours (attempt, reply->children->data[i]))
        {
          g_ptr_array_add (attempt->candidates,
                           curator_path_join (attempt->internals->base, reply->children->data[i]));
        }
    }
  g_ptr_array_sort (attempt->candidates, compare_numbers);
  while (attempt->prefix != NULL && attempt->candidates->len > 1)
    {
      const guint last = attempt->candidates->len - 1;
      curator_reaper_delete (attempt->op.client, g_ptr_array_index (attempt->candidates, last), 0,
                             G_MAXINT64, NULL, NULL);
      g_ptr_array_remove_index (attempt->candidates, last);
    }
  read_next_candidate (attempt);
}

static CURATOR_LOCKED void
on_quorum_reached (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  attempt->read = NULL;
  if (rc != ZOK && rc != ZNONODE)
    {
      curator_attempt_step_failed (attempt, rc, "looking for our node in");
      return;
    }
  if (!curator_attempt_is_sequential (attempt) && attempt->prefix == NULL)
    {
      curator_attempt_check_owner (attempt);
      return;
    }
  attempt->read = curator_request_get_children (attempt->session, attempt->internals->base, FALSE,
                                                on_found, attempt);
}

void
curator_attempt_find (gpointer data)
{
  Attempt *attempt = data;
  GPtrArray *parent = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (parent, g_strdup (attempt->internals->base));
  attempt->read = curator_request_check (attempt->session, parent, on_quorum_reached, attempt);
}
