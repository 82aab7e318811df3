/* Children of fork(): every call is refused without blocking, and the parent is not affected. */
#include "integration/taking.h"

#include "base/fork_gate.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "support/held_lease.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Under sanitizers a fork is slow, and many forks find no more than few. ThreadSanitizer's own
 * locks do not survive a fork while other threads run. */
#if defined(__SANITIZE_THREAD__)
#define N_FORKS      100
#define N_CONTENDERS 0
#elif defined(__SANITIZE_ADDRESS__)
#define N_FORKS      150
#define N_CONTENDERS 4
#else
#define N_FORKS      1000
#define N_CONTENDERS 4
#endif
#define CHILD_SECONDS  60
#define MOST_PAUSE_US  2000
#define CHILD_IS_WRONG 1 /* exit code; the line number comes through the pipe */

/* One object of each type, created by the parent. */
typedef struct
{
  CuratorClient *client;
  CuratorLock *lock; /* held by the thread that forks */
  CuratorLease *lease;
  CuratorLease *free_lease;
  CuratorSemaphore *semaphore;
  CuratorRwLock *rw_lock;
  CuratorLock *multi_lock;
  CuratorLock *fixed;
  CuratorSharedCount *count;
} Things;

static gboolean
is_refused (gboolean success, GError **error)
{
  gboolean refused = !success && g_error_matches (*error, CURATOR_ERROR, CURATOR_ERROR_FORKED);
  g_clear_error (error);
  return refused;
}

static guint depth_of_child;

static guint
gate_depth (void)
{
  const guint depth = curator_gate_suspend ();
  curator_gate_resume (depth);
  return depth;
}

/* A callback may fork again, so the library is not inside the gate when it calls one. */
static void
note_refused (const GError *error, gboolean *refused)
{
  *refused = gate_depth () == depth_of_child
             && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_FORKED);
}

static void
on_lock (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  note_refused (error, user_data);
}

static void
on_release (CuratorLock *lock, const GError *error, gpointer user_data)
{
  note_refused (error, user_data);
}

static void
on_leases (CuratorSemaphore *semaphore, GPtrArray *leases, const GError *error, gpointer user_data)
{
  note_refused (error, user_data);
}

static void
on_one (CuratorSemaphore *semaphore, CuratorLease *lease, const GError *error, gpointer user_data)
{
  note_refused (error, user_data);
}

static void
on_returned (CuratorSemaphore *semaphore, const GError *error, gpointer user_data)
{
  note_refused (error, user_data);
}

static void
on_lease_release (CuratorLease *lease, const GError *error, gpointer user_data)
{
  note_refused (error, user_data);
}

static void
on_connected (CuratorClient *client, const GError *error, gpointer user_data)
{
  note_refused (error, user_data);
}

static void
on_closed (CuratorClient *client, gpointer told)
{
  *(gboolean *) told = gate_depth () == depth_of_child;
}

static void
on_inspected (CuratorClient *client, CuratorInspection *inspection, const GError *error,
              gpointer user_data)
{
  note_refused (error, user_data);
}

static void
on_nodes (CuratorLock *lock, char **nodes, const GError *error, gpointer user_data)
{
  note_refused (error, user_data);
}

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer user_data)
{
}

static void
on_lease_state (CuratorLease *lease, CuratorLeaseState state, gpointer user_data)
{
}

static void
on_count (CuratorSharedCount *count, gint32 value, gpointer user_data)
{
}

static void
on_revocation (CuratorLock *lock, gpointer user_data)
{
}

#define must(condition)                                                                            \
  do                                                                                               \
    {                                                                                              \
      if (!(condition))                                                                            \
        return __LINE__;                                                                           \
    }                                                                                              \
  while (0)
#define must_refuse(call) must (is_refused ((call), &error))

/* Each returns the line of the first failure, or 0. */
static int
check_client (const Things *things)
{
  GError *error = NULL;
  CuratorClient *client = things->client;
  guint64 counters[4];
  must_refuse (curator_client_start (client, &error));
  must_refuse (curator_client_block_until_connected (client, 100, NULL, &error));
  must_refuse (curator_client_inspect (client, "/fork/lock", CURATOR_WAIT_DEFAULT, NULL, &error)
               != NULL);
  gboolean refused = FALSE;
  curator_client_inspect_then (client, "/fork/lock", CURATOR_WAIT_DEFAULT, NULL, on_inspected,
                               &refused);
  must (refused);
  must_refuse (
      curator_client_find_locks (client, "/fork", 10, NULL, CURATOR_WAIT_DEFAULT, NULL, &error)
      != NULL);
  must_refuse (
      curator_client_inspect_all (client, "/fork", NULL, NULL, CURATOR_WAIT_DEFAULT, NULL, &error)
      != NULL);
  must_refuse (curator_client_attempt_revoke (client, "/fork/lock/node", CURATOR_WAIT_DEFAULT, NULL,
                                              &error));
  refused = FALSE;
  curator_client_block_until_connected_then (client, 100, NULL, on_connected, &refused);
  must (refused);
  gboolean told = FALSE;
  curator_client_close_then (client, on_closed, &told);
  must (told);
  must (curator_client_get_connection_state (client) == CURATOR_CONNECTION_STATE_LOST);
  must (curator_client_get_session_id (client) == 0);
  must (curator_client_get_session_timeout_ms (client) == 0);
  must (curator_client_add_state_listener (client, on_state, NULL, NULL) == 0);
  curator_client_remove_state_listener (client, 1);
  curator_client_get_counters (client, counters, G_N_ELEMENTS (counters));
  must_refuse (curator_mutex_new (client, "/fork/new", &error) != NULL);
  must_refuse (curator_semaphore_mutex_new (client, "/fork/new", &error) != NULL);
  must_refuse (curator_fixed_node_lock_new (client, "/fork/new", &error) != NULL);
  must_refuse (curator_semaphore_new (client, "/fork/new", 1, &error) != NULL);
  must_refuse (curator_rw_lock_new (client, "/fork/new", NULL, 0, &error) != NULL);
  must_refuse (curator_shared_count_new (client, "/fork/new", 1, &error) != NULL);
  return 0;
}

static int
check_lock (CuratorLock *lock, gboolean has_participants)
{
  GError *error = NULL;
  gboolean refused = FALSE;
  must_refuse (curator_lock_acquire (lock, 100, NULL, &error));
  must_refuse (curator_lock_acquire (lock, 0, NULL, &error));
  must_refuse (curator_lock_acquire_lease (lock, CURATOR_WAIT_FOREVER, NULL, &error) != NULL);
  must_refuse (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_lock, &refused);
  must (refused);
  refused = FALSE;
  curator_lock_release_then (lock, CURATOR_WAIT_DEFAULT, NULL, on_release, &refused);
  must (refused);
  curator_lock_release_then (lock, CURATOR_WAIT_DEFAULT, NULL, NULL, NULL);
  must (!curator_lock_is_acquired_in_this_process (lock));
  must (!curator_lock_is_owned_by_current_thread (lock));
  must (held_lease (lock) == NULL);
  if (has_participants)
    {
      must_refuse (curator_lock_get_participant_nodes (lock, CURATOR_WAIT_DEFAULT, NULL, &error)
                   != NULL);
      refused = FALSE;
      curator_lock_get_participant_nodes_then (lock, CURATOR_WAIT_DEFAULT, NULL, on_nodes,
                                               &refused);
      must (refused);
      must_refuse (curator_lock_make_revocable (lock, on_revocation, NULL, NULL, &error));
    }
  return 0;
}

static int
check_lease (CuratorLease *lease)
{
  GError *error = NULL;
  must (curator_lease_get_state (lease) == CURATOR_LEASE_LOST);
  must (curator_lease_get_remaining_ms (lease) == 0);
  must (curator_lease_get_fd (lease) == -1);
  must (curator_lease_get_fencing_token (lease) > 0);
  must (curator_lease_get_node_path (lease) != NULL);
  must (curator_lease_add_listener (lease, on_lease_state, NULL, NULL) == 0);
  curator_lease_remove_listener (lease, 1);
  must_refuse (curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, &error) != NULL);
  must_refuse (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error));
  gboolean refused = FALSE;
  curator_lease_release_then (lease, CURATOR_WAIT_DEFAULT, NULL, on_lease_release, &refused);
  must (refused);
  curator_lease_release_then (lease, CURATOR_WAIT_DEFAULT, NULL, NULL, NULL);
  return 0;
}

static int
check_semaphore (CuratorSemaphore *semaphore)
{
  GError *error = NULL;
  gboolean refused = FALSE;
  must_refuse (curator_semaphore_acquire (semaphore, CURATOR_WAIT_FOREVER, NULL, &error) != NULL);
  must_refuse (curator_semaphore_acquire_n (semaphore, 2, 100, NULL, &error) != NULL);
  must_refuse (
      curator_semaphore_get_participant_nodes (semaphore, CURATOR_WAIT_DEFAULT, NULL, &error)
      != NULL);
  must_refuse (curator_semaphore_make_revocable (semaphore, NULL, NULL, NULL, &error));
  curator_semaphore_acquire_then (semaphore, 1, 100, NULL, on_leases, &refused);
  must (refused);
  refused = FALSE;
  curator_semaphore_acquire_one_then (semaphore, 100, NULL, on_one, &refused);
  must (refused);
  refused = FALSE;
  g_autoptr (GPtrArray) no_leases = g_ptr_array_new ();
  curator_semaphore_return_all_then (semaphore, no_leases, 100, NULL, on_returned, &refused);
  must (refused);
  curator_semaphore_set_node_data (semaphore, "x", 1);
  must (curator_semaphore_get_max_leases (semaphore) == 0);
  return 0;
}

static int
check_count (CuratorSharedCount *count)
{
  GError *error = NULL;
  gint32 version;
  must_refuse (curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error));
  must_refuse (curator_shared_count_set (count, 1, CURATOR_WAIT_DEFAULT, NULL, &error));
  must_refuse (
      curator_shared_count_try_set (count, 0, 1, NULL, CURATOR_WAIT_DEFAULT, NULL, &error));
  must (!curator_shared_count_get_versioned (count, NULL, &version));
  must (curator_shared_count_get (count) == 0);
  must (curator_shared_count_add_listener (count, on_count, NULL, NULL) == 0);
  curator_shared_count_remove_listener (count, 1);
  curator_shared_count_close (count);
  return 0;
}

/* Drops the objects in the order in which a program would. */
static void
drop_all (const Things *things)
{
  curator_lease_unref (things->free_lease);
  curator_shared_count_unref (things->count);
  curator_lock_unref (things->fixed);
  curator_lock_unref (things->multi_lock);
  curator_rw_lock_unref (things->rw_lock);
  curator_semaphore_unref (things->semaphore);
  curator_lock_unref (things->lock);
  curator_client_close (things->client);
  curator_client_unref (things->client);
}

static int
check_all (const Things *things)
{
  int line = check_client (things);
  CuratorLock *const locks[] = { things->lock, things->fixed,
                                 curator_rw_lock_get_read_lock (things->rw_lock),
                                 curator_rw_lock_get_write_lock (things->rw_lock) };
  for (gsize i = 0; i < G_N_ELEMENTS (locks) && line == 0; i++)
    line = check_lock (locks[i], TRUE);
  line = line != 0 ? line : check_lock (things->multi_lock, FALSE);
  line = line != 0 ? line : check_lease (things->lease);
  line = line != 0 ? line : check_lease (things->free_lease);
  line = line != 0 ? line : check_semaphore (things->semaphore);
  line = line != 0 ? line : check_count (things->count);
  if (line == 0)
    drop_all (things);
  return line;
}

/* Forks; the child makes every call, and reports through the pipe a call that was not refused. */
static void
fork_once (const Things *things, int number)
{
  int ends[2];
  int line = -1;
  int status = 0;
  assert_int_equal (pipe (ends), 0);
  pid_t pid = fork ();
  if (pid == 0)
    {
      alarm (CHILD_SECONDS);
      depth_of_child = gate_depth ();
      line = check_all (things);
      _exit (write (ends[1], &line, sizeof line) == sizeof line && line == 0 ? 0 : CHILD_IS_WRONG);
    }
  assert_true (pid > 0);
  assert_int_equal (waitpid (pid, &status, 0), pid);
  close (ends[1]);
  if (read (ends[0], &line, sizeof line) != sizeof line)
    line = -1;
  close (ends[0]);
  if (!WIFEXITED (status) || WEXITSTATUS (status) != 0)
    fail_msg ("child %d: line %d, status 0x%x", number, line, status);
}

static Things
things_new (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  Things things = { .client = client, .lock = mutex_new (client, "/fork/lock") };
  CuratorLock *const members[] = { things.lock };
  things.semaphore = semaphore_new (client, "/fork/sem", 2);
  things.rw_lock = rw_lock_new (client, "/fork/rw");
  things.multi_lock = curator_multi_lock_new (members, G_N_ELEMENTS (members));
  things.fixed = curator_fixed_node_lock_new (client, "/fork/fixed/node", &error);
  assert_ok (things.fixed != NULL, &error);
  things.count = curator_shared_count_new (client, "/fork/count", 5, &error);
  assert_ok (things.count != NULL
                 && curator_shared_count_start (things.count, CURATOR_WAIT_DEFAULT, NULL, &error),
             &error);
  assert_acquired (things.lock);
  things.lease = held_lease (things.lock);
  things.free_lease = curator_semaphore_acquire (things.semaphore, LONG_MS, NULL, &error);
  assert_ok (things.free_lease != NULL, &error);
  return things;
}

/* The children have had no effect: same session, same holds, no listener called. */
static void
things_free (Fixture *fixture, Things *things, StateLog *log, gint64 session)
{
  g_autoptr (GError) error = NULL;
  assert_int_equal (curator_client_get_session_id (things->client), session);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_SUSPENDED), 0);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_LOST), 0);
  assert_true (curator_lock_is_owned_by_current_thread (things->lock));
  assert_int_equal (curator_lease_get_state (things->free_lease), CURATOR_LEASE_HELD);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/fork/lock"), 1);
  assert_released (things->lock);
  assert_ok (curator_lease_release (things->free_lease, CURATOR_WAIT_DEFAULT, NULL, &error),
             &error);
  curator_shared_count_close (things->count);
  assert_no_residue (fixture, "/fork/lock", LONG_MS);
  assert_no_residue (fixture, "/fork/sem/leases", LONG_MS);
  drop_all (things);
}

typedef struct
{
  const Things *things;
  int stop;
  int granted;
} Noise;

static void *
contend_in_circles (void *data)
{
  Noise *noise = data;
  g_autoptr (CuratorLock) lock = mutex_new (noise->things->client, "/fork/noise");
  while (!g_atomic_int_get (&noise->stop))
    {
      g_autoptr (CuratorLease) lease G_GNUC_UNUSED =
          curator_semaphore_acquire (noise->things->semaphore, 20, NULL, NULL);
      if (curator_lock_acquire (lock, 20, NULL, NULL))
        {
          g_atomic_int_inc (&noise->granted);
          curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
        }
    }
  return NULL;
}

/* Forks at random moments, while other threads are inside the library. */
TEST (test_p32_fork_at_random_moments)
{
#ifdef __SANITIZE_ADDRESS__
  /* If another thread was inside the sanitizer's allocator, the child of a fork() deadlocks
   * there. */
  print_message ("left out: AddressSanitizer's allocator does not survive such a fork\n");
  skip ();
#endif
  CuratorClient *client = client_new (fixture_server (fixture));
  client_start (client);
  g_autoptr (StateLog) log = state_log_new (client);
  const gint64 session = curator_client_get_session_id (client);
  Things things = things_new (client);
  Noise noise = { &things, 0, 0 };
  pthread_t threads[N_CONTENDERS + 1];
  for (int i = 0; i < N_CONTENDERS; i++)
    pthread_create (&threads[i], NULL, contend_in_circles, &noise);
  for (int i = 0; i < N_FORKS; i++)
    {
      g_usleep ((gulong) g_random_int_range (0, MOST_PAUSE_US));
      fork_once (&things, i);
    }
  g_atomic_int_set (&noise.stop, 1);
  for (int i = 0; i < N_CONTENDERS; i++)
    pthread_join (threads[i], NULL);
  print_message ("%d forks during %d grants\n", N_FORKS, noise.granted);
  assert_true (noise.granted > 0 || N_CONTENDERS == 0);
  things_free (fixture, &things, log, session);
  assert_no_residue (fixture, "/fork/noise", LONG_MS);
}

/* The worst moment, forced: the client's mutex is locked, so in the child it is locked forever. */
TEST (test_p32_fork_while_locked)
{
  CuratorClient *client = client_connect (fixture_server (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  const gint64 session = curator_client_get_session_id (client);
  Things things = things_new (client);
  curator_client_lock (client);
  fork_once (&things, 0);
  curator_client_unlock (client);
  things_free (fixture, &things, log, session);
}

SUITE ("fork", fixture_start_calm, fixture_stop)
