/* One connection of libzookeeper to the channel, and the one to a server behind it.
 *
 * Used by the channel's thread only; no lock. Until a server has answered the ConnectRequest,
 * another server may be tried; libzookeeper notices nothing. Later the loss of one side ends the
 * other.
 */
#pragma once

#include "channel/link_record.h"

#include <poll.h>

#define CURATOR_LINK_FDS 2

/* Takes client_fd. request: a whole ConnectRequest, as it is to be sent. */
CuratorLink *curator_link_new (CuratorLinkContext *context, int client_fd, const guint8 *request,
                               gsize size);
void curator_link_free (CuratorLink *link);

/* What to wait for. Returns until when (monotonic time). */
gint64 curator_link_prepare (CuratorLink *link, struct pollfd fds[CURATOR_LINK_FDS]);
/* FALSE: it has ended. */
gboolean curator_link_dispatch (CuratorLink *link, const struct pollfd fds[CURATOR_LINK_FDS]);
