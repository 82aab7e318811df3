/* Real ZooKeeper servers, and faults between them and a program, for the program's own tests.
 *
 * A library of its own, libcurator-testing: curator.h does not include this header. It needs GLib
 * only, and on the machine a Java runtime and ZooKeeper's jars, on Debian the packages
 * default-jre-headless and zookeeper. CURATOR_TEST_ZOOKEEPER_CLASSPATH may name other jars.
 *
 * Servers listen on loopback addresses of their own and on free ports, so tests may run side by
 * side. Their data are in a temporary folder. They end with the object, or with the program, also
 * if it is killed. A program that is killed leaves the folder. Every wait ends after a minute. Any
 * thread may call any function, but one object is used by one thread at a time. In a child after
 * fork() its parent's objects are not for use: their functions fail with a critical message, and a
 * free does nothing.
 */
#ifndef CURATOR_TESTING_H
#define CURATOR_TESTING_H

#include <glib.h>

G_BEGIN_DECLS

/** The domain of #CuratorTestError. */
#define CURATOR_TEST_ERROR (curator_test_error_quark ())

/** Returns #CURATOR_TEST_ERROR. */
GQuark curator_test_error_quark (void);

/** Why a function failed. */
typedef enum
{
  /** The machine has no Java runtime or no ZooKeeper; the message says in one sentence what to
   *  install. */
  CURATOR_TEST_ERROR_MISSING,
  /** Anything else; the message says what. */
  CURATOR_TEST_ERROR_FAILED
} CuratorTestError;

/** One server. Mirrors TestingServer of curator-test. */
typedef struct _CuratorTestServer CuratorTestServer;

/** Starts a server and waits until it serves, a second or two. Its tick is 500 ms, so it grants
 *  session timeouts of 1 to 10 s. Mirrors TestingServer().
 *  @return a new server; NULL with MISSING or FAILED */
G_GNUC_WARN_UNUSED_RESULT
CuratorTestServer *curator_test_server_new (GError **error);

/** "host:port". Owned by the server, and the same after a restart. Mirrors getConnectString. */
const char *curator_test_server_get_connect_string (const CuratorTestServer *server);

/** Kills the server; its data stay. Mirrors stop. */
void curator_test_server_kill (CuratorTestServer *server);

/** Kills the server if it runs, starts it with its data and waits until it serves. Mirrors restart.
 *  @return FALSE with FAILED */
G_GNUC_WARN_UNUSED_RESULT
gboolean curator_test_server_restart (CuratorTestServer *server, GError **error);

/** Stops the server's process (SIGSTOP), as a long garbage collection does: its connections stay,
 *  and nobody answers. No Java counterpart. */
void curator_test_server_pause (CuratorTestServer *server);

/** Continues it (SIGCONT). No Java counterpart. */
void curator_test_server_resume (CuratorTestServer *server);

/** Kills the server and removes its data. NULL is allowed. Mirrors close. */
void curator_test_server_free (CuratorTestServer *server);

/** Three servers that form one ensemble. Mirrors TestingCluster of curator-test. */
typedef struct _CuratorTestCluster CuratorTestCluster;

/** Starts three servers and waits until all serve. Mirrors TestingCluster(3).
 *  @return a new cluster; NULL with MISSING or FAILED */
G_GNUC_WARN_UNUSED_RESULT
CuratorTestCluster *curator_test_cluster_new (GError **error);

/** "host:port,host:port,host:port". Owned by the cluster. Mirrors getConnectString. */
const char *curator_test_cluster_get_connect_string (const CuratorTestCluster *cluster);

/** "host:port" of a member, for a proxy in front of it. Owned by the cluster.
 *  @param i  0, 1 or 2 */
const char *curator_test_cluster_get_member (const CuratorTestCluster *cluster, int i);

/** The member that leads the ensemble now; -1 if none does. */
int curator_test_cluster_get_leader (CuratorTestCluster *cluster);

/** Kills a member; its data stay. Mirrors killServer.
 *  @param i  0, 1 or 2 */
void curator_test_cluster_kill (CuratorTestCluster *cluster, int i);

/** Kills the member if it runs, and starts it with its data. Does not wait: with
 *  curator_test_cluster_wait(). Mirrors restartServer.
 *  @param i  0, 1 or 2
 *  @return FALSE with FAILED */
G_GNUC_WARN_UNUSED_RESULT
gboolean curator_test_cluster_restart (CuratorTestCluster *cluster, int i, GError **error);

/** Waits until all three members serve, one of them as the leader.
 *  @return FALSE with FAILED after a minute */
G_GNUC_WARN_UNUSED_RESULT
gboolean curator_test_cluster_wait (CuratorTestCluster *cluster, GError **error);

/** Kills the servers and removes their data. NULL is allowed. Mirrors close. */
void curator_test_cluster_free (CuratorTestCluster *cluster);

/** A network between a program and one server, which does as it is told. Every function has taken
 *  effect when it returns. No Java counterpart. */
typedef struct _CuratorTestProxy CuratorTestProxy;

/** Listens on a free port and forwards to the server.
 *  @param server  "127.x.y.z:port": of a #CuratorTestServer, of a member, or any other server on
 *                 loopback
 *  @return a new proxy; NULL with FAILED */
G_GNUC_WARN_UNUSED_RESULT
CuratorTestProxy *curator_test_proxy_new (const char *server, GError **error);

/** "host:port", for the program. Owned by the proxy. */
const char *curator_test_proxy_get_connect_string (const CuratorTestProxy *proxy);

/** Resets every connection. New ones are accepted, so the program comes back. */
void curator_test_proxy_cut (CuratorTestProxy *proxy);

/** Resets every connection and refuses new ones until curator_test_proxy_restore(). */
void curator_test_proxy_refuse (CuratorTestProxy *proxy);

/** Forwards nothing more, while connections stay and new ones are accepted, until
 *  curator_test_proxy_restore(): silence, as when a switch dies. */
void curator_test_proxy_stall (CuratorTestProxy *proxy);

/** Forwards what is sent from now on so much later.
 *  @param to_server_ms  milliseconds for what the program sends
 *  @param to_client_ms  milliseconds for what the server sends */
void curator_test_proxy_delay (CuratorTestProxy *proxy, int to_server_ms, int to_client_ms);

/** Ends a stall, a refusal and a delay. What waited in a stall is forwarded. */
void curator_test_proxy_restore (CuratorTestProxy *proxy);

/** Resets every connection and frees the proxy. NULL is allowed. */
void curator_test_proxy_free (CuratorTestProxy *proxy);

/** Ends a session on the server, while the program still believes in it; the server is reached even
 *  if the proxy stalls. The program learns of it when it is connected again. Mirrors
 *  KillSession.kill.
 *  @param proxy       through which the session's program is connected
 *  @param session_id  0: the last session that began or went on through the proxy
 *  @return FALSE with FAILED: no such session has come through the proxy, or the server does not
 *    answer */
G_GNUC_WARN_UNUSED_RESULT
gboolean curator_test_expire_session (CuratorTestProxy *proxy, gint64 session_id, GError **error);

/** How late this machine was since then: a thread that sleeps in steps of 5 ms adds up by how much
 *  they were longer. A test that asserts a bound in time allows for that, and does not fail because
 *  the machine was busy. The first call starts the thread, and knows of nothing before it. In a
 *  child after fork() always 0. No Java counterpart.
 *  @param since_us  g_get_monotonic_time() of then
 *  @return microseconds */
gint64 curator_test_get_machine_delay_us (gint64 since_us);

/* What g_autoptr() calls. */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorTestServer, curator_test_server_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorTestCluster, curator_test_cluster_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorTestProxy, curator_test_proxy_free)

G_END_DECLS

#endif
