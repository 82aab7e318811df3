/* One thread moves the bytes; a mutex guards all, and is held except in poll (). Both are not
 * GLib's, which ThreadSanitizer cannot see. */
#include "support/hosts.h"

#include "support/net.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LATE_US     (5 * G_USEC_PER_SEC)
#define MAX_FILLERS 16
/* How long a handshake on this machine may take before its SYN counts as dropped. */
#define FILL_MS   100
#define HALF_SIZE 100
#define POLL_MS   20

typedef struct
{
  char *ip;
  char *address;
  struct sockaddr_in name;
  HostWay way;
  int listener;             /* -1: there is none */
  int fillers[MAX_FILLERS]; /* of its queue */
  guint n_fillers;
} Host;

typedef struct
{
  Host *host;
  int client;
  int server;           /* -1: nobody answers */
  guint n_turns;        /* of the client's words */
  guint n_answers;      /* to these */
  gboolean client_last; /* the client has spoken last */
  gint64 held_since_us; /* the server's words are held back; 0: they are not */
  gsize n_sent;         /* to the client */
} Conn;

struct _Hosts
{
  pthread_mutex_t mutex;
  pthread_t thread;
  gboolean stops;
  char *server;
  gboolean is_tls;
  Host *all;
  guint n;
  GPtrArray *conns; /* Conn */
};

/* Between fork and exec a child of the test has the descriptor, too. */
static void
end_socket (int fd)
{
  if (fd >= 0) {
    shutdown (fd, SHUT_RDWR);
    close (fd);
  }
}

static void
conn_free (gpointer data)
{
  Conn *conn = data;
  end_socket (conn->client);
  end_socket (conn->server);
  g_free (conn);
}

static void
cut (Hosts *hosts, const Host *host)
{
  for (guint i = hosts->conns->len; i > 0; i--)
    if (((Conn *) hosts->conns->pdata[i - 1])->host == host)
      g_ptr_array_remove_index_fast (hosts->conns, i - 1);
}

static void
close_listener (Host *host)
{
  while (host->n_fillers > 0)
    end_socket (host->fillers[--host->n_fillers]);
  end_socket (host->listener);
  host->listener = -1;
}

/* Linux drops a SYN while the queue of connections that nobody has accepted is full. */
static void
fill_queue (Host *host)
{
  for (gboolean is_full = FALSE; !is_full;) {
    const int fd = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd connected = { .fd = fd, .events = POLLOUT };
    g_assert (host->n_fillers < MAX_FILLERS);
    host->fillers[host->n_fillers++] = fd;
    connect (fd, (struct sockaddr *) &host->name, sizeof host->name);
    is_full = poll (&connected, 1, FILL_MS) == 0;
  }
}

static void
set_way (Hosts *hosts, Host *host, HostWay way)
{
  g_assert (host->way == HOST_SERVES);
  cut (hosts, host);
  host->way = way;
  if (way == HOST_REFUSES) {
    close_listener (host);
  } else if (way == HOST_DROPS) {
    listen (host->listener, 0);
    fill_queue (host);
  }
}

static void
accept_one (Hosts *hosts, Host *host)
{
  const int fd = accept4 (host->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

  if (fd < 0)
    return;
  Conn *conn = g_new0 (Conn, 1);
  *conn = (Conn){ .host = host, .client = fd, .server = -1 };
  g_ptr_array_add (hosts->conns, conn);
  if (host->way == HOST_CLOSES) {
    g_ptr_array_remove_fast (hosts->conns, conn);
    return;
  }
  if (host->way != HOST_SILENT)
    conn->server = net_connect (hosts->server, 10000);
}

/* The number of bytes; 0 at the end. */
static gssize
pass (int from, int to, gsize most)
{
  char bytes[16384];
  const gssize got = recv (from, bytes, MIN (sizeof bytes, most), MSG_DONTWAIT);

  for (gssize sent = 0; to >= 0 && sent < got;) {
    const gssize n = send (to, bytes + sent, (gsize) (got - sent), MSG_NOSIGNAL);
    struct pollfd room = { .fd = to, .events = POLLOUT };
    if (n < 0 && (errno != EAGAIN || poll (&room, 1, 1000) <= 0))
      return 0;
    sent += MAX (n, 0);
  }
  return got < 0 && errno == EAGAIN ? 1 : MAX (got, 0);
}

/* When the client has asked for a session. */
static guint
n_turns_to_ask (const Hosts *hosts)
{
  return hosts->is_tls ? 2 : 1;
}

static gboolean
is_held_back (Hosts *hosts, Conn *conn)
{
  if (conn->host->way == HOST_HALF)
    return conn->n_sent >= HALF_SIZE;
  if (conn->host->way != HOST_LATE || conn->n_turns < n_turns_to_ask (hosts))
    return FALSE;
  conn->held_since_us = conn->held_since_us != 0 ? conn->held_since_us : g_get_monotonic_time ();
  return g_get_monotonic_time () < conn->held_since_us + LATE_US;
}

/* FALSE: it has ended. */
static gboolean
move (Hosts *hosts, Conn *conn, short client_events, short server_events)
{
  if (client_events != 0) {
    if (pass (conn->client, conn->server, G_MAXSIZE) == 0)
      return FALSE;
    conn->n_turns += conn->client_last ? 0 : 1;
    conn->client_last = TRUE;
  }
  if (server_events != 0 && !is_held_back (hosts, conn)) {
    const gssize n = pass (conn->server, conn->client,
                           conn->host->way == HOST_HALF ? HALF_SIZE - conn->n_sent : G_MAXSIZE);
    if (n == 0)
      return FALSE;
    conn->n_sent += (gsize) n;
    conn->n_answers += conn->client_last ? 1 : 0;
    conn->client_last = FALSE;
  }
  return TRUE;
}

/* Two for each connection behind those of the hosts. */
static struct pollfd *
list_fds (Hosts *hosts)
{
  struct pollfd *fds = g_new0 (struct pollfd, hosts->n + 2 * hosts->conns->len);

  for (guint i = 0; i < hosts->n; i++) {
    const Host *host = &hosts->all[i];
    fds[i].fd = host->way == HOST_DROPS ? -1 : host->listener;
    fds[i].events = POLLIN;
  }
  for (guint i = 0; i < hosts->conns->len; i++) {
    Conn *conn = hosts->conns->pdata[i];
    struct pollfd *both = &fds[hosts->n + 2 * i];
    both[0] = (struct pollfd){ .fd = conn->client, .events = POLLIN };
    both[1] =
        (struct pollfd){ .fd = is_held_back (hosts, conn) ? -1 : conn->server, .events = POLLIN };
  }
  return fds;
}

static void
turn (Hosts *hosts)
{
  g_autofree struct pollfd *fds = list_fds (hosts);
  const guint n_conns = hosts->conns->len;

  poll (fds, hosts->n + 2 * n_conns, 0);
  for (guint i = n_conns; i > 0; i--) {
    const struct pollfd *both = &fds[hosts->n + 2 * (i - 1)];
    if (!move (hosts, hosts->conns->pdata[i - 1], both[0].revents, both[1].revents))
      g_ptr_array_remove_index (hosts->conns, i - 1);
  }
  for (guint i = 0; i < hosts->n; i++)
    if (fds[i].revents != 0)
      accept_one (hosts, &hosts->all[i]);
}

static void *
run (void *data)
{
  Hosts *hosts = data;

  pthread_mutex_lock (&hosts->mutex);
  while (!hosts->stops) {
    /* Others may close what it waits for; turn () looks again. */
    g_autofree struct pollfd *fds = list_fds (hosts);
    const nfds_t n = hosts->n + 2 * hosts->conns->len;
    pthread_mutex_unlock (&hosts->mutex);
    poll (fds, n, POLL_MS);
    pthread_mutex_lock (&hosts->mutex);
    turn (hosts);
  }
  pthread_mutex_unlock (&hosts->mutex);
  return NULL;
}

/* FALSE: somebody has the port on one of them. */
static gboolean
listen_all (Hosts *hosts, int port)
{
  gboolean is_done = TRUE;

  for (guint i = 0; i < hosts->n; i++) {
    Host *host = &hosts->all[i];
    g_free (host->address);
    host->address = g_strdup_printf ("%s:%d", host->ip, port);
    net_parse (host->address, &host->name);
    host->listener = net_listen (&host->name);
    is_done &= host->listener >= 0;
  }
  for (guint i = 0; !is_done && i < hosts->n; i++)
    close_listener (&hosts->all[i]);
  return is_done;
}

Hosts *
hosts_new (const char *server, guint n, gboolean is_tls)
{
  Hosts *hosts = g_new0 (Hosts, 1);

  hosts->server = g_strdup (server);
  hosts->is_tls = is_tls;
  hosts->all = g_new0 (Host, n);
  hosts->n = n;
  hosts->conns = g_ptr_array_new_with_free_func (conn_free);
  for (guint i = 0; i < n; i++)
    hosts->all[i].ip = zk_server_new_host ();
  while (!listen_all (hosts, zk_server_free_port (hosts->all[0].ip))) {
  }
  pthread_mutex_init (&hosts->mutex, NULL);
  if (pthread_create (&hosts->thread, NULL, run, hosts) != 0)
    g_error ("no thread for the hosts");
  return hosts;
}

void
hosts_free (Hosts *hosts)
{
  pthread_mutex_lock (&hosts->mutex);
  hosts->stops = TRUE;
  pthread_mutex_unlock (&hosts->mutex);
  pthread_join (hosts->thread, NULL);
  pthread_mutex_destroy (&hosts->mutex);
  g_ptr_array_unref (hosts->conns);
  for (guint i = 0; i < hosts->n; i++) {
    close_listener (&hosts->all[i]);
    g_free (hosts->all[i].address);
    g_free (hosts->all[i].ip);
  }
  g_free (hosts->all);
  g_free (hosts->server);
  g_free (hosts);
}

const char *
hosts_address (Hosts *hosts, guint i)
{
  return hosts->all[i].address;
}

void
hosts_set (Hosts *hosts, guint i, HostWay way)
{
  pthread_mutex_lock (&hosts->mutex);
  set_way (hosts, &hosts->all[i], way);
  pthread_mutex_unlock (&hosts->mutex);
}

void
hosts_cut (Hosts *hosts, guint i)
{
  pthread_mutex_lock (&hosts->mutex);
  cut (hosts, &hosts->all[i]);
  pthread_mutex_unlock (&hosts->mutex);
}

int
hosts_find_connected (Hosts *hosts)
{
  int found = -1;

  pthread_mutex_lock (&hosts->mutex);
  for (guint i = 0; i < hosts->conns->len && found < 0; i++) {
    const Conn *conn = hosts->conns->pdata[i];
    if (conn->host->way == HOST_SERVES && conn->n_answers >= n_turns_to_ask (hosts))
      found = (int) (conn->host - hosts->all);
  }
  pthread_mutex_unlock (&hosts->mutex);
  return found;
}
