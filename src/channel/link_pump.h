/* Passes bytes between libzookeeper and a server. Used by the channel's thread only; no lock. */
#pragma once

#include "channel/link_record.h"

/* Before the link is open. FALSE: libzookeeper is gone. */
gboolean curator_link_pump_early (CuratorLink *link, short client_events);
/* The events are those of poll. FALSE: the link has ended. */
gboolean curator_link_pump (CuratorLink *link, short client_events, short server_events);
