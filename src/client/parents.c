/* Creates a path and its missing ancestors: up from the leaf until a create succeeds, then down.
 *
 * Mirrors ZKPaths.mkdirs. Threads: any; guarded by the client's mutex. Starting at the leaf needs
 * no permission on ancestors that exist. Each create is its own request: a container in a multi
 * aborts the library.
 */
#include "client/parents.h"

#include "client/client-private.h"
#include "client/path.h"
#include "client/session.h"
#include "guards.h"

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

static void create_level (CuratorParents *parents) CURATOR_LOCKED;

static CURATOR_LOCKED void
parents_free (CuratorParents *parents)
{
  curator_session_unref (parents->session);
  g_free (parents->path);
  g_free (parents);
}

static CURATOR_LOCKED void
finish (CuratorParents *parents, int rc)
{
  const CuratorParentsDone done = parents->done;
  gpointer data = parents->data;
  parents_free (parents);
  done (rc, data);
}

static CURATOR_LOCKED void
on_created (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorParents *parents = data;
  CuratorClient *client = parents->session->client;
  const char *up = NULL;

  parents->request = NULL;
  if (rc == ZUNIMPLEMENTED && !client->no_containers)
    {
      client->no_containers = TRUE;
      create_level (parents);
      return;
    }
  if (rc == ZNONODE)
    {
      up = g_strrstr_len (parents->path, (gssize) parents->length, "/");
    }
  if (up != NULL && up != parents->path)
    {
      parents->length = (gsize) (up - parents->path);
      create_level (parents);
      return;
    }
  if ((rc != ZOK && rc != ZNODEEXISTS) || parents->path[parents->length] == '\0')
    {
      finish (parents, rc == ZNODEEXISTS ? ZOK : rc);
      return;
    }
  parents->length += 1 + strcspn (parents->path + parents->length + 1, "/");
  create_level (parents);
}

static void
create_level (CuratorParents *parents)
{
  CuratorClient *client = parents->session->client;
  g_autofree char *level = g_strndup (parents->path, parents->length);
  /* Curator writes zero bytes too, not null data. */
  parents->request =
      curator_request_create (parents->session, level, NULL,
                              client->no_containers ? 0 : ZOO_CONTAINER, on_created, parents);
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
  create_level (parents);
  return parents;
}

void
curator_parents_forget (CuratorParents *parents)
{
  if (parents->request != NULL)
    {
      curator_request_forget (parents->request);
    }
  parents_free (parents);
}
