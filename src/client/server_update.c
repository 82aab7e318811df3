/* Changes the servers of a client that is running: to those that the program names, or that
 * /zookeeper/config names.
 *
 * Mirrors ZooKeeper.updateServerList and EnsembleTracker. Threads: any; guarded by the client's
 * mutex.
 *
 * NOTES: a configuration that cannot be read changes nothing.
 */
#include "client/server_update.h"

#include "base/container.h"
#include "base/server_list.h"
#include "client/ensemble_config.h"
#include "client/session_servers.h"
#include "client/settings.h"
#include "core/log.h"
#include "core/monitor.h"
#include "session/follow.h"
#include "zk/features.h"

#include <string.h>

/* The paths of a client stay what they are, and so does the way it connects. */
static gboolean
check_same (CuratorClient *client, const CuratorConnectString *parsed, GError **error)
{
  const char *chroot = client->settings.servers->chroot;

  if (parsed->chroot != NULL && g_strcmp0 (parsed->chroot, chroot) != 0)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the chroot of a client cannot change, from %s to %s",
                           chroot != NULL ? chroot : "none", parsed->chroot);
  if (parsed->is_tls && client->settings.tls == NULL)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "a client that was started in clear text cannot change to TLS");
  return TRUE;
}

/* A connect string for that client; NULL with INVALID_ARGUMENT or UNSUPPORTED. Any thread, after
 * start. */
static CuratorConnectString *
parse (CuratorClient *client, const char *connect_string, GError **error)
{
  if (client->ops->is_shared) {
    g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED,
                         "the client uses the program's handle: zoo_set_servers () changes its "
                         "servers");
    return NULL;
  }
  if (!curator_features_check_connect_string (connect_string, error))
    return NULL;
  g_autoptr (CuratorConnectString) parsed = curator_connect_string_parse (connect_string, error);
  if (parsed == NULL || !check_same (client, parsed, error))
    return NULL;
  curator_settings_give_ports (client, parsed);
  return g_steal_pointer (&parsed);
}

/* The servers are those from now on. text: as a connect string. */
static CURATOR_LOCKED void
apply (CuratorClient *client, GPtrArray *hosts, const char *text)
{
  GPtrArray *servers = curator_servers_new (hosts);

  curator_servers_inherit (servers, client->known);
  g_ptr_array_unref (client->known);
  client->known = servers;
  g_free (client->connect_string);
  client->connect_string = g_strdup (text);
  client->leaves_others = TRUE;
  curator_session_servers_replaced (client);
}

gboolean
curator_client_update_servers (CuratorClient *client, const char *connect_string, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client) && connect_string != NULL, error, FALSE);
  if (!curator_client_check_usable (client, error))
    return FALSE;
  g_autoptr (CuratorConnectString) parsed = parse (client, connect_string, error);
  if (parsed == NULL)
    return FALSE;
  curator_client_lock (client);
  const gboolean running = curator_client_is_running (client);
  if (running)
    apply (client, parsed->hosts, connect_string);
  curator_client_unlock (client);
  return running || curator_client_check_usable (client, error);
}

/* --- the configuration of the ensemble --- */

#define CONFIG "/zookeeper/config"

typedef struct
{
  CuratorFollower follower;
  char *warned; /* what the last warning was of; or NULL */
} Configuration;

static CURATOR_LOCKED void
warn_once (Configuration *configuration, const char *text)
{
  if (g_strcmp0 (configuration->warned, text) != 0) {
    curator_warn ("the configuration of the ensemble is not followed: %s", text);
    g_free (configuration->warned);
    configuration->warned = g_strdup (text);
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
is_at (gconstpointer server, gconstpointer place)
{
  const CuratorServer *known = server;
  const CuratorHostPort *host = place;
  return known->port == host->port && g_str_equal (known->host, host->host);
}

static CURATOR_LOCKED gboolean
are_known (CuratorClient *client, GPtrArray *hosts)
{
  gboolean all = hosts->len == client->known->len;

  for (guint i = 0; all && i < hosts->len; i++)
    all = g_ptr_array_find_with_equal_func (client->known, hosts->pdata[i], is_at, NULL);
  return all;
}

static CURATOR_LOCKED void
obey (Configuration *configuration, const CuratorZkReply *reply)
{
  CuratorClient *client = configuration->follower.client;
  g_autofree char *ignored = NULL;
  g_autofree char *list = curator_ensemble_config_parse (
      reply->data, (gsize) MAX (reply->data_length, 0), secure_port (client), &ignored);
  g_autoptr (CuratorConnectString) parsed = list != NULL ? parse (client, list, NULL) : NULL;

  if (ignored != NULL) {
    g_autofree char *text = g_strdup_printf ("ignored, no address for clients: %s", ignored);
    warn_once (configuration, text);
  }
  if (parsed == NULL) {
    warn_once (configuration, "no server can be read from it, the servers stay as they are");
  } else if (!are_known (client, parsed->hosts)) {
    curator_info ("the configuration of the ensemble names other servers: %s", list);
    apply (client, parsed->hosts, list);
  }
}

static CURATOR_LOCKED void
on_told (CuratorFollower *follower, int rc, const CuratorZkReply *reply)
{
  Configuration *configuration = CURATOR_CONTAINER (follower, Configuration, follower);

  if (reply != NULL)
    obey (configuration, reply);
  else if (rc != ZOK)
    warn_once (configuration, rc == ZNONODE ? "it does not exist" : zerror (rc));
}

static void
configuration_clear (gpointer data)
{
  g_free (((Configuration *) data)->warned);
}

void
curator_follow_configuration (CuratorClient *client)
{
  static const CuratorAttachmentType type = { sizeof (Configuration), configuration_clear };
  Configuration *configuration;

  if (!client->settings.follows_configuration)
    return;
  configuration = curator_attached (&client->attached, &type);
  configuration->follower.client = client;
  configuration->follower.path = CONFIG;
  configuration->follower.told = on_told;
  configuration->follower.need = CURATOR_WATCH_OPTIONAL;
  curator_follower_start (&configuration->follower);
}
