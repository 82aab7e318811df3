#include "lying_server.h"

#include "support/net.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#define SESSION    G_GINT64_CONSTANT (0x5e5510)
#define TIMEOUT_MS 4000
#define MAX_FRAME  (1 << 20)
#define EVENT_XID  (-1)

/* Types of requests. */
enum
{
  CREATE = 1,
  DELETE = 2,
  EXISTS = 3,
  GET_DATA = 4,
  SET_DATA = 5,
  GET_CHILDREN = 8,
  PING = 11,
  CHECK = 13,
  MULTI = 14,
  CREATE_2 = 15,
  CREATE_CONTAINER = 19
};

const char *const lying_replies[N_REPLIES] = { "connect", "create", "getChildren", "getData",
                                               "exists",  "delete", "multi",       "watch event" };
const char *const lying_lies[N_LIES] = { "-1",     "0",      "one less", "one more",
                                         "2^31-1", "absent", "twice",    "another's" };

typedef struct
{
  const char *name;
  guint at;
  guint size;
  gboolean is_text;
} Field;

typedef struct
{
  GByteArray *bytes;
  GArray *fields;
} Reply;

static struct
{
  const Lie *lie;
  const Party *with;
  int listener;
  char *node; /* the last element of its path, or NULL */
} server;

/* --- replies ---------------------------------------------------------------------------------- */

static void
reply_begin (Reply *reply)
{
  *reply = (Reply){ g_byte_array_new (), g_array_new (FALSE, FALSE, sizeof (Field)) };
}

static void
reply_end (Reply *reply)
{
  g_byte_array_unref (reply->bytes);
  g_array_unref (reply->fields);
}

static void
note (Reply *reply, const char *name, guint size, gboolean is_text)
{
  const Field field = { name, reply->bytes->len - size, size, is_text };
  g_array_append_val (reply->fields, field);
}

static void
put_int (Reply *reply, const char *name, gint32 value)
{
  net_put_int32 (reply->bytes, value);
  note (reply, name, 4, FALSE);
}

static void
put_long (Reply *reply, const char *name, gint64 value)
{
  net_put_int64 (reply->bytes, value);
  note (reply, name, 8, FALSE);
}

static void
put_flag (Reply *reply, const char *name, guint8 value)
{
  g_byte_array_append (reply->bytes, &value, 1);
  note (reply, name, 1, FALSE);
}

static void
put_text (Reply *reply, const char *length_name, const char *name, const char *text, guint length)
{
  put_int (reply, length_name, (gint32) length);
  g_byte_array_append (reply->bytes, (const guint8 *) text, length);
  note (reply, name, length, TRUE);
}

static void
put_string (Reply *reply, const char *length_name, const char *name, const char *text)
{
  put_text (reply, length_name, name, text, (guint) strlen (text));
}

static void
put_stat (Reply *reply)
{
  static const char *const longs[] = { "czxid", "mzxid", "ctime", "mtime" };
  static const char *const ints[] = { "version", "cversion", "aversion" };

  for (gsize i = 0; i < G_N_ELEMENTS (longs); i++)
    put_long (reply, longs[i], 7);
  for (gsize i = 0; i < G_N_ELEMENTS (ints); i++)
    put_int (reply, ints[i], 1);
  put_long (reply, "ephemeralOwner", SESSION);
  put_int (reply, "dataLength", 4);
  put_int (reply, "numChildren", 0);
  put_long (reply, "pzxid", 7);
}

static void
put_header (Reply *reply, gint32 xid)
{
  static gint64 zxid = 100;

  put_int (reply, "frame length", 0);
  put_int (reply, "xid", xid);
  put_long (reply, "zxid", ++zxid);
  put_int (reply, "error", 0);
}

static void
set_length (Reply *reply)
{
  const guint32 length = GUINT32_TO_BE (reply->bytes->len - 4);
  memcpy (reply->bytes->data, &length, sizeof length);
}

static void
put_connect (Reply *reply)
{
  put_int (reply, "frame length", 0);
  put_int (reply, "version", 0);
  put_int (reply, "timeout", TIMEOUT_MS);
  put_long (reply, "session", SESSION);
  put_text (reply, "password length", "password", "0123456789abcdef", 16);
  put_flag (reply, "read-only", 0);
}

static void
put_children (Reply *reply)
{
  put_int (reply, "count", server.node != NULL ? 2 : 1);
  put_string (reply, "name length", "name",
              "_c_00000000-0000-0000-0000-000000000000-lock-0000000009");
  if (server.node != NULL)
    put_string (reply, "2nd name length", "2nd name", server.node);
}

/* n operations that have succeeded. */
static void
put_multi (Reply *reply, guint n, gint32 type)
{
  for (guint i = 0; i < n; i++) {
    put_int (reply, "type", type);
    put_flag (reply, "done", 0);
    put_int (reply, "result", 0);
  }
  put_int (reply, "last type", -1);
  put_flag (reply, "last done", 1);
  put_int (reply, "last result", -1);
}

static void
put_event (Reply *reply)
{
  put_int (reply, "type", ZOO_CREATED_EVENT);
  put_int (reply, "state", ZOO_CONNECTED_STATE);
  put_string (reply, "path length", "path", "/p");
}

/* A reply of that kind as the server has it now. */
static void
put_body (Reply *reply, ReplyKind kind, const char *path)
{
  if (kind == REPLY_CREATE)
    put_string (reply, "path length", "path", path);
  else if (kind == REPLY_CHILDREN)
    put_children (reply);
  else if (kind == REPLY_DATA)
    put_string (reply, "data length", "data", "data");
  else if (kind == REPLY_EVENT)
    put_event (reply);
  if (kind == REPLY_CREATE || kind == REPLY_DATA || kind == REPLY_EXISTS)
    put_stat (reply);
}

/* --- lies ------------------------------------------------------------------------------------- */

static void
put_number (guint8 *at, guint size, guint64 value)
{
  for (guint i = 0; i < size; i++)
    at[i] = (guint8) (value >> (8 * (size - 1 - i)));
}

static guint64
get_number (const guint8 *at, guint size)
{
  guint64 value = 0;
  for (guint i = 0; i < size; i++)
    value = value << 8 | at[i];
  return value;
}

static void
repeat (GByteArray *bytes, const Field *field)
{
  g_autoptr (GByteArray) tail = g_byte_array_new ();

  g_byte_array_append (tail, bytes->data + field->at, bytes->len - field->at);
  g_byte_array_set_size (bytes, field->at + field->size);
  g_byte_array_append (bytes, tail->data, tail->len);
}

static void
tell_lie (Reply *reply, const Lie *lie)
{
  if (lie->field >= reply->fields->len)
    return;
  const Field *field = &g_array_index (reply->fields, Field, lie->field);
  guint8 *at = reply->bytes->data + field->at;
  const guint64 value = field->is_text ? 0 : get_number (at, field->size);
  const guint64 values[] = { [LIE_MINUS_ONE] = G_MAXUINT64,
                             [LIE_ZERO] = 0,
                             [LIE_ONE_LESS] = value - 1,
                             [LIE_ONE_MORE] = value + 1,
                             [LIE_MOST] = G_MAXINT32 };

  if (lie->lie <= LIE_MOST)
    put_number (at, field->size, values[lie->lie]);
  else if (lie->lie == LIE_FOREIGN)
    memset (at + 1, 'x', field->size - 1);
  else if (lie->lie == LIE_TWICE)
    repeat (reply->bytes, field);
  else if (lie->field == 0)
    g_byte_array_remove_range (reply->bytes, 0, 4);
  else
    g_byte_array_set_size (reply->bytes, field->at);
  if (lie->field > 0)
    set_length (reply);
}

/* --- connections ------------------------------------------------------------------------------ */

typedef struct
{
  int fd;
  gnutls_session_t tls; /* NULL: clear text */
} Line;

static gboolean
read_all (Line *line, guint8 *bytes, gsize n)
{
  while (n > 0) {
    const gssize got =
        line->tls != NULL ? gnutls_record_recv (line->tls, bytes, n) : recv (line->fd, bytes, n, 0);
    if (got <= 0)
      return FALSE;
    bytes += got;
    n -= (gsize) got;
  }
  return TRUE;
}

static void
write_all (Line *line, const GByteArray *bytes)
{
  for (gsize at = 0; at < bytes->len;) {
    const gssize sent = line->tls != NULL
                            ? gnutls_record_send (line->tls, bytes->data + at, bytes->len - at)
                            : send (line->fd, bytes->data + at, bytes->len - at, MSG_NOSIGNAL);
    if (sent <= 0)
      return;
    at += (gsize) sent;
  }
}

static void
send_reply (Line *line, Reply *reply, ReplyKind kind)
{
  set_length (reply);
  if (server.lie != NULL && server.lie->reply == kind)
    tell_lie (reply, server.lie);
  write_all (line, reply->bytes);
  reply_end (reply);
}

/* The path of a request, behind xid and type; a sequential node gets a number. */
static char *
path_of (const guint8 *frame, gint32 type)
{
  const gint32 length = net_get_int32 (frame + 8);
  const gboolean is_numbered = type == CREATE_2 && frame[12 + length - 1] == '-';
  return g_strdup_printf ("%.*s%s", length, (const char *) frame + 12,
                          is_numbered ? "0000000003" : "");
}

/* How many operations, which are all checks, or all deletions. */
static guint
count_operations (const guint8 *frame, gsize size, gint32 *type)
{
  guint n = 0;

  for (gsize at = 8; at + 9 <= size && frame[at + 4] == 0; n++) {
    *type = net_get_int32 (frame + at);
    at += 9;
    at += 4 + (gsize) net_get_int32 (frame + at) + 4;
  }
  return n;
}

static void
answer (Line *line, const guint8 *frame, gsize size)
{
  const gint32 xid = net_get_int32 (frame);
  const gint32 type = net_get_int32 (frame + 4);
  const ReplyKind kind = type == CREATE_2 || type == CREATE_CONTAINER ? REPLY_CREATE
                         : type == GET_CHILDREN                       ? REPLY_CHILDREN
                         : type == GET_DATA                           ? REPLY_DATA
                         : type == EXISTS || type == SET_DATA         ? REPLY_EXISTS
                         : type == MULTI                              ? REPLY_MULTI
                         : type == DELETE                             ? REPLY_DELETE
                                                                      : N_REPLIES;
  Reply reply;
  reply_begin (&reply);
  put_header (&reply, xid);
  if (kind == REPLY_MULTI) {
    gint32 of = CHECK;
    const guint n = count_operations (frame, size, &of);
    put_multi (&reply, n, of);
  } else if (kind < REPLY_MULTI && kind != REPLY_DELETE) {
    g_autofree char *path = path_of (frame, type);
    if (type == CREATE_2) {
      g_free (server.node);
      server.node = g_path_get_basename (path);
    }
    put_body (&reply, kind, path);
  }
  send_reply (line, &reply, kind);
  if (kind == REPLY_EXISTS || kind == REPLY_CHILDREN) {
    reply_begin (&reply);
    put_header (&reply, EVENT_XID);
    put_body (&reply, REPLY_EVENT, NULL);
    send_reply (line, &reply, REPLY_EVENT);
  }
}

static gboolean
serve_frame (Line *line, gboolean is_first)
{
  g_autofree guint8 *frame = NULL;
  guint8 head[4];

  if (!read_all (line, head, sizeof head))
    return FALSE;
  const gint32 size = net_get_int32 (head);
  if (size < 8 || size > MAX_FRAME)
    return FALSE;
  frame = g_malloc0 ((gsize) size);
  if (!read_all (line, frame, (gsize) size))
    return FALSE;
  if (is_first) {
    Reply reply;
    reply_begin (&reply);
    put_connect (&reply);
    send_reply (line, &reply, REPLY_CONNECT);
  } else {
    answer (line, frame, (gsize) size);
  }
  return TRUE;
}

static gboolean
shake_hands (Line *line, gnutls_certificate_credentials_t *own)
{
  gnutls_x509_crt_t certificate = server.with->certificate;
  int rc;

  gnutls_certificate_allocate_credentials (own);
  gnutls_certificate_set_x509_key (*own, &certificate, 1, server.with->key);
  gnutls_init (&line->tls, GNUTLS_SERVER | GNUTLS_NO_SIGNAL);
  gnutls_set_default_priority (line->tls);
  gnutls_credentials_set (line->tls, GNUTLS_CRD_CERTIFICATE, *own);
  gnutls_transport_set_int (line->tls, line->fd);
  do {
    rc = gnutls_handshake (line->tls);
  } while (rc < 0 && !gnutls_error_is_fatal (rc));
  return rc == 0;
}

static void *
serve (void *data)
{
  for (;;) {
    Line line = { .fd = accept (server.listener, NULL, NULL) };
    gnutls_certificate_credentials_t own = NULL;
    if (line.fd < 0)
      continue;
    gboolean goes_on = server.with == NULL || shake_hands (&line, &own);
    for (gboolean is_first = TRUE; goes_on; is_first = FALSE)
      goes_on = serve_frame (&line, is_first);
    if (line.tls != NULL)
      gnutls_deinit (line.tls);
    if (own != NULL)
      gnutls_certificate_free_credentials (own);
    close (line.fd);
  }
  return data;
}

char *
lying_server_start (const Lie *lie, const Party *with)
{
  struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
  socklen_t length = sizeof name;
  pthread_t thread;

  server.lie = lie;
  server.with = with;
  server.listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind (server.listener, (struct sockaddr *) &name, sizeof name) != 0
      || listen (server.listener, SOMAXCONN) != 0
      || getsockname (server.listener, (struct sockaddr *) &name, &length) != 0
      || pthread_create (&thread, NULL, serve, NULL) != 0)
    return NULL;
  return g_strdup_printf ("127.0.0.1:%u", ntohs (name.sin_port));
}

/* --- what can be lied about ------------------------------------------------------------------- */

/* Of a multi with one operation, and of a queue with one own node. */
static Field
field_of (ReplyKind kind, guint number)
{
  Reply reply;
  Field field = { NULL, 0, 0, FALSE };

  reply_begin (&reply);
  if (server.node == NULL)
    server.node = g_strdup ("own");
  if (kind == REPLY_CONNECT) {
    put_connect (&reply);
  } else {
    put_header (&reply, 1);
    if (kind == REPLY_MULTI)
      put_multi (&reply, 1, CHECK);
    else
      put_body (&reply, kind, "/p/own");
  }
  if (number < reply.fields->len)
    field = g_array_index (reply.fields, Field, number);
  reply_end (&reply);
  g_clear_pointer (&server.node, g_free);
  return field;
}

const char *
lying_server_field (ReplyKind reply, guint field)
{
  return field_of (reply, field).name;
}

gboolean
lying_server_applies (const Lie *lie)
{
  const Field field = field_of (lie->reply, lie->field);
  if (lie->lie == LIE_FOREIGN)
    return field.is_text;
  return !field.is_text || lie->lie >= LIE_ABSENT;
}
