/* Revocation between the languages: C requests it of a holder in Java, Java of holders in C. */
#define SUITE_FIXTURE Cell *cell
#include "matrix/cell.h"
#include "support/suite.h"

static void
assert_good (char *problem)
{
  if (problem != NULL)
    fail_msg ("%s", problem);
}

TEST (test_each_lock)
{
  assert_good (cell_revoke (cell, "mutex"));
  assert_good (cell_revoke (cell, "read"));
  assert_good (cell_revoke (cell, "write"));
}

TEST (test_lease)
{
  assert_good (cell_revoke_lease (cell));
}

TEST (test_packed)
{
  assert_good (cell_revoke_packed (cell));
}

static ZkServer *server;

static int
start (void **state)
{
  static Cell cell;
  server = zk_server_start (CELL_TICK_MS, NULL);
  if (server == NULL)
    return -1;
  cell.servers = zk_server_address (server);
  *state = &cell;
  return cell_open (&cell, SESSION_MS, SESSION_MS) ? 0 : -1;
}

static int
stop (void **state)
{
  cell_close (*state);
  zk_server_stop (server);
  return 0;
}

SUITE ("interop: revocation", start, stop)
