/* InterProcessSemaphoreMutex: a semaphore of one lease, used as a mutex without re-entrance.
 *
 * Mirrors InterProcessSemaphoreMutex. Threads: any may acquire and any may release; the one hold of
 * the object is guarded by the client's mutex.
 */
#include "curator/mutex.h"

#include "base/guards.h"
#include "core/monitor.h"
#include "lock/lease-private.h"
#include "lock/lock-private.h"
#include "semaphore/semaphore-private.h"

typedef struct
{
  CuratorLock lock;
  CuratorSemaphore *semaphore;
  CuratorLease *lease CURATOR_GUARDED; /* the object's hold, LOST ones included */
} SemaphoreMutex;

typedef struct
{
  SemaphoreMutex *mutex;
  guint64 owner;
  CuratorOpDone done;
  gpointer data;
} PendingAcquire;

static SemaphoreMutex *
mutex_of (CuratorLock *lock)
{
  return (SemaphoreMutex *) lock;
}

static CURATOR_LOCKED GError *
over_error (const SemaphoreMutex *mutex)
{
  return curator_lease_over_error (mutex->lease, "the hold of this object");
}

/* A lost hold that was not released yet must not be taken for the new one. */
static CURATOR_UNLOCKED void
on_granted (CuratorOp *op, gpointer result, const GError *error, gpointer data)
{
  PendingAcquire *pending = data;
  SemaphoreMutex *mutex = pending->mutex;
  CuratorLease *lease = curator_semaphore_only_lease (result);
  g_autoptr (GError) refused = NULL;

  if (lease != NULL && pending->owner != 0) {
    curator_client_lock (mutex->lock.client);
    if (mutex->lease == NULL)
      mutex->lease = g_steal_pointer (&lease);
    else
      refused = over_error (mutex);
    curator_client_unlock (mutex->lock.client);
    g_clear_pointer (&lease, curator_lease_unref);
  }
  pending->done (op, lease, refused != NULL ? refused : error, pending->data);
  curator_lock_unref (&mutex->lock);
  g_free (pending);
}

static CURATOR_UNLOCKED CuratorOp *
sm_acquire (CuratorLock *lock, guint64 owner, const CuratorAttemptSpec *spec)
{
  SemaphoreMutex *mutex = mutex_of (lock);

  curator_client_lock (lock->client);
  const gboolean lost = owner != 0 && mutex->lease != NULL
                        && curator_lease_state_now (mutex->lease) >= CURATOR_LEASE_STATE_LOST;
  GError *error = lost ? over_error (mutex) : NULL;
  curator_client_unlock (lock->client);
  if (lost)
    return curator_lock_refused_op (lock->client, error, spec);
  PendingAcquire *pending = g_new (PendingAcquire, 1);
  *pending = (PendingAcquire){ mutex_of (curator_lock_ref (lock)), owner, spec->done, spec->data };
  return curator_semaphore_begin (mutex->semaphore, 1, spec->deadline_us, spec->once, on_granted,
                                  pending);
}

static CURATOR_UNLOCKED void
sm_release (CuratorLock *lock, guint64 owner, CuratorOp *op)
{
  SemaphoreMutex *mutex = mutex_of (lock);

  curator_client_lock (lock->client);
  CuratorLease *lease = g_steal_pointer (&mutex->lease);
  if (lease != NULL)
    curator_lease_end (lease, op);
  else
    curator_release_end (op, g_error_new (CURATOR_ERROR, CURATOR_ERROR_NOT_OWNER,
                                          "%s: release: the semaphore mutex is not acquired",
                                          lock->internals->shown));
  curator_client_unlock (lock->client);
  g_clear_pointer (&lease, curator_lease_unref);
}

static CURATOR_UNLOCKED gboolean
sm_is_acquired (CuratorLock *lock)
{
  SemaphoreMutex *mutex = mutex_of (lock);
  return CURATOR_WITH_MUTEX (lock->client, mutex->lease != NULL
                                               && curator_lease_state_now (mutex->lease)
                                                      < CURATOR_LEASE_STATE_LOST);
}

static gboolean
sm_is_owned (CuratorLock *lock, guint64 owner)
{
  return sm_is_acquired (lock);
}

static CURATOR_UNLOCKED CuratorLease *
sm_dup_lease (CuratorLock *lock, guint64 owner)
{
  SemaphoreMutex *mutex = mutex_of (lock);
  return CURATOR_WITH_MUTEX (lock->client,
                             mutex->lease != NULL ? curator_lease_ref (mutex->lease) : NULL);
}

static void
sm_finalize (CuratorLock *lock)
{
  SemaphoreMutex *mutex = mutex_of (lock);
  curator_not_shared ();
  g_clear_pointer (&mutex->lease, curator_lease_unref);
  curator_semaphore_unref (mutex->semaphore);
}

CuratorLock *
curator_semaphore_mutex_new (CuratorClient *client, const char *path, GError **error)
{
  static const CuratorLockClass klass = { .name = "semaphore mutex",
                                          .acquire = sm_acquire,
                                          .release = sm_release,
                                          .is_acquired = sm_is_acquired,
                                          .is_owned = sm_is_owned,
                                          .dup_lease = sm_dup_lease,
                                          .finalize = sm_finalize };
  CuratorSemaphore *semaphore = curator_semaphore_new (client, path, 1, error);

  if (semaphore == NULL)
    return NULL;
  SemaphoreMutex *mutex = curator_lock_alloc (sizeof *mutex, &klass, client);
  mutex->semaphore = semaphore;
  mutex->lock.internals = semaphore->leases;
  return &mutex->lock;
}
