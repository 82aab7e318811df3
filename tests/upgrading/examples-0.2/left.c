/* What the patch leaves to the compiler: an error in each line that says so. */
#include <curator/curator.h>

CuratorLease *left (CuratorLock *lock, CuratorLease **kept);

CuratorLease *
left (CuratorLock *lock, CuratorLease **kept)
{
  CuratorLease *lease = curator_lock_get_lease (lock); /* left: it is returned */
  *kept = curator_lock_get_lease (lock);               /* left */
  if (curator_lease_get_remaining_ms (curator_lock_get_lease (lock)) < 100) /* left */
    return NULL;
  gboolean (*release) (CuratorLock *, GError **) = curator_lock_release; /* left */
  release (lock, NULL);
  return lease;
}

int unread (CuratorLock *lock);

int
unread (CuratorLock *lock)
{
  gboolean released;
  const gboolean both[] = { released = curator_lock_release (lock, NULL), FALSE }; /* left */
  curator_lock_release (lock, NULL);                                               /* left */
  return released + both[0];
}
