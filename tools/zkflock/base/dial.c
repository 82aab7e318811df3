/* Asks single servers questions outside any session: four-letter words and certificates.
 *
 * Where the client uses TLS a dial uses it too, with the same files, and says nothing to a server that
 * it cannot verify.
 */
#include "base/dial.h"

#include "base/dial_tls.h"

#include <string.h>

#define DEFAULT_PORT        2181
#define DEFAULT_SECURE_PORT 2281
#define TLS_PREFIX          "tls://"
#define MAX_ANSWER          (16 << 20)
#define SHORTEST_TIMEOUT_MS 1000

struct _Dial
{
  gint refs;         /* atomic */
  DialFiles *files;  /* NULL: clear text */
  char *server_name; /* of all servers, or NULL */
};

/* One connection; session is NULL in clear text. */
typedef struct
{
  GSocketConnection *connection;
  DialSession *session;
  gint64 deadline_us; /* of the whole answer in clear text */
} Line;

char **
dial_split_hosts (const char *hosts)
{
  g_auto (GStrv) servers = g_strsplit (hosts, ",", -1);
  GPtrArray *names = g_ptr_array_new ();

  for (char **server = servers; *server != NULL; server++)
    {
      char *name = g_strstrip (*server);
      name += g_ascii_strncasecmp (name, TLS_PREFIX, strlen (TLS_PREFIX)) == 0 ? strlen (TLS_PREFIX)
                                                                               : 0;
      name[strcspn (name, "/")] = '\0';
      if (*name != '\0')
        g_ptr_array_add (names, g_strdup (name));
    }
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

static Dial *
new_dial (DialFiles *files, const char *server_name)
{
  Dial *dial = g_new0 (Dial, 1);
  g_atomic_int_set (&dial->refs, 1);
  dial->files = files;
  dial->server_name = g_strdup (server_name);
  return dial;
}

Dial *
dial_new (const Secure *secure, GError **error)
{
  if (!secure->is_tls)
    return new_dial (NULL, NULL);
  DialFiles *files = dial_files_new (secure, error);
  return files != NULL ? new_dial (files, secure->tls_server_name) : NULL;
}

gboolean
dial_uses_tls (Dial *dial)
{
  return dial->files != NULL;
}

Dial *
dial_ref (Dial *dial)
{
  g_atomic_int_inc (&dial->refs);
  return dial;
}

void
dial_unref (Dial *dial)
{
  if (g_atomic_int_dec_and_test (&dial->refs))
    {
      g_clear_pointer (&dial->files, dial_files_free);
      g_free (dial->server_name);
      g_free (dial);
    }
}

gint64
dial_get_own_expiry (Dial *dial)
{
  return dial->files != NULL ? dial_files_get_expiry (dial->files) : 0;
}

static void
hang_up (Line *line)
{
  g_clear_pointer (&line->session, dial_session_free);
  g_clear_object (&line->connection);
}

static gboolean
call (Dial *dial, const char *address, gint64 timeout_ms, Line *line, GError **error)
{
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GSocketConnectable) server = g_network_address_parse (
      address, dial->files != NULL ? DEFAULT_SECURE_PORT : DEFAULT_PORT, error);

  g_autoptr (GError) failure = NULL;

  *line = (Line){ 0 };
  if (server == NULL)
    return FALSE;
  g_socket_client_set_timeout (client, (guint) (MAX (timeout_ms, SHORTEST_TIMEOUT_MS) / 1000));
  g_socket_client_set_enable_proxy (client, FALSE);
  line->connection = g_socket_client_connect (client, server, NULL, &failure);
  if (line->connection == NULL)
    {
      /* Timed out is what a server is that accepts the connection and does not answer. */
      if (g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_TIMED_OUT))
        {
          g_set_error_literal (
              error, G_IO_ERROR, G_IO_ERROR_HOST_UNREACHABLE,
              "no answer to a connect: is the machine off, or a firewall in between?");
        }
      else
        {
          g_propagate_error (error, g_steal_pointer (&failure));
        }
      return FALSE;
    }
  line->deadline_us =
      g_get_monotonic_time () + MAX (timeout_ms, SHORTEST_TIMEOUT_MS) * G_TIME_SPAN_MILLISECOND;
  if (dial->files != NULL)
    {
      const char *host = dial->server_name != NULL
                             ? dial->server_name
                             : g_network_address_get_hostname (G_NETWORK_ADDRESS (server));
      line->session = dial_session_new (
          dial->files, g_socket_connection_get_socket (line->connection), host, timeout_ms, error);
      if (line->session == NULL)
        {
          hang_up (line);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
write_all (Line *line, const void *bytes, gsize size, GError **error)
{
  if (line->session != NULL)
    return dial_session_write (line->session, bytes, size, error) >= 0;
  return g_output_stream_write_all (g_io_stream_get_output_stream (G_IO_STREAM (line->connection)),
                                    bytes, size, NULL, NULL, error);
}

/* -1: it failed, or the answer is late. */
static gssize
read_some (Line *line, char *buffer, gsize size, GError **error)
{
  if (line->session != NULL)
    return dial_session_read (line->session, buffer, size, error);
  GSocket *socket = g_socket_connection_get_socket (line->connection);
  const gint64 left_us = line->deadline_us - g_get_monotonic_time ();
  return g_socket_condition_timed_wait (socket, G_IO_IN, MAX (left_us, 0), NULL, error)
             ? g_socket_receive (socket, buffer, size, NULL, error)
             : -1;
}

/* Until the server closes the connection, or is late. What came before still shows the protocol. */
static GBytes *
read_all (Line *line, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) failure = NULL;
  char buffer[8192];
  gssize n;

  while (text->len < MAX_ANSWER && (n = read_some (line, buffer, sizeof buffer, &failure)) > 0)
    g_string_append_len (text, buffer, n);
  if (text->len == 0 && failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return NULL;
    }
  return g_string_free_to_bytes (g_steal_pointer (&text));
}

GBytes *
dial_exchange (Dial *dial, const char *address, const void *bytes, gsize size, gint64 timeout_ms,
               GError **error)
{
  Line line;
  DialCertificate certificate = { 0 };
  GBytes *answer = NULL;

  if (!call (dial, address, timeout_ms, &line, error))
    return NULL;
  if (line.session != NULL)
    dial_session_inspect (line.session, &certificate);
  if (certificate.refusal != NULL)
    {
      g_set_error_literal (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED,
                           certificate.refusal);
    }
  else if (write_all (&line, bytes, size, error))
    {
      answer = read_all (&line, error);
    }
  g_free (certificate.refusal);
  hang_up (&line);
  return answer;
}

char *
dial_ask (Dial *dial, const char *address, const char *word, gint64 timeout_ms, GError **error)
{
  g_autoptr (GBytes) answer = dial_exchange (dial, address, word, strlen (word), timeout_ms, error);
  gsize size = 0;
  const char *text = answer != NULL ? g_bytes_get_data (answer, &size) : NULL;

  return answer != NULL ? g_strndup (text != NULL ? text : "", size) : NULL;
}

gboolean
dial_inspect (Dial *dial, const char *address, gint64 timeout_ms, DialCertificate *certificate,
              GError **error)
{
  Line line;

  if (!call (dial, address, timeout_ms, &line, error))
    return FALSE;
  dial_session_inspect (line.session, certificate);
  hang_up (&line);
  return TRUE;
}

gboolean
dial_offers_tls (const char *address, gint64 timeout_ms)
{
  DialFiles *files = dial_files_new (NULL, NULL);
  g_autoptr (Dial) dial = files != NULL ? new_dial (files, NULL) : NULL;
  g_autoptr (GError) error = NULL;
  DialCertificate certificate = { 0 };

  if (dial == NULL)
    return FALSE;
  const gboolean is_complete = dial_inspect (dial, address, timeout_ms, &certificate, &error);
  g_free (certificate.refusal);
  return is_complete
         || g_error_matches (error, CURATOR_CONNECT_ERROR,
                             CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE);
}
