/* Credentials, from a file that nobody else can read. */
#ifndef ZKFLOCK_AUTH_H
#define ZKFLOCK_AUTH_H

#include <curator/curator.h>

/* Lines of scheme:credentials; empty ones and those that begin with # are skipped. NULL with error,
 * also if the file is somebody else's or open to others. */
GPtrArray *auth_read (const char *file, GError **error);
/* Hands them to the client and wipes them here. */
void auth_apply (CuratorClient *client, GPtrArray *credentials);

#endif
