/* Requests, replies and sessions of the peer. Threads: the main one. */
#include "peer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SESSION_TIMEOUT_MS 30000
#define CONNECT_MS         30000

static GHashTable *sessions; /* server, number and timeout to client */

void
peer_die (const char *what, const GError *error)
{
  g_printerr ("bench_peer: %s%s%s\n", what, error != NULL ? ": " : "",
              error != NULL ? error->message : "");
  exit (1);
}

static void G_GNUC_PRINTF (2, 0)
    print_line (const char *word, const char *format, va_list arguments)
{
  fputs (word, stdout);
  vprintf (format, arguments);
  putchar ('\n');
  fflush (stdout);
}

void
peer_reply (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  print_line ("ok ", format, arguments);
  va_end (arguments);
}

void
peer_ready_steady (const char *format, ...)
{
  char line[16];
  va_list arguments;
  va_start (arguments, format);
  print_line ("ready ", format, arguments);
  va_end (arguments);
  if (fgets (line, sizeof line, stdin) == NULL || !g_str_equal (line, "go\n"))
    peer_die ("no go", NULL);
}

gint64
peer_now_ns (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

/* security= tls or sasl, folder= of make_certificates. */
static void
secure (CuratorClient *client, const Request *request)
{
  const char *security = request_text (request, "security");
  const char *folder = request_text (request, "folder");
  g_autofree char *ca = g_build_filename (folder, "ca.pem", NULL);
  g_autofree char *certificate = g_build_filename (folder, "client.pem", NULL);
  g_autofree char *key = g_build_filename (folder, "client.key", NULL);
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (GError) error = NULL;
  gboolean fine;

  if (g_str_equal (security, "tls")) {
    curator_tls_set_server_name (tls, "zk.test");
    fine = curator_tls_set_ca_file (tls, ca, &error)
           && curator_tls_set_certificate_files (tls, certificate, key, NULL, &error)
           && curator_client_set_tls (client, tls, &error);
  } else {
    fine = curator_client_set_sasl_digest (client, "alice", "correct horse battery staple", &error);
  }
  if (!fine)
    peer_die (security, error);
}

CuratorClient *
peer_start_session (const Request *request, const char *server_key, int i)
{
  const char *server = request_text (request, server_key);
  const gint64 timeout_ms = request_flag (request, "session_ms")
                                ? request_number (request, "session_ms")
                                : SESSION_TIMEOUT_MS;
  g_autofree char *key = g_strdup_printf ("%s %d %d", server, i, (int) timeout_ms);
  CuratorClient *client = g_hash_table_lookup (sessions, key);
  g_autoptr (GError) error = NULL;
  if (client == NULL) {
    client = curator_client_new (server, NULL);
    curator_client_set_session_timeout (client, timeout_ms);
    if (request_flag (request, "security"))
      secure (client, request);
    if (!curator_client_start (client, &error))
      peer_die (server, error);
    g_hash_table_insert (sessions, g_steal_pointer (&key), client);
  }
  return client;
}

CuratorClient *
peer_session (const Request *request, const char *server_key, int i)
{
  CuratorClient *client = peer_start_session (request, server_key, i);
  g_autoptr (GError) error = NULL;
  if (!curator_client_block_until_connected (client, CONNECT_MS, NULL, &error))
    peer_die (request_text (request, server_key), error);
  return client;
}

const char *
request_text (const Request *request, const char *key)
{
  const char *value = g_hash_table_lookup (request->values, key);
  if (value == NULL)
    peer_die (key, NULL);
  return value;
}

gint64
request_number (const Request *request, const char *key)
{
  return g_ascii_strtoll (request_text (request, key), NULL, 10);
}

gboolean
request_flag (const Request *request, const char *key)
{
  const char *value = g_hash_table_lookup (request->values, key);
  return value != NULL && !g_str_equal (value, "0");
}

void
peer_init (void)
{
  sessions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                    (GDestroyNotify) curator_client_unref);
}

void
peer_clear (void)
{
  g_hash_table_unref (sessions);
}
