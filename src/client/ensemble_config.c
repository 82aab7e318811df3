/* Reads the configuration of an ensemble; see ensemble_config.h.
 Threads: any; pure, no lock.
 *
 * NOTES: a line is "server.N=host:port:port[:role];[[address:]port][;[address:]port]". The last
 * part is for TLS, and few versions write it. A server with several addresses separates them by
 * '|': the first one counts. A server that listens everywhere is found at its own host.
 */
#include "client/ensemble_config.h"

#include "base/address.h"
#include "base/connect_string.h"

#include <string.h>

/* "host:…" or "[address]:…" */
static char *
host_of (const char *text)
{
  if (*text == '[')
    return g_strndup (text + 1, strcspn (text + 1, "]"));
  return g_strndup (text, strcspn (text, ":|"));
}

/* line: what follows "server.N=". NULL: it says nothing of clients, or nothing valid. */
static char *
entry_of (const char *line, int secure_port)
{
  static const char *const everywhere[] = { "0.0.0.0", "::", "0:0:0:0:0:0:0:0", NULL };
  g_auto (GStrv) parts = g_strsplit (line, ";", -1);
  const guint n_parts = g_strv_length (parts);

  if (n_parts == 0)
    return NULL; /* an empty line has no parts */
  const gboolean has_secure = secure_port != 0 && n_parts > 2;
  const char *place = n_parts > 1 ? parts[has_secure ? 2 : 1] : "";
  const char *colon = strrchr (place, ':');
  g_autofree char *server = host_of (parts[0]);
  g_autofree char *address = NULL;
  if (colon != NULL && *place == '[')
    address = host_of (place);
  else if (colon != NULL) /* the servers write IPv6 addresses without brackets, too */
    address = g_strndup (place, (gsize) (colon - place));
  g_autofree char *port = secure_port > 0 && !has_secure
                              ? g_strdup_printf ("%d", secure_port)
                              : g_strdup (colon != NULL ? colon + 1 : place);
  if (*port == '\0' || (secure_port < 0 && !has_secure))
    return NULL;
  const gboolean is_elsewhere = address != NULL && !g_strv_contains (everywhere, address);
  g_autofree char *entry = curator_address_join (is_elsewhere ? address : server, port);
  g_autoptr (CuratorConnectString) parsed = curator_connect_string_parse (entry, NULL);
  return parsed != NULL && parsed->hosts->len == 1 && parsed->chroot == NULL && !parsed->is_tls
             ? g_steal_pointer (&entry)
             : NULL;
}

char *
curator_ensemble_config_parse (const char *text, gsize length, int secure_port, char **ignored)
{
  g_autofree char *copy = g_strndup (text, length);
  g_auto (GStrv) lines = g_strsplit (copy, "\n", -1);
  GString *list = g_string_new (NULL);
  GString *others = g_string_new (NULL);

  for (char **line = lines; *line != NULL; line++) {
    const char *equals = strchr (g_strstrip (*line), '=');
    if (equals == NULL || !g_str_has_prefix (*line, "server."))
      continue;
    g_autofree char *entry = entry_of (equals + 1, secure_port);
    if (entry != NULL)
      g_string_append_printf (list, "%s%s", list->len > 0 ? "," : "", entry);
    else
      g_string_append_printf (others, "%s%s", others->len > 0 ? "\n" : "", *line);
  }
  *ignored = g_string_free (others, others->len == 0);
  return g_string_free (list, list->len == 0);
}
