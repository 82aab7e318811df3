/* Faults: at random moments, scripted by a test, and how they end. Runs with the baton. */
#include "sim-private.h"

#include <string.h>

/* --- scripted --------------------------------------------------------------------------------- */

void
sim_world_script (SimWorld *world, SimProcess *process, SimOp op, guint nth, int rc, SimWhen when)
{
  SimScript *script = g_new0 (SimScript, 1);

  script->process = process;
  script->op = op;
  script->nth = nth;
  script->rc = rc;
  script->when = when;
  g_ptr_array_add (world->scripts, script);
}

SimScript *
sim_script_match (SimWorld *world, SimProcess *process, SimOp op, gboolean at_submit)
{
  SimScript *match = NULL;

  for (guint i = 0; !world->healing && i < world->scripts->len; i++) {
    SimScript *script = world->scripts->pdata[i];

    if (script->op != op || (script->when == SIM_AT_SUBMIT) != at_submit
        || (script->process != NULL && script->process != process))
      continue;
    script->seen++;
    if (match == NULL && (script->nth == 0 || script->nth == script->seen))
      match = script;
  }
  return match;
}

gboolean
sim_world_carry_out (SimWorld *world)
{
  SimRequest *request = g_steal_pointer (&world->lost_create);

  if (request == NULL)
    return FALSE;
  sim_trace (world, "fault: #%u %s is carried out late", request->serial,
             sim_op_name (request->op));
  sim_leader_execute (world, world->lost_by, request);
  const gboolean done = request->rc == ZOK;
  sim_request_unref (request);
  return done;
}

void
sim_world_carry_out_with (SimWorld *world, SimOp op, gboolean before)
{
  world->late_op = op;
  world->late_is_before = before;
  world->late_is_scripted = TRUE;
}

gboolean
sim_process_loses_event (SimProcess *process, SimLoss where)
{
  if (process->to_lose != where)
    return FALSE;
  sim_trace (process->world, "%s: an event is lost", process->name);
  process->to_lose = SIM_LOST_NOWHERE;
  return TRUE;
}

/* --- at random moments ------------------------------------------------------------------------ */

static gint64
some_time (SimWorld *world)
{
  gint64 max = world->config.outage_max_us;

  return 1
         + (gint64) (g_rand_double (world->rand)
                     * (double) (sim_chance (world, 0.5) ? max / 20 : max));
}

void
sim_faults_schedule_next (SimWorld *world)
{
  gint64 mean = world->config.fault_every_us;

  world->next_fault_at = SIM_NEVER;
  if (mean > 0 && !world->healing) {
    world->next_fault_at =
        world->now + 1 + (gint64) (g_rand_double (world->rand) * 2 * (double) mean);
  }
}

static SimProcess *
pick_process (SimWorld *world, SimFault fault)
{
  g_autoptr (GPtrArray) alive = g_ptr_array_new ();

  for (guint i = 0; i < world->processes->len; i++)
    if (!sim_process_is_dead (world->processes->pdata[i]))
      g_ptr_array_add (alive, world->processes->pdata[i]);
  if (alive->len < (fault == SIM_FAULT_CRASH ? 2u : 1u))
    return NULL;
  return alive->pdata[sim_rand_below (world, alive->len)];
}

void
sim_fault_strike_at_random (SimWorld *world)
{
  const SimConfig *config = &world->config;
  guint total = 0;
  int fault = 0;

  world->next_fault_at = SIM_NEVER;
  for (int i = 0; i < SIM_N_FAULTS; i++)
    total += config->weights[i];
  if (total == 0 || (config->faults_until_us != 0 && world->now >= config->faults_until_us))
    return;
  guint ticket = sim_rand_below (world, total);
  while (ticket >= config->weights[fault])
    ticket -= config->weights[fault++];
  SimProcess *process = pick_process (world, (SimFault) fault);
  if (process != NULL) {
    const gint64 duration_us = some_time (world);
    /* Half of the machines that sleep are guests. */
    if (fault == SIM_FAULT_SUSPEND && duration_us % 2 != 0)
      fault = SIM_FAULT_STOP;
    sim_world_strike (world, (SimFault) fault, process, duration_us);
  }
  sim_faults_schedule_next (world);
}

/* --- each of them ----------------------------------------------------------------------------- */

static CuratorZkHandle *
handle_of (SimProcess *process)
{
  for (guint i = 0; i < process->world->handles->len; i++) {
    CuratorZkHandle *handle = process->world->handles->pdata[i];

    if (handle->process == process && handle->conn != NULL)
      return handle;
  }
  return NULL;
}

static void
update_sessions (SimWorld *world)
{
  for (guint i = 0; i < world->sessions->len; i++)
    sim_session_update (world, world->sessions->pdata[i]);
}

/* One server at a time, so that a client always finds another. */
static void
cut_server (SimWorld *world, SimProcess *process, gint64 duration_us, gboolean liar)
{
  CuratorZkHandle *handle = handle_of (process);
  SimServer *server = handle != NULL ? handle->conn->server : NULL;

  for (int i = 0; i < world->config.n_servers; i++)
    if (world->servers[i]->cut_until != 0)
      return;
  if (server == NULL || world->config.n_servers < 2)
    return;
  sim_trace (world, "server %d: no quorum for %" G_GINT64_FORMAT " ms", server->id,
             duration_us / 1000);
  server->cut_until = world->now + duration_us;
  server->hangs_up_at =
      sim_chance (world, 0.5)
          ? world->now + (gint64) (g_rand_double (world->rand) * (double) duration_us)
          : SIM_NEVER;
  server->liar = liar;
  /* As the leader it has applied every transaction that it proposed. */
  if (liar)
    sim_server_apply (world, server, TRUE);
}

/* A leader that notices closes all client connections. */
void
sim_server_uncut (SimWorld *world, SimServer *server)
{
  gboolean deposed = server->liar;
  sim_trace (world, "server %d: has a quorum again", server->id);
  server->cut_until = 0;
  server->hangs_up_at = SIM_NEVER;
  server->liar = FALSE;
  server->next_apply_at = SIM_NEVER;
  if (deposed)
    sim_server_hang_up (world, server);
  sim_server_notice (world);
  update_sessions (world);
}

/* The leader expires overdue sessions now, whatever requests are in its queue. */
void
sim_world_thaw (SimWorld *world)
{
  sim_trace (world, "the leader resumes");
  world->frozen_until = 0;
  world->thaw_serial = world->next_serial;
  for (guint i = 0; i < world->sessions->len; i++) {
    SimSession *session = world->sessions->pdata[i];

    session->doomed = session->expires_at <= world->now;
  }
  update_sessions (world);
}

static void
pause_process (SimProcess *process, gint64 duration_us, SimFault fault)
{
  SimWorld *world = process->world;

  if (process->paused_until != 0)
    return;
  process->paused_until = world->now + duration_us;
  process->paused_from = world->now;
  process->paused_to = process->paused_until;
  process->pause = fault;
  process->n_pauses++;
  /* A suspended machine does not read its clock. */
  process->suspended_us += fault != SIM_FAULT_PAUSE ? duration_us : 0;
  process->stopped_us += fault == SIM_FAULT_STOP ? duration_us : 0;
}

/* The library may read its clock before it reads its socket, or after. */
void
sim_process_resume (SimProcess *process)
{
  SimWorld *world = process->world;
  CuratorZkHandle *handle = handle_of (process);

  sim_trace (world, "%s: resumes", process->name);
  process->paused_until = 0;
  if (handle != NULL && sim_chance (world, 0.3))
    sim_net_drop (world, handle, ZOPERATIONTIMEOUT, TRUE);
  update_sessions (world);
}

void
sim_process_crash (SimProcess *process)
{
  sim_trace (process->world, "%s: dies", process->name);
  process->dead = TRUE;
  update_sessions (process->world);
}

void
sim_world_strike (SimWorld *world, SimFault fault, SimProcess *process, gint64 duration_us)
{
  static const guint on_connections = 1u << SIM_FAULT_DROP | 1u << SIM_FAULT_DROP_QUIET
                                      | 1u << SIM_FAULT_DUPLICATE | 1u << SIM_FAULT_SILENT
                                      | 1u << SIM_FAULT_DEAF | 1u << SIM_FAULT_EXPIRE
                                      | 1u << SIM_FAULT_STALL;
  CuratorZkHandle *handle = process == NULL ? NULL : handle_of (process);
  const gint64 until = world->now + duration_us;
  const int rc = sim_chance (world, 0.7) ? ZCONNECTIONLOSS : ZOPERATIONTIMEOUT;

  sim_trace (world, "fault: %s for %s, %" G_GINT64_FORMAT " ms", sim_fault_name (fault),
             process == NULL ? "all" : process->name, duration_us / 1000);
  if ((1u << fault & on_connections) != 0 && (handle == NULL || handle->closing))
    return;
  switch (fault) {
  case SIM_FAULT_DROP:
    sim_net_drop (world, handle, rc, TRUE);
    break;
  case SIM_FAULT_DROP_QUIET:
    sim_net_drop (world, handle, sim_chance (world, 0.5) ? ZRUNTIMEINCONSISTENCY : rc, FALSE);
    break;
  case SIM_FAULT_DUPLICATE:
    sim_handle_put_session (handle, ZOO_CONNECTED_STATE, 0);
    break;
  case SIM_FAULT_SILENT:
  case SIM_FAULT_DEAF:
    sim_conn_silence (world, handle->conn, duration_us, fault == SIM_FAULT_DEAF);
    break;
  case SIM_FAULT_EXPIRE:
    process->n_kills++;
    process->killed = handle->session;
    sim_session_end (world, handle->session, "by the server");
    break;
  case SIM_FAULT_STALL:
    handle->stalled_until = until;
    break;
  case SIM_FAULT_OUTAGE:
    process->outage_until = until;
    if (handle != NULL)
      sim_net_drop (world, handle, ZCONNECTIONLOSS, TRUE);
    break;
  case SIM_FAULT_PAUSE:
  case SIM_FAULT_SUSPEND:
  case SIM_FAULT_STOP:
    pause_process (process, duration_us, fault);
    break;
  case SIM_FAULT_CUT:
  case SIM_FAULT_LIAR:
    cut_server (world, process, duration_us, fault == SIM_FAULT_LIAR);
    break;
  case SIM_FAULT_LAG:
    if (handle != NULL)
      handle->conn->server->lag_until = until;
    break;
  case SIM_FAULT_FREEZE:
    world->frozen_until = world->frozen_until != 0 ? world->frozen_until : until;
    break;
  case SIM_FAULT_REAP:
    sim_leader_reap (world);
    break;
  case SIM_FAULT_CRASH:
    sim_process_crash (process);
    break;
  case SIM_N_FAULTS:
    break;
  }
  update_sessions (world);
}

/* --- the end of all faults -------------------------------------------------------------------- */

static void
raise_the_dead (SimWorld *world)
{
  for (guint i = 0; i < world->processes->len; i++) {
    SimProcess *process = world->processes->pdata[i];

    process->outage_until = 0;
    if (process->paused_until != 0) {
      const gint64 spared_us = process->paused_until - world->now;
      process->suspended_us -= process->pause != SIM_FAULT_PAUSE ? spared_us : 0;
      process->stopped_us -= process->pause == SIM_FAULT_STOP ? spared_us : 0;
      process->paused_until = 0;
    }
    process->zombie = process->zombie || process->dead;
    process->dead = FALSE;
  }
}

void
sim_world_heal (SimWorld *world)
{
  sim_trace (world, "--- all faults end");
  world->healing = TRUE;
  world->next_fault_at = SIM_NEVER;
  for (guint i = 0; i < world->handles->len; i++) {
    CuratorZkHandle *handle = world->handles->pdata[i];

    handle->stalled_until = 0;
    if (handle->process->dead)
      sim_net_drop (world, handle, ZCONNECTIONLOSS, TRUE);
  }
  raise_the_dead (world);
  if (world->frozen_until != 0)
    sim_world_thaw (world);
  for (int i = 0; i < world->config.n_servers; i++) {
    world->servers[i]->lag_until = 0;
    if (world->servers[i]->cut_until != 0)
      sim_server_uncut (world, world->servers[i]);
    else if (world->servers[i]->next_apply_at != SIM_NEVER)
      world->servers[i]->next_apply_at = world->now;
  }
  for (guint i = 0; i < world->conns->len; i++)
    sim_conn_unsilence (world, world->conns->pdata[i]);
  update_sessions (world);
}

/* --- for tests -------------------------------------------------------------------------------- */

void
sim_process_set_wall_clock (SimProcess *process, gint64 forward_us)
{
  sim_trace (process->world, "%s: the wall clock is set by %" G_GINT64_FORMAT " ms", process->name,
             forward_us / 1000);
  process->wall_set_us += forward_us;
}

void
sim_process_slew_wall_clock (SimProcess *process, gint64 ppm)
{
  const gint64 now = process->world->now;
  process->wall_set_us += (now - process->slewed_from_us) * process->wall_ppm / 1000000;
  process->slewed_from_us = now;
  process->wall_ppm = ppm;
}

void
sim_process_move (SimProcess *process, int server)
{
  process->prefer_server = server;
  sim_world_strike (process->world, SIM_FAULT_DROP, process, 0);
}

int
sim_process_server (SimProcess *process)
{
  CuratorZkHandle *handle = handle_of (process);

  return handle == NULL ? -1 : handle->conn->server->id;
}

guint
sim_process_server_watches (SimProcess *process)
{
  CuratorZkHandle *handle = handle_of (process);

  return handle == NULL ? 0 : sim_server_count_watches (handle->conn->server, handle->conn);
}

guint
sim_process_client_watches (SimProcess *process)
{
  CuratorZkHandle *handle = handle_of (process);

  return handle == NULL ? 0 : handle->watches->len;
}

guint
sim_process_pending (SimProcess *process)
{
  CuratorZkHandle *handle = handle_of (process);

  return handle == NULL ? 0 : handle->pending.length;
}

guint
sim_process_open_handles (SimProcess *process)
{
  guint n = 0;

  for (guint i = 0; i < process->world->handles->len; i++)
    n += ((CuratorZkHandle *) process->world->handles->pdata[i])->process == process ? 1 : 0;
  return n;
}
