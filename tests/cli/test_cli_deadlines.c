/* Every verb that has -n or -w, with servers that cannot be used, each in one of many ways and from
 * one of many moments on: the whole run ends by its deadline, within a second. The cells are
 * generated, and run side by side.
 *
 * The second is for a machine that is never late: what the metronome has seen is added, and what the
 * threads of zkflock have waited for a processor.
 */
#include "cli.h"
#include "support/hosts.h"
#include "support/metronome.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AT_ONCE  24
#define BOUND_MS 1000
#define CODE     9 /* of a conflict */
#define LOOK_US  5000
/* What a machine that is so late measures counts for nothing, but once. */
#define LATE_MS 100

static const struct
{
  const char *words[3];
  const char *folder; /* where the nodes of a holder are */
  const char *name;   /* of them */
  gboolean has_command;
  gboolean has_try;
} verbs[] = {
  { { NULL }, "", "lock", TRUE, TRUE },
  { { "--verbose", "-x" }, "", "__WRIT__", TRUE, TRUE },
  { { "--verbose", "-N1" }, "/leases", "lease", TRUE, TRUE },
  { { "--hold" }, "", "lock", FALSE, TRUE },
  { { "wait" }, "", "lock", FALSE, TRUE },
  { { "revoke" }, "", "lock", FALSE, FALSE },
};

static const struct
{
  const char *words[2];
  int ms;
  gboolean is_try;
  gboolean is_of_connecting; /* no longer when connected */
} deadlines[] = {
  { { "-n", "--connect-timeout=2" }, 2000, TRUE },
  { { "-w0.5" }, 500 },
  { { "-w2" }, 2000 },
  { { "-w60", "--connect-timeout=1" }, 1000, .is_of_connecting = TRUE },
};

typedef enum
{
  REFUSES,
  SILENT,
  DROPS,
  TLS_SILENT,
  READ_ONLY,
  FALLS_SILENT, /* at a request */
  DIES,         /* and refuses from then on */
  N_WAYS
} Way;

static const struct
{
  const char *name;
  const char *cause;
  gboolean has_answered; /* a try is over at once */
  int n_requests;        /* at one of which it happens; 0: from the start on */
} ways[] = {
  [REFUSES] = { "refuses", "connection refused", TRUE },
  [SILENT] = { "says nothing", "accepts connections and does not answer" },
  [DROPS] = { "drops SYNs", "no answer to a connect" },
  [TLS_SILENT] = { "says nothing to TLS", "accepts connections and does not answer" },
  [READ_ONLY] = { "is read-only", "no quorum", TRUE },
  [FALLS_SILENT] = { "falls silent", "", FALSE, 4 },
  [DIES] = { "dies", "", FALSE, 4 },
};

typedef struct
{
  gsize verb;
  gsize deadline;
  Way way;
  int request; /* from 1 */

  Proxy *proxy;
  Cli *cli;
  gint64 began_ms;
  gint64 waited_us; /* for a processor */
  gint64 late_ms;   /* with the machine */
  gboolean is_over;
  gboolean is_bad;
} Cell;

/* What the servers of the cells are. */
typedef struct
{
  Fixture *fixture;
  Hosts *hosts; /* by their way */
  char *read_only;
} Servers;

static char *
address_of (const Servers *servers, Cell *cell)
{
  switch ((int) cell->way) {
  case TLS_SILENT:
    return g_strconcat ("tls://", hosts_address (servers->hosts, SILENT), NULL);
  case READ_ONLY:
    return g_strdup (servers->read_only);
  case FALLS_SILENT:
  case DIES:
    cell->proxy = proxy_new (fixture_server (servers->fixture));
    assert_non_null (cell->proxy);
    proxy_arm (cell->proxy, PROXY_ANY_REQUEST, cell->request, 1, PROXY_HOLE_BEFORE);
    return g_strdup (proxy_address (cell->proxy));
  default:
    return g_strdup (hosts_address (servers->hosts, cell->way));
  }
}

/* Somebody holds the lock who does not let go. */
static char *
make_held_path (const Cell *cell, RawZk *raw, gsize number)
{
  g_autofree char *path = g_strdup_printf ("/deadlines/%" G_GSIZE_FORMAT, number);
  g_autofree char *folder = g_strconcat (path, verbs[cell->verb].folder, NULL);
  g_autofree char *node =
      g_strdup_printf ("%s/_c_d291df34-2b8c-4a02-8f55-9a8ec1c0ffee-%s%s", folder,
                       verbs[cell->verb].name, *verbs[cell->verb].name == '_' ? "" : "-");

  raw_zk_create (raw, "/deadlines", "", ZOO_PERSISTENT, NULL);
  raw_zk_create (raw, path, "", ZOO_PERSISTENT, NULL);
  raw_zk_create (raw, folder, "", ZOO_PERSISTENT, NULL);
  assert_int_equal (raw_zk_create (raw, node, "", ZOO_EPHEMERAL_SEQUENTIAL, NULL), ZOK);
  return g_steal_pointer (&path);
}

static void
start_cell (const Servers *servers, Cell *cell, gsize number)
{
  const char *const *verb = verbs[cell->verb].words;
  const char *const *deadline = deadlines[cell->deadline].words;
  g_autofree char *address = address_of (servers, cell);
  g_autofree char *hosts = g_strconcat ("--hosts=", address, NULL);
  g_autofree char *path =
      cell->proxy != NULL ? make_held_path (cell, servers->fixture->raw, number) : g_strdup ("/p");

  cell->began_ms = wait_now_ms ();
  cell->cli =
      cli_start (ZKFLOCK, verb[0], verb[1], verb[2], hosts, "-E", G_STRINGIFY (CODE), deadline[0],
                 deadline[1], path, verbs[cell->verb].has_command ? "true" : NULL);
}

/* What it has taken, bound and lateness, when it is over. FALSE: it was late, or has said
 * something else. */
static gboolean
is_cell_good (Cell *cell, gint64 took_ms)
{
  const gboolean looks = g_strcmp0 (verbs[cell->verb].words[0], "revoke") == 0;
  const gboolean is_at_once = (ways[cell->way].has_answered && deadlines[cell->deadline].is_try)
                              || (cell->way == READ_ONLY && looks);
  const int bound_ms = is_at_once ? 0 : deadlines[cell->deadline].ms;
  const gint64 late_ms = (metronome_stalled_us (cell->began_ms * 1000) + cell->waited_us) / 1000;
  const gboolean is_midway = cell->proxy != NULL;
  cell->late_ms = late_ms;
  g_autofree char *err = cli_stderr (cell->cli);
  const int code = cell->cli->code;
  const gboolean is_late = took_ms > bound_ms + BOUND_MS + late_ms;
  /* Who has heard of the holder may tell of it. */
  const gboolean is_told = code == 69 ? strstr (err, ways[cell->way].cause) != NULL && *err != '\0'
                                      : code == CODE && is_midway && cell->request > 1;
  const gboolean is_early = !is_midway && !is_at_once && took_ms < bound_ms;

  if (is_late || is_early || !is_told || g_getenv ("CURATOR_TEST_VERBOSE") != NULL)
    print_message ("%s %s, a server that %s (%d): %d after %d ms, %d + %d ms allowed; %s\n",
                   verbs[cell->verb].words[0] != NULL ? verbs[cell->verb].words[0] : "lock",
                   deadlines[cell->deadline].words[0], ways[cell->way].name, cell->request, code,
                   (int) took_ms, bound_ms + BOUND_MS, (int) late_ms, err);
  return !is_late && !is_early && is_told;
}

static void
run_some (const Servers *servers, Cell *cells, gsize first, gsize n)
{
  for (gsize i = first; i < first + n; i++)
    start_cell (servers, &cells[i], i);
  for (gsize n_left = n; n_left > 0; g_usleep (LOOK_US)) {
    for (gsize i = first; i < first + n; i++) {
      Cell *cell = &cells[i];
      if (cell->is_over)
        continue;
      if (cell->way == DIES && proxy_fired (cell->proxy) > 0)
        proxy_set_mode (cell->proxy, PROXY_REFUSE);
      cell->waited_us = MAX (cell->waited_us, metronome_waited_us (cell->cli->pid));
      const gint64 took_ms = wait_now_ms () - cell->began_ms;
      if (cli_wait (cell->cli, took_ms > CLI_MS ? CLI_MS : 0) < 0)
        continue;
      cell->is_over = TRUE;
      n_left--;
      cell->is_bad = !is_cell_good (cell, took_ms);
    }
  }
  for (gsize i = first; i < first + n; i++) {
    g_clear_pointer (&cells[i].cli, cli_free);
    g_clear_pointer (&cells[i].proxy, proxy_free);
  }
}

static GArray *
make_cells (void)
{
  GArray *cells = g_array_new (FALSE, TRUE, sizeof (Cell));

  for (gsize verb = 0; verb < G_N_ELEMENTS (verbs); verb++)
    for (gsize deadline = 0; deadline < G_N_ELEMENTS (deadlines); deadline++)
      for (Way way = 0; way < N_WAYS; way++)
        for (int request = MIN (ways[way].n_requests, 1); request <= ways[way].n_requests;
             request++) {
          const Cell cell = { .verb = verb, .deadline = deadline, .way = way, .request = request };
          if ((verbs[verb].has_try || !deadlines[deadline].is_try)
              && (request == 0 || !deadlines[deadline].is_of_connecting)
              && (way != TLS_SILENT || HAS_TLS))
            g_array_append_val (cells, cell);
        }
  return cells;
}

/* A server that has lost its quorum and serves reads: it ends the connection of whoever wants
 * more. */
typedef struct
{
  char *address;
  int listener;
  GThread *thread;
  gint stopped; /* atomic */
} ReadOnly;

static gpointer
serve_reads (gpointer data)
{
  static const char answer[] =
      "Zookeeper version: 3.8.0, built on 2022\nLatency min/avg/max: 0/0/0\n"
      "Mode: read-only\nNode count: 5\n";
  ReadOnly *server = data;

  while (!g_atomic_int_get (&server->stopped)) {
    struct pollfd wanted = { .fd = server->listener, .events = POLLIN };
    const int fd = poll (&wanted, 1, 50) > 0 ? accept (server->listener, NULL, NULL) : -1;
    char word[4] = "";
    if (fd >= 0 && recv (fd, word, 4, MSG_WAITALL) == 4 && memcmp (word, "srvr", 4) == 0)
      (void) !send (fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
    if (fd >= 0)
      close (fd);
  }
  return NULL;
}

static void
start_read_only (ReadOnly *server)
{
  server->listener = cli_listen (&server->address);
  server->thread = g_thread_new ("reads", serve_reads, server);
}

static void
stop_read_only (ReadOnly *server)
{
  g_atomic_int_set (&server->stopped, TRUE);
  g_thread_join (server->thread);
  close (server->listener);
  g_free (server->address);
}

TEST (p17_every_run_ends_by_its_deadline)
{
  g_autoptr (GArray) cells = make_cells ();
  g_autoptr (Hosts) hosts = hosts_new (fixture_server (fixture), 3, FALSE);
  ReadOnly read_only = { 0 };
  guint n_bad = 0;

  hosts_set (hosts, REFUSES, HOST_REFUSES);
  hosts_set (hosts, SILENT, HOST_SILENT);
  hosts_set (hosts, DROPS, HOST_DROPS);
  start_read_only (&read_only);
  const Servers servers = { fixture, hosts, read_only.address };
  for (gsize i = 0; i < cells->len; i += AT_ONCE)
    run_some (&servers, (Cell *) cells->data, i, MIN (AT_ONCE, cells->len - i));
  for (gsize i = 0; i < cells->len; i++) {
    Cell *cell = &g_array_index (cells, Cell, i);
    if (cell->is_bad && cell->late_ms >= LATE_MS) {
      print_message ("the machine was %d ms late: again, alone\n", (int) cell->late_ms);
      cell->is_over = FALSE;
      cell->waited_us = 0;
      run_some (&servers, (Cell *) cells->data, i, 1);
    }
    n_bad += cell->is_bad;
  }
  stop_read_only (&read_only);
  print_message ("%u runs, %u of them late or without a cause\n", cells->len, n_bad);
  assert_int_equal (n_bad, 0);
}

/* An election does not take that long: who only looks is told at once, who locks or waits goes on
 * until its time to connect is over. */
TEST (a_server_without_a_quorum_is_told_at_once)
{
  static const char *const words[][2] = {
    { "who", "/p" },    { "tree", NULL }, { "top", NULL },
    { "doctor", NULL }, { "reap", "/p" }, { "revoke", "/p" }
  };
  ReadOnly read_only = { 0 };

  start_read_only (&read_only);
  g_autoptr (Cli) locks = cli_zkflock (read_only.address, "--connect-timeout=600", "/p", "true");
  g_autoptr (Cli) waits = cli_zkflock (read_only.address, "--connect-timeout=600", "wait", "/p");
  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    cli_fails_with_line (read_only.address, 69, ": no quorum", "--connect-timeout=600", words[i][0],
                         words[i][1]);
  assert_int_equal (cli_wait (locks, 0), -1);
  assert_int_equal (cli_wait (waits, 0), -1);
  stop_read_only (&read_only);
}

static int
start (void **state)
{
  metronome_start ();
  return fixture_start_slow (state);
}

SUITE ("deadlines", start, fixture_stop)
