/* Follows /zookeeper/config: whom it names are the servers of the client.
 *
 * Mirrors EnsembleTracker. Threads: any; guarded by the client's mutex.
 *
 * NOTES: one data watch a session. The read that sets it again brings the configuration, and
 * watched nodes are read again from time to time. What cannot be read changes nothing.
 */
#include "client/follow_configuration.h"

#include "base/container.h"
#include "base/server_list.h"
#include "client/ensemble_config.h"
#include "client/server_update.h"
#include "core/log.h"
#include "session/watches.h"

#include <string.h>

#define CONFIG "/zookeeper/config"

typedef struct
{
  CuratorSessionHook hook; /* first */
  CuratorWatch *watch;     /* NULL: not set */
  char *warned;            /* what the last warning was of; or NULL */
} Follower;

static CURATOR_LOCKED void
warn_once (Follower *follower, const char *text)
{
  if (g_strcmp0 (follower->warned, text) != 0) {
    curator_warn ("the configuration of the ensemble is not followed: %s", text);
    g_free (follower->warned);
    follower->warned = g_strdup (text);
  }
}

/* The port of a TLS connection where the configuration names none: the one that all servers
 * have. */
static CURATOR_LOCKED int
secure_port (CuratorClient *client)
{
  int port = 0;

  for (guint i = 0; client->settings.tls != NULL && i < client->known->len; i++) {
    const CuratorServer *server = client->known->pdata[i];
    port = port == 0 || port == server->port ? server->port : -1;
  }
  return port;
}

static gboolean
has_server (GPtrArray *servers, const CuratorHostPort *host)
{
  for (guint i = 0; i < servers->len; i++) {
    const CuratorServer *server = servers->pdata[i];
    if (server->port == host->port && g_str_equal (server->host, host->host))
      return TRUE;
  }
  return FALSE;
}

static CURATOR_LOCKED gboolean
is_known (CuratorClient *client, GPtrArray *hosts)
{
  gboolean all = hosts->len == client->known->len;

  for (guint i = 0; all && i < hosts->len; i++)
    all = has_server (client->known, hosts->pdata[i]);
  return all;
}

static CURATOR_LOCKED void
follow (Follower *follower, const CuratorZkReply *reply)
{
  CuratorClient *client = follower->hook.session->client;
  g_autofree char *ignored = NULL;
  g_autofree char *list = curator_ensemble_config_parse (
      reply->data, (gsize) MAX (reply->data_length, 0), secure_port (client), &ignored);
  g_autoptr (CuratorConnectString) parsed =
      list != NULL ? curator_server_update_parse (client, list, NULL) : NULL;

  if (ignored != NULL) {
    g_autofree char *text = g_strdup_printf ("ignored, no address for clients: %s", ignored);
    warn_once (follower, text);
  }
  if (parsed == NULL) {
    warn_once (follower, "no server can be read from it, the servers stay as they are");
  } else if (!is_known (client, parsed->hosts)) {
    curator_info ("the configuration of the ensemble names other servers: %s", list);
    curator_server_update_apply (client, parsed->hosts, list);
  }
}

static CURATOR_LOCKED void
on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  Follower *follower = data;

  if (event == CURATOR_WATCH_ARMED && reply != NULL) {
    follow (follower, reply);
  } else if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED) {
    g_clear_pointer (&follower->watch, curator_watch_release);
    warn_once (follower, event == CURATOR_WATCH_GONE ? "it does not exist" : zerror (rc));
  }
}

static CURATOR_LOCKED void
on_connected (CuratorSessionHook *hook)
{
  Follower *follower = CURATOR_CONTAINER (hook, Follower, hook);

  if (follower->watch == NULL)
    follower->watch = curator_watch_add (hook->session, CONFIG, ZWATCHTYPE_DATA,
                                         CURATOR_WATCH_OPTIONAL, on_watch, follower);
}

static CURATOR_LOCKED void
on_died (CuratorSessionHook *hook)
{
  Follower *follower = CURATOR_CONTAINER (hook, Follower, hook);

  g_clear_pointer (&follower->watch, curator_watch_release);
  g_free (follower->warned);
  g_free (follower);
}

void
curator_follow_configuration (CuratorSession *session)
{
  if (session->client->settings.follows_configuration) {
    Follower *follower = g_new0 (Follower, 1);
    follower->hook.connected = on_connected;
    follower->hook.died = on_died;
    curator_session_add_hook (session, &follower->hook);
  }
}
