/* Finds and deletes the nodes of creates that nobody waits for: whatever a lost reply may have
 * left, and what a request in flight will leave.
 *
 * Mirrors FindAndDeleteProtectedNodeInBackground. Threads: any; guarded by the client's mutex.
 */
#include "nodes/reaper.h"

#include "base/guards.h"
#include "base/path.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/namespace.h"
#include "core/zk_error.h"
#include "nodes/deletion-private.h"
#include "nodes/parents.h"
#include "session/session.h"

/* --- the reply is lost --- */

/* Deletes the node if its owner and its payload are these. */
static CURATOR_LOCKED void
delete_alike (CuratorClient *client, const char *path, gint64 session_id, GBytes *payload)
{
  CuratorDeletion *deletion = curator_deletion_new (client, path, session_id, 0);
  deletion->payload = g_bytes_ref (payload);
  curator_deletion_start (deletion, NULL);
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
    g_autofree char *path = curator_path_join (search->path, name);
    if (search->prefix != NULL && g_str_has_prefix (name, search->prefix))
      curator_deletion_start (curator_deletion_new (client, path, 0, 0), NULL);
    else if (search->sequential_name != NULL
             && curator_path_is_numbered (name, search->sequential_name))
      delete_alike (client, path, search->owner, search->payload);
  }
  curator_deletion_end (search, NULL);
}

void
curator_reaper_delete_unknown (CuratorClient *client, const CuratorUnknownCreate *unknown)
{
  if (unknown->prefix != NULL || (unknown->identifiable && unknown->sequential)) {
    CuratorDeletion *search =
        curator_deletion_new (client, unknown->parent, unknown->session_id, 0);
    search->listed = on_listed;
    search->prefix = g_strdup (unknown->prefix);
    if (unknown->prefix == NULL) {
      search->sequential_name = g_strdup (unknown->name);
      search->payload = g_bytes_ref (unknown->payload);
    }
    curator_deletion_start (search, NULL);
  } else if (unknown->identifiable) {
    g_autofree char *path = curator_path_join (unknown->parent, unknown->name);
    delete_alike (client, path, unknown->session_id, unknown->payload);
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
    curator_deletion_start (curator_deletion_new (orphan->client, reply->path, unknown->session_id,
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
