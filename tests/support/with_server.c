/* with_server [-t TICK_MS] COMMAND [ARG...]: runs a command beside a ZooKeeper server of its own.
 *
 * An argument "{}" becomes the server's connect string, which CURATOR_TEST_SERVER holds as well.
 * Exits with the command's exit code, or 128 plus its signal. Without a server the command is not
 * run and the exit code is 125.
 */
#include "support/zk_server.h"

#include <stdlib.h>
#include <sys/wait.h>

int
main (int argc, char **argv)
{
  int tick_ms = ZK_SERVER_DEFAULT_TICK_MS;
  int first = 1;
  if (argc > 3 && g_str_equal (argv[1], "-t")) {
    tick_ms = atoi (argv[2]);
    first = 3;
  }
  ZkServer *server = first < argc ? zk_server_start (tick_ms, NULL) : NULL;
  if (server == NULL) {
    g_printerr ("with_server: no server, command not run\n");
    return 125;
  }
  const char *address = zk_server_address (server);
  g_autoptr (GPtrArray) command = g_ptr_array_new ();
  for (int i = first; i < argc; i++)
    g_ptr_array_add (command, g_str_equal (argv[i], "{}") ? (char *) address : argv[i]);
  g_ptr_array_add (command, NULL);

  g_autoptr (GError) error = NULL;
  int status = 0;
  g_auto (GStrv) environment =
      g_environ_setenv (g_get_environ (), "CURATOR_TEST_SERVER", address, TRUE);
  gboolean ran = g_spawn_sync (NULL, (char **) command->pdata, environment,
                               G_SPAWN_SEARCH_PATH | G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL,
                               NULL, &status, &error);
  zk_server_stop (server);
  if (!ran) {
    g_printerr ("with_server: %s\n", error->message);
    return 125;
  }
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}
