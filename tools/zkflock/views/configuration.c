/* Reads /zookeeper/config of one server, which answers also where no four-letter word is allowed.
 *
 * The library reads lock nodes only. So this is a session of its own, which ends with its one read:
 * three requests, sent at once, and the server closes the connection behind its answers. */
#include "views/configuration.h"

#include <string.h>

#define PATH            "/zookeeper/config"
#define TIMEOUT_MS      10000
#define PASSWORD_LENGTH 16
#define READ_XID        1
#define GET_DATA        4
#define CLOSE_SESSION   -11
#define REPLY_HEADER    16 /* xid, zxid, error */

static void
put (GByteArray *out, gint32 number)
{
  const gint32 wire = GINT32_TO_BE (number);
  g_byte_array_append (out, (const guint8 *) &wire, sizeof wire);
}

/* Behind its length. */
static void
put_request (GByteArray *out, GByteArray *request)
{
  put (out, (gint32) request->len);
  g_byte_array_append (out, request->data, request->len);
  g_byte_array_set_size (request, 0);
}

static GByteArray *
make_requests (void)
{
  static const guint8 nothing[PASSWORD_LENGTH] = { 0 };
  GByteArray *out = g_byte_array_new ();
  g_autoptr (GByteArray) request = g_byte_array_new ();

  /* The protocol's version, the last zxid, the timeout, the session and its password, whether
   * reading is enough. */
  g_byte_array_append (request, nothing, 12);
  put (request, TIMEOUT_MS);
  g_byte_array_append (request, nothing, 8);
  put (request, PASSWORD_LENGTH);
  g_byte_array_append (request, nothing, PASSWORD_LENGTH);
  g_byte_array_append (request, nothing, 1);
  put_request (out, request);
  put (request, READ_XID);
  put (request, GET_DATA);
  put (request, (gint32) strlen (PATH));
  g_byte_array_append (request, (const guint8 *) PATH, strlen (PATH));
  g_byte_array_append (request, nothing, 1);
  put_request (out, request);
  put (request, READ_XID + 1);
  put (request, CLOSE_SESSION);
  put_request (out, request);
  return out;
}

/* Takes that many bytes off; NULL: there are fewer. */
static const guint8 *
take (const guint8 **at, gsize *left, gsize size)
{
  const guint8 *taken = *at;

  if (size > *left)
    return NULL;
  *at += size;
  *left -= size;
  return taken;
}

/* -1: there is none. */
static gint32
take_number (const guint8 **at, gsize *left)
{
  const guint8 *bytes = take (at, left, sizeof (gint32));
  gint32 wire = -1;

  if (bytes != NULL)
    memcpy (&wire, bytes, sizeof wire);
  return bytes != NULL ? GINT32_FROM_BE (wire) : -1;
}

char *
configuration_read (Dial *dial, const char *address, gint64 timeout_ms)
{
  g_autoptr (GByteArray) requests = make_requests ();
  gsize size = requests->len;
  g_autofree char *answer =
      dial_exchange (dial, address, requests->data, &size, timeout_ms, NULL, NULL);
  const guint8 *at = (const guint8 *) answer;
  gsize left = answer != NULL ? size : 0;
  const gint32 connected = take_number (&at, &left);

  /* The first frame answers the connect, the second one the read. */
  if (connected < 0 || take (&at, &left, (gsize) connected) == NULL
      || take_number (&at, &left) < REPLY_HEADER || take_number (&at, &left) != READ_XID
      || take (&at, &left, sizeof (gint64)) == NULL || take_number (&at, &left) != 0)
    return NULL;
  const gint32 length = take_number (&at, &left);
  const guint8 *data = length >= 0 ? take (&at, &left, (gsize) length) : NULL;
  return data != NULL ? g_strndup ((const char *) data, (gsize) length) : NULL;
}
