/* Borrowed leases: each form that gets an owner. */
#include <curator/curator.h>

CuratorLease *leases (CuratorLock *lock, CuratorLock *other, gpointer data);

CuratorLease *
leases (CuratorLock *lock, CuratorLock *other, gpointer data)
{
  CuratorLease *lease = curator_lock_get_lease (lock);
  if (lease == NULL)
    return NULL;
  guint64 token = curator_lease_get_fencing_token (curator_lock_get_lease (lock));
  const char *name = curator_lease_get_node_name (curator_lock_get_lease (other));
  if (token > 1)
    g_print ("%s\n", curator_lease_get_node_name (curator_lock_get_lease (lock)));
  curator_lease_add_listener (curator_lock_get_lease (other), data, NULL, NULL);
  g_print ("%s %d\n", name, (int) curator_lease_get_state (lease));
  return curator_lease_ref (curator_lock_get_lease (lock));
}
