/* A secured connection for one handle of libzookeeper, which knows nothing of it.
 *
 * libzookeeper connects to a loopback port of the channel in clear text; the channel's thread
 * connects to a server by TLS, runs SASL, and passes the frames on. It takes no lock of the client.
 * Behind the port only the owner of the secret is served, so no other local process can use the
 * session.
 */
#pragma once

#include "channel/channel_frames.h"
#include "channel/channel_sasl.h"
#include "channel/tls_settings.h"

typedef struct _CuratorChannel CuratorChannel;

typedef struct
{
  GPtrArray *servers;        /* CuratorServer; copied */
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

/* Does not block. NULL with errno set. */
CuratorChannel *curator_channel_open (const CuratorChannelSetup *setup);
/* The servers from the next attempt on; copied. An attempt under way to another one ends. leave: an
 * open connection to another one ends, too. Any thread, while the channel is open. */
void curator_channel_set_servers (CuratorChannel *channel, GPtrArray *servers, gboolean leave);
/* After the handle was closed: waits, for a second at most, until the server has got its last
 * requests. */
void curator_channel_close (CuratorChannel *channel);

/* For libzookeeper: its list of servers, and the password of a session with id 0. */
const char *curator_channel_get_hosts (CuratorChannel *channel);
const guint8 *curator_channel_get_secret (CuratorChannel *channel);
