/* Reads and writes the frames of the channel; see channel_frames.h. Threads: any; pure, no lock. */
#include "channel/channel_frames.h"

#include <string.h>

#define OP_SASL 102

/* Offsets in a frame, its length field included. */
#define REQUEST_TIMEOUT   16 /* after the version and the last zxid */
#define RESPONSE_TIMEOUT  8  /* after the version */
#define RESPONSE_READONLY 40 /* not sent by old servers */
#define REPLY_ERROR       16 /* after xid and zxid */
#define REPLY_TOKEN       20
/* From the timeout. */
#define SESSION  4
#define PASSWORD 16 /* after its length */

gint32
curator_frame_read_int (const guint8 *bytes)
{
  guint32 value;
  memcpy (&value, bytes, sizeof value);
  return (gint32) GUINT32_FROM_BE (value);
}

gssize
curator_frame_size (const guint8 *bytes, gsize n, gsize max)
{
  if (n < 4)
    return 0;
  const gint32 length = curator_frame_read_int (bytes);
  if (length < 0 || (gsize) length + 4 > max)
    return -1;
  return (gsize) length + 4 <= n ? (gssize) length + 4 : 0;
}

static gboolean
read_connect (const guint8 *frame, gsize size, gsize timeout, CuratorConnectFrame *into)
{
  if (size < timeout + PASSWORD + CURATOR_PASSWORD_LENGTH
      || curator_frame_read_int (frame + timeout + PASSWORD - 4) != CURATOR_PASSWORD_LENGTH)
    return FALSE;
  into->timeout_ms = curator_frame_read_int (frame + timeout);
  memcpy (&into->session_id, frame + timeout + SESSION, sizeof into->session_id);
  into->session_id = GINT64_FROM_BE (into->session_id);
  memcpy (into->password, frame + timeout + PASSWORD, CURATOR_PASSWORD_LENGTH);
  return TRUE;
}

gboolean
curator_frame_read_request (const guint8 *frame, gsize size, CuratorConnectFrame *request)
{
  return read_connect (frame, size, REQUEST_TIMEOUT, request);
}

gboolean
curator_frame_read_response (const guint8 *frame, gsize size, CuratorConnectFrame *response)
{
  if (size > RESPONSE_READONLY + 1 || (size > RESPONSE_READONLY && frame[RESPONSE_READONLY] != 0))
    return FALSE;
  return read_connect (frame, size, RESPONSE_TIMEOUT, response);
}

gboolean
curator_frame_read_sasl_reply (const guint8 *frame, gsize size, CuratorSaslReply *reply)
{
  if (size < REPLY_TOKEN)
    return FALSE;
  *reply = (CuratorSaslReply){ .error = curator_frame_read_int (frame + REPLY_ERROR) };
  if (reply->error != 0 || size < REPLY_TOKEN + 4)
    return TRUE;
  const gint32 length = curator_frame_read_int (frame + REPLY_TOKEN);
  if (length > 0 && (gsize) length > size - REPLY_TOKEN - 4)
    return FALSE;
  reply->token = frame + REPLY_TOKEN + 4;
  reply->length = (gsize) MAX (length, 0); /* -1: null */
  return TRUE;
}

void
curator_frame_clear_password (guint8 *request)
{
  memset (request + REQUEST_TIMEOUT + PASSWORD, 0, CURATOR_PASSWORD_LENGTH);
}

GByteArray *
curator_frame_write_sasl (gint32 xid, const guint8 *token, gsize length)
{
  const gint32 head[] = { (gint32) GINT32_TO_BE (12 + (gint32) length), (gint32) GINT32_TO_BE (xid),
                          (gint32) GINT32_TO_BE (OP_SASL),
                          (gint32) GINT32_TO_BE ((gint32) length) };
  GByteArray *frame = g_byte_array_sized_new ((guint) (sizeof head + length));

  g_byte_array_append (frame, (const guint8 *) head, sizeof head);
  if (length > 0)
    g_byte_array_append (frame, token, (guint) length);
  return frame;
}

gboolean
curator_passwords_equal (const guint8 *a, const guint8 *b)
{
  guint8 difference = 0;
  for (gsize i = 0; i < CURATOR_PASSWORD_LENGTH; i++)
    difference |= a[i] ^ b[i];
  return difference == 0;
}
