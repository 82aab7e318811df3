/* InterProcessMutex: a re-entrant lock whose holds belong to threads.
 *
 * Threads: any; the table of holds is guarded by the client's mutex.
 *
 * NOTES: threads are identified by numbers of our own that are never reused, because the system
 * gives a new thread the id of a dead one. A hold that is LOST stays in the table until its thread
 * has released every level, so that code further down cannot take itself for protected.
 */
#include "curator/mutex.h"

#include "base/guards.h"
#include "base/path.h"
#include "base/tag.h"
#include "core/monitor.h"
#include "lock/lease-private.h"
#include "lock/reentry.h"
#include "lock/revocation.h"
#include "lock/wire.h"
#include "mutex/mutex-private.h"

#include <string.h>

typedef struct
{
  CuratorLock lock;
  const char *kind;              /* its name */
  CuratorNewRequest new_request; /* NULL: the driver describes the node */
  /* thread number -> LockData, NULL while there is none */
  GHashTable *lock_data CURATOR_GUARDED;
} CuratorMutex;

typedef struct
{
  guint64 owner; /* first: the table's key */
  guint64 count CURATOR_GUARDED;
  CuratorLease *lease;
} LockData;

typedef struct
{
  CuratorLock *lock; /* a reference */
  guint64 owner;
  CuratorOpDone done;
  gpointer data;
} PendingAcquire;

static void
free_lock_data (gpointer data)
{
  LockData *hold = data;
  curator_lease_unref (hold->lease);
  g_free (hold);
}

static CURATOR_LOCKED LockData *
find_hold (CuratorLock *lock, guint64 owner)
{
  GHashTable *lock_data = ((CuratorMutex *) lock)->lock_data;
  return lock_data != NULL ? g_hash_table_lookup (lock_data, &owner) : NULL;
}

/* An uncontended lock would need a new table for each acquisition. So the client has one for its
 * next hold. */
static const CuratorAttachmentType spare_table = { sizeof (GHashTable *),
                                                   curator_attached_clear_table };

/* Neither LOST, nor RELEASED through its lease. */
static CURATOR_LOCKED gboolean
is_held (const LockData *hold)
{
  return hold != NULL && curator_lease_state_now (hold->lease) < CURATOR_LEASE_STATE_LOST;
}

/* Called at the grant. The table exists only while the lock is held. */
static CURATOR_LOCKED void
record_hold (CuratorLease *lease, gpointer data)
{
  const PendingAcquire *pending = data;
  CuratorMutex *mutex = (CuratorMutex *) pending->lock;
  LockData *hold = g_new (LockData, 1);

  *hold = (LockData){ .owner = pending->owner, .count = 1, .lease = lease };
  if (mutex->lock_data == NULL)
    mutex->lock_data = g_steal_pointer (
        (GHashTable **) curator_attached (&mutex->lock.client->attached, &spare_table));
  if (mutex->lock_data == NULL)
    mutex->lock_data = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, free_lock_data);
  g_hash_table_insert (mutex->lock_data, &hold->owner, hold);
}

static void
on_granted (CuratorOp *op, gpointer result, const GError *error, gpointer data)
{
  PendingAcquire *pending = data;
  pending->done (op, result, error, pending->data);
  curator_lock_unref (pending->lock);
  g_free (pending);
}

static CURATOR_UNLOCKED gboolean
mutex_reenter (CuratorLock *lock, guint64 owner, GError **error)
{
  curator_client_lock (lock->client);
  LockData *hold = find_hold (lock, owner);
  if (is_held (hold)) {
    hold->count++;
    /* A multi-lock may enter for a thread that waits. */
    if (owner == curator_thread_id ())
      curator_reentry_remember (lock, &hold->count, hold->lease);
  } else if (hold != NULL) {
    g_propagate_prefixed_error (error,
                                curator_lease_over_error (hold->lease, "the hold of this thread"),
                                "%s: ", lock->internals->shown);
  }
  curator_client_unlock (lock->client);
  return hold != NULL;
}

static CuratorOp *
mutex_acquire (CuratorLock *lock, guint64 owner, const CuratorAttemptSpec *spec)
{
  const CuratorNewRequest new_request = ((CuratorMutex *) lock)->new_request;
  CuratorAttemptSpec ours = *spec;
  GError *error = NULL;

  if (new_request != NULL) {
    ours.request = new_request (lock, owner, &error);
    if (ours.request == NULL)
      return curator_lock_refused_op (lock->client, error, spec);
  }
  PendingAcquire *pending = g_new (PendingAcquire, 1);
  *pending = (PendingAcquire){ curator_lock_ref (lock), owner, spec->done, spec->data };
  ours.granted = owner != 0 ? record_hold : NULL;
  ours.done = on_granted;
  ours.data = pending;
  return curator_lock_internals_attempt (lock->internals, &ours);
}

/* Ends one level. Returns the lease if it was the last one. */
static CURATOR_LOCKED CuratorLease *
leave (CuratorLock *lock, guint64 owner, GError **error)
{
  CuratorMutex *mutex = (CuratorMutex *) lock;
  LockData *hold = find_hold (lock, owner);

  if (hold == NULL)
    g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_NOT_OWNER,
                 "%s: release: this thread does not hold the %s", lock->internals->shown,
                 mutex->kind);
  if (hold == NULL || --hold->count > 0)
    return NULL;
  CuratorLease *lease = hold->lease;
  curator_reentry_forget (lock);
  g_hash_table_steal (mutex->lock_data, &owner);
  g_free (hold);
  if (g_hash_table_size (mutex->lock_data) > 0)
    return lease;
  GHashTable **spare = curator_attached (&lock->client->attached, &spare_table);
  if (*spare == NULL)
    *spare = g_steal_pointer (&mutex->lock_data);
  g_clear_pointer (&mutex->lock_data, g_hash_table_unref);
  return lease;
}

static CURATOR_UNLOCKED void
mutex_release (CuratorLock *lock, guint64 owner, CuratorOp *op)
{
  GError *error = NULL;

  curator_client_lock (lock->client);
  CuratorLease *last = leave (lock, owner, &error);
  if (last != NULL)
    curator_lease_end (last, op);
  else
    curator_release_end (op, error);
  curator_client_unlock (lock->client);
  g_clear_pointer (&last, curator_lease_unref);
}

static CURATOR_UNLOCKED CuratorLease *
mutex_leave (CuratorLock *lock, guint64 owner, GError **error)
{
  return CURATOR_WITH_MUTEX (lock->client, leave (lock, owner, error));
}

static CURATOR_UNLOCKED gboolean
mutex_is_acquired (CuratorLock *lock)
{
  CuratorMutex *mutex = (CuratorMutex *) lock;
  gboolean acquired = FALSE;
  GHashTableIter iter;
  gpointer hold;

  curator_client_lock (lock->client);
  if (mutex->lock_data != NULL) {
    g_hash_table_iter_init (&iter, mutex->lock_data);
    while (!acquired && g_hash_table_iter_next (&iter, NULL, &hold))
      acquired = is_held (hold);
  }
  curator_client_unlock (lock->client);
  return acquired;
}

static CURATOR_UNLOCKED gboolean
mutex_is_owned (CuratorLock *lock, guint64 owner)
{
  return CURATOR_WITH_MUTEX (lock->client, is_held (find_hold (lock, owner)));
}

static CURATOR_UNLOCKED CuratorLease *
mutex_dup_lease (CuratorLock *lock, guint64 owner)
{
  curator_client_lock (lock->client);
  const LockData *hold = find_hold (lock, owner);
  CuratorLease *lease = hold != NULL ? curator_lease_ref (hold->lease) : NULL;
  curator_client_unlock (lock->client);
  return lease;
}

static void
mutex_finalize (CuratorLock *lock)
{
  curator_revocation_set (lock->internals, NULL);
  g_clear_pointer (&((CuratorMutex *) lock)->lock_data, g_hash_table_unref);
  curator_lock_internals_unref (lock->internals);
}

CuratorLock *
curator_mutex_new_of_kind (const char *kind, CuratorNewRequest new_request,
                           CuratorLockInternals *internals)
{
  static const CuratorLockClass klass = { .name = "mutex",
                                          .acquire = mutex_acquire,
                                          .reenter = mutex_reenter,
                                          .release = mutex_release,
                                          .leave = mutex_leave,
                                          .is_acquired = mutex_is_acquired,
                                          .is_owned = mutex_is_owned,
                                          .dup_lease = mutex_dup_lease,
                                          .is_revocable = TRUE,
                                          .finalize = mutex_finalize };
  CuratorMutex *mutex = curator_lock_alloc (sizeof *mutex, &klass, internals->client);
  mutex->kind = kind;
  mutex->new_request = new_request;
  mutex->lock.internals = internals;
  return &mutex->lock;
}

static gboolean
check_arguments (CuratorClient *client, const char *path, const char *lock_name, guint max_leases,
                 GError **error)
{
  if (!curator_lock_check_path (client, path, error))
    return FALSE;
  if (lock_name == NULL || *lock_name == '\0' || strlen (lock_name) > 64)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "a lock name has 1 to 64 bytes");
  if (strchr (lock_name, '/') != NULL)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "a lock name has no slash");
  g_autofree char *name_as_path = curator_path_join ("/", lock_name);
  if (!curator_path_validate (name_as_path, error))
    return FALSE;
  return (max_leases >= 1 && max_leases <= G_MAXINT)
         || CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "a lock cannot have %u leases",
                            max_leases);
}

CuratorLock *
curator_mutex_new_with_driver (CuratorClient *client, const char *path, const char *lock_name,
                               guint max_leases, CuratorLockDriver *driver, GError **error)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), NULL);
  CURATOR_CHECK_CALL (driver == NULL || CURATOR_IS_LOCK_DRIVER (driver), error, NULL);
  if (!check_arguments (client, path, lock_name, max_leases, error))
    return NULL;
  CuratorLockInternals *internals =
      curator_lock_internals_new (client, path, path, lock_name, (int) max_leases,
                                  driver != NULL ? curator_lock_driver_ref (driver) : NULL);
  return curator_mutex_new_of_kind ("mutex", NULL, internals);
}

CuratorLock *
curator_mutex_new (CuratorClient *client, const char *path, GError **error)
{
  return curator_mutex_new_with_driver (client, path, CURATOR_LOCK_NAME, 1, NULL, error);
}
