/* How the program ends and what it says: exit codes, one-line errors, --verbose. */
#ifndef ZKFLOCK_OUTCOME_H
#define ZKFLOCK_OUTCOME_H

#include "options.h"

enum
{
  EXIT_CODE_USAGE = 64,
  EXIT_CODE_UNREACHABLE = 69,
  EXIT_CODE_LOST = 75,
  EXIT_CODE_REFUSED = 77,
  EXIT_CODE_NOT_EXECUTABLE = 126,
  EXIT_CODE_NOT_FOUND = 127,
  EXIT_CODE_SIGNAL = 128
};

/* "zkflock: PATH: what", on one line whatever is in it. path may be NULL. */
void print_error (const char *path, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* The same with the time since the start, if --verbose was given. */
void print_verbose (const Options *options, const char *format, ...) G_GNUC_PRINTF (2, 3);

int exit_code_of (const Options *options, const GError *error);
/* Prints error and returns its exit code. A conflict is told by its code alone, as by flock. */
int fail_with (const Options *options, const GError *error);

/* Messages of the libraries are shown with --verbose only. */
void silence_logs (gboolean verbose);

#endif
