/* The settings of a client (CuratorFrameworkFactory.Builder); curator/client.h has the setters. */
#pragma once

#include "core/client-record.h"

/* No other thread may use the client. */
void curator_settings_init (CuratorClient *client, const char *connect_string,
                            CuratorRetryPolicy *retry_policy);
void curator_settings_clear (CuratorClient *client);
/* Servers without a port have the default one for TLS if the client uses that. */
void curator_settings_give_ports (CuratorClient *client, CuratorConnectString *servers);
/* For start: checks the settings and fills in defaults. */
gboolean curator_settings_prepare (CuratorClient *client, GError **error);
