/* The C side of scripts/matrix: one server, or an ensemble, and one Java Curator.
 *
 *   matrix_cell [--acquisitions N] cell CURATOR      a standalone server
 *   matrix_cell [--acquisitions N] ensemble CURATOR  three servers
 *   matrix_cell latch CURATOR                        three servers that lose their quorum
 *   matrix_cell acl                                  a standalone server; locks with ACLs, in C only
 *   matrix_cell upgrade NEW-CLASS-PATH NEW-VERSION   three servers, replaced one by one under held locks
 *   matrix_cell hold SERVERS PATH                    acquires a lock of each kind below the path, for kill -9
 *
 * CURATOR: the version, as "5.9.0". The jars of the server and of the peer come from the
 * environment: CURATOR_TEST_ZOOKEEPER_CLASSPATH and CURATOR_TEST_PEER_CLASSPATH. Prints a line for
 * each scenario:
 *
 *   COLUMN SUBJECT good|known|failed TEXT
 */
#include "cell.h"

#include "support/four_letter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPGRADE_TICK_MS    2000
#define UPGRADE_SESSION_MS 40000

static gboolean all_good = TRUE;

/* Takes problem. */
static void
report_as (const char *column, const char *subject, const char *verdict, char *problem)
{
  printf ("%s %s %s %s\n", column, subject, problem != NULL ? "failed" : verdict,
          problem != NULL ? g_strdelimit (problem, "\n", ' ') : "");
  fflush (stdout);
  all_good = all_good && problem == NULL;
  g_free (problem);
}

static void
report (const char *column, const char *subject, char *problem)
{
  report_as (column, subject, "good", problem);
}

/* "5.9.0" is at least 5.8. */
static gboolean
is_at_least (const char *version, int major, int minor)
{
  int have_major = 0;
  int have_minor = 0;
  sscanf (version, "%d.%d", &have_major, &have_minor);
  return have_major > major || (have_major == major && have_minor >= minor);
}

static void
contend (Cell *cell, const char *column)
{
  static const char *const recipes[] = { "mutex", "semmutex", "semaphore:3", "rw", "multi" };
  for (gsize i = 0; i < G_N_ELEMENTS (recipes); i++)
    report (column, recipes[i], cell_contend (cell, recipes[i]));
}

static void
revoke_all (Cell *cell, const char *column)
{
  report (column, "revoke-mutex", cell_revoke (cell, "mutex"));
  report (column, "revoke-read", cell_revoke (cell, "read"));
  report (column, "revoke-write", cell_revoke (cell, "write"));
}

static gboolean
open_cell (Cell *cell, int session_ms, int peer_session_ms)
{
  const gboolean is_open = cell_open (cell, session_ms, peer_session_ms);
  if (!is_open)
    report ("start", "peers", g_strdup ("a client does not connect"));
  return is_open;
}

static void
run_peers (Cell *cell, const char *curator)
{
  for (int i = 0; i < CELL_PAIRS; i++)
    report ("timed", cell_pairs[i][0], cell_time_out (cell, cell_pairs[i][0], cell_pairs[i][1]));
  report ("killed", "java", cell_kill_java (cell));
  report ("killed", "c", cell_kill_c (cell));
  report ("downgrade", "c", cell_downgrade_in_c (cell));
  report_as ("downgrade", "java", is_at_least (curator, 5, 5) ? "good" : "known",
             cell_downgrade_in_java (cell));
  revoke_all (cell, "revocation");
  report ("count", "values", cell_count (cell));
}

static void
run_cell (Cell *cell, ZkEnsemble *three, char **words)
{
  const char *curator = words[0];
  cell->downgrade_is_overtaken = !is_at_least (curator, 5, 5);
  if (open_cell (cell, SESSION_MS, SESSION_MS)) {
    contend (cell, "contention");
    report ("downgrade", "contest", cell_contend (cell, "downgrade"));
    report ("count", "counted", cell_contend (cell, "counted:/counted-by"));
    run_peers (cell, curator);
  }
  cell_close (cell);
  cell->compression = TRUE;
  if (is_at_least (curator, 5, 8) && open_cell (cell, SESSION_MS, SESSION_MS)) {
    contend (cell, "compression");
    revoke_all (cell, "compression");
    report ("compression", "count", cell_count (cell));
  }
}

/* Curator has mended CURATOR-696 in 5.7.0. */
static void
latch (Cell *cell, ZkEnsemble *three, char **words)
{
  gboolean leads_beside = FALSE;
  if (!open_cell (cell, SESSION_MS, KILLED_MS))
    return;
  char *problem = cell_latch (cell, three, &leads_beside);
  if (problem == NULL && leads_beside && is_at_least (words[0], 5, 7))
    problem = cell_wrong (cell, "it follows", NULL);
  report_as ("latch", "java", leads_beside ? "known" : "good", problem);
}

static void
acl (Cell *cell, ZkEnsemble *three, char **words)
{
  cell->raw = raw_zk_open (cell->servers);
  report ("creator", "mutex", cell_acl_creator (cell));
  report ("group", "mutex", cell_acl_group (cell));
  report ("stranger", "mutex", cell_acl_stranger (cell));
}

/* Restarts one server with the new jars; its data stays. It says its version itself. */
static char *
replace (ZkEnsemble *three, int i, const char *version)
{
  ZkServer *server = zk_ensemble_server (three, i);
  zk_server_kill (server);
  zk_server_change_jars (server);
  if (!zk_server_relaunch (server) || !zk_ensemble_wait_whole (three, LONG_MS))
    return g_strdup ("the ensemble is not whole");
  g_autofree char *wanted = g_strdup_printf ("version: %s-", version);
  g_autofree char *answer = four_letter (zk_server_address (server), "srvr", LONG_MS);
  return answer != NULL && strstr (answer, wanted) != NULL
             ? NULL
             : g_strdup_printf ("not \"%s\": %s", wanted, answer);
}

typedef struct
{
  Cell *cell;
  CuratorLease *lease;
  gint64 session;
} Held;

/* C holds one lock and Java another; each waits for the other's. */
static char *
hold_both (Held *held)
{
  Cell *cell = held->cell;
  g_autoptr (GError) error = NULL;
  held->lease = cell_take (cell->client, "mutex", "/upgrade/c", LONG_MS, &error);
  CELL_CHECK (held->lease != NULL, error);
  held->session = curator_client_get_session_id (cell->client);
  peer_tell (cell->peer, "acquire holder mutex /upgrade/java -1");
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "ACQUIRED holder"), NULL);
  peer_tell (cell->peer, "acquire waiter mutex /upgrade/c -1");
  CELL_CHECK (raw_zk_wait_children (cell->raw, "/upgrade/c", 2, LONG_MS), NULL);
  return NULL;
}

static char *
still_held (Held *held)
{
  Cell *cell = held->cell;
  CELL_CHECK (
      holds_within (curator_lease_get_state (held->lease) == CURATOR_LEASE_STATE_HELD, LONG_MS),
      NULL);
  CELL_CHECK (curator_client_get_session_id (cell->client) == held->session, NULL);
  CELL_CHECK (!peer_has (cell->peer, "ACQUIRED waiter"), NULL);
  CELL_CHECK (!peer_has (cell->peer, "STATE LOST"), NULL);
  return NULL;
}

/* Each gets what it has waited for, in the same sessions. */
static char *
hand_over (Held *held)
{
  Cell *cell = held->cell;
  g_autoptr (GError) error = NULL;
  CELL_CHECK (curator_lease_release (held->lease, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "ACQUIRED waiter"), NULL);
  peer_tell (cell->peer, "release holder");
  g_autoptr (CuratorLease) other =
      cell_take (cell->client, "mutex", "/upgrade/java", LONG_MS, &error);
  CELL_CHECK (other != NULL, error);
  CELL_CHECK (curator_lease_release (other, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (!peer_has (cell->peer, "STATE LOST"), NULL);
  return NULL;
}

static void
upgrade (Cell *cell, ZkEnsemble *three, char **words)
{
  Held held = { .cell = cell };
  if (!open_cell (cell, UPGRADE_SESSION_MS, UPGRADE_SESSION_MS))
    return;
  report ("upgrade", "held", hold_both (&held));
  g_setenv ("CURATOR_TEST_ZOOKEEPER_CLASSPATH", words[0], TRUE);
  /* The leader last, as an upgrade is done. */
  const int leader = zk_ensemble_leader (three);
  for (int i = 1; all_good && i <= 3; i++) {
    g_autofree char *step = g_strdup_printf ("server-%d", i);
    char *problem = replace (three, (leader + i) % 3, words[1]);
    report ("upgrade", step, problem != NULL ? problem : still_held (&held));
  }
  if (all_good)
    report ("upgrade", "handed-over", hand_over (&held));
  g_clear_pointer (&held.lease, curator_lease_unref);
}

static int
hold (const char *servers, const char *path)
{
  CuratorClient *client = cell_connect (servers, KILLED_MS, FALSE);
  for (int i = 0; client != NULL && i < CELL_PAIRS; i++) {
    g_autofree char *one = g_strdup_printf ("%s/%d", path, i);
    if (cell_take (client, cell_pairs[i][0], one, LONG_MS, NULL) == NULL)
      return 1;
  }
  printf ("HOLDING\n");
  fflush (stdout);
  wait_ms (10 * LONG_MS);
  return 1;
}

typedef struct
{
  const char *name;
  int n_words; /* behind it */
  gboolean has_three;
  int tick_ms;
  void (*run) (Cell *cell, ZkEnsemble *three, char **words);
} Mode;

static const Mode modes[] = {
  { "cell", 1, FALSE, CELL_TICK_MS, run_cell },     { "ensemble", 1, TRUE, CELL_TICK_MS, run_cell },
  { "latch", 1, TRUE, CELL_TICK_MS, latch },        { "acl", 0, FALSE, CELL_TICK_MS, acl },
  { "upgrade", 2, TRUE, UPGRADE_TICK_MS, upgrade },
};

static int
run (const Mode *mode, Cell *cell, char **words)
{
  g_autoptr (ZkServer) one = mode->has_three ? NULL : zk_server_start (mode->tick_ms, NULL);
  g_autoptr (ZkEnsemble) three = mode->has_three ? zk_ensemble_start (mode->tick_ms, NULL) : NULL;
  if (one == NULL && three == NULL) {
    report ("start", "servers", g_strdup ("they do not serve"));
    return 1;
  }
  cell->servers = one != NULL ? zk_server_address (one) : zk_ensemble_connect_string (three);
  mode->run (cell, three, words);
  cell_close (cell);
  return all_good ? 0 : 1;
}

int
main (int argc, char **argv)
{
  Cell cell = { .program = argv[0], .acquisitions = 25 };
  if (argc > 2 && strcmp (argv[1], "--acquisitions") == 0) {
    cell.acquisitions = atoi (argv[2]);
    argc -= 2;
    argv += 2;
  }
  if (argc == 4 && strcmp (argv[1], "hold") == 0)
    return hold (argv[2], argv[3]);
  for (gsize i = 0; argc > 1 && cell.acquisitions > 0 && i < G_N_ELEMENTS (modes); i++)
    if (strcmp (argv[1], modes[i].name) == 0 && argc == 2 + modes[i].n_words)
      return run (&modes[i], &cell, argv + 2);
  return 64;
}
