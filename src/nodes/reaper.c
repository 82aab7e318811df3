/* Finds and deletes the nodes of creates that nobody waits for: whatever a lost reply may have
 * left, and what a request in flight will leave.
 *
 * Mirrors FindAndDeleteProtectedNodeInBackground. Threads: any; guarded by the client's mutex.
 *
 * NOTES: servers have been seen to carry out a lost create after later requests of its session: one
 * thread may still hand it over while another serves the new connection to the same server. Only
 * its node, or the session's end, shows that it will not come. So a prefix is kept until then, in
 * the search below its parent, and every list of that parent is searched, whoever has asked for it.
 * The search lists by itself, too, after pauses that double: a node that comes late by t is found
 * before 2 t. The end of a hold shortens the pause: others may wait then.
 */
#include "nodes/reaper.h"

#include "base/guards.h"
#include "base/path.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "core/zk_error.h"
#include "nodes/deletion-private.h"
#include "nodes/parents.h"
#include "session/session.h"

/* Of one parent; the oldest are forgotten. */
#define MAX_PREFIXES 1000

/* --- the reply is lost --- */

static gint64
owner_of (const CuratorUnknownCreate *unknown)
{
  return unknown->ephemeral ? unknown->session_id : 0;
}

/* Deletes the node if its owner and its payload are these. */
static CURATOR_LOCKED void
delete_alike (CuratorClient *client, const char *path, gint64 session_id, GBytes *payload)
{
  CuratorDeletion *deletion = curator_deletion_new (client, path, session_id, 0);
  deletion->payload = g_bytes_ref (payload);
  curator_deletion_start (deletion, NULL);
}

/* A create makes one node. */
static CURATOR_LOCKED void
delete_by_prefix (CuratorDeletion *search, const char *name)
{
  for (guint i = search->prefixes->len; i-- > 0;)
    if (g_str_has_prefix (name, g_ptr_array_index (search->prefixes, i))) {
      g_autofree char *path = curator_path_join (search->path, name);
      curator_deletion_start (curator_deletion_new (search->client, path, 0, 0), NULL);
      g_ptr_array_remove_index (search->prefixes, i);
    }
}

void
curator_reaper_note_list (CuratorClient *client, const char *parent,
                          const struct String_vector *children)
{
  CuratorDeletion *search = curator_deletions_search (client, parent);
  for (int i = 0; search != NULL && i < children->count; i++)
    delete_by_prefix (search, children->data[i]);
}

/* Deletes our nodes among the children. */
static CURATOR_LOCKED void
on_listed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorDeletion *search = data;
  CuratorClient *client = search->client;

  search->request = NULL;
  if (rc != ZOK && !curator_zk_is_refusal (rc)) {
    curator_deletion_retry_later (search);
    return;
  }
  if (rc != ZOK && rc != ZNONODE) {
    const char *path = curator_client_user_path (client, search->path);
    curator_deletion_refused (search, rc,
                              curator_error_from_zk (rc, "searching for leftover nodes in", path));
    return;
  }
  for (int i = 0; rc == ZOK && i < reply->children->count; i++) {
    const char *name = reply->children->data[i];
    if (search->prefixes != NULL) {
      delete_by_prefix (search, name);
    } else if (curator_path_is_numbered (name, search->sequential_name)) {
      g_autofree char *path = curator_path_join (search->path, name);
      delete_alike (client, path, search->owner, search->payload);
    }
  }
  if (search->prefixes != NULL && search->prefixes->len > 0 && curator_client_is_running (client)
      && client->session != NULL && client->session->id == search->owner)
    curator_search_idle (search);
  else
    curator_deletion_end (search, NULL);
}

static CURATOR_LOCKED void
search_by_prefix (CuratorClient *client, const CuratorUnknownCreate *unknown)
{
  CuratorDeletion *search = curator_deletions_search (client, unknown->parent);
  const gboolean is_new = search == NULL;

  if (is_new)
    search = curator_search_new (client, unknown->parent, on_listed);
  else if (search->prefixes->len == MAX_PREFIXES)
    g_ptr_array_remove_index (search->prefixes, 0);
  search->owner = unknown->session_id;
  g_ptr_array_add (search->prefixes, g_strdup (unknown->prefix));
  if (is_new)
    curator_deletion_start (search, NULL);
  else
    curator_search_wake (search);
}

void
curator_reaper_delete_unknown (CuratorClient *client, const CuratorUnknownCreate *unknown)
{
  if (unknown->prefix != NULL) {
    search_by_prefix (client, unknown);
  } else if (unknown->identifiable && unknown->sequential) {
    CuratorDeletion *search = curator_deletion_new (client, unknown->parent, owner_of (unknown), 0);
    search->listed = on_listed;
    search->sequential_name = g_strdup (unknown->name);
    search->payload = g_bytes_ref (unknown->payload);
    curator_deletion_start (search, NULL);
  } else if (unknown->identifiable) {
    g_autofree char *path = curator_path_join (unknown->parent, unknown->name);
    delete_alike (client, path, owner_of (unknown), unknown->payload);
  } else {
    g_autofree char *shown = curator_path_escape (unknown->parent);
    curator_warn ("a persistent node may be left in %s: the reply to its creation was lost, and "
                  "nothing distinguishes it from nodes of other clients",
                  shown);
  }
}

/* --- the reply is still to come --- */

typedef struct
{
  CuratorClient *client;
  CuratorUnknownCreate unknown;
} Orphan;

static CURATOR_LOCKED void
ignore_parents (int rc, gpointer data)
{
}

static CURATOR_LOCKED void
on_orphan_created (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Orphan *orphan = data;
  CuratorUnknownCreate *unknown = &orphan->unknown;

  if (rc == ZOK) {
    curator_deletion_start (curator_deletion_new (orphan->client, reply->path, owner_of (unknown),
                                                  unknown->prefix != NULL ? 0 : reply->stat->czxid),
                            NULL);
  } else if (rc == ZNONODE && unknown->wants_parents
             && curator_client_is_connected (orphan->client)) {
    curator_parents_make (orphan->client->session, unknown->parent, ignore_parents, NULL);
  } else if (curator_zk_is_ambiguous (rc)) {
    curator_reaper_delete_unknown (orphan->client, unknown);
  }
  g_free ((char *) unknown->parent);
  g_free ((char *) unknown->prefix);
  g_free ((char *) unknown->name);
  g_bytes_unref (unknown->payload);
  g_free (orphan);
}

void
curator_reaper_adopt_create (CuratorClient *client, CuratorRequest *request,
                             const CuratorUnknownCreate *unknown)
{
  Orphan *orphan = g_new (Orphan, 1);
  *orphan = (Orphan){ client, *unknown };
  orphan->unknown.parent = g_strdup (unknown->parent);
  orphan->unknown.prefix = g_strdup (unknown->prefix);
  orphan->unknown.name = g_strdup (unknown->name);
  g_bytes_ref (unknown->payload);
  curator_request_redirect (request, on_orphan_created, orphan);
}
