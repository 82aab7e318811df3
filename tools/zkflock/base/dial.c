/* Asks single servers questions outside any session: four-letter words and certificates.
 *
 * Where the client uses TLS a dial uses it too, with the same files, and says nothing to a server
 * that it cannot verify.
 */
#include "base/dial.h"

#include "base/secret.h"
#include "channel/channel_tls.h"

#include <string.h>

#define DEFAULT_PORT        2181
#define DEFAULT_SECURE_PORT 2281
#define TLS_PREFIX          "tls://"
/* 10,000 connections of "cons" are 2 MiB. */
#define MAX_ANSWER          (4 << 20)
#define SHORTEST_TIMEOUT_MS 1000

struct _Dial
{
  CuratorTls tls;
  CuratorTlsCredentials *credentials; /* NULL: clear text */
  char *server_name;                  /* of all servers, or NULL */
};

/* One connection; tls is NULL in clear text. */
typedef struct
{
  GSocketConnection *connection;
  CuratorTlsSession *tls;
  gint64 deadline_us; /* of the whole answer */
} Line;

char **
dial_split_hosts (const char *hosts)
{
  g_auto (GStrv) servers = g_strsplit (hosts, ",", -1);
  GPtrArray *names = g_ptr_array_new ();

  for (char **server = servers; *server != NULL; server++) {
    char *name = g_strstrip (*server);
    name +=
        g_ascii_strncasecmp (name, TLS_PREFIX, strlen (TLS_PREFIX)) == 0 ? strlen (TLS_PREFIX) : 0;
    name[strcspn (name, "/")] = '\0';
    if (*name != '\0')
      g_ptr_array_add (names, g_strdup (name));
  }
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

static gboolean
set_files (CuratorTls *tls, const Secure *secure, GError **error)
{
  tls->verify = TRUE;
  tls->ca_file = g_strdup (secure->tls_ca);
  tls->crl_file = g_strdup (secure->tls_crl);
  tls->certificate = g_strdup (secure->tls_cert);
  tls->key = g_strdup (secure->tls_key != NULL ? secure->tls_key : secure->tls_cert);
  if (tls->certificate == NULL || secure->tls_key_password_file == NULL)
    return TRUE;
  tls->password = secret_read_password (secure->tls_key_password_file, "key password file ", error);
  return tls->password != NULL;
}

Dial *
dial_new (const Secure *secure, GError **error)
{
  Dial *dial = g_new0 (Dial, 1);

  if (secure != NULL && !secure->is_tls)
    return dial;
  if (secure == NULL || set_files (&dial->tls, secure, error))
    dial->credentials = curator_tls_credentials_load (&dial->tls, error);
  if (dial->credentials == NULL) {
    dial_free (dial);
    return NULL;
  }
  dial->server_name = secure != NULL ? g_strdup (secure->tls_server_name) : NULL;
  return dial;
}

gboolean
dial_uses_tls (Dial *dial)
{
  return dial->credentials != NULL;
}

void
dial_free (Dial *dial)
{
  g_clear_pointer (&dial->credentials, curator_tls_credentials_free);
  g_free (dial->tls.ca_file);
  g_free (dial->tls.crl_file);
  g_free (dial->tls.certificate);
  g_free (dial->tls.key);
  secret_free (dial->tls.password);
  g_free (dial->server_name);
  g_free (dial);
}

gint64
dial_get_own_expiry (Dial *dial)
{
  return dial->credentials != NULL ? curator_tls_credentials_get_expiry (dial->credentials) : 0;
}

static void
hang_up (Line *line)
{
  g_clear_pointer (&line->tls, curator_tls_session_free);
  g_clear_object (&line->connection);
}

/* FALSE with error set if it is late. */
static gboolean
wait_ready (Line *line, GError **error)
{
  GSocket *socket = g_socket_connection_get_socket (line->connection);
  const gboolean writes = line->tls != NULL && curator_tls_session_wants_write (line->tls);
  const gint64 left_us = line->deadline_us - g_get_monotonic_time ();

  if (left_us > 0)
    return g_socket_condition_timed_wait (socket, writes ? G_IO_OUT : G_IO_IN, left_us, NULL,
                                          error);
  g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "no answer in time");
  return FALSE;
}

static gboolean
shake_hands (Line *line, Dial *dial, const char *host, gboolean verify, GError **error)
{
  const int fd = g_socket_get_fd (g_socket_connection_get_socket (line->connection));
  int rc;

  line->tls = curator_tls_session_new (fd, host, dial->credentials, verify, error);
  if (line->tls == NULL)
    return FALSE;
  do {
    rc = curator_tls_session_shake (line->tls, error);
  } while (rc == 0 && wait_ready (line, error));
  return rc > 0;
}

static void
on_event (GSocketClient *client, GSocketClientEvent event, GSocketConnectable *server,
          GIOStream *stream, gpointer progress)
{
  if (progress != NULL)
    g_atomic_int_set ((gint *) progress, event);
}

static gboolean
connect_to (GSocketConnectable *server, gint64 timeout_ms, gint *progress, Line *line,
            GError **error)
{
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GError) failure = NULL;

  g_socket_client_set_timeout (client, (guint) (timeout_ms / 1000));
  g_socket_client_set_enable_proxy (client, FALSE);
  g_signal_connect (client, "event", G_CALLBACK (on_event), progress);
  line->connection = g_socket_client_connect (client, server, NULL, &failure);
  if (line->connection != NULL)
    return TRUE;
  /* Timed out is what a server is that accepts the connection and does not answer. */
  if (g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_TIMED_OUT))
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_HOST_UNREACHABLE, DIAL_UNANSWERED);
  else
    g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* verify: who only looks at a certificate wants to see a bad one, too. */
static gboolean
call (Dial *dial, const char *address, gint64 timeout_ms, gboolean verify, gint *progress,
      Line *line, GError **error)
{
  const gboolean is_tls = dial_uses_tls (dial);
  g_autoptr (GSocketConnectable) server =
      g_network_address_parse (address, is_tls ? DEFAULT_SECURE_PORT : DEFAULT_PORT, error);

  *line = (Line){ 0 };
  timeout_ms = MAX (timeout_ms, SHORTEST_TIMEOUT_MS);
  if (server == NULL || !connect_to (server, timeout_ms, progress, line, error))
    return FALSE;
  line->deadline_us = g_get_monotonic_time () + timeout_ms * G_TIME_SPAN_MILLISECOND;
  const char *host = dial->server_name != NULL
                         ? dial->server_name
                         : g_network_address_get_hostname (G_NETWORK_ADDRESS (server));
  if (!is_tls || shake_hands (line, dial, host, verify, error))
    return TRUE;
  hang_up (line);
  return FALSE;
}

static gboolean
write_all (Line *line, const void *bytes, gsize size, GError **error)
{
  gssize n;

  if (line->tls == NULL) {
    GOutputStream *out = g_io_stream_get_output_stream (G_IO_STREAM (line->connection));
    return g_output_stream_write_all (out, bytes, size, NULL, NULL, error);
  }
  do {
    n = curator_tls_session_write (line->tls, bytes, size, error);
  } while (n == 0 && wait_ready (line, error));
  return n > 0;
}

/* At most 0: the end, or with error set a failure, or the answer is late. */
static gssize
read_some (Line *line, guint8 *buffer, gsize size, GError **error)
{
  GSocket *socket = g_socket_connection_get_socket (line->connection);
  gssize n;

  if (line->tls == NULL)
    return wait_ready (line, error) ? g_socket_receive (socket, (char *) buffer, size, NULL, error)
                                    : -1;
  do {
    n = curator_tls_session_read (line->tls, buffer, size, error);
  } while (n == 0 && wait_ready (line, error));
  return n;
}

char *
dial_exchange (Dial *dial, const char *address, const void *bytes, gsize *size, gint64 timeout_ms,
               gint *progress, GError **error)
{
  g_autoptr (GString) answer = g_string_new (NULL);
  g_autoptr (GError) failure = NULL;
  guint8 buffer[8192];
  gssize n;
  Line line;

  if (!call (dial, address, timeout_ms, TRUE, progress, &line, error))
    return NULL;
  if (write_all (&line, bytes, *size, &failure))
    /* Until the server closes the connection, or is late. */
    while (answer->len < MAX_ANSWER && (n = read_some (&line, buffer, sizeof buffer, &failure)) > 0)
      g_string_append_len (answer, (const char *) buffer, n);
  hang_up (&line);
  /* What came before a failure still shows the protocol. */
  if (answer->len == 0 && failure != NULL) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return NULL;
  }
  *size = answer->len;
  return g_string_free (g_steal_pointer (&answer), FALSE);
}

char *
dial_ask (Dial *dial, const char *address, const char *word, gint64 timeout_ms, gint *progress,
          GError **error)
{
  gsize size = strlen (word);
  return dial_exchange (dial, address, word, &size, timeout_ms, progress, error);
}

gboolean
dial_inspect (Dial *dial, const char *address, gint64 timeout_ms, DialCertificate *certificate,
              GError **error)
{
  Line line;

  if (!call (dial, address, timeout_ms, FALSE, NULL, &line, error))
    return FALSE;
  g_autofree char *refusal = curator_tls_session_dup_refusal (line.tls);
  certificate->expires_at = curator_tls_session_get_peer_expiry (line.tls);
  certificate->refusal = refusal != NULL ? curator_escape_name (refusal, -1) : NULL;
  hang_up (&line);
  return TRUE;
}

gboolean
dial_offers_tls (const char *address, gint64 timeout_ms)
{
  g_autoptr (Dial) dial = dial_new (NULL, NULL);
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
