#include "zk_server.h"

#include "four_letter.h"
#include "process.h"
#include "waiting.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_SERVERS         3
#define START_TIMEOUT_MS  60000
#define USUAL_SYNC_LIMIT  5
#define DEFAULT_CLASSPATH "/usr/share/java/slf4j-nop.jar:/usr/share/java/zookeeper.jar"

/* netty-all has no handlers for TLS. */
static const char netty_classpath[] = ":/usr/share/java/netty-buffer.jar"
                                      ":/usr/share/java/netty-codec.jar"
                                      ":/usr/share/java/netty-common.jar"
                                      ":/usr/share/java/netty-handler.jar"
                                      ":/usr/share/java/netty-resolver.jar"
                                      ":/usr/share/java/netty-transport.jar"
                                      ":/usr/share/java/netty-transport-native-epoll.jar"
                                      ":/usr/share/java/netty-transport-native-unix-common.jar";

struct _ZkServer
{
  char *host;
  char *address;
  char *secure_address; /* NULL: no TLS */
  char *dir;
  char **argv;
  pid_t pid;
  int status;        /* of the process that has ended by itself, as from waitpid() */
  pid_t owner;       /* the process that started it: a child of that ends nothing */
  gboolean own_disk; /* its data are on a file system of their own */
};

struct _ZkEnsemble
{
  ZkServer *servers[N_SERVERS];
  char *quorum[N_SERVERS]; /* "host:port" */
  char *election[N_SERVERS];
  ZkLinks *links; /* NULL: the members reach each other directly */
  char *connect_string;
};

static const char *
class_path (void)
{
  const char *configured = g_getenv ("CURATOR_TEST_ZOOKEEPER_CLASSPATH");
  return configured != NULL ? configured : DEFAULT_CLASSPATH;
}

const char *
zk_netty_classpath (void)
{
  return netty_classpath;
}

char *
zk_server_class_path (void)
{
  return g_strconcat (class_path (), netty_classpath, NULL);
}

char *
zk_server_missing (void)
{
  g_autofree char *java = g_find_program_in_path ("java");
  g_auto (GStrv) jars = g_strsplit (class_path (), ":", -1);
  if (java == NULL) {
    return g_strdup ("A test server needs the program java, and there is none in PATH: install a "
                     "Java runtime (on Debian the package default-jre-headless)");
  }
  for (char **jar = jars; *jar != NULL; jar++) {
    if (!g_str_has_suffix (*jar, "*") && !g_file_test (*jar, G_FILE_TEST_EXISTS)) {
      return g_strdup_printf (
          "A test server needs %s, which is not there: install ZooKeeper (on Debian the "
          "package zookeeper), or name its jars in CURATOR_TEST_ZOOKEEPER_CLASSPATH",
          *jar);
    }
  }
  return NULL;
}

gboolean
zk_server_available (void)
{
  g_autofree char *missing = zk_server_missing ();
  return missing == NULL;
}

gboolean
zk_server_relaunch (ZkServer *server)
{
  g_autofree char *log = g_build_filename (server->dir, "server.log", NULL);
  server->pid = process_spawn (server->argv, log);
  return server->pid != 0;
}

static void
add_java_arguments (GPtrArray *argv, const char *const *java_options)
{
  static const char *const usual[] = { "-Xmx64m",
                                       "-XX:+UseSerialGC",
                                       "-XX:TieredStopAtLevel=1",
                                       "-XX:-UsePerfData",
                                       "-Dzookeeper.admin.enableServer=false",
                                       "-Dzookeeper.jmx.log4j.disable=true",
                                       "-Dzookeeper.preAllocSize=64",
                                       "-Dzookeeper.forceSync=no" };
  for (gsize i = 0; i < G_N_ELEMENTS (usual); i++)
    g_ptr_array_add (argv, g_strdup (usual[i]));
  for (gsize i = 0; java_options != NULL && java_options[i] != NULL; i++)
    g_ptr_array_add (argv, g_strdup (java_options[i]));
}

static char **
make_argv (const char *main_class, const char *config, gboolean netty, const char *security,
           const char *const *java_options)
{
  GPtrArray *argv = g_ptr_array_new ();
  g_ptr_array_add (argv, g_find_program_in_path ("java"));
  add_java_arguments (argv, java_options);
  if (security != NULL) {
    g_ptr_array_add (argv,
                     g_strdup_printf ("-Djava.security.auth.login.config=%s/jaas.conf", security));
  }
  if (netty) {
    g_ptr_array_add (argv, g_strdup ("-Dzookeeper.serverCnxnFactory="
                                     "org.apache.zookeeper.server.NettyServerCnxnFactory"));
  }
  g_ptr_array_add (argv, g_strdup ("-cp"));
  g_ptr_array_add (argv, g_strconcat (class_path (), netty ? netty_classpath : "", NULL));
  g_ptr_array_add (argv, g_strdup (main_class));
  g_ptr_array_add (argv, g_strdup (config));
  g_ptr_array_add (argv, NULL);
  return (char **) g_ptr_array_free (argv, FALSE);
}

static GString *
common_config (ZkServer *server, int tick_ms)
{
  GString *config = g_string_new (NULL);
  g_string_append_printf (config,
                          "tickTime=%d\n"
                          "dataDir=%s/data\n"
                          "admin.enableServer=false\n"
                          "4lw.commands.whitelist=*\n"
                          "maxClientCnxns=0\n"
                          "extendedTypesEnabled=true\n",
                          tick_ms, server->dir);
  return config;
}

static char *
own_address (ZkServer *server)
{
  return g_strdup_printf ("%s:%d", server->host, zk_server_free_port (server->host));
}

static void
add_security (ZkServer *server, const char *security, GString *config)
{
  if (security == NULL)
    return;
  if (server->secure_address == NULL)
    server->secure_address = own_address (server);
  g_string_append_printf (
      config,
      "secureClientPort=%s\nsecureClientPortAddress=%s\n"
      "ssl.keyStore.location=%s/server.pem\nssl.keyStore.type=PEM\n"
      "ssl.trustStore.location=%s/ca.pem\nssl.trustStore.type=PEM\n"
      "ssl.clientAuth=need\n"
      "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n",
      strchr (server->secure_address, ':') + 1, server->host, security, security);
}

static void
write_file (ZkServer *server, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (server->dir, name, NULL);
  g_file_set_contents (path, text, -1, NULL);
}

/* Servers that a failed test did not stop are stopped, and their data removed, at exit. */
static GPtrArray *running;

static void
stop_running (void)
{
  while (running->len > 0) {
    ZkServer *last = g_ptr_array_index (running, running->len - 1);
    if (last->owner != getpid ())
      return;
    zk_server_stop (last);
  }
  g_clear_pointer (&running, g_ptr_array_unref);
}

static ZkServer *
server_new (const char *host)
{
  ZkServer *server = g_new0 (ZkServer, 1);
  server->host = host != NULL ? g_strdup (host) : zk_server_new_host ();
  server->owner = getpid ();
  server->dir = g_dir_make_tmp ("curator-zk-XXXXXX", NULL);
  g_autofree char *data = g_build_filename (server->dir, "data", NULL);
  g_mkdir_with_parents (data, 0700);
  if (running == NULL) {
    running = g_ptr_array_new ();
    atexit (stop_running);
  }
  g_ptr_array_add (running, server);
  return server;
}

static void
print_log (ZkServer *server)
{
  g_autofree char *path = g_build_filename (server->dir, "server.log", NULL);
  g_autofree char *text = NULL;
  g_file_get_contents (path, &text, NULL, NULL);
  g_autofree char *ended = server->pid != 0 ? g_strdup ("")
                                            : g_strdup_printf (" and has ended with status 0x%x",
                                                               (unsigned) server->status);
  g_printerr ("the ZooKeeper server at %s does not serve%s; its log:\n%s\n", server->address, ended,
              text != NULL ? text : "(none)");
}

ZkServer *
zk_server_start (int tick_ms, const char *const *java_options)
{
  const ZkServerSetup setup = { .tick_ms = tick_ms, .java_options = java_options };
  return zk_server_start_as (&setup);
}

ZkServer *
zk_server_start_as (const ZkServerSetup *setup)
{
  ZkServer *server = server_new (setup->host);
  int port = zk_server_free_port (server->host);
  server->address = g_strdup_printf ("%s:%d", server->host, port);

  GString *config = common_config (server, setup->tick_ms);
  g_string_append_printf (config, "clientPort=%d\nclientPortAddress=%s\n%s", port, server->host,
                          setup->config != NULL ? setup->config : "");
  g_string_append (config, setup->config != NULL ? setup->config : "");
  add_security (server, setup->security, config);
  write_file (server, "zoo.cfg", config->str);
  g_string_free (config, TRUE);

  g_autofree char *config_path = g_build_filename (server->dir, "zoo.cfg", NULL);
  server->argv =
      make_argv ("org.apache.zookeeper.server.ZooKeeperServerMain", config_path,
                 setup->netty || setup->security != NULL, setup->security, setup->java_options);
  zk_server_relaunch (server);
  if (!zk_server_wait_serving (server, START_TIMEOUT_MS))
    g_clear_pointer (&server, zk_server_stop);
  return server;
}

gboolean
zk_server_has_exited (ZkServer *server)
{
  if (server->pid != 0 && waitpid (server->pid, &server->status, WNOHANG) == server->pid)
    server->pid = 0;
  return server->pid == 0;
}

static gboolean
wait_serving (ZkServer *server, int timeout_ms)
{
  gint64 deadline = wait_now_ms () + timeout_ms;
  do {
    /* A starting server accepts and does not answer: keep each probe short. */
    g_autofree char *answer = four_letter (server->address, "srvr", 100);
    if (answer != NULL && strstr (answer, "Mode:") != NULL)
      return TRUE;
    wait_ms (10);
  } while (!zk_server_has_exited (server) && wait_now_ms () < deadline);
  return FALSE;
}

gboolean
zk_server_wait_serving (ZkServer *server, int timeout_ms)
{
  const gboolean serves = wait_serving (server, timeout_ms);
  if (!serves)
    print_log (server);
  return serves;
}

void
zk_server_change_jars (ZkServer *server)
{
  char **argument = server->argv;
  while (strcmp (*argument, "-cp") != 0)
    argument++;
  g_free (argument[1]);
  argument[1] = g_strdup (class_path ());
}

void
zk_server_kill (ZkServer *server)
{
  if (server->pid != 0) {
    process_kill (server->pid);
    server->pid = 0;
  }
}

gboolean
zk_server_restart (ZkServer *server)
{
  zk_server_kill (server);
  return zk_server_relaunch (server) && zk_server_wait_serving (server, START_TIMEOUT_MS);
}

void
zk_server_freeze (ZkServer *server)
{
  if (server->pid != 0) {
    int status;
    kill (server->pid, SIGSTOP);
    /* The signal takes a moment to reach every thread: wait until all have stopped. */
    while (waitpid (server->pid, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
  }
}

void
zk_server_thaw (ZkServer *server)
{
  if (server->pid != 0)
    kill (server->pid, SIGCONT);
}

static void
remove_tree (const char *path)
{
  GDir *dir = g_dir_open (path, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *child = g_build_filename (path, name, NULL);
    if (g_file_test (child, G_FILE_TEST_IS_DIR) && !g_file_test (child, G_FILE_TEST_IS_SYMLINK))
      remove_tree (child);
    else
      g_unlink (child);
  }
  g_clear_pointer (&dir, g_dir_close);
  g_rmdir (path);
}

static char *
data_of (const ZkServer *server)
{
  return g_build_filename (server->dir, "data", NULL);
}

static gboolean
mount_disk (ZkServer *server)
{
  g_autofree char *data = data_of (server);
  server->own_disk = mount ("tmpfs", data, "tmpfs", 0, "size=1g,mode=700") == 0;
  return server->own_disk;
}

static gboolean
resize_disk (ZkServer *server, guint64 bytes)
{
  g_autofree char *data = data_of (server);
  g_autofree char *options = g_strdup_printf ("size=%" G_GUINT64_FORMAT, bytes);
  return mount ("tmpfs", data, "tmpfs", MS_REMOUNT, options) == 0;
}

gboolean
zk_server_fill_disk (ZkServer *server)
{
  g_autofree char *data = data_of (server);
  /* The size cannot be less than what is used, which may grow until then. */
  for (int tries = 0; server->own_disk && tries < 20; tries++) {
    struct statfs disk;
    if (statfs (data, &disk) == 0
        && resize_disk (server, (guint64) disk.f_bsize * (disk.f_blocks - disk.f_bfree)))
      return TRUE;
  }
  return FALSE;
}

gboolean
zk_server_free_disk (ZkServer *server)
{
  return resize_disk (server, (guint64) 1 << 30);
}

void
zk_server_wipe (ZkServer *server)
{
  g_autofree char *version = g_build_filename (server->dir, "data", "version-2", NULL);
  zk_server_kill (server);
  remove_tree (version);
}

void
zk_server_stop (ZkServer *server)
{
  if (server == NULL)
    return;
  g_ptr_array_remove (running, server);
  zk_server_kill (server);
  if (server->own_disk) {
    g_autofree char *data = data_of (server);
    umount2 (data, MNT_DETACH);
  }
  remove_tree (server->dir);
  g_free (server->host);
  g_free (server->address);
  g_free (server->secure_address);
  g_free (server->dir);
  g_strfreev (server->argv);
  g_free (server);
}

const char *
zk_server_address (ZkServer *server)
{
  return server->address;
}

const char *
zk_server_secure_address (ZkServer *server)
{
  return server->secure_address;
}

const char *
zk_server_find_secure_address (const char *address)
{
  for (guint i = 0; running != NULL && i < running->len; i++) {
    const ZkServer *server = g_ptr_array_index (running, i);
    if (g_strcmp0 (server->address, address) == 0)
      return server->secure_address;
  }
  return NULL;
}

const char *
zk_server_data_dir (ZkServer *server)
{
  return server->dir;
}

pid_t
zk_server_pid (ZkServer *server)
{
  return server->pid;
}

static void
give_addresses (ZkEnsemble *ensemble, gboolean by_links)
{
  for (int i = 0; i < N_SERVERS; i++) {
    ensemble->servers[i]->address = own_address (ensemble->servers[i]);
    ensemble->quorum[i] = own_address (ensemble->servers[i]);
    ensemble->election[i] = own_address (ensemble->servers[i]);
  }
  ensemble->connect_string =
      g_strdup_printf ("%s,%s,%s", ensemble->servers[0]->address, ensemble->servers[1]->address,
                       ensemble->servers[2]->address);
  if (by_links) {
    ensemble->links = zk_links_new (N_SERVERS, (const char *const *) ensemble->quorum,
                                    (const char *const *) ensemble->election);
  }
}

static void
add_quorum_settings (const ZkEnsembleSetup *setup, GString *config)
{
  g_string_append_printf (config, "initLimit=%d\nsyncLimit=%d\nstandaloneEnabled=false\n",
                          MAX (10, setup->sync_limit), setup->sync_limit);
  if (setup->reconfig)
    g_string_append (config, "reconfigEnabled=true\n");
}

/* A line for each server, as this member finds it. */
static void
add_quorum_lines (ZkEnsemble *ensemble, int member, const ZkEnsembleSetup *setup, GString *config)
{
  add_quorum_settings (setup, config);
  for (int i = 0; i < N_SERVERS; i++) {
    g_autofree char *direct =
        g_strdup_printf ("%s%s", ensemble->quorum[i], strchr (ensemble->election[i], ':'));
    const char *peer = i != member && ensemble->links != NULL
                           ? zk_links_peer (ensemble->links, member, i)
                           : direct;
    g_string_append_printf (config, "server.%d=%s:participant;%s\n", i + 1, peer,
                            ensemble->servers[i]->address);
  }
}

static void
add_session_limits (const ZkEnsembleSetup *setup, int i, GString *config)
{
  if (setup->min_session_ms[i] > 0)
    g_string_append_printf (config, "minSessionTimeout=%d\n", setup->min_session_ms[i]);
  if (setup->max_session_ms[i] > 0)
    g_string_append_printf (config, "maxSessionTimeout=%d\n", setup->max_session_ms[i]);
}

/* Takes config. */
static void
configure_peer (ZkServer *server, int id, const ZkEnsembleSetup *setup, GString *config)
{
  add_security (server, setup->security, config);
  write_file (server, "zoo.cfg", config->str);
  g_string_free (config, TRUE);
  g_autofree char *text = g_strdup_printf ("%d\n", id);
  write_file (server, "data/myid", text);

  g_autofree char *config_path = g_build_filename (server->dir, "zoo.cfg", NULL);
  g_strfreev (server->argv);
  server->argv = make_argv ("org.apache.zookeeper.server.quorum.QuorumPeerMain", config_path,
                            setup->security != NULL, setup->security, setup->java_options);
}

static void
configure_member (ZkEnsemble *ensemble, int i, const ZkEnsembleSetup *setup)
{
  ZkServer *server = ensemble->servers[i];
  GString *config = common_config (server, setup->tick_ms);

  add_session_limits (setup, i, config);
  add_quorum_lines (ensemble, i, setup, config);
  configure_peer (server, i + 1, setup, config);
}

ZkServer *
zk_server_start_joiner (int id, const char *lines, const ZkEnsembleSetup *setup, char **line)
{
  ZkServer *server = server_new (NULL);
  GString *config = common_config (server, setup->tick_ms);
  g_autofree char *quorum = own_address (server);
  const int election = zk_server_free_port (server->host);

  server->address = own_address (server);
  *line = g_strdup_printf ("server.%d=%s:%d:participant;%s", id, quorum, election, server->address);
  add_session_limits (setup, 0, config);
  add_quorum_settings (setup, config);
  g_string_append_printf (config, "%s\n%s\n", lines, *line);
  configure_peer (server, id, setup, config);
  zk_server_relaunch (server);
  if (!zk_server_wait_serving (server, START_TIMEOUT_MS))
    g_clear_pointer (&server, zk_server_stop);
  return server;
}

char *
zk_ensemble_member_line (ZkEnsemble *ensemble, int i)
{
  return g_strdup_printf ("server.%d=%s%s:participant;%s", i + 1, ensemble->quorum[i],
                          strchr (ensemble->election[i], ':'), ensemble->servers[i]->address);
}

gboolean
zk_ensemble_change_member (ZkEnsemble *ensemble, int i, const ZkEnsembleSetup *setup)
{
  ZkServer *server = ensemble->servers[i];
  zk_server_kill (server);
  configure_member (ensemble, i, setup);
  return zk_server_relaunch (server);
}

static void
move_address (char **address, const char *host)
{
  g_autofree char *before = *address;
  *address = before != NULL ? g_strconcat (host, strchr (before, ':'), NULL) : NULL;
}

void
zk_ensemble_move_member (ZkEnsemble *ensemble, int i, const ZkEnsembleSetup *setup)
{
  ZkServer *server = ensemble->servers[i];

  zk_server_kill (server);
  g_free (server->host);
  server->host = zk_server_new_host ();
  move_address (&server->address, server->host);
  move_address (&server->secure_address, server->host);
  configure_member (ensemble, i, setup);
}

ZkEnsemble *
zk_ensemble_start_as (const ZkEnsembleSetup *setup)
{
  ZkEnsemble *ensemble = g_new0 (ZkEnsemble, 1);
  for (int i = 0; i < N_SERVERS; i++)
    ensemble->servers[i] = server_new (NULL);
  give_addresses (ensemble, setup->by_links);
  for (int i = 0; i < N_SERVERS; i++) {
    if (setup->own_disks && !mount_disk (ensemble->servers[i]))
      g_printerr ("no file system of its own for a server: %s\n", g_strerror (errno));
    configure_member (ensemble, i, setup);
    zk_server_relaunch (ensemble->servers[i]);
  }
  for (int i = 0; i < N_SERVERS; i++) {
    if (!zk_server_wait_serving (ensemble->servers[i], START_TIMEOUT_MS)) {
      zk_ensemble_stop (ensemble);
      return NULL;
    }
  }
  return ensemble;
}

ZkEnsemble *
zk_ensemble_start (int tick_ms, const char *const *java_options)
{
  const ZkEnsembleSetup setup = { .tick_ms = tick_ms,
                                  .sync_limit = USUAL_SYNC_LIMIT,
                                  .java_options = java_options };
  return zk_ensemble_start_as (&setup);
}

ZkLinks *
zk_ensemble_links (ZkEnsemble *ensemble)
{
  return ensemble->links;
}

void
zk_ensemble_stop (ZkEnsemble *ensemble)
{
  if (ensemble == NULL)
    return;
  for (int i = 0; i < N_SERVERS; i++) {
    zk_server_stop (ensemble->servers[i]);
    g_free (ensemble->quorum[i]);
    g_free (ensemble->election[i]);
  }
  zk_links_free (ensemble->links);
  g_free (ensemble->connect_string);
  g_free (ensemble);
}

ZkServer *
zk_ensemble_server (ZkEnsemble *ensemble, int i)
{
  return ensemble->servers[i];
}

const char *
zk_ensemble_connect_string (ZkEnsemble *ensemble)
{
  return ensemble->connect_string;
}

int
zk_ensemble_leader (ZkEnsemble *ensemble)
{
  for (int i = 0; i < N_SERVERS; i++) {
    g_autofree char *answer = four_letter (ensemble->servers[i]->address, "srvr", 500);
    if (answer != NULL && strstr (answer, "Mode: leader") != NULL)
      return i;
  }
  return -1;
}

gboolean
zk_ensemble_wait_whole (ZkEnsemble *ensemble, int timeout_ms)
{
  const gint64 deadline = wait_now_ms () + timeout_ms;
  gboolean whole = FALSE;
  while (!whole && wait_now_ms () < deadline) {
    whole = zk_ensemble_leader (ensemble) >= 0;
    for (int i = 0; i < N_SERVERS; i++)
      whole = whole && wait_serving (ensemble->servers[i], 500);
  }
  for (int i = 0; i < N_SERVERS && !whole; i++)
    print_log (ensemble->servers[i]);
  return whole;
}
