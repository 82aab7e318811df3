/* Real ZooKeeper servers for tests: one standalone server, or an ensemble of three.
 *
 * Each server has a loopback address of its own (127.x.y.n, derived from the test's process id), so
 * tests that run side by side cannot take each other's ports. A server dies with the thread that
 * started it (PDEATHSIG): start servers from the test's main thread.
 */
#pragma once

#include "zk_address.h"
#include "zk_links.h"

#include <glib.h>
#include <sys/types.h>

typedef struct _ZkServer ZkServer;
typedef struct _ZkEnsemble ZkEnsemble;

#define ZK_SERVER_DEFAULT_TICK_MS 500

/* ":jar:jar": what a JVM that speaks TLS needs besides ZooKeeper. */
const char *zk_netty_classpath (void);

/* FALSE when there is no java or no ZooKeeper jar: a test then prints that and fails. */
gboolean zk_server_available (void);
/* One sentence that says what is not on this machine, to be freed; NULL: nothing is missing. */
char *zk_server_missing (void);

/* Starts a standalone server and waits until it serves. java_options: extra arguments of the
 * JVM, NULL-terminated, or NULL. Returns NULL, after printing the server's log, when it did not
 * start. */
ZkServer *zk_server_start (int tick_ms, const char *const *java_options);

/* The jars of servers and clients, with those for TLS. */
char *zk_server_class_path (void);

typedef struct
{
  int tick_ms;
  const char *host;   /* NULL: an address of its own */
  const char *config; /* lines of its own for zoo.cfg, or NULL */
  gboolean netty;     /* the connections are made by Netty, which TLS needs */
  /* A folder of make_certificates, with a jaas.conf: another port has TLS, and both have SASL. */
  const char *security;
  const char *const *java_options;
} ZkServerSetup;

ZkServer *zk_server_start_as (const ZkServerSetup *setup);

/* Kills the server, removes its data and frees it. NULL is allowed. */
void zk_server_stop (ZkServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ZkServer, zk_server_stop)

const char *zk_server_address (ZkServer *server);        /* "host:port" */
const char *zk_server_secure_address (ZkServer *server); /* NULL: no TLS */
/* The same of the running server of that address; NULL if there is none. */
const char *zk_server_find_secure_address (const char *address);
const char *zk_server_data_dir (ZkServer *server);
pid_t zk_server_pid (ZkServer *server); /* 0 while it is down */

void zk_server_freeze (ZkServer *server); /* SIGSTOP */
void zk_server_thaw (ZkServer *server);   /* SIGCONT */
/* The next start is with the jars that CURATOR_TEST_ZOOKEEPER_CLASSPATH names now. */
void zk_server_change_jars (ZkServer *server);
void zk_server_kill (ZkServer *server); /* SIGKILL, waits until it is gone */
/* Starts it again on its port and data (after a kill); does not wait until it serves. */
gboolean zk_server_relaunch (ZkServer *server);
/* Prints the server's log if it does not serve in time. */
gboolean zk_server_wait_serving (ZkServer *server, int timeout_ms);
gboolean zk_server_has_exited (ZkServer *server);
/* For a member with a disk of its own: leaves no free byte on it, or frees it again. */
gboolean zk_server_fill_disk (ZkServer *server);
gboolean zk_server_free_disk (ZkServer *server);
/* Kills the server and deletes its data, as after a broken disk; only for members of ensembles. */
void zk_server_wipe (ZkServer *server);
/* kill, relaunch and wait. */
gboolean zk_server_restart (ZkServer *server);

/* Three servers that form one ensemble; waits until all of them serve. */
ZkEnsemble *zk_ensemble_start (int tick_ms, const char *const *java_options);

typedef struct
{
  int tick_ms;
  int sync_limit;       /* ticks after which a follower gives up its leader, and the reverse */
  gboolean by_links;    /* the members reach each other through zk_ensemble_links() only */
  const char *config;   /* as of ZkServerSetup */
  const char *security; /* as of ZkServerSetup */
  const char *const *java_options;
  gboolean own_disks;    /* each member's data on a tmpfs, which needs the right to mount */
  gboolean reconfig;     /* dynamic reconfiguration is enabled */
  int min_session_ms[3]; /* minSessionTimeout of each member; 0: ZooKeeper's own */
  int max_session_ms[3];
} ZkEnsembleSetup;

ZkEnsemble *zk_ensemble_start_as (const ZkEnsembleSetup *setup);
ZkLinks *zk_ensemble_links (ZkEnsemble *ensemble);

void zk_ensemble_stop (ZkEnsemble *ensemble);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ZkEnsemble, zk_ensemble_stop)
ZkServer *zk_ensemble_server (ZkEnsemble *ensemble, int i);
const char *zk_ensemble_connect_string (ZkEnsemble *ensemble);
/* The server that reports itself as the leader, or -1. */
int zk_ensemble_leader (ZkEnsemble *ensemble);
/* Waits until all three serve, one of them as the leader. */
gboolean zk_ensemble_wait_whole (ZkEnsemble *ensemble, int timeout_ms);
/* Kills the member and starts it with this configuration; does not wait until it serves. */
gboolean zk_ensemble_change_member (ZkEnsemble *ensemble, int i, const ZkEnsembleSetup *setup);
/* Kills the member; it then has other addresses for clients, on the same ports. It is started by
 * zk_server_relaunch(). */
void zk_ensemble_move_member (ZkEnsemble *ensemble, int i, const ZkEnsembleSetup *setup);
/* Starts a server that is not yet a member of the ensemble whose lines these are ("server.N=…", one
 * a line), and waits until it serves. line: its own, to be freed. A reconfiguration makes it a
 * member. */
ZkServer *zk_server_start_joiner (int id, const char *lines, const ZkEnsembleSetup *setup,
                                  char **line);
/* "server.N=…" of the member, as reached without links. */
char *zk_ensemble_member_line (ZkEnsemble *ensemble, int i);
