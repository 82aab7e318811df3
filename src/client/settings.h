/* The settings of a client (CuratorFrameworkFactory.Builder); curator/client.h has the setters. */
#ifndef CURATOR_SETTINGS_H
#define CURATOR_SETTINGS_H

#include "client/client-private.h"

/* No other thread may use the client. */
void curator_settings_init (CuratorClient *client, const char *connect_string,
                            CuratorRetryPolicy *retry_policy);
void curator_settings_clear (CuratorClient *client);
/* For start: checks the settings and fills in defaults. */
gboolean curator_settings_prepare (CuratorClient *client, GError **error);

/* Whether a lock node may have a payload of that length: LIMIT_EXCEEDED if not. */
/* A copy. Of a payload that is too long, only as much as curator_check_payload() needs to see. */
GBytes *curator_payload_new (const void *data, gsize length);
gboolean curator_check_payload (gsize length, GError **error);

/* From the user's path to the path on the server, and back. */
char *curator_client_full_path (CuratorClient *client, const char *path);
const char *curator_client_user_path (CuratorClient *client, const char *full_path);

#endif
