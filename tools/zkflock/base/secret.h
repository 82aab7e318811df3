#pragma once

#include <curator/curator.h>

/* The text of a file, to be freed. what: its role and a space, for the message, or "". Returns NULL
 * with error set, also if another user owns the file or can write it, or, where it is secret, has
 * access to it. */
char *own_file_read (const char *file, const char *what, gboolean is_secret, GError **error);

/* FALSE with error set for a file that such a read would refuse. */
gboolean own_file_check (const char *file, GError **error);

/* The password that is the only line of a secret file. */
char *secret_read_password (const char *file, const char *what, GError **error);
/* Wipes it; NULL is allowed. */
void secret_free (char *secret);

/* The same for lines of scheme:credentials; skips empty lines and those that begin with #. */
GPtrArray *credentials_read (const char *file, GError **error);
/* Adds the credentials to the client, which copies them. Freeing the array wipes them. */
void credentials_apply (CuratorClient *client, GPtrArray *credentials);
