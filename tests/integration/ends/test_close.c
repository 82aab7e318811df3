/* A client whose holds outlive its last reference, and descriptors that an executed program must not
 * inherit. The ends in every state: test_handle_ends. */
#include "integration/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

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
  assert_no_residue (fixture, "/close/unref", LONG_SESSION_MS / 2); /* the session did not expire */
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

SUITE ("close", fixture_start_calm, fixture_stop)
