/* Asks the servers of a connect string about themselves, by four-letter words and what they have in
 * /zookeeper/config. */
#include "views/servers.h"

#include "base/dial.h"
#include "views/configuration.h"

#include <curator/curator.h>
#include <string.h>

#define TIMEOUT_MS  3000
#define MAX_MEMBERS 1000 /* of an ensemble */
#define MAX_NUMBER  (G_MAXINT / 100)

static void
free_server (gpointer data)
{
  Server *server = data;
  g_free (server->address);
  g_free (server->mode);
  g_free (server->members);
  g_free (server->trouble);
  g_free (server->certificate.refusal);
  g_clear_pointer (&server->sessions, g_hash_table_unref);
  g_free (server);
}

static int
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static gboolean
is_forbidden (const char *answer)
{
  return strstr (answer, "is not executed because it is not in the whitelist") != NULL;
}

/* "name=123" at the start of a line. 0: there is none, or one that no server has. */
static gint64
value_of (const char *answer, const char *name)
{
  const gsize length = strlen (name);

  for (const char *line = answer; line != NULL; line = strchr (line, '\n')) {
    line += *line == '\n';
    if (strncmp (line, name, length) == 0 && line[length] == '=') {
      const gint64 value = g_ascii_strtoll (line + length + 1, NULL, 10);
      return value > 0 && value <= MAX_NUMBER ? value : 0;
    }
  }
  return 0;
}

/* The next line of an answer, to be freed; NULL: there is none. One at a time: an answer may have
 * millions. */
static char *
next_line (const char **answer)
{
  if (**answer == '\0')
    return NULL;
  const gsize length = strcspn (*answer, "\n");
  char *line = g_strndup (*answer, length);
  *answer += length + ((*answer)[length] == '\n');
  return line;
}

/* The lines "server.1=...", in order. */
static char *
members_of (const char *answer)
{
  g_autoptr (GPtrArray) members = g_ptr_array_new_with_free_func (g_free);
  char *line;

  while ((line = next_line (&answer)) != NULL)
    if (g_str_has_prefix (line, "server.") && members->len < MAX_MEMBERS)
      g_ptr_array_add (members, g_strchomp (line));
    else
      g_free (line);
  if (members->len == 0)
    return NULL;
  g_ptr_array_sort (members, compare_strings);
  g_ptr_array_add (members, NULL);
  return g_strjoinv ("\n", (char **) members->pdata);
}

/* " /10.0.3.17:51234[1](queued=0,...,sid=0x...,...": the address ends at the bracket. */
static void
parse_session (GHashTable *sessions, const char *line)
{
  const char *sid = strstr (line, "sid=0x");
  const char *start = line + strspn (line, " /");
  const char *end = g_strrstr_len (start, (gssize) strcspn (start, "("), "[");
  if (sid != NULL) {
    const gint64 id = (gint64) g_ascii_strtoull (sid + strlen ("sid="), NULL, 16);
    g_hash_table_insert (sessions, g_memdup (&id, sizeof id),
                         curator_escape_name (start, end != NULL ? end - start : 0));
  }
}

static void
parse_sessions (GHashTable *sessions, const char *answer)
{
  char *line;

  while ((line = next_line (&answer)) != NULL) {
    parse_session (sessions, line);
    g_free (line);
  }
}

static GHashTable *
new_sessions (void)
{
  return g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
}

/* "est=…" of a connection is the time by the server's clock at which it was made, in
 * milliseconds. */
static gint64
newest_connection_ms (const char *answer)
{
  gint64 newest = 0;

  while ((answer = strstr (answer, ",est=")) != NULL) {
    answer += strlen (",est=");
    newest = MAX (newest, g_ascii_strtoll (answer, NULL, 10));
  }
  return newest;
}

static Server *
ask_server (Dial *dial, const char *address)
{
  Server *server = g_new0 (Server, 1);
  g_autoptr (GError) error = NULL;

  server->address = curator_escape_name (address, -1);
  if (dial_uses_tls (dial) && dial_inspect (dial, address, TIMEOUT_MS, &server->certificate, NULL)
      && server->certificate.refusal != NULL)
    return server;
  g_autofree char *conf = dial_ask (dial, address, "conf", TIMEOUT_MS, NULL, &error);
  if (conf == NULL) {
    server->trouble = g_strdup (error->message);
    return server;
  }
  server->allows_conf = !is_forbidden (conf);
  server->members = members_of (conf);
  server->max_connections = value_of (conf, "maxClientCnxns");
  server->tick_ms = value_of (conf, "tickTime");
  server->secure_port = (int) value_of (conf, "secureClientPort");
  g_autofree char *srvr = dial_ask (dial, address, "srvr", TIMEOUT_MS, NULL, NULL);
  const char *mode = srvr != NULL ? strstr (srvr, "Mode: ") : NULL;
  if (mode != NULL) {
    mode += strlen ("Mode: ");
    server->mode = curator_escape_name (mode, (gssize) strcspn (mode, "\r\n"));
  }
  g_autofree char *cons = dial_ask (dial, address, "cons", TIMEOUT_MS, NULL, NULL);
  if (cons != NULL && !is_forbidden (cons)) {
    server->newest_ms = newest_connection_ms (cons);
    server->sessions = new_sessions ();
    parse_sessions (server->sessions, cons);
  }
  if (server->members == NULL && g_strcmp0 (server->mode, "standalone") != 0) {
    g_autofree char *configuration = configuration_read (dial, address, TIMEOUT_MS);
    server->members = configuration != NULL ? members_of (configuration) : NULL;
  }
  return server;
}

GPtrArray *
servers_ask (const Options *options, Dial *dial)
{
  GPtrArray *servers = g_ptr_array_new_with_free_func (free_server);
  g_auto (GStrv) addresses = dial_split_hosts (options->hosts);

  for (char **address = addresses; *address != NULL; address++)
    g_ptr_array_add (servers, ask_server (dial, *address));
  return servers;
}

GHashTable *
servers_ask_addresses (const Options *options)
{
  GHashTable *sessions = new_sessions ();
  g_autoptr (Dial) dial = dial_new (&options->secure, NULL);
  g_auto (GStrv) addresses = dial_split_hosts (options->hosts);

  for (char **address = addresses; dial != NULL && *address != NULL; address++) {
    g_autofree char *cons = dial_ask (dial, *address, "cons", TIMEOUT_MS, NULL, NULL);
    parse_sessions (sessions, cons != NULL ? cons : "");
  }
  return sessions;
}

gboolean
servers_know_sessions (GPtrArray *servers)
{
  for (guint i = 0; i < servers->len; i++)
    if (((Server *) g_ptr_array_index (servers, i))->sessions == NULL)
      return FALSE;
  return servers->len > 0;
}

gboolean
servers_have_session (GPtrArray *servers, gint64 session)
{
  for (guint i = 0; i < servers->len; i++)
    if (server_has_session (g_ptr_array_index (servers, i), session))
      return TRUE;
  return FALSE;
}

gboolean
server_has_session (const Server *server, gint64 session)
{
  return server->sessions != NULL && g_hash_table_contains (server->sessions, &session);
}
