/* A loopback port, and the connections to it that have not identified themselves yet.
 *
 * Used by the channel's thread only; no lock.
 */
#pragma once

#include "base/address.h"

#include <glib.h>
#include <poll.h>

typedef struct _CuratorLoopback CuratorLoopback;

#define CURATOR_LOOPBACK_GUESTS 16
#define CURATOR_LOOPBACK_FDS    (1 + CURATOR_LOOPBACK_GUESTS)

/* A guest has sent a frame. TRUE: the function has taken fd; FALSE: it is closed. */
typedef gboolean (*CuratorLoopbackFunc) (int fd, guint8 *frame, gsize size, gpointer data);

/* NULL with errno set. */
CuratorLoopback *curator_loopback_open (void);
void curator_loopback_close (CuratorLoopback *loopback);
const CuratorAddress *curator_loopback_get_address (CuratorLoopback *loopback);

/* What to wait for. Returns until when (monotonic time). */
gint64 curator_loopback_prepare (CuratorLoopback *loopback,
                                 struct pollfd fds[CURATOR_LOOPBACK_FDS]);
void curator_loopback_dispatch (CuratorLoopback *loopback,
                                const struct pollfd fds[CURATOR_LOOPBACK_FDS],
                                CuratorLoopbackFunc on_frame, gpointer data);
