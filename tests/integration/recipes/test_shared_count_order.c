/* A semaphore that follows a count never keeps an older value than the count has.
 *
 * The linker wraps pthread_mutex_unlock: after each of the constructor's unlocks in turn, the count
 * changes before the constructor goes on.
 */
#include "integration/taking.h"

int __real_pthread_mutex_unlock (pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock (pthread_mutex_t *mutex);

static _Thread_local CuratorSharedCount
    *to_change; /* after the last of these unlocks of this thread */
static _Thread_local int n_unlocks;

int
__wrap_pthread_mutex_unlock (pthread_mutex_t *mutex)
{
  const int result = __real_pthread_mutex_unlock (mutex);

  if (to_change != NULL && --n_unlocks == 0) {
    CuratorSharedCount *count = g_steal_pointer (&to_change);
    G_GNUC_UNUSED const gboolean changed = curator_shared_count_set (
        count, curator_shared_count_get (count) + 1, CURATOR_WAIT_DEFAULT, NULL, NULL);
  }
  return result;
}

CLIENT_TEST (test_newest_count_wins)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/order/count", 1);
  int n = 0;
  for (gboolean changed = TRUE; changed; n++) {
    to_change = count;
    n_unlocks = n + 1;
    g_autoptr (CuratorSemaphore) semaphore =
        curator_semaphore_new_with_shared_count (client, "/order/semaphore", count, &error);
    changed = g_steal_pointer (&to_change) == NULL;
    assert_ok (semaphore != NULL, &error);
    assert_int_equal (curator_semaphore_get_max_leases (semaphore),
                      curator_shared_count_get (count));
  }
  assert_true (n > 1);
}

SUITE ("order of counts", fixture_start_calm, fixture_stop)
