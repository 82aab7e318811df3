#pragma once

#include "base/exit_code.h"
#include "base/message.h"
#include "base/options.h"

/* Prints the message with the time since the start, if --verbose was given. */
void print_verbose (const Options *options, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Starts the clock of print_verbose(). */
void outcome_start_clock (void);
gint64 outcome_elapsed_ms (void);

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
