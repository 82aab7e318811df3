/* Calls one hot function many times with the same input, for callgrind, which counts instructions.
 * The other costs of a run do not depend on the number of calls: rig/micro.py subtracts two runs.
 *
 *   bench_micro NAME CALLS
 *
 * Threads: none of our own; the re-entrant hold is on the simulator.
 */
#include "base/path.h"
#include "core/client-record.h"
#include "core/dispatch.h"
#include "core/monitor.h"
#include "lock/queue.h"
#include "lock/verdict.h"
#include "mutex/mutex-private.h"
#include "sim/sim.h"

#include <curator/curator.h>
#include <stdio.h>
#include <stdlib.h>

#define LONGEST 1000
#define NAME    "_c_5a0f4d0e-9a3b-4f0e-8c53-0d6b1a2f7e11-lock-"

static char *names[LONGEST];

/* Unordered, as a server lists them, but always the same. */
static void
make_names (void)
{
  for (guint i = 0; i < LONGEST; i++)
    names[i] = g_strdup_printf (NAME "%010u", i * 389 % LONGEST);
}

static const char *
key (const char *name, gpointer lock_name)
{
  return curator_queue_standard_key (name, lock_name);
}

static void
sort_names (int calls, gsize n)
{
  for (int i = 0; i < calls; i++) {
    g_auto (CuratorQueue) queue = { 0 };
    curator_queue_init (&queue, (const char *const *) names, n, key, (gpointer) "lock-");
  }
}

static void
order_64 (int calls)
{
  sort_names (calls, 64);
}

static void
order_1000 (int calls)
{
  sort_names (calls, LONGEST);
}

static void
parse_name (int calls)
{
  gint64 number;
  for (int i = 0; i < calls; i++) {
    const char *at = curator_queue_standard_key (names[i % 64], "lock-");
    if (!curator_queue_parse_number (at, &number))
      abort ();
  }
}

static void
validate_path (int calls)
{
  for (int i = 0; i < calls; i++)
    if (!curator_path_validate ("/services/billing/locks/nightly", NULL))
      abort ();
}

/* Finds the nodes in front of the 33rd of 64. */
static void
predicate_64 (int calls)
{
  g_autoptr (CuratorClient) client = curator_client_new ("127.0.0.1:2181", NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/lock", NULL);
  CuratorLockInternals *internals = lock->internals;
  g_auto (CuratorQueue) queue = { 0 };
  curator_queue_init (&queue, (const char *const *) names, 64, key, (gpointer) "lock-");
  const char *own = queue.names[32];
  for (int i = 0; i < calls; i++)
    if (curator_judge (internals, 1, own, &queue).kind != VERDICT_WAIT)
      abort ();
}

static void
count_up (gpointer counter)
{
  ++*(int *) counter;
}

/* Passing a callback to the callback thread, and running it there. */
static void
dispatch (int calls)
{
  SimConfig config;
  sim_config_calm (&config);
  SimWorld *world = sim_world_new (1, &config);
  SimProcess *process = sim_process_new (world, "A");
  CuratorClient *client = curator_client_new_with_ops ("127.0.0.1:2181", NULL, &process->ops);
  int counter = 0;
  for (int i = 0; i < calls; i++) {
    curator_client_lock (client);
    curator_dispatch_push (client, CURATOR_LANE_CALLS, count_up, &counter, NULL);
    curator_client_unlock (client);
    curator_dispatch_step (client, CURATOR_LANE_CALLS);
  }
  if (counter != calls)
    abort ();
  curator_client_unref (client);
  sim_world_free (world);
}

typedef struct
{
  CuratorClient *client;
  int calls;
  gboolean done;
} Holder;

/* Acquires and releases, each time with a node of its own. */
static void
acquire_and_release (gpointer data)
{
  Holder *holder = data;
  g_autoptr (CuratorLock) lock = curator_mutex_new (holder->client, "/lock", NULL);
  holder->done = TRUE;
  for (int i = 0; i < holder->calls; i++) {
    holder->done = curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, NULL)
                   && curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL) && holder->done;
  }
  curator_client_close (holder->client);
}

static void
hold_and_reenter (gpointer data)
{
  Holder *holder = data;
  g_autoptr (CuratorLock) lock = curator_mutex_new (holder->client, "/lock", NULL);
  holder->done = curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, NULL);
  for (int i = 0; i < holder->calls; i++) {
    holder->done = curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, NULL)
                   && curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL) && holder->done;
  }
  holder->done = curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL) && holder->done;
  curator_client_close (holder->client);
}

static void
play_holder (SimActorFunc act, int calls)
{
  SimConfig config;
  sim_config_calm (&config);
  SimWorld *world = sim_world_new (1, &config);
  SimProcess *process = sim_process_new (world, "A");
  Holder holder = { curator_client_new_with_ops ("127.0.0.1:2181", NULL, &process->ops), calls,
                    FALSE };
  process->client = holder.client;
  g_assert_true (curator_client_start (holder.client, NULL));
  sim_actor_new (world, process, "holder", act, &holder);
  sim_world_run (world);
  sim_world_run_for (world, 1000);
  process->client = NULL;
  curator_client_unref (holder.client);
  sim_world_free (world);
  if (!holder.done)
    abort ();
}

static void
reenter (int calls)
{
  play_holder (hold_and_reenter, calls);
}

static void
uncontended (int calls)
{
  play_holder (acquire_and_release, calls);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*function) (int calls);
  } all[] = { { "parse_name", parse_name },
              { "order_64", order_64 },
              { "order_1000", order_1000 },
              { "predicate_64", predicate_64 },
              { "validate_path", validate_path },
              { "dispatch", dispatch },
              { "reenter", reenter },
              { "uncontended", uncontended } };
  make_names ();
  for (gsize i = 0; argc == 3 && i < G_N_ELEMENTS (all); i++) {
    if (g_str_equal (argv[1], all[i].name)) {
      all[i].function (atoi (argv[2]));
      return 0;
    }
  }
  fprintf (stderr, "usage: bench_micro NAME CALLS\n");
  return 64;
}
