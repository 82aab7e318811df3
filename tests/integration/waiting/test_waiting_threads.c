/* How many threads a client has, and how they wait.
 *
 * Where many threads wait, they do so by shared futexes: a wake-up by a private one walks through a
 * part of all threads of the process that wait by one. The first callers use private ones, which
 * take less time.
 *
 * Linux shows the system call in which a thread waits, with its arguments. The threads of
 * libzookeeper wait as it decides.
 */
#include "integration/fixture.h"

#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>

#define PATH      "/waiting/threads"
#define N_CLIENTS 2
/* Of a client with a state listener and one for messages: callbacks, states and session work. */
#define N_LANES 3
/* The first callers of a process wait by private futexes. */
#define N_FIRST   128
#define N_CALLERS (N_FIRST + 40)

typedef struct
{
  guint lanes;         /* threads of ours that wait by a futex */
  guint private_lanes; /* and of them by a private one */
  guint callers;       /* other threads that wait by a shared futex */
} Waits;

static gboolean
read_task (const char *task, const char *file, char **text)
{
  g_autofree char *path = g_build_filename ("/proc/self/task", task, file, NULL);
  return g_file_get_contents (path, text, NULL, NULL);
}

/* A thread may end meanwhile. */
static void
look_at_thread (const char *task, Waits *waits)
{
  g_autofree char *name = NULL;
  g_autofree char *call = NULL;
  long number = -1;
  unsigned long address;
  unsigned long operation;

  if (!read_task (task, "comm", &name) || !read_task (task, "syscall", &call)
      || sscanf (call, "%ld %lx %lx", &number, &address, &operation) != 3 || number != SYS_futex)
    return;
  const gboolean is_private = (operation & FUTEX_PRIVATE_FLAG) != 0;
  if (g_str_has_prefix (name, "curator-")) {
    waits->lanes++;
    waits->private_lanes += is_private ? 1 : 0;
  } else {
    waits->callers += is_private ? 0 : 1;
  }
}

/* A mutex is waited for by a private futex, but not for long. */
static gboolean
all_wait_by_shared_ones (Waits *waits)
{
  g_autoptr (GDir) tasks = g_dir_open ("/proc/self/task", 0, NULL);
  const char *task;

  *waits = (Waits){ 0 };
  while ((task = g_dir_read_name (tasks)) != NULL)
    look_at_thread (task, waits);
  return waits->lanes >= N_CLIENTS * N_LANES && waits->callers == N_CALLERS + 1 - N_FIRST
         && waits->private_lanes == 0;
}

static void
ignore_state (CuratorClient *client, CuratorConnectionState state, gpointer user_data)
{
}

static void
ignore_error (CuratorClient *client, const GError *error, gpointer user_data)
{
}

static void *
take_turn (void *lock)
{
  return GINT_TO_POINTER (curator_lock_acquire (lock, LONG_MS, NULL, NULL)
                          && curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

/* The main thread has a seat, too. */
TEST (test_by_shared_futexes)
{
  g_autoptr (CuratorClient) holder = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) waiter = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) held = mutex_new (holder, PATH);
  g_autoptr (CuratorLock) wanted = mutex_new (waiter, PATH);
  pthread_t threads[N_CALLERS];
  int n_turns = 0;
  Waits waits;

  curator_client_add_state_listener (holder, ignore_state, NULL, NULL);
  curator_client_add_state_listener (waiter, ignore_state, NULL, NULL);
  curator_client_add_connection_error_listener (holder, ignore_error, NULL, NULL);
  curator_client_add_connection_error_listener (waiter, ignore_error, NULL, NULL);
  assert_acquired (held);
  for (int i = 0; i < N_CALLERS; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, take_turn, wanted), 0);
  if (!holds_within (all_wait_by_shared_ones (&waits), LONG_MS)) {
    fail_msg ("%u threads of ours wait, %u of them by a private futex; %u callers by a shared one",
              waits.lanes, waits.private_lanes, waits.callers);
  }
  assert_released (held);
  for (int i = 0; i < N_CALLERS; i++) {
    void *took_turn;
    pthread_join (threads[i], &took_turn);
    n_turns += GPOINTER_TO_INT (took_turn) != 0 ? 1 : 0;
  }
  assert_int_equal (n_turns, N_CALLERS);
}

/* --- their number ----------------------------------------------------------------------------- */

/* Those of the process that are not among these. Threads of an earlier client may still end. */
static GHashTable *
list_threads (GHashTable *but)
{
  g_autoptr (GDir) tasks = g_dir_open ("/proc/self/task", 0, NULL);
  GHashTable *threads = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const char *task;

  while ((task = g_dir_read_name (tasks)) != NULL)
    if (but == NULL || !g_hash_table_contains (but, task))
      g_hash_table_add (threads, g_strdup (task));
  return threads;
}

static guint
count_threads (GHashTable *before)
{
  g_autoptr (GHashTable) threads = list_threads (before);
  return g_hash_table_size (threads);
}

/* Those that look a name up end with the answer. */
static void
assert_threads (GHashTable *before, guint more)
{
  if (!holds_within (count_threads (before) == more, LONG_MS))
    fail_msg ("%u threads more, not %u", count_threads (before), more);
}

static void
note_lease (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  g_atomic_pointer_set ((CuratorLease **) user_data, lease);
}

/* Four without functions of the program, two of them libzookeeper's; one more for each kind of
 * function. */
TEST (test_threads_of_a_client_at_rest)
{
  g_autoptr (GHashTable) before = list_threads (NULL);
  CuratorClient *client = client_connect (fixture_server (fixture));
  CuratorLock *lock = mutex_new (client, PATH);
  g_autoptr (GError) error = NULL;
  CuratorLease *lease = NULL;

  assert_acquired (lock);
  assert_threads (before, 4);
  assert_ok (curator_lock_release (lock, LONG_MS, NULL, &error), &error);
  assert_threads (before, 4);
  curator_client_add_state_listener (client, ignore_state, NULL, NULL);
  assert_threads (before, 5);
  curator_lock_acquire_then (lock, LONG_MS, NULL, note_lease, &lease);
  assert_soon (g_atomic_pointer_get (&lease) != NULL);
  assert_threads (before, 6);
  curator_lease_unref (lease);
  curator_lock_unref (lock);
  curator_client_unref (client);
  assert_threads (before, 0);
}

SUITE ("waiting threads", fixture_start_calm, fixture_stop)
