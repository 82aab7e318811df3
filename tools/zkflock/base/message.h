/* Messages on stderr, and what the libraries log. */
#ifndef ZKFLOCK_MESSAGE_H
#define ZKFLOCK_MESSAGE_H

#include <glib.h>

/* Prints "zkflock: PATH: message" on one line, whatever the message holds. path may be NULL. */
void print_error (const char *path, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Drops log messages of the libraries, other than errors and critical ones, unless verbose. */
void silence_logs (gboolean verbose);

#endif
