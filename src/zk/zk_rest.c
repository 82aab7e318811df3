/* When zookeeper_close() may be called: this is the only rule, and curator_zk_real_close() the only
 * caller.
 *
 * Mirrors nothing: Java has a garbage collector. Threads: libzookeeper's completion thread
 * delivers, the session lane closes; no lock.
 *
 * NOTES: zookeeper_close() announces the end and takes its reference to the handle in two steps
 * (ZOOKEEPER-3868). If both threads of the library see the announcement and end in between, the
 * last one frees the handle, which zookeeper_close() goes on to use. The IO thread of a living
 * session waits in poll() meanwhile. After an expiry or a refusal it has ended: then the completion
 * thread has to be in its wait, where only zookeeper_close() itself wakes it. It is there when it
 * has delivered nothing for a while, since what it does between two deliveries takes microseconds.
 * A delivery during the close, for a session that ends just then, is not left before the reference
 * is taken.
 */
#include "zk/zk_rest.h"

/* Long enough for a few instructions, also on a busy machine. */
#define REST_US  (100 * 1000)
#define PAUSE_US 50

void
curator_zk_rest_enter (CuratorZkRest *rest)
{
  if (rest != NULL)
    atomic_fetch_add (&rest->n_begun, 1);
}

void
curator_zk_rest_leave (CuratorZkRest *rest)
{
  if (rest == NULL)
    return;
  const gint64 closing_us = atomic_load (&rest->closing_us);
  for (gint64 left_us = REST_US; closing_us != 0 && left_us > 0;) {
    left_us = closing_us + REST_US - g_get_monotonic_time ();
    g_usleep ((gulong) MAX (left_us, 0));
  }
  atomic_fetch_add (&rest->n_ended, 1);
}

gint64
curator_zk_rest_left_us (CuratorZkRest *rest)
{
  const guint n_ended = atomic_load (&rest->n_ended);
  const guint n_begun = atomic_load (&rest->n_begun);
  const gint64 now_us = g_get_monotonic_time ();

  if (rest->seen_us == 0 || n_begun != n_ended || n_begun != rest->n_seen) {
    rest->n_seen = n_begun;
    rest->seen_us = now_us;
  }
  return MAX (rest->seen_us + REST_US - now_us, 0);
}

/* zookeeper_close() joins the thread that delivers, which would rest first. Often that is the answer
 * for which the caller of the close has waited. */
void
curator_zk_rest_close (CuratorZkRest *rest)
{
  const guint n_begun = atomic_load (&rest->n_begun);

  while ((gint) (n_begun - atomic_load (&rest->n_ended)) > 0)
    g_usleep (PAUSE_US);
  atomic_store (&rest->closing_us, g_get_monotonic_time ());
}
