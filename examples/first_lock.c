/* SPDX-License-Identifier: Apache-2.0
 * A mutex: only one process at a time runs the nightly job, on whichever machine it is started.
 *
 * usage: first_lock CONNECT-STRING        for example: first_lock "$(scripts/zookeeper start)"
 */
#include <curator/curator.h>

static int
fail (const GError *error)
{
  g_printerr ("first_lock: %s\n", error->message);
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

  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/jobs/nightly", &error);
  if (lock == NULL || !curator_lock_acquire (lock, 5000, NULL, &error))
    return fail (error);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  g_print ("ours, with fencing token %" G_GUINT64_FORMAT "\n",
           curator_lease_get_fencing_token (lease));
  /* ... the work; whatever it writes to can refuse tokens lower than the highest it has seen ... */
  if (!curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error))
    return fail (error);
  return 0;
}
