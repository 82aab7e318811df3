#ifndef ZKFLOCK_MESSAGE_H
#define ZKFLOCK_MESSAGE_H

#include <glib.h>

/* Prints "zkflock: PATH: message" on one line, whatever the message holds. path may be NULL. */
void print_error (const char *path, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* FALSE for what a terminal would obey, such as C1 and bidirectional controls, and for what nobody
 * sees. */
gboolean message_is_printable (gunichar c);

/* From now on messages go to syslog, too. */
void message_use_syslog (void);
/* Like print_error(), for what is no error. */
void print_note (const char *path, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* For syslog only. */
void log_note (const char *path, const char *format, ...) G_GNUC_PRINTF (2, 3);

typedef enum
{
  LOGS_CRITICAL, /* errors and critical messages only */
  LOGS_WARNINGS, /* and each warning once, as a message of zkflock's */
  LOGS_ALL
} Logs;

/* What the libraries log. */
void choose_logs (Logs logs);

#endif
