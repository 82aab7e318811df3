#include "proxy-private.h"

#include "net.h"
#include "waiting.h"
#include "zk_address.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_TRIES 8

static void
accept_all (Proxy *proxy)
{
  int fd;
  while ((fd = accept4 (proxy->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
    int one = 1;
    setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    proxy->accepted++;
    ProxyConn *conn = proxy_conn_new (proxy, fd);
    conn->is_silent = conn->hold_requests = conn->hold_replies = proxy->n_silent > 0;
    proxy->n_silent -= conn->is_silent ? 1 : 0;
    g_ptr_array_add (proxy->conns, conn);
  }
}

static void
cut_talking (Proxy *proxy)
{
  for (guint i = 0; i < proxy->conns->len; i++) {
    ProxyConn *conn = g_ptr_array_index (proxy->conns, i);
    if (!conn->is_silent)
      proxy_conn_cut (conn);
  }
}

static void
cut_all (Proxy *proxy)
{
  for (guint i = 0; i < proxy->conns->len; i++)
    proxy_conn_cut (g_ptr_array_index (proxy->conns, i));
}

static void
desert_all (Proxy *proxy)
{
  for (guint i = 0; i < proxy->conns->len; i++) {
    const int fd = proxy_conn_desert (g_ptr_array_index (proxy->conns, i));
    g_array_append_val (proxy->deserted, fd);
  }
}

static void
end_desertion (Proxy *proxy)
{
  for (guint i = 0; i < proxy->deserted->len; i++) {
    const int fd = g_array_index (proxy->deserted, int, i);
    if (fd >= 0)
      close (fd);
  }
  g_array_set_size (proxy->deserted, 0);
}

static gboolean
is_closed (const Proxy *proxy)
{
  return proxy->mode == PROXY_REFUSE || proxy->mode == PROXY_DESERT;
}

static void
handle_all (Proxy *proxy, gboolean let_go)
{
  for (guint i = 0; i < proxy->conns->len; i++) {
    ProxyConn *conn = g_ptr_array_index (proxy->conns, i);
    conn->hold_requests = conn->hold_requests && !let_go;
    conn->hold_replies = conn->hold_replies && !let_go;
    conn->is_silent = conn->is_silent && !let_go;
    proxy_conn_handle (conn, 0, 0);
  }
}

static void
remove_dead (Proxy *proxy)
{
  for (guint i = proxy->conns->len; i > 0; i--) {
    ProxyConn *conn = g_ptr_array_index (proxy->conns, i - 1);
    if (conn->dead)
      g_ptr_array_remove_index (proxy->conns, i - 1);
  }
}

/* Another proxy of this process may have the port at a host that is used again. */
static void
move (Proxy *proxy)
{
  const int port = ntohs (proxy->name.sin_port);

  if (proxy->listen_fd >= 0) {
    close (proxy->listen_fd);
    proxy->listen_fd = -1;
  }
  cut_all (proxy);
  for (int tries = 0; tries < MOST_TRIES && proxy->listen_fd < 0; tries++) {
    g_autofree char *host = zk_server_new_host ();
    g_free (proxy->address);
    proxy->address = g_strdup_printf ("%s:%d", host, port);
    net_parse (proxy->address, &proxy->name);
    proxy->listen_fd = net_listen (&proxy->name);
  }
}

/* Nothing that comes is seen, not even by the kernel, which acknowledges none of it. Connections
 * that are accepted have what the listener has. */
static void
set_off (int fd, gboolean is_off)
{
  struct sock_filter nothing = BPF_STMT (BPF_RET | BPF_K, 0);
  const struct sock_fprog filter = { 1, &nothing };

  if (fd >= 0 && is_off)
    setsockopt (fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
  else if (fd >= 0)
    setsockopt (fd, SOL_SOCKET, SO_DETACH_FILTER, &(int){ 0 }, sizeof (int));
}

static void
set_all_off (Proxy *proxy, gboolean is_off)
{
  proxy->is_off = is_off;
  set_off (proxy->listen_fd, is_off);
  for (guint i = 0; i < proxy->conns->len; i++)
    set_off (((ProxyConn *) g_ptr_array_index (proxy->conns, i))->client_fd, is_off);
}

static void
obey_orders (Proxy *proxy)
{
  if (proxy->orders_done == proxy->orders_given)
    return;
  if (proxy->moves) {
    move (proxy);
    proxy->moves = FALSE;
  }
  if (is_closed (proxy) && proxy->listen_fd >= 0) {
    close (proxy->listen_fd);
    proxy->listen_fd = -1;
    if (proxy->mode == PROXY_DESERT)
      desert_all (proxy);
    cut_all (proxy);
  }
  if (proxy->mode != PROXY_DESERT)
    end_desertion (proxy);
  if (!is_closed (proxy) && proxy->listen_fd < 0)
    proxy->listen_fd = net_listen (&proxy->name);
  if (proxy->is_off != (proxy->mode == PROXY_OFF))
    set_all_off (proxy, !proxy->is_off);
  if (proxy->cut)
    cut_talking (proxy);
  /* Frames that were read before a hole or a hold are forwarded without a new event. */
  handle_all (proxy, proxy->let_go);
  proxy->cut = FALSE;
  proxy->let_go = FALSE;
  remove_dead (proxy);
  proxy->orders_done = proxy->orders_given;
  pthread_cond_broadcast (&proxy->changed);
}

/* NULL: until an event. Milliseconds would be too coarse for a delay of 1 ms. */
static const struct timespec *
poll_timeout (Proxy *proxy, struct timespec *room)
{
  gint64 due = G_MAXINT64;
  for (guint i = 0; i < proxy->conns->len; i++) {
    ProxyConn *conn = g_ptr_array_index (proxy->conns, i);
    /* A connection whose server could not be reached just now is closed without waiting. */
    due = MIN (due, conn->dead ? 0 : proxy_conn_due_ns (conn));
  }
  gint64 left = MAX (due - wait_now_ns (), 0);
  *room = (struct timespec){ left / 1000000000, left % 1000000000 };
  return due == G_MAXINT64 ? NULL : room;
}

/* pollfds: wake_fd, listen_fd, then two for each connection. */
static GArray *
prepare (Proxy *proxy)
{
  GArray *fds = g_array_new (FALSE, TRUE, sizeof (struct pollfd));
  g_array_set_size (fds, 2 + 2 * proxy->conns->len);
  struct pollfd *at = (struct pollfd *) (gpointer) fds->data;
  at[0] = (struct pollfd){ .fd = proxy->wake_fd, .events = POLLIN };
  at[1] = (struct pollfd){ .fd = proxy->listen_fd, .events = POLLIN };
  for (guint i = 0; i < proxy->conns->len; i++) {
    ProxyConn *conn = g_ptr_array_index (proxy->conns, i);
    proxy_conn_prepare (conn, &at[2 + 2 * i], &at[3 + 2 * i]);
  }
  return fds;
}

static void
handle (Proxy *proxy, GArray *fds)
{
  struct pollfd *at = (struct pollfd *) (gpointer) fds->data;
  guint n_conns = (fds->len - 2) / 2;
  guint64 wakes;
  if (at[0].revents != 0 && read (proxy->wake_fd, &wakes, sizeof wakes) < 0)
    g_warning ("the proxy's eventfd cannot be read");
  for (guint i = 0; i < n_conns; i++) {
    proxy_conn_handle (g_ptr_array_index (proxy->conns, i), at[2 + 2 * i].revents,
                       at[3 + 2 * i].revents);
  }
  if (at[1].revents != 0 && proxy->listen_fd >= 0)
    accept_all (proxy);
  remove_dead (proxy);
}

static void *
run (void *data)
{
  Proxy *proxy = data;
  pthread_mutex_lock (&proxy->mutex);
  while (!proxy->quit) {
    obey_orders (proxy);
    GArray *fds = prepare (proxy);
    struct timespec room;
    const struct timespec *timeout = poll_timeout (proxy, &room);
    pthread_mutex_unlock (&proxy->mutex);
    ppoll ((struct pollfd *) (gpointer) fds->data, fds->len, timeout, NULL);
    pthread_mutex_lock (&proxy->mutex);
    handle (proxy, fds);
    g_array_unref (fds);
  }
  cut_all (proxy);
  end_desertion (proxy);
  remove_dead (proxy);
  pthread_mutex_unlock (&proxy->mutex);
  return NULL;
}

static void
wake (Proxy *proxy)
{
  guint64 one = 1;
  if (write (proxy->wake_fd, &one, sizeof one) < 0)
    g_warning ("the proxy's eventfd cannot be written");
}

/* Called with the mutex held; returns when the proxy's thread has carried out the order. */
static void
give_order (Proxy *proxy)
{
  guint64 order = ++proxy->orders_given;
  wake (proxy);
  while (proxy->orders_done < order)
    pthread_cond_wait (&proxy->changed, &proxy->mutex);
}

static Proxy *
new_proxy (const char *server, const char *host, gboolean raw)
{
  Proxy *proxy = g_new0 (Proxy, 1);
  proxy->raw = raw;
  g_autofree char *any = g_strdup_printf ("%s:0", host);
  net_parse (any, &proxy->name);
  proxy->listen_fd = net_listen (&proxy->name);
  if (proxy->listen_fd < 0) {
    g_free (proxy);
    return NULL;
  }
  proxy->server = g_strdup (server);
  proxy->address = g_strdup_printf ("%s:%d", host, ntohs (proxy->name.sin_port));
  proxy->wake_fd = eventfd (0, EFD_CLOEXEC);
  proxy->conns = g_ptr_array_new_with_free_func ((GDestroyNotify) proxy_conn_free);
  proxy->deserted = g_array_new (FALSE, FALSE, sizeof (int));
  proxy->passwords = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  pthread_mutex_init (&proxy->mutex, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init (&monotonic);
  pthread_condattr_setclock (&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init (&proxy->changed, &monotonic);
  pthread_condattr_destroy (&monotonic);
  pthread_create (&proxy->thread, NULL, run, proxy);
  return proxy;
}

Proxy *
proxy_new (const char *server)
{
  g_autofree char *host = zk_server_new_host ();
  return new_proxy (server, host, FALSE);
}

Proxy *
proxy_new_raw (const char *server, const char *host)
{
  return new_proxy (server, host, TRUE);
}

void
proxy_set_call_back (Proxy *proxy, const char *address)
{
  pthread_mutex_lock (&proxy->mutex);
  g_free (proxy->call_back);
  proxy->call_back = g_strdup (address);
  pthread_mutex_unlock (&proxy->mutex);
}

void
proxy_free (Proxy *proxy)
{
  if (proxy == NULL)
    return;
  pthread_mutex_lock (&proxy->mutex);
  proxy->quit = TRUE;
  wake (proxy);
  pthread_mutex_unlock (&proxy->mutex);
  pthread_join (proxy->thread, NULL);
  if (proxy->listen_fd >= 0)
    close (proxy->listen_fd);
  close (proxy->wake_fd);
  g_ptr_array_unref (proxy->conns);
  g_array_unref (proxy->deserted);
  g_hash_table_unref (proxy->passwords);
  g_clear_pointer (&proxy->log, g_ptr_array_unref);
  pthread_cond_destroy (&proxy->changed);
  pthread_mutex_destroy (&proxy->mutex);
  g_free (proxy->server);
  g_free (proxy->address);
  g_free (proxy->call_back);
  g_free (proxy);
}

const char *
proxy_address (Proxy *proxy)
{
  return proxy->address;
}

void
proxy_set_mode (Proxy *proxy, ProxyMode mode)
{
  pthread_mutex_lock (&proxy->mutex);
  for (guint i = 0; i < proxy->conns->len; i++)
    proxy_conn_note_abandoned (g_ptr_array_index (proxy->conns, i));
  proxy->mode = mode;
  give_order (proxy);
  pthread_mutex_unlock (&proxy->mutex);
}

void
proxy_set_delay (Proxy *proxy, int to_server_ms, int to_client_ms)
{
  pthread_mutex_lock (&proxy->mutex);
  proxy->delay_to_server_ms = to_server_ms;
  proxy->delay_to_client_ms = to_client_ms;
  pthread_mutex_unlock (&proxy->mutex);
}

void
proxy_forget_sessions (Proxy *proxy, gboolean forget)
{
  pthread_mutex_lock (&proxy->mutex);
  proxy->forget_sessions = forget;
  pthread_mutex_unlock (&proxy->mutex);
}

void
proxy_silence (Proxy *proxy, int n)
{
  pthread_mutex_lock (&proxy->mutex);
  proxy->n_silent = n;
  pthread_mutex_unlock (&proxy->mutex);
}

int
proxy_silent_left (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  const int left = proxy->n_silent;
  pthread_mutex_unlock (&proxy->mutex);
  return left;
}

gboolean
proxy_move (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  proxy->moves = TRUE;
  give_order (proxy);
  const gboolean listens = proxy->listen_fd >= 0 || is_closed (proxy);
  pthread_mutex_unlock (&proxy->mutex);
  return listens;
}

void
proxy_cut (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  proxy->cut = TRUE;
  give_order (proxy);
  pthread_mutex_unlock (&proxy->mutex);
}

void
proxy_let_go (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  proxy->let_go = TRUE;
  give_order (proxy);
  pthread_mutex_unlock (&proxy->mutex);
}

void
proxy_arm (Proxy *proxy, int type, int k, int n, ProxyAction action)
{
  pthread_mutex_lock (&proxy->mutex);
  proxy->rule = (ProxyRule){ type, k, n, action };
  proxy->fired = 0;
  pthread_mutex_unlock (&proxy->mutex);
}

void
proxy_disarm (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  proxy->rule.left = 0;
  pthread_mutex_unlock (&proxy->mutex);
}

int
proxy_fired (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  int fired = proxy->fired;
  pthread_mutex_unlock (&proxy->mutex);
  return fired;
}

gboolean
proxy_wait_fired (Proxy *proxy, int times, int timeout_ms)
{
  gint64 deadline_ns = wait_now_ns () + (gint64) timeout_ms * 1000000;
  struct timespec until = { deadline_ns / 1000000000, deadline_ns % 1000000000 };
  int rc = 0;
  pthread_mutex_lock (&proxy->mutex);
  while (proxy->fired < times && rc == 0)
    rc = pthread_cond_timedwait (&proxy->changed, &proxy->mutex, &until);
  gboolean enough = proxy->fired >= times;
  pthread_mutex_unlock (&proxy->mutex);
  return enough;
}

int
proxy_count (Proxy *proxy, int type)
{
  int sum = 0;
  pthread_mutex_lock (&proxy->mutex);
  for (int i = 0; i < 256; i++) {
    gboolean any = type == PROXY_ANY_REQUEST && i != COUNT_SLOT (PROXY_PING);
    sum += any || i == COUNT_SLOT (type) ? proxy->counts[i] : 0;
  }
  pthread_mutex_unlock (&proxy->mutex);
  return sum;
}

ProxyBytes
proxy_bytes (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  ProxyBytes bytes = proxy->bytes;
  pthread_mutex_unlock (&proxy->mutex);
  return bytes;
}

void
proxy_reset_counts (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  memset (proxy->counts, 0, sizeof proxy->counts);
  proxy->bytes = (ProxyBytes){ 0 };
  pthread_mutex_unlock (&proxy->mutex);
}

int
proxy_connections (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  int n = (int) proxy->conns->len;
  pthread_mutex_unlock (&proxy->mutex);
  return n;
}

int
proxy_accepted (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  int n = proxy->accepted;
  pthread_mutex_unlock (&proxy->mutex);
  return n;
}

gboolean
proxy_password_of (Proxy *proxy, gint64 id, guint8 password[16])
{
  pthread_mutex_lock (&proxy->mutex);
  const guint8 *known = g_hash_table_lookup (proxy->passwords, &id);
  if (known != NULL)
    memcpy (password, known, 16);
  pthread_mutex_unlock (&proxy->mutex);
  return known != NULL;
}

gboolean
proxy_last_session (Proxy *proxy, gint64 *id, guint8 password[16])
{
  pthread_mutex_lock (&proxy->mutex);
  *id = proxy->last_session;
  pthread_mutex_unlock (&proxy->mutex);
  return proxy_password_of (proxy, *id, password);
}
