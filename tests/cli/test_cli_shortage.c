/* A machine that is short of something: a generated table, one limit at a time and in pairs, from nothing up
 * to more than a run needs.
 *
 * In every cell the command runs and ends under the lock, or zkflock ends with 71 and one line. Nothing is
 * left: no node, no process, no control group. Judged from outside, by the exit code, the log of the
 * command, the server and the process table. Where not even "zkflock --version" can be loaded, nothing
 * is said about zkflock. A share runs by default, CURATOR_SHORTAGE=all runs all.
 */
#include "cli.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARALLEL   6
#define SHARE      4     /* of the cells, by default */
#define FIRST_UID  70000 /* a user for each cell, whose processes count */
#define OTHER_UIDS 5000
#define SHORTAGE   71
#define PRLIMIT    "/usr/bin/prlimit"
#define SETPRIV    "/usr/bin/setpriv"

typedef struct
{
  const char *option; /* of prlimit */
  int from;
  int to;
  int step;
} Limit;

static const Limit limits[] = {
  { "--nproc", 1, 12, 1 },           { "--nofile", 0, 44, 1 },
  { "--as", 0, 160 << 20, 4 << 20 }, { "--stack", 16 << 10, 2048 << 10, 127 << 10 },
  { "--memlock", 0, 8192, 4096 },    { "--sigpending", 0, 4, 1 },
};

typedef struct
{
  char *first; /* "--nproc=8" */
  char *second;
  int number;
  char *path;
  char *log;
  Cli *version;
  Cli *cli;
} Cell;

typedef struct
{
  Fixture *fixture;
  int n_children;
  int n_ran;
  int n_short;
  int n_not_loaded;
} World;

static Cli *
start (const Cell *cell, int uids, const char *const *arguments)
{
  g_autofree char *user = g_strdup_printf ("--reuid=%d", FIRST_UID + uids + cell->number);
  g_autofree char *group = g_strdup_printf ("--regid=%d", FIRST_UID + uids + cell->number);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  const char *const before[] = { SETPRIV, user, group, "--clear-groups", PRLIMIT, cell->first };

  for (gsize i = 0; i < G_N_ELEMENTS (before); i++)
    g_ptr_array_add (argv, (gpointer) before[i]);
  if (cell->second != NULL)
    g_ptr_array_add (argv, cell->second);
  g_ptr_array_add (argv, (gpointer) ZKFLOCK);
  for (; *arguments != NULL; arguments++)
    g_ptr_array_add (argv, (gpointer) *arguments);
  g_ptr_array_add (argv, NULL);
  return cli_start_strv ((char *const *) argv->pdata);
}

static void
cell_start (Cell *cell, World *world, char *first, char *second)
{
  static int n;

  *cell = (Cell){ .first = first, .second = second, .number = n++, .log = cli_new_file () };
  cell->path = g_strdup_printf ("/short-%d", cell->number);
  cell->version = start (cell, OTHER_UIDS, (const char *const[]){ "--version", NULL });
  cell->cli =
      start (cell, 0,
             (const char *const[]){ "-Z", fixture_server (world->fixture), "-w", "3", cell->path,
                                    CLI_COMMAND, "turn", cell->log, "0", NULL });
}

static void
cell_fail (const Cell *cell, int code, const char *text)
{
  fail_msg ("%s %s: exit code %d: %s", cell->first, cell->second != NULL ? cell->second : "", code,
            text);
}

static void
cell_judge (Cell *cell, World *world)
{
  const gboolean is_loaded = cli_wait (cell->version, CLI_MS) == 0;
  const int code = cli_wait (cell->cli, CLI_MS);
  const gboolean has_run = cli_wait_lines (cell->log, "OUT", 1, 0);
  g_autofree char *err = cli_stderr (cell->cli);

  if (!is_loaded && code != 0 && code != SHORTAGE)
    world->n_not_loaded++;
  else if (code == 0 && has_run)
    world->n_ran++;
  else if (code == SHORTAGE && !has_run && g_str_has_prefix (err, "zkflock: ")
           && strchr (err, '\n') == err + strlen (err) - 1)
    world->n_short++;
  else
    cell_fail (cell, code, err);
  if (raw_zk_exists (world->fixture->raw, cell->path)
      && !raw_zk_wait_children (world->fixture->raw, cell->path, 0, CLI_MS))
    cell_fail (cell, code, "a node is left");
  g_unlink (cell->log);
  g_free (cell->log);
  g_free (cell->path);
  g_free (cell->first);
  g_free (cell->second);
  cli_free (cell->version);
  cli_free (cell->cli);
}

static gboolean
nobody_is_left (gpointer data)
{
  return cli_count_children () == ((World *) data)->n_children;
}

static void
judge_all (World *world, Cell *cells, int *n)
{
  for (int i = 0; i < *n; i++)
    cell_judge (&cells[i], world);
  *n = 0;
  assert_true (wait_until (nobody_is_left, world, CLI_MS));
}

static World
world_open (Fixture *fixture)
{
  World world = { .fixture = fixture };

  cli_adopt_orphans ();
  world.n_children = cli_count_children ();
  return world;
}

static void
world_tell (const World *world)
{
  print_message ("%d cells: %d ran, %d ended with 71, %d could not be loaded; 0 aborts, 0 hangs, "
                 "0 kept locks, 0 orphans\n",
                 world->n_ran + world->n_short + world->n_not_loaded, world->n_ran, world->n_short,
                 world->n_not_loaded);
  assert_true (world->n_ran > 0 && world->n_short > 0);
}

static gboolean
is_chosen (int n)
{
  return g_strcmp0 (g_getenv ("CURATOR_SHORTAGE"), "all") == 0 || n % SHARE == 0;
}

static char *
option_of (const Limit *limit, int value)
{
  return g_strdup_printf ("%s=%d", limit->option, value);
}

static void
one_limit_at_a_time (void **state)
{
  World world = world_open (*state);
  Cell cells[PARALLEL];
  int n = 0;
  int number = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (limits); i++)
    {
      for (int value = limits[i].from; value <= limits[i].to; value += limits[i].step)
        {
          if (is_chosen (number++))
            cell_start (&cells[n++], &world, option_of (&limits[i], value), NULL);
          if (n == PARALLEL)
            judge_all (&world, cells, &n);
        }
    }
  judge_all (&world, cells, &n);
  world_tell (&world);
}

/* Those that are near what a run needs. */
static void
two_limits (void **state)
{
  static const Limit pairs[][2] = {
    { { "--nproc", 3, 9, 1 }, { "--nofile", 12, 44, 8 } },
    { { "--nproc", 3, 9, 1 }, { "--as", 60 << 20, 140 << 20, 20 << 20 } },
    { { "--nofile", 12, 44, 8 }, { "--as", 60 << 20, 140 << 20, 20 << 20 } },
  };
  World world = world_open (*state);
  Cell cells[PARALLEL];
  int n = 0;
  int number = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      const Limit *a = &pairs[i][0];
      const Limit *b = &pairs[i][1];
      for (int x = a->from; x <= a->to; x += a->step)
        {
          for (int y = b->from; y <= b->to; y += b->step)
            {
              if (is_chosen (number++))
                cell_start (&cells[n++], &world, option_of (a, x), option_of (b, y));
              if (n == PARALLEL)
                judge_all (&world, cells, &n);
            }
        }
    }
  judge_all (&world, cells, &n);
  world_tell (&world);
}

/* As a normal user, from one process to more than enough. */
static void
every_number_of_processes (void **state)
{
  World world = world_open (*state);
  const Limit limit = { "--nproc", 1, 20, 1 };
  Cell cells[PARALLEL];
  int n = 0;

  for (int value = limit.from; value <= limit.to; value++)
    {
      cell_start (&cells[n++], &world, option_of (&limit, value), NULL);
      if (n == PARALLEL)
        judge_all (&world, cells, &n);
    }
  judge_all (&world, cells, &n);
  assert_int_equal (world.n_not_loaded, 0);
  world_tell (&world);
}

/* The folder of a control group that limits processes, where one can be made. */
static char *
new_pids_cgroup (void)
{
  FILE *mounts = setmntent ("/proc/self/mounts", "re");
  char *folder = NULL;

  for (const struct mntent *entry; folder == NULL && (entry = getmntent (mounts)) != NULL;)
    {
      g_autofree char *file = NULL;
      if (!g_str_has_prefix (entry->mnt_type, "cgroup"))
        continue;
      folder = g_strdup_printf ("%s/curator-short-%d", entry->mnt_dir, (int) getpid ());
      file = g_build_filename (folder, "pids.max", NULL);
      if (g_mkdir (folder, 0755) != 0 || !g_file_test (file, G_FILE_TEST_EXISTS))
        {
          g_rmdir (folder);
          g_clear_pointer (&folder, g_free);
        }
    }
  endmntent (mounts);
  return folder;
}

static gboolean
removes_folder (gpointer folder)
{
  return g_rmdir (folder) == 0;
}

static void
every_number_in_a_control_group (void **state)
{
  World world = world_open (*state);
  g_autofree char *folder = new_pids_cgroup ();

  if (folder == NULL)
    {
      print_message ("0 cells: no control group can limit processes here\n");
      return;
    }
  for (int value = 1; value <= 14; value++)
    {
      Cell cell = { .first = g_strdup_printf ("pids.max=%d", value), .log = cli_new_file () };
      cell.path = g_strdup_printf ("/pids-%d", value);
      cell.version = cli_start (ZKFLOCK, "--version", NULL);
      cell.cli = cli_start ("/bin/sh", "-c",
                            "echo $$ > $1/cgroup.procs && echo $2 > $1/pids.max && shift 2 && "
                            "exec \"$@\"",
                            "sh", folder, cell.first + strlen ("pids.max="), ZKFLOCK, "-Z",
                            fixture_server (world.fixture), "-w", "3", cell.path, CLI_COMMAND,
                            "turn", cell.log, "0", NULL);
      cell_judge (&cell, &world);
    }
  assert_true (wait_until (nobody_is_left, &world, CLI_MS));
  assert_true (wait_until (removes_folder, folder, CLI_MS));
  world_tell (&world);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (every_number_of_processes),
    heal_and_test (every_number_in_a_control_group),
    heal_and_test (one_limit_at_a_time),
    heal_and_test (two_limits),
  };
  return cmocka_run_group_tests (tests, fixture_start, fixture_stop);
}
