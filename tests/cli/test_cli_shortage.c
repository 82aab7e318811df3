/* A machine that is short of something: a generated table, one limit at a time and in pairs,
 * from nothing up to more than a run needs.
 *
 * In every cell two zkflocks run. One runs a short command: that has run and ended under the
 * lock, or zkflock has ended within its -w, or 5 s, with 71 and one line. The other one's
 * course is one of three: TERM ends it while it waits in the queue, or its command under the
 * lock, or --max-hold ends a command that goes on for ever; or it ends with 71, too. Nothing is
 * left: no node, no process, no control group. Judged from outside, by the exit code, the log
 * of the command, the server and the process table. Where not even "zkflock --version" can be
 * loaded, nothing is said about zkflock. A share runs by default, CURATOR_SHORTAGE=all runs
 * all. In the end each call of the C library that may lack something is refused once, at every
 * point of a run.
 */
#include "cli.h"

#include "support/metronome.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PARALLEL     6
#define SHARE        4     /* of the cells, by default */
#define FIRST_UID    70000 /* each process has a user of its own, because those of a user count */
#define SHORTAGE     71
#define PROMISED_MS  5000
#define STORM        30 /* zkflocks at once */
#define STORM_TASKS  "100"
#define STORM_ROUNDS 6
#define PRLIMIT      "/usr/bin/prlimit"
#define SETPRIV      "/usr/bin/setpriv"
#define REFUSE       CURATOR_BINARY_DIR "/tests/bin/refuse"
#define NODE         "/_c_00000000-0000-0000-0000-000000000000-lock-"

/* Calls that get something from the machine, and how it says that there is no more of it. */
static const struct
{
  int error; /* 0: it waits, as where the kernel has no random numbers yet */
  int call;
} refusals[] = {
  { 0, SYS_getrandom },           { ENOSYS, SYS_getrandom }, { EAGAIN, SYS_clone3 },
  { ENFILE, SYS_eventfd2 },       { ENOMEM, SYS_eventfd2 },  { ENFILE, SYS_timerfd_create },
  { ENOMEM, SYS_timerfd_create }, { ENFILE, SYS_signalfd4 }, { ENFILE, SYS_pipe2 },
  { ENFILE, SYS_socket },         { ENOBUFS, SYS_socket },   { EMFILE, SYS_inotify_init1 },
  { EMFILE, SYS_epoll_create1 },  { ENOMEM, SYS_mlock },     { ENOMEM, SYS_brk },
};

typedef struct
{
  const char *option; /* of prlimit; NULL: the values are indices of refusals */
  int from;
  int to;
  int step;
  int near[3]; /* the same in pairs: around what a run needs */
} Limit;

#define MB (1 << 20)
#define KB (1 << 10)

static const Limit limits[] = {
  { "--nproc", 1, 12, 1, { 3, 9, 3 } },
  { "--nofile", 0, 44, 1, { 12, 44, 16 } },
  { "--as", 0, 160 * MB, 4 * MB, { 60 * MB, 140 * MB, 40 * MB } },
  { "--data", 0, 64 * MB, 4 * MB, { 16 * MB, 48 * MB, 16 * MB } },
  { "--stack", 0, 2032 * KB, 127 * KB, { 143 * KB, 1032 * KB, 889 * KB } },
  { "--memlock", 0, 8192, 4096, { 0, 0, 1 } },
  { "--sigpending", 0, 4, 1, { 0, 0, 1 } },
  { NULL, 0, G_N_ELEMENTS (refusals) - 1, 1, { 0, 6, 2 } },
};

typedef enum
{
  TERM_IN_THE_QUEUE,
  TERM_UNDER_THE_COMMAND,
  MAXIMUM,
  N_COURSES
} Course;

static const int codes[N_COURSES] = { 128 + SIGTERM, 128 + SIGTERM, 75 };

/* One zkflock. */
typedef struct
{
  char *path;
  Cli *cli;
} Run;

typedef struct
{
  char *limits; /* words of a command line, with blanks; of a control group, how many processes */
  const char *cgroup; /* whose sub-folders limit processes, or NULL */
  Cli *version;
  gint64 start_ms;
  gboolean is_loaded;
  Run brief;
  Run other; /* of course */
  Course course;
} Cell;

typedef struct
{
  Fixture *fixture;
  int n_children;
  GPtrArray *folders; /* of control groups that limit */
  GArray *pids;       /* of the zkflocks of the cells */
  Cell cells[PARALLEL];
  int n;
  int n_cells;
  int n_ran;
  int n_short;
  int n_ended[N_COURSES];
  int n_not_loaded;
} World;

/* One prlimit sets both: it needs something of the machine itself. Refusals are the last limit. */
static char *
words_of (const Limit *const *both, const int *values)
{
  GString *words = g_string_new (both[0]->option != NULL ? PRLIMIT : "/usr/bin/env");

  for (int i = 0; i < 2 && both[i] != NULL; i++)
    if (both[i]->option != NULL)
      g_string_append_printf (words, " %s=%d", both[i]->option, values[i]);
    else if (refusals[values[i]].error == 0)
      g_string_append (words, " " REFUSE " late");
    else
      g_string_append_printf (words, " " REFUSE " %d %d %d", refusals[values[i]].error,
                              refusals[values[i]].call, refusals[values[i]].call);
  return g_string_free (words, FALSE);
}

static void
add (GPtrArray *argv, const char *const *words, gsize n)
{
  for (gsize i = 0; i < n; i++)
    g_ptr_array_add (argv, (gpointer) words[i]);
}

/* With these limits, as a user, or in a control group, of its own. */
static Cli *
start (const Cell *cell, World *world, const char *const *words, gsize n)
{
  static int user = FIRST_UID;
  g_autofree char *reuid = g_strdup_printf ("--reuid=%d", ++user);
  g_autofree char *regid = g_strdup_printf ("--regid=%d", user);
  g_auto (GStrv) limit_words = g_strsplit (cell->limits, " ", -1);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  if (cell->cgroup != NULL) {
    char *folder = g_strdup_printf ("%s-%d", cell->cgroup, user);
    assert_int_equal (g_mkdir (folder, 0755), 0);
    g_ptr_array_add (world->folders, folder);
    add (argv, CLI_WORDS ("/bin/sh", "-c",
                          "echo $$ >$0/cgroup.procs && echo $1 >$0/pids.max && shift && "
                          "exec \"$@\"",
                          folder));
  } else {
    /* A change of the user has cleared that signal. */
    add (argv, CLI_WORDS (SETPRIV, reuid, regid, "--clear-groups", "--pdeathsig=KILL"));
  }
  add (argv, (const char *const *) limit_words, g_strv_length (limit_words));
  add (argv, CLI_WORDS (ZKFLOCK));
  add (argv, words, n);
  Cli *cli = cli_start_words ((const char *const *) argv->pdata, argv->len);
  g_array_append_val (world->pids, cli->pid);
  return cli;
}

static void
run_start (Run *run, World *world, const Cell *cell, const char *option, const char *command)
{
  static int n;

  *run = (Run){ .path = g_strdup_printf ("/short-%d", ++n) };
  if (cell->course == TERM_IN_THE_QUEUE && run == &cell->other) {
    g_autofree char *node = g_strconcat (run->path, NODE, NULL);
    RawZk *raw = world->fixture->raw;
    assert_int_equal (raw_zk_make_path (raw, run->path), ZOK);
    assert_int_equal (raw_zk_create (raw, node, NULL, ZOO_EPHEMERAL_SEQUENTIAL, NULL), ZOK);
  }
  run->cli = start (
      cell, world,
      CLI_WORDS ("-Z", fixture_server (world->fixture), option, run->path, COMMAND (command), "0"));
}

static void
run_clear (Run *run)
{
  g_free (run->path);
  cli_free (run->cli);
}

static void
cell_fail (const Cell *cell, const Run *run, const char *text)
{
  fail_msg ("%s, course %d: exit code %d: %s", cell->limits,
            run == &cell->other ? (int) cell->course : -1, cli_wait (run->cli, 0), text);
}

static gboolean
ends_or_can_be_told (Cell *cell, RawZk *raw)
{
  const Run *run = &cell->other;

  return cli_wait (run->cli, 0) >= 0
         || (cell->course == TERM_UNDER_THE_COMMAND && cli_wait_lines (run->cli->log, "BEAT", 1, 0))
         || (cell->course == TERM_IN_THE_QUEUE && raw_zk_count_children (raw, run->path) == 2);
}

/* The other one ends by itself, or by TERM once it waits, or its command runs. */
static void
other_end (Cell *cell, World *world)
{
  if (!holds_within (ends_or_can_be_told (cell, world->fixture->raw), CLI_MS))
    cell_fail (cell, &cell->other, "it neither starts nor ends");
  if (cli_wait (cell->other.cli, 0) < 0)
    kill (cell->other.cli->pid, SIGTERM);
}

static void
assert_nothing_left (const Cell *cell, const Run *run, World *world)
{
  RawZk *raw = world->fixture->raw;
  const gboolean has_holder = run == &cell->other && cell->course == TERM_IN_THE_QUEUE;

  if (raw_zk_exists (raw, run->path) && !raw_zk_wait_children (raw, run->path, has_holder, CLI_MS))
    cell_fail (cell, run, "a node is left");
  if (has_holder)
    assert_int_equal (raw_zk_delete_tree (raw, run->path), ZOK);
}

/* It has ended with that code, or with 71 and without its command. FALSE: it was not loaded. */
static gboolean
run_judge (const Cell *cell, const Run *run, World *world, int code, gboolean has_run)
{
  const int found = cli_wait (run->cli, CLI_MS);
  g_autofree char *err = cli_stderr (run->cli);
  const gboolean is_short =
      found == SHORTAGE && !has_run && g_str_has_prefix (err, "zkflock: ") && cli_is_one_line (err);

  if (found != code && !is_short && cell->is_loaded)
    cell_fail (cell, run, err);
  assert_nothing_left (cell, run, world);
  world->n_short += is_short;
  return found == code || is_short;
}

static void
cell_judge (Cell *cell, World *world)
{
  other_end (cell, world);
  const int code = cli_wait (cell->brief.cli, 0);
  const int other_code = cli_wait (cell->other.cli, CLI_MS);
  const gboolean has_run = cli_wait_lines (cell->brief.cli->log, "OUT", 1, 0);
  const gboolean has_beaten = cli_wait_lines (cell->other.cli->log, "BEAT", 1, 0);

  if (code == 0 && !has_run)
    cell_fail (cell, &cell->brief, "nothing has run");
  const gboolean is_one = run_judge (cell, &cell->brief, world, 0, has_run);
  const gboolean is_other = run_judge (cell, &cell->other, world, codes[cell->course], has_beaten);
  world->n_not_loaded += !is_one || !is_other;
  world->n_ran += code == 0;
  world->n_ended[cell->course] += other_code == codes[cell->course];
  run_clear (&cell->brief);
  run_clear (&cell->other);
  g_free (cell->limits);
}

static gboolean
removes_folders (GPtrArray *folders)
{
  while (folders->len > 0 && g_rmdir (g_ptr_array_index (folders, 0)) == 0)
    g_ptr_array_remove_index (folders, 0);
  return folders->len == 0;
}

static void
judge_all (World *world)
{
  for (int i = 0; i < world->n; i++) {
    Cell *cell = &world->cells[i];
    cell->is_loaded = cli_wait (cell->version, CLI_MS) == 0;
    cli_wait (cell->brief.cli, CLI_MS);
    /* docs/zkflock.md: it does not wait where something is short. */
    assert_promised_ms (wait_now_ms () - cell->start_ms, PROMISED_MS, cell->start_ms);
    cli_free (cell->version);
  }
  for (int i = 0; i < world->n; i++)
    cell_judge (&world->cells[i], world);
  world->n = 0;
  assert_soon (cli_count_children () == world->n_children);
  for (guint i = 0; i < world->pids->len; i++)
    assert_false (cli_left_a_cgroup (g_array_index (world->pids, pid_t, i)));
  g_array_set_size (world->pids, 0);
  assert_soon (removes_folders (world->folders));
}

/* Takes words. */
static void
cell_start (World *world, char *words, const char *cgroup)
{
  static const char *const options[N_COURSES] = { "--wait=60", "--wait=60", "--max-hold=1" };
  Cell *cell = &world->cells[world->n];

  *cell = (Cell){ .limits = words, .cgroup = cgroup, .course = world->n_cells++ % N_COURSES };
  cell->start_ms = wait_now_ms ();
  cell->version = start (cell, world, CLI_WORDS ("--version"));
  run_start (&cell->brief, world, cell, "--wait=3", "turn");
  run_start (&cell->other, world, cell, options[cell->course], "beat");
  if (++world->n == PARALLEL)
    judge_all (world);
}

/* A cell, or none: a share of them is chosen by default. */
static void
try_limits (World *world, const Limit *const *both, const int *values)
{
  static int n;

  if (g_strcmp0 (g_getenv ("CURATOR_SHORTAGE"), "all") != 0 && n++ % SHARE != 0)
    return;
  cell_start (world, words_of (both, values), NULL);
}

static World
world_open (Fixture *fixture)
{
  World world = { .fixture = fixture,
                  .folders = g_ptr_array_new_with_free_func (g_free),
                  .pids = g_array_new (FALSE, FALSE, sizeof (pid_t)) };

  cli_adopt_orphans ();
  world.n_children = cli_count_children ();
  return world;
}

static void
world_close (World *world)
{
  judge_all (world);
  g_ptr_array_unref (world->folders);
  g_array_unref (world->pids);
  print_message ("%d cells, 2 zkflocks in each: %d commands ran, TERM ended %d in the queue and %d "
                 "under the command, --max-hold %d, %d ended with 71; %d cells were not loaded; "
                 "0 aborts, 0 hangs, 0 kept locks, 0 orphans\n",
                 world->n_cells, world->n_ran, world->n_ended[TERM_IN_THE_QUEUE],
                 world->n_ended[TERM_UNDER_THE_COMMAND], world->n_ended[MAXIMUM], world->n_short,
                 world->n_not_loaded);
  assert_true (world->n_ran > 0 && world->n_short > 0);
  for (int i = 0; i < N_COURSES; i++)
    assert_true (world->n_ended[i] > 0);
}

TEST (one_limit_at_a_time)
{
  World world = world_open (fixture);

  for (gsize i = 0; i < G_N_ELEMENTS (limits); i++) {
    const Limit *const both[] = { &limits[i], NULL };
    for (int value = limits[i].from; value <= limits[i].to; value += limits[i].step)
      try_limits (&world, both, &value);
  }
  world_close (&world);
}

TEST (two_limits)
{
  World world = world_open (fixture);

  for (gsize i = 0; i < G_N_ELEMENTS (limits); i++) {
    for (gsize j = i + 1; j < G_N_ELEMENTS (limits); j++) {
      const Limit *const both[] = { &limits[i], &limits[j] };
      const int *a = both[0]->near;
      const int *b = both[1]->near;
      for (int x = a[0]; x <= a[1]; x += a[2])
        for (int y = b[0]; y <= b[1]; y += b[2])
          try_limits (&world, both, (const int[]){ x, y });
    }
  }
  world_close (&world);
}

/* As a normal user, from one process to more than enough. */
TEST (every_number_of_processes)
{
  World world = world_open (fixture);

  for (int n = 1; n <= 20; n++)
    cell_start (&world, g_strdup_printf (PRLIMIT " --nproc=%d", n), NULL);
  world_close (&world);
  assert_int_equal (world.n_not_loaded, 0);
}

/* The folder of a control group that limits processes, where one can be made. */
static char *
new_pids_cgroup (void)
{
  FILE *mounts = setmntent ("/proc/self/mounts", "re");
  char *folder = NULL;

  for (const struct mntent *entry; folder == NULL && (entry = getmntent (mounts)) != NULL;) {
    g_autofree char *file = NULL;
    if (!g_str_has_prefix (entry->mnt_type, "cgroup"))
      continue;
    folder = g_strdup_printf ("%s/curator-short-%d", entry->mnt_dir, (int) getpid ());
    file = g_build_filename (folder, "pids.max", NULL);
    if (g_mkdir (folder, 0755) != 0 || !g_file_test (file, G_FILE_TEST_EXISTS)) {
      g_rmdir (folder);
      g_clear_pointer (&folder, g_free);
    }
  }
  endmntent (mounts);
  return folder;
}

TEST (every_number_in_a_control_group)
{
  World world = world_open (fixture);
  g_autofree char *folder = new_pids_cgroup ();

  if (folder == NULL) {
    print_message ("0 cells: no control group can limit processes here\n");
    return;
  }
  for (int n = 1; n <= 14; n++)
    cell_start (&world, g_strdup_printf ("%d", n), folder);
  world_close (&world);
  assert_int_equal (g_rmdir (folder), 0);
}

/* One waits for the next, and what one has found to be free others take. */
TEST (a_storm_in_a_control_group)
{
  g_autofree char *folder = new_pids_cgroup ();
  Cli *storm[STORM];
  int n_short = 0;

  if (folder == NULL) {
    print_message ("0 zkflocks: no control group can limit processes here\n");
    return;
  }
  for (int round = 0; round < STORM_ROUNDS; round++) {
    for (int i = 0; i < STORM; i++)
      storm[i] = cli_start ("/bin/sh", "-c",
                            "echo " STORM_TASKS " >$0/pids.max && echo $$ >$0/cgroup.procs && "
                            "exec \"$@\"",
                            folder, ZKFLOCK, "-Z", fixture_server (fixture), "--wait=60", "/storm",
                            COMMAND ("turn"), "0");
    for (int i = 0; i < STORM; i++) {
      const int code = cli_wait (storm[i], CLI_MS);
      g_autofree char *err = cli_stderr (storm[i]);
      const gboolean has_run = cli_wait_lines (storm[i]->log, "OUT", 1, 0);
      if (!(code == 0 && has_run) && !(code == SHORTAGE && !has_run && cli_is_one_line (err)))
        fail_msg ("exit code %d: %s", code, err);
      /* Of this limit nobody knows, so no number of another one is told. */
      assert_null (strstr (err, "more than"));
      n_short += code == SHORTAGE;
      cli_free (storm[i]);
    }
  }
  print_message ("%d of %d zkflocks ended with 71\n", n_short, STORM_ROUNDS * STORM);
  assert_true (n_short > 0);
  assert_soon (g_rmdir (folder) == 0);
}

/* No thread takes much for a moment, in which another one would get nothing. */
TEST (addresses_are_not_set_aside)
{
  g_autofree char *text = NULL;
  LOG peak = cli_new_file ();
  g_autoptr (Cli) cli = cli_start (ZKFLOCK, "-Z", fixture_server (fixture), "/peak", "/bin/sh",
                                   "-c", "exec grep VmPeak /proc/$PPID/status >$0", peak);

  cli_ends (cli, 0, NULL);
  assert_true (g_file_get_contents (peak, &text, NULL, NULL));
  print_message ("%s", text);
  assert_in_range (g_ascii_strtoull (text + strlen ("VmPeak:"), NULL, 10), 1, 64 * 1024 - 1);
}

/* Whether there is an nth call, which is refused: zkflock ends with 71, or keeps its promise. */
static gboolean
refuse_nth (World *world, const char *call, int nth)
{
  g_autofree char *preload = g_strconcat ("LD_PRELOAD=", REFUSE_NTH, NULL);
  g_autofree char *which = g_strconcat ("REFUSE_CALL=", call, NULL);
  g_autofree char *number = g_strdup_printf ("REFUSE_NTH=%d", nth);
  g_autofree char *mark = cli_new_file ();
  g_autofree char *tells = g_strconcat ("REFUSE_MARK=", mark, NULL);
  g_autofree char *path = g_strdup_printf ("/nth-%s-%d", call, nth);
  g_autoptr (Cli) cli = cli_start (
      "/usr/bin/env", preload, which, number, tells, ZKFLOCK, "-Z", fixture_server (world->fixture),
      "--verbose", "--wait=3", "--max-hold=0.5", "--kill-after=0.2", path, COMMAND ("polite"), "0");
  const int code = cli_wait (cli, CLI_MS);
  const gboolean is_refused = g_unlink (mark) == 0;
  const gboolean has_begun = cli_wait_lines (cli->log, "BEAT", 1, 0);
  /* On a machine that is late, KILL follows before the command can tell, or nothing begins. */
  const gboolean has_been_told = cli_wait_lines (cli->log, "GOT", 1, 0)
                                 || cli_wait_text (cli->err, "maximum: TERM to the command", 0)
                                 || cli_wait_text (cli->err, "before the command could start", 0);

  if (!(code == SHORTAGE && !has_begun) && !(code == 75 && has_been_told)) {
    g_autofree char *err = cli_stderr (cli);
    fail_msg ("%s %d: exit code %d: %s", call, nth, code, err);
  }
  if (raw_zk_exists (world->fixture->raw, path))
    assert_true (raw_zk_wait_children (world->fixture->raw, path, 0, CLI_MS));
  assert_soon (cli_count_children () == world->n_children);
  return is_refused;
}

TEST (at_every_point)
{
  static const char *const calls[] = { "fork",   "pipe2",          "eventfd",  "socketpair",
                                       "socket", "timerfd_create", "signalfd", "pthread_create" };
  World world = world_open (fixture);

  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++) {
    int nth = 1;
    while (refuse_nth (&world, calls[i], nth))
      nth++;
    print_message ("%s: %d points\n", calls[i], nth - 1);
    assert_true (nth > 1);
  }
  g_ptr_array_unref (world.folders);
  g_array_unref (world.pids);
}

/* zkflock writes to the descriptors that it was given, and has no file of its own. */
TEST (a_full_disk)
{
  /* $0 is zkflock, $1 a path, $2 the command, $3 and $4 files. */
  static const struct
  {
    int code;
    gboolean has_run;
    const char *script;
  } rows[] = {
    { 0, TRUE, "\"$0\" --verbose --status-fd 3 -w 3 $1 \"$2\" turn $3 0 >/dev/full 2>&1 3>&1" },
    { 0, FALSE, "ulimit -f 0; \"$0\" --verbose --status-fd 3 -w 3 $1 true >$3 2>&1 3>$4" },
    { 74, FALSE, "\"$0\" $1 </dev/null >/dev/full" },
  };

  g_setenv ("ZKFLOCK_HOSTS", fixture_server (fixture), TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *path = g_strdup_printf ("/full-%d", (int) i);
    LOG events = cli_new_file ();
    g_autoptr (Cli) cli =
        cli_start ("/bin/sh", "-c", rows[i].script, ZKFLOCK, path, CLI_COMMAND, "LOG", events);
    cli_ends (cli, rows[i].code, NULL);
    assert_int_equal (cli_wait_lines (cli->log, "OUT", 1, 0), rows[i].has_run);
    assert_true (raw_zk_wait_children (fixture->raw, path, 0, CLI_MS));
  }
  g_unsetenv ("ZKFLOCK_HOSTS");
}

PROMPT_SUITE ("shortage", fixture_start_slow, fixture_stop)
