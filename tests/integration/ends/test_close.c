/* Closing a client, with waiters and holders and from callbacks; and descriptors that an executed
 * program must not inherit. */
#include "integration/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define N_BLOCKED 8

static void
close_under_waiters (Fixture *fixture, const char *path, gboolean hole)
{
  g_autoptr (CuratorClient) holding = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client =
      client_connect (hole ? fixture_proxy (fixture) : fixture_server (fixture));
  g_autoptr (CuratorLock) held = mutex_new (holding, path);
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  g_autoptr (Contender) holder = contender_start (held, LONG_MS, NULL);
  Contender *blocked[N_BLOCKED];
  assert_true (contender_wait (holder, LONG_MS));
  for (int i = 0; i < N_BLOCKED; i++)
    blocked[i] = contender_start (lock, CURATOR_WAIT_FOREVER, NULL);
  assert_children (fixture, path, 1 + N_BLOCKED, LONG_MS);
  proxy_set_mode (fixture->proxy, hole ? PROXY_HOLE : PROXY_PASS);

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
  /* A close that cannot reach the server leaves the clean-up to the expiry of the session. */
  assert_no_residue (fixture, path, hole ? LONG_MS : 3000);
}

static void
test_close_under_waiters (void **state)
{
  close_under_waiters (*state, "/close/waiters", FALSE);
}

static void
test_close_under_waiters_without_network (void **state)
{
  close_under_waiters (*state, "/close/hole", TRUE);
}

static void
test_close_while_holding (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/close/holding");
  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  curator_client_close (client);
  curator_client_close (client);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_LOST);
  assert_no_residue (fixture, "/close/holding", 1000);
  assert_released (lock);
  assert_not_acquired (lock, 1000, CURATOR_ERROR_CLOSED);
  assert_false (curator_client_block_until_connected (client, 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_CLOSED);
  assert_int_equal (curator_client_get_connection_state (client), CURATOR_STATE_LOST);
}

/* The last reference is dropped while a lock and a lease still point to the client. */
static void
test_unref_while_holding (void **state)
{
  Fixture *fixture = *state;
  CuratorClient *client = client_connect (fixture_server (fixture));
  CuratorLock *lock = mutex_new (client, "/close/unref");
  CuratorLease *lease = lease_of (lock);
  curator_client_unref (client);
  curator_lock_unref (lock);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/close/unref"), 1);
  curator_lease_unref (lease);
  assert_no_residue (fixture, "/close/unref", 3000);
}

static void
test_close_never_started (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/close/early");
  assert_not_acquired (lock, 100, CURATOR_ERROR_NOT_STARTED);
  curator_client_close (client);
  assert_false (curator_client_start (client, &error));
  assert_curator_error (&error, CURATOR_ERROR_CLOSED);
}

/* Closing is quick while the client tries in vain to connect, too. */
static void
test_close_while_connecting (void **state)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *address = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (address);
  assert_ok (curator_client_start (client, &error), &error);
  wait_ms (100);
  curator_client_close (client);
}

typedef struct
{
  CuratorClient *client;
  int done;
} Closer;

static void
close_and_unref (CuratorClient *client, CuratorConnectionState state, gpointer user_data)
{
  Closer *closer = user_data;
  if (state == CURATOR_STATE_CONNECTED)
    {
      curator_client_close (client);
      curator_client_unref (closer->client);
    }
}

static void
note_destroyed (gpointer data)
{
  g_atomic_int_set (&((Closer *) data)->done, 1);
}

static gboolean
is_done (gpointer data)
{
  return g_atomic_int_get (&((Closer *) data)->done) != 0;
}

/* A callback closes its client and drops the last reference to it. */
static void
test_close_in_callback (void **state)
{
  Fixture *fixture = *state;
  for (int i = 0; i < 20; i++)
    {
      g_autoptr (GError) error = NULL;
      Closer closer = { client_new (fixture_server (fixture)), 0 };
      curator_client_add_state_listener (closer.client, close_and_unref, &closer, note_destroyed);
      assert_ok (curator_client_start (closer.client, &error), &error);
      assert_true (wait_until (is_done, &closer, LONG_MS));
    }
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
static void
test_p33_exec_inherits_nothing (void **state)
{
  Fixture *fixture = *state;
  const int most = most_inherited ();
  const int before = count_inherited ();
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  assert_true (state_log_wait (log, CURATOR_STATE_CONNECTED, 1, LONG_MS));
  assert_in_range (count_inherited () - before, 0, most);
  proxy_cut (fixture->proxy);
  assert_true (state_log_wait (log, CURATOR_STATE_RECONNECTED, 1, LONG_MS));
  assert_in_range (count_inherited () - before, 0, most);
  curator_client_close (client);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_close_under_waiters),
    heal_and_test (test_close_under_waiters_without_network),
    heal_and_test (test_close_while_holding),
    heal_and_test (test_unref_while_holding),
    heal_and_test (test_close_never_started),
    heal_and_test (test_close_while_connecting),
    heal_and_test (test_close_in_callback),
    heal_and_test (test_p33_exec_inherits_nothing),
  };
  return cmocka_run_group_tests_name ("close", tests, fixture_start, fixture_stop);
}
