/* The floor below libzookeeper: a blocking socket and the three requests of an uncontended mutex,
 * without any thread. Nothing can be faster with ZooKeeper's protocol on one connection. An error
 * ends the process. Threads: one thread uses a BareSocket. */
#include "peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>

#define SESSION_MS           30000
#define NODE                 "_c_00000000-0000-4000-8000-000000000000-lock-"
#define PASSWORD             16 /* bytes */
#define HEADER               16 /* bytes of a reply before its record */
#define OP_DELETE            2
#define OP_CHILDREN          8
#define OP_CREATE2           15
#define PERM_ALL             31
#define EPHEMERAL_SEQUENTIAL 3

struct _BareSocket
{
  int fd;
  char *parent;
  char *path;
  char *node;
  gboolean async;
  int xid;
  int n_ahead;     /* replies to deletes, which come before the next ones */
  GByteArray *out; /* frames to be sent at once */
  GByteArray *in;  /* of one reply */
};

static void
put_int (GByteArray *bytes, gint32 value)
{
  const guint32 big = GUINT32_TO_BE ((guint32) value);
  g_byte_array_append (bytes, (const guint8 *) &big, sizeof big);
}

static void
put_long (GByteArray *bytes, gint64 value)
{
  const guint64 big = GUINT64_TO_BE ((guint64) value);
  g_byte_array_append (bytes, (const guint8 *) &big, sizeof big);
}

static void
put_flag (GByteArray *bytes, guint8 value)
{
  g_byte_array_append (bytes, &value, 1);
}

static void
put_text (GByteArray *bytes, const char *text)
{
  put_int (bytes, (gint32) strlen (text));
  g_byte_array_append (bytes, (const guint8 *) text, (guint) strlen (text));
}

/* Returns where the frame begins, for end_frame(). */
static guint
begin_frame (BareSocket *bare, int op)
{
  const guint at = bare->out->len;
  put_int (bare->out, 0);
  put_int (bare->out, ++bare->xid);
  put_int (bare->out, op);
  return at;
}

static void
end_frame (BareSocket *bare, guint at)
{
  const guint32 big = GUINT32_TO_BE (bare->out->len - at - sizeof (guint32));
  memcpy (bare->out->data + at, &big, sizeof big);
}

static void
send_all (BareSocket *bare)
{
  for (guint done = 0; done < bare->out->len;) {
    const ssize_t n = send (bare->fd, bare->out->data + done, bare->out->len - done, MSG_NOSIGNAL);
    if (n <= 0)
      peer_die ("send", NULL);
    done += (guint) n;
  }
  g_byte_array_set_size (bare->out, 0);
}

static void
receive_exactly (BareSocket *bare, guint length)
{
  g_byte_array_set_size (bare->in, length);
  for (guint done = 0; done < length;) {
    const ssize_t n = recv (bare->fd, bare->in->data + done, length - done, 0);
    if (n <= 0)
      peer_die ("receive", NULL);
    done += (guint) n;
  }
}

static gint32
int_at (const BareSocket *bare, guint at)
{
  guint32 big;
  memcpy (&big, bare->in->data + at, sizeof big);
  return (gint32) GUINT32_FROM_BE (big);
}

static void
receive_frame (BareSocket *bare)
{
  receive_exactly (bare, sizeof (guint32));
  receive_exactly (bare, (guint) int_at (bare, 0));
}

/* The next reply; its error follows its xid and zxid. */
static void
receive_reply (BareSocket *bare)
{
  receive_frame (bare);
  if (int_at (bare, HEADER - sizeof (gint32)) != 0)
    peer_die ("a request failed", NULL);
}

static void
open_session (BareSocket *bare)
{
  const guint8 password[PASSWORD] = { 0 };
  put_int (bare->out, 0); /* the length, set by end_frame() */
  put_int (bare->out, 0);
  put_long (bare->out, 0);
  put_int (bare->out, SESSION_MS);
  put_long (bare->out, 0);
  put_int (bare->out, PASSWORD);
  g_byte_array_append (bare->out, password, PASSWORD);
  put_flag (bare->out, 0);
  end_frame (bare, 0);
  send_all (bare);
  receive_frame (bare);
}

static void
connect_to (BareSocket *bare, const char *server)
{
  g_auto (GStrv) parts = g_strsplit (server, ":", 2);
  const int one = 1;
  struct sockaddr_in name = { .sin_family = AF_INET,
                              .sin_port = htons ((guint16) atoi (parts[1])) };
  bare->fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt (bare->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (inet_pton (AF_INET, parts[0], &name.sin_addr) != 1
      || connect (bare->fd, (struct sockaddr *) &name, sizeof name) != 0)
    peer_die (server, NULL);
}

BareSocket *
bare_socket_new (const char *server, const char *path, gboolean async)
{
  BareSocket *bare = g_new0 (BareSocket, 1);
  bare->parent = g_strdup (path);
  bare->path = g_strconcat (path, "/" NODE, NULL);
  bare->async = async;
  bare->out = g_byte_array_new ();
  bare->in = g_byte_array_new ();
  connect_to (bare, server);
  open_session (bare);
  return bare;
}

static void
put_create (BareSocket *bare)
{
  const guint at = begin_frame (bare, OP_CREATE2);
  put_text (bare->out, bare->path);
  put_text (bare->out, "127.0.0.1");
  put_int (bare->out, 1);
  put_int (bare->out, PERM_ALL);
  put_text (bare->out, "world");
  put_text (bare->out, "anyone");
  put_int (bare->out, EPHEMERAL_SEQUENTIAL);
  end_frame (bare, at);
}

static void
put_list (BareSocket *bare)
{
  const guint at = begin_frame (bare, OP_CHILDREN);
  put_text (bare->out, bare->parent);
  put_flag (bare->out, 0);
  end_frame (bare, at);
}

void
bare_socket_acquire (BareSocket *bare)
{
  put_create (bare);
  put_list (bare);
  send_all (bare);
  for (; bare->n_ahead > 0; bare->n_ahead--)
    receive_reply (bare);
  receive_reply (bare);
  g_free (bare->node);
  bare->node = g_strndup ((const char *) bare->in->data + HEADER + sizeof (gint32),
                          (gsize) int_at (bare, HEADER));
  receive_reply (bare);
  if (int_at (bare, HEADER) != 1)
    peer_die ("there is another contender", NULL);
}

void
bare_socket_release (BareSocket *bare)
{
  const guint at = begin_frame (bare, OP_DELETE);
  put_text (bare->out, bare->node);
  put_int (bare->out, -1);
  end_frame (bare, at);
  send_all (bare);
  bare->n_ahead++;
  if (!bare->async) {
    receive_reply (bare);
    bare->n_ahead--;
  }
}

void
bare_socket_free (BareSocket *bare)
{
  close (bare->fd);
  g_byte_array_unref (bare->out);
  g_byte_array_unref (bare->in);
  g_free (bare->node);
  g_free (bare->path);
  g_free (bare->parent);
  g_free (bare);
}
