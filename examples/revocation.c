/* SPDX-License-Identifier: Apache-2.0
 * A holder that releases the lock on request. Any client that may write the lock's node can send
 * the request, in C or Java; the holder decides whether and when to comply.
 *
 * usage: revocation CONNECT-STRING
 */
#include <curator/curator.h>

static int
fail (const GError *error)
{
  g_printerr ("revocation: %s\n", error->message);
  return 1;
}

/* Runs on a thread of the client, which cannot release the holding thread's hold: it sets a
 * flag. */
static void
on_asked (CuratorLock *lock, gpointer user_data)
{
  g_atomic_int_set ((int *) user_data, 1);
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  if (!curator_client_start (client, &error))
    return fail (error);

  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/revocation", &error);
  int asked = 0;
  if (lock == NULL || !curator_lock_make_revocable (lock, on_asked, &asked, NULL, &error)
      || !curator_lock_acquire (lock, 10000, NULL, &error))
    return fail (error);

  /* Usually another process sends the request. */
  g_auto (GStrv) nodes =
      curator_lock_get_participant_nodes (lock, CURATOR_WAIT_DEFAULT, NULL, &error);
  if (nodes == NULL
      || !curator_client_attempt_revoke (client, nodes[0], CURATOR_WAIT_DEFAULT, NULL, &error))
    return fail (error);

  /* The holding thread works in small steps and checks the flag between them. */
  for (int step = 0; step < 500 && !g_atomic_int_get (&asked); step++)
    g_usleep (10 * 1000);
  g_print ("%s\n", g_atomic_int_get (&asked) ? "asked: stop and release" : "not asked");
  return curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error)
                 && g_atomic_int_get (&asked)
             ? 0
             : 1;
}
