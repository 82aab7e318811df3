/* SPDX-License-Identifier: Apache-2.0
 * A leader in a plain thread: the selector calls lead () when its turn has come. Run it twice, and
 * the second waits for the first.
 *
 * usage: leader_thread CONNECT-STRING [ID]
 */
#include <curator/curator.h>

#include <gio/gio.h>

static int
fail (const GError *error)
{
  g_printerr ("leader_thread: %s\n", error->message);
  return 1;
}

/* Leads for three steps. Runs on a thread of its own. */
static void
lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
      gpointer user_data)
{
  g_print ("%s leads, token %" G_GUINT64_FORMAT "\n", curator_leader_selector_get_id (selector),
           curator_lease_get_fencing_token (lease));
  for (int step = 0; step < 3 && !g_cancellable_is_cancelled (cancellable); step++) {
    /* A step takes at most a second; it must not begin with less time left. */
    if (curator_lease_get_remaining_ms (lease) < 1000)
      break;
    g_usleep (100 * 1000);
    g_print ("step %d\n", step);
  }
  g_cancellable_cancel (user_data);
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  if (!curator_client_start (client, &error))
    return fail (error);

  g_autoptr (GCancellable) done = g_cancellable_new ();
  g_autoptr (CuratorLeaderSelector) selector = curator_leader_selector_new (
      client, "/examples/leader-selector", lead, g_object_ref (done), g_object_unref, &error);
  if (selector == NULL)
    return fail (error);
  curator_leader_selector_set_id (selector, argc > 2 ? argv[2] : "example");
  if (!curator_leader_selector_start (selector, &error))
    return fail (error);
  GPollFD leadership_over;
  if (g_cancellable_make_pollfd (done, &leadership_over)) {
    g_poll (&leadership_over, 1, -1);
    g_cancellable_release_fd (done);
  }
  return 0;
}
