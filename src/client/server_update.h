/* Another list of servers for a client that is running (ZooKeeper.updateServerList). */
#pragma once

#include "core/client-record.h"

/* A connect string for that client; NULL with INVALID_ARGUMENT or UNSUPPORTED. Any thread, after
 * start. */
CuratorConnectString *curator_server_update_parse (CuratorClient *client,
                                                   const char *connect_string, GError **error);
/* The servers are those from now on. text: as a connect string. */
void curator_server_update_apply (CuratorClient *client, GPtrArray *hosts,
                                  const char *text) CURATOR_LOCKED;
