/* What a lock was given: its path, its client, and the maximum of its holds.
 *
 * Curator has no counterpart. Threads: any; the maximum is guarded by the client's mutex, the rest
 * is constant.
 */
#include "core/monitor.h"
#include "lock/lock-private.h"

/* NULL: a multi-lock's, which has none of its own. */
static CuratorLockInternals *
internals_of (const CuratorLock *lock)
{
  const CuratorLockClass *klass = lock->klass;
  return klass->get_participants != NULL ? klass->get_participants ((CuratorLock *) lock).internals
                                         : NULL;
}

const char *
curator_lock_get_path (const CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), NULL);
  const CuratorLockInternals *internals = internals_of (lock);
  return internals != NULL ? curator_lock_internals_shown (internals) : NULL;
}

CuratorClient *
curator_lock_get_client (const CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), NULL);
  return internals_of (lock) != NULL ? lock->client : NULL;
}

static CURATOR_UNLOCKED void
set_max_hold (CuratorLock *lock, gint64 max_hold_ms)
{
  CuratorLockInternals *internals = internals_of (lock);

  if (internals == NULL) {
    lock->klass->set_max_hold (lock, max_hold_ms);
    return;
  }
  curator_client_lock (lock->client);
  internals->max_hold_ms = max_hold_ms;
  curator_client_unlock (lock->client);
}

void
curator_lock_set_max_hold (CuratorLock *lock, gint64 max_hold_ms)
{
  g_return_if_fail (CURATOR_IS_LOCK (lock));
  g_return_if_fail (max_hold_ms == CURATOR_WAIT_FOREVER || max_hold_ms > 0);
  if (lock->client != NULL && curator_client_check_forked (lock->client, NULL))
    set_max_hold (lock, max_hold_ms);
}

gint64
curator_lock_get_max_hold_ms (const CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), 0);
  const CuratorLockInternals *internals = internals_of (lock);

  if (lock->client == NULL)
    return CURATOR_WAIT_FOREVER;
  if (!curator_client_check_forked (lock->client, NULL))
    return 0;
  return internals != NULL ? CURATOR_WITH_MUTEX (lock->client, internals->max_hold_ms)
                           : lock->klass->get_max_hold_ms (lock);
}
