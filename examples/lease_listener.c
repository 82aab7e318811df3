/* SPDX-License-Identifier: Apache-2.0
 * A listener that reports trouble while the lock is still held (SUSPECT) and its loss (LOST), even
 * when no server can be reached; and a check of the remaining time before each step.
 *
 * usage: lease_listener CONNECT-STRING
 */
#include <curator/curator.h>

static int
fail (const GError *error)
{
  g_printerr ("lease_listener: %s\n", error->message);
  return 1;
}

static int trouble;

/* Runs on a thread of the client, so it only sets a flag. */
static void
on_lease_state (CuratorLease *lease, CuratorLeaseState state, gpointer user_data)
{
  if (state == CURATOR_LEASE_STATE_SUSPECT || state == CURATOR_LEASE_STATE_LOST)
    g_atomic_int_set (&trouble, 1);
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  if (!curator_client_start (client, &error))
    return fail (error);

  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/listener", &error);
  g_autoptr (CuratorLease) lease =
      lock != NULL ? curator_lock_acquire_lease (lock, 10000, NULL, &error) : NULL;
  if (lease == NULL)
    return fail (error);
  curator_lease_add_listener (lease, on_lease_state, NULL, NULL);

  for (int step = 0; step < 3; step++) {
    /* A step takes at most a second; it must not begin with less time left. */
    gint64 left_ms = curator_lease_get_remaining_ms (lease);
    if (g_atomic_int_get (&trouble) || left_ms < 1000) {
      g_printerr ("stopped before step %d, nothing half done\n", step);
      return 1;
    }
    g_print ("step %d, %" G_GINT64_FORMAT " ms left\n", step, left_ms);
    g_usleep (100 * 1000);
  }
  return curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error) ? 0 : fail (error);
}
