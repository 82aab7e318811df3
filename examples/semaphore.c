/* SPDX-License-Identifier: Apache-2.0
 * A semaphore: at most three holders among all machines, for licences, connections or heavy jobs.
 *
 * usage: semaphore CONNECT-STRING
 */
#include <curator/curator.h>

static int
fail (const GError *error)
{
  g_printerr ("semaphore: %s\n", error->message);
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

  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new (client, "/examples/semaphore", 3, &error);
  g_autoptr (CuratorLease) one =
      semaphore != NULL ? curator_semaphore_acquire (semaphore, 10000, NULL, &error) : NULL;
  if (one == NULL)
    return fail (error);
  /* Acquires both or none. */
  g_autoptr (GPtrArray) two = curator_semaphore_acquire_n (semaphore, 2, 10000, NULL, &error);
  if (two == NULL)
    return fail (error);
  g_autoptr (CuratorLease) fourth = curator_semaphore_acquire (semaphore, 0, NULL, &error);
  g_print ("three leases held, a fourth: %s\n", fourth != NULL ? "GRANTED" : error->message);
  g_clear_error (&error);

  curator_semaphore_return_all (semaphore, two, CURATOR_WAIT_DEFAULT, NULL, NULL);
  return fourth == NULL && curator_lease_release (one, CURATOR_WAIT_DEFAULT, NULL, &error) ? 0 : 1;
}
