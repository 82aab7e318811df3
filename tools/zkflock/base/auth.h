#ifndef ZKFLOCK_AUTH_H
#define ZKFLOCK_AUTH_H

#include <curator/curator.h>

/* Reads lines of scheme:credentials; skips empty lines and those that begin with #. Returns NULL
 * with error set, also if another user owns the file or has access to it. */
GPtrArray *auth_read (const char *file, GError **error);
/* Adds the credentials to the client, which copies them. Freeing the array wipes them. */
void auth_apply (CuratorClient *client, GPtrArray *credentials);

#endif
