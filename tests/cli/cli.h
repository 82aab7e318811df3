/* Running zkflock as its users do: a process with arguments, output and an exit code.
 *
 * Everything runs without a shell. Commands that zkflock shall run are modes of one small program
 * (cli_command.c), which logs what it does with times of CLOCK_MONOTONIC.
 */
#pragma once

#include "integration/fixture.h"

#include <sys/types.h>

#define ZKFLOCK     CURATOR_BINARY_DIR "/tools/zkflock/zkflock"
#define CLI_COMMAND CURATOR_BINARY_DIR "/tests/bin/cli_command"
#define CLI_MS      120000 /* for what must happen, but has no bound of its own to show */

typedef struct
{
  pid_t pid;
  int stdin_fd; /* to close */
  char *out;    /* files */
  char *err;
  char *log; /* what "LOG" in its words stands for */
  int code;  /* once it has ended */
} Cli;

/* The words of a command line, as an array and its length. NULL among them is no word, and "LOG" the
 * log of the process. */
#define CLI_WORDS(...)                                                                             \
  (const char *const[]){ __VA_ARGS__ }, G_N_ELEMENTS (((const char *const[]){ __VA_ARGS__ }))
#define CLI_ZKFLOCK(address, ...) CLI_WORDS (ZKFLOCK, "-Z", (address), __VA_ARGS__)
/* A mode of cli_command, with its log. */
#define COMMAND(mode) CLI_COMMAND, (mode), "LOG"

/* Starts the first word, which is a path. It dies with the test. stdin is a pipe that stays open
 * until cli_close_stdin() or cli_free(). */
Cli *cli_start_words (const char *const *words, gsize n);
/* The same, with that descriptor of the test as that number, which is at most 3. */
Cli *cli_start_with (int fd, int number, const char *const *words, gsize n);
#define cli_start(...) cli_start_words (CLI_WORDS (__VA_ARGS__))
/* zkflock -Z server ... */
#define cli_zkflock(address, ...) cli_start_words (CLI_ZKFLOCK (address, __VA_ARGS__))
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
/* The same; stderr is one line of zkflock's. */
void cli_ends_with_line (Cli *cli, int exit_code, const char *text);
gboolean cli_is_one_line (const char *text);
/* zkflock without a command, when it holds. */
#define cli_hold(fixture, ...) cli_holding (cli_zkflock (fixture_server (fixture), __VA_ARGS__))
Cli *cli_holding (Cli *cli); /* waits until it holds */
/* Waits until its command has beaten so often. */
void cli_beats (Cli *cli, int n);
/* Waits until it has written that to stderr. */
void cli_says (Cli *cli, const char *text);
/* It has not. */
void cli_says_not (Cli *cli, const char *text);
/* Another zkflock, whose command takes a turn when it gets the lock; it waits already. */
Cli *cli_next_in_line (Fixture *fixture, const char *path);
/* The holder ends with that code, the next one has its turn, and nothing of the command of the first
 * has run beside it. */
void cli_hand_over (Cli *holder, int exit_code, Cli *next);
/* That is somewhere in the text. */
void cli_shows (const char *text, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Runs a command line to its end, which must be that exit code, with that text in stderr as of
 * cli_ends(). The result (for g_free()) is what it wrote to stdout. */
char *cli_output (int exit_code, const char *err, const char *const *words, gsize n);
/* zkflock on the server of the fixture. */
#define cli_run(fixture, exit_code, ...)                                                           \
  cli_output ((exit_code), NULL, CLI_ZKFLOCK (fixture_server (fixture), __VA_ARGS__))
/* The same; the text is in its stderr. */
#define cli_fails(fixture, exit_code, err, ...)                                                    \
  g_free (cli_output ((exit_code), (err), CLI_ZKFLOCK (fixture_server (fixture), __VA_ARGS__)))
#define cli_exits(fixture, exit_code, ...) cli_fails (fixture, exit_code, NULL, __VA_ARGS__)
/* The same; the text is in its stdout. */
#define cli_run_shows(fixture, exit_code, text, ...)                                               \
  cli_output_shows ((exit_code), (text), CLI_ZKFLOCK (fixture_server (fixture), __VA_ARGS__))
void cli_output_shows (int exit_code, const char *text, const char *const *words, gsize n);
/* What Python prints, without the line feed, for an expression of the JSON text d: an independent
 * parser. */
char *cli_eval_json (const char *json, const char *expression);
/* Runs zkflock on that server to that exit code and one line. */
#define cli_fails_with_line(address, exit_code, text, ...)                                         \
  cli_run_to_line ((exit_code), (text), CLI_ZKFLOCK (address, __VA_ARGS__))
void cli_run_to_line (int exit_code, const char *text, const char *const *words, gsize n);

/* What the process table has of a process. */
typedef struct
{
  pid_t pid, parent, group, session;
  uid_t user;
  char state;
} CliProcess;

gboolean cli_read_process (pid_t pid, CliProcess *process);
/* A zombie runs nothing. */
gboolean cli_is_running (pid_t pid);
/* CliProcesses, of all. */
GArray *cli_processes (void);
/* pid_t, zombies too. */
GArray *cli_children_of (pid_t parent);
/* Those of a zkflock, as soon as there are both: its guard, and what becomes the command. */
GArray *cli_helpers (Cli *cli);
/* Whether that file of it in /proc has the text. */
gboolean cli_process_has (pid_t pid, const char *file, const char *text);
/* Where control groups of version 2 are mounted, or NULL. */
char *cli_cgroup2 (void);
/* Whether a control group that the zkflock of that process has made is left. */
gboolean cli_left_a_cgroup (pid_t pid);
/* From now on the test is the parent of what zkflock leaves behind. */
void cli_adopt_orphans (void);
/* How many children of the test run, adopted ones included. */
int cli_count_children (void);

/* A path that does not exist yet, for a log. */
char *cli_new_file (void);
/* Deletes the file, and frees its path: at the end of the block, for a LOG. */
void cli_delete_file (char **file);
#define LOG __attribute__ ((cleanup (cli_delete_file))) char *
/* A file of that text and mode, whatever the umask. */
char *cli_write_file (const char *text, gssize length, int mode);
/* A copy of the command that runs as root whoever starts it. Skips the test if we cannot. */
char *cli_new_setuid_command (void);
/* An address where nobody listens. */
char *cli_unused_address (void);
/* A server that accepts and says nothing, as "host:port"; returns its socket. */
int cli_listen (char **address);
/* A socket of that name, "@..." without a file; and what arrives there, a line each, the first of it
 * within that time. */
int cli_listen_to_datagrams (const char *name);
void cli_hear (int fd, GString *told, int timeout_ms);

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
/* The process ids in these lines, each once. */
GArray *cli_beaters (const char *file);
/* The number behind the first prefix. */
gint64 cli_number (const char *file, const char *prefix);
