/* SPDX-License-Identifier: Apache-2.0
 * A custom lock recipe: readers and writers whose nodes name the host, "<host>-R-<number>" and
 * "<host>-W-<number>". It takes three short functions: the name of a node, which part of a name is
 * its number, and who holds the lock. The library does the waiting, retries and clean-up.
 *
 * Holds until its standard input ends.
 *
 * usage: host_driver CONNECT-STRING PATH HOST read|write
 */
#include <curator/curator.h>
#include <curator/lock_internals.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  char *name; /* of the own nodes, without the number */
  gboolean writes;
} Host;

static void
name_the_node (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer user_data)
{
  const Host *host = user_data;

  curator_node_request_set_name (request, host->name);
  curator_node_request_set_protected (request, FALSE);
}

/* The number follows the kind; readers and writers are numbered together. */
static const char *
find_the_number (CuratorLockDriver *driver, const char *name, const char *lock_name,
                 gpointer user_data)
{
  const char *dash = strrchr (name, '-');

  if (dash == NULL || dash - name < 2 || dash[-2] != '-' || strchr ("RW", dash[-1]) == NULL)
    return name;
  return dash + 1;
}

static gboolean
is_writer (const char *name)
{
  return strrchr (name, '-')[-1] == 'W';
}

/* A writer waits for the node ahead of it, a reader for the nearest writer ahead. */
static void
decide (CuratorLockDriver *driver, const char *const *children, gsize n_children, const char *ours,
        guint max_leases, CuratorPredicateResults *results, gpointer user_data)
{
  const Host *host = user_data;

  for (gsize i = 0; i < n_children && strcmp (children[i], ours) != 0; i++)
    if (host->writes || is_writer (children[i]))
      results->path_to_watch = children[i];
  results->gets_the_lock = results->path_to_watch == NULL;
}

static gboolean
run (CuratorClient *client, const char *path, Host *host, GError **error)
{
  static const CuratorLockDriverFuncs funcs = { .creates_the_lock = name_the_node,
                                                .gets_the_lock = decide,
                                                .fix_for_sorting = find_the_number };
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (&funcs, host, NULL);
  g_autoptr (CuratorLock) lock =
      curator_mutex_new_with_driver (client, path, host->writes ? "W-" : "R-", 1, driver, error);

  if (lock == NULL || !curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, error))
    return FALSE;
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  printf ("%s\n", curator_lease_get_node_name (lease));
  fflush (stdout);
  char ignored[64];
  while (read (STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
  return curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, error);
}

int
main (int argc, char **argv)
{
  if (argc != 5 || (strcmp (argv[4], "read") != 0 && strcmp (argv[4], "write") != 0)) {
    g_printerr ("usage: %s CONNECT-STRING PATH HOST read|write\n", argv[0]);
    return 64;
  }
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = curator_client_new (argv[1], NULL);
  Host host = { .writes = strcmp (argv[4], "write") == 0 };
  host.name = g_strconcat (argv[3], host.writes ? "-W-" : "-R-", NULL);

  const gboolean good =
      curator_client_start (client, &error) && run (client, argv[2], &host, &error);
  if (!good)
    g_printerr ("%s: %s\n", argv[0], error->message);
  curator_client_close (client);
  g_free (host.name);
  return good ? 0 : 1;
}
