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
#include "support/waiting.h"

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
  if (sscanf (version, "%d.%d", &have_major, &have_minor) != 2)
    return FALSE;
  return have_major > major || (have_major == major && have_minor >= minor);
}

static gboolean
open_cell (Cell *cell)
{
  cell->client = cell_connect (cell->servers, SESSION_MS, cell->compression);
  cell->raw = raw_zk_open (cell->servers);
  cell->peer = java_peer_start (cell->servers, SESSION_MS, cell->compression);
  if (cell->client == NULL || cell->raw == NULL || cell->peer == NULL)
    {
      report ("start", "peers", g_strdup ("a client does not connect"));
      return FALSE;
    }
  return TRUE;
}

static void
close_cell (Cell *cell)
{
  g_clear_pointer (&cell->peer, java_peer_free);
  g_clear_pointer (&cell->raw, raw_zk_close);
  if (cell->client != NULL)
    {
      curator_client_close (cell->client);
      g_clear_pointer (&cell->client, curator_client_unref);
    }
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

static void
compress (const Cell *plain)
{
  Cell cell = { .servers = plain->servers,
                .acquisitions = plain->acquisitions,
                .compression = TRUE };
  if (open_cell (&cell))
    {
      contend (&cell, "compression");
      revoke_all (&cell, "compression");
      report ("compression", "count", cell_count (&cell));
    }
  close_cell (&cell);
}

static void
run_peers (Cell *cell, const char *program, const char *curator)
{
  static const char *const pairs[][2] = { { "mutex", "mutex" },
                                          { "semmutex", "semmutex" },
                                          { "semaphore:1", "semaphore:1" },
                                          { "read", "write" },
                                          { "write", "read" } };
  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    report ("timed", pairs[i][0], cell_time_out (cell, pairs[i][0], pairs[i][1]));
  report ("killed", "java", cell_kill_java (cell));
  report ("killed", "c", cell_kill_c (cell, program));
  report ("downgrade", "c", cell_downgrade_in_c (cell));
  report_as ("downgrade", "java", is_at_least (curator, 5, 5) ? "good" : "known",
             cell_downgrade_in_java (cell));
  revoke_all (cell, "revocation");
  report ("count", "values", cell_count (cell));
}

static void
run_cell (const char *program, const char *curator, const char *servers, int acquisitions)
{
  Cell cell = { .servers = servers,
                .acquisitions = acquisitions,
                .downgrade_is_overtaken = !is_at_least (curator, 5, 5) };
  if (open_cell (&cell))
    {
      contend (&cell, "contention");
      report ("downgrade", "contest", cell_downgrade_contest (&cell));
      report ("count", "counted", cell_contend (&cell, "counted:/counted-by"));
      run_peers (&cell, program, curator);
    }
  close_cell (&cell);
  if (is_at_least (curator, 5, 8))
    compress (&cell);
}

static int
standalone (const char *program, const char *curator, int acquisitions)
{
  ZkServer *server = zk_server_start (CELL_TICK_MS, NULL);
  if (server == NULL)
    {
      report ("start", "server", g_strdup ("the server does not serve"));
      return 1;
    }
  run_cell (program, curator, zk_server_address (server), acquisitions);
  zk_server_stop (server);
  return all_good ? 0 : 1;
}

static int
ensemble (const char *program, const char *curator, int acquisitions)
{
  ZkEnsemble *three = zk_ensemble_start (CELL_TICK_MS, NULL);
  if (three == NULL)
    {
      report ("start", "ensemble", g_strdup ("the ensemble does not serve"));
      return 1;
    }
  run_cell (program, curator, zk_ensemble_connect_string (three), acquisitions);
  zk_ensemble_stop (three);
  return all_good ? 0 : 1;
}

/* Curator has mended CURATOR-696 in 5.7.0. */
static int
latch (const char *curator)
{
  gboolean leads_beside = FALSE;
  ZkEnsemble *three = zk_ensemble_start (CELL_TICK_MS, NULL);
  Cell cell = { .servers = three != NULL ? zk_ensemble_connect_string (three) : "" };
  cell.client = cell_connect (cell.servers, SESSION_MS, FALSE);
  cell.raw = three != NULL ? raw_zk_open (cell.servers) : NULL;
  cell.peer = three != NULL ? java_peer_start (cell.servers, KILLED_MS, FALSE) : NULL;
  if (cell.client == NULL || cell.raw == NULL || cell.peer == NULL)
    {
      report ("start", "ensemble", g_strdup ("the ensemble does not serve, or not all clients"));
      return 1;
    }
  char *problem = cell_latch (&cell, three, &leads_beside);
  if (problem == NULL && leads_beside && is_at_least (curator, 5, 7))
    problem = cell_wrong (&cell, "it follows", NULL);
  report_as ("latch", "java", leads_beside ? "known" : "good", problem);
  close_cell (&cell);
  zk_ensemble_stop (three);
  return all_good ? 0 : 1;
}

static int
acl (void)
{
  ZkServer *server = zk_server_start (CELL_TICK_MS, NULL);
  Cell cell = { .servers = server != NULL ? zk_server_address (server) : "" };
  cell.raw = server != NULL ? raw_zk_open (cell.servers) : NULL;
  if (cell.raw == NULL)
    {
      report ("start", "server", g_strdup ("the server does not serve"));
      return 1;
    }
  report ("creator", "mutex", cell_acl_creator (&cell));
  report ("group", "mutex", cell_acl_group (&cell));
  report ("stranger", "mutex", cell_acl_stranger (&cell));
  raw_zk_close (cell.raw);
  zk_server_stop (server);
  return all_good ? 0 : 1;
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
  Cell cell;
  CuratorLease *lease;
  gint64 session;
} Held;

/* C holds one lock and Java another; each waits for the other's. */
static char *
hold_both (Held *held)
{
  Cell *cell = &held->cell;
  g_autoptr (GError) error = NULL;
  held->lease = cell_take (cell->client, "mutex", "/upgrade/c", LONG_MS, &error);
  CELL_CHECK (held->lease != NULL, error);
  held->session = curator_client_get_session_id (cell->client);
  java_peer_tell (cell->peer, "acquire holder mutex /upgrade/java -1");
  CELL_CHECK (java_peer_expect (cell->peer, "ACQUIRED holder", LONG_MS), NULL);
  java_peer_tell (cell->peer, "acquire waiter mutex /upgrade/c -1");
  CELL_CHECK (raw_zk_wait_children (cell->raw, "/upgrade/c", 2, LONG_MS), NULL);
  return NULL;
}

static gboolean
is_held (gpointer data)
{
  return curator_lease_get_state (data) == CURATOR_LEASE_HELD;
}

static char *
still_held (Held *held)
{
  Cell *cell = &held->cell;
  CELL_CHECK (wait_until (is_held, held->lease, LONG_MS), NULL);
  CELL_CHECK (curator_client_get_session_id (cell->client) == held->session, NULL);
  CELL_CHECK (!java_peer_has (cell->peer, "ACQUIRED waiter"), NULL);
  CELL_CHECK (!java_peer_has (cell->peer, "STATE LOST"), NULL);
  return NULL;
}

/* Each gets what it has waited for, in the same sessions. */
static char *
hand_over (Held *held)
{
  Cell *cell = &held->cell;
  g_autoptr (GError) error = NULL;
  CELL_CHECK (curator_lease_release (held->lease, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (java_peer_expect (cell->peer, "ACQUIRED waiter", LONG_MS), NULL);
  java_peer_tell (cell->peer, "release holder");
  g_autoptr (CuratorLease) other =
      cell_take (cell->client, "mutex", "/upgrade/java", LONG_MS, &error);
  CELL_CHECK (other != NULL, error);
  CELL_CHECK (curator_lease_release (other, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (!java_peer_has (cell->peer, "STATE LOST"), NULL);
  return NULL;
}

static int
upgrade (const char *new_jars, const char *version)
{
  ZkEnsemble *three = zk_ensemble_start (UPGRADE_TICK_MS, NULL);
  if (three == NULL)
    {
      report ("start", "ensemble", g_strdup ("the ensemble does not serve"));
      return 1;
    }
  Held held = { .cell = { .servers = zk_ensemble_connect_string (three) } };
  held.cell.client = cell_connect (held.cell.servers, UPGRADE_SESSION_MS, FALSE);
  held.cell.raw = raw_zk_open (held.cell.servers);
  held.cell.peer = java_peer_start (held.cell.servers, UPGRADE_SESSION_MS, FALSE);
  report ("upgrade", "held", hold_both (&held));
  g_setenv ("CURATOR_TEST_ZOOKEEPER_CLASSPATH", new_jars, TRUE);
  /* The leader last, as an upgrade is done. */
  const int leader = zk_ensemble_leader (three);
  for (int i = 1; all_good && i <= 3; i++)
    {
      g_autofree char *step = g_strdup_printf ("server-%d", i);
      char *problem = replace (three, (leader + i) % 3, version);
      report ("upgrade", step, problem != NULL ? problem : still_held (&held));
    }
  if (all_good)
    report ("upgrade", "handed-over", hand_over (&held));
  g_clear_pointer (&held.lease, curator_lease_unref);
  close_cell (&held.cell);
  zk_ensemble_stop (three);
  return all_good ? 0 : 1;
}

static int
hold (const char *servers, const char *path)
{
  static const char *const kinds[] = { "mutex", "semmutex", "semaphore:1", "read", "write" };
  CuratorClient *client = cell_connect (servers, KILLED_MS, FALSE);
  for (gsize i = 0; client != NULL && i < G_N_ELEMENTS (kinds); i++)
    {
      g_autofree char *one = g_strdup_printf ("%s/%" G_GSIZE_FORMAT, path, i);
      if (cell_take (client, kinds[i], one, LONG_MS, NULL) == NULL)
        return 1;
    }
  printf ("HOLDING\n");
  fflush (stdout);
  wait_ms (10 * LONG_MS);
  return 1;
}

int
main (int argc, char **argv)
{
  const char *program = argv[0];
  int acquisitions = 25;
  if (argc > 2 && strcmp (argv[1], "--acquisitions") == 0)
    {
      acquisitions = atoi (argv[2]);
      argc -= 2;
      argv += 2;
    }
  if (argc == 4 && strcmp (argv[1], "hold") == 0)
    return hold (argv[2], argv[3]);
  if (argc == 2 && strcmp (argv[1], "acl") == 0)
    return acl ();
  if (argc == 4 && strcmp (argv[1], "upgrade") == 0)
    return upgrade (argv[2], argv[3]);
  if (argc != 3 || acquisitions <= 0)
    return 64;
  if (strcmp (argv[1], "latch") == 0)
    return latch (argv[2]);
  return strcmp (argv[1], "ensemble") == 0 ? ensemble (program, argv[2], acquisitions)
                                           : standalone (program, argv[2], acquisitions);
}
