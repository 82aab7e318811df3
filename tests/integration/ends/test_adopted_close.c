/* Closing a client in the program's session, which continues: all of our nodes and watches are
 * removed, the program's stay. At any moment: test_handle_ends. */
#define THREADED 1 /* declares the synchronous calls */
#include "integration/program.h"
#include "support/metronome.h"

static gboolean
has_no_ephemerals (Program *program)
{
  g_auto (GStrv) nodes =
      four_letter_ephemerals (zoo_get_current_server (program->zh), program_session (program));
  return nodes != NULL && nodes[0] == NULL;
}

static void
check_usable (Program *program)
{
  char data[8];
  int length = sizeof data;
  struct Stat stat;
  assert_int_equal (zoo_state (program->zh), ZOO_CONNECTED_STATE);
  assert_int_equal (
      zoo_create (program->zh, "/mine", "x", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0), ZOK);
  assert_int_equal (zoo_wget (program->zh, "/mine", program_watcher, program, data, &length, &stat),
                    ZOK);
  assert_int_equal (zoo_delete (program->zh, "/mine", -1), ZOK);
  assert_true (program_wait_fired (program, "/mine", LONG_MS));
}

/* One hold, one wait behind another session, one semaphore's lease and its waiter, one count that is
 * followed and one whose node is missing. */
TEST (test_nothing_stays)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) theirs = mutex_new (direct, "/left/waited");
  g_autoptr (Contender) holder = contender_of (theirs);

  g_autoptr (Program) program = program_open (fixture_server (fixture));
  g_autoptr (CuratorClient) client = program_client (program);
  client_start (client);
  g_autoptr (CuratorLock) held = mutex_new (client, "/left/held");
  assert_acquired (held);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (held);
  g_autoptr (CuratorLock) waited = mutex_new (client, "/left/waited");
  g_autoptr (Contender) waiter = contender_start (waited, LONG_MS, NULL);
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new (client, "/left/leases", 1, &error);
  g_autoptr (CuratorLease) permit = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
  assert_ok (permit != NULL, &error);
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (client, "/left/count", 1, &error);
  assert_ok (curator_shared_count_start (count, LONG_MS, NULL, &error), &error);
  g_autoptr (CuratorSharedCount) missing =
      curator_shared_count_new (client, "/left/missing", 1, &error);
  assert_ok (curator_shared_count_start (missing, LONG_MS, NULL, &error), &error);
  assert_int_equal (raw_zk_delete (fixture->raw, "/left/missing"), ZOK);
  assert_children (fixture, "/left/waited", 2, LONG_MS);
  /* A longer hold watches its own node. */
  assert_soon (
      four_letter_watchers_of (fixture_server (fixture), curator_lease_get_node_path (lease)) == 1);

  const gint64 begun = wait_now_ms ();
  curator_client_close (client);
  /* As long as it would wait for lost answers. */
  assert_promised_ms (wait_now_ms () - begun, SESSION_MS, begun);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/left/held"), 0);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/left/waited"), 1);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/left/leases/leases"), 0);
  contender_join (waiter);
  assert_false (waiter->acquired);
  assert_curator_error (&waiter->error, CURATOR_ERROR_CLOSED);
  assert_true (has_no_ephemerals (program));
  check_usable (program);

  /* The server keeps our watches on other nodes until they fire. */
  contender_join (holder);
  assert_int_equal (raw_zk_delete (fixture->raw, "/left/count"), ZOK);
  assert_int_equal (raw_zk_create (fixture->raw, "/left/missing", "", ZOO_PERSISTENT, NULL), ZOK);
  assert_soon (four_letter_watches_of_session (fixture_server (fixture), program_session (program))
               == 0);
  check_usable (program);
  curator_client_close (direct);
}

/* The client is closed during an outage that ends in time. */
static void *
close_client (void *client)
{
  curator_client_close (client);
  return NULL;
}

TEST (test_close_while_disconnected)
{
  g_autoptr (Program) program = program_open (fixture_proxy (fixture));
  g_autoptr (CuratorClient) client = program_client (program);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/left/away");
  assert_acquired (lock);

  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_SUSPENDED, 1, LONG_MS));
  pthread_t closer;
  pthread_create (&closer, NULL, close_client, client);
  wait_ms (300);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/left/away"), 1);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  pthread_join (closer, NULL);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/left/away"), 0);
  assert_true (program_wait_connected (program, LONG_MS));
  check_usable (program);
}

/* The outage continues: close does not wait forever, and late answers are ignored. */
TEST (test_close_without_network)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Program) program = program_open (fixture_proxy (fixture));
  g_autoptr (CuratorClient) client = program_client (program);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/left/hole");
  assert_acquired (lock);
  g_autoptr (CuratorLock) behind = mutex_new (client, "/left/hole");
  g_autoptr (Contender) waiter = contender_start (behind, LONG_MS, NULL);
  assert_children (fixture, "/left/hole", 2, LONG_MS);
  /* Answered behind the waiter's create: a node whose create is not answered yet would stay. */
  g_auto (GStrv) nodes = curator_lock_get_participant_nodes (lock, LONG_MS, NULL, &error);
  assert_ok (nodes != NULL, &error);

  proxy_set_mode (fixture->proxy, PROXY_HOLE_TO_CLIENT);
  const gint64 begun = wait_now_ms ();
  curator_client_close (client);
  const gint64 took = wait_now_ms () - begun;
  assert_true (took >= SESSION_MS - 100);
  contender_join (waiter);
  assert_false (waiter->acquired);
  /* The requests were executed, but their answers arrive after the close. */
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_children (fixture, "/left/hole", 0, LONG_MS);
}

PROMPT_SUITE ("adopted_close", fixture_start_calm, fixture_stop)
