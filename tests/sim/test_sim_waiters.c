/* Waiters whose sessions end, one after the other: each time they are in their queue with the first
 * round trip of the next session, and for as long as they want to wait.
 */
#include "sim_machine.h"

#include <string.h>

#define PATH    "/lock"
#define N_ENDS  7
#define SOON_MS 50 /* some round trips */
#define LONG_MS 60000

/* A contender of one recipe, on a machine. */
typedef struct
{
  Machine *machine;
  gpointer object;
  gpointer lease;
  gboolean is_over;
  int error;
} Contender;

typedef struct
{
  const char *name;
  const char *queue; /* where it waits, or has the turn to wait */
  gpointer (*new) (CuratorClient *client);
  void (*begin) (Contender *contender);
  void (*end) (Contender *contender); /* of the hold */
  void (*unref) (gpointer object);
  guint n_first; /* nodes of who has it in the queue */
} Recipe;

static void
note_outcome (Contender *contender, gpointer lease, const GError *error)
{
  contender->is_over = TRUE;
  contender->lease = lease;
  contender->error = error != NULL ? error->code : 0;
}

/* --- locks */

static gpointer
mutex_new (CuratorClient *client)
{
  return curator_mutex_new (client, PATH, NULL);
}

static gpointer
writer_new (CuratorClient *client)
{
  g_autoptr (CuratorRwLock) lock = curator_rw_lock_new (client, PATH, NULL, 0, NULL);
  return curator_lock_ref (curator_rw_lock_get_write_lock (lock));
}

static gpointer
semaphore_mutex_new (CuratorClient *client)
{
  return curator_semaphore_mutex_new (client, PATH, NULL);
}

/* Holds the first while it waits for the second, which every contender takes. */
static gpointer
multi_new (CuratorClient *client)
{
  g_autofree char *own = g_strdup_printf ("/own%p", (gpointer) client);
  const char *const paths[] = { own, PATH, NULL };
  return curator_multi_lock_new_for_paths (client, paths, NULL);
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  note_outcome (data, lease, error);
}

static void
lock_begin (Contender *contender)
{
  curator_lock_acquire_then (contender->object, CURATOR_WAIT_FOREVER, NULL, on_acquired, contender);
}

static void
lease_end (Contender *contender)
{
  curator_lease_unref (g_steal_pointer (&contender->lease));
}

static void
lock_unref (gpointer lock)
{
  curator_lock_unref (lock);
}

/* --- a semaphore: who is next has the turn, and waits for a lease */

static gpointer
semaphore_new (CuratorClient *client)
{
  return curator_semaphore_new (client, PATH, 1, NULL);
}

static void
on_lease (CuratorSemaphore *semaphore, CuratorLease *lease, const GError *error, gpointer data)
{
  note_outcome (data, lease, error);
}

static void
semaphore_begin (Contender *contender)
{
  curator_semaphore_acquire_then (contender->object, CURATOR_WAIT_FOREVER, NULL, on_lease,
                                  contender);
}

static void
semaphore_unref (gpointer semaphore)
{
  curator_semaphore_unref (semaphore);
}

/* --- a latch */

static gpointer
latch_new (CuratorClient *client)
{
  return curator_leader_latch_new (client, PATH, "", NULL);
}

static void
on_leadership (CuratorLeaderLatch *latch, gboolean leads, gpointer data)
{
  Contender *contender = data;
  contender->is_over = contender->is_over || leads;
}

static void
latch_begin (Contender *contender)
{
  curator_leader_latch_add_listener (contender->object, on_leadership, contender, NULL);
  assert_true (curator_leader_latch_start (contender->object, NULL));
}

static void
latch_end (Contender *contender)
{
  curator_leader_latch_close (contender->object, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
}

static void
latch_unref (gpointer latch)
{
  curator_leader_latch_unref (latch);
}

static const Recipe recipes[] = {
  { "mutex", PATH, mutex_new, lock_begin, lease_end, lock_unref, 1 },
  { "writer", PATH, writer_new, lock_begin, lease_end, lock_unref, 1 },
  { "multi-lock", PATH, multi_new, lock_begin, lease_end, lock_unref, 1 },
  { "semaphore mutex", PATH "/locks", semaphore_mutex_new, lock_begin, lease_end, lock_unref, 0 },
  { "semaphore", PATH "/locks", semaphore_new, semaphore_begin, lease_end, semaphore_unref, 0 },
  { "latch", PATH, latch_new, latch_begin, latch_end, latch_unref, 1 },
};

/* --- sessions that end */

typedef enum
{
  EXPIRED,
  LAPSED,    /* a turn that is held is lost by the clock, the session mostly lives on */
  OUTLIVED,  /* no connection for longer than a session lasts */
  LONG_AWAY, /* and for longer than a try waits for a connection */
  N_WAYS
} Way;

static const char *const way_names[N_WAYS] = { "expired", "lapsed", "outlived", "long away" };

static guint
n_children (SimWorld *world, const char *path)
{
  g_auto (GStrv) children = sim_world_children (world, path);
  return g_strv_length (children);
}

static gboolean
is_connected (Machine *machine)
{
  const CuratorConnectionState state = curator_client_get_connection_state (machine->client);
  return state == CURATOR_CONNECTION_STATE_CONNECTED
         || state == CURATOR_CONNECTION_STATE_RECONNECTED;
}

static void
end_session (Machine *machine, Way way)
{
  SimWorld *world = machine->world;
  const gint64 away_ms = way == LAPSED     ? 4500
                         : way == OUTLIVED ? 9000
                                           : 15000 + (gint64) (g_rand_int (world->rand) % 16000);

  if (way == EXPIRED)
    sim_world_strike (world, SIM_FAULT_EXPIRE, machine->process, 0);
  else
    sim_world_strike (world, SIM_FAULT_OUTAGE, machine->process, away_ms * 1000);
  RUN_UNTIL (world, !is_connected (machine), LONG_MS);
  RUN_UNTIL (world, is_connected (machine), LONG_MS);
  assert_true (is_connected (machine));
}

static void
play (guint32 seed, const Recipe *recipe, Way way, CuratorRetryPolicy *policy)
{
  GOOD_WORLD world = sim_world_new_calm (seed, 1 + (int) seed % 3);
  g_autoptr (Machine) holder = machine_new (world, "A");
  g_autoptr (Machine) waiter = machine_new_latent (world, "B", policy);
  Contender first = { .machine = holder, .object = recipe->new (holder->client) };
  Contender second = { .machine = waiter, .object = recipe->new (waiter->client) };

  assert_true (curator_client_start (waiter->client, NULL));
  recipe->begin (&first);
  sim_world_run_for (world, 1000);
  assert_true (first.is_over);
  recipe->begin (&second);
  sim_world_run_for (world, 1000);
  for (int i = 0; i < N_ENDS; i++) {
    assert_int_equal (n_children (world, recipe->queue), recipe->n_first + 1);
    end_session (waiter, way);
    sim_world_run_for (world, SOON_MS);
    if (second.is_over || n_children (world, recipe->queue) != recipe->n_first + 1)
      fail_msg ("%s, %s: out of the queue after %d ends of its session: error %d, %u nodes",
                recipe->name, way_names[way], i + 1, second.error,
                n_children (world, recipe->queue));
    sim_world_run_for (world, 2000 + (gint64) (g_rand_int (world->rand) % 2000));
  }
  recipe->end (&first);
  sim_world_run_for (world, 1000);
  assert_true (second.is_over);
  assert_int_equal (second.error, 0);
  recipe->end (&second);
  recipe->unref (first.object);
  recipe->unref (second.object);
  sim_world_run_for (world, 1000);
}

TEST (test_p42_sessions_that_end)
{
  for (guint32 seed = 0; seed < 4; seed++)
    for (gsize i = 0; i < G_N_ELEMENTS (recipes); i++)
      for (Way way = 0; way < N_WAYS; way++) {
        play (seed, &recipes[i], way, curator_retry_policy_new_exponential_backoff (1000, 3));
        play (seed, &recipes[i], way, curator_retry_policy_new_n_times (5, 4000));
      }
}

SIM_SUITE ("test_sim_waiters")
