/* Kernels as old as Linux 4.18, and containers that refuse what is younger: what zkflock promises
 * is so there, too.
 *
 * Every system call that a later kernel has added is refused, once as unknown (ENOSYS) and once as
 * forbidden (EPERM): those that docs/building.md names in every situation, one at a time and all
 * together; all others in one situation each, one at a time. Judged from outside: by the exit code,
 * by the nodes on the server, and by the processes that are left.
 */
#include "cli.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#define REFUSE   CURATOR_BINARY_DIR "/tests/bin/refuse"
#define BUILDING CURATOR_SOURCE_DIR "/docs/building.md"
#define BUSY     "/kernels-busy"
/* On every architecture: the first call of Linux 5.0, and more than any kernel has. */
#define FIRST_YOUNG 424
#define LAST_YOUNG  479
#define NO_THREADS  71 /* where none can be started */
#define IN_ONE_GO   12

typedef enum
{
  TO_ITS_END,
  BESIDE_A_HOLDER,
  TERM_UNDER_THE_COMMAND,
  TERM_WHILE_IT_WAITS
} Course;

typedef struct
{
  int code;
  Course course;
  gboolean needs_no_thread;
  const char
      *arguments[6]; /* "PATH", "LOG" and "NOBODY", who listens nowhere, stand for their values */
} Situation;

static const Situation situations[] = {
  { 4, TO_ITS_END, FALSE, { "PATH", CLI_COMMAND, "leave", "LOG" } },
  { 0, TO_ITS_END, FALSE, { "PATH", CLI_COMMAND, "exit", "0" } },
  { 7, TO_ITS_END, FALSE, { "PATH", CLI_COMMAND, "exit", "7" } },
  { 128 + SIGUSR1, TO_ITS_END, FALSE, { "PATH", CLI_COMMAND, "signal", "10" } },
  { 1, BESIDE_A_HOLDER, FALSE, { "-n", "PATH", "true" } },
  { 64, TO_ITS_END, TRUE, { "--no-such-option", "PATH", "true" } },
  { 69, TO_ITS_END, FALSE, { "--session-timeout=1", "-Z", "NOBODY", "PATH", "true" } },
  { 75, TO_ITS_END, FALSE, { "--max-hold=1", "PATH", CLI_COMMAND, "stubborn", "LOG" } },
#if HAS_TLS
  { 76, TO_ITS_END, TRUE, { "--tls-ca=/no/such/file", "PATH", "true" } },
#endif
  { 77, TO_ITS_END, TRUE, { "--auth-file=/no/such/file", "PATH", "true" } },
  { 126, TO_ITS_END, FALSE, { "PATH", "/etc/passwd" } },
  { 127, TO_ITS_END, FALSE, { "PATH", "/no/such/command" } },
  { 128 + SIGTERM, TERM_UNDER_THE_COMMAND, FALSE, { "PATH", CLI_COMMAND, "beat", "LOG" } },
  { 128 + SIGTERM, TERM_WHILE_IT_WAITS, FALSE, { "--verbose", "PATH", "true" } },
};

/* Refused calls: those from first to last, but without one of them. */
typedef struct
{
  int error;
  int first;
  int last;
  int without; /* or 0 */
} Refusal;

typedef struct
{
  const Situation *situation;
  Refusal refusal;
  int code;
  char *path;
  char *log;
  Cli *cli;
} Run;

typedef struct
{
  Fixture *fixture;
  char *nobody;
  Cli *holder; /* of BUSY */
  int n_children;
  int n_runs;
} World;

static void
add_refusal (GPtrArray *argv, int error, int first, int last)
{
  if (first <= last)
    {
      g_ptr_array_add (argv, g_strdup (REFUSE));
      g_ptr_array_add (argv, g_strdup_printf ("%d", error));
      g_ptr_array_add (argv, g_strdup_printf ("%d", first));
      g_ptr_array_add (argv, g_strdup_printf ("%d", last));
    }
}

static const char *
value_of (World *world, const Run *run, const char *argument)
{
  return strcmp (argument, "PATH") == 0     ? run->path
         : strcmp (argument, "LOG") == 0    ? run->log
         : strcmp (argument, "NOBODY") == 0 ? world->nobody
                                            : argument;
}

static void
run_start (Run *run, World *world, const Situation *situation, const Refusal *refusal)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  const gboolean is_alone =
      situation->course == TO_ITS_END || situation->course == TERM_UNDER_THE_COMMAND;
  const gboolean no_threads = refusal->error == EPERM && refusal->first <= SYS_clone3
                              && refusal->last >= SYS_clone3 && refusal->without != SYS_clone3;

  *run = (Run){ .situation = situation, .refusal = *refusal, .log = cli_new_file () };
  run->path = is_alone ? g_strdup_printf ("/kernels/%d", ++world->n_runs) : g_strdup (BUSY);
  run->code = no_threads && !situation->needs_no_thread ? NO_THREADS : situation->code;
  if (refusal->without != 0)
    {
      add_refusal (argv, refusal->error, refusal->first, refusal->without - 1);
      add_refusal (argv, refusal->error, refusal->without + 1, refusal->last);
    }
  else
    {
      add_refusal (argv, refusal->error, refusal->first, refusal->last);
    }
  g_ptr_array_add (argv, g_strdup (ZKFLOCK));
  g_ptr_array_add (argv, g_strdup ("-Z"));
  g_ptr_array_add (argv, g_strdup (fixture_server (world->fixture)));
  for (const char *const *argument = situation->arguments; *argument != NULL; argument++)
    g_ptr_array_add (argv, g_strdup (value_of (world, run, *argument)));
  g_ptr_array_add (argv, NULL);
  run->cli = cli_start_strv ((char *const *) argv->pdata);
}

static void
run_tell_to_stop (Run *run)
{
  if (run->code != NO_THREADS && run->situation->course == TERM_UNDER_THE_COMMAND)
    {
      assert_true (cli_wait_lines (run->log, "BEAT", 1, CLI_MS));
      kill (run->cli->pid, SIGTERM);
    }
  else if (run->code != NO_THREADS && run->situation->course == TERM_WHILE_IT_WAITS)
    {
      assert_true (cli_wait_text (run->cli->err, "waiting for the lock", CLI_MS));
      kill (run->cli->pid, SIGTERM);
    }
}

static void
run_judge (Run *run, World *world)
{
  const gboolean is_alone = strcmp (run->path, BUSY) != 0;
  const int code = cli_wait (run->cli, CLI_MS);

  if (code != run->code)
    {
      g_autofree char *err = cli_stderr (run->cli);
      fail_msg ("exit code %d, not %d; calls %d to %d, %s; %s", code, run->code, run->refusal.first,
                run->refusal.last, g_strerror (run->refusal.error), err);
    }
  if (is_alone && raw_zk_exists (world->fixture->raw, run->path))
    assert_true (raw_zk_wait_children (world->fixture->raw, run->path, 0, CLI_MS));
  g_unlink (run->log);
  g_free (run->log);
  g_free (run->path);
  cli_free (run->cli);
}

static void
runs_judge (World *world, Run *runs, guint n)
{
  for (guint i = 0; i < n; i++)
    run_tell_to_stop (&runs[i]);
  for (guint i = 0; i < n; i++)
    run_judge (&runs[i], world);
  assert_soon (cli_count_children () == world->n_children);
}

static void
refuse_everywhere (World *world, const Refusal *refusal)
{
  Run runs[G_N_ELEMENTS (situations)];

  for (guint i = 0; i < G_N_ELEMENTS (situations); i++)
    run_start (&runs[i], world, &situations[i], refusal);
  runs_judge (world, runs, G_N_ELEMENTS (situations));
}

static World
world_open (Fixture *fixture)
{
  g_autofree char *host = zk_server_new_host ();
  World world = { .fixture = fixture };

  world.nobody = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
  cli_adopt_orphans ();
  world.holder = cli_hold (fixture, BUSY, NULL);
  world.n_children = cli_count_children ();
  return world;
}

static void
world_close (World *world)
{
  cli_close_stdin (world->holder);
  assert_int_equal (cli_wait (world->holder, CLI_MS), 0);
  cli_free (world->holder);
  g_free (world->nobody);
}

/* The calls of the table in docs/building.md, ascending. */
static GArray *
documented_calls (void)
{
  static const struct
  {
    const char *name;
    int number;
  } calls[] = {
    { "pidfd_open", SYS_pidfd_open },
    { "clone3", SYS_clone3 },
  };
  g_autofree char *text = NULL;
  GArray *numbers = g_array_new (FALSE, FALSE, sizeof (int));

  assert_true (g_file_get_contents (BUILDING, &text, NULL, NULL));
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      g_autofree char *row = g_strdup_printf ("\n| `%s` |", calls[i].name);
      if (strstr (text, row) != NULL)
        g_array_append_val (numbers, calls[i].number);
    }
  return numbers;
}

TEST (one_at_a_time)
{
  static const int errors[] = { ENOSYS, EPERM };
  World world = world_open (fixture);
  g_autoptr (GArray) calls = documented_calls ();

  assert_true (calls->len > 0);
  for (guint i = 0; i < calls->len; i++)
    {
      const int call = g_array_index (calls, int, i);
      for (gsize j = 0; j < G_N_ELEMENTS (errors); j++)
        refuse_everywhere (&world, &(Refusal){ errors[j], call, call, 0 });
    }
  world_close (&world);
}

/* As EPERM, the C library's threads need clone3 (). */
TEST (all_together)
{
  World world = world_open (fixture);

  refuse_everywhere (&world, &(Refusal){ ENOSYS, FIRST_YOUNG, LAST_YOUNG, 0 });
  refuse_everywhere (&world, &(Refusal){ EPERM, FIRST_YOUNG, LAST_YOUNG, SYS_clone3 });
  refuse_everywhere (&world, &(Refusal){ EPERM, FIRST_YOUNG, LAST_YOUNG, 0 });
  world_close (&world);
}

/* What is not in the documents is not used: whether it is refused or not makes no difference. */
TEST (every_other_one)
{
  World world = world_open (fixture);
  g_autoptr (GArray) documented = documented_calls ();
  Run runs[IN_ONE_GO];
  guint n = 0;

  for (int call = FIRST_YOUNG; call <= LAST_YOUNG; call++)
    {
      gboolean is_documented = FALSE;
      for (guint i = 0; i < documented->len; i++)
        is_documented = is_documented || g_array_index (documented, int, i) == call;
      if (!is_documented)
        run_start (&runs[n++], &world, &situations[0], &(Refusal){ EPERM, call, call, 0 });
      if (n == IN_ONE_GO || call == LAST_YOUNG)
        {
          runs_judge (&world, runs, n);
          n = 0;
        }
    }
  world_close (&world);
}

SUITE ("kernels", fixture_start, fixture_stop)
