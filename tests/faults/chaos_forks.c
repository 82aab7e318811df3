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

#define PATIENCE_MS 5000
#define HOLD_MS     20
#define N_MUTEXES   6 /* the first locks */
#define LOOK_MS     5
#define HANG_LOOKS  8000 /* of a process that runs: the time in which it is stopped does not count */
#define LOG_EVENTS  512

typedef enum
{
  LIVED,
  DISTURBED,  /* not connected, not granted the lock, or it lost it: because of a fault */
  NOT_REFUSED /* an inherited object */
} Outcome;

typedef struct
{
  const ChaosProcess *parent;
  int number;
  BeliefKeeper *keeper;
  Recorder *recorder;
  RecordEvent event;
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
inherited_refuses (const ChaosProcess *parent)
{
  GError *e = NULL;
  const gboolean refused =
      is_refused (curator_lock_acquire (parent->lock, 100, NULL, &e), &e)
      && is_refused (curator_lock_release (parent->lock, 100, NULL, &e), &e)
      && is_refused (curator_client_block_until_connected (parent->client, 100, NULL, &e), &e)
      && is_refused (curator_lock_acquire_lease (parent->lock, 0, NULL, &e) != NULL, &e);
  curator_client_close (parent->client);
  return refused;
}

static void
note (const Child *child, RecordOp op, RecordResult result)
{
  belief_note (child->recorder, child->event, op, result);
}

static Outcome
hold (Child *child, CuratorLease *lease)
{
  Belief *belief = belief_begin (child->keeper, lease, &child->event);
  note (child, RECORD_ACQUIRE_RETURNED, belief != NULL ? RECORD_OK : RECORD_FAILED);
  child->event.time_ns = 0;
  if (belief == NULL)
    return DISTURBED;
  for (int ms = 0; ms < HOLD_MS && belief_look (belief, NULL); ms += LOOK_MS)
    wait_ms (LOOK_MS);
  const gboolean lost = belief_end (belief, &child->event.time_ns);
  note (child, RECORD_RELEASE_CALLED, RECORD_OK);
  child->event.time_ns = 0;
  const gboolean released = curator_lease_release (lease, PATIENCE_MS, NULL, NULL);
  note (child, RECORD_RELEASE_RETURNED, released && !lost ? RECORD_OK : RECORD_PENDING);
  return lost ? DISTURBED : LIVED;
}

static Outcome
acquire (Child *child, CuratorClient *client)
{
  g_autofree char *path = chaos_path (child->event.lock);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, path, NULL);
  g_autoptr (GError) error = NULL;
  note (child, RECORD_ACQUIRE_CALLED, RECORD_OK);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (lock, PATIENCE_MS, NULL, &error);
  if (lease != NULL)
    return hold (child, lease);
  const gboolean timed_out = g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT);
  note (child, RECORD_ACQUIRE_RETURNED, timed_out ? RECORD_TIMED_OUT : RECORD_FAILED);
  return DISTURBED;
}

static G_NORETURN void
run_child (Child *child, pid_t parent)
{
  const char *directory = child->parent->directory;
  Outcome outcome = DISTURBED;
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != parent)
    _exit (DISTURBED);
  if (!inherited_refuses (child->parent))
    _exit (NOT_REFUSED);
  child->recorder = recorder_open (directory, child->number, 1, LOG_EVENTS);
  child->keeper = belief_keeper_new (directory, child->number, LOOK_MS * 1000, LOG_EVENTS);
  CuratorClient *client = chaos_client_new (child->parent);
  if (curator_client_start (client, NULL)
      && curator_client_block_until_connected (client, PATIENCE_MS, NULL, NULL))
    outcome = acquire (child, client);
  curator_client_close (client);
  curator_client_unref (client);
  belief_keeper_free (child->keeper);
  recorder_close (child->recorder);
  _exit ((int) outcome);
}

/* --- in the parent ---------------------------------------------------------------------------- */

/* The status of its end. A child that hangs is killed. */
static int
wait_for (const ChaosProcess *process, pid_t pid)
{
  int status = 0;
  for (int looks = 0; waitpid (pid, &status, WNOHANG) == 0; looks++) {
    if (looks == HANG_LOOKS) {
      g_printerr ("child %d of fork hangs:\n", (int) pid);
      chaos_print_stacks (pid);
      shared_add (&process->cells->fork_hangs, 1);
      kill (pid, SIGKILL);
      waitpid (pid, NULL, 0);
      return W_EXITCODE (DISTURBED, 0);
    }
    wait_ms (LOOK_MS);
  }
  return status;
}

void
chaos_forks_once (const ChaosProcess *process, GRand *rand)
{
  ChaosCells *cells = process->cells;
  const guint32 n = shared_add (&cells->n_children, 1);
  const pid_t parent = getpid ();
  Child child = { .parent = process,
                  .number = CHAOS_PROCESSES + (int) n,
                  .event = { .lock = (guint) g_rand_int_range (rand, 0, N_MUTEXES),
                             .kind = RECORD_MUTEX,
                             .permits = 1,
                             .limit = 1,
                             .timeout_ms = PATIENCE_MS } };
  g_assert (child.number < CHAOS_NUMBERS);
  shared_set (&cells->lives_in[child.number], (guint32) process->number);
  shared_set (&cells->child[process->number], (guint32) child.number);
  const pid_t pid = fork ();
  if (pid == 0)
    run_child (&child, parent);
  const int status = pid > 0 ? wait_for (process, pid) : W_EXITCODE (DISTURBED, 0);
  shared_add (&cells->lived, WIFEXITED (status) && WEXITSTATUS (status) == LIVED);
  if (!WIFEXITED (status) || WEXITSTATUS (status) >= NOT_REFUSED) {
    g_printerr ("child %d of fork ends with status 0x%x\n", (int) pid, (unsigned) status);
    shared_add (&cells->fork_failures, 1);
  }
  shared_set (&cells->child[process->number], 0);
}
