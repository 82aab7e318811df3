/* A secured connection for one handle of libzookeeper, which knows nothing of it.
 *
 * libzookeeper connects to a loopback port of the channel in clear text; the channel's thread
 * connects to a server by TLS, runs SASL, and passes the frames on. It takes no lock of the client.
 * Behind the port only the owner of the secret is served, so no other local process can use the
 * session.
 */
#pragma once

#include "channel/link_record.h"

typedef struct _CuratorChannel CuratorChannel;

/* servers: CuratorServer; copied. Does not block. NULL with errno set. */
CuratorChannel *curator_channel_open (const CuratorChannelSetup *setup, GPtrArray *servers);
/* The servers from the next attempt on; copied. An attempt under way to another one ends. leave: an
 * open connection to another one ends, too. Any thread, while the channel is open. */
void curator_channel_set_servers (CuratorChannel *channel, GPtrArray *servers, gboolean leave);
/* An open connection ends if the server has acknowledged everything and sent nothing for so long.
 * Any thread. */
void curator_channel_leave_silent (CuratorChannel *channel, gint64 silent_us);
/* After the handle was closed: waits, for a second at most, until the server has got its last
 * requests. */
void curator_channel_close (CuratorChannel *channel);

/* For libzookeeper: its list of servers, and the password of a session with id 0. */
char *curator_channel_dup_hosts (CuratorChannel *channel);
const guint8 *curator_channel_get_secret (CuratorChannel *channel);
