/* SPDX-License-Identifier: Apache-2.0
 * A leader in a GLib main loop: a timer works only while the latch leads. The latch asks its own
 * clock, so the timer stops in time even if the loop was busy and has not heard of the end.
 *
 * usage: leader_main_loop CONNECT-STRING [ID]
 */
#include <curator/curator.h>

static int
fail (const GError *error)
{
  g_printerr ("leader_main_loop: %s\n", error->message);
  return 1;
}

typedef struct
{
  GMainLoop *loop;
  CuratorLeaderLatch *latch;
  int steps;
} Program;

static gboolean
work (gpointer user_data)
{
  Program *program = user_data;
  if (curator_leader_latch_has_leadership (program->latch)) {
    g_print ("step %d\n", program->steps);
    if (++program->steps == 3) {
      g_main_loop_quit (program->loop);
      return G_SOURCE_REMOVE;
    }
  }
  return G_SOURCE_CONTINUE;
}

/* Runs in the main loop. */
static void
on_change (CuratorLeaderLatch *latch, gboolean is_leader, gpointer user_data)
{
  g_print ("%s %s\n", curator_leader_latch_get_id (latch), is_leader ? "leads" : "leads no more");
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

  g_autoptr (CuratorLeaderLatch) latch = curator_leader_latch_new (
      client, "/examples/leader-latch", argc > 2 ? argv[2] : "example", &error);
  if (latch == NULL)
    return fail (error);
  curator_leader_latch_add_listener (latch, on_change, NULL, NULL);
  if (!curator_leader_latch_start (latch, &error))
    return fail (error);
  Program program = { g_main_loop_new (NULL, FALSE), latch, 0 };
  g_timeout_add (50, work, &program);
  g_main_loop_run (program.loop);
  g_main_loop_unref (program.loop);
  curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  return 0;
}
