/* chaos_worker CONNECT PROCESS DIRECTORY
 *
 * One process of the chaos test: threads that take turns with locks of every recipe, chosen by
 * their seed, and record them. See chaos.h. */
#include "belief.h"
#include "chaos_actors.h"
#include "resource.h"
#include "support/waiting.h"

#include <curator/curator.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#define LOOK_US        5000
#define LOG_EVENTS     50000
#define LONGEST_ASK    3000
#define QUOTA_EXCEEDED (-125) /* libzookeeper has no name for it */

static ChaosProcess own;
static CuratorLock *locks[CHAOS_LOCKS];
static CuratorSemaphore *semaphores[CHAOS_LOCKS];
static CuratorRwLock *rw_locks[CHAOS_LOCKS];
static Resource *resource;
static BeliefKeeper *keeper;
static pthread_mutex_t cancelling = PTHREAD_MUTEX_INITIALIZER;

typedef struct
{
  Recorder *recorder;
  GRand *rand;
  pthread_t thread;
  GCancellable *cancellable; /* guarded by the mutex against the watcher, as the next */
  gint64 cancel_at_ns;       /* 0: never */
} Actor;

/* One turn with one lock. */
typedef struct
{
  Actor *actor;
  const ChaosLock *kind;
  int code; /* of an error that needs a cause: ZNOAUTH, QUOTA_EXCEEDED */
  CuratorLock *lock;
  CuratorSemaphore *semaphore;
  gboolean by_thread;
  CuratorLease *lease;
  GPtrArray *leases;
  int n_members; /* of a multi-lock: 2 */
  gint64 timeout_ms;
  RecordEvent events[2];
  Belief *beliefs[2];
} Turn;

static gboolean
chance (Actor *actor, int percent)
{
  return g_rand_int_range (actor->rand, 0, 100) < percent;
}

static void
note (Turn *turn, RecordEvent event, RecordOp op, RecordResult result)
{
  event.spare = (guint64) (gint64) turn->code;
  belief_note (turn->actor->recorder, event, op, result);
}

static void
note_all (Turn *turn, RecordOp op, RecordResult result)
{
  for (int i = 0; i < turn->n_members; i++)
    note (turn, turn->events[i], op, result);
}

static gboolean
is_phase (ChaosPhase phase)
{
  return shared_get (&own.cells->phase) == phase;
}

static RecordResult
result_of (Turn *turn, const GError *error)
{
  static const CuratorError usual[] = { CURATOR_ERROR_CONNECTION_LOST, CURATOR_ERROR_NO_ANSWER,
                                        CURATOR_ERROR_LOCK_LOST, CURATOR_ERROR_SESSION_EXPIRED };
  if (error == NULL)
    return RECORD_OK;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    return RECORD_TIMED_OUT;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return RECORD_CANCELLED;
  for (guint i = 0; i < G_N_ELEMENTS (usual); i++)
    if (g_error_matches (error, CURATOR_ERROR, (int) usual[i]))
      return RECORD_FAILED;
  if (g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH)
      || g_error_matches (error, CURATOR_ZK_ERROR, QUOTA_EXCEEDED)) {
    turn->code = error->code;
    return RECORD_FAILED;
  }
  g_printerr ("lock %u: %s (%s %d)\n", turn->events[0].lock, error->message,
              g_quark_to_string (error->domain), error->code);
  shared_add (&own.cells->unexpected, 1);
  return RECORD_FAILED;
}

static void
choose_lock (Turn *turn)
{
  Actor *actor = turn->actor;
  guint lock = (guint) g_rand_int_range (actor->rand, 0, CHAOS_LOCKS - 1);
  lock += lock >= CHAOS_SECOND; /* which is acquired through multi-locks only */
  turn->kind = &chaos_locks[lock];
  turn->lock = locks[lock];
  turn->semaphore = semaphores[lock];
  turn->events[0] = (RecordEvent){ .lock = lock, .kind = RECORD_MUTEX, .permits = 1, .limit = 1 };
  turn->by_thread = chance (actor, 50)
                    && (turn->kind->recipe == CHAOS_MUTEX || turn->kind->recipe == CHAOS_FIXED);
  if (turn->kind->recipe == CHAOS_RW_LOCK) {
    const gboolean writes = chance (actor, 30);
    turn->lock = writes ? curator_rw_lock_get_write_lock (rw_locks[lock])
                        : curator_rw_lock_get_read_lock (rw_locks[lock]);
    turn->events[0].kind = writes ? RECORD_WRITE : RECORD_READ;
    turn->by_thread = chance (actor, 50);
  }
  if (turn->kind->recipe == CHAOS_SEMAPHORE) {
    turn->events[0].kind = RECORD_SEMAPHORE;
    turn->events[0].limit = (gint16) turn->kind->limit;
    turn->events[0].permits = (gint16) g_rand_int_range (actor->rand, 1, 3);
  }
  if (turn->kind->recipe == CHAOS_MULTI) {
    turn->n_members = 2;
    turn->events[0].lock = turn->kind->first;
    turn->events[1] = turn->events[0];
    turn->events[1].lock = CHAOS_SECOND;
    turn->events[1].kind = RECORD_SEMAPHORE;
  }
}

/* A try may fail because a semaphore's turn, or the second member of a multi-lock, is taken, which
 * does not make the first one busy: these calls get a timeout. */
static void
choose_time (Turn *turn)
{
  Actor *actor = turn->actor;
  const gboolean may_try = turn->kind->recipe == CHAOS_MUTEX || turn->kind->recipe == CHAOS_RW_LOCK
                           || turn->kind->recipe == CHAOS_FIXED;
  const int dice = g_rand_int_range (actor->rand, 0, 100);
  gint64 timeout_ms = CURATOR_WAIT_FOREVER;
  if (dice < 20 && may_try)
    timeout_ms = 0;
  else if (dice < 70)
    timeout_ms = g_rand_int_range (actor->rand, 20, LONGEST_ASK);
  turn->timeout_ms = timeout_ms;
  turn->events[0].timeout_ms = turn->events[1].timeout_ms =
      timeout_ms != CURATOR_WAIT_FOREVER ? timeout_ms : -1;
  pthread_mutex_lock (&cancelling);
  g_clear_object (&actor->cancellable);
  actor->cancellable = g_cancellable_new ();
  actor->cancel_at_ns =
      chance (actor, 5) ? wait_now_ns () + (gint64) g_rand_int_range (actor->rand, 1, 200) * 1000000
                        : 0;
  pthread_mutex_unlock (&cancelling);
}

static GError *
acquire (Turn *turn)
{
  GError *error = NULL;
  GCancellable *cancellable = turn->actor->cancellable;
  const gint64 timeout_ms = turn->timeout_ms;
  if (turn->semaphore != NULL) {
    turn->leases = curator_semaphore_acquire_n (turn->semaphore, turn->events[0].permits,
                                                timeout_ms, cancellable, &error);
    turn->lease =
        turn->leases != NULL ? curator_lease_ref (g_ptr_array_index (turn->leases, 0)) : NULL;
  } else if (!turn->by_thread) {
    turn->lease = curator_lock_acquire_lease (turn->lock, timeout_ms, cancellable, &error);
  } else if (curator_lock_acquire (turn->lock, timeout_ms, cancellable, &error)) {
    turn->lease = curator_lock_dup_lease (turn->lock);
  }
  return error;
}

static gboolean
release (Turn *turn)
{
  g_autoptr (GError) error = NULL;
  if (turn->leases != NULL)
    curator_semaphore_return_all (turn->semaphore, turn->leases, CURATOR_WAIT_DEFAULT, NULL, NULL);
  else if (turn->by_thread)
    curator_lock_release (turn->lock, CURATOR_WAIT_DEFAULT, NULL, &error);
  else
    curator_lease_release (turn->lease, CURATOR_WAIT_DEFAULT, NULL, &error);
  if (error != NULL && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING))
    result_of (turn, error);
  /* Leases of a semaphore are released without a confirmation. */
  return error == NULL && turn->leases == NULL;
}

/* Checks the hold, pauses for a random moment, and writes: the resource refuses late writes. */
static void
write_resource (Turn *turn)
{
  const guint lock = turn->events[0].lock;
  if ((turn->events[0].kind != RECORD_MUTEX && turn->events[0].kind != RECORD_WRITE)
      || !belief_look (turn->beliefs[0], NULL))
    return;
  if (chance (turn->actor, 20))
    wait_ms (1);
  if (!resource_write (resource, lock, turn->events[0].token)
      && belief_look (turn->beliefs[0], NULL))
    note (turn, turn->events[0], RECORD_RESOURCE_WRITE, RECORD_FAILED);
}

/* Re-enters the hold and releases that level. */
static void
reenter (Turn *turn)
{
  g_autoptr (GError) error = NULL;
  RecordEvent event = turn->events[0];
  const gint64 left_ms = curator_lease_get_remaining_ms (turn->lease);
  event.timeout_ms = -1;
  event.time_ns = 0;
  note (turn, event, RECORD_ACQUIRE_CALLED, RECORD_OK);
  if (!curator_lock_acquire (turn->lock, CURATOR_WAIT_FOREVER, NULL, &error)) {
    note (turn, event, RECORD_ACQUIRE_RETURNED, result_of (turn, error));
    return;
  }
  if (left_ms == 0)
    shared_add (&own.cells->dead_reentries, 1);
  const gboolean believed = belief_look (turn->beliefs[0], &event.time_ns);
  note (turn, event, RECORD_ACQUIRE_RETURNED, believed ? RECORD_OK : RECORD_FAILED);
  event.time_ns = 0;
  if (believed)
    note (turn, event, RECORD_RELEASE_CALLED, RECORD_OK);
  curator_lock_release (turn->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  if (believed)
    note (turn, event, RECORD_RELEASE_RETURNED, RECORD_PENDING);
}

static void
hold (Turn *turn)
{
  Actor *actor = turn->actor;
  const gint64 longest_ms = chance (actor, 1)    ? own.session_ms * 3 / 2
                            : chance (actor, 10) ? 30
                                                 : 2;
  const gint64 until = wait_now_ms () + g_rand_int_range (actor->rand, 0, (gint32) longest_ms);
  write_resource (turn);
  if (turn->by_thread && chance (actor, 20))
    reenter (turn);
  while (wait_now_ms () < until && is_phase (CHAOS_RUN) && belief_look (turn->beliefs[0], NULL))
    wait_ms ((int) CLAMP (until - wait_now_ms (), 0, 5));
  write_resource (turn);
}

static void
begin_beliefs (Turn *turn)
{
  for (int i = 0; i < turn->n_members; i++) {
    RecordEvent *event = &turn->events[i];
    if (i == 0 || turn->beliefs[0] != NULL)
      turn->beliefs[i] = turn->leases != NULL ? belief_begin_all (keeper, turn->leases, event)
                                              : belief_begin (keeper, turn->lease, event);
    note (turn, *event, RECORD_ACQUIRE_RETURNED,
          turn->beliefs[i] != NULL ? RECORD_OK : RECORD_FAILED);
    event->time_ns = 0;
  }
}

static void
give_back (Turn *turn)
{
  gboolean lost = FALSE;
  for (int i = 0; i < turn->n_members; i++)
    if (turn->beliefs[i] != NULL) {
      lost |= belief_end (turn->beliefs[i], &turn->events[i].time_ns);
      note (turn, turn->events[i], RECORD_RELEASE_CALLED, RECORD_OK);
      turn->events[i].time_ns = 0;
    }
  const gboolean confirmed = release (turn) && !lost;
  for (int i = 0; i < turn->n_members; i++)
    if (turn->beliefs[i] != NULL)
      note (turn, turn->events[i], RECORD_RELEASE_RETURNED,
            confirmed && i == 0 ? RECORD_OK : RECORD_PENDING);
}

static void
take_turn (Actor *actor)
{
  Turn turn = { .actor = actor, .n_members = 1 };
  choose_lock (&turn);
  choose_time (&turn);
  note_all (&turn, RECORD_ACQUIRE_CALLED, RECORD_OK);
  g_autoptr (GError) error = acquire (&turn);
  if (error != NULL) {
    note_all (&turn, RECORD_ACQUIRE_RETURNED, result_of (&turn, error));
    return;
  }
  begin_beliefs (&turn);
  if (turn.beliefs[0] != NULL)
    hold (&turn);
  give_back (&turn);
  curator_lease_unref (turn.lease);
  g_clear_pointer (&turn.leases, g_ptr_array_unref);
}

static void *
act (void *data)
{
  while (is_phase (CHAOS_CONNECT))
    wait_ms (5);
  while (is_phase (CHAOS_RUN))
    take_turn (data);
  shared_add (&own.cells->idle[own.number], 1);
  return NULL;
}

static void
cancel_in_time (Actor *actor)
{
  pthread_mutex_lock (&cancelling);
  if (actor->cancel_at_ns != 0 && actor->cancel_at_ns <= wait_now_ns ()) {
    actor->cancel_at_ns = 0;
    g_cancellable_cancel (actor->cancellable);
  }
  pthread_mutex_unlock (&cancelling);
}

static void *
watch_clock (void *data)
{
  Actor *actors = data;
  gboolean told = FALSE;
  Recorder *recorder = recorder_open (own.directory, own.number, CHAOS_THREADS + 1, LOG_EVENTS);
  while (!is_phase (CHAOS_END)) {
    shared_add (&own.cells->stalled_ms[own.number], chaos_watch (recorder));
    for (int i = 0; i < CHAOS_THREADS; i++)
      cancel_in_time (&actors[i]);
    if (!told && shared_get (&own.cells->tell) != 0) {
      told = TRUE;
      chaos_client_tell (own.client, "of the worker");
      chaos_blocks_tell (own.blocks);
    }
  }
  recorder_close (recorder);
  return NULL;
}

/* --- further actors --------------------------------------------------------------------------- */

typedef struct
{
  ChaosKind kind;
  void (*once) (const ChaosProcess *process, GRand *rand);
  int longest_pause_ms;
} FurtherActor;

static const FurtherActor further[CHAOS_ACTORS] = {
  { CHAOS_KIND_BLOCKS, chaos_blocks_once, 1000 },
  { CHAOS_KIND_FORKS, chaos_forks_once, 600 },
  { CHAOS_KIND_ENDS, chaos_ends_once, 500 },
};

static void *
act_further (void *data)
{
  const FurtherActor *actor = data;
  g_autoptr (GRand) rand = g_rand_new_with_seed (own.seed + actor->kind);
  while (is_phase (CHAOS_CONNECT))
    wait_ms (5);
  while (chaos_is_chosen (&own, actor->kind) && is_phase (CHAOS_RUN)) {
    actor->once (&own, rand);
    wait_ms (g_rand_int_range (rand, 0, actor->longest_pause_ms));
  }
  shared_add (&own.cells->idle[own.number], 1);
  return NULL;
}

/* --- the process ------------------------------------------------------------------------------ */

static gboolean
open_lock (guint i, GError **error)
{
  g_autofree char *path = chaos_path (i);
  g_autofree char *node = g_strconcat (path, "/node", NULL);
  CuratorLock *const members[] = { locks[chaos_locks[i].first], locks[CHAOS_SECOND] };
  switch (chaos_locks[i].recipe) {
  case CHAOS_MUTEX:
    locks[i] = curator_mutex_new (own.client, path, error);
    break;
  case CHAOS_SEMAPHORE_MUTEX:
    locks[i] = curator_semaphore_mutex_new (own.client, path, error);
    break;
  case CHAOS_SEMAPHORE:
    semaphores[i] = curator_semaphore_new (own.client, path, chaos_locks[i].limit, error);
    break;
  case CHAOS_FIXED:
    locks[i] = curator_fixed_node_lock_new (own.client, node, error);
    break;
  case CHAOS_RW_LOCK:
    rw_locks[i] = curator_rw_lock_new (own.client, path, NULL, 0, error);
    break;
  case CHAOS_MULTI:
  default:
    locks[i] = curator_multi_lock_new (members, G_N_ELEMENTS (members));
    break;
  }
  return locks[i] != NULL || semaphores[i] != NULL || rw_locks[i] != NULL;
}

static gboolean
open_all (GError **error)
{
  gboolean fine = TRUE;
  own.client = chaos_client_new (&own);
  for (guint i = 0; i < CHAOS_LOCKS && fine; i++)
    fine = open_lock (i, error);
  own.lock = locks[0];
  return fine && curator_client_start (own.client, error)
         && curator_client_block_until_connected (own.client, CURATOR_WAIT_FOREVER, NULL, error);
}

static void
close_all (void)
{
  chaos_blocks_close (own.blocks);
  curator_client_close (own.client);
  for (guint i = 0; i < CHAOS_LOCKS; i++) {
    g_clear_pointer (&locks[i], curator_lock_unref);
    g_clear_pointer (&semaphores[i], curator_semaphore_unref);
    g_clear_pointer (&rw_locks[i], curator_rw_lock_unref);
  }
  curator_client_unref (own.client);
  belief_keeper_free (keeper);
}

static void
run_actors (void)
{
  pthread_t threads[CHAOS_ACTORS];
  Actor actors[CHAOS_THREADS] = { 0 };
  pthread_t watcher;
  for (int i = 0; i < CHAOS_THREADS; i++) {
    actors[i].rand = g_rand_new_with_seed (own.seed + (guint32) i);
    actors[i].recorder = recorder_open (own.directory, own.number, i + 1, LOG_EVENTS);
  }
  pthread_create (&watcher, NULL, watch_clock, actors);
  for (int i = 0; i < CHAOS_THREADS; i++)
    pthread_create (&actors[i].thread, NULL, act, &actors[i]);
  for (int i = 0; i < CHAOS_ACTORS; i++)
    pthread_create (&threads[i], NULL, act_further, (gpointer) &further[i]);
  for (int i = 0; i < CHAOS_THREADS; i++)
    pthread_join (actors[i].thread, NULL);
  for (int i = 0; i < CHAOS_ACTORS; i++)
    pthread_join (threads[i], NULL);
  pthread_join (watcher, NULL);
  for (int i = 0; i < CHAOS_THREADS; i++) {
    g_clear_object (&actors[i].cancellable);
    g_rand_free (actors[i].rand);
    recorder_close (actors[i].recorder);
  }
}

/* Enters a time namespace. The process must not have other threads yet. */
static gboolean
enter_time_namespace (int boot_offset_s)
{
  g_autofree char *text = g_strdup_printf ("boottime %d 0", boot_offset_s);
  if (unshare (CLONE_NEWTIME) != 0 || !chaos_write ("/proc/self/timens_offsets", text))
    return FALSE;
  const int namespace = open ("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
  const gboolean entered = setns (namespace, CLONE_NEWTIME) == 0;
  close (namespace);
  return entered;
}

/* A worker that crashes says where, in its output: there may be no core of it. */
static void
tell_crash (int signal)
{
  void *frames[64];
  backtrace_symbols_fd (frames, backtrace (frames, G_N_ELEMENTS (frames)), STDERR_FILENO);
}

/* The second signal ends the process. */
static void
tell_crashes (void)
{
  static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE };
  const struct sigaction tell = { .sa_handler = tell_crash, .sa_flags = (int) SA_RESETHAND };
  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    sigaction (signals[i], &tell, NULL);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (argc != 4)
    return 64;
  tell_crashes ();
  own = (ChaosProcess){ .connect_string = argv[1],
                        .number = atoi (argv[2]),
                        .directory = argv[3],
                        .cells = shared_map (argv[3], CHAOS_CELLS, sizeof (ChaosCells)) };
  resource = resource_open (own.directory);
  if (own.cells == NULL || resource == NULL)
    return 1;
  const ChaosStart *start = &own.cells->starts[own.number];
  own.session_ms = start->session_ms;
  own.seed = start->seed;
  if (start->boot_offset_s != 0 && enter_time_namespace (start->boot_offset_s))
    shared_add (&own.cells->in_namespace, 1);
  machine_sleep_begin (&own.cells->clocks[own.number]);
  resolver_begin (&own.cells->names[start->slot]);
  keeper = belief_keeper_new (own.directory, own.number, LOOK_US, LOG_EVENTS);
  if (!open_all (&error)) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  own.blocks = chaos_blocks_open (&own);
  shared_set (&own.cells->ready[own.number], 1);
  run_actors ();
  close_all ();
  return 0;
}
