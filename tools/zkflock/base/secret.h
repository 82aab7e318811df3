#ifndef ZKFLOCK_SECRET_H
#define ZKFLOCK_SECRET_H

#include <curator/curator.h>

/* The password that is the only line of the file; what: its role, for the message. Returns NULL with
 * error set, also if another user owns the file or has access to it. */
char *secret_read_password (const char *file, const char *what, GError **error);
/* Wipes it; NULL is allowed. */
void secret_free (char *secret);

/* The same for lines of scheme:credentials; skips empty lines and those that begin with #. */
GPtrArray *credentials_read (const char *file, GError **error);
/* Adds the credentials to the client, which copies them. Freeing the array wipes them. */
void credentials_apply (CuratorClient *client, GPtrArray *credentials);

#endif
