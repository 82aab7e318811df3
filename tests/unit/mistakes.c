/* The seven mistakes of a developer who ported a service from Java. A name or a sentence led to
 * each. What comes of them now:
 *
 *   1  a read_lock () that locks nothing             a warning: here, and in misuses.c
 *   2  _async taken for GIO's                        warnings: here
 *   3  an ACL without libzookeeper's header          an error; right without it: here
 *   4  a release that is given no time, and waits    right: cpp/test_mistakes.cpp
 *   5  INVALID_ARGUMENT for what was started twice   right: there
 *   6  a release in an event loop needs a thread     right: there
 *   7  try_lock_for () that throws in an outage      right: there
 *
 * check_mistakes compiles each of the first three alone, by a number that begins with the one
 * above, and what is right in its place. */
#include <curator/curator.h>

void mistake_read_lock (CuratorRwLock *pair);
void mistake_then (CuratorLock *lock);
void mistake_acl (CuratorClient *client);

void
mistake_read_lock (CuratorRwLock *pair)
{
#if MISTAKE == 11 /* unused-result */
  curator_rw_lock_get_read_lock (pair);
#elif MISTAKE == 12 /* implicit-function-declaration */
  curator_rw_lock_read_lock (pair);
#else
  if (curator_lock_acquire (curator_rw_lock_get_read_lock (pair), CURATOR_WAIT_FOREVER, NULL, NULL))
    curator_lock_release (curator_rw_lock_get_read_lock (pair), CURATOR_WAIT_DEFAULT, NULL, NULL);
#endif
}

#if MISTAKE == 21 || MISTAKE == 22
static void
on_ready (GObject *source, GAsyncResult *result, gpointer lock)
{
#if MISTAKE == 21 /* implicit-function-declaration */
  (void) curator_lock_acquire_finish (lock, result, NULL);
#endif
}
#else
static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  g_clear_pointer (&lease, curator_lease_unref);
}
#endif

void
mistake_then (CuratorLock *lock)
{
#if MISTAKE == 21
  (void) on_ready;
#elif MISTAKE == 22 /* incompatible-(function-)?pointer-types */
  curator_lock_acquire_then (lock, 1000, NULL, on_ready, lock);
#else
  curator_lock_acquire_then (lock, 1000, NULL, on_acquired, NULL);
#endif
}

void
mistake_acl (CuratorClient *client)
{
#if MISTAKE == 31 /* error */
  struct ACL_vector acl = { 0 };
  curator_client_set_acl (client, &acl);
#else
  curator_client_add_acl (client, "world", "anyone", CURATOR_PERMISSIONS_ALL);
#endif
}
