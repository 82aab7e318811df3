/* SPDX-License-Identifier: Apache-2.0
 * Two accounts, two locks: both are held or none. They are acquired in the order of their paths, so
 * that a transfer in the opposite direction, which does the same, cannot deadlock.
 *
 * usage: multi_lock CONNECT-STRING
 */
#include <curator/curator.h>

static int
fail (const GError *error)
{
  g_printerr ("multi_lock: %s\n", error->message);
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

  const char *const accounts[] = { "/examples/accounts/jim", "/examples/accounts/ann", NULL };
  g_autoptr (CuratorLock) both = curator_multi_lock_new_for_paths_sorted (client, accounts, &error);
  /* One lease covers both; its remaining time is the shorter one of the two. */
  g_autoptr (CuratorLease) lease =
      both != NULL ? curator_lock_acquire_lease (both, 10000, NULL, &error) : NULL;
  if (lease == NULL)
    return fail (error);
  g_print ("both accounts are held for %" G_GINT64_FORMAT " ms or longer\n",
           curator_lease_get_remaining_ms (lease));
  return curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error) ? 0 : fail (error);
}
