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
#pragma once

#include "base/lease_time.h"
#include "core/dispatch.h"
#include "core/zk_ops.h"

#include <glib.h>

#define SIM_MAX_SERVERS 8

typedef struct _SimWorld SimWorld;
typedef struct _SimProcess SimProcess;
typedef struct _SimActor SimActor;
typedef struct _SimServer SimServer;
typedef struct _SimSession SimSession;
typedef struct _SimRequest SimRequest;

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
  int n_servers;          /* 1 to 8 */
  gint64 tick_ms;         /* the servers' tickTime; bounds session timeouts as in ZooKeeper */
  gint64 latency_max_us;  /* of one hop between client and server */
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

/* --- the records, which tests may read; of a world they change the configuration ----------- */

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

/* The next watch event for this process gets lost: the server never sends it, or the library
 * receives it and does not deliver it. */
typedef enum
{
  SIM_LOST_NOWHERE,
  SIM_LOST_AT_SERVER,
  SIM_LOST_IN_LIBRARY
} SimLoss;

struct _SimProcess
{
  CuratorZkOps ops; /* first: ops point back here */
  SimWorld *world;
  char *name;
  int id;
  CuratorClient *client; /* whose lanes the world steps, until it is closed; NULL: none */
  SimActor *lane_actors[CURATOR_N_LANES];
  gint64 paused_until; /* 0: it runs */
  gint64 paused_from;  /* the newest pause, over or not */
  gint64 paused_to;
  guint n_pauses;      /* or suspensions */
  guint n_kills;       /* how often the server ended its healthy session */
  SimSession *killed;  /* ended so; the client does not know yet, nor that its hold is over */
  SimFault pause;      /* the kind of the newest */
  gint64 suspended_us; /* by how much its CLOCK_MONOTONIC is behind */
  gint64 stopped_us;   /* and its CLOCK_BOOTTIME */
  gint64 wall_set_us;  /* by how much its CLOCK_REALTIME was set forward */
  gint64 wall_ppm;     /* and gains from then on */
  gint64 slewed_from_us;
  CuratorLeaseTime lease_time;
  gint64 outage_until;
  gboolean dead;
  gboolean zombie;
  int prefer_server; /* that it connects to next; -1: any */
  SimLoss to_lose;
  guint n_requests[SIM_N_OPS];
  /* Of its clocks, but not for the answer to the world's question when a lane has work: a thread that
   * sleeps is not asked. */
  guint n_readings;
  guint n_answers; /* how often a server has told it something */
};

struct _SimWorld
{
  SimConfig config;
  guint32 seed;
  GRand *rand;
  gint64 now; /* in microseconds, as all times here */
  guint64 steps;

  GPtrArray *log;      /* of SimTxn */
  GHashTable *tree;    /* a SimTree with all of the log applied */
  GPtrArray *sessions; /* all, ended ones too */
  SimServer *servers[SIM_MAX_SERVERS];
  GPtrArray *conns;
  GPtrArray *handles;
  GPtrArray *processes;
  GPtrArray *actors;
  GPtrArray *scripts;
  SimRequest *lost_create; /* that may still be carried out; or NULL */
  SimSession *lost_by;
  SimOp late_op;
  gboolean late_is_scripted;
  gboolean late_is_before;
  char *noauth;
  char *unreadable;
  gboolean is_hidden; /* by exists, too */
  int next_id;
  guint next_serial;

  SimActor *running; /* NULL: the thread that drives the world */
  GArray *ready;     /* of SimStep */
  gint64 next_due;
  gboolean anything;  /* something other than a fault will be due */
  gboolean is_asking; /* the clients, when they have work */
  gboolean healing;
  gint64 next_fault_at;
  gint64 frozen_until; /* the leader is paused; 0 if it is not */
  guint thaw_serial;   /* of the first request after it went on */
  gboolean priorities;
  guint32 salt;

  char *failure; /* NULL: none */
  guint64 n_trace;
  guint64 hash;
};

/* --- world ------------------------------------------------------------------------------ */

SimWorld *sim_world_new (guint32 seed, const SimConfig *config);
SimWorld *sim_world_new_calm (guint32 seed, int n_servers);
/* Every actor must be done and every handle closed, or the world fails. */
void sim_world_free (SimWorld *world);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimWorld, sim_world_free)

/* Runs until every actor of a living process is done. FALSE if a failure was recorded. */
gboolean sim_world_run (SimWorld *world);
/* Runs for this long in virtual time, or until no step is left. */
gboolean sim_world_run_for (SimWorld *world, gint64 ms);
/* No more faults; connections, servers and processes recover. Dead processes come back as zombies:
 * they run again, without a network, so that a test can take their memory apart. */
void sim_world_heal (SimWorld *world);

/* Only the first failure counts. It prints the seed, how to replay it and the end of the trace. */
void sim_world_fail (SimWorld *world, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Adds a line to the trace; tests may call it, too. */
void sim_trace (SimWorld *world, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* First in main. The library's warnings, which tests provoke, are counted, and shown with SIM_TRACE
 * only. A crash prints the seed and the trace of the newest world. SIM_TEST=test_x runs one test. */
void sim_prepare (const char *program);
extern guint sim_n_warnings;
/* The main function, if it has nothing else to do; with support/suite.h. */
#define SIM_SUITE(name)                                                                            \
  int main (void)                                                                                  \
  {                                                                                                \
    sim_prepare (name);                                                                            \
    return suite_run ((name), NULL, NULL);                                                         \
  }

/* --- processes: one client machine each --------------------------------------------------- */

SimProcess *sim_process_new (SimWorld *world, const char *name);
gboolean sim_process_is_dead (SimProcess *process);
/* Sets the process's CLOCK_REALTIME, and lets it gain on the others from now on. */
void sim_process_set_wall_clock (SimProcess *process, gint64 forward_us);
void sim_process_slew_wall_clock (SimProcess *process, gint64 ppm);

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

const char *sim_op_name (SimOp op);
/* Of a watch event. */
const char *sim_type_name (int type);

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
/* How many requests of this kind the process has made (NULL: all have). */
guint sim_world_n_requests (SimWorld *world, SimProcess *process, SimOp op);

/* The newest create that a script has cut before its effect is carried out after all: now, or right
 * before or right behind the next request of this kind that its session's server executes. FALSE if
 * there is none, or its session has ended. Each is carried out once. */
gboolean sim_world_carry_out (SimWorld *world);
void sim_world_carry_out_with (SimWorld *world, SimOp op, gboolean before);

void sim_world_strike (SimWorld *world, SimFault fault, SimProcess *process, gint64 duration_us);
/* Connects it to that server, by a cut. */
void sim_process_move (SimProcess *process, int server);
/* The server that the process is connected to, -1 for none. */
int sim_process_server (SimProcess *process);

/* --- the ensemble as an operator sees it ---------------------------------------------------- */

/* Executed at once, outside of any session. FALSE if ZooKeeper would refuse. */
gboolean sim_world_put (SimWorld *world, const char *path, const char *data, int mode);
gboolean sim_world_delete (SimWorld *world, const char *path);
gboolean sim_world_exists (SimWorld *world, const char *path);
/* Their paths, sorted; NULL-terminated; empty if there is no such node. */
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

/* Watches of this process's connection, known to its server or to the client. */
guint sim_process_server_watches (SimProcess *process);
guint sim_process_client_watches (SimProcess *process);
/* Accepted requests that may still be answered there. */
guint sim_process_pending (SimProcess *process);
guint sim_process_open_handles (SimProcess *process);

/* The library does not use sync, but the simulator has to show what it would prove. */
int sim_ops_sync (CuratorZkHandle *handle, const char *path, CuratorZkTicket *ticket);
