/* SPDX-License-Identifier: Apache-2.0
 * Serves the metrics of a client to Prometheus, over HTTP, while the program holds a lock. Ends at
 * SIGTERM or SIGINT.
 *
 * usage: metrics_http CONNECT-STRING [PORT]     (on 127.0.0.1; without a port a free one)
 */
#include <curator/curator.h>

#include <glib-unix.h>
#include <stdlib.h>
#include <string.h>

/* A request without an end must not fill the memory, and a silent peer must not keep a thread. */
#define LONGEST_REQUEST 8192
#define PATIENCE_S      10

/* Up to the empty line, which is not returned. */
static char *
read_request (GInputStream *in)
{
  g_autoptr (GString) request = g_string_new (NULL);
  while (request->len < LONGEST_REQUEST && strstr (request->str, "\r\n\r\n") == NULL) {
    char part[1024];
    const gssize n = g_input_stream_read (in, part, sizeof part, NULL, NULL);
    if (n <= 0)
      return NULL;
    g_string_append_len (request, part, n);
  }
  return g_strdup (request->str);
}

/* Runs on a thread of the service. */
static gboolean
on_request (GThreadedSocketService *service, GSocketConnection *connection, GObject *source,
            CuratorClient *client)
{
  GOutputStream *out = g_io_stream_get_output_stream (G_IO_STREAM (connection));
  g_socket_set_timeout (g_socket_connection_get_socket (connection), PATIENCE_S);
  g_autofree char *request = read_request (g_io_stream_get_input_stream (G_IO_STREAM (connection)));
  if (request == NULL)
    return TRUE;
  const gboolean found = g_str_has_prefix (request, "GET /metrics ");
  g_autofree char *body =
      found ? curator_client_format_metrics (client) : g_strdup ("Not here: /metrics\n");
  g_autofree char *answer = g_strdup_printf (
      "HTTP/1.1 %s\r\n"
      "Content-Type: %s; charset=utf-8\r\n"
      "Content-Length: %zu\r\n"
      "Connection: close\r\n"
      "\r\n"
      "%s",
      found ? "200 OK" : "404 Not Found",
      found ? "application/openmetrics-text; version=1.0.0" : "text/plain", strlen (body), body);
  g_output_stream_write_all (out, answer, strlen (answer), NULL, NULL, NULL);
  return TRUE;
}

/* 0: no such port can be had. */
static guint16
listen_on (GSocketService *service, guint16 port, GError **error)
{
  g_autoptr (GSocketAddress) wanted = g_inet_socket_address_new_from_string ("127.0.0.1", port);
  g_autoptr (GSocketAddress) bound = NULL;
  if (!g_socket_listener_add_address (G_SOCKET_LISTENER (service), wanted, G_SOCKET_TYPE_STREAM,
                                      G_SOCKET_PROTOCOL_TCP, NULL, &bound, error))
    return 0;
  return g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (bound));
}

static void
forget_client (gpointer client, GClosure *closure)
{
  curator_client_unref (client);
}

static gboolean
on_signal (gpointer loop)
{
  g_main_loop_quit (loop);
  return G_SOURCE_CONTINUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GSocketService) service = g_threaded_socket_service_new (4);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/metrics", &error);
  g_autoptr (CuratorLease) lease = NULL;
  const guint16 port = listen_on (service, argc > 2 ? (guint16) atoi (argv[2]) : 0, &error);

  if (lock != NULL && port != 0 && curator_client_start (client, &error))
    lease = curator_lock_acquire_lease (lock, 10000, NULL, &error);
  if (lease == NULL) {
    g_printerr ("metrics_http: %s\n", error->message);
    return 1;
  }
  /* A request may still be served when main () returns. */
  g_signal_connect_data (service, "run", G_CALLBACK (on_request), curator_client_ref (client),
                         forget_client, (GConnectFlags) 0);
  g_unix_signal_add (SIGTERM, on_signal, loop);
  g_unix_signal_add (SIGINT, on_signal, loop);
  g_print ("http://127.0.0.1:%d/metrics\n", port);
  g_main_loop_run (loop);
  g_socket_service_stop (service);
  g_socket_listener_close (G_SOCKET_LISTENER (service));
  return 0;
}
