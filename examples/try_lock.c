/* SPDX-License-Identifier: Apache-2.0
 * Waiting for a lock, but not for ever: a time-out is an answer like another, not a failure.
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
    {
      return fail (error);
    }

  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/try", &error);
  /* Somebody has it: a lease belongs to no thread, so it stands in this thread's way, too. */
  g_autoptr (CuratorLease) somebody =
      lock != NULL ? curator_lock_acquire_lease (lock, 10000, NULL, &error) : NULL;
  if (somebody == NULL)
    {
      return fail (error);
    }

  if (curator_lock_acquire (lock, 300, NULL, &error))
    {
      return 1; /* two holders */
    }
  if (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    {
      return fail (error);
    }
  g_print ("busy: %s\n", error->message);
  g_clear_error (&error);

  /* With 0 the server is asked once. */
  curator_lease_release (somebody, NULL);
  if (!curator_lock_acquire (lock, 0, NULL, &error))
    {
      return fail (error);
    }
  g_print ("free now\n");
  return curator_lock_release (lock, &error) ? 0 : fail (error);
}
