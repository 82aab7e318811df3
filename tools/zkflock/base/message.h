#pragma once

#include <glib.h>
#include <syslog.h>

/* Prints "zkflock: PATH: message" on one line, whatever the message holds. path may be NULL.
 * priority: of syslog; LOG_NOTICE goes nowhere else. */
void message_print (int priority, const char *path, const char *format, ...) G_GNUC_PRINTF (3, 4);

#define print_error(path, ...) message_print (LOG_ERR, path, __VA_ARGS__)
/* For what is no error. */
#define print_note(path, ...) message_print (LOG_INFO, path, __VA_ARGS__)
/* For syslog only. */
#define log_note(path, ...) message_print (LOG_NOTICE, path, __VA_ARGS__)

/* FALSE for what a terminal would obey, such as C1 and bidirectional controls, and for what nobody
 * sees. */
gboolean message_is_printable (gunichar c);

/* From now on messages go to syslog, too. */
void message_use_syslog (void);

typedef enum
{
  LOGS_CRITICAL, /* errors and critical messages only */
  LOGS_WARNINGS, /* and each warning once, as a message of zkflock's */
  LOGS_ALL
} Logs;

/* What the libraries log. */
void choose_logs (Logs logs);
