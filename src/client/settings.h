/* What a client is told before it starts; the setters are in curator/client.h. */
#ifndef CURATOR_SETTINGS_H
#define CURATOR_SETTINGS_H

#include "client/client-private.h"

/* @locks none; the client is not known to anybody else yet, or any more. */
void curator_settings_init (CuratorClient *client, const char *connect_string,
                            CuratorRetryPolicy *retry_policy);
void curator_settings_clear (CuratorClient *client);
/* @locks none; before start. Everything that the user set, checked and put into the form in which
 * the sessions use it. */
gboolean curator_settings_prepare (CuratorClient *client, GError **error);

/* Whether a lock node may carry that many bytes: LIMIT_EXCEEDED if not. */
gboolean curator_check_payload (gsize length, GError **error);

/* The path on the wire of a path of the user's, and back. */
char *curator_client_full_path (CuratorClient *client, const char *path);
const char *curator_client_user_path (CuratorClient *client, const char *full_path);

#endif
