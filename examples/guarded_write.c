/* SPDX-License-Identifier: Apache-2.0
 * A write that the server applies only while the lock is held: the transaction of the write checks
 * the hold, so it is safe even if the writer is suspended just before.
 *
 * usage: guarded_write CONNECT-STRING
 */
#define THREADED /* makes zookeeper.h declare its synchronous calls */
#include <curator/curator.h>
#include <curator/zookeeper.h>

#include <string.h>

#define SESSION_MS 10000
#define COUNTER    "/examples/guarded/counter"

static int
fail (const char *what)
{
  g_printerr ("guarded_write: %s\n", what);
  return 1;
}

static void
on_event (zhandle_t *zh, int type, int state, const char *path, void *client)
{
  curator_client_forward_event (client, zh, type, state, path);
}

/* Returns ZOK, or ZNONODE if the hold has ended; then nothing was written. */
static int
write_if_held (zhandle_t *zh, const zoo_op_t *held, const char *value)
{
  zoo_op_t ops[2] = { *held };
  zoo_op_result_t results[2];
  zoo_set_op_init (&ops[1], COUNTER, value, (int) strlen (value), -1, NULL);
  return zoo_multi (zh, G_N_ELEMENTS (ops), ops, results);
}

static int
write_twice (CuratorClient *client, zhandle_t *zh)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/guarded", &error);
  g_autoptr (CuratorLease) lease =
      lock != NULL ? curator_lock_acquire_lease (lock, 10000, NULL, &error) : NULL;
  zoo_op_t held;
  if (lease == NULL || !curator_lease_init_check_op (lease, &held, &error))
    return fail (error->message);
  int rc = zoo_create (zh, COUNTER, "0", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
  if (rc == ZOK || rc == ZNODEEXISTS)
    rc = write_if_held (zh, &held, "1");
  g_print ("while held: %s\n", zerror (rc));
  curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL,
                         NULL); /* the hold could also have been lost */
  const int late = write_if_held (zh, &held, "2");
  g_print ("afterwards: %s\n", zerror (late));
  return rc == ZOK && late == ZNONODE ? 0 : 1;
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client = curator_client_new_for_zhandle (NULL, NULL);
  g_autoptr (GError) error = NULL;
  zoo_set_debug_level (ZOO_LOG_LEVEL_WARN);
  zhandle_t *zh =
      zookeeper_init (argc > 1 ? argv[1] : "localhost:2181", on_event, SESSION_MS, NULL, client, 0);
  if (zh == NULL)
    return fail ("zookeeper_init failed");
  int status = 1;
  if (curator_client_set_zhandle (client, zh, &error) && curator_client_start (client, &error))
    status = write_twice (client, zh);
  curator_client_close (client);
  zookeeper_close (zh);
  return error != NULL ? fail (error->message) : status;
}
