#pragma once

#include "base/exit_code.h"
#include "base/message.h"
#include "base/options.h"

/* Prints the message with the time since the start, if --verbose was given. */
void print_verbose (const Options *options, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Starts the clock of print_verbose(). */
void outcome_start_clock (void);
gint64 outcome_elapsed_ms (void);
/* Until the run shall have ended, by --wait, or with -n by --connect-timeout; negative behind that.
 * G_MAXINT: no limit. */
gint64 outcome_left_ms (const Options *options);
/* How long to wait for one answer. The last question of a run may take LAST_ANSWER_MS. */
gint64 outcome_answer_ms (const Options *options, gint64 most_ms);
/* How long to close a client that holds nothing. */
gint64 outcome_close_ms (const Options *options);

/* What is done about the end of a run takes less than a second together. */
#define LAST_ANSWER_MS 400
#define CLOSE_MS       800

/* Prints what could not be done, what this machine is short of and the limit, by an errno; returns
 * the exit code. */
int report_shortage (const char *path, const char *what, int error);
/* Whether the error only says that no server has answered in time. */
gboolean is_no_answer (const GError *error);
/* Of the reason why there is no connection. */
int exit_code_of_cause (const GError *error);
int exit_code_of (const Options *options, const GError *error);
/* Prints the error and returns its exit code. A conflict prints nothing, as in flock(1). */
int fail_with (const Options *options, const GError *error);
