/* The record of one connection through the channel. Used by the channel's thread only; no lock. */
#pragma once

#include "channel/channel_buffer.h"
#include "channel/channel_frames.h"
#include "channel/channel_job.h"
#include "channel/channel_pings.h"
#include "channel/channel_sasl.h"
#include "channel/channel_stream.h"
#include "channel/endpoints.h"
#include "channel/patience.h"

typedef struct _CuratorLink CuratorLink;

/* What a channel is opened with. */
typedef struct
{
  const CuratorTls *tls;     /* NULL: clear text; must outlive the channel */
  CuratorSaslSettings *sasl; /* NULL: none */
  /* All run on the channel's thread, until curator_channel_close() has returned. server:
   * "host:port", with which the error's message begins. is_final: a server has refused the
   * authentication; no other connection is made. */
  void (*failed) (const char *server, const GError *error, gboolean is_final, gpointer data);
  void (*warned) (const char *text, gpointer data);
  /* Before libzookeeper hears that it is connected: to which server. */
  void (*opened) (const char *server, gpointer data);
  /* A server has answered a ping of libzookeeper that was sent at sent_us or later. By
   * CLOCK_BOOTTIME. */
  void (*pinged) (gint64 sent_us, gint64 answered_us, gpointer data);
  gpointer data;
} CuratorChannelSetup;

/* What the links of a channel share. */
typedef struct
{
  CuratorChannelSetup setup;
  CuratorTlsCredentials *credentials; /* loaded by the first connection */
  CuratorEndpoints *endpoints;
  /* In which no server answered a request, since the last that did. To open a session is no
   * answer. */
  guint n_rounds;
  CuratorPatience spent; /* the same */
  int wake_fd;           /* an eventfd, for the jobs */

  /* From the newest ConnectResponse: what libzookeeper shows when it connects again. id 0: none. */
  gint64 session_id;
  guint8 password[CURATOR_PASSWORD_LENGTH];
} CuratorLinkContext;

#define CURATOR_NO_TIME G_MAXINT64

typedef enum
{
  CURATOR_LINK_PAUSED,     /* no server answered: waits before the next round */
  CURATOR_LINK_CONNECTING, /* with the TLS handshake */
  CURATOR_LINK_ASKED,      /* the ConnectRequest is on its way */
  CURATOR_LINK_SASL,
  CURATOR_LINK_OPEN,
  CURATOR_LINK_SERVER_LOST, /* passes on what the server has sent */
  CURATOR_LINK_CLIENT_GONE, /* passes on what libzookeeper has sent */
  CURATOR_LINK_FINISHED     /* waits for the server to end the connection */
} CuratorLinkState;

struct _CuratorLink
{
  CuratorLinkContext *context;
  CuratorLinkState state;
  int client_fd;
  CuratorStream *stream;
  gint64 deadline_us;
  CuratorConnectFrame asked; /* what libzookeeper asks for; session 0: a new one */
  guint8 request[CURATOR_CONNECT_FRAME_MAX];
  gsize request_size;
  CuratorConnectFrame told;                   /* what the server has answered */
  guint8 response[CURATOR_CONNECT_FRAME_MAX]; /* held back */
  gsize response_size;
  GByteArray *out; /* our own frame to the server, or NULL */
  guint out_sent;
  CuratorJob *job;
  CuratorSasl *sasl;
  gint32 sasl_xid;
  gboolean step_is_due; /* until that of an earlier attempt has ended */
  int least_bytes;      /* that have to come before the client's socket is readable */
  gboolean has_asked;   /* libzookeeper has, since the link is open */
  gboolean is_answered;
  CuratorBuffer to_server;
  CuratorBuffer to_client;
  CuratorPings pings;
};

static inline void
curator_link_enter (CuratorLink *link, CuratorLinkState state)
{
  link->state = state;
  link->deadline_us = CURATOR_NO_TIME;
}
