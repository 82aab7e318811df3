/* A client on a handle of the program's: one session, two users. */
#define THREADED 1 /* declares the synchronous calls */
#include "integration/program.h"
#include "support/held_lease.h"

#include <sys/wait.h>
#include <unistd.h>

/* connected: whether the handle is connected before the client adopts it. */
static void
lock_in_the_session (Fixture *fixture, gboolean connected)
{
  g_autoptr (Program) program = program_open (fixture_server (fixture));
  assert_true (!connected || program_wait_connected (program, LONG_MS));
  g_autoptr (CuratorClient) client = program_client (program);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);

  assert_int_equal (curator_client_get_session_id (client), program_session (program));
  assert_int_equal (curator_client_get_session_timeout_ms (client), LONG_SESSION_MS);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/adopted/lock");
  assert_acquired (lock);
  CuratorLease *lease = held_lease (lock);
  assert_int_equal (raw_zk_owner (fixture->raw, curator_lease_get_node_path (lease)),
                    program_session (program));
  /* The observer's session and the program's. */
  assert_soon (four_letter_monitor (fixture_server (fixture), "zk_global_sessions") == 2);
  assert_released (lock);
  assert_no_residue (fixture, "/adopted/lock", LONG_MS);
  curator_client_close (client);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_CONNECTED, 1, LONG_MS));
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_SUSPENDED), 0);
}

TEST (test_handle)
{
  lock_in_the_session (fixture, TRUE);
  lock_in_the_session (fixture, FALSE);
}

TEST (test_handle_that_comes_later)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Program) program = program_open (fixture_server (fixture));
  g_autoptr (CuratorClient) client = curator_client_new_for_zhandle (NULL, NULL);
  assert_ok (curator_client_start (client, &error), &error);
  assert_false (curator_client_block_until_connected (client, 300, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_CONNECTION_LOST);
  assert_ok (curator_client_set_zhandle (client, program->zh, &error), &error);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  assert_int_equal (curator_client_get_session_id (client), program_session (program));
  g_autofree char *server = curator_client_dup_server (client);
  assert_string_equal (server, fixture_server (fixture));
  curator_client_close (client);
  assert_false (curator_client_set_zhandle (client, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_CLOSED);

  g_autoptr (CuratorClient) other = client_new (fixture_server (fixture));
  assert_false (curator_client_set_zhandle (other, program->zh, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
}

/* Both watch the same node, and our watch is removed when the wait ends. */
TEST (test_watches_of_the_program)
{
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) theirs = mutex_new (direct, "/adopted/watch");
  g_autoptr (Contender) holder = contender_of (theirs);

  g_autoptr (Program) program = program_open (fixture_server (fixture));
  g_autoptr (CuratorClient) client = program_client (program);
  client_start (client);
  struct Stat stat;
  struct String_vector children;
  char data[64];
  int length = sizeof data;
  assert_int_equal (
      zoo_wget (program->zh, holder->node, program_watcher, program, data, &length, &stat), ZOK);
  assert_int_equal (
      zoo_wget_children (program->zh, "/adopted", program_watcher, program, &children), ZOK);
  deallocate_String_vector (&children);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/adopted/watch");
  assert_not_acquired (lock, 4000, CURATOR_ERROR_TIMED_OUT);
  assert_children (fixture, "/adopted/watch", 1, LONG_MS);

  assert_int_equal (zoo_create (program->zh, "/adopted/other", "", 0, &ZOO_OPEN_ACL_UNSAFE,
                                ZOO_EPHEMERAL, NULL, 0),
                    ZOK);
  assert_true (program_wait_fired (program, "/adopted", LONG_MS));
  contender_join (holder);
  assert_true (program_wait_fired (program, holder->node, LONG_MS));
  assert_acquired (lock);
  assert_released (lock);
  assert_no_residue (fixture, "/adopted/watch", LONG_MS);
}

/* Every event is forwarded several times, and every watch receives session events as well. */
TEST (test_duplicate_events)
{
  g_autoptr (Program) program = program_open (fixture_proxy (fixture));
  program->n_forwards = 3;
  g_autoptr (CuratorClient) client = program_client (program);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/adopted/twice");
  g_autoptr (CuratorLock) behind = mutex_new (client, "/adopted/twice");
  assert_acquired (lock);
  g_autoptr (Contender) waiter = contender_start (behind, LONG_MS, NULL);
  assert_children (fixture, "/adopted/twice", 2, LONG_MS);

  proxy_cut (fixture->proxy);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_not_equal (curator_lease_get_state (held_lease (lock)), CURATOR_LEASE_STATE_LOST);
  assert_int_equal (curator_client_get_session_id (client), program_session (program));
  assert_released (lock);
  contender_assert_granted (waiter);
  contender_join (waiter);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_LOST), 0);
  assert_no_residue (fixture, "/adopted/twice", LONG_MS);
  curator_client_close (client);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_CONNECTED), 1);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_SUSPENDED), 1);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_RECONNECTED), 1);
}

TEST (test_expiry)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Program) program = program_open (fixture_proxy (fixture));
  g_autoptr (CuratorClient) client = program_client (program);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/adopted/expiry");
  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  const gint64 before = curator_lease_get_session_id (lease);

  assert_int_equal (fixture_expire (fixture), before);
  assert_true (program_wait_expired (program, LONG_MS));
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_released (lock);
  program_open_again (program, fixture_proxy (fixture));
  assert_int_equal (curator_client_get_connection_state (client), CURATOR_CONNECTION_STATE_LOST);
  assert_ok (curator_client_set_zhandle (client, program->zh, &error), &error);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_acquired (lock);
  CuratorLease *second = held_lease (lock);
  assert_int_not_equal (curator_lease_get_session_id (second), before);
  assert_int_equal (curator_lease_get_session_id (second), program_session (program));
  assert_released (lock);
  assert_no_residue (fixture, "/adopted/expiry", LONG_MS);
  curator_client_close (client);
}

/* libzookeeper knows that the session has ended, and has not told anybody: nodes that are deleted
 * together cannot be sent any more. */
TEST (test_released_before_the_end_is_told)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Program) program = program_open (fixture_proxy (fixture));
  g_autoptr (CuratorClient) client = program_client (program);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) a = mutex_new (client, "/adopted/a");
  g_autoptr (CuratorLock) b = mutex_new (client, "/adopted/b");
  g_autoptr (CuratorLock) c = mutex_new (client, "/adopted/c");
  CuratorLock *members[] = { a, b, c };
  g_autoptr (CuratorLock) all = curator_multi_lock_new (members, G_N_ELEMENTS (members));
  assert_acquired (all);

  pthread_mutex_lock (&program->mutex);
  fixture_expire (fixture);
  assert_soon (zoo_state (program->zh) == ZOO_EXPIRED_SESSION_STATE);
  assert_false (curator_lock_release (all, 0, NULL, &error));
  pthread_mutex_unlock (&program->mutex);
  assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  curator_client_close (client);
}

/* The handle is replaced while its session is alive: holds of that session are still lost. */
TEST (test_exchange)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Program) first = program_open (fixture_server (fixture));
  g_autoptr (Program) second = program_open (fixture_server (fixture));
  assert_true (program_wait_connected (second, LONG_MS));
  g_autoptr (CuratorClient) client = program_client (first);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/adopted/exchange");
  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);

  assert_ok (curator_client_set_zhandle (client, second->zh, &error), &error);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
  assert_released (lock);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  assert_int_equal (curator_client_get_session_id (client), program_session (second));
  assert_children (fixture, "/adopted/exchange", 0, LONG_MS);
  assert_int_equal (zoo_state (first->zh), ZOO_CONNECTED_STATE);

  assert_ok (curator_client_set_zhandle (client, NULL, &error), &error);
  assert_int_equal (curator_client_get_connection_state (client), CURATOR_CONNECTION_STATE_LOST);
  assert_ok (curator_client_set_zhandle (client, first->zh, &error), &error);
  assert_acquired (lock);
  assert_int_equal (curator_lease_get_session_id (held_lease (lock)), program_session (first));
  assert_released (lock);
}

/* Our own clock ends the session during an outage, and the same session reconnects. */
TEST (test_session_outlives_our_clock)
{
  g_autoptr (GError) error = NULL;
  Fixture *brief = NULL; /* its server grants no long session */
  assert_int_equal (fixture_start ((void **) &brief), 0);
  g_autoptr (Program) program = program_open (fixture_server (brief));
  g_autoptr (CuratorClient) client = program_client (program);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  const gint64 session = program_session (program);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/adopted/clock");
  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);

  zk_server_kill (brief->server);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
  assert_true (zk_server_relaunch (brief->server));
  assert_true (zk_server_wait_serving (brief->server, LONG_MS));
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  assert_int_equal (program_session (program), session);
  assert_int_equal (curator_client_get_session_id (client), session);
  assert_children (brief, "/adopted/clock", 0, LONG_MS);
  assert_released (lock);
  assert_acquired (lock);
  assert_released (lock);
  curator_client_close (client);
  fixture_stop ((void **) &brief);
}

/* The allocator of one sanitizer does not survive a fork at any moment; the other one allows no
 * thread after it. */
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__

typedef struct
{
  CuratorClient *client;
  zhandle_t *zh;
  gint stop; /* atomic */
} Forwarding;

static void *
forward (void *data)
{
  Forwarding *forwarding = data;
  while (!g_atomic_int_get (&forwarding->stop)) {
    curator_client_forward_event (forwarding->client, forwarding->zh, ZOO_SESSION_EVENT,
                                  ZOO_CONNECTED_STATE, "");
  }
  return NULL;
}

static int
live (const char *address)
{
  alarm (LONG_MS / 1000);
  g_autoptr (Program) program = program_open (address);
  CuratorClient *client = program_client (program);
  return curator_client_start (client, NULL)
                 && curator_client_block_until_connected (client, LONG_MS, NULL, NULL)
             ? 0
             : 1;
}

/* What all clients of this kind share is hardly ever free, and a child gets along with it. */
TEST (test_children_of_fork)
{
  g_autoptr (Program) program = program_open (fixture_server (fixture));
  Forwarding forwarding = { program_client (program), program->zh, 0 };
  pthread_t threads[3];

  /* Else the handle's thread is always in getaddrinfo(), which a fork may copy with its locks. */
  zoo_set_servers_resolution_delay (program->zh, -1);
  client_start (forwarding.client);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, forward, &forwarding);
  for (int i = 0; i < 30; i++) {
    int status = 0;
    g_usleep (1000);
    const pid_t pid = fork ();
    if (pid == 0)
      _exit (live (fixture_server (fixture)));
    assert_int_equal (waitpid (pid, &status, 0), pid);
    if (status != 0)
      fail_msg ("child %d: status 0x%x", i, (unsigned) status);
  }
  g_atomic_int_set (&forwarding.stop, 1);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
}

#endif

SUITE ("adopted", fixture_start_calm, fixture_stop)
