/* Who is killed, with what, when, how the command behaves, and on which machine: every cell of that
 * table, seen from outside.
 *
 * Each cell runs in a process of its own, many of them at once, since they mostly wait. Two facts
 * are observed: no process of the command lives when the node of the lock has gone from the server,
 * by the process table as root sees it; and the exit code and the message say what happened. A
 * sample runs by default; CURATOR_CELLS=all runs all of them, CURATOR_CELLS=M-N those from M to N.
 *
 * After them, processes of zkflock's tree are killed at random, one of them or all whose name has
 * "zkflock" in it, at a random moment: CURATOR_KILLS=N times.
 */
#include "cli.h"

#include "support/process.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define T_MS      15000
#define T_TEXT    "15"
#define PARALLEL  24
#define STRIDE    37 /* of the sample; has no factor in common with the table */
#define SETTLE_MS 300
#define POLL_MS   25
#define KILLED    (1000 + SIGKILL)
#define BY_KILL   (128 + SIGKILL)
#define BY_TERM   (128 + SIGTERM)

enum
{
  ZKFLOCK_ITSELF = 1,
  GUARD = 2,
  THE_COMMAND = 4,
  ALL_OF_THEM = 7
};

typedef enum
{
  RUNNING,
  ENDING,
  WAITING,
  STARTING
} When;

typedef enum
{
  OBEYS,
  TRAPS_TERM,
  FORKS,
  SETSID,
  OTHER_USER,
  IGNORES,
  N_BEHAVIOURS
} Behaviour;

typedef enum
{
  ROOT_WITH_CGROUP,
  ROOT_WITHOUT,
  PROCESS_1,
  NORMAL_USER,
  HIDEPID,
  UNKNOWN_UID,
  NO_PROC,
  N_MACHINES
} Machine;

static const char *const when_names[] = { "running", "ending", "waiting", "starting" };
static const struct
{
  const char *name;
  const char *mode; /* of cli_command */
  int code;         /* of zkflock after TERM */
} behaviours[] = {
  [OBEYS] = { "obeys", "beat", BY_TERM },
  [TRAPS_TERM] = { "traps TERM", "polite", 0 },
  [FORKS] = { "forks", "daemon", BY_TERM },
  [SETSID] = { "setsid", "escape", BY_TERM },
  [OTHER_USER] = { "other user", "beat", BY_TERM },
  [IGNORES] = { "ignores TERM", "stubborn", BY_KILL },
};
static const int signals[] = { SIGKILL, SIGSTOP, SIGTERM };

#define AS(user) "exec setpriv --reuid=" user " --regid=nogroup --clear-groups \"$@\""
static const struct
{
  const char *name;
  const char *script;
} machines[] = {
  [ROOT_WITH_CGROUP] = { "root with control group", "exec \"$@\"" },
  [ROOT_WITHOUT] = { "root without", "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"" },
  [PROCESS_1] = { "process 1", "exec unshare --pid --fork --kill-child --mount-proc \"$@\"" },
  [NORMAL_USER] = { "normal user", AS ("nobody") },
  [HIDEPID] = { "hidepid=2", "mount -t proc -o hidepid=2 proc /proc && " AS ("nobody") },
  [UNKNOWN_UID] = { "unknown uid", AS ("54321") },
  [NO_PROC] = { "no /proc", "mount -t tmpfs none /proc && " AS ("nobody") },
};

typedef struct
{
  int number;
  gboolean is_random; /* who is killed, and when */
  int who;
  int signal;
  When when;
  Behaviour behaviour;
  Machine machine;

  const char *server;
  RawZk *raw;
  Cli *holder;
  char *path;
  char *own_node; /* of the observer, who is ahead; or NULL */
  char *beats;
  char *program; /* the command's */
  pid_t zkflock;
  pid_t guard;
  pid_t command;
  gint64 gone_at; /* 0: the node of the lock is still there */
  int alive_when_gone;
} Cell;

/* Cells that differ in the behaviour of a command that never ran are one. */
static int
n_cells (void)
{
  const int rest = ALL_OF_THEM * (int) G_N_ELEMENTS (signals) * N_MACHINES;
  return rest * 2 * N_BEHAVIOURS + rest * 2;
}

static int
take (int *number, int n)
{
  const int digit = *number % n;
  *number /= n;
  return digit;
}

static void
cell_init (Cell *cell, int number)
{
  *cell = (Cell){ .number = number };
  cell->machine = (Machine) take (&number, N_MACHINES);
  cell->who = 1 + take (&number, ALL_OF_THEM);
  cell->signal = signals[take (&number, G_N_ELEMENTS (signals))];
  if (number < 2 * N_BEHAVIOURS) {
    cell->behaviour = (Behaviour) take (&number, N_BEHAVIOURS);
    cell->when = number == 0 ? RUNNING : ENDING;
  } else {
    cell->when = number == 2 * N_BEHAVIOURS ? WAITING : STARTING;
  }
}

static gboolean
is_root (const Cell *cell)
{
  return cell->machine <= PROCESS_1;
}

static gboolean
has_cgroup (const Cell *cell)
{
  return cell->machine == ROOT_WITH_CGROUP || cell->machine == PROCESS_1;
}

static gboolean
cannot_be_killed (const Cell *cell)
{
  return cell->behaviour == OTHER_USER && !is_root (cell);
}

/* The processes whose words begin with the program and hold the mark. program: NULL for any. */
static GArray *
find (const char *program, const char *mark)
{
  GArray *found = cli_processes ();

  for (guint i = found->len; i > 0; i--) {
    const CliProcess *process = &g_array_index (found, CliProcess, i - 1);
    g_autofree char *file = g_strdup_printf ("/proc/%d/cmdline", (int) process->pid);
    g_autofree char *text = NULL;
    gsize length = 0;
    if (process->state == 'Z' || process->state == 'X'
        || !g_file_get_contents (file, &text, &length, NULL) || length == 0
        || (program != NULL && strcmp (text, program) != 0)
        || memmem (text, length, mark, strlen (mark)) == NULL)
      g_array_remove_index (found, i - 1);
  }
  return found;
}

/* The guard and the command are its children that lead a group. */
static void
find_children (Cell *cell)
{
  g_autoptr (GArray) children = cli_children_of (cell->zkflock);

  for (guint i = 0; i < children->len; i++) {
    const pid_t pid = g_array_index (children, pid_t, i);
    CliProcess process;
    if (cli_is_running (pid) && cli_read_process (pid, &process) && process.group == pid)
      *(cli_process_has (pid, "comm", "guard") ? &cell->guard : &cell->command) = pid;
  }
}

static gboolean
has_tree (Cell *cell)
{
  g_autoptr (GArray) found = find (ZKFLOCK, cell->beats);

  /* A helper that has its words is its child. */
  cell->zkflock = 0;
  for (guint i = 0; i < found->len; i++) {
    const CliProcess *process = &g_array_index (found, CliProcess, i);
    gboolean is_child = FALSE;
    for (guint j = 0; j < found->len; j++)
      is_child = is_child || g_array_index (found, CliProcess, j).pid == process->parent;
    cell->zkflock = is_child ? cell->zkflock : process->pid;
  }
  cell->guard = cell->command = 0;
  if (cell->zkflock > 0)
    find_children (cell);
  return cell->guard > 0 && cell->command > 0;
}

/* What the documents say that zkflock cannot reach. */
static gboolean
is_excepted (const Cell *cell, const CliProcess *process)
{
  const gboolean nobody_left = cell->signal != SIGTERM && (cell->who & 3) == 3;

  if (cell->machine == PROCESS_1 && (cell->who & ZKFLOCK_ITSELF) != 0 && cell->signal == SIGKILL)
    return FALSE; /* the kernel ends its namespace */
  if (cell->behaviour == SETSID && process->session == process->pid)
    return !has_cgroup (cell) || nobody_left;
  return cannot_be_killed (cell) && process->user == 0;
}

static int
count_alive (const Cell *cell)
{
  g_autoptr (GArray) found = find (cell->program, cell->beats);
  int n = 0;

  for (guint i = 0; i < found->len; i++)
    n += !is_excepted (cell, &g_array_index (found, CliProcess, i));
  return n;
}

static void
look (Cell *cell)
{
  if (cell->gone_at == 0
      && raw_zk_count_children (cell->raw, cell->path) <= (cell->own_node != NULL)) {
    cell->gone_at = wait_now_ns ();
    cell->alive_when_gone = count_alive (cell);
  }
}

/* Looks for the node of the lock for so long, or until zkflock has ended and the node has gone. */
static int
observe (Cell *cell, int ms)
{
  const gint64 until = wait_now_ms () + ms;
  int code = -1;

  do {
    code = code == -1 ? cli_wait (cell->holder, 0) : code;
    look (cell);
    wait_ms (POLL_MS);
  } while (wait_now_ms () < until && (code == -1 || cell->gone_at == 0));
  return code;
}

/* zkflock has ended without a release: the node goes with the session. */
static void
wait_for_node (Cell *cell)
{
  for (const gint64 until = wait_now_ms () + CLI_MS;
       cell->gone_at == 0 && wait_now_ms () < until;) {
    look (cell);
    wait_ms (POLL_MS);
  }
}

static void
signal_victims (const Cell *cell, int signal)
{
  const pid_t pids[] = { cell->zkflock, cell->guard, cell->command };

  for (int i = 0; i < 3; i++)
    if ((cell->who & (1 << i)) != 0)
      kill (pids[i], signal);
}

static void
kill_all (const char *program, const char *mark)
{
  g_autoptr (GArray) found = find (program, mark);

  for (guint i = 0; i < found->len; i++)
    kill (g_array_index (found, CliProcess, i).pid, SIGKILL);
}

/* Ends a command that has survived because it should. */
static int
finish (Cell *cell)
{
  if (cannot_be_killed (cell)) {
    kill_all (cell->program, cell->beats);
    return observe (cell, CLI_MS);
  }
  kill (cell->zkflock, SIGTERM);
  const int code = observe (cell, cell->behaviour == IGNORES ? SETTLE_MS : CLI_MS);
  if (code != -1)
    return code;
  kill (cell->zkflock, SIGTERM);
  return observe (cell, CLI_MS);
}

static void
start (Cell *cell)
{
  g_autofree char *wrapper =
      g_strdup_printf ("exec setpriv --reuid=nobody --regid=nogroup --clear-groups %s beat %s",
                       CLI_COMMAND, cell->beats);
  const gboolean by_shell = cell->behaviour == OTHER_USER && is_root (cell);
  const char *mode = cannot_be_killed (cell) ? "root" : behaviours[cell->behaviour].mode;

  cell->holder =
      cli_start ("/usr/bin/unshare", "--mount", "/bin/sh", "-c", machines[cell->machine].script,
                 "sh", ZKFLOCK, "-Z", cell->server, "--verbose", "--session-timeout", T_TEXT,
                 "--label", cell->beats, cell->path, by_shell ? "/bin/sh" : cell->program,
                 by_shell ? "-c" : mode, by_shell ? wrapper : cell->beats, by_shell ? NULL : "0");
}

/* The observer, who was ahead, leaves. */
static void
let_in (Cell *cell)
{
  raw_zk_delete (cell->raw, cell->own_node);
  g_clear_pointer (&cell->own_node, g_free);
}

/* Leads the cell to its moment. */
static gboolean
arrive (Cell *cell)
{
  const gboolean waits = cell->when == WAITING || cell->when == STARTING;
  g_autofree char *node =
      g_strconcat (cell->path, "/_c_00000000-0000-0000-0000-000000000000-lock-", NULL);

  raw_zk_make_path (cell->raw, cell->path);
  if (waits
      && raw_zk_create (cell->raw, node, "", ZOO_EPHEMERAL_SEQUENTIAL, &cell->own_node) != ZOK)
    return FALSE;
  start (cell);
  if (!raw_zk_wait_children (cell->raw, cell->path, waits ? 2 : 1, CLI_MS)
      || (!waits && !cli_wait_lines (cell->beats, "BEAT", cell->behaviour == OBEYS ? 1 : 8, CLI_MS))
      || !holds_within (has_tree (cell), CLI_MS))
    return FALSE;
  if (cell->when == STARTING) {
    kill (cell->command, SIGSTOP);
    let_in (cell);
    return cli_wait_text (cell->holder->err, "granted, node", CLI_MS);
  }
  if (cell->when == ENDING) {
    kill (cell->zkflock, SIGTERM);
    wait_ms (5);
  }
  return TRUE;
}

/* zkflock was told to end and its command obeys: a second TERM would kill that. */
static gboolean
ends_alone (const Cell *cell)
{
  const gboolean is_told = cell->signal == SIGTERM && (cell->who & ZKFLOCK_ITSELF) != 0;
  return (is_told || cell->when == ENDING) && cell->behaviour != IGNORES
         && !cannot_be_killed (cell);
}

/* Ends the cell; the exit code of zkflock. */
static int
play (Cell *cell)
{
  signal_victims (cell, cell->signal);
  int code = observe (cell, cell->signal == SIGSTOP ? 2 * T_MS : SETTLE_MS);
  if (cell->signal == SIGSTOP)
    signal_victims (cell, SIGCONT);
  if (cell->when == STARTING)
    kill (cell->command, SIGCONT);
  if (code == -1)
    code = observe (cell, ends_alone (cell) ? CLI_MS : cell->signal == SIGTERM ? SETTLE_MS : 5000);
  if (cell->own_node != NULL) {
    let_in (cell);
    if (code == -1 && cli_wait_lines (cell->beats, "BEAT", 1, 5000))
      cell->gone_at = 0;
  }
  if (code == -1)
    code = finish (cell);
  if (cell->gone_at == 0)
    wait_for_node (cell);
  return code;
}

static int
code_of_term (const Cell *cell)
{
  return cannot_be_killed (cell) ? BY_KILL : behaviours[cell->behaviour].code;
}

/* The guard ends alone, so that zkflock can tell. */
static gboolean
loses_the_guard (const Cell *cell)
{
  return (cell->who & 3) == GUARD
         && (cell->signal == SIGKILL || (cell->signal == SIGSTOP && cell->when != WAITING));
}

static gboolean
is_code_of_kill (const Cell *cell, int code)
{
  if ((cell->who & ZKFLOCK_ITSELF) != 0) {
    /* The wrapper of process 1 has a code of its own. */
    return code == KILLED || (cell->machine == PROCESS_1 && (code == BY_KILL || code == 1));
  }
  return code == BY_KILL;
}

static gboolean
is_code_of_stop (const Cell *cell, int code)
{
  if (cell->when == WAITING) {
    return code == code_of_term (cell)
           || ((cell->who & ZKFLOCK_ITSELF) != 0 && (code == 75 || code == 69));
  }
  if ((cell->who & ZKFLOCK_ITSELF) != 0)
    return code == (cannot_be_killed (cell) ? 70 : 75);
  return code == (loses_the_guard (cell) ? BY_KILL : code_of_term (cell))
         || (cell->when == STARTING && code == code_of_term (cell)); /* it had no deadline yet */
}

static gboolean
is_code_of_term (const Cell *cell, int code)
{
  if (cell->when == WAITING || cell->when == STARTING)
    return code == ((cell->who & 5) != 0 ? BY_TERM : code_of_term (cell));
  return code == code_of_term (cell) || (cannot_be_killed (cell) && code == BY_TERM)
         || (cell->when == ENDING && (code == BY_KILL || code == BY_TERM));
}

static gboolean
says_what_happened (const Cell *cell, int code, const char *err)
{
  const gboolean is_loss = code == 75 || code == 70;
  const gboolean known = (cell->signal == SIGKILL && is_code_of_kill (cell, code))
                         || (cell->signal == SIGSTOP && is_code_of_stop (cell, code))
                         || (cell->signal == SIGTERM && is_code_of_term (cell, code))
                         || (cell->when == ENDING && code == code_of_term (cell));

  if (!known || (!is_loss && strstr (err, "lock lost") != NULL)
      || (code == 75 && cell->when != WAITING && strstr (err, "lock lost") == NULL)
      || (code == 70 && strstr (err, "could not be killed") == NULL))
    return FALSE;
  return !loses_the_guard (cell) || cell->when == ENDING || (cell->who & THE_COMMAND) != 0
         || code != BY_KILL || strstr (err, "a helper process of zkflock was killed") != NULL;
}

/* NULL if all is as it should be. */
static const char *
judge (Cell *cell, int code)
{
  g_autofree char *err = cli_stderr (cell->holder);
  const gboolean nobody_left = cell->signal != SIGTERM && (cell->who & 3) == 3;

  if (cell->gone_at == 0)
    return "the node of the lock stays";
  if (cell->alive_when_gone > 0 || count_alive (cell) > 0)
    return "the command outlives the lock";
  if (cell->behaviour != SETSID && cell->behaviour != OTHER_USER
      && cli_last_beat (cell->beats) > cell->gone_at)
    return "the command has worked without the lock";
  if (!cell->is_random && !says_what_happened (cell, code, err))
    return "the exit code or the message is wrong";
  /* In a pid namespace the number in the folder's name is another one. */
  if (cell->machine != PROCESS_1 && !nobody_left
      && !holds_within (!cli_left_a_cgroup (cell->zkflock), CLI_MS))
    return "the folder of the control group stays";
  return NULL;
}

static void
open_cell (Cell *cell, const char *server)
{
  cell->server = server;
  cell->raw = raw_zk_open (server);
  cell->beats = cli_write_file ("", 0, 0666);
  cell->path = g_strdup_printf ("/cells/%d", cell->number);
  cell->program = cannot_be_killed (cell) ? cli_new_setuid_command () : g_strdup (CLI_COMMAND);
  assert_non_null (cell->raw);
}

/* Prints what is wrong, if anything is; the exit code of this process. */
static int
close_cell (Cell *cell, int code, const char *wrong)
{
  if (wrong != NULL) {
    g_autofree char *err = cli_stderr (cell->holder);
    printf ("cell %d: %s, %s, %s, %s%s%s, %s: %s; code %d, alive %d\n%s", cell->number,
            machines[cell->machine].name, when_names[cell->when], behaviours[cell->behaviour].name,
            (cell->who & ZKFLOCK_ITSELF) != 0 ? "zkflock " : "",
            (cell->who & GUARD) != 0 ? "guard " : "",
            (cell->who & THE_COMMAND) != 0 ? "command" : "", strsignal (cell->signal), wrong, code,
            cell->alive_when_gone, err);
  }
  kill_all (NULL, cell->beats);
  cli_free (cell->holder);
  g_unlink (cell->beats);
  if (cannot_be_killed (cell))
    g_unlink (cell->program);
  raw_zk_close (cell->raw);
  return wrong != NULL;
}

static int
run_cell (int number, const char *server)
{
  Cell cell;
  const char *wrong = "the cell did not begin";
  int code = -1;

  cell_init (&cell, number);
  open_cell (&cell, server);
  if (arrive (&cell)) {
    code = play (&cell);
    wrong = judge (&cell, code);
  }
  return close_cell (&cell, code, wrong);
}

/* Those of its tree whose name has "zkflock" in it, or one of the tree. */
static void
kill_at_random (Cell *cell, GRand *random)
{
  g_autoptr (GArray) tree = find (cell->program, cell->beats);
  const pid_t known[] = { cell->zkflock, cell->guard, cell->command };
  const gboolean by_name = g_rand_boolean (random);

  for (int i = 0; i < 3; i++) {
    const CliProcess process = { .pid = known[i] };
    g_array_append_val (tree, process);
  }
  const guint one = (guint) g_rand_int_range (random, 0, (gint32) tree->len);
  for (guint i = 0; i < tree->len; i++) {
    const pid_t pid = g_array_index (tree, CliProcess, i).pid;
    if (pid > 0 && (by_name ? cli_process_has (pid, "comm", "zkflock") : i == one))
      kill (pid, SIGKILL);
  }
}

static int
run_kill (int number, const char *server)
{
  static const Machine some_machines[] = { ROOT_WITH_CGROUP, ROOT_WITHOUT, NORMAL_USER };
  static const Behaviour some_behaviours[] = { OBEYS, FORKS, SETSID, IGNORES };
  g_autoptr (GRand) random = g_rand_new_with_seed ((guint32) number);
  Cell cell = { .number = number, .who = ZKFLOCK_ITSELF, .signal = SIGKILL, .is_random = TRUE };

  cell.machine = some_machines[g_rand_int_range (random, 0, G_N_ELEMENTS (some_machines))];
  cell.behaviour = some_behaviours[g_rand_int_range (random, 0, G_N_ELEMENTS (some_behaviours))];
  open_cell (&cell, server);
  start (&cell);
  (void) holds_within (has_tree (&cell), CLI_MS);
  wait_ms (g_rand_int_range (random, 0, 400));
  has_tree (&cell);
  kill_at_random (&cell, random);
  int code = cli_wait (cell.holder, 3000);
  if (code == -1)
    code = finish (&cell);
  cell.gone_at = 0;
  wait_for_node (&cell);
  return close_cell (&cell, code, judge (&cell, code));
}

static pid_t
start_job (const char *what, int number, const char *server, const char *output)
{
  g_autofree char *text = g_strdup_printf ("%d", number);
  const char *const argv[] = { "/proc/self/exe", what, text, server, NULL };
  const pid_t pid = process_spawn ((char *const *) argv, output);
  assert_true (pid > 0);
  return pid;
}

/* Asserts that none of them fails, and prints what they say. */
static void
run_jobs (const char *what, const char *server, int first, int stride, int end)
{
  pid_t jobs[PARALLEL] = { 0 };
  LOG output = cli_new_file ();
  g_autofree char *text = NULL;
  int next = first;
  int running = 0;
  int failed = 0;

  if (geteuid () != 0)
    skip ();
  while (next < end || running > 0) {
    for (int i = 0; i < PARALLEL; i++) {
      int status = 0;
      if (jobs[i] != 0 && process_wait (jobs[i], 0, &status)) {
        failed += status != 0;
        running--;
        jobs[i] = 0;
      }
      if (jobs[i] == 0 && next < end) {
        jobs[i] = start_job (what, next, server, output);
        next += stride;
        running++;
      }
    }
    wait_ms (10);
  }
  if (g_file_get_contents (output, &text, NULL, NULL))
    printf ("%s", text);
  print_message ("%d %s, %d failed\n", (end - first - 1) / stride + 1, what, failed);
  assert_int_equal (failed, 0);
}

TEST (p37_in_every_cell)
{
  const char *wanted = g_getenv ("CURATOR_CELLS");
  int first = 0;
  int last = n_cells () - 1;
  const gboolean is_range = wanted != NULL && sscanf (wanted, "%d-%d", &first, &last) == 2;
  const int stride = is_range || g_strcmp0 (wanted, "all") == 0 ? 1 : STRIDE;

  print_message ("of %d cells:\n", n_cells ());
  run_jobs ("--cell", fixture_server (fixture), first, stride, last + 1);
}

TEST (p37_whoever_is_killed_whenever)
{
  const char *wanted = g_getenv ("CURATOR_KILLS");
  const int n = wanted != NULL ? atoi (wanted) : PARALLEL;

  run_jobs ("--kill", fixture_server (fixture), n_cells (), 1, n_cells () + n);
}

int
main (int argc, char **argv)
{
  if (argc == 4) {
    return strcmp (argv[1], "--cell") == 0 ? run_cell (atoi (argv[2]), argv[3])
                                           : run_kill (atoi (argv[2]), argv[3]);
  }
  return suite_run ("cells", fixture_start_slow, fixture_stop);
}
