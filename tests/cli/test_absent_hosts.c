/* Some of the servers are away, each in one of many ways, and a quorum serves: a client is
 * connected within a second, what the connection takes when all are there, and 250 ms for each that
 * is away, whatever the session timeout. On a handle of the program's it is 2/3 of the session
 * timeout for each, or never.
 *
 * The cells are generated. CURATOR_TEST_CELLS=all runs each of them, and prints the table of
 * docs/operations.md; otherwise one in STRIDE. The bound is for a machine and a server that are
 * never late, so what the metronome and a connection of its own have seen is added, and what the
 * threads of zkflock have waited for a processor; and what was over the bound on a machine that was
 * late is measured once more, alone.
 */
#define SUITE_FIXTURE void *no_fixture
#define SUITE_SETUP   NULL
#include "cli.h"

#include "integration/program.h"
#include "integration/secured/secured.h"
#include "support/hosts.h"
#include "support/metronome.h"
#include "support/raw_zk.h"

#include <curator/zookeeper.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRIDE     11
#define N_AT_ONCE  6
#define ASKED_MS   60000 /* session timeout */
#define N_JOBS     200
#define N_WARM     20
#define BOUND_US   G_USEC_PER_SEC
#define ADDRESS_US (250 * 1000)
/* Of a handle of the program's. */
#define OWN_MS 4000
#define OWN_US (OWN_MS * 2 / 3 * 1000)
/* Of what never ends so much is waited for. */
#define NEVER_MS (3 * OWN_MS)
#define NEVER_US G_MAXINT64
/* What a machine that is so late measures counts for nothing, but once. */
#define LATE_US (20 * 1000)
#define ASK_US  (10 * 1000)
#define LOOK_US (10 * 1000)

typedef enum
{
  WAY_REFUSES,
  WAY_DROPS,
  WAY_SILENT,
  WAY_CLOSES,
  WAY_LATE,
  WAY_HALF,
  WAY_NO_NAME,
  WAY_LATE_NAME,
  WAY_TWO_ADDRESSES,
  N_WAYS
} Way;

static const struct
{
  const char *name;
  HostWay host; /* of the host behind it */
} ways[] = {
  [WAY_REFUSES] = { "refuses", HOST_REFUSES },
  [WAY_DROPS] = { "drops SYNs", HOST_DROPS },
  [WAY_SILENT] = { "accepts and says nothing", HOST_SILENT },
  [WAY_CLOSES] = { "accepts and closes", HOST_CLOSES },
  [WAY_LATE] = { "answers the session late", HOST_LATE },
  [WAY_HALF] = { "half of a TLS handshake", HOST_HALF },
  [WAY_NO_NAME] = { "its name does not resolve", HOST_SERVES },
  [WAY_LATE_NAME] = { "its name resolves late", HOST_SERVES },
  [WAY_TWO_ADDRESSES] = { "its name has a second address, which drops SYNs", HOST_SERVES },
};

typedef enum
{
  WHEN_FIRST,
  WHEN_LOST,
  WHEN_UPDATED,
  WHEN_UPDATED_EARLY, /* before it was ever connected */
  N_WHENS
} When;

static const char *const whens[] = { "first", "loss", "update", "update, unconnected" };

typedef enum
{
  CLEAR,
  OVER_TLS,
  OVER_SASL,
  N_SECURITIES
} Security;

static const char *const securities[] = { "clear", "TLS", "SASL" };

typedef enum
{
  LIBRARY,
  ADOPTED,
  PLAIN,
  WAITS,
  NONBLOCK,
  N_USERS
} User;

static const char *const users[] = { "library", "adopted", "zkflock", "zkflock -w", "zkflock -n" };

/* The columns of the table. */
static const struct
{
  User first;
  User last;
  const char *name;
} columns[] = { { LIBRARY, LIBRARY, "" },
                { PLAIN, NONBLOCK, "zkflock" },
                { ADOPTED, ADOPTED, "handle" } };

typedef struct
{
  Way way;
  guint n;
  guint n_away;
  When when;
  Security security;
  User user;
  gboolean is_twice; /* the list also has an address of a name that has two, for an odd number */

  zhandle_t *zh;  /* of the program's, with the client */
  gint64 took_us; /* -1: not connected */
  gint64 limit_us;
  gint64 late_us; /* the machine, at most */
  char *error;
} Cell;

static Secured *secured;

/* Hosts of a cell: those of the list, the one of the list before, and second addresses. */
#define OLD(cell)       ((cell)->n)
#define SECOND(cell, i) ((cell)->n + 1 + (i))
#define N_HOSTS(cell)   (2 * (cell)->n + 1)

static gboolean
is_name (Way way)
{
  return way >= WAY_NO_NAME;
}

static char *
dashes (const char *address)
{
  g_auto (GStrv) parts = g_strsplit (address, ":", 2);
  return g_strdelimit (g_strdup (parts[0]), ".", '-');
}

/* What the list says of a host that is away. */
static char *
entry_of (const Cell *cell, Hosts *hosts, guint i)
{
  const char *address = hosts_address (hosts, i);
  g_autofree char *own = dashes (address);
  g_autofree char *second = dashes (hosts_address (hosts, SECOND (cell, i)));
  const char *port = strchr (address, ':');

  switch ((int) cell->way) {
  case WAY_NO_NAME:
    return g_strconcat ("none.absent", port, NULL);
  case WAY_LATE_NAME:
    return g_strconcat ("late-", own, ".absent", port, NULL);
  case WAY_TWO_ADDRESSES:
    return g_strconcat ("two-", second, "-", own, ".absent", port, cell->is_twice ? "," : "",
                        cell->is_twice ? address : "", NULL);
  default:
    return g_strdup (address);
  }
}

/* is_away: as the cell says; otherwise all are there, by their numbers. */
static char *
list_of (const Cell *cell, Hosts *hosts, gboolean is_away)
{
  GString *list = g_string_new (NULL);

  for (guint i = 0; i < cell->n; i++) {
    g_autofree char *entry = is_away && i < cell->n_away ? entry_of (cell, hosts, i)
                                                         : g_strdup (hosts_address (hosts, i));
    g_string_append_printf (list, "%s%s", i > 0 ? "," : "", entry);
  }
  return g_string_free (list, FALSE);
}

/* first: of those that go away. */
static void
send_away (const Cell *cell, Hosts *hosts, guint first)
{
  for (guint i = 0; i < cell->n_away; i++) {
    hosts_set (hosts, (first + i) % cell->n, ways[cell->way].host);
    if (cell->way == WAY_TWO_ADDRESSES)
      hosts_set (hosts, SECOND (cell, i), HOST_DROPS);
  }
}

/* The server of the client, and as many others as the cell says. Returns when. */
static gint64
lose_server (const Cell *cell, Hosts *hosts)
{
  const int used = hosts_find_connected (hosts);
  const gint64 began_us = g_get_monotonic_time ();

  if (!is_name (cell->way))
    send_away (cell, hosts, (guint) used);
  hosts_cut (hosts, (guint) used);
  return began_us;
}

/* Outside a test's own thread cmocka asserts nothing. */
static void
fail_cell (Cell *cell, const char *why)
{
  cell->took_us = -1;
  cell->error = cell->error != NULL ? cell->error : g_strdup (why);
}

static void
ignore_log (const char *line)
{
}

static void
forward (zhandle_t *zh, int type, int state, const char *path, void *client)
{
  curator_client_forward_event (client, zh, type, state, path);
}

/* In place of the one before. */
static gboolean
use_handle (Cell *cell, CuratorClient *client, const char *list, GError **error)
{
  zhandle_t *before = cell->zh;
  cell->zh =
      zookeeper_init2 (list, forward, OWN_MS, NULL, client, ZOO_NO_LOG_CLIENTENV, ignore_log);
  const gboolean is_used = curator_client_set_zhandle (client, cell->zh, error);
  if (before != NULL)
    zookeeper_close (before);
  return is_used;
}

static void
end_client (Cell *cell, CuratorClient *client)
{
  curator_client_close (client);
  if (cell->zh != NULL)
    zookeeper_close (g_steal_pointer (&cell->zh));
}

static CuratorClient *
start_client (Cell *cell, const char *list)
{
  g_autoptr (GError) error = NULL;
  const gboolean is_own = cell->user == ADOPTED;
  CuratorClient *client =
      is_own ? curator_client_new_for_zhandle (NULL, NULL) : curator_client_new (list, NULL);
  gboolean is_good = !is_own || use_handle (cell, client, list, &error);

  curator_client_set_session_timeout (client, ASKED_MS);
  curator_client_set_connection_timeout (client, cell->when == WHEN_UPDATED_EARLY ? 300 : ASKED_MS);
  if (cell->security == OVER_TLS) {
    g_autoptr (CuratorTls) tls = secured_tls (secured);
    curator_tls_set_server_name (tls, "zk.test");
    is_good = curator_client_set_tls (client, tls, &error);
  }
  if (cell->security == OVER_SASL)
    is_good = curator_client_set_sasl_digest (client, SASL_USER, SASL_PASSWORD, &error);
  if (!is_good || !curator_client_start (client, &error))
    fail_cell (cell, error->message);
  return client;
}

static void
connect_first (Cell *cell, const char *list)
{
  g_autoptr (GError) error = NULL;
  const gint64 began_us = g_get_monotonic_time ();
  g_autoptr (CuratorClient) client = start_client (cell, list);

  if (curator_client_block_until_connected (client, LONG_MS, NULL, &error))
    cell->took_us = g_get_monotonic_time () - began_us;
  else
    fail_cell (cell, error->message);
  end_client (cell, client);
}

/* libzookeeper tries every second address after a loss: of an even number always the same ones
 * (ZOOKEEPER-2466). Of two it is the other one than it has lost first. */
static gboolean
ends_never (const Cell *cell)
{
  return cell->user == ADOPTED && cell->when == WHEN_LOST && cell->way == WAY_TWO_ADDRESSES
         && cell->n == 1 && !cell->is_twice;
}

/* Until the client is there again, or for the first time, from since_us on. */
static void
wait_state (Cell *cell, StateLog *log, CuratorConnectionState state, gint64 since_us)
{
  if (state_log_wait (log, state, 1, ends_never (cell) ? NEVER_MS : LONG_MS))
    cell->took_us = g_get_monotonic_time () - since_us;
  else if (ends_never (cell))
    cell->took_us = NEVER_US;
  else
    fail_cell (cell, "not connected");
}

static void
connect_again (Cell *cell, Hosts *hosts, const char *list)
{
  g_autoptr (CuratorClient) client = start_client (cell, list);
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (GError) error = NULL;

  if (curator_client_block_until_connected (client, LONG_MS, NULL, &error))
    wait_state (cell, log, CURATOR_CONNECTION_STATE_RECONNECTED, lose_server (cell, hosts));
  else
    fail_cell (cell, error->message);
  end_client (cell, client);
}

static void
update (Cell *cell, Hosts *hosts, const char *list)
{
  const gboolean is_early = cell->when == WHEN_UPDATED_EARLY;
  if (is_early)
    hosts_set (hosts, OLD (cell), HOST_DROPS);
  g_autoptr (CuratorClient) client = start_client (cell, hosts_address (hosts, OLD (cell)));
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (GError) error = NULL;

  if (!state_log_wait (
          log, is_early ? CURATOR_CONNECTION_STATE_SUSPENDED : CURATOR_CONNECTION_STATE_CONNECTED,
          1, LONG_MS))
    fail_cell (cell, "the list before");
  const gint64 began_us = g_get_monotonic_time ();
  if (!(cell->user == ADOPTED ? use_handle (cell, client, list, &error)
                              : curator_client_update_servers (client, list, &error)))
    fail_cell (cell, error->message);
  if (cell->way == WAY_LATE_NAME && !is_early) {
    /* While it waits for an address it stays where it is. */
    cell->took_us = state_log_count (log, CURATOR_CONNECTION_STATE_SUSPENDED) == 0 ? 0 : -1;
  } else {
    wait_state (cell, log,
                is_early ? CURATOR_CONNECTION_STATE_CONNECTED
                         : CURATOR_CONNECTION_STATE_RECONNECTED,
                began_us);
  }
  end_client (cell, client);
}

/* By posix_spawn (): fork () would wait for the look-ups of the other cells. fd is its input and
 * output. 0: it cannot be started. */
static GPid
spawn (int fd, const char *const *words, gsize n)
{
  g_auto (GStrv) environment =
      g_environ_setenv (g_get_environ (), "LD_PRELOAD", ABSENT_NAMES, TRUE);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  GPid pid = 0;

  for (gsize i = 0; i < n; i++)
    if (words[i] != NULL)
      g_ptr_array_add (argv, (gpointer) words[i]);
  g_ptr_array_add (argv, NULL);
  g_spawn_async_with_fds (NULL, (char **) argv->pdata, environment,
                          G_SPAWN_LEAVE_DESCRIPTORS_OPEN | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                          &pid, fd, fd, -1, NULL);
  return pid;
}

/* The lock is held while the command runs. */
static GPid
spawn_zkflock (const Cell *cell, const char *list, const char *command, int fd)
{
  static gint n_runs; /* atomic */
  const gboolean is_tls = cell->security == OVER_TLS;
  const gboolean is_sasl = cell->security == OVER_SASL;
  g_autofree char *hosts = g_strconcat ("--hosts=", list, NULL);
  g_autofree char *ca = g_strconcat ("--tls-ca=", secured_file (secured, "ca.pem"), NULL);
  g_autofree char *cert = g_strconcat ("--tls-cert=", secured_file (secured, "client.pem"), NULL);
  g_autofree char *key = g_strconcat ("--tls-key=", secured_file (secured, "client.key"), NULL);
  g_autofree char *password =
      g_strconcat ("--sasl-password-file=", secured_file (secured, "password"), NULL);
  g_autofree char *path = g_strdup_printf ("/absent/%d", g_atomic_int_add (&n_runs, 1));
  const char *option = cell->user == WAITS ? "--timeout=60" : cell->user == NONBLOCK ? "-n" : NULL;

  return spawn (fd, CLI_WORDS (ZKFLOCK, hosts, "--session-timeout=60", is_tls ? ca : NULL,
                               is_tls ? cert : NULL, is_tls ? key : NULL,
                               is_tls ? "--tls-server-name=zk.test" : NULL,
                               is_sasl ? "--sasl=digest" : NULL,
                               is_sasl ? "--sasl-user=" SASL_USER : NULL, is_sasl ? password : NULL,
                               option, path, command));
}

/* Its threads may have waited for a processor while the metronome had one. They tell that as long as
 * they live. */
static gboolean
has_succeeded (Cell *cell, GPid pid)
{
  siginfo_t end = { 0 };
  gint64 waited_us = 0;
  int status = -1;

  while (waitid (P_PID, (id_t) pid, &end, WEXITED | WNOWAIT | WNOHANG) == 0 && end.si_pid == 0) {
    waited_us = MAX (waited_us, metronome_waited_us (pid));
    g_usleep (LOOK_US);
  }
  cell->late_us += waited_us;
  return waitpid (pid, &status, 0) == pid && status == 0;
}

static void
run_zkflock (Cell *cell, const char *list)
{
  const gint64 began_us = g_get_monotonic_time ();
  const GPid pid = spawn_zkflock (cell, list, "true", -1);

  if (pid != 0 && has_succeeded (cell, pid))
    cell->took_us = g_get_monotonic_time () - began_us;
  else
    fail_cell (cell, "zkflock has failed");
}

/* The command echoes a byte once it runs. Connected is who has been answered, on the wire. */
static void
lose_zkflock (Cell *cell, Hosts *hosts, const char *list)
{
  int both[2]; /* ours, and the command's */
  char byte = 'x';
  const gboolean is_open = socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0;
  const GPid pid = is_open ? spawn_zkflock (cell, list, "cat", both[1]) : 0;

  close (both[1]);
  if (pid == 0 || write (both[0], &byte, 1) != 1 || read (both[0], &byte, 1) != 1) {
    fail_cell (cell, "no command");
  } else {
    const gint64 began_us = lose_server (cell, hosts);
    while (hosts_find_connected (hosts) < 0 && cell->took_us < LONG_MS * 1000) {
      g_usleep (1000);
      cell->took_us = g_get_monotonic_time () - began_us;
    }
  }
  shutdown (both[0], SHUT_WR);
  if (pid != 0 && !has_succeeded (cell, pid))
    fail_cell (cell, "zkflock has failed");
  close (both[0]);
}

/* What it takes when all are there. */
static gint64
measure_whole (Cell *cell, Hosts *hosts)
{
  Cell whole = *cell;
  g_autofree char *list = list_of (cell, hosts, FALSE);

  (cell->user < PLAIN ? connect_first : run_zkflock) (&whole, list);
  if (whole.took_us < 0) {
    fail_cell (cell, whole.error);
    g_free (whole.error);
  }
  return whole.took_us;
}

static Hosts *
hosts_of (const Cell *cell)
{
  return hosts_new (cell->security == OVER_TLS ? secured->address
                                               : zk_server_address (secured->server),
                    N_HOSTS (cell), cell->security == OVER_TLS);
}

/* The server is the same for all cells: how long its slow answers took, and the one under way. */
static gint64 slow_us;  /* atomic */
static gint64 asked_us; /* atomic */

static void *
ask_server (void *raw)
{
  for (;;) {
    const gint64 began_us = g_get_monotonic_time ();
    __atomic_store_n (&asked_us, began_us, __ATOMIC_SEQ_CST);
    raw_zk_set (raw, "/zookeeper", "");
    const gint64 ended_us = g_get_monotonic_time ();
    __atomic_store_n (&asked_us, ended_us, __ATOMIC_SEQ_CST);
    if (ended_us - began_us >= LATE_US)
      __atomic_add_fetch (&slow_us, ended_us - began_us, __ATOMIC_SEQ_CST);
    g_usleep (ASK_US);
  }
  return NULL;
}

static gint64
server_late_us (void)
{
  const gint64 waits_us = g_get_monotonic_time () - __atomic_load_n (&asked_us, __ATOMIC_SEQ_CST);
  return __atomic_load_n (&slow_us, __ATOMIC_SEQ_CST) + (waits_us >= LATE_US ? waits_us : 0);
}

static void
run_cell (Cell *cell)
{
  g_clear_pointer (&cell->error, g_free);
  cell->took_us = 0;
  cell->late_us = 0;
  Hosts *hosts = hosts_of (cell);
  g_autofree char *list = list_of (cell, hosts, TRUE);
  const gint64 whole_us = measure_whole (cell, hosts);
  const guint n_dead = cell->n_away + (cell->when == WHEN_UPDATED_EARLY ? 1 : 0);
  const gint64 began_us = g_get_monotonic_time ();
  const gint64 late_before_us = server_late_us ();

  if (cell->when != WHEN_LOST || is_name (cell->way))
    send_away (cell, hosts, 0);
  if (cell->error != NULL)
    ;
  else if (cell->user >= PLAIN && cell->when == WHEN_LOST)
    lose_zkflock (cell, hosts, list);
  else if (cell->user >= PLAIN)
    run_zkflock (cell, list);
  else if (cell->when == WHEN_FIRST)
    connect_first (cell, list);
  else if (cell->when == WHEN_LOST)
    connect_again (cell, hosts, list);
  else
    update (cell, hosts, list);
  cell->late_us += metronome_stalled_us (began_us) + server_late_us () - late_before_us;
  cell->limit_us =
      whole_us + BOUND_US + n_dead * (cell->user == ADOPTED ? OWN_US : ADDRESS_US) + cell->late_us;
  hosts_free (hosts);
}

/* libzookeeper waits for the names of the program's handle, and its TLS is not ours. The servers of
 * a zkflock stay those of its start. */
static gboolean
is_possible (const Cell *cell)
{
  return (cell->way != WAY_HALF || cell->security == OVER_TLS)
         && (cell->user != ADOPTED
             || (cell->security == CLEAR
                 && (!is_name (cell->way) || cell->way == WAY_TWO_ADDRESSES)))
         && (cell->user < PLAIN || cell->when == WHEN_FIRST || cell->when == WHEN_LOST)
         && (cell->n > 1 || cell->way == WAY_TWO_ADDRESSES);
}

/* Servers, and how many of them are away. */
static const guint counts[][2] = { { 1, 1 }, { 3, 1 }, { 5, 1 }, { 5, 2 } };

static guint
take (guint *number, guint n)
{
  const guint digit = *number % n;
  *number /= n;
  return digit;
}

static GArray *
make_cells (void)
{
  GArray *cells = g_array_new (FALSE, TRUE, sizeof (Cell));

  for (guint i = 0; i < N_WAYS * G_N_ELEMENTS (counts) * N_WHENS * N_SECURITIES * N_USERS; i++) {
    guint rest = i;
    Cell cell = { .user = take (&rest, N_USERS) };
    cell.when = take (&rest, N_WHENS);
    cell.security = take (&rest, N_SECURITIES);
    const guint *count = counts[take (&rest, G_N_ELEMENTS (counts))];
    cell.n = count[0];
    cell.n_away = count[1];
    cell.way = rest;
    if (is_possible (&cell))
      g_array_append_val (cells, cell);
  }
  return cells;
}

static gboolean
is_over (const Cell *cell)
{
  return ends_never (cell) ? cell->took_us != NEVER_US
                           : cell->took_us < 0 || cell->took_us > cell->limit_us;
}

static void
print_cell (const Cell *cell)
{
  print_message (
      "%s: %u of %u, %s, %s, %s: %" G_GINT64_FORMAT " ms, bound %" G_GINT64_FORMAT " ms %s\n",
      ways[cell->way].name, cell->n_away, cell->n, whens[cell->when], securities[cell->security],
      users[cell->user], cell->took_us == NEVER_US ? -1 : cell->took_us / 1000,
      cell->limit_us / 1000, cell->error != NULL ? cell->error : "");
}

/* The longest time of these cells in ms, and their number; "": there are none. */
static char *
worst_of (const GArray *cells, Way way, guint count, guint column)
{
  gint64 worst_us = 0;
  guint n = 0;

  for (guint i = 0; i < cells->len; i++) {
    const Cell *cell = &g_array_index (cells, Cell, i);
    if (cell->way == way && cell->n == counts[count][0] && cell->n_away == counts[count][1]
        && cell->user >= columns[column].first && cell->user <= columns[column].last) {
      worst_us = MAX (worst_us, cell->took_us);
      n++;
    }
  }
  return n == 0                 ? g_strdup ("")
         : worst_us == NEVER_US ? g_strdup_printf ("never (%u)", n)
                                : g_strdup_printf ("%" G_GINT64_FORMAT " (%u)", worst_us / 1000, n);
}

/* For docs/operations.md. */
static void
print_table (const GArray *cells)
{
  print_message ("| a server that is away |");
  for (guint count = 0; count < G_N_ELEMENTS (counts); count++)
    for (guint column = 0; column < G_N_ELEMENTS (columns); column++)
      print_message (" %u of %u%s%s |", counts[count][1], counts[count][0], column > 0 ? ", " : "",
                     columns[column].name);
  print_message ("\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (guint way = 0; way < N_WAYS; way++) {
    print_message ("| %s |", ways[way].name);
    for (guint i = 0; i < G_N_ELEMENTS (columns) * G_N_ELEMENTS (counts); i++) {
      g_autofree char *worst =
          worst_of (cells, (Way) way, i / G_N_ELEMENTS (columns), i % G_N_ELEMENTS (columns));
      print_message (" %s |", worst);
    }
    print_message ("\n");
  }
}

static gboolean
runs_all (void)
{
  return g_strcmp0 (g_getenv ("CURATOR_TEST_CELLS"), "all") == 0;
}

typedef struct
{
  const GArray *cells;
  guint stride;
  gint next; /* atomic */
} Round;

static void *
run_some (void *data)
{
  Round *round = data;
  const gint stride = (gint) round->stride;

  for (guint i; (i = (guint) g_atomic_int_add (&round->next, stride)) < round->cells->len;)
    run_cell (&g_array_index (round->cells, Cell, i));
  return NULL;
}

/* One cell in stride. */
static void
run_cells (const GArray *cells, guint stride)
{
  Round round = { cells, stride, 0 };
  pthread_t threads[N_AT_ONCE];
  guint n_run = 0;
  guint n_over = 0;

  for (guint i = 0; i < N_AT_ONCE; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, run_some, &round), 0);
  for (guint i = 0; i < N_AT_ONCE; i++)
    pthread_join (threads[i], NULL);
  for (guint i = 0; i < cells->len; i += stride) {
    Cell *cell = &g_array_index (cells, Cell, i);
    n_run++;
    if (is_over (cell) && cell->late_us >= LATE_US) {
      print_cell (cell);
      print_message ("the machine was %" G_GINT64_FORMAT " ms late: again, alone\n",
                     cell->late_us / 1000);
      run_cell (cell);
    }
    n_over += is_over (cell) ? 1 : 0;
    if (is_over (cell) || g_getenv ("CURATOR_TEST_VERBOSE") != NULL)
      print_cell (cell);
  }
  print_message ("%u of %u cells, %u over the bound\n", n_run, cells->len, n_over);
  assert_int_equal (n_over, 0);
}

TEST (test_absent_hosts)
{
  g_autoptr (GArray) cells = make_cells ();

  run_cells (cells, runs_all () ? 1 : STRIDE);
  if (runs_all ())
    print_table (cells);
}

/* As a cron job meets it. */
TEST (test_one_of_three_drops)
{
  g_autoptr (GArray) cells = g_array_new (FALSE, TRUE, sizeof (Cell));
  const Cell cell = { .way = WAY_DROPS, .n = 3, .n_away = 1, .user = WAITS };

  for (guint i = 0; i < (runs_all () ? N_JOBS : N_JOBS / STRIDE); i++)
    g_array_append_val (cells, cell);
  run_cells (cells, 1);
}

/* On a handle of the program's. */
TEST (test_even_number_of_addresses)
{
  g_autoptr (GArray) cells = g_array_new (FALSE, TRUE, sizeof (Cell));

  for (guint i = 0; i < N_AT_ONCE; i++) {
    const Cell cell = { .way = WAY_TWO_ADDRESSES,
                        .n = 1,
                        .n_away = 1,
                        .when = WHEN_LOST,
                        .user = ADOPTED,
                        .is_twice = i % 2 != 0 };
    g_array_append_val (cells, cell);
  }
  run_cells (cells, 1);
}

/* The first connections of a server take seconds. */
static void
warm_up (void)
{
  for (int i = 0; i < N_SECURITIES * N_WARM; i++) {
    Cell cell = { .n = 1, .security = i % N_SECURITIES };
    Hosts *hosts = hosts_of (&cell);
    measure_whole (&cell, hosts);
    hosts_free (hosts);
    g_free (cell.error);
  }
}

static int
start (void **state)
{
  metronome_start ();
  if (secured_start (state) != 0)
    return -1;
  secured = *state;
  const char *password = secured_file (secured, "password");
  if (!g_file_set_contents (password, SASL_PASSWORD "\n", -1, NULL)
      || g_chmod (password, 0600) != 0)
    return -1;
  warm_up ();
  pthread_t thread;
  return pthread_create (&thread, NULL, ask_server,
                         raw_zk_open (zk_server_address (secured->server)));
}

SUITE ("absent_hosts", start, secured_stop)
