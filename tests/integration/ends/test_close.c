/* Closing a client that cannot reach its server, and descriptors that an executed program must not
 * inherit. In every state: test_destroy. */
#include "integration/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define N_BLOCKED 8

/* A close that cannot reach the server leaves the clean-up to the expiry of the session. */
TEST (test_close_under_waiters_without_network)
{
  g_autoptr (CuratorClient) holding = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) held = mutex_new (holding, "/close/hole");
  g_autoptr (CuratorLock) lock = mutex_new (client, "/close/hole");
  g_autoptr (Contender) holder = contender_of (held);
  Contender *blocked[N_BLOCKED];
  for (int i = 0; i < N_BLOCKED; i++)
    blocked[i] = contender_start (lock, CURATOR_WAIT_FOREVER, NULL);
  assert_children (fixture, "/close/hole", 1 + N_BLOCKED, LONG_MS);
  proxy_set_mode (fixture->proxy, PROXY_HOLE);

  curator_client_close (client);
  for (int i = 0; i < N_BLOCKED; i++)
    {
      assert_true (contender_wait (blocked[i], LONG_MS));
      assert_false (blocked[i]->acquired);
      assert_curator_error (&blocked[i]->error, CURATOR_ERROR_CLOSED);
      contender_free (blocked[i]);
    }
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  contender_join (holder);
  assert_no_residue (fixture, "/close/hole", LONG_MS);
}

/* The last reference is dropped while a lock and a lease still point to the client. */
TEST (test_unref_while_holding)
{
  CuratorClient *client = client_connect (fixture_server (fixture));
  CuratorLock *lock = mutex_new (client, "/close/unref");
  CuratorLease *lease = lease_of (lock);
  curator_client_unref (client);
  curator_lock_unref (lock);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/close/unref"), 1);
  curator_lease_unref (lease);
  assert_no_residue (fixture, "/close/unref", 3000);
}

/* Sockets and pipes that an executed program would inherit. */
static int
count_inherited (void)
{
  char line[64] = "";
  FILE *child = popen ("ls -l /proc/self/fd | grep -c -e socket: -e pipe:", "r");
  assert_non_null (child);
  char *got = fgets (line, sizeof line, child);
  pclose (child);
  assert_non_null (got);
  return atoi (line);
}

/* Where the descriptors that a thread polls are not shown: the socket, and both ends of a pipe. */
static int
most_inherited (void)
{
  char byte = 1;
  char copy = 0;
  const struct iovec local = { &copy, 1 };
  const struct iovec remote = { &byte, 1 };
  return process_vm_readv (getpid (), &local, 1, &remote, 1, 0) == 1 ? 0 : 3;
}

/* An executed program must not keep the connection open. */
TEST (test_p33_exec_inherits_nothing)
{
  const int most = most_inherited ();
  const int before = count_inherited ();
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_CONNECTED, 1, LONG_MS));
  assert_in_range (count_inherited () - before, 0, most);
  proxy_cut (fixture->proxy);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_in_range (count_inherited () - before, 0, most);
  curator_client_close (client);
}

SUITE ("close", fixture_start, fixture_stop)
