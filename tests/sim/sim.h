/* A simulated ZooKeeper, network, machine and scheduler for testing the client library.
 *
 * One SimWorld is one schedule: everything in it happens in virtual time and in an order that its
 * seed decides, so a failure can be replayed. The library runs on the ops table of a SimProcess
 * instead of libzookeeper.
 *
 * Threads: one thread drives the world (sim_world_run). Actors, and the library's callback and
 * session lanes, have threads of their own, but a baton lets exactly one thread run at a time.
 * Nothing here locks: the baton is the lock.
 */
#ifndef SIM_H
#define SIM_H

#include "core/zk_ops.h"

#include <glib.h>

typedef struct _SimWorld SimWorld;
typedef struct _SimProcess SimProcess;
typedef struct _SimActor SimActor;

/* --- configuration ---------------------------------------------------------------------- */

/* Faults that can strike at random times. */
typedef enum
{
  SIM_FAULT_DROP,       /* connection reset */
  SIM_FAULT_DROP_QUIET, /* connection reset, but the library forgets the CONNECTING event */
  SIM_FAULT_DUPLICATE,  /* a second CONNECTED event without a reconnect */
  SIM_FAULT_SILENT,     /* nothing passes in either direction for a while */
  SIM_FAULT_DEAF,       /* requests arrive and take effect, nothing is returned for a while */
  SIM_FAULT_OUTAGE,     /* connection reset, and no server can be reached for a while */
  SIM_FAULT_EXPIRE,     /* the server ends the session */
  SIM_FAULT_PAUSE,      /* the client's process stops for a while (SIGSTOP) */
  SIM_FAULT_SUSPEND,    /* its machine is suspended for a while: CLOCK_MONOTONIC stops as well */
  SIM_FAULT_STOP, /* it is a paused guest: all its clocks stop, but that on the wall is then set right */
  SIM_FAULT_STALL,  /* ZooKeeper's delivery thread does not get the CPU for a while */
  SIM_FAULT_CUT,    /* a server is cut off from the quorum: it still serves reads and pings */
  SIM_FAULT_LIAR,   /* the same for a deposed leader: sync succeeds there, too */
  SIM_FAULT_LAG,    /* a server falls behind for a while */
  SIM_FAULT_FREEZE, /* the leader is paused: no transaction commits, and it resumes late */
  SIM_FAULT_REAP,   /* the container reaper runs */
  SIM_FAULT_CRASH,  /* the client's process dies */
  SIM_N_FAULTS
} SimFault;

typedef struct
{
  int n_servers;         /* 1 to 8 */
  gint64 tick_ms;        /* the servers' tickTime; bounds session timeouts as in ZooKeeper */
  gint64 latency_min_us; /* of one hop between client and server */
  gint64 latency_max_us;
  gint64 lag_max_us;      /* of a server behind the commit */
  gint64 fault_every_us;  /* mean time between timed faults, 0 for none */
  gint64 faults_until_us; /* no timed fault starts after this moment */
  gint64 outage_max_us;   /* the longest duration of a fault that lasts */
  guint weights[SIM_N_FAULTS];

  /* Per request: the connection is cut just before or just after the server executes it; the
   * server refuses it (SESSIONMOVED, THROTTLEDOP); the library does not accept it. */
  double p_cut_before;
  double p_cut_after;
  double p_refuse;
  double p_not_taken;
  double p_spurious_wake; /* per step */
  gboolean eager;         /* servers end sessions at the first moment at which they may */
  double p_connect_fails; /* per attempt */
  double p_open_fails;
  double p_other_timeout; /* per reconnect: the server grants another session timeout */
  gboolean private_nodes; /* deleting an ephemeral node of another session is a failure */
  gboolean plain_nodes;   /* the recipe's nodes have names that others use, too */

  gint64 time_limit_us; /* of virtual time; beyond it the world counts as hung */
  guint64 step_limit;
} SimConfig;

/* Several servers with small delays and no faults. */
void sim_config_calm (SimConfig *config);

/* --- world ------------------------------------------------------------------------------ */

SimWorld *sim_world_new (guint32 seed, const SimConfig *config);
/* Every actor must be done and every handle closed, or the world fails. */
void sim_world_free (SimWorld *world);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimWorld, sim_world_free)

SimConfig *sim_world_config (SimWorld *world);
GRand *sim_world_rand (SimWorld *world);
gint64 sim_world_now_us (SimWorld *world);

/* Runs until every actor of a living process is done. FALSE if a failure was recorded. */
gboolean sim_world_run (SimWorld *world);
/* Runs for this long in virtual time, or until no step is left. */
gboolean sim_world_run_for (SimWorld *world, gint64 ms);
/* No more faults; connections, servers and processes recover. Dead processes come back as zombies:
 * they run again, without a network, so that a test can take their memory apart. */
void sim_world_heal (SimWorld *world);

/* Only the first failure counts. It prints the seed, how to replay it and the end of the trace. */
void sim_world_fail (SimWorld *world, const char *format, ...) G_GNUC_PRINTF (2, 3);
gboolean sim_world_failed (SimWorld *world);
/* The name of this world in the report of a failure. */
void sim_world_set_label (SimWorld *world, const char *label);
/* Adds a line to the trace; tests may call it, too. Names of lock nodes are abbreviated. */
void sim_trace (SimWorld *world, const char *format, ...) G_GNUC_PRINTF (2, 3);
guint64 sim_world_trace_hash (SimWorld *world);
guint64 sim_world_steps (SimWorld *world);

/* First in main: the library's warnings, which tests provoke, are shown with SIM_TRACE only; the two
 * below; SIM_TEST=test_x runs one test. */
void sim_prepare (const char *program);
/* The main function, if it has nothing else to do; with support/suite.h. */
#define SIM_SUITE(name)                                                                            \
  int main (void)                                                                                  \
  {                                                                                                \
    sim_prepare (name);                                                                            \
    return suite_run ((name), NULL, NULL);                                                         \
  }
/* A crash prints the seed and the trace of the newest world. */
void sim_report_crashes (void);
/* Pins the test to one CPU, which makes passing the baton several times faster, and lowers its
 * priority: other tests depend on real time, the simulator does not. */
void sim_pin_to_one_cpu (void);

/* --- processes: one client machine each --------------------------------------------------- */

SimProcess *sim_process_new (SimWorld *world, const char *name);
CuratorZkOps *sim_process_ops (SimProcess *process);
const char *sim_process_name (SimProcess *process);
gboolean sim_process_is_dead (SimProcess *process);
/* How often the server killed its healthy session, and whether the client has yet to learn of that.
 * Until then no client can know that its hold is over. */
guint sim_process_n_kills (SimProcess *process);
gboolean sim_process_is_deceived (SimProcess *process);
/* Sets the process's CLOCK_REALTIME, and lets it gain on the others from now on. */
void sim_process_set_wall_clock (SimProcess *process, gint64 forward_us);
void sim_process_slew_wall_clock (SimProcess *process, gint64 ppm);
/* How often it was paused or suspended. */
guint sim_process_n_pauses (SimProcess *process);
/* How often a server has told it something. */
guint sim_process_n_answers (SimProcess *process);

/* How the world steps a client's lanes. */
typedef struct
{
  gint64 (*ready_at) (gpointer client, int lane);
  gboolean (*step) (gpointer client, int lane);
} SimLanes;
void sim_process_set_client (SimProcess *process, const SimLanes *lanes, gpointer client);

struct _CuratorClient;
/* The process runs this client. Stop it (with NULL) after the client is closed. */
void sim_world_add_client (SimWorld *world, SimProcess *process, struct _CuratorClient *client);

/* --- actors: straight-line test code ------------------------------------------------------ */

typedef void (*SimActorFunc) (gpointer data);

/* process may be NULL: the actor then belongs to no process and is never paused. */
SimActor *sim_actor_new (SimWorld *world, SimProcess *process, const char *name, SimActorFunc func,
                         gpointer data);
/* Called by the running actor. */
void sim_sleep_ms (SimWorld *world, gint64 ms);
void sim_sleep_us (SimWorld *world, gint64 us);
/* An actor that crashes its own process runs on until it waits next. */
void sim_process_crash (SimProcess *process);

/* --- scripted faults ---------------------------------------------------------------------- */

typedef enum
{
  SIM_OP_CREATE,
  SIM_OP_REMOVE,
  SIM_OP_GET,
  SIM_OP_EXISTS,
  SIM_OP_CHILDREN,
  SIM_OP_SET,
  SIM_OP_SYNC,
  SIM_OP_CHECK,
  SIM_OP_UNWATCH,
  SIM_OP_CLOSE,
  SIM_OP_REMOVE_ALL,
  SIM_N_OPS
} SimOp;

const char *sim_op_name (SimOp op);

typedef enum
{
  SIM_AT_SUBMIT,     /* the call itself returns the code */
  SIM_BEFORE_EFFECT, /* the completion has the code, the server did nothing */
  SIM_AFTER_EFFECT   /* the completion has the code, the server executed the request */
} SimWhen;

/* The nth (from 1; 0 is every) request of this kind from this process (NULL: from any) ends with
 * rc. CONNECTIONLOSS and OPERATIONTIMEOUT cut the connection, SESSIONEXPIRED ends the session,
 * AUTHFAILED ends the handle; other codes are just the answer. */
void sim_world_script (SimWorld *world, SimProcess *process, SimOp op, guint nth, int rc,
                       SimWhen when);
/* The next watch event for this process gets lost: the server never sends it, or the library
 * receives it and does not deliver it. */
typedef enum
{
  SIM_LOST_NOWHERE,
  SIM_LOST_AT_SERVER,
  SIM_LOST_IN_LIBRARY
} SimLoss;
void sim_process_lose_event (SimProcess *process, SimLoss where);
/* Whether an event is still to be lost. */
gboolean sim_process_has_to_lose (SimProcess *process);
/* How many requests of this kind the process has made (NULL: all have). */
guint sim_world_n_requests (SimWorld *world, SimProcess *process, SimOp op);

void sim_world_strike (SimWorld *world, SimFault fault, SimProcess *process, gint64 duration_us);
/* The server that the process is connected to, -1 for none; and the one that it connects to
 * next. */
int sim_process_server (SimProcess *process);
void sim_process_prefer_server (SimProcess *process, int server);

/* --- the ensemble as an operator sees it ---------------------------------------------------- */

/* Executed at once, outside of any session. FALSE if ZooKeeper would refuse. */
gboolean sim_world_put (SimWorld *world, const char *path, const char *data, int mode);
gboolean sim_world_delete (SimWorld *world, const char *path);
gboolean sim_world_exists (SimWorld *world, const char *path);
/* Names, sorted; NULL-terminated; empty if there is no such node. */
char **sim_world_children (SimWorld *world, const char *path);
/* The zxid that created the node; 0 if there is none. */
gint64 sim_world_czxid (SimWorld *world, const char *path);
/* The next sequence number under this node. */
void sim_world_set_counter (SimWorld *world, const char *path, gint32 next);
/* Sets the data of a node, if it exists, to a number as a shared count has it. */
void sim_world_set_number (SimWorld *world, const char *path, gint32 number);
/* All the numbers that the node has been set to, by version. */
GArray *sim_world_numbers (SimWorld *world, const char *path);
/* The path of an ephemeral node, NULL if there is none. */
const char *sim_world_find_ephemeral (SimWorld *world);
/* Everything but exists is refused at and below this path; NULL for nowhere. */
void sim_world_set_noauth (SimWorld *world, const char *path);
/* The node's own ACL forbids to read it: get and check are refused, delete is not. NULL for none.
 * is_hidden: these servers have ZOOKEEPER-2590 and refuse exists, too. */
void sim_world_set_unreadable (SimWorld *world, const char *path, gboolean is_hidden);

/* Watches at all servers for this process, known to the server or to the client. */
guint sim_process_server_watches (SimProcess *process);
guint sim_process_client_watches (SimProcess *process);
/* Accepted requests that may still be answered, on handles that are open. */
guint sim_process_pending (SimProcess *process);
guint sim_process_open_handles (SimProcess *process);

/* The library does not use sync, but the simulator has to show what it would prove. */
int sim_ops_sync (CuratorZkHandle *handle, const char *path, CuratorZkTicket *ticket);

#endif
