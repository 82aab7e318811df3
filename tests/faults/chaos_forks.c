/* Children of a busy process: each calls what it has inherited, and then leads a life of its own,
 * whose hold is recorded like any other, under a number of its own. It must neither hang nor
 * crash. */
#include "belief.h"
#include "chaos_actors.h"
#include "support/waiting.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST_PAUSE_MS 600
#define PATIENCE_MS      5000
#define HOLD_MS          20
#define N_MUTEXES        6 /* the first locks */
#define LOOK_MS          5
#define HANG_LOOKS       8000 /* of a process that runs: the time in which it is stopped does not count */
#define LOG_EVENTS       512

typedef enum
{
  LIVED,
  NOT_CONNECTED, /* the next three may be so because of a fault */
  NOT_ACQUIRED,
  LOST,
  NOT_REFUSED, /* an inherited object */
  N_OUTCOMES
} Outcome;

typedef struct
{
  const ChaosActor *parent;
  int number;
  guint lock;
  BeliefKeeper *keeper;
  Recorder *recorder;
} Child;

/* --- in the child ----------------------------------------------------------------------------- */

/* Clears the error. */
static gboolean
is_refused (gboolean success, GError **error)
{
  const gboolean refused =
      !success && g_error_matches (*error, CURATOR_ERROR, CURATOR_ERROR_FORKED);
  g_clear_error (error);
  return refused;
}

static gboolean
inherited_refuses (const ChaosActor *parent)
{
  g_autoptr (GError) error = NULL;
  gboolean success = curator_lock_acquire (parent->lock, 100, NULL, &error);
  gboolean refused = is_refused (success, &error);
  success = curator_lock_release (parent->lock, 100, NULL, &error);
  refused = is_refused (success, &error) && refused;
  success = curator_client_block_until_connected (parent->client, 100, NULL, &error);
  refused = is_refused (success, &error) && refused;
  success = curator_lock_acquire_lease (parent->lock, 0, NULL, &error) != NULL;
  refused = is_refused (success, &error) && refused;
  curator_client_close (parent->client);
  return refused;
}

static void
note (Child *child, RecordEvent event, RecordOp op, RecordResult result)
{
  event.op = (guint8) op;
  event.result = (guint8) result;
  recorder_add (child->recorder, event);
}

static Outcome
hold (Child *child, CuratorLease *lease, RecordEvent event)
{
  Belief *belief = belief_begin (child->keeper, lease, &event);
  note (child, event, RECORD_ACQUIRE_RETURNED, belief != NULL ? RECORD_OK : RECORD_FAILED);
  event.time_ns = 0;
  if (belief == NULL)
    return LOST;
  for (int ms = 0; ms < HOLD_MS && !belief_is_over (belief); ms += LOOK_MS)
    wait_ms (LOOK_MS);
  const gboolean lost = belief_end (belief);
  note (child, event, RECORD_RELEASE_CALLED, RECORD_OK);
  const gboolean released = curator_lease_release (lease, PATIENCE_MS, NULL, NULL);
  note (child, event, RECORD_RELEASE_RETURNED, released && !lost ? RECORD_OK : RECORD_PENDING);
  return lost ? LOST : LIVED;
}

static Outcome
acquire (Child *child, CuratorClient *client)
{
  g_autofree char *path = chaos_path (child->lock);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, path, NULL);
  const RecordEvent event = {
    .lock = child->lock, .kind = RECORD_MUTEX, .permits = 1, .limit = 1, .timeout_ms = PATIENCE_MS
  };
  g_autoptr (GError) error = NULL;
  note (child, event, RECORD_ACQUIRE_CALLED, RECORD_OK);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (lock, PATIENCE_MS, NULL, &error);
  if (lease != NULL)
    return hold (child, lease, event);
  const gboolean timed_out = g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT);
  note (child, event, RECORD_ACQUIRE_RETURNED, timed_out ? RECORD_TIMED_OUT : RECORD_FAILED);
  return NOT_ACQUIRED;
}

static Outcome
live (Child *child)
{
  const ChaosActor *parent = child->parent;
  Outcome outcome = NOT_CONNECTED;
  g_autoptr (CuratorClient) client =
      chaos_client_new (parent->connect_string, parent->session_ms, parent->tick_ms);
  if (curator_client_start (client, NULL)
      && curator_client_block_until_connected (client, PATIENCE_MS, NULL, NULL))
    outcome = acquire (child, client);
  curator_client_close (client);
  return outcome;
}

static G_NORETURN void
run_child (Child *child, pid_t parent)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != parent)
    _exit (LOST);
  if (!inherited_refuses (child->parent))
    _exit (NOT_REFUSED);
  child->recorder = recorder_open (child->parent->directory, child->number, 1, LOG_EVENTS);
  child->keeper =
      belief_keeper_new (child->parent->directory, child->number, LOOK_MS * 1000, LOG_EVENTS);
  const Outcome outcome = live (child);
  belief_keeper_free (child->keeper);
  recorder_close (child->recorder);
  _exit ((int) outcome);
}

/* --- in the parent ---------------------------------------------------------------------------- */

static void
judge (const ChaosActor *actor, pid_t pid, int status, gint64 took_ms)
{
  ChaosCells *cells = actor->cells;
  const gboolean lived = WIFEXITED (status) && WEXITSTATUS (status) == LIVED;
  if (lived)
    {
      chaos_cell_add (&cells->lived, 1);
      chaos_cell_raise (&cells->slowest_child_ms, (guint32) took_ms);
    }
  else if (!WIFEXITED (status) || WEXITSTATUS (status) >= NOT_REFUSED)
    {
      g_printerr ("child %d of fork ends with status 0x%x\n", (int) pid, (unsigned) status);
      chaos_cell_add (&cells->fork_failures, 1);
    }
}

static void
wait_for (const ChaosActor *actor, pid_t pid)
{
  const gint64 began_ms = wait_now_ms ();
  int status = 0;
  int looks = 0;
  while (waitpid (pid, &status, WNOHANG) == 0)
    {
      if (++looks == HANG_LOOKS)
        {
          g_printerr ("child %d of fork hangs:\n", (int) pid);
          chaos_print_stacks (pid);
          chaos_cell_add (&actor->cells->fork_hangs, 1);
          kill (pid, SIGKILL);
          waitpid (pid, &status, 0);
          return;
        }
      wait_ms (LOOK_MS);
    }
  judge (actor, pid, status, wait_now_ms () - began_ms);
}

static void
fork_one (const ChaosActor *actor, GRand *rand)
{
  ChaosCells *cells = actor->cells;
  const guint32 n = __atomic_fetch_add (&cells->n_children, 1, __ATOMIC_SEQ_CST);
  const pid_t parent = getpid ();
  Child child = { .parent = actor,
                  .number = CHAOS_PROCESSES + (int) n,
                  .lock = (guint) g_rand_int_range (rand, 0, N_MUTEXES) };
  g_assert (child.number < CHAOS_NUMBERS);
  chaos_cell_set (&cells->lives_in[child.number], (guint32) actor->process);
  chaos_cell_set (&cells->child[actor->process], (guint32) child.number);
  const pid_t pid = fork ();
  if (pid == 0)
    run_child (&child, parent);
  if (pid > 0)
    wait_for (actor, pid);
  chaos_cell_set (&cells->child[actor->process], 0);
}

void
chaos_forks_run (const ChaosActor *actor)
{
  GRand *rand = g_rand_new_with_seed (actor->seed);
  chaos_actor_wait (actor);
  while (chaos_actor_is_chosen (actor, CHAOS_KIND_FORKS) && chaos_actor_runs (actor))
    {
      wait_ms (g_rand_int_range (rand, 0, LONGEST_PAUSE_MS));
      fork_one (actor, rand);
    }
  g_rand_free (rand);
}
