/* A world: its configuration, random numbers, failures and processes. Runs with the baton. */
#include "sim-private.h"
#include "support/suite.h"

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
  if (max_us <= 0)
    return 0;
  guint32 kind = g_rand_int (world->rand) & 7;
  if (kind < 2)
    return 0;
  if (kind < 5)
    max_us = max_us / 10 + 1;
  return (gint64) (g_rand_double (world->rand) * (double) max_us);
}

/* --- creating and freeing a world ------------------------------------------------------------- */

static void
process_free (gpointer data)
{
  g_free (((SimProcess *) data)->name);
  g_free (data);
}

static SimWorld *newest;

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
  world->sessions = g_ptr_array_new_with_free_func (g_free);
  world->conns = g_ptr_array_new_with_free_func ((GDestroyNotify) sim_conn_free);
  world->handles = g_ptr_array_new_with_free_func ((GDestroyNotify) sim_handle_free);
  world->processes = g_ptr_array_new_with_free_func (process_free);
  world->actors = g_ptr_array_new_with_free_func ((GDestroyNotify) sim_actor_free);
  world->scripts = g_ptr_array_new_with_free_func (g_free);
  world->ready = g_array_new (FALSE, FALSE, sizeof (SimStep));
  for (int i = 0; i < config->n_servers; i++)
    world->servers[i] = sim_server_new (i);
  world->priorities = sim_chance (world, 0.4);
  world->salt = g_rand_int (world->rand);
  if (config->faults_until_us > 0)
    world->config.faults_until_us += world->now;
  sim_faults_schedule_next (world);
  newest = world;
  return world;
}

SimWorld *
sim_world_new_calm (guint32 seed, int n_servers)
{
  SimConfig config;

  sim_config_calm (&config);
  config.n_servers = n_servers;
  return sim_world_new (seed, &config);
}

static void
complain_about_leftovers (SimWorld *world)
{
  for (guint i = 0; i < world->actors->len; i++) {
    SimActor *actor = world->actors->pdata[i];

    if (actor->state < SIM_ACTOR_IDLE) {
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
  g_ptr_array_unref (world->handles);
  g_ptr_array_unref (world->actors);
  g_ptr_array_unref (world->processes);
  g_ptr_array_unref (world->conns);
  for (int i = 0; i < world->config.n_servers; i++)
    sim_server_free (world->servers[i]);
  g_ptr_array_unref (world->sessions);
  g_ptr_array_unref (world->log);
  g_ptr_array_unref (world->scripts);
  g_clear_pointer (&world->lost_create, sim_request_unref);
  g_hash_table_unref (world->tree);
  g_array_unref (world->ready);
  g_free (world->noauth);
  g_free (world->unreadable);
  g_free (world->failure);
  g_rand_free (world->rand);
  g_free (world);
}

void
sim_world_fail (SimWorld *world, const char *format, ...)
{
  va_list args;

  if (world->failure != NULL)
    return;
  va_start (args, format);
  world->failure = g_strdup_vprintf (format, args);
  va_end (args);
  sim_trace (world, "FAILURE: %s", world->failure);
  sim_trace_print (world);
}

/* Not async-signal-safe, but the process is lost anyway and the trace is worth the risk. */
static void
on_crash (int number)
{
  signal (number, SIG_DFL);
  if (newest != NULL)
    sim_world_fail (newest, "crash: %s", strsignal (number));
  raise (number);
}

guint sim_n_warnings;

static GLogWriterOutput
swallow (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  sim_n_warnings += (level & G_LOG_LEVEL_WARNING) != 0;
  if (g_getenv ("SIM_TRACE") == NULL && (level & G_LOG_LEVEL_MASK) >= G_LOG_LEVEL_WARNING)
    return G_LOG_WRITER_HANDLED;
  return g_log_writer_default (level, fields, n_fields, NULL);
}

/* Tests that measure time go first; beside a fully loaded machine this one still gets its share. */
#define POLITE 3 /* of 20 */

/* On one CPU passing the baton is several times faster. */
void
sim_prepare (const char *program)
{
  const int cpu = sched_getcpu ();
  cpu_set_t set;

  g_set_prgname (program);
  g_log_set_writer_func (swallow, NULL, NULL);
  if (cpu >= 0) {
    CPU_ZERO (&set);
    CPU_SET (cpu, &set);
    (void) sched_setaffinity (0, sizeof set, &set);
    (void) setpriority (PRIO_PROCESS, 0, POLITE);
  }
  signal (SIGABRT, on_crash);
  signal (SIGSEGV, on_crash);
  signal (SIGTRAP, on_crash);
  if (g_getenv ("SIM_TEST") != NULL)
    cmocka_set_test_filter (g_getenv ("SIM_TEST"));
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
  process->lease_time = (CuratorLeaseTime) CURATOR_LEASE_TIME_INIT;
  g_ptr_array_add (world->processes, process);
  return process;
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

guint
sim_world_n_requests (SimWorld *world, SimProcess *process, SimOp op)
{
  guint n = 0;

  for (guint i = 0; i < world->processes->len; i++) {
    SimProcess *candidate = world->processes->pdata[i];

    n += process == NULL || process == candidate ? candidate->n_requests[op] : 0;
  }
  return n;
}
