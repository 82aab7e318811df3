/* SPDX-License-Identifier: Apache-2.0
 * A program that uses ZooKeeper already: the locks share its session instead of opening a second
 * one.
 *
 * usage: adopt_zhandle CONNECT-STRING
 */
#include <curator/curator.h>
#include <curator/zookeeper.h>

#define SESSION_MS 10000

static int
fail (const GError *error)
{
  g_printerr ("adopt_zhandle: %s\n", error->message);
  return 1;
}

/* The program's own watcher, which also forwards every event to the client. */
static void
on_event (zhandle_t *zh, int type, int state, const char *path, void *client)
{
  if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
    g_print ("the program is connected\n");
  curator_client_forward_event (client, zh, type, state, path);
}

static int
work_in_turn (CuratorClient *client, zhandle_t *zh)
{
  g_autoptr (GError) error = NULL;
  /* After an expiry the program closes its handle, creates a new one and sets that. */
  if (!curator_client_set_zhandle (client, zh, &error) || !curator_client_start (client, &error))
    return fail (error);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/adopted", &error);
  if (lock == NULL || !curator_lock_acquire (lock, 10000, NULL, &error))
    return fail (error);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  const gboolean same = curator_lease_get_session_id (lease) == zoo_client_id (zh)->client_id;
  g_print ("held in %s session\n", same ? "the program's" : "another");
  if (!curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error))
    return fail (error);
  return same ? 0 : 1;
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client = curator_client_new_for_zhandle (NULL, NULL);
  zoo_set_debug_level (ZOO_LOG_LEVEL_WARN);
  zhandle_t *zh =
      zookeeper_init (argc > 1 ? argv[1] : "localhost:2181", on_event, SESSION_MS, NULL, client, 0);
  if (zh == NULL) {
    g_printerr ("adopt_zhandle: zookeeper_init failed\n");
    return 1;
  }
  const int status = work_in_turn (client, zh);
  /* First close the client, which deletes its nodes; then the handle, which the program owns. */
  curator_client_close (client);
  zookeeper_close (zh);
  return status;
}
