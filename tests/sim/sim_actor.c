/* Actors: real threads of which exactly one runs at a time, chosen by the world.
 *
 * A thread that holds the baton runs until it waits, sleeps or is done; then the baton goes back to
 * the thread that drives the world. Each thread sleeps at a gate of its own, which is never
 * freed. Threads are kept in a pool from one world to the next. The pool is used with the baton held,
 * so it needs no lock.
 */
#include "sim-private.h"

#include <errno.h>
#include <semaphore.h>

struct _SimThread
{
  sem_t gate;
  SimActor *actor;
};

static sem_t driver_gate;
static GPtrArray *pool; /* NULL: driver_gate is not initialised, either */

static void
gate_pass (sem_t *gate)
{
  while (sem_wait (gate) != 0)
    g_assert (errno == EINTR);
}

static void *
thread_main (void *data)
{
  SimThread *thread = data;

  for (;;) {
    gate_pass (&thread->gate);
    SimActor *actor = thread->actor;
    if (actor->run != NULL)
      actor->run (actor->data);
    else
      actor->func (actor->data);
    actor->state = actor->lane >= 0 ? SIM_ACTOR_IDLE : SIM_ACTOR_DONE;
    sem_post (&driver_gate);
  }
  return NULL;
}

static SimThread *
thread_get (void)
{
  if (pool == NULL) {
    pool = g_ptr_array_new ();
    sem_init (&driver_gate, 0, 0);
  }
  if (pool->len > 0)
    return g_ptr_array_steal_index_fast (pool, pool->len - 1);
  SimThread *thread = g_new0 (SimThread, 1);
  sem_init (&thread->gate, 0, 0);
  g_thread_unref (g_thread_new ("actor", thread_main, thread));
  return thread;
}

static SimActor *
actor_new (SimWorld *world, SimProcess *process, const char *name, SimActorFunc func, gpointer data,
           int lane)
{
  SimActor *actor = g_new0 (SimActor, 1);

  actor->world = world;
  actor->process = process;
  actor->name = g_strdup (name);
  actor->id = world->next_id++;
  actor->func = func;
  actor->data = data;
  actor->lane = lane;
  actor->state = lane >= 0 ? SIM_ACTOR_IDLE : SIM_ACTOR_RUNNABLE;
  actor->wakes_at = world->now;
  g_ptr_array_add (world->actors, actor);
  return actor;
}

SimActor *
sim_actor_new (SimWorld *world, SimProcess *process, const char *name, SimActorFunc func,
               gpointer data)
{
  return actor_new (world, process, name, func, data, -1);
}

void
sim_actor_free (SimActor *actor)
{
  if (actor->thread != NULL)
    g_ptr_array_add (pool, actor->thread);
  g_free (actor->name);
  g_free (actor);
}

void
sim_actor_switch_to (SimActor *actor)
{
  SimWorld *world = actor->world;

  g_assert (world->running == NULL);
  if (actor->thread == NULL) {
    actor->thread = thread_get ();
    actor->thread->actor = actor;
  }
  if (actor->lane < 0)
    sim_trace (world, "%s runs", actor->name);
  actor->state = SIM_ACTOR_RUNNING;
  actor->cond = NULL;
  world->running = actor;
  sem_post (&actor->thread->gate);
  gate_pass (&driver_gate);
  world->running = NULL;
  if (actor->state == SIM_ACTOR_DONE)
    g_ptr_array_add (pool, g_steal_pointer (&actor->thread));
}

static void
park (SimActor *actor, SimActorState state, gpointer cond, gint64 until)
{
  SimThread *thread = actor->thread;

  actor->state = state;
  actor->cond = cond;
  actor->wakes_at = until;
  sem_post (&driver_gate);
  gate_pass (&thread->gate);
}

void
sim_sleep_us (SimWorld *world, gint64 us)
{
  park (world->running, SIM_ACTOR_SLEEPING, NULL, world->now + us);
}

void
sim_sleep_ms (SimWorld *world, gint64 ms)
{
  sim_sleep_us (world, ms * 1000);
}

void
sim_cond_wait (SimWorld *world, gpointer cond, gint64 until)
{
  park (world->running, SIM_ACTOR_WAITING, cond, until);
}

void
sim_cond_wake (SimWorld *world, gpointer cond)
{
  for (guint i = 0; i < world->actors->len; i++) {
    SimActor *actor = world->actors->pdata[i];

    if (actor->state == SIM_ACTOR_WAITING && actor->cond == cond) {
      actor->state = SIM_ACTOR_RUNNABLE;
      actor->wakes_at = world->now + sim_rand_us (world, 50);
    }
  }
}

void
sim_ops_wait (CuratorZkOps *ops, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
  SimWorld *world = ((SimProcess *) ops)->world;

  if (world->running == NULL) {
    sim_world_fail (world, "blocked on a thread that must not block (delivery or timer thread)");
    sim_trace_print (world);
    g_error ("cannot go on");
  }
  pthread_mutex_unlock (mutex);
  sim_cond_wait (world, cond, SIM_NEVER);
  pthread_mutex_lock (mutex);
}

void
sim_ops_wake (CuratorZkOps *ops, pthread_cond_t *cond)
{
  sim_cond_wake (((SimProcess *) ops)->world, cond);
}

int
sim_ops_start_thread (CuratorZkOps *ops, const char *name, void *(*run) (void *), void *data)
{
  SimProcess *process = (SimProcess *) ops;
  g_autofree char *full_name = g_strconcat (process->name, "/", name, NULL);

  sim_actor_new (process->world, process, full_name, NULL, data)->run = run;
  return 0;
}

/* --- a client's lanes ------------------------------------------------------------------- */

static void
run_lane (gpointer data)
{
  SimProcess *process = data;

  curator_dispatch_step (process->client, (CuratorLane) process->world->running->lane);
}

void
sim_lane_step (SimProcess *process, int lane)
{
  sim_trace (process->world, "%s: lane %d", process->name, lane);
  if (lane == CURATOR_LANE_TIMERS) {
    curator_dispatch_step (process->client, CURATOR_LANE_TIMERS);
    return;
  }
  if (process->lane_actors[lane] == NULL) {
    g_autofree char *name = g_strdup_printf ("%s/lane %d", process->name, lane);

    process->lane_actors[lane] = actor_new (process->world, process, name, run_lane, process, lane);
  }
  sim_actor_switch_to (process->lane_actors[lane]);
}

void
sim_actors_collect (SimWorld *world)
{
  gboolean spurious = world->config.p_spurious_wake > 0 && !world->healing
                      && sim_chance (world, world->config.p_spurious_wake);

  for (guint i = 0; i < world->actors->len; i++) {
    SimActor *actor = world->actors->pdata[i];

    if (actor->state > SIM_ACTOR_SLEEPING || !sim_process_runs (actor->process))
      continue;
    const gboolean wakes_up =
        actor->state == SIM_ACTOR_WAITING && spurious && actor->wakes_at == SIM_NEVER;
    sim_ready (world, wakes_up ? world->now : actor->wakes_at, SIM_STEP_ACTOR, actor, actor->id);
  }
}
