#ifndef ZKFLOCK_SECRET_H
#define ZKFLOCK_SECRET_H

#include <glib.h>

/* The text of the file; what: its role, for the message. Returns NULL with error set, also if another
 * user owns the file or has access to it. */
char *secret_read (const char *file, const char *what, GError **error);
/* The same for a file of one line, which is the password. */
char *secret_read_password (const char *file, const char *what, GError **error);
/* Wipes it; NULL is allowed. */
void secret_free (char *secret);

#endif
