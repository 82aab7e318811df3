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
#include "lock/own_watch.h"
#include "lock/reentry.h"
#include "lock/revocation.h"
#include "lock/wire.h"
#include "mutex/mutex-private.h"

#include <string.h>

typedef struct
{
  guint64 owner; /* first: the table's key */
  guint64 count CURATOR_GUARDED;
  CuratorLease *lease;
} LockData;

typedef struct
{
  CuratorMutex *mutex;
  guint64 owner;
  CuratorOpDone done;
  gpointer data;
} PendingAcquire;

static CuratorMutex *
mutex_of (CuratorLock *lock)
{
  return (CuratorMutex *) lock;
}

static void
free_lock_data (gpointer data)
{
  LockData *hold = data;
  curator_lease_unref (hold->lease);
  g_free (hold);
}

static CURATOR_LOCKED LockData *
find_hold (CuratorMutex *mutex, guint64 owner)
{
  return mutex->lock_data != NULL ? g_hash_table_lookup (mutex->lock_data, &owner) : NULL;
}

/* An uncontended lock would need a new table for each acquisition. So the client has one for its
 * next hold. */
static const CuratorAttachmentType spare_table = { sizeof (GHashTable *),
                                                   curator_attached_clear_table };

/* Takes hold. The table exists only while the lock is held. */
static CURATOR_LOCKED void
add_hold (CuratorMutex *mutex, LockData *hold)
{
  if (mutex->lock_data == NULL)
    mutex->lock_data = g_steal_pointer (
        (GHashTable **) curator_attached (&mutex->lock.client->attached, &spare_table));
  if (mutex->lock_data == NULL)
    mutex->lock_data = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, free_lock_data);
  g_hash_table_insert (mutex->lock_data, &hold->owner, hold);
}

static CURATOR_LOCKED void
drop_empty_table (CuratorMutex *mutex)
{
  if (g_hash_table_size (mutex->lock_data) > 0)
    return;
  GHashTable **spare = curator_attached (&mutex->lock.client->attached, &spare_table);
  if (*spare == NULL)
    *spare = g_steal_pointer (&mutex->lock_data);
  g_clear_pointer (&mutex->lock_data, g_hash_table_unref);
}

/* LOST, or RELEASED through its lease. */
static CURATOR_LOCKED gboolean
is_over (const LockData *hold)
{
  return curator_lease_state_now (hold->lease) >= CURATOR_LEASE_LOST;
}

/* Called at the grant. */
static CURATOR_LOCKED void
record_hold (CuratorLease *lease, gpointer data)
{
  const PendingAcquire *pending = data;
  LockData *hold = g_new (LockData, 1);
  hold->owner = pending->owner;
  hold->count = 1;
  hold->lease = lease;
  add_hold (pending->mutex, hold);
}

static void
on_granted (CuratorOp *op, gpointer result, const GError *error, gpointer data)
{
  PendingAcquire *pending = data;
  pending->done (op, result, error, pending->data);
  curator_lock_unref (&pending->mutex->lock);
  g_free (pending);
}

static CURATOR_UNLOCKED gboolean
mutex_reenter (CuratorLock *lock, guint64 owner, GError **error)
{
  CuratorMutex *mutex = mutex_of (lock);

  curator_client_lock (lock->client);
  LockData *hold = find_hold (mutex, owner);
  const gboolean lost = hold != NULL && is_over (hold);
  if (hold != NULL && !lost) {
    hold->count++;
    /* A multi-lock may enter for a thread that waits. */
    if (owner == curator_thread_id ())
      curator_reentry_remember (lock, &hold->count, hold->lease);
  }
  if (lost)
    g_propagate_prefixed_error (error,
                                curator_lease_over_error (hold->lease, "the hold of this thread"),
                                "%s: ", curator_lock_internals_shown (mutex->internals));
  curator_client_unlock (lock->client);
  return hold != NULL;
}

static CuratorOp *
start_attempt (CuratorLock *lock, guint64 owner, CuratorAttemptSpec spec)
{
  CuratorMutex *mutex = mutex_of (lock);
  GError *error = NULL;
  CuratorNodeRequest *request = NULL;

  if (mutex->kind->new_request != NULL) {
    request = mutex->kind->new_request (mutex, owner, &error);
    if (request == NULL)
      return curator_lock_finished_op (lock->client, error, spec.done, spec.data);
  }
  PendingAcquire *pending = g_new (PendingAcquire, 1);
  pending->mutex = mutex_of (curator_lock_ref (lock));
  pending->owner = owner;
  pending->done = spec.done;
  pending->data = spec.data;
  spec.request = request;
  spec.granted = owner != 0 ? record_hold : NULL;
  spec.done = on_granted;
  spec.data = pending;
  return curator_lock_internals_attempt (mutex->internals, &spec);
}

static CuratorOp *
mutex_acquire (CuratorLock *lock, guint64 owner, gint64 deadline_us, gboolean once,
               CuratorOpDone done, gpointer data)
{
  const CuratorAttemptSpec spec = {
    .deadline_us = deadline_us, .once = once, .done = done, .data = data
  };
  return start_attempt (lock, owner, spec);
}

static gboolean
mutex_asks_user (CuratorLock *lock)
{
  return mutex_of (lock)->internals->driver->funcs.creates_the_lock != NULL;
}

static CuratorOp *
mutex_acquire_together (CuratorLock *lock, guint64 owner, gint64 deadline_us,
                        CuratorAttemptHook *hook, CuratorOpDone done, gpointer data)
{
  const CuratorAttemptSpec spec = {
    .deadline_us = deadline_us, .batch_hook = hook, .done = done, .data = data
  };
  return start_attempt (lock, owner, spec);
}

static CURATOR_UNLOCKED CuratorLockInternals *
mutex_get_queue (CuratorLock *lock)
{
  CuratorLockInternals *internals = mutex_of (lock)->internals;

  curator_client_lock (lock->client);
  const gboolean is_exclusive = curator_lock_internals_is_exclusive (internals);
  curator_client_unlock (lock->client);
  return is_exclusive ? internals : NULL;
}

/* Ends one level. Returns the hold if it was the last one. */
static CURATOR_LOCKED LockData *
leave (CuratorMutex *mutex, guint64 owner, GError **error)
{
  LockData *hold = find_hold (mutex, owner);

  if (hold == NULL)
    g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_NOT_OWNER,
                 "%s: release: this thread does not hold the %s",
                 curator_lock_internals_shown (mutex->internals), mutex->kind->name);
  if (hold == NULL || --hold->count > 0)
    return NULL;
  curator_reentry_forget (&mutex->lock);
  g_hash_table_steal (mutex->lock_data, &owner);
  drop_empty_table (mutex);
  return hold;
}

static CURATOR_UNLOCKED void
mutex_release (CuratorLock *lock, guint64 owner, CuratorOp *op)
{
  GError *error = NULL;

  curator_client_lock (lock->client);
  LockData *last = leave (mutex_of (lock), owner, &error);
  if (last != NULL)
    curator_lease_end (last->lease, op);
  else
    curator_release_end (op, error);
  curator_client_unlock (lock->client);
  g_clear_pointer (&last, free_lock_data);
}

static CURATOR_UNLOCKED CuratorLease *
mutex_leave (CuratorLock *lock, guint64 owner, GError **error)
{
  curator_client_lock (lock->client);
  LockData *last = leave (mutex_of (lock), owner, error);
  curator_client_unlock (lock->client);
  CuratorLease *lease = last != NULL ? curator_lease_ref (last->lease) : NULL;
  g_clear_pointer (&last, free_lock_data);
  return lease;
}

static CURATOR_UNLOCKED gboolean
mutex_is_acquired (CuratorLock *lock)
{
  CuratorMutex *mutex = mutex_of (lock);
  gboolean acquired = FALSE;
  GHashTableIter iter;
  gpointer hold;

  curator_client_lock (lock->client);
  if (mutex->lock_data != NULL) {
    g_hash_table_iter_init (&iter, mutex->lock_data);
    while (!acquired && g_hash_table_iter_next (&iter, NULL, &hold))
      acquired = !is_over (hold);
  }
  curator_client_unlock (lock->client);
  return acquired;
}

static CURATOR_UNLOCKED gboolean
mutex_is_owned (CuratorLock *lock, guint64 owner)
{
  curator_client_lock (lock->client);
  const LockData *hold = find_hold (mutex_of (lock), owner);
  const gboolean owned = hold != NULL && !is_over (hold);
  curator_client_unlock (lock->client);
  return owned;
}

static CuratorParticipants
mutex_get_participants (CuratorLock *lock)
{
  const CuratorMutex *mutex = mutex_of (lock);
  return (CuratorParticipants){ mutex->internals, mutex->kind->accept, mutex->kind->is_one_node };
}

static CURATOR_UNLOCKED CuratorLease *
mutex_dup_lease (CuratorLock *lock, guint64 owner)
{
  curator_client_lock (lock->client);
  const LockData *hold = find_hold (mutex_of (lock), owner);
  CuratorLease *lease = hold != NULL ? curator_lease_ref (hold->lease) : NULL;
  curator_client_unlock (lock->client);
  return lease;
}

CURATOR_DESTROY_FUNC (unref_lock, curator_lock_unref)

static void
call_revocation_listener (GCallback listener, gpointer lock, CuratorLease *lease,
                          gpointer user_data)
{
  ((CuratorRevocationListener) listener) (lock, user_data);
}

static gboolean
mutex_make_revocable (CuratorLock *lock, CuratorRevocationListener listener, gpointer user_data,
                      GDestroyNotify destroy, GError **error)
{
  CuratorLockInternals *internals = mutex_of (lock)->internals;
  if (listener != NULL) {
    const CuratorRevocationSpec spec = { .owner = lock,
                                         .owner_refs = lock->refs,
                                         .unref_owner = unref_lock,
                                         .listener = G_CALLBACK (listener),
                                         .user_data = user_data,
                                         .destroy = destroy,
                                         .call = call_revocation_listener };
    curator_revocation_set (internals, &spec);
  } else {
    curator_revocation_clear (internals);
  }
  return TRUE;
}

static void
mutex_finalize (CuratorLock *lock)
{
  CuratorMutex *mutex = mutex_of (lock);
  curator_revocation_clear (mutex->internals);
  g_clear_pointer (&mutex->lock_data, g_hash_table_unref);
  curator_lock_internals_unref (mutex->internals);
}

CuratorLock *
curator_mutex_new_of_kind (CuratorClient *client, const CuratorMutexKind *kind,
                           CuratorLockInternals *internals)
{
  static const CuratorLockClass klass = { .name = "mutex",
                                          .acquire = mutex_acquire,
                                          .asks_user = mutex_asks_user,
                                          .reenter = mutex_reenter,
                                          .release = mutex_release,
                                          .leave = mutex_leave,
                                          .get_queue = mutex_get_queue,
                                          .acquire_together = mutex_acquire_together,
                                          .is_acquired = mutex_is_acquired,
                                          .is_owned = mutex_is_owned,
                                          .get_participants = mutex_get_participants,
                                          .dup_lease = mutex_dup_lease,
                                          .make_revocable = mutex_make_revocable,
                                          .finalize = mutex_finalize };
  CuratorMutex *mutex = curator_lock_alloc (sizeof *mutex, &klass, client);
  mutex->kind = kind;
  mutex->internals = internals;
  return &mutex->lock;
}

static gboolean
check_lock_name (const char *lock_name, GError **error)
{
  const gboolean fits = lock_name != NULL && *lock_name != '\0' && strlen (lock_name) <= 64;

  if (fits && strchr (lock_name, '/') == NULL) {
    g_autofree char *path = curator_path_join ("/", lock_name);
    return curator_path_validate (path, error);
  }
  return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                         fits ? "a lock name has no slash" : "a lock name has 1 to 64 bytes");
}

CuratorLock *
curator_mutex_new_with_driver (CuratorClient *client, const char *path, const char *lock_name,
                               guint max_leases, CuratorLockDriver *driver, GError **error)
{
  static const CuratorMutexKind kind = { .name = "mutex" };

  g_return_val_if_fail (CURATOR_IS_CLIENT (client), NULL);
  CURATOR_CHECK_CALL (driver == NULL || CURATOR_IS_LOCK_DRIVER (driver), error, NULL);
  if (!curator_lock_check_path (client, path, error) || !check_lock_name (lock_name, error))
    return NULL;
  if (max_leases < 1 || max_leases > G_MAXINT) {
    g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                 "a lock cannot have %u leases", max_leases);
    return NULL;
  }
  return curator_mutex_new_of_kind (
      client, &kind,
      curator_lock_internals_new (client, path, lock_name, (int) max_leases,
                                  driver != NULL ? driver : curator_lock_driver_standard (), NULL));
}

CuratorLock *
curator_mutex_new (CuratorClient *client, const char *path, GError **error)
{
  return curator_mutex_new_with_driver (client, path, CURATOR_LOCK_NAME, 1, NULL, error);
}
