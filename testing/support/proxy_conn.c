/* One proxied connection: frames in, rules applied, frames out. Runs on the proxy's thread with its
 * mutex held. */
#include "proxy-private.h"

#include "net.h"
#include "waiting.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_FRAME (16 * 1024 * 1024)
/* Minimum size and offsets in a connect request, including the frame's length. */
#define CONNECT_LENGTH      48
#define CONNECT_SESSION_AT  20
#define CONNECT_PASSWORD_AT 32

typedef struct
{
  gint64 due_ns;
  GByteArray *bytes;
} Frame;

static void
frame_free (gpointer data)
{
  Frame *frame = data;
  g_byte_array_unref (frame->bytes);
  g_free (frame);
}

static void
pipe_init (ProxyPipe *pipe)
{
  pipe->in = g_byte_array_new ();
  pipe->out = g_byte_array_new ();
  g_queue_init (&pipe->frames);
}

static void
pipe_clear (ProxyPipe *pipe)
{
  g_byte_array_unref (pipe->in);
  g_byte_array_unref (pipe->out);
  while (!g_queue_is_empty (&pipe->frames))
    frame_free (g_queue_pop_head (&pipe->frames));
}

static gboolean
pipe_is_empty (ProxyPipe *pipe)
{
  return g_queue_is_empty (&pipe->frames) && pipe->out->len == 0;
}

static void
pipe_push (ProxyPipe *pipe, const guint8 *at, guint length, int delay_ms)
{
  Frame *frame = g_new (Frame, 1);
  frame->due_ns = wait_now_ns () + delay_ms * G_GINT64_CONSTANT (1000000);
  frame->bytes = g_byte_array_sized_new (length);
  g_byte_array_append (frame->bytes, at, length);
  g_queue_push_tail (&pipe->frames, frame);
}

/* Moves frames that are due to the output buffer. */
static void
pipe_ripen (ProxyPipe *pipe, gint64 now_ns)
{
  Frame *frame;
  while ((frame = g_queue_peek_head (&pipe->frames)) != NULL && frame->due_ns <= now_ns) {
    g_byte_array_append (pipe->out, frame->bytes->data, frame->bytes->len);
    frame_free (g_queue_pop_head (&pipe->frames));
  }
}

static gboolean
pipe_write (ProxyPipe *pipe, int fd)
{
  while (pipe->out->len > 0) {
    gssize n = send (fd, pipe->out->data, pipe->out->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0)
      return errno == EAGAIN || errno == EINTR;
    g_byte_array_remove_range (pipe->out, 0, (guint) n);
  }
  return TRUE;
}

/* FALSE when the connection broke; an orderly end only sets pipe->ended. */
static gboolean
pipe_read (ProxyPipe *pipe, int fd)
{
  guint8 buffer[65536];
  gssize n = recv (fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n > 0)
    g_byte_array_append (pipe->in, buffer, (guint) n);
  pipe->ended = pipe->ended || n == 0;
  return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static gboolean
requests_flow (ProxyConn *conn)
{
  ProxyMode mode = conn->proxy->mode;
  return !conn->dead && !conn->hold_requests
         && (mode == PROXY_PASS || mode == PROXY_HOLE_TO_CLIENT);
}

static gboolean
replies_flow (ProxyConn *conn)
{
  ProxyMode mode = conn->proxy->mode;
  return !conn->dead && !conn->hold_replies && (mode == PROXY_PASS || mode == PROXY_HOLE_TO_SERVER);
}

ProxyConn *
proxy_conn_new (Proxy *proxy, int client_fd)
{
  ProxyConn *conn = g_new0 (ProxyConn, 1);
  conn->proxy = proxy;
  conn->client_fd = client_fd;
  conn->server_fd = -1;
  conn->replies = g_hash_table_new (NULL, NULL);
  conn->asked = g_hash_table_new (NULL, NULL);
  pipe_init (&conn->to_server);
  pipe_init (&conn->to_client);
  return conn;
}

void
proxy_conn_free (ProxyConn *conn)
{
  close (conn->client_fd);
  if (conn->server_fd >= 0)
    close (conn->server_fd);
  g_hash_table_unref (conn->replies);
  g_hash_table_unref (conn->asked);
  pipe_clear (&conn->to_server);
  pipe_clear (&conn->to_client);
  g_free (conn);
}

void
proxy_conn_cut (ProxyConn *conn)
{
  if (conn->server_fd >= 0 && requests_flow (conn)) {
    pipe_ripen (&conn->to_server, G_MAXINT64);
    pipe_write (&conn->to_server, conn->server_fd);
  }
  net_reset_on_close (conn->client_fd);
  conn->dead = TRUE;
}

int
proxy_conn_desert (ProxyConn *conn)
{
  const int server_fd = conn->server_fd;
  conn->server_fd = -1;
  net_reset_on_close (conn->client_fd);
  conn->dead = TRUE;
  return server_fd;
}

/* How to treat this request; TRUE if the rule picks it. */
static gboolean
rule_picks (Proxy *proxy, int type, ProxyAction *action)
{
  ProxyRule *rule = &proxy->rule;
  proxy->counts[COUNT_SLOT (type)]++;
  gboolean matches = rule->type == type || (rule->type == PROXY_ANY_REQUEST && type != PROXY_PING);
  if (rule->left == 0 || !matches || --rule->skip > 0)
    return FALSE;
  rule->left--;
  *action = rule->action;
  return TRUE;
}

static void
rule_done (Proxy *proxy)
{
  proxy->fired++;
  pthread_cond_broadcast (&proxy->changed);
}

/* TRUE if the frame may be forwarded, FALSE if it must wait where it is or the connection died. */
static gboolean
on_picked_request (ProxyConn *conn, gint32 xid, ProxyAction action)
{
  switch (action) {
  case PROXY_CUT_BEFORE:
    proxy_conn_cut (conn);
    break;
  case PROXY_HOLE_BEFORE:
    conn->proxy->mode = PROXY_HOLE;
    break;
  case PROXY_HOLD_REQUEST:
    conn->hold_requests = TRUE;
    break;
  case PROXY_CUT_BEFORE_REPLY:
  case PROXY_CUT_AFTER_REPLY:
  case PROXY_HOLE_BEFORE_REPLY:
  case PROXY_HOLD_REPLY:
  default:
    g_hash_table_insert (conn->replies, GINT_TO_POINTER (xid), GINT_TO_POINTER (1 + (int) action));
    return TRUE;
  }
  conn->examined = TRUE;
  rule_done (conn->proxy);
  return FALSE;
}

/* The first frame is the connect request, which has no type. */
static gboolean
on_request (ProxyConn *conn, guint8 *frame, guint length)
{
  ProxyAction action;
  gboolean known = conn->examined || !conn->to_server.greeted || length < 12;
  if (!conn->to_server.greeted && conn->proxy->forget_sessions && length >= CONNECT_LENGTH) {
    memset (frame + CONNECT_SESSION_AT, 0, 8);
    memset (frame + CONNECT_PASSWORD_AT, 0, 16);
  }
  conn->to_server.greeted = TRUE;
  conn->examined = FALSE;
  if (known)
    return TRUE;
  gint32 xid = net_get_int32 (frame + 4);
  gint32 type = net_get_int32 (frame + 8);
  return !rule_picks (conn->proxy, type, &action) || on_picked_request (conn, xid, action);
}

/* TRUE if the reply goes on to the client's queue. */
static gboolean
on_picked_reply (ProxyConn *conn, const guint8 *frame, guint length, ProxyAction action)
{
  switch (action) {
  case PROXY_CUT_BEFORE_REPLY:
    proxy_conn_cut (conn);
    break;
  case PROXY_CUT_AFTER_REPLY:
    pipe_push (&conn->to_client, frame, length, 0);
    pipe_ripen (&conn->to_client, G_MAXINT64);
    pipe_write (&conn->to_client, conn->client_fd);
    proxy_conn_cut (conn);
    break;
  case PROXY_HOLE_BEFORE_REPLY:
    conn->proxy->mode = PROXY_HOLE;
    break;
  case PROXY_HOLD_REPLY:
    conn->hold_replies = TRUE;
    break;
  case PROXY_CUT_BEFORE:
  case PROXY_HOLE_BEFORE:
  case PROXY_HOLD_REQUEST:
  default:
    break;
  }
  rule_done (conn->proxy);
  return !conn->dead;
}

static void
remember_session (Proxy *proxy, gint64 id, const guint8 *password)
{
  g_hash_table_replace (proxy->passwords, g_memdup (&id, sizeof id), g_memdup (password, 16));
  proxy->last_session = id;
}

static void
sniff_connect_response (ProxyConn *conn, const guint8 *frame, guint length)
{
  /* length, protocol version, timeout, session id, password length, password */
  if (length >= 40 && net_get_int32 (frame + 8) > 0 && net_get_int32 (frame + 20) == 16) {
    conn->session = net_get_int64 (frame + 12);
    remember_session (conn->proxy, conn->session, frame + 24);
  }
}

static gboolean
on_reply (ProxyConn *conn, const guint8 *frame, guint length)
{
  if (!conn->to_client.greeted) {
    conn->to_client.greeted = TRUE;
    sniff_connect_response (conn, frame, length);
    return TRUE;
  }
  gpointer xid = GINT_TO_POINTER (length >= 8 ? net_get_int32 (frame + 4) : 0);
  int picked = GPOINTER_TO_INT (g_hash_table_lookup (conn->replies, xid));
  g_hash_table_remove (conn->replies, xid);
  return picked == 0 || on_picked_reply (conn, frame, length, (ProxyAction) (picked - 1));
}

static guint
whole_frame (ProxyConn *conn, GByteArray *in)
{
  gint32 length = in->len >= 4 ? net_get_int32 (in->data) : -1;
  if (length > MAX_FRAME || (in->len >= 4 && length < 0)) {
    proxy_conn_cut (conn);
    return 0;
  }
  return length >= 0 && in->len >= 4U + (guint) length ? 4U + (guint) length : 0;
}

/* Only the greeting of an election connection is parsed. */
static void
take_raw (ProxyConn *conn, ProxyPipe *pipe, int delay_ms)
{
  const char *call_back = pipe == &conn->to_server ? conn->proxy->call_back : NULL;
  if (call_back != NULL && !pipe->greeted) {
    guint length = proxy_greeting_length (pipe->in);
    if (length == 0)
      return;
    g_autoptr (GByteArray) greeting = proxy_greeting_with (pipe->in->data, call_back);
    pipe_push (pipe, greeting->data, greeting->len, delay_ms);
    g_byte_array_remove_range (pipe->in, 0, length);
    pipe->greeted = TRUE;
  }
  if (pipe->in->len > 0) {
    pipe_push (pipe, pipe->in->data, pipe->in->len, delay_ms);
    g_byte_array_set_size (pipe->in, 0);
  }
}

static void
take_requests (ProxyConn *conn)
{
  ProxyPipe *pipe = &conn->to_server;
  guint length;
  if (conn->proxy->raw) {
    if (requests_flow (conn))
      take_raw (conn, pipe, conn->proxy->delay_to_server_ms);
    return;
  }
  while (requests_flow (conn) && (length = whole_frame (conn, pipe->in)) > 0) {
    if (on_request (conn, pipe->in->data, length)) {
      conn->proxy->bytes.to_server += length;
      proxy_log_request (conn, pipe->in->data, length);
      pipe_push (pipe, pipe->in->data, length, conn->proxy->delay_to_server_ms);
      g_byte_array_remove_range (pipe->in, 0, length);
    }
  }
}

static void
take_replies (ProxyConn *conn)
{
  ProxyPipe *pipe = &conn->to_client;
  guint length;
  if (conn->proxy->raw) {
    if (replies_flow (conn))
      take_raw (conn, pipe, conn->proxy->delay_to_client_ms);
    return;
  }
  while (replies_flow (conn) && (length = whole_frame (conn, pipe->in)) > 0) {
    if (on_reply (conn, pipe->in->data, length)) {
      conn->proxy->bytes.to_client += length;
      proxy_log_reply (conn, pipe->in->data, length);
      pipe_push (pipe, pipe->in->data, length, conn->proxy->delay_to_client_ms);
    }
    g_byte_array_remove_range (pipe->in, 0, length);
  }
}

static void
connect_upstream (ProxyConn *conn)
{
  if (conn->server_fd < 0 && requests_flow (conn) && !conn->abandoned) {
    conn->server_fd = net_connect (conn->proxy->server, 1000);
    if (conn->server_fd < 0)
      proxy_conn_cut (conn);
  }
}

void
proxy_conn_prepare (ProxyConn *conn, struct pollfd *client, struct pollfd *server)
{
  gint64 now = wait_now_ns ();
  connect_upstream (conn);
  gboolean up = requests_flow (conn);
  gboolean down = replies_flow (conn);
  if (up)
    pipe_ripen (&conn->to_server, now);
  if (down)
    pipe_ripen (&conn->to_client, now);
  short read_client = up && !conn->to_server.ended ? POLLIN : 0;
  short write_client = down && conn->to_client.out->len > 0 ? POLLOUT : 0;
  short read_server = down && !conn->to_client.ended ? POLLIN : 0;
  short write_server = up && conn->to_server.out->len > 0 ? POLLOUT : 0;

  client->events = (short) (read_client | write_client);
  client->fd = conn->client_fd;
  if (client->events == 0) {
    /* In a hole the proxy detects only that a client closes. */
    client->events = POLLRDHUP;
    client->fd = conn->abandoned || conn->to_server.ended ? -1 : conn->client_fd;
  }
  server->events = (short) (read_server | write_server);
  server->fd = server->events != 0 ? conn->server_fd : -1;
}

void
proxy_conn_note_abandoned (ProxyConn *conn)
{
  struct pollfd client = { .fd = conn->client_fd, .events = POLLRDHUP };
  if (!conn->dead && !requests_flow (conn) && !conn->to_server.ended && poll (&client, 1, 0) > 0)
    conn->abandoned = TRUE;
}

static gboolean
handle_client (ProxyConn *conn, short events)
{
  gboolean fine = TRUE;
  if (events != 0 && !requests_flow (conn))
    conn->abandoned = conn->abandoned || (events & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  else if ((events & (POLLIN | POLLHUP | POLLERR)) != 0)
    fine = pipe_read (&conn->to_server, conn->client_fd);
  if (fine && replies_flow (conn))
    fine = pipe_write (&conn->to_client, conn->client_fd);
  return fine;
}

static gboolean
handle_server (ProxyConn *conn, short events)
{
  gboolean fine = TRUE;
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && replies_flow (conn))
    fine = pipe_read (&conn->to_client, conn->server_fd);
  if (fine && requests_flow (conn) && conn->server_fd >= 0)
    fine = pipe_write (&conn->to_server, conn->server_fd);
  return fine;
}

void
proxy_conn_handle (ProxyConn *conn, short client_events, short server_events)
{
  if (conn->dead)
    return;
  if (conn->abandoned && conn->proxy->mode == PROXY_PASS) {
    conn->dead = TRUE;
    return;
  }
  if (!handle_client (conn, client_events) || !handle_server (conn, server_events)) {
    proxy_conn_cut (conn);
    return;
  }
  take_requests (conn);
  take_replies (conn);
  gboolean client_done = conn->to_server.ended && pipe_is_empty (&conn->to_server);
  gboolean server_done = conn->to_client.ended && pipe_is_empty (&conn->to_client);
  conn->dead =
      conn->dead || (requests_flow (conn) && client_done) || (replies_flow (conn) && server_done);
}

gint64
proxy_conn_due_ns (ProxyConn *conn)
{
  Frame *up = requests_flow (conn) ? g_queue_peek_head (&conn->to_server.frames) : NULL;
  Frame *down = replies_flow (conn) ? g_queue_peek_head (&conn->to_client.frames) : NULL;
  return MIN (up != NULL ? up->due_ns : G_MAXINT64, down != NULL ? down->due_ns : G_MAXINT64);
}
