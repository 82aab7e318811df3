/* The schedule: which steps are possible, which one runs next, and how time passes.
 *
 * Each step has a moment from which on it is due. The seed picks one of the steps that are due.
 * Time moves only when none is, and then at once to the next moment. The thread that drives the
 * world runs this; the thread that it hands the baton to runs alone.
 */
#include "sim-private.h"

#include "core/monitor.h"

#include <stdio.h>
#include <stdlib.h>

/* --- possible steps --------------------------------------------------------------------------- */

void
sim_ready (SimWorld *world, gint64 due, SimStepKind kind, gpointer object, int index)
{
  if (due == SIM_NEVER)
    return;
  if (kind != SIM_STEP_FAULT)
    world->anything = TRUE;
  if (due > world->now) {
    world->next_due = MIN (world->next_due, due);
  } else {
    SimStep step = { kind, object, index };

    g_array_append_val (world->ready, step);
  }
}

static void
collect_process (SimWorld *world, SimProcess *process)
{
  if (process->dead)
    return;
  if (process->paused_until != 0) {
    sim_ready (world, process->paused_until, SIM_STEP_RESUME, process, process->id);
    return;
  }
  if (process->client == NULL)
    return;
  world->is_asking = TRUE;
  curator_client_lock (process->client);
  for (int lane = 0; lane < CURATOR_N_LANES; lane++) {
    SimActor *actor = process->lane_actors[lane];

    if (actor != NULL && actor->state != SIM_ACTOR_IDLE)
      continue;
    gint64 due = curator_dispatch_ready_at (process->client, (CuratorLane) lane);
    if (due != SIM_NEVER) {
      sim_ready (world, due + process->suspended_us, SIM_STEP_LANE, process,
                 process->id * CURATOR_N_LANES + lane);
    }
  }
  curator_client_unlock (process->client);
  world->is_asking = FALSE;
}

/* While a request is in flight the library sends no pings, so it takes a slow server for a dead
 * one. */
static gint64
gives_up_at (CuratorZkHandle *handle)
{
  for (GList *l = handle->conn != NULL ? handle->pending.head : NULL; l != NULL; l = l->next) {
    SimRequest *request = l->data;

    if (request->stage == SIM_STAGE_SENT) {
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
    return;
  if (item != NULL) {
    sim_ready (world, MAX (item->arrives_at, handle->stalled_until), SIM_STEP_DELIVER, handle,
               handle->id);
  }
  if (handle->state == SIM_HANDLE_CONNECTING)
    sim_ready (world, handle->attempt_at, SIM_STEP_CONNECT, handle, handle->id);
  sim_ready (world, gives_up_at (handle), SIM_STEP_GIVE_UP, handle, handle->id);
}

static void
collect_server (SimWorld *world, SimServer *server)
{
  if (server->cut_until != 0) {
    sim_ready (world, server->cut_until, SIM_STEP_UNCUT, server, server->id);
    sim_ready (world, server->hangs_up_at, SIM_STEP_HANG_UP, server, server->id);
  } else {
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
    collect_process (world, world->processes->pdata[i]);
  for (guint i = 0; i < world->handles->len; i++)
    collect_handle (world, world->handles->pdata[i]);
  for (guint i = 0; i < world->conns->len; i++) {
    SimConn *conn = world->conns->pdata[i];
    gint64 due;

    if (sim_conn_can_execute (world, conn, &due))
      sim_ready (world, due, SIM_STEP_EXECUTE, conn, conn->id);
    if (conn->silent_until != 0)
      sim_ready (world, conn->silent_until, SIM_STEP_UNSILENCE, conn, conn->id);
  }
  for (int i = 0; i < world->config.n_servers; i++)
    collect_server (world, world->servers[i]);
  for (guint i = 0; i < world->sessions->len; i++) {
    SimSession *session = world->sessions->pdata[i];

    if (world->frozen_until == 0)
      sim_ready (world, session->expires_at, SIM_STEP_EXPIRE, session, (int) session->id);
  }
  if (world->frozen_until != 0)
    sim_ready (world, world->frozen_until, SIM_STEP_THAW, NULL, 0);
  sim_ready (world, world->next_fault_at, SIM_STEP_FAULT, NULL, 0);
}

/* --- running a step --------------------------------------------------------------------------- */

void
sim_server_hang_up (SimWorld *world, SimServer *server)
{
  sim_trace (world, "server %d: hangs up", server->id);
  server->hangs_up_at = SIM_NEVER;
  for (guint i = 0; i < world->handles->len; i++) {
    CuratorZkHandle *handle = world->handles->pdata[i];

    if (handle->conn != NULL && handle->conn->server == server) {
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

  switch (step->kind) {
  case SIM_STEP_ACTOR:
    sim_actor_switch_to (object);
    break;
  case SIM_STEP_LANE:
    sim_lane_step (object, step->index % CURATOR_N_LANES);
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
  if (!world->priorities || sim_chance (world, 0.15))
    return g_array_index (world->ready, SimStep, sim_rand_below (world, world->ready->len));
  if (sim_chance (world, 0.02))
    world->salt = g_rand_int (world->rand);
  guint best = 0;
  for (guint i = 1; i < world->ready->len; i++)
    if (priority (world, &g_array_index (world->ready, SimStep, i))
        > priority (world, &g_array_index (world->ready, SimStep, best)))
      best = i;
  return g_array_index (world->ready, SimStep, best);
}

static void
report_hang (SimWorld *world, const char *what)
{
  sim_world_fail (world, "%s", what);
  for (guint i = 0; i < world->actors->len; i++) {
    SimActor *actor = world->actors->pdata[i];

    if (actor->state < SIM_ACTOR_IDLE)
      fprintf (stderr, "--- %s is in state %d\n", actor->name, actor->state);
  }
  fprintf (stderr, "--- threads are stuck inside the library: giving up\n");
  exit (1);
}

/* FALSE: nothing will ever happen, or not before `until`. */
static gboolean
advance (SimWorld *world, gint64 until)
{
  if (!world->anything || world->next_due == SIM_NEVER || world->next_due > until)
    return FALSE;
  world->now = world->next_due;
  return TRUE;
}

static gboolean
step_once (SimWorld *world, gint64 until)
{
  collect (world);
  while (world->ready->len == 0) {
    if (!advance (world, until))
      return FALSE;
    collect (world);
  }
  SimStep step = pick (world);
  world->steps++;
  perform (world, &step);
  return TRUE;
}

static gboolean
all_done (SimWorld *world)
{
  for (guint i = 0; i < world->actors->len; i++) {
    SimActor *actor = world->actors->pdata[i];

    if (actor->state < SIM_ACTOR_IDLE && actor->lane < 0
        && (actor->process == NULL || !actor->process->dead))
      return FALSE;
  }
  return TRUE;
}

gboolean
sim_world_run (SimWorld *world)
{
  gint64 limit = world->now + world->config.time_limit_us;

  while (!all_done (world)) {
    if (!step_once (world, limit)) {
      report_hang (world, world->anything ? "hang: too much virtual time has passed"
                                          : "hang: no step is possible any more");
    }
    if (world->steps > world->config.step_limit)
      report_hang (world, "hang: too many steps");
  }
  return world->failure == NULL;
}

gboolean
sim_world_run_for (SimWorld *world, gint64 ms)
{
  gint64 until = world->now + ms * 1000;
  guint64 limit = world->steps + world->config.step_limit;

  while (step_once (world, until))
    if (world->steps > limit)
      report_hang (world, "hang: too many steps");
  world->now = until;
  return world->failure == NULL;
}
