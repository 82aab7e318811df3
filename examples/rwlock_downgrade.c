/* SPDX-License-Identifier: Apache-2.0
 * A downgrade: a writer becomes a reader before any other writer can come between, so it reads what
 * it wrote.
 *
 * usage: rwlock_downgrade CONNECT-STRING
 */
#include <curator/curator.h>

static int
fail (const GError *error)
{
  g_printerr ("rwlock_downgrade: %s\n", error->message);
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

  g_autoptr (CuratorRwLock) pair =
      curator_rw_lock_new (client, "/examples/config", NULL, 0, &error);
  if (pair == NULL)
    return fail (error);
  CuratorLock *writer = curator_rw_lock_get_write_lock (pair);
  CuratorLock *reader = curator_rw_lock_get_read_lock (pair);

  if (!curator_lock_acquire (writer, 10000, NULL, &error))
    return fail (error);
  g_print ("writing alone\n");
  /* The holder of the write lock acquires the read lock at once. An upgrade fails: UNSUPPORTED. */
  if (!curator_lock_acquire (reader, 10000, NULL, &error)
      || !curator_lock_release (writer, CURATOR_WAIT_DEFAULT, NULL, &error))
    return fail (error);
  g_print ("reading, with others: write lock held: %s, read lock held: %s\n",
           curator_lock_is_owned_by_current_thread (writer) ? "yes" : "no",
           curator_lock_is_owned_by_current_thread (reader) ? "yes" : "no");
  return curator_lock_release (reader, CURATOR_WAIT_DEFAULT, NULL, &error) ? 0 : fail (error);
}
