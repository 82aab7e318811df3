/* SPDX-License-Identifier: Apache-2.0
 * Acquires and releases a lock without blocking, in a GLib main loop that also runs the callbacks.
 *
 * usage: async_main_loop CONNECT-STRING
 */
#include <curator/curator.h>

static int
fail (const GError *error)
{
  g_printerr ("async_main_loop: %s\n", error->message);
  return 1;
}

typedef struct
{
  GMainLoop *loop;
  int status;
} Program;

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Program *program = user_data;
  if (lease == NULL) {
    fail (error);
  } else {
    g_print ("held: %s\n", curator_lease_get_node_path (lease));
    program->status = 0;
    /* Dropping the last reference releases the lock in the background, without waiting. */
    curator_lease_unref (lease);
  }
  g_main_loop_quit (program->loop);
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  curator_client_set_callback_context (client, g_main_context_default ());
  g_autoptr (GError) error = NULL;
  if (!curator_client_start (client, &error))
    return fail (error);

  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/async", &error);
  if (lock == NULL)
    return fail (error);
  Program program = { g_main_loop_new (NULL, FALSE), 1 };
  curator_lock_acquire_then (lock, 10000, NULL, on_acquired, &program);
  g_main_loop_run (program.loop);
  g_main_loop_unref (program.loop);
  return program.status;
}
