/* harmed_KIND RESOURCE write NAME TOKEN BODY
 * harmed_KIND RESOURCE kill NAME FROM [MOST]
 *
 * "write" writes with the example's guard, and ends with 0 if that was accepted, otherwise with 1.
 * "kill" kills a writer at each of its system calls, before and after the call, from the given one
 * on, at most so many times and until one has not been killed. Each time it prints a line and waits
 * for one, while the script that runs it may do more harm; then a stale token must be refused. */
#include "late_writer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define STALE  5
#define BEFORE 10
#define NEXT   20

static const char *resource;

static gboolean
write_as (const char *name, guint64 token, const char *body)
{
  late_open (resource, FALSE);
  const gboolean is_accepted = late_write_guarded (name, token, body);
  late_close ();
  return is_accepted;
}

/* FALSE: the writer has ended before. */
static gboolean
kill_at (const char *name, guint64 n)
{
  int status = 0;
  const pid_t pid = fork ();
  if (pid == 0) {
    if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) != 0)
      _exit (3);
    raise (SIGSTOP);
    _exit (write_as (name, NEXT, "next") ? 0 : 1);
  }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFSTOPPED (status));
  for (guint64 i = 0; i < n; i++) {
    g_assert_cmpint (ptrace (PTRACE_SYSCALL, pid, NULL, NULL), ==, 0);
    g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
    if (WIFEXITED (status)) {
      g_assert_cmpint (WEXITSTATUS (status), ==, 0);
      return FALSE;
    }
  }
  kill (pid, SIGKILL);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return TRUE;
}

static void
kill_all (const char *prefix, guint64 from, guint64 most)
{
  char line[16];
  gboolean is_killed = TRUE;

  for (guint64 n = from; is_killed && n - from < most; n++) {
    g_autofree char *name = g_strdup_printf ("%s-%" G_GUINT64_FORMAT, prefix, n);
    g_assert_true (write_as (name, BEFORE, "before"));
    is_killed = kill_at (name, n);
    puts (is_killed ? "killed" : "ended");
    fflush (stdout);
    g_assert_nonnull (fgets (line, sizeof line, stdin));
    if (write_as (name, STALE, "stale"))
      g_error ("%s: a stale token was accepted", name);
    if (!is_killed && write_as (name, BEFORE, "before"))
      g_error ("%s: the token of a writer that has ended was forgotten", name);
  }
}

int
main (int argc, char **argv)
{
  if (argc < 5)
    return 64;
  resource = argv[1];
  const guint64 number = g_ascii_strtoull (argv[4], NULL, 10);
  if (argc == 6 && g_str_equal (argv[2], "write"))
    return write_as (argv[3], number, argv[5]) ? 0 : 1;
  kill_all (argv[3], number, argc > 5 ? g_ascii_strtoull (argv[5], NULL, 10) : G_MAXUINT64);
  return 0;
}
