/* Actors: real threads of which exactly one runs at a time, chosen by the world.
 *
 * A thread that holds the baton runs until it waits, sleeps or is done; then the baton goes back to
 * the thread that drives the world. Each thread sleeps at a SimGate of its own. Threads are kept
 * in a pool from one world to the next. The pool is used with the baton held, so it needs no lock.
 */
#include "sim-private.h"

#include <string.h>

typedef struct
{
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  gboolean open;
} SimGate;

struct _SimThread
{
  pthread_t thread;
  SimGate gate;
  SimActor *actor;
};

static SimGate driver_gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, FALSE };
static GPtrArray *pool;

/* Signals without the mutex, so that the woken thread need not wait for it. A gate is never
 * freed. */
static void
gate_open (SimGate *gate)
{
  pthread_mutex_lock (&gate->mutex);
  gate->open = TRUE;
  pthread_mutex_unlock (&gate->mutex);
  pthread_cond_signal (&gate->cond);
}

static void
gate_pass (SimGate *gate)
{
  pthread_mutex_lock (&gate->mutex);
  while (!gate->open)
    pthread_cond_wait (&gate->cond, &gate->mutex);
  gate->open = FALSE;
  pthread_mutex_unlock (&gate->mutex);
}

static void *
thread_main (void *data)
{
  SimThread *thread = data;

  for (;;)
    {
      SimActor *actor;

      gate_pass (&thread->gate);
      actor = thread->actor;
      actor->func (actor->data);
      actor->state = actor->lane >= 0 ? SIM_ACTOR_IDLE : SIM_ACTOR_DONE;
      gate_open (&driver_gate);
    }
  return NULL;
}

static SimThread *
thread_get (void)
{
  SimThread *thread;
  int rc;

  if (pool == NULL)
    pool = g_ptr_array_new ();
  if (pool->len > 0)
    return g_ptr_array_steal_index_fast (pool, pool->len - 1);
  thread = g_new0 (SimThread, 1);
  pthread_mutex_init (&thread->gate.mutex, NULL);
  pthread_cond_init (&thread->gate.cond, NULL);
  rc = pthread_create (&thread->thread, NULL, thread_main, thread);
  g_assert (rc == 0);
  pthread_detach (thread->thread);
  return thread;
}

static void
thread_put (SimThread *thread)
{
  thread->actor = NULL;
  g_ptr_array_add (pool, thread);
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
    thread_put (actor->thread);
  g_free (actor->name);
  g_free (actor);
}

void
sim_actor_switch_to (SimActor *actor)
{
  SimWorld *world = actor->world;

  g_assert (world->running == NULL);
  if (actor->thread == NULL)
    {
      actor->thread = thread_get ();
      actor->thread->actor = actor;
    }
  if (actor->lane < 0)
    sim_trace (world, "%s runs", actor->name);
  actor->state = SIM_ACTOR_RUNNING;
  actor->cond = NULL;
  world->running = actor;
  gate_open (&actor->thread->gate);
  gate_pass (&driver_gate);
  world->running = NULL;
  if (actor->state == SIM_ACTOR_DONE)
    thread_put (g_steal_pointer (&actor->thread));
}

static void
park (SimActor *actor, SimActorState state, gpointer cond, gint64 until)
{
  SimThread *thread = actor->thread;

  actor->state = state;
  actor->cond = cond;
  actor->wakes_at = until;
  gate_open (&driver_gate);
  gate_pass (&thread->gate);
}

void
sim_sleep_us (SimWorld *world, gint64 us)
{
  g_assert (world->running != NULL);
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
  g_assert (world->running != NULL);
  park (world->running, SIM_ACTOR_WAITING, cond, until);
}

void
sim_cond_wake (SimWorld *world, gpointer cond)
{
  for (guint i = 0; i < world->actors->len; i++)
    {
      SimActor *actor = world->actors->pdata[i];

      if (actor->state == SIM_ACTOR_WAITING && actor->cond == cond)
        {
          actor->state = SIM_ACTOR_RUNNABLE;
          actor->wakes_at = world->now + sim_rand_us (world, 50);
        }
    }
}

void
sim_ops_wait (CuratorZkOps *ops, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
  SimWorld *world = ((SimProcess *) ops)->world;

  if (world->running == NULL)
    {
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

typedef struct
{
  void *(*run) (void *data);
  void *data;
} SimStart;

static void
run_thread (gpointer data)
{
  const SimStart start = *(SimStart *) data;

  g_free (data);
  start.run (start.data);
}

int
sim_ops_start_thread (CuratorZkOps *ops, const char *name, void *(*run) (void *), void *data)
{
  SimProcess *process = (SimProcess *) ops;
  g_autofree char *full_name = g_strconcat (process->name, "/", name, NULL);
  SimStart *start = g_new (SimStart, 1);

  *start = (SimStart){ run, data };
  sim_actor_new (process->world, process, full_name, run_thread, start);
  return 0;
}

/* --- a client's lanes ------------------------------------------------------------------- */

static void
run_lane (gpointer data)
{
  SimProcess *process = data;
  int lane = process->world->running->lane;

  process->lanes.step (process->client, lane);
}

void
sim_lane_step (SimProcess *process, int lane)
{
  static const char *const names[SIM_N_LANES] = { "timers", "callbacks", "session", "states",
                                                  "questions" };

  sim_trace (process->world, "%s: lane %s", process->name, names[lane]);
  if (lane == SIM_LANE_TIMERS)
    {
      process->lanes.step (process->client, lane);
      return;
    }
  if (process->lane_actors[lane] == NULL)
    {
      g_autofree char *name = g_strdup_printf ("%s/%s", process->name, names[lane]);

      process->lane_actors[lane] =
          actor_new (process->world, process, name, run_lane, process, lane);
    }
  sim_actor_switch_to (process->lane_actors[lane]);
}

void
sim_actors_collect (SimWorld *world)
{
  gboolean spurious = world->config.p_spurious_wake > 0 && !world->healing
                      && sim_chance (world, world->config.p_spurious_wake);

  for (guint i = 0; i < world->actors->len; i++)
    {
      SimActor *actor = world->actors->pdata[i];

      if (actor->state > SIM_ACTOR_SLEEPING || !sim_process_runs (actor->process))
        continue;
      if (actor->state == SIM_ACTOR_WAITING && spurious && actor->wakes_at == SIM_NEVER)
        sim_ready (world, world->now, SIM_STEP_ACTOR, actor, actor->id);
      else
        sim_ready (world, actor->wakes_at, SIM_STEP_ACTOR, actor, actor->id);
    }
}
