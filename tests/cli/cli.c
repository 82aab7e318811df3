#include "cli.h"

#include "support/net.h"
#include "support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <mntent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

char *
cli_new_file (void)
{
  static int n;
  return g_strdup_printf ("%s/curator-cli-%d-%d", g_get_tmp_dir (), (int) getpid (), ++n);
}

void
cli_delete_file (char **file)
{
  if (*file != NULL)
    g_unlink (*file);
  g_free (*file);
}

char *
cli_write_file (const char *text, gssize length, int mode)
{
  char *file = cli_new_file ();
  assert_true (g_file_set_contents (file, text, length, NULL));
  assert_int_equal (g_chmod (file, mode), 0);
  return file;
}

char *
cli_new_setuid_command (void)
{
  g_autofree char *program = NULL;
  gsize length;

  if (geteuid () != 0)
    skip ();
  assert_true (g_file_get_contents (CLI_COMMAND, &program, &length, NULL));
  return cli_write_file (program, (gssize) length, 04755);
}

char *
cli_unused_address (void)
{
  g_autofree char *host = zk_server_new_host ();
  return g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
}

static int
open_output (const char *file)
{
  return open (file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Nothing else is passed on, so that a test sees zkflock's own. */
G_GNUC_NORETURN static void
become (char *const *argv, const int *standard, int fd, int number)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  for (int i = 0; i <= STDERR_FILENO; i++)
    dup2 (standard[i], i);
  if (fd >= 0) {
    dup2 (fd, number);
    fcntl (number, F_SETFD, 0); /* the same one keeps its flag */
  }
  close_range ((guint) MAX (number, STDERR_FILENO) + 1, ~0U, 0);
  execv (argv[0], argv);
  _exit (125);
}

Cli *
cli_start_words (const char *const *words, gsize n)
{
  return cli_start_with (-1, -1, words, n);
}

Cli *
cli_start_with (int fd, int number, const char *const *words, gsize n)
{
  Cli *cli = g_new0 (Cli, 1);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  int ends[2];

  cli->out = cli_new_file ();
  cli->err = cli_new_file ();
  cli->log = cli_new_file ();
  for (gsize i = 0; i < n; i++)
    if (words[i] != NULL)
      g_ptr_array_add (argv, strcmp (words[i], "LOG") == 0 ? cli->log : (gpointer) words[i]);
  g_ptr_array_add (argv, NULL);
  assert_int_equal (pipe2 (ends, O_CLOEXEC), 0);
  const int out = open_output (cli->out);
  const int err = open_output (cli->err);
  cli->pid = fork ();
  if (cli->pid == 0)
    become ((char *const *) argv->pdata, (const int[]){ ends[0], out, err }, fd, number);
  assert_true (cli->pid > 0);
  close (ends[0]);
  close (out);
  close (err);
  cli->stdin_fd = ends[1];
  return cli;
}

Cli *
cli_holding (Cli *cli)
{
  assert_true (cli_wait_lines (cli->out, "", 1, CLI_MS));
  return cli;
}

void
cli_beats (Cli *cli, int n)
{
  assert_true (cli_wait_lines (cli->log, "BEAT", n, CLI_MS));
}

void
cli_says (Cli *cli, const char *text)
{
  if (!cli_wait_text (cli->err, text, CLI_MS)) {
    g_autofree char *err = cli_stderr (cli);
    fail_msg ("\"%s\" is not in:\n%s", text, err);
  }
}

void
cli_says_not (Cli *cli, const char *text)
{
  assert_false (cli_wait_text (cli->err, text, 0));
}

void
cli_ends (Cli *cli, int exit_code, const char *text)
{
  const int code = cli_wait (cli, CLI_MS);
  g_autofree char *err = cli_stderr (cli);
  const gboolean is_told =
      text == NULL || (*text != '\0' ? strstr (err, text) != NULL : *err == '\0');
  if (code != exit_code || !is_told)
    fail_msg ("exit code %d, not %d with \"%s\"; stderr: %s", code, exit_code,
              text != NULL ? text : "", err);
}

Cli *
cli_next_in_line (Fixture *fixture, const char *path)
{
  Cli *next = cli_zkflock (fixture_server (fixture), path, COMMAND ("turn"), "0");
  assert_true (raw_zk_wait_children (fixture->raw, path, 2, CLI_MS));
  return next;
}

void
cli_hand_over (Cli *holder, int exit_code, Cli *next)
{
  cli_ends (holder, exit_code, NULL);
  cli_ends (next, 0, NULL);
  assert_true (cli_end_of_beats (holder->log) < cli_number (next->log, "IN "));
}

gboolean
cli_is_one_line (const char *text)
{
  const char *end = strchr (text, '\n');
  return end != NULL && end[1] == '\0';
}

void
cli_ends_with_line (Cli *cli, int exit_code, const char *text)
{
  cli_ends (cli, exit_code, text);
  g_autofree char *err = cli_stderr (cli);
  if (!g_str_has_prefix (err, "zkflock: ") || !cli_is_one_line (err))
    fail_msg ("not one line of zkflock's: %s", err);
}

void
cli_shows (const char *text, const char *format, ...)
{
  va_list values;
  va_start (values, format);
  g_autofree char *part = g_strdup_vprintf (format, values);
  va_end (values);
  if (strstr (text, part) == NULL)
    fail_msg ("no \"%s\" in:\n%s", part, text);
}

char *
cli_output (int exit_code, const char *err, const char *const *words, gsize n)
{
  g_autoptr (Cli) cli = cli_start_words (words, n);

  cli_ends (cli, exit_code, err);
  return cli_stdout (cli);
}

void
cli_output_shows (int exit_code, const char *text, const char *const *words, gsize n)
{
  g_autofree char *out = cli_output (exit_code, NULL, words, n);
  cli_shows (out, "%s", text);
}

char *
cli_eval_json (const char *json, const char *expression)
{
  LOG file = cli_write_file (json, -1, 0600);
  g_autofree char *script = g_strdup_printf (
      "import json; d = json.load (open ('%s')); print (%s, end='')", file, expression);
  return cli_output (0, NULL, CLI_WORDS ("/usr/bin/env", "python3", "-c", script));
}

void
cli_run_to_line (int exit_code, const char *text, const char *const *words, gsize n)
{
  g_autoptr (Cli) cli = cli_start_words (words, n);
  cli_ends_with_line (cli, exit_code, text);
}

gboolean
cli_read_process (pid_t pid, CliProcess *process)
{
  g_autofree char *folder = g_strdup_printf ("/proc/%d", (int) pid);
  g_autofree char *file = g_build_filename (folder, "stat", NULL);
  g_autofree char *text = NULL;
  struct stat info;

  if (!g_file_get_contents (file, &text, NULL, NULL) || stat (folder, &info) != 0
      || sscanf (strrchr (text, ')') + 1, " %c %d %d %d", &process->state, &process->parent,
                 &process->group, &process->session)
             != 4)
    return FALSE;
  process->pid = pid;
  process->user = info.st_uid;
  return TRUE;
}

gboolean
cli_is_running (pid_t pid)
{
  CliProcess process;
  return cli_read_process (pid, &process) && process.state != 'Z' && process.state != 'X';
}

GArray *
cli_processes (void)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (CliProcess));
  g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);

  for (const char *name; (name = g_dir_read_name (proc)) != NULL;) {
    CliProcess process;
    if (g_ascii_isdigit (*name) && cli_read_process ((pid_t) atoi (name), &process))
      g_array_append_val (found, process);
  }
  return found;
}

GArray *
cli_children_of (pid_t parent)
{
  g_autoptr (GArray) all = cli_processes ();
  GArray *children = g_array_new (FALSE, FALSE, sizeof (pid_t));

  for (guint i = 0; i < all->len; i++) {
    const CliProcess *process = &g_array_index (all, CliProcess, i);
    if (process->parent == parent)
      g_array_append_val (children, process->pid);
  }
  return children;
}

static gboolean
finds_helpers (Cli *cli, GArray **helpers)
{
  g_clear_pointer (helpers, g_array_unref);
  *helpers = cli_children_of (cli->pid);
  return (*helpers)->len == 2;
}

GArray *
cli_helpers (Cli *cli)
{
  GArray *helpers = NULL;
  assert_soon (finds_helpers (cli, &helpers));
  return helpers;
}

gboolean
cli_process_has (pid_t pid, const char *file, const char *text)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/%s", (int) pid, file);
  g_autofree char *contents = NULL;
  gsize length = 0;

  return g_file_get_contents (path, &contents, &length, NULL)
         && memmem (contents, length, text, strlen (text)) != NULL;
}

char *
cli_cgroup2 (void)
{
  FILE *mounts = setmntent ("/proc/self/mounts", "re");
  char *found = NULL;

  for (const struct mntent *entry; found == NULL && (entry = getmntent (mounts)) != NULL;)
    found = strcmp (entry->mnt_type, "cgroup2") == 0 ? g_strdup (entry->mnt_dir) : NULL;
  endmntent (mounts);
  return found;
}

gboolean
cli_left_a_cgroup (pid_t pid)
{
  g_autofree char *root = cli_cgroup2 ();
  g_autofree char *prefix = g_strdup_printf ("zkflock.%d-", (int) pid);
  g_autoptr (GDir) folder = root != NULL ? g_dir_open (root, 0, NULL) : NULL;

  for (const char *name; folder != NULL && (name = g_dir_read_name (folder)) != NULL;)
    if (g_str_has_prefix (name, prefix))
      return TRUE;
  return FALSE;
}

void
cli_adopt_orphans (void)
{
  assert_int_equal (prctl (PR_SET_CHILD_SUBREAPER, 1), 0);
}

int
cli_count_children (void)
{
  g_autoptr (GArray) children = cli_children_of (getpid ());
  int n = 0;

  for (guint i = 0; i < children->len; i++)
    n += cli_is_running (g_array_index (children, pid_t, i));
  return n;
}

void
cli_close_stdin (Cli *cli)
{
  if (cli->stdin_fd >= 0) {
    close (cli->stdin_fd);
    cli->stdin_fd = -1;
  }
}

int
cli_wait (Cli *cli, int timeout_ms)
{
  int status = 0;

  if (cli->pid == 0)
    return cli->code;
  if (!process_wait (cli->pid, timeout_ms, &status))
    return -1;
  cli->pid = 0;
  cli->code = WIFEXITED (status) ? WEXITSTATUS (status) : 1000 + WTERMSIG (status);
  return cli->code;
}

static char *
contents (const char *file)
{
  char *text = NULL;
  return g_file_get_contents (file, &text, NULL, NULL) ? text : g_strdup ("");
}

char *
cli_stdout (Cli *cli)
{
  return contents (cli->out);
}

char *
cli_stderr (Cli *cli)
{
  return contents (cli->err);
}

void
cli_free (Cli *cli)
{
  cli_close_stdin (cli);
  if (cli->pid > 0) {
    kill (cli->pid, SIGCONT);
    process_kill (cli->pid);
  }
  cli_delete_file (&cli->out);
  cli_delete_file (&cli->err);
  cli_delete_file (&cli->log);
  g_free (cli);
}

char **
cli_lines (const char *file)
{
  g_autofree char *text = contents (file);
  const gsize length = strlen (text);

  /* Only whole lines: the last one may be under way. */
  const char *end = length > 0 ? strrchr (text, '\n') : NULL;
  g_autofree char *whole = g_strndup (text, end != NULL ? (gsize) (end - text) : 0);
  return g_strsplit (whole, "\n", -1);
}

static int
count_lines (const char *file, const char *prefix)
{
  g_auto (GStrv) lines = cli_lines (file);
  int n = 0;

  for (char **line = lines; *line != NULL; line++)
    n += g_str_has_prefix (*line, prefix);
  return n;
}

gboolean
cli_wait_lines (const char *file, const char *prefix, int n, int timeout_ms)
{
  return holds_within (count_lines (file, prefix) >= n, timeout_ms);
}

static gboolean
has_text (const char *file, const char *wanted)
{
  g_autofree char *text = contents (file);
  return strstr (text, wanted) != NULL;
}

gboolean
cli_wait_text (const char *file, const char *text, int timeout_ms)
{
  return holds_within (has_text (file, text), timeout_ms);
}

/* Of these lines, those whose time is not later. */
static int
count_until (char **lines, const char *prefix, gint64 time)
{
  int n = 0;

  for (char **line = lines; *line != NULL; line++)
    n += g_str_has_prefix (*line, prefix)
         && g_ascii_strtoll (*line + strlen (prefix), NULL, 10) <= time;
  return n;
}

/* Who leaves at the moment when another comes has left before. */
int
cli_overlap (const char *file, int *turns)
{
  g_auto (GStrv) lines = cli_lines (file);
  int most = 0;

  *turns = count_until (lines, "IN ", G_MAXINT64);
  for (char **line = lines; *line != NULL; line++) {
    const gint64 time = g_ascii_strtoll (strchr (*line, ' '), NULL, 10);
    most = MAX (most, count_until (lines, "IN ", time) - count_until (lines, "OUT ", time));
  }
  return most;
}

gint64
cli_last_beat (const char *file)
{
  g_auto (GStrv) lines = cli_lines (file);
  gint64 last = 0;

  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix (*line, "BEAT "))
      last = MAX (last, g_ascii_strtoll (strrchr (*line, ' '), NULL, 10));
  return last;
}

GArray *
cli_beaters (const char *file)
{
  g_auto (GStrv) lines = cli_lines (file);
  GArray *pids = g_array_new (FALSE, FALSE, sizeof (pid_t));

  for (char **line = lines; *line != NULL; line++) {
    const pid_t pid = g_str_has_prefix (*line, "BEAT ") ? (pid_t) atoi (*line + 5) : 0;
    gboolean is_known = pid == 0;
    for (guint i = 0; i < pids->len; i++)
      is_known = is_known || g_array_index (pids, pid_t, i) == pid;
    if (!is_known)
      g_array_append_val (pids, pid);
  }
  return pids;
}

gint64
cli_end_of_beats (const char *file)
{
  gint64 last = cli_last_beat (file);
  for (int i = 0; i < CLI_MS / 200; i++) {
    wait_ms (200);
    const gint64 now = cli_last_beat (file);
    if (now == last)
      return last;
    last = now;
  }
  fail_msg ("the command still runs");
  return 0;
}

gint64
cli_number (const char *file, const char *prefix)
{
  g_auto (GStrv) lines = cli_lines (file);

  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix (*line, prefix))
      return g_ascii_strtoll (*line + strlen (prefix), NULL, 10);
  return -1;
}

int
cli_listen_to_datagrams (const char *name)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const gsize length = strlen (name);

  assert_true (length < sizeof address.sun_path);
  memcpy (address.sun_path, name, length);
  if (*name == '@')
    address.sun_path[0] = '\0';
  assert_int_equal (bind (fd, (struct sockaddr *) &address,
                          (socklen_t) (offsetof (struct sockaddr_un, sun_path) + length)),
                    0);
  return fd;
}

void
cli_hear (int fd, GString *told, int timeout_ms)
{
  struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
  char text[4096];

  while (poll (&poll_fd, 1, timeout_ms) == 1) {
    const gssize n = recv (fd, text, sizeof text, 0);
    assert_true (n > 0);
    g_string_append_len (told, text, n);
    g_string_append_c (told, '\n');
    timeout_ms = 0;
  }
}

int
cli_listen (char **address)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *any = g_strdup_printf ("%s:0", host);
  struct sockaddr_in name;

  assert_true (net_parse (any, &name));
  const int fd = net_listen (&name);
  assert_true (fd >= 0);
  *address = g_strdup_printf ("%s:%d", host, ntohs (name.sin_port));
  return fd;
}
