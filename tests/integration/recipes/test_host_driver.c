/* The example with a custom layout: processes of several hosts, reading and writing. */
#include "integration/taking.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH "/hosts"

/* It exits at the end of its standard input, so it cannot outlive this test. */
typedef struct
{
  pid_t pid;
  int in;
  int out;
} Run;

static Run
run_start (Fixture *fixture, const char *host, const char *what)
{
  char *const argv[] = { (char *) HOST_DRIVER, (char *) fixture_server (fixture),
                         (char *) PATH,        (char *) host,
                         (char *) what,        NULL };
  int in[2];
  int out[2];
  Run run = { 0 };
  posix_spawn_file_actions_t actions;
  assert_int_equal (pipe2 (in, O_CLOEXEC), 0);
  assert_int_equal (pipe2 (out, O_CLOEXEC), 0);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2 (&actions, out[1], STDOUT_FILENO);
  assert_int_equal (posix_spawn (&run.pid, HOST_DRIVER, &actions, NULL, argv, environ), 0);
  posix_spawn_file_actions_destroy (&actions);
  close (in[0]);
  close (out[1]);
  run.in = in[1];
  run.out = out[0];
  return run;
}

static gboolean
run_has_spoken (const Run *run, int timeout_ms)
{
  struct pollfd pfd = { .fd = run->out, .events = POLLIN };
  return poll (&pfd, 1, timeout_ms) == 1;
}

/* Waits until it holds: it prints the name of its node as one line in one write. */
static void
run_assert_holds (const Run *run, const char *node)
{
  char line[128] = { 0 };
  assert_true (run_has_spoken (run, LONG_MS));
  assert_true (read (run->out, line, sizeof line - 1) > 0);
  assert_true (g_str_has_prefix (line, node));
}

static void
run_end (const Run *run)
{
  int status = 0;
  close (run->in);
  assert_int_equal (waitpid (run->pid, &status, 0), run->pid);
  assert_int_equal (status, 0);
  close (run->out);
}

TEST (test_hosts_read_and_write)
{
  Run ant = run_start (fixture, "ant", "read");
  run_assert_holds (&ant, "ant-R-0000000000\n");
  Run bee = run_start (fixture, "bee", "read");
  run_assert_holds (&bee, "bee-R-0000000001\n");
  Run cow = run_start (fixture, "cow", "write");
  assert_children (fixture, PATH, 3, LONG_MS);
  Run dog = run_start (fixture, "dog", "read");
  assert_children (fixture, PATH, 4, LONG_MS);
  assert_false (run_has_spoken (&cow, 100));
  assert_false (run_has_spoken (&dog, 0));
  run_end (&bee);
  assert_false (run_has_spoken (&cow, 100));
  run_end (&ant);
  run_assert_holds (&cow, "cow-W-0000000002\n");
  assert_false (run_has_spoken (&dog, 100));
  run_end (&cow);
  run_assert_holds (&dog, "dog-R-0000000003\n");
  run_end (&dog);
  assert_no_residue (fixture, PATH, LONG_SESSION_MS / 2);
}

/* Foreign children do not block, not even with a suffix like ours. */
TEST (test_foreign_children_are_ignored)
{
  const char *const names[] = { "0", "W-0000000000", "ant-X-0000000000", "ant-W-1", "-" };
  raw_zk_make_path (fixture->raw, PATH);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *child = g_strconcat (PATH "/", names[i], NULL);
    assert_int_equal (raw_zk_create (fixture->raw, child, NULL, ZOO_PERSISTENT, NULL), ZOK);
  }
  Run ant = run_start (fixture, "ant", "write");
  run_assert_holds (&ant, "ant-W-");
  run_end (&ant);
  assert_children (fixture, PATH, G_N_ELEMENTS (names), LONG_SESSION_MS / 2);
}

SUITE ("example of a driver", fixture_start_calm, fixture_stop)
