/* The log of a proxy, frame by frame. Requests and replies are logged on the proxy's thread with
 * its mutex held, so their order is that of forwarding. */
#include "proxy-private.h"

#include "net.h"

#include <string.h>

#define EVENT_XID (-1)

/* A length and as many bytes, if the frame has them. */
static char *
text_at (const guint8 *frame, guint length, guint at)
{
  const gint32 n = length >= at + 4 ? net_get_int32 (frame + at) : -1;
  return n >= 0 && length >= at + 4 + (guint) n
             ? g_strndup ((const char *) frame + at + 4, (gsize) n)
             : NULL;
}

static void
note (ProxyConn *conn, ProxyFrame frame)
{
  frame.session = conn->session;
  g_ptr_array_add (conn->proxy->log, g_memdup (&frame, sizeof frame));
}

static void
frame_free (gpointer data)
{
  ProxyFrame *frame = data;
  g_free (frame->path);
  g_free (frame);
}

static gboolean
has_path (int type)
{
  return type != PROXY_PING && type != PROXY_MULTI && type != PROXY_AUTH
         && type != PROXY_SET_WATCHES && type != PROXY_CLOSE_SESSION;
}

static gboolean
is_read (int type)
{
  return type == PROXY_EXISTS || type == PROXY_GET_DATA || type == PROXY_GET_CHILDREN
         || type == PROXY_GET_CHILDREN2;
}

void
proxy_log_request (ProxyConn *conn, const guint8 *frame, guint length)
{
  if (conn->proxy->log == NULL || conn->session == 0 || length < 12)
    return;
  const int type = net_get_int32 (frame + 8);
  char *path = has_path (type) ? text_at (frame, length, 12) : NULL;
  const guint end = path != NULL ? 16 + (guint) strlen (path) : length;
  g_hash_table_insert (conn->asked, GINT_TO_POINTER (net_get_int32 (frame + 4)),
                       GINT_TO_POINTER (type));
  note (conn, (ProxyFrame){ .type = type,
                            .path = path,
                            .watch = is_read (type) && end < length && frame[end] != 0 });
}

void
proxy_log_reply (ProxyConn *conn, const guint8 *frame, guint length)
{
  if (conn->proxy->log == NULL || conn->session == 0 || length < 20)
    return;
  const gint32 xid = net_get_int32 (frame + 4);
  if (xid == EVENT_XID && length >= 28) {
    note (conn, (ProxyFrame){ .type = PROXY_EVENT,
                              .code = net_get_int32 (frame + 20),
                              .path = text_at (frame, length, 28) });
    return;
  }
  /* Answers to requests from before the start of the log are not part of it. */
  gpointer type;
  if (g_hash_table_lookup_extended (conn->asked, GINT_TO_POINTER (xid), NULL, &type)) {
    g_hash_table_remove (conn->asked, GINT_TO_POINTER (xid));
    const gboolean makes =
        GPOINTER_TO_INT (type) == PROXY_CREATE || GPOINTER_TO_INT (type) == PROXY_CREATE2;
    note (conn, (ProxyFrame){ .type = GPOINTER_TO_INT (type),
                              .is_reply = TRUE,
                              .code = net_get_int32 (frame + 16),
                              .path = makes ? text_at (frame, length, 20) : NULL });
  }
}

void
proxy_log_start (Proxy *proxy)
{
  pthread_mutex_lock (&proxy->mutex);
  g_clear_pointer (&proxy->log, g_ptr_array_unref);
  proxy->log = g_ptr_array_new_with_free_func (frame_free);
  for (guint i = 0; i < proxy->conns->len; i++) {
    ProxyConn *conn = g_ptr_array_index (proxy->conns, i);
    g_hash_table_remove_all (conn->asked);
  }
  pthread_mutex_unlock (&proxy->mutex);
}

GPtrArray *
proxy_log_copy (Proxy *proxy)
{
  GPtrArray *copy = g_ptr_array_new_with_free_func (frame_free);
  pthread_mutex_lock (&proxy->mutex);
  for (guint i = 0; proxy->log != NULL && i < proxy->log->len; i++) {
    ProxyFrame *frame = g_memdup (g_ptr_array_index (proxy->log, i), sizeof *frame);
    frame->path = g_strdup (frame->path);
    g_ptr_array_add (copy, frame);
  }
  pthread_mutex_unlock (&proxy->mutex);
  return copy;
}
