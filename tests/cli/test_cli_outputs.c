/* What leaves zkflock, what cannot take it, and each moment of its life: the whole product.
 *
 * In every cell one output is in the way of one obstacle while zkflock is in one moment, from which
 * a signal, a deadline or the end of its command must lead it on. Judged from outside, by the exit
 * code, the node of the lock on the server and the process table: no lock is kept, no command lives
 * when the node has gone, and no deadline is missed. Cells of a moment run side by side.
 */
#include "cli.h"

#include "support/metronome.h"
#include "support/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#define MAX_CELLS   24
#define STATUS_FD   3
#define READY_MS    20000
#define PATIENCE_MS 25000
/* docs/zkflock.md: the release is waited for five seconds, and the last words half a second. */
#define PROMISED_MS 5500
#define SESSION_S   6 /* of a loss */
#define POLL_MS     10
#define NODE        "/_c_00000000-0000-0000-0000-000000000000-lock-"

typedef enum
{
  TO_STDERR,
  TO_STDOUT,
  TO_STATUS,
  TO_SYSLOG,
  TO_NOTIFY,
  N_OUTPUTS
} Output;

typedef enum
{
  FULL_PIPE,
  READER_THAT_STOPS, /* after a few words */
  STOPPED_TERMINAL,
  FULL_SOCKET,
  FULL_DISK,
  NOBODY,
  N_OBSTACLES
} Obstacle;

static const char *const output_names[] = { "stderr", "stdout", "status", "syslog", "notify" };
static const char *const obstacle_names[] = { "full pipe",        "reader that stops",
                                              "stopped terminal", "full socket",
                                              "full disk",        "nobody" };

typedef enum
{
  BY_ITSELF, /* by a deadline, or its command ends */
  BY_TERM,
  BY_STDIN,
  BY_HOLE
} Trigger;

static const struct
{
  const char *name;
  const char *words[4]; /* before the path */
  const char *mode;     /* of the command, NULL: none */
  Trigger trigger;
  int code;
  gint64 due_ms; /* since the trigger, or since the start */
  gboolean is_queued;
  gboolean is_silent; /* no server answers */
} moments[] = {
  { "connecting", { 0 }, "beat", BY_TERM, 143, 0, FALSE, TRUE },
  { "in the queue", { 0 }, "beat", BY_TERM, 143, 0, TRUE, FALSE },
  { "-w in the queue", { "-w", "1" }, "beat", BY_ITSELF, 1, 1000, TRUE, FALSE },
  { "the command starts and ends", { 0 }, "turn", BY_ITSELF, 0, 0, FALSE, FALSE },
  { "under the command", { 0 }, "beat", BY_TERM, 143, 0, FALSE, FALSE },
  { "--max-hold of a command",
    { "--max-hold=2", "--kill-after=0.5" },
    "stubborn",
    BY_ITSELF,
    75,
    2000,
    FALSE,
    FALSE },
  { "a loss under the command",
    { "--session-timeout", "6" },
    "stubborn",
    BY_HOLE,
    75,
    SESSION_S * 1000,
    FALSE,
    FALSE },
  { "holding", { 0 }, NULL, BY_TERM, 143, 0, FALSE, FALSE },
  { "the end of a hold", { 0 }, NULL, BY_STDIN, 0, 0, FALSE, FALSE },
  { "--max-hold", { "--max-hold=2" }, NULL, BY_ITSELF, 75, 2000, FALSE, FALSE },
  { "a loss of a hold",
    { "--session-timeout", "6" },
    NULL,
    BY_HOLE,
    75,
    SESSION_S * 1000,
    FALSE,
    FALSE },
  { "wait", { "wait", "-w", "1" }, NULL, BY_ITSELF, 1, 1000, TRUE, FALSE },
  { "revoke", { "revoke", "-w", "1" }, NULL, BY_ITSELF, 1, 1000, TRUE, FALSE },
};

typedef struct
{
  int moment;
  Output output;
  Obstacle obstacle;
  char *path;
  Cli *cli;
  int fds[2]; /* the test's: what zkflock gets, and the other end */
  gint64 since_ms;
  gint64 took_ms; /* -1: it runs */
  gboolean has_outlived;
} Cell;

typedef struct
{
  Fixture *fixture;
  Cell cells[MAX_CELLS];
  int n;
  int n_cells;
  int n_failures;
  char *silent; /* a server */
  int silent_fd;
  char *devs[2]; /* the second has a log, which is full; NULL: no name spaces */
  int log_fd;
  char *manager; /* a socket that is full */
  int manager_fd;
} World;

static gboolean
is_verb (int moment)
{
  return moments[moment].mode == NULL && moments[moment].is_queued;
}

static gboolean
is_hold (int moment)
{
  return moments[moment].mode == NULL && !moments[moment].is_queued;
}

/* Whether there is such a cell. */
static gboolean
is_possible (const World *world, int moment, Output output, Obstacle obstacle)
{
  if (is_verb (moment) && output != TO_STDERR)
    return FALSE;
  if (output == TO_STDOUT)
    return is_hold (moment);
  if (output == TO_SYSLOG && world->devs[0] == NULL)
    return FALSE;
  return (output != TO_SYSLOG && output != TO_NOTIFY) || obstacle == FULL_SOCKET
         || obstacle == NOBODY;
}

/* A token that cannot be written ends the hold; one that nobody has read shows at its end. */
static int
expected_code (const Cell *cell)
{
  const gboolean is_broken = cell->obstacle == FULL_DISK || cell->obstacle == NOBODY;
  const gboolean is_stuck = !is_broken && cell->obstacle != READER_THAT_STOPS;
  const int code = moments[cell->moment].code;

  return cell->output == TO_STDOUT && (is_broken || (is_stuck && code == 0)) ? 74 : code;
}

static void
set_flag (int fd, int flag, gboolean is_on)
{
  const int flags = fcntl (fd, F_GETFL);
  assert_int_equal (fcntl (fd, F_SETFL, is_on ? flags | flag : flags & ~flag), 0);
}

/* Until it takes no more. Nothing but the test may find it so that it does not wait. */
static void
fill (int fd)
{
  static const char block[4096];

  set_flag (fd, O_NONBLOCK, TRUE);
  while (write (fd, block, sizeof block) > 0 || write (fd, block, 1) > 0) {
  }
  assert_int_equal (errno, EAGAIN);
  set_flag (fd, O_NONBLOCK, FALSE);
}

static void
open_pipe (Cell *cell, gboolean is_full)
{
  int ends[2];

  assert_int_equal (pipe2 (ends, O_CLOEXEC), 0);
  cell->fds[0] = ends[1];
  cell->fds[1] = ends[0];
  if (is_full) {
    fill (ends[1]);
  } else {
    char block[4096 - 250] = { 0 };
    assert_int_equal (fcntl (ends[1], F_SETPIPE_SZ, 4096), 4096);
    assert_int_equal (write (ends[1], block, sizeof block), sizeof block);
  }
}

static void
open_obstacle (Cell *cell)
{
  int ends[2];

  switch (cell->obstacle) {
  case FULL_PIPE:
  case READER_THAT_STOPS:
    open_pipe (cell, cell->obstacle == FULL_PIPE);
    return;
  case STOPPED_TERMINAL:
    assert_int_equal (openpty (&cell->fds[1], &cell->fds[0], NULL, NULL, NULL), 0);
    assert_int_equal (tcflow (cell->fds[0], TCOOFF), 0);
    break;
  case FULL_SOCKET:
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, cell->fds), 0);
    fill (cell->fds[0]);
    break;
  case FULL_DISK:
    cell->fds[0] = open ("/dev/full", O_WRONLY | O_CLOEXEC);
    break;
  case NOBODY:
  case N_OBSTACLES:
    assert_int_equal (pipe2 (ends, O_CLOEXEC), 0);
    close (ends[0]);
    cell->fds[0] = ends[1];
  }
  for (int i = 0; i < 2; i++)
    if (cell->fds[i] >= 0)
      fcntl (cell->fds[i], F_SETFD, FD_CLOEXEC);
}

/* With a /dev of its own. */
#define IN_DEV                                                                                     \
  "set -e; dev=$1; shift; touch \"$dev/null\"; mount --bind /dev/null \"$dev/null\"; "             \
  "mount --rbind \"$dev\" /dev; exec \"$@\""

static void
cell_run (const World *world, Cell *cell)
{
  const int moment = cell->moment;
  const gboolean to_syslog = cell->output == TO_SYSLOG;
  const gboolean to_notify = cell->output == TO_NOTIFY;
  const char *mode = moments[moment].mode;
  const char *manager = cell->obstacle == FULL_SOCKET ? world->manager : "@nobody";
  g_autofree char *notify = g_strconcat ("NOTIFY_SOCKET=", manager, NULL);
  const char *address = moments[moment].is_silent            ? world->silent
                        : moments[moment].trigger == BY_HOLE ? fixture_proxy (world->fixture)
                                                             : fixture_server (world->fixture);
  const char *const words[] = {
    to_notify ? "/usr/bin/env" : NULL,
    to_notify ? notify : NULL,
    to_syslog ? "/usr/bin/unshare" : NULL,
    to_syslog ? "--mount" : NULL,
    to_syslog ? "/bin/sh" : NULL,
    to_syslog ? "-c" : NULL,
    to_syslog ? IN_DEV : NULL,
    to_syslog ? "sh" : NULL,
    to_syslog ? world->devs[cell->obstacle == FULL_SOCKET] : NULL,
    ZKFLOCK,
    "-Z",
    address,
    moments[moment].words[0],
    moments[moment].words[1],
    moments[moment].words[2],
    is_verb (moment) ? NULL : "--verbose",
    to_syslog ? "--syslog" : NULL,
    cell->output == TO_STATUS ? "--status-fd=3" : NULL,
    cell->path,
    mode != NULL ? CLI_COMMAND : NULL,
    mode,
    mode != NULL ? "LOG" : NULL,
    mode != NULL ? "100" : NULL,
  };
  const int number = cell->output == TO_STDERR   ? STDERR_FILENO
                     : cell->output == TO_STDOUT ? STDOUT_FILENO
                                                 : STATUS_FD;

  cell->since_ms = wait_now_ms ();
  cell->cli = cli_start_with (cell->fds[0], number, words, G_N_ELEMENTS (words));
}

static void
cell_start (World *world, int moment, Output output, Obstacle obstacle)
{
  Cell *cell = &world->cells[world->n++];

  assert_true (world->n <= MAX_CELLS);
  *cell = (Cell){ .moment = moment,
                  .output = output,
                  .obstacle = obstacle,
                  .path = g_strdup_printf ("/outputs-%d", ++world->n_cells),
                  .took_ms = -1,
                  .fds = { -1, -1 } };
  if (moments[moment].is_queued) {
    g_autofree char *node = g_strconcat (cell->path, NODE, NULL);
    RawZk *raw = world->fixture->raw;
    assert_int_equal (raw_zk_make_path (raw, cell->path), ZOK);
    assert_int_equal (raw_zk_create (raw, node, NULL, ZOO_EPHEMERAL_SEQUENTIAL, NULL), ZOK);
  }
  if (output != TO_SYSLOG && output != TO_NOTIFY)
    open_obstacle (cell);
  cell_run (world, cell);
}

static void cell_fails (World *world, const Cell *cell, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static void
cell_fails (World *world, const Cell *cell, const char *format, ...)
{
  va_list values;

  va_start (values, format);
  g_autofree char *text = g_strdup_vprintf (format, values);
  va_end (values);
  world->n_failures++;
  print_message ("%s, %s, %s: %s\n", moments[cell->moment].name, output_names[cell->output],
                 obstacle_names[cell->obstacle], text);
}

/* Whether it is where something shall happen to it, or has ended. */
static gboolean
is_ready (const World *world, const Cell *cell)
{
  RawZk *raw = world->fixture->raw;
  const int moment = cell->moment;

  if (cli_wait (cell->cli, 0) >= 0 || moments[moment].trigger == BY_ITSELF)
    return TRUE;
  if (moments[moment].is_silent) {
    g_autoptr (GArray) helpers = cli_children_of (cell->cli->pid);
    return helpers->len == 2;
  }
  if (moments[moment].is_queued)
    return raw_zk_count_children (raw, cell->path) == 2;
  if (moments[moment].mode != NULL)
    return cli_wait_lines (cell->cli->log, "BEAT", 2, 0);
  return raw_zk_exists (raw, cell->path) && raw_zk_count_children (raw, cell->path) == 1;
}

static gboolean
are_ready (const World *world)
{
  for (int i = 0; i < world->n; i++)
    if (!is_ready (world, &world->cells[i]))
      return FALSE;
  return TRUE;
}

static void
pull_triggers (World *world)
{
  for (int i = 0; i < world->n; i++) {
    Cell *cell = &world->cells[i];
    const Trigger trigger = moments[cell->moment].trigger;
    if (trigger != BY_ITSELF)
      cell->since_ms = wait_now_ms ();
    if (trigger == BY_TERM && cli_wait (cell->cli, 0) < 0)
      kill (cell->cli->pid, SIGTERM);
    else if (trigger == BY_STDIN)
      cli_close_stdin (cell->cli);
    else if (trigger == BY_HOLE)
      proxy_set_mode (world->fixture->proxy, PROXY_HOLE);
  }
}

/* In this order: what runs now ran when the node was seen to be gone. */
static void
look_for_survivors (const World *world, Cell *cell)
{
  const gboolean has_begun = cli_wait_lines (cell->cli->log, "BEAT", 1, 0);

  if (!has_begun || raw_zk_count_children (world->fixture->raw, cell->path) != 0)
    return;
  g_autoptr (GArray) beaters = cli_beaters (cell->cli->log);
  for (guint i = 0; i < beaters->len; i++)
    cell->has_outlived = cell->has_outlived || cli_is_running (g_array_index (beaters, pid_t, i));
}

static gboolean
have_ended (World *world)
{
  gboolean all = TRUE;

  for (int i = 0; i < world->n; i++) {
    Cell *cell = &world->cells[i];
    if (cell->took_ms < 0 && cli_wait (cell->cli, 0) >= 0)
      cell->took_ms = wait_now_ms () - cell->since_ms;
    look_for_survivors (world, cell);
    all = all && cell->took_ms >= 0;
  }
  return all;
}

static void
cell_judge (World *world, Cell *cell)
{
  const gint64 promised_ms = moments[cell->moment].due_ms + PROMISED_MS;
  const int code = cli_wait (cell->cli, 0);
  const int n_left = moments[cell->moment].is_queued;

  if (code != expected_code (cell))
    cell_fails (world, cell, code < 0 ? "it runs on" : "exit code %d", code);
  if (code >= 0) {
    if (!moments[cell->moment].is_silent
        && !raw_zk_wait_children (world->fixture->raw, cell->path, n_left, PATIENCE_MS))
      cell_fails (world, cell, "a node is left");
    /* The promise is the one above. */
    assert_promised_ms (cell->took_ms, promised_ms, cell->since_ms);
  }
  if (moments[cell->moment].mode != NULL && strcmp (moments[cell->moment].mode, "turn") == 0
      && !cli_wait_lines (cell->cli->log, "OUT", 1, 0))
    cell_fails (world, cell, "the command has not run");
  look_for_survivors (world, cell);
  if (cell->has_outlived)
    cell_fails (world, cell, "the command lives after the lock");
  cli_free (cell->cli);
  for (int i = 0; i < 2; i++)
    if (cell->fds[i] >= 0)
      close (cell->fds[i]);
  g_free (cell->path);
}

static void
judge_all (World *world)
{
  for (gint64 until_ms = wait_now_ms () + READY_MS;
       !are_ready (world) && wait_now_ms () < until_ms;)
    wait_ms (POLL_MS);
  pull_triggers (world);
  for (gint64 until_ms = wait_now_ms () + PATIENCE_MS;
       !have_ended (world) && wait_now_ms () < until_ms;)
    wait_ms (POLL_MS);
  proxy_set_mode (world->fixture->proxy, PROXY_PASS);
  for (int i = 0; i < world->n; i++)
    cell_judge (world, &world->cells[i]);
  world->n = 0;
}

/* A socket that nobody reads, and that takes no more. */
static int
listen_in_vain (const char *name)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const int fd = cli_listen_to_datagrams (name);
  const int own = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  socklen_t length = sizeof address;

  assert_int_equal (getsockname (fd, (struct sockaddr *) &address, &length), 0);
  assert_int_equal (connect (own, (struct sockaddr *) &address, length), 0);
  while (send (own, "x", 1, 0) == 1) {
  }
  assert_int_equal (errno, EAGAIN);
  close (own);
  return fd;
}

static void
world_open (World *world)
{
  g_autoptr (Cli) probe = cli_start ("/bin/sh", "-c", "exec unshare --mount mount -t tmpfs x /mnt");
  g_autofree char *file = cli_new_file ();

  world->silent_fd = cli_listen (&world->silent);
  world->manager = g_strconcat ("@", file, NULL);
  world->manager_fd = listen_in_vain (world->manager);
  world->log_fd = -1;
  if (cli_wait (probe, CLI_MS) == 0) {
    g_autofree char *log = NULL;
    for (int i = 0; i < 2; i++)
      world->devs[i] = scratch_new ("outputs");
    log = g_build_filename (world->devs[1], "log", NULL);
    world->log_fd = listen_in_vain (log);
  } else {
    print_message ("no name space of mounts: nothing goes to syslog\n");
  }
}

static void
world_close (World *world)
{
  close (world->silent_fd);
  close (world->manager_fd);
  if (world->log_fd >= 0)
    close (world->log_fd);
  for (int i = 0; i < 2; i++)
    if (world->devs[i] != NULL)
      scratch_remove (world->devs[i]);
  g_free (world->silent);
  g_free (world->manager);
}

TEST (p40_nothing_that_leaves_it_holds_it_up)
{
  World world = { .fixture = fixture };

  world_open (&world);
  for (int moment = 0; moment < (int) G_N_ELEMENTS (moments); moment++) {
    for (int output = 0; output < N_OUTPUTS; output++)
      for (int obstacle = 0; obstacle < N_OBSTACLES; obstacle++)
        if (is_possible (&world, moment, output, obstacle))
          cell_start (&world, moment, output, obstacle);
    judge_all (&world);
  }
  assert_int_equal (world.n_failures, 0);
  print_message ("%d cells: 0 locks kept, 0 commands outlive their lock, 0 deadlines missed\n",
                 world.n_cells);
  world_close (&world);
}

PROMPT_SUITE ("outputs", fixture_start_slow, fixture_stop)
