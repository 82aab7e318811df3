/* The guard of examples/fencing_token.c when its writer is killed at each of its system calls, its disk is full, or the machine loses
 * what was not on the disk: a stale token is never accepted.
 */
#include <stdio.h>
#include <unistd.h>

#define main example_main
int example_main (int argc, char **argv);
static int rename_on_disk (const char *from, const char *to);
static int sync_to_disk (int fd);
#define rename rename_on_disk
#define fsync  sync_to_disk
#include "examples/fencing_token.c"
#undef main
#undef rename
#undef fsync

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define STALE  5
#define BEFORE 10
#define NEXT   20

static char *file;
static gboolean is_synced;  /* the new file, before it has its name */
static gboolean is_durable; /* and its name */

static int
sync_to_disk (int fd)
{
  struct stat status;
  if (fstat (fd, &status) != 0 || fsync (fd) != 0)
    return -1;
  if (S_ISDIR (status.st_mode))
    is_durable = is_synced;
  else
    is_synced = status.st_size > 0;
  return 0;
}

static int
rename_on_disk (const char *from, const char *to)
{
  g_assert_true (is_synced);
  is_durable = FALSE;
  return rename (from, to);
}

static void
begin (void)
{
  g_unlink (file);
  g_assert_true (write_fenced (file, BEFORE, "before"));
}

/* The fence is one of the whole ones, and the stale writer is refused. */
static void
check (const char *when)
{
  g_autofree char *text = NULL;
  if (write_fenced (file, STALE, "stale"))
    g_error ("%s: a stale token was accepted", when);
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  g_assert_true (g_str_equal (text, "10 before\n") || g_str_equal (text, "20 next\n"));
}

/* FALSE: the writer has ended before. */
static gboolean
kill_at (guint n)
{
  int status = 0;
  const pid_t pid = fork ();
  if (pid == 0)
    {
      if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit (3);
      raise (SIGSTOP);
      _exit (write_fenced (file, NEXT, "next") ? 0 : 1);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFSTOPPED (status));
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpint (ptrace (PTRACE_SYSCALL, pid, NULL, NULL), ==, 0);
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      if (WIFEXITED (status))
        {
          g_assert_cmpint (WEXITSTATUS (status), ==, 0);
          return FALSE;
        }
    }
  kill (pid, SIGKILL);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return TRUE;
}

static void
test_killed (void)
{
  guint n = 1;
  for (begin (); kill_at (n); n++)
    {
      check ("killed");
      begin ();
    }
  check ("unharmed");
  g_test_message ("killed before and after %u system calls", n / 2);
  g_assert_cmpuint (n, >, 20);
}

/* A limit of each size in place of a full disk. */
static void
test_full_disk (void)
{
  signal (SIGXFSZ, SIG_IGN);
  for (rlim_t most = 0; most < 8; most++)
    {
      struct rlimit limit;
      begin ();
      g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &limit), ==, 0);
      const rlim_t before = limit.rlim_cur;
      limit.rlim_cur = most;
      g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
      g_assert_false (write_fenced (file, NEXT, "next"));
      limit.rlim_cur = before;
      g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
      check ("full");
    }
}

static void
test_unreadable (void)
{
  static const char *const fences[] = { "", " ", "next", "20", "x20 next\n" };
  for (guint i = 0; i < G_N_ELEMENTS (fences); i++)
    {
      g_assert_true (g_file_set_contents (file, fences[i], -1, NULL));
      g_assert_false (write_fenced (file, STALE, "stale"));
    }
}

/* What was accepted is on the disk, under its name. */
static void
test_power (void)
{
  begin ();
  is_synced = is_durable = FALSE;
  g_assert_true (write_fenced (file, NEXT, "next"));
  g_assert_true (is_durable);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_autofree char *folder = g_dir_make_tmp ("file-guard-XXXXXX", NULL);
  g_autofree char *fresh = g_build_filename (folder, "state.new", NULL);
  g_autofree char *lock = g_build_filename (folder, "state.lock", NULL);
  file = g_build_filename (folder, "state", NULL);
  g_test_add_func ("/file-guard/killed", test_killed);
  g_test_add_func ("/file-guard/full-disk", test_full_disk);
  g_test_add_func ("/file-guard/unreadable", test_unreadable);
  g_test_add_func ("/file-guard/power", test_power);
  const int failed = g_test_run ();
  g_unlink (file);
  g_unlink (fresh);
  g_unlink (lock);
  g_rmdir (folder);
  g_free (file);
  return failed;
}
