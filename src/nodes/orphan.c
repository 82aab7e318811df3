/* Creates whose caller has given up: the node that the reply announces is deleted.
 *
 * Threads: any; guarded by the client's mutex. */
#include "base/guards.h"
#include "core/client-record.h"
#include "core/zk_error.h"
#include "nodes/parents.h"
#include "nodes/reaper.h"
#include "session/session.h"

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

  if (rc == ZOK && unknown->prefix != NULL)
    {
      curator_reaper_delete (orphan->client, reply->path, unknown->session_id, NULL);
    }
  else if (rc == ZOK)
    {
      curator_reaper_delete_owned (orphan->client, reply->path, unknown->session_id,
                                   reply->stat->czxid, NULL);
    }
  else if (rc == ZNONODE && unknown->wants_parents && curator_client_is_connected (orphan->client))
    {
      curator_parents_make (orphan->client->session, unknown->parent, ignore_parents, NULL);
    }
  else if (curator_zk_is_ambiguous (rc))
    {
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
  orphan->client = client;
  orphan->unknown = (CuratorUnknownCreate){ .parent = g_strdup (unknown->parent),
                                            .prefix = g_strdup (unknown->prefix),
                                            .name = g_strdup (unknown->name),
                                            .sequential = unknown->sequential,
                                            .identifiable = unknown->identifiable,
                                            .wants_parents = unknown->wants_parents,
                                            .session_id = unknown->session_id,
                                            .payload = g_bytes_ref (unknown->payload) };
  curator_request_redirect (request, on_orphan_created, orphan);
}
