#include "cli.h"

#include "support/net.h"
#include "support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

static int
open_output (const char *file)
{
  return open (file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Nothing but the three standard descriptors is passed on, so that a test sees zkflock's own. */
G_GNUC_NORETURN static void
become (char *const *argv, int in, int out, int err)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  dup2 (in, STDIN_FILENO);
  dup2 (out, STDOUT_FILENO);
  dup2 (err, STDERR_FILENO);
  close_range (3, ~0U, 0);
  execv (argv[0], argv);
  _exit (125);
}

static void
start (Cli *cli, char *const *argv, int err)
{
  int ends[2];

  cli->out = cli_new_file ();
  assert_int_equal (pipe2 (ends, O_CLOEXEC), 0);
  const int out = open_output (cli->out);
  cli->pid = fork ();
  if (cli->pid == 0)
    become (argv, ends[0], out, err);
  assert_true (cli->pid > 0);
  close (ends[0]);
  close (out);
  cli->stdin_fd = ends[1];
}

Cli *
cli_start_strv (char *const *argv)
{
  Cli *cli = g_new0 (Cli, 1);

  cli->err = cli_new_file ();
  const int err = open_output (cli->err);
  start (cli, argv, err);
  close (err);
  return cli;
}

Cli *
cli_start_with_stderr (char *const *argv, int err)
{
  Cli *cli = g_new0 (Cli, 1);

  start (cli, argv, err);
  return cli;
}

static void
add_words (GPtrArray *argv, va_list words)
{
  const char *word;
  while ((word = va_arg (words, const char *)) != NULL)
    g_ptr_array_add (argv, (gpointer) word);
  g_ptr_array_add (argv, NULL);
}

Cli *
cli_start (const char *program, ...)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  va_list words;

  g_ptr_array_add (argv, (gpointer) program);
  va_start (words, program);
  add_words (argv, words);
  va_end (words);
  return cli_start_strv ((char *const *) argv->pdata);
}

static Cli *
start_zkflock (const char *address, va_list words)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  g_ptr_array_add (argv, (gpointer) ZKFLOCK);
  g_ptr_array_add (argv, (gpointer) "-Z");
  g_ptr_array_add (argv, (gpointer) address);
  add_words (argv, words);
  return cli_start_strv ((char *const *) argv->pdata);
}

Cli *
cli_zkflock (const char *address, ...)
{
  va_list words;
  va_start (words, address);
  Cli *cli = start_zkflock (address, words);
  va_end (words);
  return cli;
}

Cli *
cli_hold (Fixture *fixture, ...)
{
  va_list words;
  va_start (words, fixture);
  Cli *cli = start_zkflock (fixture_server (fixture), words);
  va_end (words);
  assert_true (cli_wait_lines (cli->out, "", 1, CLI_MS));
  return cli;
}

void
cli_ends (Cli *cli, int exit_code, const char *text)
{
  const int code = cli_wait (cli, CLI_MS);
  g_autofree char *err = cli_stderr (cli);
  const gboolean is_told =
      text == NULL || (*text != '\0' ? strstr (err, text) != NULL : *err == '\0');
  if (code != exit_code || !is_told)
    {
      fail_msg ("exit code %d, not %d with \"%s\"; stderr: %s", code, exit_code,
                text != NULL ? text : "", err);
    }
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
cli_run (Fixture *fixture, int exit_code, ...)
{
  va_list words;
  va_start (words, exit_code);
  g_autoptr (Cli) cli = start_zkflock (fixture_server (fixture), words);
  va_end (words);
  cli_ends (cli, exit_code, NULL);
  return cli_stdout (cli);
}

void
cli_run_shows (Fixture *fixture, int exit_code, const char *text, ...)
{
  va_list words;
  va_start (words, text);
  g_autoptr (Cli) cli = start_zkflock (fixture_server (fixture), words);
  va_end (words);
  cli_ends (cli, exit_code, NULL);
  g_autofree char *out = cli_stdout (cli);
  cli_shows (out, "%s", text);
}

void
cli_adopt_orphans (void)
{
  assert_int_equal (prctl (PR_SET_CHILD_SUBREAPER, 1), 0);
}

static gboolean
is_running (const char *pid)
{
  g_autofree char *file = g_strdup_printf ("/proc/%s/stat", pid);
  g_autofree char *text = NULL;
  const char *rest = g_file_get_contents (file, &text, NULL, NULL) ? strrchr (text, ')') : NULL;
  return rest != NULL && rest[2] != 'Z' && rest[2] != 'X';
}

int
cli_count_children (void)
{
  g_autoptr (GDir) threads = g_dir_open ("/proc/self/task", 0, NULL);
  const char *thread;
  int n = 0;

  assert_non_null (threads);
  while ((thread = g_dir_read_name (threads)) != NULL)
    {
      g_autofree char *file = g_strdup_printf ("/proc/self/task/%s/children", thread);
      g_autofree char *text = NULL;
      g_auto (GStrv) pids =
          g_file_get_contents (file, &text, NULL, NULL) ? g_strsplit (text, " ", -1) : NULL;
      for (char **pid = pids; pid != NULL && *pid != NULL; pid++)
        n += **pid != '\0' && is_running (*pid);
    }
  return n;
}

void
cli_close_stdin (Cli *cli)
{
  if (cli->stdin_fd >= 0)
    {
      close (cli->stdin_fd);
      cli->stdin_fd = -1;
    }
}

int
cli_wait (Cli *cli, int timeout_ms)
{
  int status = 0;

  if (!process_wait (cli->pid, timeout_ms, &status))
    return -1;
  cli->pid = 0;
  return WIFEXITED (status) ? WEXITSTATUS (status) : 1000 + WTERMSIG (status);
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
  if (cli->pid > 0)
    {
      kill (cli->pid, SIGCONT);
      process_kill (cli->pid);
    }
  g_unlink (cli->out);
  if (cli->err != NULL)
    g_unlink (cli->err);
  g_free (cli->out);
  g_free (cli->err);
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

typedef struct
{
  const char *file;
  const char *prefix;
  int n;
} Wanted;

static gboolean
has_lines (gpointer data)
{
  const Wanted *wanted = data;
  g_auto (GStrv) lines = cli_lines (wanted->file);
  int n = 0;

  for (char **line = lines; *line != NULL; line++)
    n += g_str_has_prefix (*line, wanted->prefix);
  return n >= wanted->n;
}

gboolean
cli_wait_lines (const char *file, const char *prefix, int n, int timeout_ms)
{
  Wanted wanted = { .file = file, .prefix = prefix, .n = n };
  return wait_until (has_lines, &wanted, timeout_ms);
}

static gboolean
has_text (gpointer data)
{
  const Wanted *wanted = data;
  g_autofree char *text = contents (wanted->file);
  return strstr (text, wanted->prefix) != NULL;
}

gboolean
cli_wait_text (const char *file, const char *text, int timeout_ms)
{
  Wanted wanted = { .file = file, .prefix = text };
  return wait_until (has_text, &wanted, timeout_ms);
}

typedef struct
{
  gint64 at;
  int change;
} Step;

/* Who leaves at the moment when another comes has left before. */
static int
compare_steps (gconstpointer a, gconstpointer b)
{
  const Step *left = a;
  const Step *right = b;
  return left->at != right->at ? (left->at < right->at ? -1 : 1) : left->change - right->change;
}

int
cli_overlap (const char *file, int *turns)
{
  g_auto (GStrv) lines = cli_lines (file);
  g_autoptr (GArray) steps = g_array_new (FALSE, FALSE, sizeof (Step));
  int now = 0;
  int most = 0;

  *turns = 0;
  for (char **line = lines; *line != NULL; line++)
    {
      const gboolean in = g_str_has_prefix (*line, "IN ");
      if (in || g_str_has_prefix (*line, "OUT "))
        {
          const Step step = { .at = g_ascii_strtoll (strchr (*line, ' '), NULL, 10),
                              .change = in ? 1 : -1 };
          g_array_append_val (steps, step);
          *turns += in;
        }
    }
  g_array_sort (steps, compare_steps);
  for (guint i = 0; i < steps->len; i++)
    {
      now += g_array_index (steps, Step, i).change;
      most = MAX (most, now);
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

gint64
cli_end_of_beats (const char *file)
{
  gint64 last = cli_last_beat (file);
  for (int i = 0; i < CLI_MS / 200; i++)
    {
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
