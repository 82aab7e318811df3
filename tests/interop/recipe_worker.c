/* The C side of a contest: threads that take turns with a recipe and record their events. See
 * contest.h.
 *
 * usage: recipe_worker CONNECT PATH THREADS ACQUISITIONS HOLD-MS RECIPE LIMIT PROCESS DIRECTORY */
#include "contest.h"
#include "faults/security.h"
#include "support/held_lease.h"
#include "support/waiting.h"

#include <curator/curator.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  const char *recipe;
  GPtrArray *locks; /* acquired one after another; or one of the next two */
  CuratorRwLock *rw_lock;
  CuratorSemaphore *semaphore;
  CuratorSharedCount *count;
  int permits;
  int limit;
  int acquisitions;
  int hold_ms;
  int process;
} Work;

typedef struct
{
  const Work *work;
  Recorder *recorder;
  int number;
  GError *error;
} Turns;

static void
note (Turns *turns, RecordOp op, RecordKind kind, CuratorLease *lease)
{
  RecordEvent event = { .op = (guint8) op,
                        .kind = (guint8) kind,
                        .lock = CONTEST_LOCK,
                        .timeout_ms = -1,
                        .permits = (gint16) turns->work->permits,
                        .limit = (gint16) turns->work->limit };
  if (lease != NULL) {
    event.token = curator_lease_get_fencing_token (lease);
    event.session = curator_lease_get_session_id (lease);
  }
  recorder_add (turns->recorder, event);
}

static gboolean
enter (Turns *turns, CuratorLock *lock, RecordKind kind)
{
  note (turns, RECORD_ACQUIRE_CALLED, kind, NULL);
  if (!curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, &turns->error))
    return FALSE;
  note (turns, RECORD_ACQUIRE_RETURNED, kind, held_lease (lock));
  wait_ms (turns->work->hold_ms);
  return TRUE;
}

static gboolean
leave (Turns *turns, CuratorLock *lock, RecordKind kind)
{
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  note (turns, RECORD_RELEASE_CALLED, kind, lease);
  const gboolean released = curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &turns->error);
  note (turns, RECORD_RELEASE_RETURNED, kind, lease);
  return released;
}

/* Of all locks, or so many of the semaphore. */
static GPtrArray *
acquire_leases (const Work *work, GError **error)
{
  if (work->semaphore != NULL)
    return curator_semaphore_acquire_n (work->semaphore, work->permits, CURATOR_WAIT_FOREVER, NULL,
                                        error);
  g_autoptr (GPtrArray) leases =
      g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);
  for (guint i = 0; i < work->locks->len; i++) {
    CuratorLease *lease = curator_lock_acquire_lease (g_ptr_array_index (work->locks, i),
                                                      CURATOR_WAIT_FOREVER, NULL, error);
    if (lease == NULL)
      return NULL;
    g_ptr_array_add (leases, lease);
  }
  return g_steal_pointer (&leases);
}

static gboolean
take_leases (Turns *turns, RecordKind kind)
{
  note (turns, RECORD_ACQUIRE_CALLED, kind, NULL);
  g_autoptr (GPtrArray) leases = acquire_leases (turns->work, &turns->error);
  if (leases == NULL)
    return FALSE;
  CuratorLease *first = g_ptr_array_index (leases, 0);
  note (turns, RECORD_ACQUIRE_RETURNED, kind, first);
  wait_ms (turns->work->hold_ms);
  note (turns, RECORD_RELEASE_CALLED, kind, first);
  gboolean released = TRUE;
  for (guint i = leases->len; released && i-- > 0;)
    released = curator_lease_release (g_ptr_array_index (leases, i), CURATOR_WAIT_DEFAULT, NULL,
                                      &turns->error);
  note (turns, RECORD_RELEASE_RETURNED, kind, first);
  return released;
}

static gboolean
take_turn (Turns *turns, int i)
{
  const Work *work = turns->work;
  /* A hold of the thread and a lease in turn. */
  if (strcmp (work->recipe, "mutex") == 0 && i % 2 == 0) {
    CuratorLock *lock = g_ptr_array_index (work->locks, 0);
    return enter (turns, lock, RECORD_MUTEX) && leave (turns, lock, RECORD_MUTEX);
  }
  if (work->rw_lock == NULL)
    return take_leases (turns, work->semaphore != NULL ? RECORD_SEMAPHORE : RECORD_MUTEX);
  CuratorLock *read = curator_rw_lock_get_read_lock (work->rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (work->rw_lock);
  const gboolean downgrades = strcmp (work->recipe, "downgrade") == 0;
  if (downgrades && turns->number % 2 == 0) {
    if (!enter (turns, write, RECORD_WRITE) || !enter (turns, read, RECORD_READ)
        || !leave (turns, write, RECORD_WRITE))
      return FALSE;
    wait_ms (work->hold_ms);
    return leave (turns, read, RECORD_READ);
  }
  const gboolean writes = downgrades || strcmp (work->recipe, "write") == 0
                          || (strcmp (work->recipe, "rw") == 0 && (i + turns->number) % 5 == 0);
  return enter (turns, writes ? write : read, writes ? RECORD_WRITE : RECORD_READ)
         && leave (turns, writes ? write : read, writes ? RECORD_WRITE : RECORD_READ);
}

static void *
take_turns (void *data)
{
  Turns *turns = data;
  for (int i = 0; i < turns->work->acquisitions; i++) {
    if (!take_turn (turns, i)) {
      g_printerr ("turn %d: %s\n", i, turns->error->message);
      return turns;
    }
  }
  return NULL;
}

static CuratorLock *
multi_new (CuratorClient *client, const char *path, GError **error)
{
  g_autofree char *second = g_strconcat (path, "-second", NULL);
  g_autofree char *third = g_strconcat (path, "-third", NULL);
  g_autoptr (CuratorLock) mutex = curator_mutex_new (client, path, error);
  g_autoptr (CuratorLock) semaphore_mutex = curator_semaphore_mutex_new (client, second, error);
  g_autoptr (CuratorRwLock) rw_lock = curator_rw_lock_new (client, third, NULL, 0, error);
  if (mutex == NULL || semaphore_mutex == NULL || rw_lock == NULL)
    return NULL;
  CuratorLock *const locks[] = { mutex, semaphore_mutex, curator_rw_lock_get_write_lock (rw_lock) };
  return curator_multi_lock_new (locks, G_N_ELEMENTS (locks));
}

/* path/0, path/1, ..., the first of them being path/(start mod n). */
static char **
paths_below (const char *path, int n, int start)
{
  char **paths = g_new0 (char *, n + 1);
  for (int i = 0; i < n; i++)
    paths[i] = g_strdup_printf ("%s/%d", path, (start + i) % n);
  return paths;
}

static gboolean
add (Work *work, CuratorLock *lock)
{
  if (lock != NULL)
    g_ptr_array_add (work->locks, lock);
  return lock != NULL;
}

/* words: of "paths:N:HOW". */
static gboolean
open_paths (Work *work, CuratorClient *client, const char *path, char **words, GError **error)
{
  const gboolean is_sorted = g_strcmp0 (words[2], "sorted") == 0;
  g_auto (GStrv) paths = paths_below (path, atoi (words[1]), is_sorted ? work->process : 0);
  const char *const *constant = (const char *const *) paths;

  if (g_strcmp0 (words[2], "apart") != 0)
    return add (work, is_sorted ? curator_multi_lock_new_for_paths_sorted (client, constant, error)
                                : curator_multi_lock_new_for_paths (client, constant, error));
  for (; *constant != NULL; constant++)
    if (!add (work, curator_mutex_new (client, *constant, error)))
      return FALSE;
  return TRUE;
}

static gboolean
open_recipe (Work *work, CuratorClient *client, const char *path, GError **error)
{
  g_auto (GStrv) words = g_strsplit (work->recipe, ":", -1);
  work->locks = g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lock_unref);
  work->permits = 1;
  if (strcmp (words[0], "paths") == 0)
    return open_paths (work, client, path, words, error);
  if (strcmp (words[0], "mutex") == 0)
    return add (work, curator_mutex_new (client, path, error));
  if (strcmp (words[0], "semmutex") == 0)
    return add (work, curator_semaphore_mutex_new (client, path, error));
  if (strcmp (words[0], "multi") == 0)
    return add (work, multi_new (client, path, error));
  if (strcmp (words[0], "semaphore") == 0) {
    work->semaphore = curator_semaphore_new (client, path, atoi (words[1]), error);
    work->permits = words[2] != NULL ? atoi (words[2]) : 1;
  } else if (strcmp (words[0], "counted") == 0) {
    work->count = curator_shared_count_new (client, words[1], 1, error);
    if (work->count != NULL
        && curator_shared_count_start (work->count, CURATOR_WAIT_DEFAULT, NULL, error))
      work->semaphore = curator_semaphore_new_with_shared_count (client, path, work->count, error);
  } else {
    work->rw_lock = curator_rw_lock_new (client, path, NULL, 0, error);
  }
  return work->semaphore != NULL || work->rw_lock != NULL;
}

static void
close_recipe (Work *work)
{
  g_clear_pointer (&work->locks, g_ptr_array_unref);
  g_clear_pointer (&work->semaphore, curator_semaphore_unref);
  g_clear_pointer (&work->count, curator_shared_count_unref);
  g_clear_pointer (&work->rw_lock, curator_rw_lock_unref);
}

static gboolean
run_threads (const Work *work, int n, const char *directory)
{
  gboolean fine = TRUE;
  g_autofree Turns *turns = g_new0 (Turns, n);
  g_autofree pthread_t *threads = g_new0 (pthread_t, n);
  for (int i = 0; i < n; i++) {
    turns[i].work = work;
    turns[i].number = i;
    turns[i].recorder =
        recorder_open (directory, work->process, i + 1, (gsize) work->acquisitions * 8);
    pthread_create (&threads[i], NULL, take_turns, &turns[i]);
  }
  for (int i = 0; i < n; i++) {
    void *failed = NULL;
    pthread_join (threads[i], &failed);
    fine = fine && failed == NULL;
    recorder_close (turns[i].recorder);
    g_clear_error (&turns[i].error);
  }
  return fine;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (argc != 10)
    return 64;
  Work work = { .recipe = argv[6],
                .acquisitions = atoi (argv[4]),
                .hold_ms = atoi (argv[5]),
                .limit = atoi (argv[7]),
                .process = atoi (argv[8]) };
  g_autoptr (CuratorClient) client = security_client_new (argv[1], NULL);
  curator_client_set_compression (client, g_getenv (CONTEST_COMPRESSION) != NULL);
  gboolean fine = curator_client_start (client, &error)
                  && open_recipe (&work, client, argv[2], &error)
                  && run_threads (&work, atoi (argv[3]), argv[9]);
  if (error != NULL)
    g_printerr ("%s\n", error->message);
  close_recipe (&work);
  curator_client_close (client);
  return fine ? 0 : 1;
}
