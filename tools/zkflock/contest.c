/* Acquires the lock that the options describe. Waits for it in the main loop. */
#include "contest.h"

#include <string.h>

struct _Contest
{
  char **paths;                /* in byte order */
  CuratorLock *lock;           /* NULL for a semaphore */
  CuratorSemaphore *semaphore; /* NULL for a lock */
  ContestDone done;
  ContestRevoked revoked;
  gpointer data;
};

static int
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static CuratorLock *
make_lock (const Options *options, CuratorClient *client, const char *path, GError **error)
{
  if (options->mode == MODE_MUTEX)
    return curator_mutex_new (client, path, error);
  g_autoptr (CuratorRwLock) pair = curator_rw_lock_new (client, path, NULL, 0, error);
  if (pair == NULL)
    return NULL;
  return curator_lock_ref (options->mode == MODE_READ ? curator_rw_lock_get_read_lock (pair)
                                                      : curator_rw_lock_get_write_lock (pair));
}

static void
unref_lock (gpointer lock)
{
  curator_lock_unref (lock);
}

static CuratorLock *
make_locks (const Options *options, CuratorClient *client, char **paths, GError **error)
{
  g_autoptr (GPtrArray) locks = g_ptr_array_new_with_free_func (unref_lock);

  for (gsize i = 0; paths[i] != NULL; i++) {
    if (i > 0 && strcmp (paths[i], paths[i - 1]) == 0) {
      g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                           "a path is given twice: the second hold would wait for the first");
      return NULL;
    }
    CuratorLock *lock = make_lock (options, client, paths[i], error);
    if (lock == NULL)
      return NULL;
    g_ptr_array_add (locks, lock);
  }
  return locks->len == 1 ? curator_lock_ref (g_ptr_array_index (locks, 0))
                         : curator_multi_lock_new ((CuratorLock *const *) locks->pdata, locks->len);
}

static void
on_lock (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Contest *contest = data;
  contest->done (lease, error, contest->data);
}

static void
on_one (CuratorSemaphore *semaphore, CuratorLease *lease, const GError *error, gpointer data)
{
  Contest *contest = data;
  contest->done (lease, error, contest->data);
}

static void
on_lock_revoked (CuratorLock *lock, gpointer data)
{
  Contest *contest = data;
  contest->revoked (contest->data);
}

static void
on_lease_revoked (CuratorSemaphore *semaphore, CuratorLease *lease, gpointer data)
{
  Contest *contest = data;
  contest->revoked (contest->data);
}

static gboolean
create_recipe (Contest *contest, const Options *options, CuratorClient *client, GError **error)
{
  if (options->mode == MODE_SEMAPHORE) {
    contest->semaphore = curator_semaphore_new (client, contest->paths[0], options->leases, error);
    return contest->semaphore != NULL
           && (!options->revocable
               || curator_semaphore_make_revocable (contest->semaphore, on_lease_revoked, contest,
                                                    NULL, error));
  }
  contest->lock = make_locks (options, client, contest->paths, error);
  return contest->lock != NULL
         && (!options->revocable
             || curator_lock_make_revocable (contest->lock, on_lock_revoked, contest, NULL, error));
}

Contest *
contest_start (const Options *options, CuratorClient *client, gint64 wait_ms,
               GCancellable *cancellable, ContestDone done, ContestRevoked revoked, gpointer data,
               GError **error)
{
  Contest *contest = g_new0 (Contest, 1);

  contest->paths = g_strdupv (options->paths);
  contest->done = done;
  contest->revoked = revoked;
  contest->data = data;
  qsort (contest->paths, g_strv_length (contest->paths), sizeof *contest->paths, compare_strings);
  if (!create_recipe (contest, options, client, error)) {
    contest_free (contest);
    return NULL;
  }
  if (contest->semaphore != NULL)
    curator_semaphore_acquire_then (contest->semaphore, wait_ms, cancellable, on_one, contest);
  else
    curator_lock_acquire_then (contest->lock, wait_ms, cancellable, on_lock, contest);
  return contest;
}

void
contest_free (Contest *contest)
{
  g_clear_pointer (&contest->lock, curator_lock_unref);
  g_clear_pointer (&contest->semaphore, curator_semaphore_unref);
  g_strfreev (contest->paths);
  g_free (contest);
}

const char *
contest_get_path (Contest *contest)
{
  return contest->paths[0];
}
