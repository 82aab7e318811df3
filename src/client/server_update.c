/* Changes the servers of a client that is running; see server_update.h.
 *
 * Mirrors ZooKeeper.updateServerList. Threads: any; guarded by the client's mutex.
 */
#include "client/server_update.h"

#include "base/server_list.h"
#include "client/session_servers.h"
#include "client/settings.h"
#include "core/monitor.h"
#include "zk/features.h"

/* The paths of a client stay what they are, and so does the way it connects. */
static gboolean
check_same (CuratorClient *client, const CuratorConnectString *parsed, GError **error)
{
  const char *chroot = client->settings.servers->chroot;

  if (parsed->chroot != NULL && g_strcmp0 (parsed->chroot, chroot) != 0) {
    g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                 "the chroot of a client cannot change, from %s to %s",
                 chroot != NULL ? chroot : "none", parsed->chroot);
    return FALSE;
  }
  if (parsed->is_tls && client->settings.tls == NULL) {
    g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                         "a client that was started in clear text cannot change to TLS");
    return FALSE;
  }
  return TRUE;
}

CuratorConnectString *
curator_server_update_parse (CuratorClient *client, const char *connect_string, GError **error)
{
  g_autoptr (CuratorConnectString) parsed = NULL;

  if (client->ops->is_shared) {
    g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED,
                         "the client uses the program's handle: zoo_set_servers () changes its "
                         "servers");
    return NULL;
  }
  if (!curator_features_check_connect_string (connect_string, error))
    return NULL;
  parsed = curator_connect_string_parse (connect_string, error);
  if (parsed == NULL || !check_same (client, parsed, error))
    return NULL;
  curator_settings_give_ports (client, parsed);
  return g_steal_pointer (&parsed);
}

void
curator_server_update_apply (CuratorClient *client, GPtrArray *hosts, const char *text)
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
  g_autoptr (CuratorConnectString) parsed =
      curator_server_update_parse (client, connect_string, error);
  if (parsed == NULL)
    return FALSE;
  curator_client_lock (client);
  const gboolean running = curator_client_is_running (client);
  if (running)
    curator_server_update_apply (client, parsed->hosts, connect_string);
  curator_client_unlock (client);
  return running || curator_client_check_usable (client, error);
}
