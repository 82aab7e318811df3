/* The example with a layout of its own: processes of several hosts, reading and writing. */
#include "taking.h"

#include <signal.h>
#include <sys/prctl.h>

#define PATH "/hosts"

typedef struct
{
  GSubprocess *process;
  GDataInputStream *out;
} Run;

static void
die_with_the_test (gpointer user_data)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

static Run *
run_start (Fixture *fixture, const char *host, const char *what)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_subprocess_launcher_set_child_setup (launcher, die_with_the_test, NULL, NULL);
  Run *run = g_new0 (Run, 1);
  run->process = g_subprocess_launcher_spawn (launcher, &error, HOST_DRIVER,
                                              fixture_server (fixture), PATH, host, what, NULL);
  assert_ok (run->process != NULL, &error);
  run->out = g_data_input_stream_new (g_subprocess_get_stdout_pipe (run->process));
  return run;
}

/* The name of the node, once it holds. */
static char *
run_node (Run *run)
{
  char *line = g_data_input_stream_read_line (run->out, NULL, NULL, NULL);
  assert_non_null (line);
  return line;
}

static gboolean
run_has_spoken (Run *run)
{
  GPollableInputStream *pipe =
      G_POLLABLE_INPUT_STREAM (g_subprocess_get_stdout_pipe (run->process));
  return g_pollable_input_stream_is_readable (pipe);
}

static void
run_end (Run *run)
{
  g_autoptr (GError) error = NULL;
  g_output_stream_close (g_subprocess_get_stdin_pipe (run->process), NULL, NULL);
  assert_ok (g_subprocess_wait_check (run->process, NULL, &error), &error);
  g_object_unref (run->out);
  g_object_unref (run->process);
  g_free (run);
}

static void
test_hosts_read_and_write (void **state)
{
  Fixture *fixture = *state;
  Run *ant = run_start (fixture, "ant", "read");
  g_autofree char *ant_node = run_node (ant);
  Run *bee = run_start (fixture, "bee", "read");
  g_autofree char *bee_node = run_node (bee);
  assert_string_equal (ant_node, "ant-R-0000000000");
  assert_string_equal (bee_node, "bee-R-0000000001");
  Run *cow = run_start (fixture, "cow", "write");
  assert_children (fixture, PATH, 3, LONG_MS);
  Run *dog = run_start (fixture, "dog", "read");
  assert_children (fixture, PATH, 4, LONG_MS);
  wait_ms (100);
  assert_false (run_has_spoken (cow));
  assert_false (run_has_spoken (dog));
  run_end (bee);
  wait_ms (100);
  assert_false (run_has_spoken (cow));
  run_end (ant);
  g_autofree char *cow_node = run_node (cow);
  assert_string_equal (cow_node, "cow-W-0000000002");
  wait_ms (100);
  assert_false (run_has_spoken (dog));
  run_end (cow);
  g_autofree char *dog_node = run_node (dog);
  assert_string_equal (dog_node, "dog-R-0000000003");
  run_end (dog);
  assert_no_residue (fixture, PATH, 3000);
}

/* Children of strangers, also such as end like ours, block nobody. */
static void
test_strangers_are_ignored (void **state)
{
  Fixture *fixture = *state;
  const char *const names[] = { "0", "W-0000000000", "ant-X-0000000000", "ant-W-1", "-" };
  raw_zk_make_path (fixture->raw, PATH);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *child = g_strconcat (PATH "/", names[i], NULL);
      assert_int_equal (raw_zk_create (fixture->raw, child, NULL, ZOO_PERSISTENT, NULL), ZOK);
    }
  Run *ant = run_start (fixture, "ant", "write");
  g_autofree char *node = run_node (ant);
  assert_true (g_str_has_prefix (node, "ant-W-"));
  run_end (ant);
  assert_children (fixture, PATH, G_N_ELEMENTS (names), 3000);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_hosts_read_and_write),
    heal_and_test (test_strangers_are_ignored),
  };
  return cmocka_run_group_tests_name ("example of a driver", tests, fixture_start, fixture_stop);
}
