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
  const char *arguments[5]; /* "PATH" and "NOBODY", who listens nowhere, stand for their values */
} Situation;

static const Situation situations[] = {
  { 4, TO_ITS_END, FALSE, { "PATH", COMMAND ("leave") } },
  { 0, TO_ITS_END, FALSE, { "PATH", CLI_COMMAND, "exit", "0" } },
  { 7, TO_ITS_END, FALSE, { "PATH", CLI_COMMAND, "exit", "7" } },
  { 128 + SIGUSR1, TO_ITS_END, FALSE, { "PATH", CLI_COMMAND, "signal", "10" } },
  { 1, BESIDE_A_HOLDER, FALSE, { "-n", "PATH", "true" } },
  { 64, TO_ITS_END, TRUE, { "--no-such-option", "PATH", "true" } },
  { 69, TO_ITS_END, FALSE, { "--session-timeout=1", "-Z", "NOBODY", "PATH", "true" } },
  { 75, TO_ITS_END, FALSE, { "--max-hold=1", "PATH", COMMAND ("stubborn") } },
#if HAS_TLS
  { 76, TO_ITS_END, TRUE, { "--tls-ca=/no/such/file", "PATH", "true" } },
#endif
  { 77, TO_ITS_END, TRUE, { "--auth-file=/no/such/file", "PATH", "true" } },
  { 126, TO_ITS_END, FALSE, { "PATH", "/etc/passwd" } },
  { 127, TO_ITS_END, FALSE, { "PATH", "/no/such/command" } },
  { 128 + SIGTERM, TERM_UNDER_THE_COMMAND, FALSE, { "PATH", COMMAND ("beat") } },
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

static const char *
value_of (World *world, const Run *run, const char *argument)
{
  return g_strcmp0 (argument, "PATH") == 0     ? run->path
         : g_strcmp0 (argument, "NOBODY") == 0 ? world->nobody
                                               : argument;
}

static void
run_start (Run *run, World *world, const Situation *situation, const Refusal *refusal)
{
  const gboolean is_alone =
      situation->course == TO_ITS_END || situation->course == TERM_UNDER_THE_COMMAND;
  const gboolean no_threads = refusal->error == EPERM && refusal->first <= SYS_clone3
                              && refusal->last >= SYS_clone3 && refusal->without != SYS_clone3;
  const gboolean is_split = refusal->without != 0;
  g_autofree char *error = g_strdup_printf ("%d", refusal->error);
  g_autofree char *first = g_strdup_printf ("%d", refusal->first);
  g_autofree char *before = g_strdup_printf ("%d", is_split ? refusal->without - 1 : refusal->last);
  g_autofree char *after = g_strdup_printf ("%d", refusal->without + 1);
  g_autofree char *last = g_strdup_printf ("%d", refusal->last);
  const char *words[5];

  *run = (Run){ .situation = situation, .refusal = *refusal };
  run->path = is_alone ? g_strdup_printf ("/kernels/%d", ++world->n_runs) : g_strdup (BUSY);
  run->code = no_threads && !situation->needs_no_thread ? NO_THREADS : situation->code;
  for (int i = 0; i < 5; i++)
    words[i] = value_of (world, run, situation->arguments[i]);
  run->cli =
      cli_start (REFUSE, error, first, before, is_split ? REFUSE : NULL, is_split ? error : NULL,
                 is_split ? after : NULL, is_split ? last : NULL, ZKFLOCK, "-Z",
                 fixture_server (world->fixture), words[0], words[1], words[2], words[3], words[4]);
}

static void
run_tell_to_stop (Run *run)
{
  if (run->code != 128 + SIGTERM)
    return;
  if (run->situation->course == TERM_UNDER_THE_COMMAND)
    cli_beats (run->cli, 1);
  else
    cli_says (run->cli, "waiting for the lock");
  kill (run->cli->pid, SIGTERM);
}

static void
run_judge (Run *run, World *world)
{
  print_message ("calls %d to %d, %s: %s ...\n", run->refusal.first, run->refusal.last,
                 g_strerror (run->refusal.error), run->situation->arguments[0]);
  cli_ends (run->cli, run->code, NULL);
  if (strcmp (run->path, BUSY) != 0 && raw_zk_exists (world->fixture->raw, run->path))
    assert_true (raw_zk_wait_children (world->fixture->raw, run->path, 0, CLI_MS));
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
  World world = { .fixture = fixture, .nobody = cli_unused_address () };

  cli_adopt_orphans ();
  world.holder = cli_hold (fixture, BUSY);
  world.n_children = cli_count_children ();
  return world;
}

static void
world_close (World *world)
{
  cli_close_stdin (world->holder);
  cli_ends (world->holder, 0, NULL);
  cli_free (world->holder);
  g_free (world->nobody);
}

/* The calls of the table in docs/building.md. */
static gboolean
is_documented (int call)
{
  g_autofree char *text = NULL;

  assert_true (g_file_get_contents (BUILDING, &text, NULL, NULL));
  return (call == SYS_pidfd_open && strstr (text, "\n| `pidfd_open` |") != NULL)
         || (call == SYS_clone3 && strstr (text, "\n| `clone3` |") != NULL);
}

TEST (one_at_a_time)
{
  static const int errors[] = { ENOSYS, EPERM };
  World world = world_open (fixture);
  int n_documented = 0;

  for (int call = FIRST_YOUNG; call <= LAST_YOUNG; call++) {
    for (gsize j = 0; is_documented (call) && j < G_N_ELEMENTS (errors); j++) {
      refuse_everywhere (&world, &(Refusal){ errors[j], call, call, 0 });
      n_documented++;
    }
  }
  assert_true (n_documented > 0);
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
  Run runs[IN_ONE_GO];
  guint n = 0;

  for (int call = FIRST_YOUNG; call <= LAST_YOUNG; call++) {
    if (!is_documented (call))
      run_start (&runs[n++], &world, &situations[0], &(Refusal){ EPERM, call, call, 0 });
    if (n == IN_ONE_GO || call == LAST_YOUNG) {
      runs_judge (&world, runs, n);
      n = 0;
    }
  }
  world_close (&world);
}

SUITE ("kernels", fixture_start_slow, fixture_stop)
