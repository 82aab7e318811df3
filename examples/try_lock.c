/* SPDX-License-Identifier: Apache-2.0
 * Waits for a lock with a timeout, and handles the timeout as an ordinary result.
 *
 * usage: try_lock CONNECT-STRING
 */
#include <curator/curator.h>

static int
fail (const GError *error)
{
  g_printerr ("try_lock: %s\n", error->message);
  return 1;
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  if (!curator_client_start (client, &error))
    return fail (error);

  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/try", &error);
  /* Another holder: a lease belongs to no thread, so this thread has to wait for it too. */
  g_autoptr (CuratorLease) other =
      lock != NULL ? curator_lock_acquire_lease (lock, 10000, NULL, &error) : NULL;
  if (other == NULL)
    return fail (error);

  if (curator_lock_acquire (lock, 300, NULL, &error))
    return 1; /* two holders: cannot happen */
  if (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    return fail (error);
  g_print ("busy: %s\n", error->message);
  g_clear_error (&error);

  /* With 0 the server is asked once. */
  curator_lease_release (other, CURATOR_WAIT_DEFAULT, NULL, NULL);
  if (!curator_lock_acquire (lock, 0, NULL, &error))
    return fail (error);
  g_print ("free now\n");
  return curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error) ? 0 : fail (error);
}
