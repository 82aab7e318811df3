/* Read-write locks: who excludes whom, in which order, and a writer that becomes a reader. */
#include "integration/taking.h"
#include "support/held_lease.h"

#include <string.h>

#define PATH "/rw/lock"

/* A thread that runs one step at a time on command, so that holds of one thread can be mixed. */
typedef enum
{
  STEP_WRITE,
  STEP_READ,
  STEP_RELEASE_WRITE,
  STEP_RELEASE_READ,
  STEP_END
} Step;

typedef struct
{
  CuratorRwLock *rw_lock;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int order; /* 1 + the step, 0 when there is nothing to do; guards the next two */
  GError *error;
  char *node; /* name of the last node acquired */
} Worker;

static void
take (Worker *worker, CuratorLock *lock, GError **error)
{
  if (curator_lock_acquire (lock, LONG_MS, NULL, error))
    {
      g_free (worker->node);
      worker->node = g_strdup (curator_lease_get_node_name (held_lease (lock)));
    }
}

static void
do_step (Worker *worker, Step step, GError **error)
{
  CuratorLock *read = curator_rw_lock_get_read_lock (worker->rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (worker->rw_lock);
  switch (step)
    {
    case STEP_WRITE:
      take (worker, write, error);
      break;
    case STEP_READ:
      take (worker, read, error);
      break;
    case STEP_RELEASE_WRITE:
      curator_lock_release (write, CURATOR_WAIT_DEFAULT, NULL, error);
      break;
    case STEP_RELEASE_READ:
      curator_lock_release (read, CURATOR_WAIT_DEFAULT, NULL, error);
      break;
    case STEP_END:
    default:
      break;
    }
}

static void *
work (void *data)
{
  Worker *worker = data;
  gboolean over = FALSE;
  pthread_mutex_lock (&worker->mutex);
  while (!over)
    {
      while (worker->order == 0)
        pthread_cond_wait (&worker->changed, &worker->mutex);
      const Step step = (Step) (worker->order - 1);
      do_step (worker, step, &worker->error);
      over = step == STEP_END;
      worker->order = 0;
      pthread_cond_broadcast (&worker->changed);
    }
  pthread_mutex_unlock (&worker->mutex);
  return NULL;
}

static Worker *
worker_new (CuratorRwLock *rw_lock)
{
  Worker *worker = g_new0 (Worker, 1);
  worker->rw_lock = curator_rw_lock_ref (rw_lock);
  pthread_mutex_init (&worker->mutex, NULL);
  pthread_cond_init (&worker->changed, NULL);
  pthread_create (&worker->thread, NULL, work, worker);
  return worker;
}

/* Runs the step, within the timeouts of its calls. */
static void
worker_do (Worker *worker, Step step)
{
  pthread_mutex_lock (&worker->mutex);
  worker->order = (int) step + 1;
  pthread_cond_broadcast (&worker->changed);
  while (worker->order != 0)
    pthread_cond_wait (&worker->changed, &worker->mutex);
  g_autoptr (GError) error = g_steal_pointer (&worker->error);
  pthread_mutex_unlock (&worker->mutex);
  if (error != NULL)
    fail_msg ("%s", error->message);
}

static void
worker_free (Worker *worker)
{
  worker_do (worker, STEP_END);
  pthread_join (worker->thread, NULL);
  pthread_cond_destroy (&worker->changed);
  pthread_mutex_destroy (&worker->mutex);
  curator_rw_lock_unref (worker->rw_lock);
  g_free (worker->node);
  g_free (worker);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Worker, worker_free)

typedef struct
{
  CuratorRwLock *rw_lock;
  int seed;
  int *readers;
  int *writers;
  int *most_readers;
  int violations;
  int failures;
} Visitor;

static void
visit (Visitor *visitor, gboolean writes)
{
  CuratorLock *lock = writes ? curator_rw_lock_get_write_lock (visitor->rw_lock)
                             : curator_rw_lock_get_read_lock (visitor->rw_lock);
  if (!curator_lock_acquire (lock, 60000, NULL, NULL))
    {
      visitor->failures++;
      return;
    }
  const int others = g_atomic_int_add (writes ? visitor->writers : visitor->readers, 1);
  const int writers = g_atomic_int_get (visitor->writers);
  const int readers = g_atomic_int_get (visitor->readers);
  visitor->violations += writes ? others != 0 || readers != 0 : writers != 0;
  if (!writes && others + 1 > g_atomic_int_get (visitor->most_readers))
    g_atomic_int_set (visitor->most_readers, others + 1);
  g_usleep (2000);
  g_atomic_int_add (writes ? visitor->writers : visitor->readers, -1);
  visitor->failures += !curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
}

static void *
come_and_go (void *data)
{
  Visitor *visitor = data;
  GRand *rand = g_rand_new_with_seed ((guint32) visitor->seed);
  for (int i = 0; i < 100; i++)
    visit (visitor, g_rand_int_range (rand, 0, 100) < 20);
  g_rand_free (rand);
  return NULL;
}

TEST (test_readers_overlap_and_writers_never)
{
  enum
  {
    N = 10
  };
  int readers = 0;
  int writers = 0;
  int most_readers = 0;
  g_autoptr (CuratorClient) one = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) two = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) first = rw_lock_new (one, PATH);
  g_autoptr (CuratorRwLock) second = rw_lock_new (two, PATH);
  Visitor visitors[N];
  pthread_t threads[N];
  for (int i = 0; i < N; i++)
    {
      visitors[i] = (Visitor){ .rw_lock = i % 2 == 0 ? first : second,
                               .seed = i + 1,
                               .readers = &readers,
                               .writers = &writers,
                               .most_readers = &most_readers };
      pthread_create (&threads[i], NULL, come_and_go, &visitors[i]);
    }
  for (int i = 0; i < N; i++)
    {
      pthread_join (threads[i], NULL);
      assert_int_equal (visitors[i].violations, 0);
      assert_int_equal (visitors[i].failures, 0);
    }
  print_message ("at most %d readers at a time\n", most_readers);
  assert_true (most_readers > 1);
  assert_no_residue (fixture, PATH, 3000);
}

/* Strict order of arrival: a reader behind a waiting writer waits for it. */
TEST (test_order_of_arrival)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  CuratorLock *read = curator_rw_lock_get_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (rw_lock);
  g_autoptr (Taking) r1 = taking_of_lock (read);
  g_autoptr (Taking) r2 = taking_of_lock (read);
  g_autoptr (Taking) w1 = taking_start_lock (write, LONG_MS, NULL);
  assert_children (fixture, PATH, 3, LONG_MS);
  g_autoptr (Taking) r3 = taking_start_lock (read, LONG_MS, NULL);
  assert_children (fixture, PATH, 4, LONG_MS);
  g_autoptr (Taking) r4 = taking_start_lock (read, LONG_MS, NULL);
  assert_children (fixture, PATH, 5, LONG_MS);
  g_autoptr (Taking) w2 = taking_start_lock (write, LONG_MS, NULL);
  assert_children (fixture, PATH, 6, LONG_MS);
  taking_give_back (r1);
  taking_assert_waits (w1);
  assert_false (taking_has_returned (r3));
  taking_give_back (r2);
  taking_assert_granted (w1);
  taking_assert_waits (r3);
  taking_give_back (w1);
  taking_assert_granted (r3);
  taking_assert_granted (r4);
  taking_assert_waits (w2);
  taking_give_back (r4);
  taking_assert_waits (w2);
  taking_give_back (r3);
  taking_assert_granted (w2);
  taking_give_back (w2);
  assert_no_residue (fixture, PATH, 3000);
}

/* The reader's node has its writer's number, and a writer that queued before stays out. */
TEST (test_p9_downgrade_keeps_writers_out)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) other = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  g_autoptr (CuratorRwLock) theirs = rw_lock_new (other, PATH);
  g_autoptr (Worker) worker = worker_new (rw_lock);
  worker_do (worker, STEP_WRITE);
  g_autofree char *write_node = g_strdup (worker->node);
  g_autoptr (Taking) writer =
      taking_start_lock (curator_rw_lock_get_write_lock (theirs), LONG_MS, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  worker_do (worker, STEP_READ);
  assert_string_equal (strstr (worker->node, "__READ__") + 8, strstr (write_node, "__WRIT__") + 8);
  worker_do (worker, STEP_READ);
  worker_do (worker, STEP_RELEASE_WRITE);
  assert_children (fixture, PATH, 2, LONG_MS);
  taking_assert_waits (writer);
  worker_do (worker, STEP_RELEASE_READ);
  taking_assert_waits (writer);
  worker_do (worker, STEP_RELEASE_READ);
  taking_assert_granted (writer);
  taking_give_back (writer);
  assert_no_residue (fixture, PATH, 3000);
}

/* Counts are kept for each side, and the sides may be released in any order. */
TEST (test_reentrance_of_both_sides)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  CuratorLock *read = curator_rw_lock_get_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (rw_lock);
  for (int i = 0; i < 2; i++)
    {
      assert_acquired (write);
      assert_acquired (read);
    }
  assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 2);
  assert_released (read);
  assert_released (read);
  assert_false (curator_lock_is_owned_by_current_thread (read));
  assert_true (curator_lock_is_owned_by_current_thread (write));
  assert_children (fixture, PATH, 1, 3000);
  assert_acquired (read);
  assert_released (write);
  assert_released (write);
  assert_true (curator_lock_is_owned_by_current_thread (read));
  assert_false (curator_lock_release (write, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_released (read);
  assert_no_residue (fixture, PATH, 3000);
}

/* These names are what tells the nodes of both sides apart. */
TEST (test_names_of_sides_in_a_path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  assert_null (curator_rw_lock_new (client, "/a__READ__b", NULL, 0, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_null (curator_rw_lock_new (client, "/x/__WRIT__", NULL, 0, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
}

/* A reference to one side keeps the pair alive; the last one frees it. */
TEST (test_sides_keep_the_pair)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  CuratorRwLock *rw_lock = rw_lock_new (client, PATH);
  g_autoptr (CuratorLock) read = curator_lock_ref (curator_rw_lock_get_read_lock (rw_lock));
  assert_acquired (curator_rw_lock_get_write_lock (rw_lock));
  assert_acquired (read);
  curator_rw_lock_unref (rw_lock);
  assert_true (curator_lock_is_owned_by_current_thread (read));
  assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 2);
  g_clear_pointer (&read, curator_lock_unref);
  assert_no_residue (fixture, PATH, 3000);
}

/* A writer that gives up must no longer block the readers behind it. */
TEST (test_readers_pass_when_the_writer_leaves)
{
  const char *path = "/rwf/leaves";
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  g_autoptr (Taking) reader = taking_of_lock (curator_rw_lock_get_read_lock (rw_lock));
  g_autoptr (Taking) writer =
      taking_start_lock (curator_rw_lock_get_write_lock (rw_lock), 1500, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  g_autoptr (Taking) behind =
      taking_start_lock (curator_rw_lock_get_read_lock (rw_lock), LONG_MS, NULL);
  taking_assert_waits (behind);
  assert_true (taking_wait (writer, LONG_MS));
  assert_curator_error (&writer->error, CURATOR_ERROR_TIMED_OUT);
  taking_assert_granted (behind);
  assert_int_equal (curator_lease_get_state (taking_lease (reader, 0)), CURATOR_LEASE_HELD);
  taking_give_back (reader);
  taking_give_back (behind);
  assert_no_residue (fixture, path, LONG_MS);
}

/* A writer whose session has expired must not be granted the read lock by its old write hold. */
TEST (test_p23_stale_writer_cannot_read)
{
  const char *path = "/rwf/stale";
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (CuratorRwLock) theirs = rw_lock_new (direct, path);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  CuratorLock *read = curator_rw_lock_get_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (rw_lock);
  assert_acquired (write);
  g_autoptr (Taking) next =
      taking_start_lock (curator_rw_lock_get_write_lock (theirs), LONG_MS, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  fixture_expire (fixture);
  taking_assert_granted (next);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_not_acquired (read, 1000, CURATOR_ERROR_LOCK_LOST);
  assert_children (fixture, path, 1, LONG_MS);
  assert_released (write);
  g_autoptr (Taking) reader = taking_start_lock (read, LONG_MS, NULL);
  taking_assert_waits (reader);
  taking_give_back (next);
  taking_assert_granted (reader);
  taking_give_back (reader);
  assert_no_residue (fixture, path, LONG_MS);
  curator_client_close (client);
}

/* The session expires before the writer's read node is created, and the client does not know
 * yet. */
TEST (test_p23_session_ends_before_the_downgrade)
{
  const char *path = "/rwf/between";
  g_autoptr (GError) error = NULL;
  gint64 dead = 0;
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorRwLock) theirs = rw_lock_new (direct, path);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  CuratorLock *write = curator_rw_lock_get_write_lock (rw_lock);
  assert_acquired (write);
  g_autoptr (Taking) next =
      taking_start_lock (curator_rw_lock_get_write_lock (theirs), LONG_MS, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  /* This client detects the expiry of its session only by its own clock. */
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (expire_last_session (fixture->proxy, fixture_server (fixture), &dead));
  taking_assert_granted (next);
  assert_false (curator_lock_acquire (curator_rw_lock_get_read_lock (rw_lock), 300, NULL, &error));
  assert_non_null (error);
  g_clear_error (&error);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_lease_state (held_lease (write), CURATOR_LEASE_LOST, LONG_MS);
  assert_released (write);
  taking_give_back (next);
  assert_no_residue (fixture, path, LONG_MS);
}

/* --- Curator's own tests, by their names: TestInterProcessReadWriteLock, TestLockACLs --------- */

/* testSetNodeData: it is copied, for either side. */
TEST (test_set_node_data)
{
  g_autoptr (GError) error = NULL;
  char payload[] = "payload";
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = curator_rw_lock_new (client, PATH, payload, 7, &error);
  assert_ok (rw_lock != NULL, &error);
  *payload = 'x';
  CuratorLock *sides[] = { curator_rw_lock_get_write_lock (rw_lock),
                           curator_rw_lock_get_read_lock (rw_lock) };
  for (gsize i = 0; i < G_N_ELEMENTS (sides); i++)
    {
      g_autoptr (CuratorLease) lease = lease_of (sides[i]);
      g_autoptr (GBytes) data = curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, &error);
      assert_ok (data != NULL, &error);
      assert_int_equal (g_bytes_get_size (data), 7);
      assert_memory_equal (g_bytes_get_data (data, NULL), "payload", 7);
    }
}

/* testGetParticipantNodes: 20 readers hold, 8 writers wait. */
TEST (test_get_participant_nodes)
{
  enum
  {
    READERS = 20,
    WRITERS = 8
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  CuratorLock *read = curator_rw_lock_get_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (rw_lock);
  Taking *takings[READERS + WRITERS];
  for (int i = 0; i < READERS + WRITERS; i++)
    takings[i] = i < READERS ? taking_of_lock (read) : taking_start_lock (write, 60000, NULL);
  assert_children (fixture, PATH, READERS + WRITERS, LONG_MS);
  g_auto (GStrv) readers =
      curator_lock_get_participant_nodes (read, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (readers != NULL, &error);
  g_auto (GStrv) writers =
      curator_lock_get_participant_nodes (write, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (writers != NULL, &error);
  assert_int_equal (g_strv_length (readers), READERS);
  assert_int_equal (g_strv_length (writers), WRITERS);
  for (int i = 0; i < READERS + WRITERS; i++)
    {
      taking_assert_granted (takings[i]);
      taking_give_back (takings[i]);
      taking_free (takings[i]);
    }
  assert_no_residue (fixture, PATH, 3000);
}

/* testThatUpgradingIsDisallowed: Java times out; here the call fails at once. */
TEST (test_that_upgrading_is_disallowed)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  CuratorLock *read = curator_rw_lock_get_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (rw_lock);
  assert_acquired (read);
  assert_not_acquired (write, 5000, CURATOR_ERROR_UNSUPPORTED);
  assert_children (fixture, PATH, 1, 3000);
  assert_released (read);
  assert_acquired (write);
  assert_released (write);
}

/* testThatDowngradingRespectsThreads: while one thread holds the write lock, no other thread may
 * read. */
TEST (test_that_downgrading_respects_threads)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  g_autoptr (Contender) writer =
      contender_start (curator_rw_lock_get_write_lock (rw_lock), LONG_MS, NULL);
  assert_true (contender_wait (writer, LONG_MS));
  assert_not_acquired (curator_rw_lock_get_read_lock (rw_lock), 500, CURATOR_ERROR_TIMED_OUT);
}

/* TestLockACLs.testLockACLs, testACLsCreatingParents: nodes and the parents created for them. */
TEST (test_lock_acls)
{
  g_autoptr (GError) error = NULL;
  const CuratorPermissions all_but_admin = CURATOR_PERMISSIONS_ALL & ~CURATOR_PERMISSIONS_ADMIN;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_add_acl (client, "ip", "127.0.0.0/8", all_but_admin);
  assert_ok (curator_client_set_namespace (client, "acls", &error), &error);
  client_start (client);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, "/parent/locks");
  g_autoptr (Taking) writer = taking_of_lock (curator_rw_lock_get_write_lock (rw_lock));
  g_autofree char *node =
      g_strconcat ("/acls", curator_lease_get_node_path (taking_lease (writer, 0)), NULL);
  const char *const paths[] = { "/acls", "/acls/parent", "/acls/parent/locks", node };
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      struct ACL_vector found = { 0 };
      assert_int_equal (raw_zk_get_acl (fixture->raw, paths[i], &found), ZOK);
      assert_int_equal (found.count, 1);
      assert_string_equal (found.data[0].id.scheme, "ip");
      assert_int_equal (found.data[0].perms, all_but_admin);
      deallocate_ACL_vector (&found);
    }
  taking_give_back (writer);
}

SUITE ("read-write lock", fixture_start_calm, fixture_stop)
