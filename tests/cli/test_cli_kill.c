/* What zkflock can kill and what it cannot: commands that change their user or leave their process
 * group, with and without a control group, and helper processes that are killed. */
#include "cli.h"

#include "support/process.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <mntent.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION_TEXT "6"

/* A log that any user may write. */
static char *
new_open_log (void)
{
  char *file = cli_new_file ();
  assert_true (g_file_set_contents (file, "", -1, NULL));
  assert_int_equal (chmod (file, 0666), 0);
  return file;
}

/* Process ids in the lines "BEAT pid t". */
static void
kill_beaters (const char *log)
{
  g_auto (GStrv) lines = cli_lines (log);

  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix (*line, "BEAT "))
      kill ((pid_t) g_ascii_strtoll (*line + 5, NULL, 10), SIGKILL);
}

/* A copy of the command that runs as root whoever starts it. */
static char *
new_setuid_command (void)
{
  char *file = cli_new_file ();
  g_autofree char *program = NULL;
  gsize length;

  assert_true (g_file_get_contents (CLI_COMMAND, &program, &length, NULL));
  assert_true (g_file_set_contents (file, program, (gssize) length, NULL));
  assert_int_equal (chmod (file, 04755), 0);
  return file;
}

static char *
find_cgroup2 (void)
{
  FILE *mounts = setmntent ("/proc/self/mounts", "re");
  char *found = NULL;

  for (const struct mntent *entry; found == NULL && (entry = getmntent (mounts)) != NULL;)
    found = strcmp (entry->mnt_type, "cgroup2") == 0 ? g_strdup (entry->mnt_dir) : NULL;
  endmntent (mounts);
  return found;
}

/* A control group that the user "nobody" may use, with or without that right; NULL where the kernel
 * has none. */
static char *
new_cgroup (gboolean delegated, char **mounted)
{
  const struct passwd *nobody = getpwnam ("nobody");
  g_autofree char *mount_point = find_cgroup2 ();

  if (mount_point == NULL)
    {
      mount_point = cli_new_file ();
      if (g_mkdir (mount_point, 0755) != 0 || mount ("none", mount_point, "cgroup2", 0, NULL) != 0)
        {
          g_rmdir (mount_point);
          return NULL;
        }
      *mounted = g_strdup (mount_point);
    }
  char *folder = g_strdup_printf ("%s/curator-test-%d", mount_point, (int) getpid ());
  g_autofree char *procs = g_build_filename (folder, "cgroup.procs", NULL);
  g_autofree char *killer = g_build_filename (folder, "cgroup.kill", NULL);
  if (g_mkdir (folder, 0755) != 0 || !g_file_test (killer, G_FILE_TEST_EXISTS))
    {
      g_rmdir (folder);
      g_free (folder);
      return NULL;
    }
  if (delegated)
    {
      assert_int_equal (chown (folder, nobody->pw_uid, nobody->pw_gid), 0);
      assert_int_equal (chown (procs, nobody->pw_uid, nobody->pw_gid), 0);
    }
  return folder;
}

static gboolean
removes_folder (gpointer folder)
{
  return g_rmdir (folder) == 0;
}

static void
free_cgroup (char *folder, char *mounted)
{
  const gboolean removed = wait_until (removes_folder, folder, CLI_MS);

  if (mounted != NULL)
    {
      umount2 (mounted, MNT_DETACH);
      g_rmdir (mounted);
      g_free (mounted);
    }
  g_free (folder);
  /* zkflock has left no control group below it. */
  assert_true (removed);
}

/* zkflock as the user "nobody" in that control group. */
static Cli *
start_as_nobody (const char *address, const char *cgroup, const char *path, const char *command,
                 const char *mode, const char *log)
{
  g_autofree char *script = g_strdup_printf ("echo $$ >'%s/cgroup.procs' && "
                                             "exec setpriv --reuid=nobody --regid=nogroup "
                                             "--clear-groups \"$@\"",
                                             cgroup);
  return cli_start ("/bin/sh", "-c", script, "sh", ZKFLOCK, "-Z", address, "--session-timeout",
                    SESSION_TEXT, path, command, mode, log, NULL);
}

/* Loses the lock under a command that has become root while zkflock runs as "nobody". Returns the
 * exit code; the next holder has had its turn. */
static int
lose_under_root (Fixture *fixture, gboolean delegated, const char *path, char **err, gint64 *last,
                 gint64 *next_in)
{
  LOG beats = new_open_log ();
  LOG turns = cli_new_file ();
  LOG command = new_setuid_command ();
  char *mounted = NULL;
  char *cgroup = new_cgroup (delegated, &mounted);

  if (cgroup == NULL)
    return -2;
  Cli *holder = start_as_nobody (fixture_proxy (fixture), cgroup, path, command, "root", beats);
  const gboolean began = cli_wait_lines (beats, "BEAT", 4, CLI_MS);
  Cli *next = cli_zkflock (fixture_server (fixture), path, CLI_COMMAND, "turn", turns, "0", NULL);
  const gboolean queued = raw_zk_wait_children (fixture->raw, path, 2, CLI_MS);
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  const int next_code = cli_wait (next, CLI_MS);
  const int code = cli_wait (holder, CLI_MS);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  *err = cli_stderr (holder);
  *last = cli_last_beat (beats);
  kill_beaters (beats);
  *next_in = cli_number (turns, "IN ");
  cli_free (next);
  cli_free (holder);
  free_cgroup (cgroup, mounted);
  if (code != 70 && code != 75)
    print_error ("%s\n", *err);
  assert_true (began && queued);
  assert_int_equal (next_code, 0);
  return code;
}

TEST (what_cannot_be_killed_is_reported)
{
  g_autofree char *err = NULL;
  gint64 last = 0;
  gint64 next_in = 0;

  if (geteuid () != 0)
    skip ();
  const int code = lose_under_root (fixture, FALSE, "/survives", &err, &last, &next_in);
  if (code == -2)
    skip ();
  assert_int_equal (code, 70);
  assert_non_null (strstr (err, "cannot be sent to the command: Operation not permitted"));
  assert_non_null (strstr (err, "lock lost, and the command could not be killed; running: "));
  assert_non_null (strstr (err, "user root"));
}

TEST (p37_a_control_group_kills_another_user)
{
  g_autofree char *err = NULL;
  gint64 last = 0;
  gint64 next_in = 0;

  if (geteuid () != 0)
    skip ();
  const int code = lose_under_root (fixture, TRUE, "/delegated", &err, &last, &next_in);
  if (code == -2)
    skip ();
  assert_int_equal (code, 75);
  assert_true (last > 0 && last < next_in);
}

/* With a control group, what has left the process group ends too. */
TEST (p37_a_control_group_keeps_what_leaves)
{
  LOG beats = new_open_log ();
  char *mounted = NULL;
  char *cgroup = geteuid () == 0 ? new_cgroup (TRUE, &mounted) : NULL;

  if (cgroup == NULL)
    skip ();
  Cli *holder =
      start_as_nobody (fixture_server (fixture), cgroup, "/escape", CLI_COMMAND, "escape", beats);
  const gboolean began = cli_wait_lines (beats, "BEAT", 4, CLI_MS);
  kill (holder->pid, SIGKILL);
  cli_wait (holder, CLI_MS);
  cli_free (holder);
  cli_end_of_beats (beats);
  free_cgroup (cgroup, mounted);
  assert_true (began);
}

/* More than one read of their list has. TERM reaches all of them, or they would never end. */
TEST (term_reaches_a_crowd)
{
  const int n = 3000;
  char *mounted = NULL;
  char *cgroup = new_cgroup (TRUE, &mounted);
  LOG log = cli_new_file ();

  if (cgroup == NULL)
    skip ();
  g_autofree char *script = g_strdup_printf ("exec %s crowd %s %d", CLI_COMMAND, log, n);
  Cli *holder =
      start_as_nobody (fixture_server (fixture), cgroup, "/crowd", "/bin/sh", "-c", script);
  const gboolean began = cli_wait_lines (log, "IN", n, CLI_MS);
  kill (holder->pid, SIGTERM);
  const int code = cli_wait (holder, CLI_MS);
  const gboolean reached = cli_wait_lines (log, "GOT", n, 0);
  cli_free (holder);
  free_cgroup (cgroup, mounted);
  assert_true (began);
  assert_true (code == 0 || code == 128 + SIGTERM);
  assert_true (reached);
}

/* The processes whose parent is pid. */
static GArray *
children_of (pid_t pid)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (pid_t));
  g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);

  for (const char *name; (name = g_dir_read_name (proc)) != NULL;)
    {
      g_autofree char *file = g_build_filename ("/proc", name, "stat", NULL);
      g_autofree char *text = NULL;
      char state;
      int parent;
      if (g_ascii_isdigit (*name) && g_file_get_contents (file, &text, NULL, NULL)
          && sscanf (strrchr (text, ')') + 1, " %c %d", &state, &parent) == 2 && parent == pid)
        {
          const pid_t child = (pid_t) g_ascii_strtoll (name, NULL, 10);
          g_array_append_val (found, child);
        }
    }
  return found;
}

TEST (a_killed_helper_ends_the_wait)
{
  const char *server = fixture_server (fixture);
  g_autoptr (Cli) holder = cli_zkflock (server, "/helper", NULL);

  assert_true (cli_wait_lines (holder->out, "", 1, CLI_MS));
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (Cli) waiter =
          cli_zkflock (server, "--verbose", "/helper", CLI_COMMAND, "exit", "0", NULL);
      assert_true (cli_wait_text (waiter->err, "waiting: 1 of 1", CLI_MS));
      g_autoptr (GArray) children = children_of (waiter->pid);
      assert_int_equal (children->len, 2);
      kill (g_array_index (children, pid_t, i), SIGKILL);
      assert_int_equal (cli_wait (waiter, CLI_MS), 128 + SIGKILL);
      assert_true (cli_wait_text (waiter->err, "a helper process of zkflock was killed", 0));
    }
}

/* Whether pkill -f NAME would hit it. */
static gboolean
is_known_as (pid_t pid, const char *name)
{
  static const char *const files[] = { "comm", "cmdline" };

  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *file = g_strdup_printf ("/proc/%d/%s", (int) pid, files[i]);
      g_autofree char *text = NULL;
      gsize length = 0;
      if (g_file_get_contents (file, &text, &length, NULL)
          && memmem (text, length, name, strlen (name)) != NULL)
        return TRUE;
    }
  return FALSE;
}

typedef enum
{
  BY_NAME,
  THE_GUARD,
  ALL_AT_ONCE,
  N_VICTIMS
} Victims;

/* Who is to be killed of zkflock, its guard and the command's first process. */
static gboolean
is_victim (Victims victims, pid_t pid, pid_t zkflock)
{
  return victims == ALL_AT_ONCE || (victims == BY_NAME && is_known_as (pid, "zkflock"))
         || (victims == THE_GUARD && pid != zkflock && !is_known_as (pid, "cli_command"));
}

/* Who beats in the log is dead within a second. */
static void
assert_silence (const char *log)
{
  const gint64 killed_at = wait_now_ns ();
  assert_true (cli_end_of_beats (log) - killed_at < G_GINT64_CONSTANT (1000000000));
}

/* Kills some of them while the command runs and another one waits. In a group of two processes the
 * second one has no parent of its own any more; with a control group, it has also left the
 * group. */
static void
kill_and_check (Fixture *fixture, Victims victims, gboolean delegated)
{
  LOG beats = new_open_log ();
  char *mounted = NULL;
  char *cgroup = new_cgroup (delegated, &mounted);

  if (cgroup == NULL)
    skip ();
  g_autofree char *path = g_strdup_printf ("/victims/%d-%d", victims, delegated);
  Cli *holder = start_as_nobody (fixture_server (fixture), cgroup, path, CLI_COMMAND,
                                 delegated ? "escape" : "daemon", beats);
  assert_true (cli_wait_lines (beats, "BEAT", 10, CLI_MS));
  g_autoptr (GArray) tree = children_of (holder->pid);
  assert_int_equal (tree->len, 2);
  g_array_prepend_val (tree, holder->pid);
  for (guint i = tree->len; i > 0; i--)
    if (!is_victim (victims, g_array_index (tree, pid_t, i - 1), holder->pid))
      g_array_remove_index (tree, i - 1);
  for (guint i = 0; i < tree->len; i++)
    kill (g_array_index (tree, pid_t, i), SIGKILL);
  assert_silence (beats);
  assert_int_equal (cli_wait (holder, CLI_MS),
                    victims == THE_GUARD ? 128 + SIGKILL : 1000 + SIGKILL);
  assert_int_equal (cli_wait_text (holder->err, "a helper process of zkflock was killed", 0),
                    victims == THE_GUARD);
  cli_free (holder);
  free_cgroup (cgroup, mounted);
}

TEST (p37_whoever_is_killed)
{
  if (geteuid () != 0)
    skip ();
  for (Victims victims = 0; victims < N_VICTIMS; victims++)
    {
      kill_and_check (fixture, victims, FALSE);
      if (victims != ALL_AT_ONCE)
        kill_and_check (fixture, victims, TRUE);
    }
}

/* As "nobody", where /proc shows it no process of others. */
static Cli *
start_hidden (const char *address, const char *path, const char *command, const char *mode,
              const char *log)
{
  return cli_start ("/usr/bin/unshare", "--mount", "/bin/sh", "-c",
                    "mount -t proc -o hidepid=2 proc /proc && "
                    "exec setpriv --reuid=nobody --regid=nogroup --clear-groups \"$@\"",
                    "sh", ZKFLOCK, "-Z", address, "--session-timeout", SESSION_TEXT, path, command,
                    mode, log, NULL);
}

TEST (p37_a_hidden_process_is_not_dead)
{
  if (geteuid () != 0)
    skip ();
  LOG beats = new_open_log ();
  LOG command = new_setuid_command ();
  g_autoptr (Cli) holder =
      start_hidden (fixture_proxy (fixture), "/hidden/lost", command, "root", beats);
  assert_true (cli_wait_lines (beats, "BEAT", 4, CLI_MS));
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  const int code = cli_wait (holder, CLI_MS);
  kill_beaters (beats);
  assert_int_equal (code, 70);
  assert_true (cli_wait_text (holder->err, "could not be killed; running: ", 0));
}

TEST (p37_no_release_under_a_hidden_process)
{
  if (geteuid () != 0)
    skip ();
  LOG beats = new_open_log ();
  LOG turns = cli_new_file ();
  LOG command = new_setuid_command ();
  g_autoptr (Cli) holder =
      start_hidden (fixture_server (fixture), "/hidden/left", command, "leave_root", beats);
  assert_true (cli_wait_lines (beats, "BEAT", 4, CLI_MS));
  g_autoptr (Cli) next =
      cli_zkflock (fixture_server (fixture), "/hidden/left", CLI_COMMAND, "turn", turns, "0", NULL);
  const gboolean waits = raw_zk_wait_children (fixture->raw, "/hidden/left", 2, CLI_MS)
                         && cli_wait_text (holder->err, "the lock is held until these do", 20000);
  kill_beaters (beats);
  assert_true (waits);
  assert_int_equal (cli_wait (holder, CLI_MS), 4);
  assert_int_equal (cli_wait (next, CLI_MS), 0);
  assert_true (cli_last_beat (beats) < cli_number (turns, "IN "));
}

/* The command is another zkflock with a control group of its own, which dies with its guard. */
TEST (removes_control_groups_in_its_own)
{
  LOG beats = new_open_log ();
  char *mounted = NULL;
  char *cgroup = geteuid () == 0 ? new_cgroup (TRUE, &mounted) : NULL;

  if (cgroup == NULL)
    skip ();
  const char *server = fixture_server (fixture);
  g_autofree char *script =
      g_strdup_printf (ZKFLOCK " -Z %s /inner " CLI_COMMAND " beat %s", server, beats);
  g_autoptr (Cli) outer = start_as_nobody (server, cgroup, "/outer", "/bin/sh", "-c", script);
  assert_true (cli_wait_lines (beats, "BEAT", 1, CLI_MS));
  kill (outer->pid, SIGKILL);
  assert_int_equal (cli_wait (outer, CLI_MS), 1000 + SIGKILL);
  free_cgroup (cgroup, mounted);
}

/* Both zkflock and its guard were killed, and a process has left the group: the next zkflock ends
 * it and removes the control group. A folder that is in use stays. */
TEST (sweeps_control_groups_of_the_dead)
{
  const char *server = fixture_server (fixture);
  LOG beats = new_open_log ();
  LOG others = new_open_log ();
  char *mounted = NULL;
  char *cgroup = geteuid () == 0 ? new_cgroup (TRUE, &mounted) : NULL;

  if (cgroup == NULL)
    skip ();
  g_autoptr (Cli) other =
      start_as_nobody (server, cgroup, "/swept/other", CLI_COMMAND, "beat", others);
  g_autoptr (Cli) dead =
      start_as_nobody (server, cgroup, "/swept/dead", CLI_COMMAND, "escape", beats);
  assert_true (cli_wait_lines (others, "BEAT", 1, CLI_MS));
  assert_true (cli_wait_lines (beats, "BEAT", 4, CLI_MS));
  g_autoptr (GArray) tree = children_of (dead->pid);
  kill (dead->pid, SIGSTOP);
  for (guint i = 0; i < tree->len; i++)
    kill (g_array_index (tree, pid_t, i), SIGKILL);
  kill (dead->pid, SIGKILL);
  assert_int_equal (cli_wait (dead, CLI_MS), 1000 + SIGKILL);
  g_autoptr (Cli) next = start_as_nobody (server, cgroup, "/swept/next", CLI_COMMAND, "exit", "0");
  assert_int_equal (cli_wait (next, CLI_MS), 0);
  assert_silence (beats);
  assert_int_equal (cli_wait (other, 0), -1);
  kill (other->pid, SIGTERM);
  assert_int_equal (cli_wait (other, CLI_MS), 128 + SIGTERM);
  free_cgroup (cgroup, mounted);
}

/* Its children that have ended and that it has not waited for. */
static guint
count_zombies (pid_t parent)
{
  g_autoptr (GArray) children = children_of (parent);
  guint n = 0;

  for (guint i = 0; i < children->len; i++)
    {
      g_autofree char *file =
          g_strdup_printf ("/proc/%d/stat", (int) g_array_index (children, pid_t, i));
      g_autofree char *text = NULL;
      n += g_file_get_contents (file, &text, NULL, NULL) && strrchr (text, ')')[2] == 'Z';
    }
  return n;
}

/* The servers release the lock while the guard ends, here while it cannot. */
TEST (the_lock_does_not_wait_for_the_guard)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "/guarded", CLI_COMMAND, "polite", log, "0", NULL);

  assert_true (cli_wait_lines (log, "BEAT", 1, CLI_MS));
  g_autoptr (GArray) tree = children_of (holder->pid);
  assert_int_equal (tree->len, 2);
  const pid_t first = g_array_index (tree, pid_t, 0);
  const pid_t guard = is_known_as (first, "cli_command") ? g_array_index (tree, pid_t, 1) : first;
  assert_int_equal (ptrace (PTRACE_SEIZE, guard, NULL, NULL), 0);
  assert_int_equal (ptrace (PTRACE_INTERRUPT, guard, NULL, NULL), 0);
  assert_int_equal (waitpid (guard, NULL, __WALL), guard);
  kill (holder->pid, SIGTERM);
  assert_true (raw_zk_wait_children (fixture->raw, "/guarded", 0, CLI_MS));
  assert_int_equal (cli_wait (holder, 0), -1);
  assert_int_equal (ptrace (PTRACE_DETACH, guard, NULL, NULL), 0);
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
}

static gboolean
has_no_zombie (gpointer pid)
{
  return count_zombies (*(pid_t *) pid) == 0;
}

/* As process 1 of a container, zkflock is the parent of every orphan there. */
TEST (process_1_reaps_orphans)
{
  LOG log = new_open_log ();

  if (geteuid () != 0)
    skip ();
  g_autoptr (Cli) outer = cli_start ("/usr/bin/unshare", "--pid", "--fork", "--kill-child", ZKFLOCK,
                                     "-Z", fixture_server (fixture), "/first", "/bin/sh", "-c",
                                     CLI_COMMAND " orphans \"$0\" 20; sleep 3", log, NULL);
  assert_true (cli_wait_lines (log, "BEAT", 20, CLI_MS));
  g_autoptr (GArray) inner = children_of (outer->pid);
  assert_int_equal (inner->len, 1);
  pid_t first = g_array_index (inner, pid_t, 0);
  assert_true (wait_until (has_no_zombie, &first, 1000));
  assert_int_equal (cli_wait (outer, CLI_MS), 0);
}

SUITE ("kill", fixture_start, fixture_stop)
