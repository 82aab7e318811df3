/* What zkflock can kill and what it cannot: commands that change their user or leave their process
 * group, with and without a control group, and helper processes that are killed. */
#include "cli.h"

#include <glib/gstdio.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION_TEXT "20"
#define AS_NOBODY    "exec setpriv --reuid=nobody --regid=nogroup --clear-groups \"$@\""

static void
kill_beaters (Cli *cli)
{
  g_autoptr (GArray) pids = cli_beaters (cli->log);

  for (guint i = 0; i < pids->len; i++)
    kill (g_array_index (pids, pid_t, i), SIGKILL);
}

typedef struct
{
  char *folder;
  char *mounted; /* NULL: the system has it mounted */
} Cgroup;

static void
cgroup_free (Cgroup *self)
{
  const gboolean removed = holds_within (g_rmdir (self->folder) == 0, CLI_MS);

  if (self->mounted != NULL) {
    umount2 (self->mounted, MNT_DETACH);
    g_rmdir (self->mounted);
    g_free (self->mounted);
  }
  g_free (self->folder);
  g_free (self);
  /* zkflock has left no control group below it. */
  assert_true (removed);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Cgroup, cgroup_free)

/* A control group that the user "nobody" may use, with or without that right. Skips the test where
 * the kernel has none. */
static Cgroup *
cgroup_new (gboolean delegated)
{
  const struct passwd *nobody = getpwnam ("nobody");
  Cgroup *self = g_new0 (Cgroup, 1);
  g_autofree char *mount_point = cli_cgroup2 ();

  if (geteuid () != 0)
    skip ();
  if (mount_point == NULL) {
    mount_point = cli_new_file ();
    if (g_mkdir (mount_point, 0755) != 0 || mount ("none", mount_point, "cgroup2", 0, NULL) != 0) {
      g_rmdir (mount_point);
      skip ();
    }
    self->mounted = g_strdup (mount_point);
  }
  self->folder = g_strdup_printf ("%s/curator-test-%d", mount_point, (int) getpid ());
  g_autofree char *procs = g_build_filename (self->folder, "cgroup.procs", NULL);
  g_autofree char *killer = g_build_filename (self->folder, "cgroup.kill", NULL);
  if (g_mkdir (self->folder, 0755) != 0 || !g_file_test (killer, G_FILE_TEST_EXISTS)) {
    g_rmdir (self->folder);
    skip ();
  }
  if (delegated) {
    assert_int_equal (chown (self->folder, nobody->pw_uid, nobody->pw_gid), 0);
    assert_int_equal (chown (procs, nobody->pw_uid, nobody->pw_gid), 0);
  }
  return self;
}

/* zkflock as the user "nobody" in that control group. */
#define start_as_nobody(cgroup, address, ...)                                                      \
  cli_start ("/bin/sh", "-c", "echo $$ >\"$0/cgroup.procs\" && " AS_NOBODY, (cgroup)->folder,      \
             ZKFLOCK, "-Z", (address), "--session-timeout", SESSION_TEXT, __VA_ARGS__)

/* Loses the lock under a command that has become root while zkflock runs as "nobody"; the next
 * holder has its turn. */
static void
lose_under_root (Fixture *fixture, gboolean delegated, const char *path)
{
  g_autoptr (Cgroup) cgroup = cgroup_new (delegated);
  LOG command = cli_new_setuid_command ();
  g_autoptr (Cli) holder =
      start_as_nobody (cgroup, fixture_proxy (fixture), path, command, "root", "LOG");

  cli_beats (holder, 4);
  g_autoptr (Cli) next = cli_next_in_line (fixture, path);
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  cli_ends (next, 0, NULL);
  cli_wait (holder, CLI_MS);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  kill_beaters (holder);
  if (delegated) {
    cli_hand_over (holder, 75, next);
    return;
  }
  cli_ends (holder, 70, "cannot be sent to the command: Operation not permitted");
  cli_says (holder, "lock lost, and the command could not be killed; running: ");
  cli_says (holder, "user root");
}

TEST (what_cannot_be_killed_is_reported)
{
  lose_under_root (fixture, FALSE, "/survives");
}

TEST (p37_a_control_group_kills_another_user)
{
  lose_under_root (fixture, TRUE, "/delegated");
}

/* More than one read of their list has. TERM reaches all of them, or they would never end. */
TEST (term_reaches_a_crowd)
{
  const int n = 1500;
  g_autoptr (Cgroup) cgroup = cgroup_new (TRUE);
  g_autoptr (Cli) holder =
      start_as_nobody (cgroup, fixture_server (fixture), "/crowd", COMMAND ("crowd"), "1500");

  assert_true (cli_wait_lines (holder->log, "IN", n, CLI_MS));
  kill (holder->pid, SIGTERM);
  const int code = cli_wait (holder, CLI_MS);
  assert_true (code == 0 || code == 128 + SIGTERM);
  assert_true (cli_wait_lines (holder->log, "GOT", n, 0));
}

TEST (a_killed_helper_ends_the_wait)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "/helper");

  for (guint i = 0; i < 2; i++) {
    g_autoptr (Cli) waiter = cli_zkflock (fixture_server (fixture), "--verbose", "/helper", "true");
    cli_says (waiter, "waiting: 1 of 1");
    g_autoptr (GArray) helpers = cli_helpers (waiter);
    kill (g_array_index (helpers, pid_t, i), SIGKILL);
    cli_ends (waiter, 128 + SIGKILL, "a helper process of zkflock was killed");
  }
}

/* Whether pkill -f NAME would hit it. */
static gboolean
is_known_as (pid_t pid, const char *name)
{
  return cli_process_has (pid, "comm", name) || cli_process_has (pid, "cmdline", name);
}

typedef enum
{
  ZKFLOCK_ALONE,
  BY_NAME,
  THE_GUARD,
  ALL_AT_ONCE,
  N_VICTIMS
} Victims;

/* Who is to be killed of zkflock, its guard and the command's first process. */
static gboolean
is_victim (Victims victims, pid_t pid, pid_t zkflock)
{
  return victims == ALL_AT_ONCE || (victims == ZKFLOCK_ALONE && pid == zkflock)
         || (victims == BY_NAME && is_known_as (pid, "zkflock"))
         || (victims == THE_GUARD && pid != zkflock && !is_known_as (pid, "cli_command"));
}

/* Who beats in the log is dead long before the deadline of the hold. */
static void
assert_silence (Cli *cli)
{
  const gint64 killed_at = wait_now_ns ();
  assert_true (cli_end_of_beats (cli->log) - killed_at < G_GINT64_CONSTANT (5000000000));
}

/* Kills some of them while the command runs and another one waits. In a group of two processes the
 * second one has no parent of its own any more; with a control group, it has also left the
 * group. */
static void
kill_and_check (Fixture *fixture, Victims victims, gboolean delegated)
{
  g_autoptr (Cgroup) cgroup = cgroup_new (delegated);
  g_autofree char *path = g_strdup_printf ("/victims/%d-%d", victims, delegated);
  g_autoptr (Cli) holder = start_as_nobody (cgroup, fixture_server (fixture), path,
                                            COMMAND (delegated ? "escape" : "daemon"));

  cli_beats (holder, 10);
  g_autoptr (GArray) tree = cli_helpers (holder);
  g_array_prepend_val (tree, holder->pid);
  for (guint i = tree->len; i > 0; i--)
    if (!is_victim (victims, g_array_index (tree, pid_t, i - 1), holder->pid))
      g_array_remove_index (tree, i - 1);
  for (guint i = 0; i < tree->len; i++)
    kill (g_array_index (tree, pid_t, i), SIGKILL);
  assert_silence (holder);
  if (victims == THE_GUARD) {
    cli_ends (holder, 128 + SIGKILL, "a helper process of zkflock was killed");
    return;
  }
  cli_ends (holder, 1000 + SIGKILL, NULL);
  cli_says_not (holder, "a helper process of zkflock was killed");
}

TEST (p37_whoever_is_killed)
{
  for (Victims victims = 0; victims < N_VICTIMS; victims++) {
    kill_and_check (fixture, victims, FALSE);
    if (victims != ALL_AT_ONCE)
      kill_and_check (fixture, victims, TRUE);
  }
}

/* A machine may end late what was killed: here it stops on its way out until after the last deadline
 * of the guard. */
TEST (p37_a_death_that_takes_long)
{
  g_autoptr (Cgroup) cgroup = cgroup_new (TRUE);
  g_autoptr (Cli) holder =
      start_as_nobody (cgroup, fixture_server (fixture), "/late", COMMAND ("escape"));
  int status = 0;

  cli_beats (holder, 10);
  g_autoptr (GArray) beaters = cli_beaters (holder->log);
  const pid_t beater = g_array_index (beaters, pid_t, 0);
  assert_int_equal (ptrace (PTRACE_SEIZE, beater, NULL, (void *) PTRACE_O_TRACEEXIT), 0);
  kill (holder->pid, SIGKILL);
  assert_int_equal (waitpid (beater, &status, __WALL), beater);
  assert_int_equal (status >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
  wait_ms (22000); /* sessions are of 20 s */
  assert_int_equal (ptrace (PTRACE_DETACH, beater, NULL, NULL), 0);
  cli_ends (holder, 1000 + SIGKILL, NULL);
}

/* As "nobody", where /proc shows it no process of others, with a command that becomes root. */
static Cli *
start_hidden (const char *address, const char *path, const char *command, const char *mode)
{
  Cli *holder =
      cli_start ("/usr/bin/unshare", "--mount", "/bin/sh", "-c",
                 "mount -t proc -o hidepid=2 proc /proc && " AS_NOBODY, "sh", ZKFLOCK, "-Z",
                 address, "--session-timeout", SESSION_TEXT, path, command, mode, "LOG");
  cli_beats (holder, 4);
  return holder;
}

TEST (p37_a_hidden_process_is_not_dead)
{
  LOG command = cli_new_setuid_command ();
  g_autoptr (Cli) holder = start_hidden (fixture_proxy (fixture), "/hidden/lost", command, "root");

  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  cli_wait (holder, CLI_MS);
  kill_beaters (holder);
  cli_ends (holder, 70, "could not be killed; running: ");
}

TEST (p37_no_release_under_a_hidden_process)
{
  LOG command = cli_new_setuid_command ();
  g_autoptr (Cli) holder =
      start_hidden (fixture_server (fixture), "/hidden/left", command, "leave_root");
  g_autoptr (Cli) next = cli_next_in_line (fixture, "/hidden/left");
  const gboolean waits = cli_wait_text (holder->err, "the lock is held until these do", CLI_MS);

  kill_beaters (holder);
  assert_true (waits);
  cli_hand_over (holder, 4, next);
}

/* The command is another zkflock with a control group of its own, which dies with its guard. */
TEST (removes_control_groups_in_its_own)
{
  g_autoptr (Cgroup) cgroup = cgroup_new (TRUE);
  const char *server = fixture_server (fixture);
  g_autoptr (Cli) outer =
      start_as_nobody (cgroup, server, "/outer", ZKFLOCK, "-Z", server, "/inner", COMMAND ("beat"));

  cli_beats (outer, 1);
  kill (outer->pid, SIGKILL);
  cli_ends (outer, 1000 + SIGKILL, NULL);
}

/* Both zkflock and its guard were killed, and a process has left the group: the next zkflock ends
 * it and removes the control group. A folder that is in use stays. */
TEST (sweeps_control_groups_of_the_dead)
{
  const char *server = fixture_server (fixture);
  g_autoptr (Cgroup) cgroup = cgroup_new (TRUE);
  g_autoptr (Cli) other = start_as_nobody (cgroup, server, "/swept/other", COMMAND ("beat"));
  g_autoptr (Cli) dead = start_as_nobody (cgroup, server, "/swept/dead", COMMAND ("escape"));

  cli_beats (other, 1);
  cli_beats (dead, 4);
  g_autoptr (GArray) helpers = cli_helpers (dead);
  kill (dead->pid, SIGSTOP);
  for (guint i = 0; i < helpers->len; i++)
    kill (g_array_index (helpers, pid_t, i), SIGKILL);
  kill (dead->pid, SIGKILL);
  cli_ends (dead, 1000 + SIGKILL, NULL);
  g_autoptr (Cli) next = start_as_nobody (cgroup, server, "/swept/next", "true");
  cli_ends (next, 0, NULL);
  assert_silence (dead);
  assert_int_equal (cli_wait (other, 0), -1);
  kill (other->pid, SIGTERM);
  cli_ends (other, 128 + SIGTERM, NULL);
}

/* The servers release the lock while the guard ends, here while it cannot. */
TEST (the_lock_does_not_wait_for_the_guard)
{
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "/guarded", COMMAND ("polite"), "0");

  cli_beats (holder, 1);
  g_autoptr (GArray) tree = cli_helpers (holder);
  const pid_t first = g_array_index (tree, pid_t, 0);
  const pid_t guard = is_known_as (first, "cli_command") ? g_array_index (tree, pid_t, 1) : first;
  assert_int_equal (ptrace (PTRACE_SEIZE, guard, NULL, NULL), 0);
  assert_int_equal (ptrace (PTRACE_INTERRUPT, guard, NULL, NULL), 0);
  assert_int_equal (waitpid (guard, NULL, __WALL), guard);
  kill (holder->pid, SIGTERM);
  assert_true (raw_zk_wait_children (fixture->raw, "/guarded", 0, CLI_MS));
  assert_int_equal (cli_wait (holder, 0), -1);
  assert_int_equal (ptrace (PTRACE_DETACH, guard, NULL, NULL), 0);
  cli_ends (holder, 0, NULL);
}

/* A child that has ended and that it has not waited for. */
static gboolean
has_zombie (pid_t parent)
{
  g_autoptr (GArray) children = cli_children_of (parent);

  for (guint i = 0; i < children->len; i++)
    if (!cli_is_running (g_array_index (children, pid_t, i)))
      return TRUE;
  return FALSE;
}

/* As process 1 of a container, zkflock is the parent of every orphan there. */
TEST (process_1_reaps_orphans)
{
  if (geteuid () != 0)
    skip ();
  g_autoptr (Cli) outer = cli_start ("/usr/bin/unshare", "--pid", "--fork", "--kill-child", ZKFLOCK,
                                     "-Z", fixture_server (fixture), "/first", "/bin/sh", "-c",
                                     CLI_COMMAND " orphans \"$0\" 20; cat", "LOG");
  cli_beats (outer, 20);
  g_autoptr (GArray) inner = cli_children_of (outer->pid);
  assert_int_equal (inner->len, 1);
  assert_soon (!has_zombie (g_array_index (inner, pid_t, 0)));
  cli_close_stdin (outer);
  cli_ends (outer, 0, NULL);
}

SUITE ("kill", fixture_start_slow, fixture_stop)
