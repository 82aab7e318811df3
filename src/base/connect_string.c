/* Parses and checks connect strings. Mirrors ZooKeeper's ConnectStringParser.
 *
 * Threads: any; pure, no lock.
 */
#include "base/connect_string.h"

#include "base/path.h"
#include "base/tag.h"

#include <arpa/inet.h>
#include <string.h>

#define MAX_NAME_LENGTH  253
#define MAX_LABEL_LENGTH 63
#define LABEL_CHARACTERS G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_"
#define TLS_PREFIX       "tls://"

static void
host_port_free (gpointer data)
{
  CuratorHostPort *server = data;

  g_free (server->host);
  g_free (server);
}

void
curator_connect_string_free (CuratorConnectString *parsed)
{
  g_ptr_array_unref (parsed->hosts);
  g_free (parsed->chroot);
  g_free (parsed);
}

static gboolean
is_ipv6 (const char *text)
{
  struct in6_addr address;
  g_autofree char *without_zone = g_strndup (text, strcspn (text, "%"));
  const char *zone = text + strlen (without_zone);

  if (*zone == '%'
      && (zone[1] == '\0' || strlen (zone) > 16
          || zone[1 + strspn (zone + 1, LABEL_CHARACTERS ".")] != '\0'))
    return FALSE;
  return inet_pton (AF_INET6, without_zone, &address) == 1;
}

/* A name, or an IPv4 address. A host whose last label is a number must be a whole address:
 * resolvers read "10.1" as 10.0.0.1. */
static gboolean
is_name (const char *name)
{
  struct in_addr address;
  const char *label = name;
  gboolean numeric = FALSE;

  while (*label != '\0') {
    const gsize length = strspn (label, LABEL_CHARACTERS);

    if (length == 0 || length > MAX_LABEL_LENGTH || *label == '-' || label[length - 1] == '-'
        || (label[length] != '.' && label[length] != '\0'))
      return FALSE;
    numeric = strspn (label, "0123456789") == length;
    label += length + (label[length] == '.' ? 1 : 0);
  }
  return label > name && strlen (name) <= MAX_NAME_LENGTH
         && (!numeric || inet_pton (AF_INET, name, &address) == 1);
}

/* Returns the mistake, or NULL. */
static const char *
parse_port (const char *text, guint16 *port)
{
  guint64 value = 0;

  if (!g_ascii_isdigit (*text) || !g_ascii_string_to_unsigned (text, 10, 1, 65535, &value, NULL))
    return "the port must be a number from 1 to 65535";
  *port = (guint16) value;
  return NULL;
}

/* Parses "[address]" or "[address]:port". Returns the mistake, or NULL. */
static const char *
parse_bracketed (const char *text, CuratorHostPort *server)
{
  const char *end = strchr (text, ']');

  if (end == NULL)
    return "the closing bracket is missing";
  server->host = g_strndup (text + 1, (gsize) (end - text - 1));
  if (!is_ipv6 (server->host))
    return "the brackets do not contain an IPv6 address";
  return end[1] == '\0' ? NULL : parse_port (end[1] == ':' ? end + 2 : "", &server->port);
}

/* Returns the mistake, or NULL. */
static const char *
parse_server (const char *text, CuratorHostPort *server)
{
  const char *colon = strrchr (text, ':');

  if (*text == '\0')
    return "a server is missing before or after a comma";
  if (strpbrk (text, "; \t\n|") != NULL)
    return "servers are separated by commas";
  if (*text == '[')
    return parse_bracketed (text, server);
  if (colon != NULL && colon[1] == '\0')
    return "the port is missing after the colon; no scheme but " TLS_PREFIX " is known";
  server->host = colon != NULL ? g_strndup (text, (gsize) (colon - text)) : g_strdup (text);
  if (strchr (server->host, ':') != NULL)
    return "write an IPv6 address as [address]:port";
  if (!is_name (server->host))
    return "the host is neither a name nor an address";
  return colon == NULL ? NULL : parse_port (colon + 1, &server->port);
}

static gboolean
has_tls_prefix (const char *server)
{
  return g_ascii_strncasecmp (server, TLS_PREFIX, strlen (TLS_PREFIX)) == 0;
}

static gboolean
refuse_server (const char *text, const char *fault, GError **error)
{
  /* Truncated before it is escaped: an incomplete character becomes \xNN. */
  g_autofree char *head = g_strndup (text, 200);
  g_autofree char *shown = curator_path_escape (head);
  return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                         "invalid server \"%s\" in the connect string: %s", shown, fault);
}

static gboolean
parse_servers (const char *list, CuratorConnectString *parsed, GError **error)
{
  g_auto (GStrv) servers = g_strsplit (list, ",", -1);

  parsed->is_tls = has_tls_prefix (g_strstrip (servers[0]));
  for (char **text = servers; *text != NULL; text++) {
    CuratorHostPort *server = g_new0 (CuratorHostPort, 1);
    g_ptr_array_add (parsed->hosts, server);
    const char *name = g_strstrip (*text);
    const gboolean is_tls = has_tls_prefix (name);
    const char *fault = is_tls == parsed->is_tls
                            ? parse_server (is_tls ? name + strlen (TLS_PREFIX) : name, server)
                            : "write " TLS_PREFIX " before every server or before none";
    if (fault != NULL)
      return refuse_server (*text, fault, error);
    server->has_port = server->port != 0;
    if (!server->has_port)
      server->port = is_tls ? CURATOR_DEFAULT_SECURE_PORT : CURATOR_DEFAULT_PORT;
  }
  return TRUE;
}

/* The list of servers ends at a slash, except one of "tls://". */
static gsize
length_of_list (const char *connect_string)
{
  const char *at = connect_string;

  do {
    at += strspn (at, " \t");
    at += has_tls_prefix (at) ? strlen (TLS_PREFIX) : 0;
    at += strcspn (at, ",/");
  } while (*at++ == ',');
  return (gsize) (at - 1 - connect_string);
}

/* The chroot stands once, behind the last server: "a:1/x,b:1/x" is a mistake, though a path may
 * have commas. */
static gboolean
has_servers (const char *chroot)
{
  g_auto (GStrv) parts = g_strsplit (chroot, ",", -1);
  gboolean found = FALSE;

  for (char **part = parts + 1; *part != NULL && !found; part++) {
    CuratorHostPort server = { 0 };
    const char *start = *part + (has_tls_prefix (*part) ? strlen (TLS_PREFIX) : 0);
    g_autofree char *text = g_strndup (start, strcspn (start, "/"));
    found = parse_server (text, &server) == NULL && server.port != 0;
    g_free (server.host);
  }
  return found;
}

CuratorConnectString *
curator_connect_string_parse (const char *connect_string, GError **error)
{
  if (connect_string == NULL || *connect_string == '\0' || *connect_string == '/') {
    g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                         "the connect string names no server");
    return NULL;
  }
  g_autoptr (CuratorConnectString) parsed = g_new0 (CuratorConnectString, 1);
  g_autofree char *list = g_strndup (connect_string, length_of_list (connect_string));
  const char *chroot = connect_string + strlen (list);

  parsed->hosts = g_ptr_array_new_with_free_func (host_port_free);
  if (!parse_servers (list, parsed, error))
    return NULL;
  if (*chroot != '\0' && strcmp (chroot, "/") != 0) {
    if (has_servers (chroot)) {
      refuse_server (chroot, "the chroot stands once, behind the last server: a:1,b:1/chroot",
                     error);
      return NULL;
    }
    if (!curator_path_validate (chroot, error)) {
      g_prefix_error (error, "invalid chroot in the connect string: ");
      return NULL;
    }
    parsed->chroot = g_strdup (chroot);
  }
  return g_steal_pointer (&parsed);
}
