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

typedef struct
{
  char *host;
  char *port; /* or NULL */
} Place;

static void
place_clear (Place *place)
{
  g_free (place->host);
  g_free (place->port);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Place, place_clear)

/* "host:…" or "[address]:…" */
static char *
host_of (const char *text)
{
  if (*text == '[')
    return g_strndup (text + 1, strcspn (text + 1, "]"));
  return g_strndup (text, strcspn (text, ":|"));
}

static gboolean
is_everywhere (const char *host)
{
  return g_str_equal (host, "0.0.0.0") || g_str_equal (host, "::")
         || g_str_equal (host, "0:0:0:0:0:0:0:0");
}

/* "port" or "address:port", for clients of that server. */
static Place
place_of (const char *text, const char *server)
{
  const char *colon = strrchr (text, ':');
  g_autofree char *host = colon != NULL ? host_of (text) : NULL;

  if (colon != NULL && *text != '[') {
    /* The servers write IPv6 addresses without brackets, too. */
    g_free (host);
    host = g_strndup (text, (gsize) (colon - text));
  }
  const char *port = colon != NULL ? colon + 1 : text;
  return (Place){ g_strdup (host == NULL || is_everywhere (host) ? server : host),
                  *port != '\0' ? g_strdup (port) : NULL };
}

static Place
choose (char **parts, const char *server, int secure_port)
{
  const char *clear = parts[1] != NULL ? parts[1] : "";
  Place place = place_of (clear, server);

  if (secure_port == 0)
    return place;
  if (parts[1] != NULL && parts[2] != NULL) {
    place_clear (&place);
    return place_of (parts[2], server);
  }
  g_free (place.port);
  place.port = secure_port > 0 ? g_strdup_printf ("%d", secure_port) : NULL;
  return place;
}

/* line: what follows "server.N=". NULL: it says nothing of clients, or nothing valid. */
static char *
entry_of (const char *line, int secure_port)
{
  g_auto (GStrv) parts = g_strsplit (line, ";", -1);

  if (parts[0] == NULL)
    return NULL; /* an empty line has no parts */
  g_autofree char *server = host_of (parts[0]);
  g_auto (Place) place = choose (parts, server, secure_port);
  if (place.port == NULL)
    return NULL;
  g_autofree char *entry = curator_address_join (place.host, place.port);
  g_autoptr (CuratorConnectString) parsed = curator_connect_string_parse (entry, NULL);
  return parsed != NULL && parsed->hosts->len == 1 && parsed->chroot == NULL && !parsed->is_tls
             ? g_steal_pointer (&entry)
             : NULL;
}

static void
add_line (GString *list, char separator, const char *text)
{
  if (list->len > 0)
    g_string_append_c (list, separator);
  g_string_append (list, text);
}

static char *
end_list (GString *list)
{
  const gboolean is_empty = list->len == 0;
  return g_string_free (list, is_empty);
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
    add_line (entry != NULL ? list : others, entry != NULL ? ',' : '\n',
              entry != NULL ? entry : *line);
  }
  *ignored = end_list (others);
  return end_list (list);
}
