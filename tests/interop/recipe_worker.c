/* The C side of a contest: threads that take turns with a recipe and record their events. See
 * contest.h.
 *
 * usage: recipe_worker CONNECT PATH THREADS ACQUISITIONS HOLD-MS RECIPE LIMIT PROCESS DIRECTORY */
#include "contest.h"
#include "support/held_lease.h"
#include "support/waiting.h"

#include <curator/curator.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  const char *recipe;
  CuratorLock *lock; /* of a recipe with one lock */
  CuratorRwLock *rw_lock;
  CuratorSemaphore *semaphore;
  CuratorSharedCount *count;
  GPtrArray *apart; /* locks that are acquired one after another, by hand */
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
  if (lease != NULL)
    {
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

static gboolean
take_lease (Turns *turns, RecordKind kind)
{
  const Work *work = turns->work;
  g_autoptr (GPtrArray) several = NULL;
  g_autoptr (CuratorLease) one = NULL;
  note (turns, RECORD_ACQUIRE_CALLED, kind, NULL);
  if (work->semaphore != NULL)
    {
      several = curator_semaphore_acquire_n (work->semaphore, work->permits, CURATOR_WAIT_FOREVER,
                                             NULL, &turns->error);
      one = several != NULL ? curator_lease_ref (g_ptr_array_index (several, 0)) : NULL;
    }
  else
    {
      one = curator_lock_acquire_lease (work->lock, CURATOR_WAIT_FOREVER, NULL, &turns->error);
    }
  if (one == NULL)
    return FALSE;
  note (turns, RECORD_ACQUIRE_RETURNED, kind, one);
  wait_ms (work->hold_ms);
  note (turns, RECORD_RELEASE_CALLED, kind, one);
  if (several != NULL)
    curator_semaphore_return_all (work->semaphore, several, CURATOR_WAIT_DEFAULT, NULL, NULL);
  const gboolean released = curator_lease_release (one, CURATOR_WAIT_DEFAULT, NULL, &turns->error);
  note (turns, RECORD_RELEASE_RETURNED, kind, one);
  return released;
}

static gboolean
release_in_reverse (GPtrArray *leases, GError **error)
{
  gboolean released = TRUE;
  for (guint i = leases->len; released && i-- > 0;)
    released =
        curator_lease_release (g_ptr_array_index (leases, i), CURATOR_WAIT_DEFAULT, NULL, error);
  return released;
}

static gboolean
take_all_apart (Turns *turns)
{
  GPtrArray *locks = turns->work->apart;
  g_autoptr (GPtrArray) leases =
      g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);
  note (turns, RECORD_ACQUIRE_CALLED, RECORD_MUTEX, NULL);
  for (guint i = 0; i < locks->len; i++)
    {
      CuratorLease *lease = curator_lock_acquire_lease (g_ptr_array_index (locks, i),
                                                        CURATOR_WAIT_FOREVER, NULL, &turns->error);
      if (lease == NULL)
        return FALSE;
      g_ptr_array_add (leases, lease);
    }
  CuratorLease *first = g_ptr_array_index (leases, 0);
  note (turns, RECORD_ACQUIRE_RETURNED, RECORD_MUTEX, first);
  wait_ms (turns->work->hold_ms);
  note (turns, RECORD_RELEASE_CALLED, RECORD_MUTEX, first);
  const gboolean released = release_in_reverse (leases, &turns->error);
  note (turns, RECORD_RELEASE_RETURNED, RECORD_MUTEX, first);
  return released;
}

static gboolean
take_turn (Turns *turns, int i)
{
  const Work *work = turns->work;
  if (work->apart != NULL)
    return take_all_apart (turns);
  /* A hold of the thread and a lease in turn. */
  if (strcmp (work->recipe, "mutex") == 0 && i % 2 == 0)
    return enter (turns, work->lock, RECORD_MUTEX) && leave (turns, work->lock, RECORD_MUTEX);
  if (work->rw_lock == NULL)
    return take_lease (turns, work->semaphore != NULL ? RECORD_SEMAPHORE : RECORD_MUTEX);
  CuratorLock *read = curator_rw_lock_get_read_lock (work->rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (work->rw_lock);
  if (strcmp (work->recipe, "downgrade") == 0)
    {
      if (!enter (turns, write, RECORD_WRITE) || !enter (turns, read, RECORD_READ)
          || !leave (turns, write, RECORD_WRITE))
        return FALSE;
      wait_ms (work->hold_ms);
      return leave (turns, read, RECORD_READ);
    }
  const gboolean writes = strcmp (work->recipe, "write") == 0
                          || (strcmp (work->recipe, "rw") == 0 && (i + turns->number) % 5 == 0);
  return enter (turns, writes ? write : read, writes ? RECORD_WRITE : RECORD_READ)
         && leave (turns, writes ? write : read, writes ? RECORD_WRITE : RECORD_READ);
}

static void *
take_turns (void *data)
{
  Turns *turns = data;
  for (int i = 0; i < turns->work->acquisitions; i++)
    {
      if (!take_turn (turns, i))
        {
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
open_apart (Work *work, CuratorClient *client, char **paths, GError **error)
{
  work->apart = g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lock_unref);
  for (; *paths != NULL; paths++)
    {
      CuratorLock *lock = curator_mutex_new (client, *paths, error);
      if (lock == NULL)
        return FALSE;
      g_ptr_array_add (work->apart, lock);
    }
  return TRUE;
}

/* words: of "paths:N:HOW". */
static gboolean
open_paths (Work *work, CuratorClient *client, const char *path, char **words, GError **error)
{
  const gboolean is_sorted = g_strcmp0 (words[2], "sorted") == 0;
  g_auto (GStrv) paths = paths_below (path, atoi (words[1]), is_sorted ? work->process : 0);
  const char *const *constant = (const char *const *) paths;

  if (g_strcmp0 (words[2], "apart") == 0)
    return open_apart (work, client, paths, error);
  work->lock = is_sorted ? curator_multi_lock_new_for_paths_sorted (client, constant, error)
                         : curator_multi_lock_new_for_paths (client, constant, error);
  return work->lock != NULL;
}

static gboolean
open_recipe (Work *work, CuratorClient *client, const char *path, GError **error)
{
  g_auto (GStrv) words = g_strsplit (work->recipe, ":", -1);
  work->permits = 1;
  if (strcmp (words[0], "paths") == 0)
    return open_paths (work, client, path, words, error);
  if (strcmp (words[0], "mutex") == 0)
    {
      work->lock = curator_mutex_new (client, path, error);
    }
  else if (strcmp (words[0], "semmutex") == 0)
    {
      work->lock = curator_semaphore_mutex_new (client, path, error);
    }
  else if (strcmp (words[0], "multi") == 0)
    {
      work->lock = multi_new (client, path, error);
    }
  else if (strcmp (words[0], "semaphore") == 0)
    {
      work->semaphore = curator_semaphore_new (client, path, atoi (words[1]), error);
      work->permits = words[2] != NULL ? atoi (words[2]) : 1;
    }
  else if (strcmp (words[0], "counted") == 0)
    {
      work->count = curator_shared_count_new (client, words[1], 1, error);
      if (work->count != NULL
          && curator_shared_count_start (work->count, CURATOR_WAIT_DEFAULT, NULL, error))
        {
          work->semaphore =
              curator_semaphore_new_with_shared_count (client, path, work->count, error);
        }
    }
  else
    {
      work->rw_lock = curator_rw_lock_new (client, path, NULL, 0, error);
    }
  return work->lock != NULL || work->semaphore != NULL || work->rw_lock != NULL;
}

static void
close_recipe (Work *work)
{
  g_clear_pointer (&work->lock, curator_lock_unref);
  g_clear_pointer (&work->semaphore, curator_semaphore_unref);
  g_clear_pointer (&work->count, curator_shared_count_unref);
  g_clear_pointer (&work->apart, g_ptr_array_unref);
  g_clear_pointer (&work->rw_lock, curator_rw_lock_unref);
}

static gboolean
run_threads (const Work *work, int n, const char *directory)
{
  gboolean fine = TRUE;
  g_autofree Turns *turns = g_new0 (Turns, n);
  g_autofree pthread_t *threads = g_new0 (pthread_t, n);
  for (int i = 0; i < n; i++)
    {
      turns[i].work = work;
      turns[i].number = i;
      turns[i].recorder =
          recorder_open (directory, work->process, i + 1, (gsize) work->acquisitions * 8);
      pthread_create (&threads[i], NULL, take_turns, &turns[i]);
    }
  for (int i = 0; i < n; i++)
    {
      void *failed = NULL;
      pthread_join (threads[i], &failed);
      fine = fine && failed == NULL;
      recorder_close (turns[i].recorder);
      g_clear_error (&turns[i].error);
    }
  return fine;
}

static gboolean
set_tls (CuratorClient *client, const char *folder, GError **error)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autofree char *ca = g_build_filename (folder, "ca.pem", NULL);
  g_autofree char *certificate = g_build_filename (folder, "client.pem", NULL);
  g_autofree char *key = g_build_filename (folder, "client.key", NULL);
  return curator_tls_set_ca_file (tls, ca, error)
         && curator_tls_set_certificate_files (tls, certificate, key, NULL, error)
         && curator_client_set_tls (client, tls, error);
}

static gboolean
set_sasl (CuratorClient *client, const char *credentials, GError **error)
{
  g_auto (GStrv) words = g_strsplit (credentials, ":", 2);
  return curator_client_set_sasl_digest (client, words[0], words[1], error);
}

static gboolean
set_up (CuratorClient *client, GError **error)
{
  const char *tls = g_getenv (CONTEST_TLS);
  const char *sasl = g_getenv (CONTEST_SASL);
  curator_client_set_compression (client, g_getenv (CONTEST_COMPRESSION) != NULL);
  return (tls == NULL || set_tls (client, tls, error))
         && (sasl == NULL || set_sasl (client, sasl, error));
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
  g_autoptr (CuratorClient) client = curator_client_new (argv[1], NULL);
  gboolean fine = set_up (client, &error) && curator_client_start (client, &error)
                  && open_recipe (&work, client, argv[2], &error)
                  && run_threads (&work, atoi (argv[3]), argv[9]);
  if (error != NULL)
    g_printerr ("%s\n", error->message);
  close_recipe (&work);
  curator_client_close (client);
  return fine ? 0 : 1;
}
