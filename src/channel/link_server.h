/* Finds a server for a connection, and reads from it. Used by the channel's thread only; no lock. */
#pragma once

#include "channel/link_record.h"

/* Tries the server whose turn it is. */
void curator_link_try_server (CuratorLink *link);
/* The other list is used from now on, at once if there is no connection yet. FALSE: the connection
 * is to a server that is not in it. */
gboolean curator_link_change_servers (CuratorLink *link, GPtrArray *servers);
/* Goes on as far as possible; until the link is open. */
void curator_link_step_server (CuratorLink *link);
void curator_link_drop_server (CuratorLink *link);
/* Reads into what is to go to libzookeeper. The number of bytes; 0: not now; -1 with an error. */
gssize curator_link_receive (CuratorLink *link, GError **error);
/* An open link loses its server if that has acknowledged everything and sent nothing for so long. */
void curator_link_leave_silent (CuratorLink *link, gint64 silent_us);
/* An open link has lost its server before anything was answered. */
void curator_link_report_loss (CuratorLink *link, const GError *error);
