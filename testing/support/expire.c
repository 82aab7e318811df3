#include "expire.h"

#include "net.h"
#include "waiting.h"

#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_REPLY_LENGTH 41
#define CLOSE_REPLY_LENGTH   20
#define ANY_TIMEOUT_MS       4000

static void
put_frame (GByteArray *wire, GByteArray *body)
{
  net_put_buffer (wire, body->data, (gint32) body->len);
  g_byte_array_unref (body);
}

static GByteArray *
connect_and_close (gint64 id, const guint8 *password)
{
  GByteArray *wire = g_byte_array_new ();
  GByteArray *connect = g_byte_array_new ();
  guint8 not_read_only = 0;
  net_put_int32 (connect, 0); /* protocol version */
  net_put_int64 (connect, 0); /* last zxid seen */
  net_put_int32 (connect, ANY_TIMEOUT_MS);
  net_put_int64 (connect, id);
  net_put_buffer (connect, password, 16);
  g_byte_array_append (connect, &not_read_only, 1);
  put_frame (wire, connect);

  GByteArray *close = g_byte_array_new ();
  net_put_int32 (close, 1); /* xid */
  net_put_int32 (close, PROXY_CLOSE_SESSION);
  put_frame (wire, close);
  return wire;
}

/* TRUE when the session has certainly ended: closed by us, or unknown to the server. */
static gboolean
try_once (const char *server, GByteArray *wire)
{
  guint8 reply[CONNECT_REPLY_LENGTH + CLOSE_REPLY_LENGTH];
  int fd = net_connect (server, 5000);
  gsize got = 0;
  if (fd < 0)
    return FALSE;
  if (send (fd, wire->data, wire->len, MSG_NOSIGNAL) == (gssize) wire->len)
    got = net_read (fd, reply, sizeof reply, 5000);
  close (fd);
  gboolean unknown = got >= CONNECT_REPLY_LENGTH && net_get_int32 (reply + 8) == 0;
  return unknown || got == sizeof reply;
}

gboolean
expire_session (const char *server, gint64 id, const guint8 password[16], int timeout_ms)
{
  g_autoptr (GByteArray) wire = connect_and_close (id, password);
  gint64 deadline = wait_now_ms () + timeout_ms;
  while (!try_once (server, wire)) {
    /* The owner has reconnected meanwhile and moved the session: try again. */
    if (wait_now_ms () >= deadline)
      return FALSE;
    wait_ms (5);
  }
  return TRUE;
}

gboolean
expire_last_session (Proxy *proxy, const char *server, gint64 *id)
{
  gint64 session;
  guint8 password[16];
  if (!proxy_last_session (proxy, &session, password))
    return FALSE;
  if (id != NULL)
    *id = session;
  return expire_session (server, session, password, 60000);
}
