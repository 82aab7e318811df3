/* The schedule: which steps are possible, which one runs next, and how time passes.
 *
 * Each step has a moment from which on it is due. The seed picks one of the steps that are due.
 * Time moves only when none is, and then at once to the next moment. The thread that drives the
 * world runs this; the thread that it hands the baton to runs alone.
 */
#include "sim-private.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void
sim_config_calm (SimConfig *config)
{
  memset (config, 0, sizeof *config);
  config->n_servers = 3;
  config->tick_ms = 2000;
  config->latency_max_us = 1000;
  config->lag_max_us = 2000;
  config->outage_max_us = 20 * G_USEC_PER_SEC;
  config->time_limit_us = G_GINT64_CONSTANT (3600) * G_USEC_PER_SEC;
  config->step_limit = 1000 * 1000;
}

/* --- random numbers ------------------------------------------------------------------------- */

guint
sim_rand_below (SimWorld *world, guint n)
{
  return n <= 1 ? 0 : (guint) g_rand_int_range (world->rand, 0, (gint32) n);
}

gboolean
sim_chance (SimWorld *world, double probability)
{
  return probability > 0 && g_rand_double (world->rand) < probability;
}

gint64
sim_rand_us (SimWorld *world, gint64 max_us)
{
  guint32 kind;

  if (max_us <= 0)
    {
      return 0;
    }
  kind = g_rand_int (world->rand) & 7;
  if (kind < 2)
    {
      return 0;
    }
  if (kind < 5)
    {
      max_us = max_us / 10 + 1;
    }
  return (gint64) (g_rand_double (world->rand) * (double) max_us);
}

static SimWorld *newest;

/* --- creating and freeing a world ------------------------------------------------------------- */

SimWorld *
sim_world_new (guint32 seed, const SimConfig *config)
{
  SimWorld *world = g_new0 (SimWorld, 1);

  world->config = *config;
  world->seed = seed;
  world->rand = g_rand_new_with_seed (seed);
  /* The library takes its jitter and UUIDs from GLib's generator. */
  g_random_set_seed (seed);
  world->now = G_GINT64_CONSTANT (1000) * G_USEC_PER_SEC;
  world->hash = G_GUINT64_CONSTANT (14695981039346656037);
  world->log = g_ptr_array_new_with_free_func ((GDestroyNotify) sim_txn_free);
  world->tree = sim_tree_new ();
  world->sessions = g_ptr_array_new_with_free_func ((GDestroyNotify) sim_session_free);
  world->live_sessions = g_ptr_array_new ();
  world->conns = g_ptr_array_new ();
  world->handles = g_ptr_array_new ();
  world->processes = g_ptr_array_new ();
  world->actors = g_ptr_array_new_with_free_func ((GDestroyNotify) sim_actor_free);
  world->scripts = g_ptr_array_new_with_free_func (g_free);
  world->ready = g_array_new (FALSE, FALSE, sizeof (SimStep));
  world->n_servers = CLAMP (config->n_servers, 1, SIM_MAX_SERVERS);
  for (int i = 0; i < world->n_servers; i++)
    {
      world->servers[i] = sim_server_new (world, i);
    }
  world->priorities = sim_chance (world, 0.4);
  world->salt = g_rand_int (world->rand);
  sim_faults_start (world);
  newest = world;
  return world;
}

static void
process_free (SimProcess *process)
{
  g_free (process->name);
  g_free (process);
}

static void
complain_about_leftovers (SimWorld *world)
{
  for (guint i = 0; i < world->actors->len; i++)
    {
      SimActor *actor = world->actors->pdata[i];

      if (actor->state < SIM_ACTOR_IDLE)
        {
          sim_trace_print (world);
          g_error ("seed %u: %s still runs at the end of the world", world->seed, actor->name);
        }
    }
}

void
sim_world_free (SimWorld *world)
{
  newest = newest == world ? NULL : newest;
  complain_about_leftovers (world);
  while (world->handles->len > 0)
    {
      sim_handle_free (world->handles->pdata[0]);
    }
  g_ptr_array_unref (world->handles);
  g_ptr_array_unref (world->actors);
  g_ptr_array_set_free_func (world->processes, (GDestroyNotify) process_free);
  g_ptr_array_unref (world->processes);
  g_ptr_array_set_free_func (world->conns, (GDestroyNotify) sim_conn_free);
  g_ptr_array_unref (world->conns);
  for (int i = 0; i < world->n_servers; i++)
    {
      sim_server_free (world->servers[i]);
    }
  g_ptr_array_unref (world->live_sessions);
  g_ptr_array_unref (world->sessions);
  g_ptr_array_unref (world->log);
  g_ptr_array_unref (world->scripts);
  sim_tree_free (world->tree);
  g_array_unref (world->ready);
  g_free (world->noauth);
  g_free (world->label);
  sim_trace_free (world);
  if (world->failure != NULL)
    {
      g_string_free (world->failure, TRUE);
    }
  g_rand_free (world->rand);
  g_free (world);
}

SimConfig *
sim_world_config (SimWorld *world)
{
  return &world->config;
}

GRand *
sim_world_rand (SimWorld *world)
{
  return world->rand;
}

gint64
sim_world_now_us (SimWorld *world)
{
  return world->now;
}

guint64
sim_world_steps (SimWorld *world)
{
  return world->steps;
}

void
sim_world_fail (SimWorld *world, const char *format, ...)
{
  va_list args;

  if (world->failure != NULL)
    {
      return;
    }
  world->failure = g_string_new (NULL);
  va_start (args, format);
  g_string_vprintf (world->failure, format, args);
  va_end (args);
  sim_trace (world, "FAILURE: %s", world->failure->str);
  sim_trace_print (world);
}

void
sim_world_set_label (SimWorld *world, const char *label)
{
  g_free (world->label);
  world->label = g_strdup (label);
}

gboolean
sim_world_failed (SimWorld *world)
{
  return world->failure != NULL;
}

/* Not async-signal-safe, but the process is lost anyway and the trace is worth the risk. */
static void
on_crash (int number)
{
  signal (number, SIG_DFL);
  if (newest != NULL)
    {
      sim_world_fail (newest, "crash: %s", strsignal (number));
    }
  raise (number);
}

void
sim_report_crashes (void)
{
  signal (SIGABRT, on_crash);
  signal (SIGSEGV, on_crash);
  signal (SIGTRAP, on_crash);
}

#define POLITE 10 /* of 20 */

void
sim_pin_to_one_cpu (void)
{
#ifdef __linux__
  cpu_set_t set;
  int cpu = sched_getcpu ();

  if (cpu >= 0 && g_getenv ("SIM_NO_PIN") == NULL)
    {
      CPU_ZERO (&set);
      CPU_SET (cpu, &set);
      (void) sched_setaffinity (0, sizeof set, &set);
      (void) setpriority (PRIO_PROCESS, 0, POLITE);
    }
#endif
}

/* --- processes -------------------------------------------------------------------------------- */

SimProcess *
sim_process_new (SimWorld *world, const char *name)
{
  SimProcess *process = g_new0 (SimProcess, 1);

  sim_ops_fill (&process->ops);
  process->world = world;
  process->name = g_strdup (name);
  process->id = world->next_id++;
  process->prefer_server = -1;
  g_ptr_array_add (world->processes, process);
  return process;
}

CuratorZkOps *
sim_process_ops (SimProcess *process)
{
  return &process->ops;
}

const char *
sim_process_name (SimProcess *process)
{
  return process->name;
}

gboolean
sim_process_is_dead (SimProcess *process)
{
  return process->dead || process->zombie;
}

gboolean
sim_process_runs (SimProcess *process)
{
  return process == NULL || (!process->dead && process->paused_until <= process->world->now);
}

void
sim_process_set_client (SimProcess *process, const SimLanes *lanes, gpointer client)
{
  process->client = client;
  if (lanes != NULL)
    {
      process->lanes = *lanes;
    }
}

guint
sim_world_n_requests (SimWorld *world, SimProcess *process, SimOp op)
{
  guint n = 0;

  for (guint i = 0; i < world->processes->len; i++)
    {
      SimProcess *candidate = world->processes->pdata[i];

      n += process == NULL || process == candidate ? candidate->n_requests[op] : 0;
    }
  return n;
}

/* --- possible steps --------------------------------------------------------------------------- */

void
sim_ready (SimWorld *world, gint64 due, SimStepKind kind, gpointer object, int index)
{
  if (due == SIM_NEVER)
    {
      return;
    }
  if (kind != SIM_STEP_FAULT)
    {
      world->anything = TRUE;
    }
  if (due > world->now)
    {
      world->next_due = MIN (world->next_due, due);
    }
  else
    {
      SimStep step = { kind, object, index };

      g_array_append_val (world->ready, step);
    }
}

static void
collect_process (SimWorld *world, SimProcess *process)
{
  if (process->dead)
    {
      return;
    }
  if (process->paused_until != 0)
    {
      sim_ready (world, process->paused_until, SIM_STEP_RESUME, process, process->id);
      return;
    }
  for (int lane = 0; process->client != NULL && lane < SIM_N_LANES; lane++)
    {
      SimActor *actor = process->lane_actors[lane];
      gint64 due;

      if (actor != NULL && actor->state != SIM_ACTOR_IDLE)
        {
          continue;
        }
      due = process->lanes.ready_at (process->client, lane);
      if (due != SIM_NEVER)
        {
          sim_ready (world, due + process->suspended_us, SIM_STEP_LANE, process,
                     process->id * SIM_N_LANES + lane);
        }
    }
}

/* While a request is in flight the library sends no pings, so it takes a slow server for a dead
 * one. */
static gint64
gives_up_at (CuratorZkHandle *handle)
{
  for (GList *l = handle->conn != NULL ? handle->pending.head : NULL; l != NULL; l = l->next)
    {
      SimRequest *request = l->data;

      if (request->stage == SIM_STAGE_SENT)
        {
          gint64 last = handle->inbox_last + handle->timeout_us * 2 / 3;

          return MIN (handle->gives_up_at, MAX (request->patience_ends, last));
        }
    }
  return handle->gives_up_at;
}

static void
collect_handle (SimWorld *world, CuratorZkHandle *handle)
{
  SimItem *item = g_queue_peek_head (&handle->inbox);

  if (!sim_process_runs (handle->process))
    {
      return;
    }
  if (item != NULL)
    {
      sim_ready (world, MAX (item->arrives_at, handle->stalled_until), SIM_STEP_DELIVER, handle,
                 handle->id);
    }
  if (handle->state == SIM_HANDLE_CONNECTING)
    {
      sim_ready (world, handle->attempt_at, SIM_STEP_CONNECT, handle, handle->id);
    }
  sim_ready (world, gives_up_at (handle), SIM_STEP_GIVE_UP, handle, handle->id);
}

static void
collect_server (SimWorld *world, SimServer *server)
{
  if (server->cut_until != 0)
    {
      sim_ready (world, server->cut_until, SIM_STEP_UNCUT, server, server->id);
      sim_ready (world, server->hangs_up_at, SIM_STEP_HANG_UP, server, server->id);
    }
  else
    {
      sim_ready (world, server->next_apply_at, SIM_STEP_APPLY, server, server->id);
    }
}

static void
collect (SimWorld *world)
{
  g_array_set_size (world->ready, 0);
  world->next_due = SIM_NEVER;
  world->anything = FALSE;
  sim_actors_collect (world);
  for (guint i = 0; i < world->processes->len; i++)
    {
      collect_process (world, world->processes->pdata[i]);
    }
  for (guint i = 0; i < world->handles->len; i++)
    {
      collect_handle (world, world->handles->pdata[i]);
    }
  for (guint i = 0; i < world->conns->len; i++)
    {
      SimConn *conn = world->conns->pdata[i];
      gint64 due;

      if (sim_conn_can_execute (world, conn, &due))
        {
          sim_ready (world, due, SIM_STEP_EXECUTE, conn, conn->id);
        }
      if (conn->silent_until != 0)
        {
          sim_ready (world, conn->silent_until, SIM_STEP_UNSILENCE, conn, conn->id);
        }
    }
  for (int i = 0; i < world->n_servers; i++)
    {
      collect_server (world, world->servers[i]);
    }
  for (guint i = 0; i < world->live_sessions->len; i++)
    {
      SimSession *session = world->live_sessions->pdata[i];

      if (world->frozen_until == 0)
        {
          sim_ready (world, session->expires_at, SIM_STEP_EXPIRE, session, (int) session->id);
        }
    }
  if (world->frozen_until != 0)
    {
      sim_ready (world, world->frozen_until, SIM_STEP_THAW, NULL, 0);
    }
  sim_ready (world, world->next_fault_at, SIM_STEP_FAULT, NULL, 0);
}

/* --- running a step --------------------------------------------------------------------------- */

void
sim_server_hang_up (SimWorld *world, SimServer *server)
{
  sim_trace (world, "server %d: hangs up", server->id);
  server->hangs_up_at = SIM_NEVER;
  for (guint i = 0; i < world->handles->len; i++)
    {
      CuratorZkHandle *handle = world->handles->pdata[i];

      if (handle->conn != NULL && handle->conn->server == server)
        {
          /* Requests that have not reached a quorum by now never will. */
          g_queue_clear_full (&handle->conn->requests, (GDestroyNotify) sim_request_unref);
          sim_net_drop (world, handle, ZCONNECTIONLOSS, TRUE);
        }
    }
}

static void
perform (SimWorld *world, const SimStep *step)
{
  gpointer object = step->object;

  switch (step->kind)
    {
    case SIM_STEP_ACTOR:
      sim_actor_switch_to (object);
      break;
    case SIM_STEP_LANE:
      sim_lane_step (object, step->index % SIM_N_LANES);
      break;
    case SIM_STEP_DELIVER:
      sim_handle_deliver (object);
      break;
    case SIM_STEP_CONNECT:
      sim_net_connect (world, object);
      break;
    case SIM_STEP_EXECUTE:
      sim_conn_execute (world, object);
      break;
    case SIM_STEP_APPLY:
      sim_server_apply (world, object, FALSE);
      break;
    case SIM_STEP_EXPIRE:
      sim_session_end (world, object, "expired");
      break;
    case SIM_STEP_UNSILENCE:
      sim_conn_unsilence (world, object);
      break;
    case SIM_STEP_GIVE_UP:
      sim_net_drop (world, object, ZOPERATIONTIMEOUT, TRUE);
      break;
    case SIM_STEP_HANG_UP:
      sim_server_hang_up (world, object);
      break;
    case SIM_STEP_UNCUT:
      sim_server_uncut (world, object);
      break;
    case SIM_STEP_RESUME:
      sim_process_resume (object);
      break;
    case SIM_STEP_THAW:
      sim_world_thaw (world);
      break;
    case SIM_STEP_FAULT:
      sim_fault_strike_at_random (world);
      break;
    }
}

static guint32
priority (SimWorld *world, const SimStep *step)
{
  guint32 x =
      world->salt ^ ((guint32) step->kind * 0x9e3779b9u) ^ ((guint32) step->index * 0x85ebca6bu);

  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

/* Some schedules pick steps evenly; in others some parts are slow and some fast for a while. */
static SimStep
pick (SimWorld *world)
{
  guint best;

  if (!world->priorities || sim_chance (world, 0.15))
    {
      return g_array_index (world->ready, SimStep, sim_rand_below (world, world->ready->len));
    }
  if (sim_chance (world, 0.02))
    {
      world->salt = g_rand_int (world->rand);
    }
  best = 0;
  for (guint i = 1; i < world->ready->len; i++)
    {
      if (priority (world, &g_array_index (world->ready, SimStep, i))
          > priority (world, &g_array_index (world->ready, SimStep, best)))
        {
          best = i;
        }
    }
  return g_array_index (world->ready, SimStep, best);
}

static void
report_hang (SimWorld *world, const char *what)
{
  static const char *const states[] = {
    "runnable", "running", "waiting", "sleeping", "idle", "done"
  };

  sim_world_fail (world, "%s", what);
  for (guint i = 0; i < world->actors->len; i++)
    {
      SimActor *actor = world->actors->pdata[i];

      if (actor->state < SIM_ACTOR_IDLE)
        {
          fprintf (stderr, "--- %s is %s\n", actor->name, states[actor->state]);
        }
    }
  fprintf (stderr, "--- threads are stuck inside the library: giving up\n");
  exit (1);
}

/* FALSE: nothing will ever happen, or not before `until`. */
static gboolean
advance (SimWorld *world, gint64 until)
{
  if (!world->anything || world->next_due == SIM_NEVER || world->next_due > until)
    {
      return FALSE;
    }
  world->now = world->next_due;
  return TRUE;
}

static gboolean
step_once (SimWorld *world, gint64 until)
{
  SimStep step;

  collect (world);
  while (world->ready->len == 0)
    {
      if (!advance (world, until))
        {
          return FALSE;
        }
      collect (world);
    }
  step = pick (world);
  world->steps++;
  perform (world, &step);
  return TRUE;
}

static gboolean
all_done (SimWorld *world)
{
  for (guint i = 0; i < world->actors->len; i++)
    {
      SimActor *actor = world->actors->pdata[i];

      if (actor->state < SIM_ACTOR_IDLE && actor->lane < 0
          && (actor->process == NULL || !actor->process->dead))
        {
          return FALSE;
        }
    }
  return TRUE;
}

gboolean
sim_world_run (SimWorld *world)
{
  gint64 limit = world->now + world->config.time_limit_us;

  while (!all_done (world))
    {
      if (!step_once (world, limit))
        {
          report_hang (world, world->anything ? "hang: too much virtual time has passed"
                                              : "hang: no step is possible any more");
        }
      if (world->steps > world->config.step_limit)
        {
          report_hang (world, "hang: too many steps");
        }
    }
  return world->failure == NULL;
}

gboolean
sim_world_run_for (SimWorld *world, gint64 ms)
{
  gint64 until = world->now + ms * 1000;
  guint64 limit = world->steps + world->config.step_limit;

  while (step_once (world, until))
    {
      if (world->steps > limit)
        {
          report_hang (world, "hang: too many steps");
        }
    }
  world->now = until;
  return world->failure == NULL;
}
