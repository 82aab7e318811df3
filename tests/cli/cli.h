/* Running zkflock as its users do: a process with arguments, output and an exit code.
 *
 * Everything runs without a shell. Commands that zkflock shall run are modes of one small program
 * (cli_command.c), which logs what it does with times of CLOCK_MONOTONIC.
 */
#ifndef CURATOR_TEST_CLI_H
#define CURATOR_TEST_CLI_H

#include "integration/fixture.h"

#include <sys/types.h>

#define ZKFLOCK     CURATOR_BINARY_DIR "/tools/zkflock/zkflock"
#define CLI_COMMAND CURATOR_BINARY_DIR "/tests/bin/cli_command"
#define CLI_MS      60000 /* for what must happen, but has no bound of its own to show */

typedef struct
{
  pid_t pid;
  int stdin_fd; /* to close */
  char *out;    /* files */
  char *err;    /* NULL: it writes to a descriptor of the test's */
} Cli;

/* Starts argv[0] with the arguments that follow, up to NULL. It dies with the test. stdin is a pipe
 * that stays open until cli_close_stdin() or cli_free(). */
Cli *cli_start (const char *program, ...) G_GNUC_NULL_TERMINATED;
Cli *cli_start_strv (char *const *argv);
/* The same, and its stderr is that descriptor. */
Cli *cli_start_with_stderr (char *const *argv, int err);
void cli_close_stdin (Cli *cli);
/* The exit code, 1000 + n if it died of signal n, -1 if it still runs. */
int cli_wait (Cli *cli, int timeout_ms);
/* What it has written so far. */
char *cli_stdout (Cli *cli);
char *cli_stderr (Cli *cli);
/* Kills it if it still runs. */
void cli_free (Cli *cli);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Cli, cli_free)

/* Waits for its end with that exit code, and that text in what it wrote to stderr; "": it wrote
 * nothing there; NULL: anything. */
void cli_ends (Cli *cli, int exit_code, const char *text);
/* That is somewhere in the text. */
void cli_shows (const char *text, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Runs zkflock on that server to its end, which must be that exit code; the result (for
 * g_free()) is what it wrote to stdout. */
char *cli_run (Fixture *fixture, int exit_code, ...) G_GNUC_NULL_TERMINATED;
/* The same; the text is in it. */
void cli_run_shows (Fixture *fixture, int exit_code, const char *text, ...) G_GNUC_NULL_TERMINATED;
/* zkflock -Z server ... */
Cli *cli_zkflock (const char *address, ...) G_GNUC_NULL_TERMINATED;
/* The same without a command, when it holds. */
Cli *cli_hold (Fixture *fixture, ...) G_GNUC_NULL_TERMINATED;

/* From now on the test is the parent of what zkflock leaves behind. */
void cli_adopt_orphans (void);
/* How many children of the test run, adopted ones included. */
int cli_count_children (void);

/* A path that does not exist yet, for a log. */
char *cli_new_file (void);
/* Deletes the file, and frees its path: at the end of the block, for a LOG. */
void cli_delete_file (char **file);
#define LOG __attribute__ ((cleanup (cli_delete_file))) char *
/* Lines of a log, in order; empty if it is not there. */
char **cli_lines (const char *file);
/* Waits until the log has that many lines that begin with prefix. */
gboolean cli_wait_lines (const char *file, const char *prefix, int n, int timeout_ms);
/* Waits until the file has that text somewhere. */
gboolean cli_wait_text (const char *file, const char *text, int timeout_ms);
/* Of lines "IN t" and "OUT t": the most that were in at one time; *turns: how many came in. */
int cli_overlap (const char *file, int *turns);
/* The largest time in lines "BEAT pid t", 0 if there is none. */
gint64 cli_last_beat (const char *file);
/* Waits until nothing has beaten for a while; the time of the last beat. */
gint64 cli_end_of_beats (const char *file);
/* A server that accepts and says nothing, as "host:port"; returns its socket. */
int cli_listen (char **address);
/* The number behind the first prefix. */
gint64 cli_number (const char *file, const char *prefix);

#endif
