/* Creates a path and its missing ancestors: up from the leaf until a create succeeds, then down.
 *
 * Mirrors ZKPaths.mkdirs. Threads: any; guarded by the client's mutex. Starting at the leaf needs
 * no permission on ancestors that exist. Each create is its own request: a container in a multi
 * aborts the library.
 */
#include "nodes/parents.h"

#include "base/guards.h"
#include "core/client-record.h"
#include "session/session.h"

#include <string.h>

struct _CuratorParents
{
  CuratorSession *session;
  char *path;
  gsize length CURATOR_GUARDED; /* of the prefix of path that is being created */
  CuratorRequest *request CURATOR_GUARDED;
  CuratorParentsDone done;
  gpointer data;
};

static void request_level (CuratorParents *parents) CURATOR_LOCKED;

static gsize
chroot_length (const CuratorClient *client)
{
  const char *chroot = client->settings.servers != NULL ? client->settings.servers->chroot : NULL;
  return chroot != NULL ? strlen (chroot) : 0;
}

GError *
curator_parents_chroot_error (CuratorClient *client, int rc)
{
  if (rc != ZNONODE || chroot_length (client) == 0)
    return NULL;
  return g_error_new (CURATOR_ZK_ERROR, ZNONODE,
                      "the chroot %s of the connect string does not exist: create it first",
                      client->settings.servers->chroot);
}

static CURATOR_LOCKED void
on_answered (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorParents *parents = data;
  CuratorClient *client = parents->session->client;
  const CuratorParentsDone done = parents->done;
  gpointer done_data = parents->data;
  const char *up =
      rc == ZNONODE ? g_strrstr_len (parents->path, (gssize) parents->length, "/") : NULL;

  parents->request = NULL;
  if (rc == ZUNIMPLEMENTED && !client->refused.no_containers) {
    client->refused.no_containers = TRUE;
  } else if (up != NULL && up != parents->path
             && (gsize) (up - parents->path) > chroot_length (client)) {
    parents->length = (gsize) (up - parents->path);
  } else if ((rc == ZOK || rc == ZNODEEXISTS) && parents->path[parents->length] != '\0') {
    parents->length += 1 + strcspn (parents->path + parents->length + 1, "/");
  } else {
    curator_parents_forget (parents);
    done (rc == ZNODEEXISTS ? ZOK : rc, done_data);
    return;
  }
  request_level (parents);
}

static void
request_level (CuratorParents *parents)
{
  CuratorClient *client = parents->session->client;
  g_autofree char *level = g_strndup (parents->path, parents->length);

  /* Curator writes zero bytes too, not null data. */
  parents->request =
      parents->length <= chroot_length (client)
          ? curator_request_exists (parents->session, level, FALSE, on_answered, parents)
          : curator_request_create (parents->session, level, NULL,
                                    client->refused.no_containers ? 0 : ZOO_CONTAINER, on_answered,
                                    parents);
}

CuratorParents *
curator_parents_make (CuratorSession *session, const char *path, CuratorParentsDone done,
                      gpointer data)
{
  CuratorParents *parents = g_new0 (CuratorParents, 1);
  parents->session = curator_session_ref (session);
  parents->path = g_strdup (path);
  parents->length = strlen (path);
  parents->done = done;
  parents->data = data;
  request_level (parents);
  return parents;
}

void
curator_parents_forget (CuratorParents *parents)
{
  g_clear_pointer (&parents->request, curator_request_forget);
  curator_session_unref (parents->session);
  g_free (parents->path);
  g_free (parents);
}
