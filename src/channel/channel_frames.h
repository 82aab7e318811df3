/* The frames of ZooKeeper's protocol that the channel reads and writes itself.
 *
 * Mirrors ConnectRequest, ConnectResponse, GetSASLRequest and SetSASLResponse of zookeeper-jute.
 * Threads: any; pure, no lock. A frame is a length of 4 bytes, in network order, and as many bytes.
 */
#pragma once

#include <glib.h>

#define CURATOR_PASSWORD_LENGTH 16
/* Enough for a ConnectRequest and a ConnectResponse. */
#define CURATOR_CONNECT_FRAME_MAX 64
/* A server sends less; it has to fit into a buffer. */
#define CURATOR_SASL_FRAME_MAX (64 * 1024)

/* Servers send and take up to their jute.maxbuffer, by default 1 MiB. No sensible one is more than
 * this, and libzookeeper allocates what a length says. */
#define CURATOR_FRAME_MAX (32 * 1024 * 1024)

typedef struct
{
  gint32 timeout_ms;
  gint64 session_id;
  guint8 password[CURATOR_PASSWORD_LENGTH];
} CuratorConnectFrame;

typedef struct
{
  gint32 error;
  const guint8 *token; /* inside the frame */
  gsize length;
} CuratorSaslReply;

gint32 curator_frame_read_int (const guint8 *bytes);
/* The size of the first frame, with its length field. 0: it is incomplete. -1: its length is
 * negative, or the frame is larger than max. */
gssize curator_frame_size (const guint8 *bytes, gsize n, gsize max);

/* Each reads one whole frame; FALSE if it is malformed. So is the response of a server that can
 * only be read: libzookeeper has not asked for one, and would take its session for a new one
 * later. */
gboolean curator_frame_read_request (const guint8 *frame, gsize size, CuratorConnectFrame *request);
gboolean curator_frame_read_response (const guint8 *frame, gsize size,
                                      CuratorConnectFrame *response);
gboolean curator_frame_read_sasl_reply (const guint8 *frame, gsize size, CuratorSaslReply *reply);

/* Zeroes the password of a ConnectRequest that curator_frame_read_request() has accepted. */
void curator_frame_clear_password (guint8 *request);

GByteArray *curator_frame_write_sasl (gint32 xid, const guint8 *token, gsize length);

/* Takes the same time whatever the bytes are. */
gboolean curator_passwords_equal (const guint8 *a, const guint8 *b);
