/* The servers of the benchmark: one ZooKeeper server, and a proxy in front of it that counts
 * requests and bytes and can delay answers; or an ensemble of three.
 *
 *   bench_lab                 prints "server=HOST:PORT proxy=HOST:PORT pid=PID"
 *   bench_lab secured         and " secure=HOST:PORT folder=CERTIFICATES jars=:JAR:JAR": the server has TLS
 *                             at another port, and SASL
 *   bench_lab ensemble        prints "server=HOST:PORT,HOST:PORT,HOST:PORT pids=PID,PID,PID"; no requests
 *   delay MS                  each answer from now on that much later; ok
 *   reset                     counts from zero; ok
 *   counts                    ok to_server=BYTES to_client=BYTES all=N create=N delete=N ...
 *
 * Exits at the end of stdin. The server runs as in Debian, except without fsync,
 * which would measure the disk; its JVM may use all compilers. The ensemble has fsync.
 */
#include "faults/security.h"
#include "support/proxy.h"
#include "support/zk_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A server that deletes empty containers makes clients create them again, at times of its own. */
#define KEEPS_CONTAINERS "-Dznode.container.checkIntervalMs=86400000"
#define TICK_MS          2000
#define SYNC_LIMIT       5 /* ticks, as in ZooKeeper's sample configuration */

static void
print_counts (Proxy *proxy)
{
  static const struct
  {
    const char *name;
    int type;
  } kinds[] = { { "all", PROXY_ANY_REQUEST },        { "create", PROXY_CREATE },
                { "create2", PROXY_CREATE2 },        { "container", PROXY_CREATE_CONTAINER },
                { "delete", PROXY_DELETE },          { "exists", PROXY_EXISTS },
                { "get", PROXY_GET_DATA },           { "list", PROXY_GET_CHILDREN },
                { "list2", PROXY_GET_CHILDREN2 },    { "multi", PROXY_MULTI },
                { "unwatch", PROXY_REMOVE_WATCHES }, { "ping", PROXY_PING } };
  const ProxyBytes bytes = proxy_bytes (proxy);
  printf ("ok to_server=%" G_GUINT64_FORMAT " to_client=%" G_GUINT64_FORMAT, bytes.to_server,
          bytes.to_client);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    printf (" %s=%d", kinds[i].name, proxy_count (proxy, kinds[i].type));
  putchar ('\n');
}

static void
obey (Proxy *proxy, const char *line)
{
  int delay_ms;
  if (sscanf (line, "delay %d", &delay_ms) == 1) {
    proxy_set_delay (proxy, 0, delay_ms);
    puts ("ok");
  } else if (g_str_equal (line, "reset\n")) {
    proxy_reset_counts (proxy);
    puts ("ok");
  } else if (g_str_equal (line, "counts\n")) {
    print_counts (proxy);
  } else {
    puts ("error unknown");
  }
  fflush (stdout);
}

static int
host_ensemble (void)
{
  static const char *const java[] = { "-Xmx512m",
                                      "-XX:TieredStopAtLevel=4",
                                      "-Dzookeeper.forceSync=yes",
                                      "-Dzookeeper.preAllocSize=65536",
                                      KEEPS_CONTAINERS,
                                      NULL };
  const ZkEnsembleSetup setup = { .tick_ms = TICK_MS,
                                  .sync_limit = SYNC_LIMIT,
                                  .java_options = java };
  ZkEnsemble *ensemble = zk_ensemble_start_as (&setup);
  if (ensemble == NULL) {
    g_printerr ("bench_lab: no ensemble\n");
    return 1;
  }
  printf ("server=%s pids=%d,%d,%d\n", zk_ensemble_connect_string (ensemble),
          (int) zk_server_pid (zk_ensemble_server (ensemble, 0)),
          (int) zk_server_pid (zk_ensemble_server (ensemble, 1)),
          (int) zk_server_pid (zk_ensemble_server (ensemble, 2)));
  fflush (stdout);
  while (getchar () != EOF) {
  }
  zk_ensemble_stop (ensemble);
  return 0;
}

int
main (int argc, char **argv)
{
  static const char *const java[] = { "-Xmx512m", "-XX:TieredStopAtLevel=4", KEEPS_CONTAINERS,
                                      NULL };
  char line[256];
  if (argc == 2 && g_str_equal (argv[1], "ensemble"))
    return host_ensemble ();
  const gboolean secured = argc == 2 && g_str_equal (argv[1], "secured");
  const ZkServerSetup setup = { .tick_ms = TICK_MS,
                                .java_options = java,
                                .security = secured ? security_folder () : NULL };
  ZkServer *server = zk_server_start_as (&setup);
  Proxy *proxy = server != NULL ? proxy_new (zk_server_address (server)) : NULL;
  if (proxy == NULL) {
    g_printerr ("bench_lab: no server\n");
    zk_server_stop (server);
    return 1;
  }
  printf ("server=%s proxy=%s pid=%d", zk_server_address (server), proxy_address (proxy),
          (int) zk_server_pid (server));
  if (secured) {
    printf (" secure=%s folder=%s jars=%s", zk_server_secure_address (server), security_folder (),
            zk_netty_classpath ());
  }
  putchar ('\n');
  fflush (stdout);
  while (fgets (line, sizeof line, stdin) != NULL)
    obey (proxy, line);
  proxy_free (proxy);
  zk_server_stop (server);
  return 0;
}
