/* Paths of the user and paths on the server; see namespace.h.
 *
 * Mirrors NamespaceImpl. Threads: as namespace.h says; no lock.
 */
#include "core/namespace.h"

#include "base/connect_string.h"
#include "core/client-record.h"

#include <string.h>

/* We add the chroot, not the library, so that a missing one can be reported. start reports an
 * invalid connect string. */
void
curator_namespace_update (CuratorClient *client)
{
  g_autoptr (CuratorConnectString) servers =
      curator_connect_string_parse (client->connect_string, NULL);
  const char *chroot = servers != NULL && servers->chroot != NULL ? servers->chroot : "";
  CuratorSettings *settings = &client->settings;

  g_free (settings->prefix);
  settings->prefix =
      g_strconcat (chroot, settings->namespace_ != NULL ? "/" : "", settings->namespace_, NULL);
}

char *
curator_client_full_path (CuratorClient *client, const char *path)
{
  const gboolean is_root = path[1] == '\0' && *client->settings.prefix != '\0';
  return g_strconcat (client->settings.prefix, is_root ? "" : path, NULL);
}

const char *
curator_client_user_path (CuratorClient *client, const char *full_path)
{
  const gsize length = strlen (client->settings.prefix);
  return strncmp (full_path, client->settings.prefix, length) == 0 && full_path[length] == '/'
             ? full_path + length
             : full_path;
}
