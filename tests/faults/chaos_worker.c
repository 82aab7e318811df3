/* chaos_worker CONNECT SESSION-MS TICK-MS PROCESS SEED DIRECTORY RESOURCE-DIRECTORY BOOT-OFFSET-S
 * NAMES
 *
 * BOOT-OFFSET-S: by how much the boot time of its time namespace is ahead, as on a machine that has
 * slept before; 0: no namespace of its own. NAMES: see chaos_resolver.h.
 *
 * One process of the chaos test: threads that take turns with locks of every recipe, chosen by
 * their seed, and record them. See chaos.h. */
#include "belief.h"
#include "chaos.h"
#include "chaos_actors.h"
#include "chaos_resolver.h"
#include "machine_sleep.h"
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

typedef struct
{
  CuratorClient *client;
  CuratorLock *locks[CHAOS_LOCKS];
  CuratorSemaphore *semaphores[CHAOS_LOCKS];
  CuratorRwLock *rw_locks[CHAOS_LOCKS];
  ChaosCells *cells;
  Resource *resource;
  BeliefKeeper *keeper;
  const char *connect_string;
  const char *directory;
  int process;
  int tick_ms;
  gint64 session_ms;
  guint32 seed;
  ChaosBlocks *blocks;
} Worker;

typedef struct
{
  Worker *worker;
  Recorder *recorder;
  GRand *rand;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards the next two against the canceller */
  GCancellable *cancellable;
  gint64 cancel_at_ns; /* 0: never */
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
  RecordEvent event;
  RecordEvent second_event; /* of a multi-lock */
  Belief *belief;
  Belief *second_belief;
} Turn;

static gboolean
chance (Actor *actor, int percent)
{
  return g_rand_int_range (actor->rand, 0, 100) < percent;
}

static void
note (Turn *turn, RecordEvent event, RecordOp op, RecordResult result)
{
  event.op = (guint8) op;
  event.result = (guint8) result;
  event.spare = (guint64) (gint64) turn->code;
  recorder_add (turn->actor->recorder, event);
}

static void
note_both (Turn *turn, RecordOp op, RecordResult result)
{
  note (turn, turn->event, op, result);
  if (turn->kind->recipe == CHAOS_MULTI)
    note (turn, turn->second_event, op, result);
}

static gboolean
running (const Worker *worker)
{
  return chaos_cell (&worker->cells->phase) == CHAOS_RUN;
}

/* Of an error that nothing explains. */
static void
tell_nodes (CuratorLock *lock)
{
  g_auto (GStrv) nodes =
      lock != NULL ? curator_lock_get_participant_nodes (lock, LONGEST_ASK, NULL, NULL) : NULL;
  for (char **node = nodes; node != NULL && *node != NULL; node++)
    g_printerr ("  %s\n", *node);
}

static RecordResult
result_of (Turn *turn, const GError *error)
{
  if (error == NULL)
    return RECORD_OK;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    return RECORD_TIMED_OUT;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return RECORD_CANCELLED;
  if (g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH)
      || g_error_matches (error, CURATOR_ZK_ERROR, QUOTA_EXCEEDED))
    {
      turn->code = error->code;
      return RECORD_FAILED;
    }
  if (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST)
      && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)
      && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST)
      && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_SESSION_EXPIRED))
    {
      g_printerr ("lock %u: %s (%s %d)\n", turn->event.lock, error->message,
                  g_quark_to_string (error->domain), error->code);
      tell_nodes (turn->lock);
      chaos_cell_add (&turn->actor->worker->cells->unexpected, 1);
    }
  return RECORD_FAILED;
}

static void
choose_lock (Turn *turn)
{
  Actor *actor = turn->actor;
  Worker *worker = actor->worker;
  guint lock = (guint) g_rand_int_range (actor->rand, 0, CHAOS_LOCKS - 1);
  lock += lock >= CHAOS_SECOND; /* which is acquired through multi-locks only */
  turn->kind = &chaos_locks[lock];
  turn->lock = worker->locks[lock];
  turn->semaphore = worker->semaphores[lock];
  turn->event = (RecordEvent){ .lock = lock, .kind = RECORD_MUTEX, .permits = 1, .limit = 1 };
  turn->by_thread = chance (actor, 50)
                    && (turn->kind->recipe == CHAOS_MUTEX || turn->kind->recipe == CHAOS_FIXED);
  if (turn->kind->recipe == CHAOS_RW_LOCK)
    {
      const gboolean writes = chance (actor, 30);
      turn->lock = writes ? curator_rw_lock_get_write_lock (worker->rw_locks[lock])
                          : curator_rw_lock_get_read_lock (worker->rw_locks[lock]);
      turn->event.kind = writes ? RECORD_WRITE : RECORD_READ;
      turn->by_thread = chance (actor, 50);
    }
  if (turn->kind->recipe == CHAOS_SEMAPHORE)
    {
      turn->event.kind = RECORD_SEMAPHORE;
      turn->event.limit = (gint16) turn->kind->limit;
      turn->event.permits = (gint16) g_rand_int_range (actor->rand, 1, 3);
    }
  if (turn->kind->recipe == CHAOS_MULTI)
    {
      turn->event.lock = turn->kind->first;
      turn->second_event = turn->event;
      turn->second_event.lock = CHAOS_SECOND;
      turn->second_event.kind = RECORD_SEMAPHORE;
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
  turn->event.timeout_ms = timeout_ms;
  turn->second_event.timeout_ms = timeout_ms;
  pthread_mutex_lock (&actor->mutex);
  g_clear_object (&actor->cancellable);
  actor->cancellable = g_cancellable_new ();
  actor->cancel_at_ns =
      chance (actor, 5) ? wait_now_ns () + (gint64) g_rand_int_range (actor->rand, 1, 200) * 1000000
                        : 0;
  pthread_mutex_unlock (&actor->mutex);
}

static GError *
acquire (Turn *turn)
{
  GError *error = NULL;
  GCancellable *cancellable = turn->actor->cancellable;
  const gint64 timeout_ms = turn->event.timeout_ms;
  if (turn->semaphore != NULL)
    {
      turn->leases = curator_semaphore_acquire_n (turn->semaphore, turn->event.permits, timeout_ms,
                                                  cancellable, &error);
      turn->lease =
          turn->leases != NULL ? curator_lease_ref (g_ptr_array_index (turn->leases, 0)) : NULL;
    }
  else if (!turn->by_thread)
    {
      turn->lease = curator_lock_acquire_lease (turn->lock, timeout_ms, cancellable, &error);
    }
  else if (curator_lock_acquire (turn->lock, timeout_ms, cancellable, &error))
    {
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
  Worker *worker = turn->actor->worker;
  const guint lock = turn->event.lock;
  const guint64 token = turn->event.token;
  gint64 at_ns;
  if ((turn->event.kind != RECORD_MUTEX && turn->event.kind != RECORD_WRITE)
      || !belief_look (turn->belief, &at_ns))
    return;
  if (chance (turn->actor, 20))
    wait_ms (1);
  const gboolean accepted = resource_write (worker->resource, lock, token);
  resource_write_unfenced (worker->resource, lock, token);
  if (!accepted && belief_look (turn->belief, &at_ns))
    note (turn, turn->event, RECORD_RESOURCE_WRITE, RECORD_FAILED);
}

/* Re-enters the hold and releases that level. */
static void
reenter (Turn *turn)
{
  g_autoptr (GError) error = NULL;
  RecordEvent event = turn->event;
  const gint64 left_ms = curator_lease_get_remaining_ms (turn->lease);
  event.timeout_ms = -1;
  event.time_ns = 0;
  note (turn, event, RECORD_ACQUIRE_CALLED, RECORD_OK);
  if (!curator_lock_acquire (turn->lock, CURATOR_WAIT_FOREVER, NULL, &error))
    {
      note (turn, event, RECORD_ACQUIRE_RETURNED, result_of (turn, error));
      return;
    }
  if (left_ms == 0)
    chaos_cell_add (&turn->actor->worker->cells->dead_reentries, 1);
  const gboolean believed = belief_look (turn->belief, &event.time_ns);
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
  const gint64 longest_ms = chance (actor, 1)    ? actor->worker->session_ms * 3 / 2
                            : chance (actor, 10) ? 30
                                                 : 2;
  const gint64 until = wait_now_ms () + g_rand_int_range (actor->rand, 0, (gint32) longest_ms);
  write_resource (turn);
  if (turn->by_thread && chance (actor, 20))
    reenter (turn);
  while (wait_now_ms () < until && running (actor->worker) && !belief_is_over (turn->belief))
    wait_ms ((int) CLAMP (until - wait_now_ms (), 0, 5));
  write_resource (turn);
}

static void
begin_belief (Turn *turn)
{
  BeliefKeeper *keeper = turn->actor->worker->keeper;
  turn->belief = turn->leases != NULL ? belief_begin_all (keeper, turn->leases, &turn->event)
                                      : belief_begin (keeper, turn->lease, &turn->event);
  if (turn->belief != NULL && turn->kind->recipe == CHAOS_MULTI)
    turn->second_belief = belief_begin (keeper, turn->lease, &turn->second_event);
  note (turn, turn->event, RECORD_ACQUIRE_RETURNED,
        turn->belief != NULL ? RECORD_OK : RECORD_FAILED);
  if (turn->kind->recipe == CHAOS_MULTI)
    {
      note (turn, turn->second_event, RECORD_ACQUIRE_RETURNED,
            turn->second_belief != NULL ? RECORD_OK : RECORD_FAILED);
    }
  turn->event.time_ns = 0;
  turn->second_event.time_ns = 0;
}

static void
give_back (Turn *turn)
{
  const gboolean first = turn->belief != NULL;
  const gboolean second = turn->second_belief != NULL;
  const gboolean lost = first && belief_end (turn->belief);
  if (second)
    {
      belief_end (turn->second_belief);
      note (turn, turn->second_event, RECORD_RELEASE_CALLED, RECORD_OK);
    }
  if (first)
    note (turn, turn->event, RECORD_RELEASE_CALLED, RECORD_OK);
  const gboolean confirmed = release (turn) && !lost;
  if (first)
    note (turn, turn->event, RECORD_RELEASE_RETURNED, confirmed ? RECORD_OK : RECORD_PENDING);
  if (second)
    note (turn, turn->second_event, RECORD_RELEASE_RETURNED, RECORD_PENDING);
}

static void
take_turn (Actor *actor)
{
  Turn turn = { .actor = actor };
  choose_lock (&turn);
  choose_time (&turn);
  note_both (&turn, RECORD_ACQUIRE_CALLED, RECORD_OK);
  g_autoptr (GError) error = acquire (&turn);
  if (error != NULL)
    {
      note_both (&turn, RECORD_ACQUIRE_RETURNED, result_of (&turn, error));
      return;
    }
  begin_belief (&turn);
  if (turn.belief != NULL)
    hold (&turn);
  give_back (&turn);
  curator_lease_unref (turn.lease);
  g_clear_pointer (&turn.leases, g_ptr_array_unref);
}

static void *
act (void *data)
{
  Actor *actor = data;
  Worker *worker = actor->worker;
  while (chaos_cell (&worker->cells->phase) == CHAOS_CONNECT)
    wait_ms (5);
  while (running (worker))
    take_turn (actor);
  chaos_cell_add (&worker->cells->idle[worker->process], 1);
  return NULL;
}

static void *
cancel_in_time (void *data)
{
  Actor *actors = data;
  while (chaos_cell (&actors[0].worker->cells->phase) != CHAOS_END)
    {
      for (int i = 0; i < CHAOS_THREADS; i++)
        {
          pthread_mutex_lock (&actors[i].mutex);
          if (actors[i].cancel_at_ns != 0 && actors[i].cancel_at_ns <= wait_now_ns ())
            {
              actors[i].cancel_at_ns = 0;
              g_cancellable_cancel (actors[i].cancellable);
            }
          pthread_mutex_unlock (&actors[i].mutex);
        }
      wait_ms (5);
    }
  return NULL;
}

static void
tell_if_asked (Worker *worker, gboolean *told)
{
  if (!*told && chaos_cell (&worker->cells->tell) != 0)
    {
      *told = TRUE;
      chaos_client_tell (worker->client, "of the worker");
      chaos_blocks_tell (worker->blocks);
    }
}

static void *
watch_clock (void *data)
{
  Worker *worker = data;
  gboolean told = FALSE;
  Recorder *recorder =
      recorder_open (worker->directory, worker->process, CHAOS_THREADS + 1, LOG_EVENTS);
  while (chaos_cell (&worker->cells->phase) != CHAOS_END)
    {
      chaos_cell_add (&worker->cells->stalled_ms[worker->process], chaos_watch (recorder));
      tell_if_asked (worker, &told);
    }
  recorder_close (recorder);
  return NULL;
}

static gboolean
open_lock (Worker *worker, guint i, GError **error)
{
  g_autofree char *path = chaos_path (i);
  switch (chaos_locks[i].recipe)
    {
    case CHAOS_MUTEX:
      worker->locks[i] = curator_mutex_new (worker->client, path, error);
      break;
    case CHAOS_SEMAPHORE_MUTEX:
      worker->locks[i] = curator_semaphore_mutex_new (worker->client, path, error);
      break;
    case CHAOS_SEMAPHORE:
      worker->semaphores[i] =
          curator_semaphore_new (worker->client, path, chaos_locks[i].limit, error);
      break;
    case CHAOS_FIXED:
      {
        g_autofree char *node = chaos_fixed_path (i);
        worker->locks[i] = curator_fixed_node_lock_new (worker->client, node, error);
        break;
      }
    case CHAOS_RW_LOCK:
      worker->rw_locks[i] = curator_rw_lock_new (worker->client, path, NULL, 0, error);
      break;
    case CHAOS_MULTI:
    default:
      {
        CuratorLock *const members[] = { worker->locks[chaos_locks[i].first],
                                         worker->locks[CHAOS_SECOND] };
        worker->locks[i] = curator_multi_lock_new (members, G_N_ELEMENTS (members));
        break;
      }
    }
  return worker->locks[i] != NULL || worker->semaphores[i] != NULL || worker->rw_locks[i] != NULL;
}

static gboolean
open_all (Worker *worker, GError **error)
{
  gboolean fine = TRUE;
  worker->client = chaos_client_new (worker->connect_string, worker->session_ms, worker->tick_ms);
  for (guint i = 0; i < CHAOS_LOCKS && fine; i++)
    fine = open_lock (worker, i, error);
  return fine && curator_client_start (worker->client, error);
}

static void
close_all (Worker *worker)
{
  chaos_blocks_close (worker->blocks);
  curator_client_close (worker->client);
  for (guint i = 0; i < CHAOS_LOCKS; i++)
    {
      g_clear_pointer (&worker->locks[i], curator_lock_unref);
      g_clear_pointer (&worker->semaphores[i], curator_semaphore_unref);
      g_clear_pointer (&worker->rw_locks[i], curator_rw_lock_unref);
    }
  curator_client_unref (worker->client);
  belief_keeper_free (worker->keeper);
  chaos_cells_close (worker->cells);
  resource_close (worker->resource);
}

static ChaosActor
further_actor (Worker *worker, guint32 seed)
{
  return (ChaosActor){ .connect_string = worker->connect_string,
                       .tick_ms = worker->tick_ms,
                       .session_ms = worker->session_ms,
                       .cells = worker->cells,
                       .directory = worker->directory,
                       .process = worker->process,
                       .seed = seed,
                       .client = worker->client,
                       .lock = worker->locks[0] };
}

static void *
run_blocks (void *data)
{
  Worker *worker = data;
  const ChaosActor actor = further_actor (worker, worker->seed);
  chaos_blocks_run (&actor, worker->blocks);
  chaos_cell_add (&worker->cells->idle[worker->process], 1);
  return NULL;
}

static void *
run_forks (void *data)
{
  Worker *worker = data;
  const ChaosActor actor = further_actor (worker, worker->seed + 1);
  chaos_forks_run (&actor);
  chaos_cell_add (&worker->cells->idle[worker->process], 1);
  return NULL;
}

static void *
run_ends (void *data)
{
  Worker *worker = data;
  const ChaosActor actor = further_actor (worker, worker->seed + 2);
  chaos_ends_run (&actor);
  chaos_cell_add (&worker->cells->idle[worker->process], 1);
  return NULL;
}

static void
run_actors (Worker *worker)
{
  static void *(*const others[CHAOS_ACTORS]) (void *worker) = { run_blocks, run_forks, run_ends };
  pthread_t threads[CHAOS_ACTORS];
  Actor actors[CHAOS_THREADS] = { 0 };
  pthread_t canceller;
  pthread_t watcher;
  for (int i = 0; i < CHAOS_THREADS; i++)
    {
      actors[i].worker = worker;
      actors[i].rand = g_rand_new_with_seed (worker->seed + (guint32) i);
      actors[i].recorder = recorder_open (worker->directory, worker->process, i + 1, LOG_EVENTS);
      pthread_mutex_init (&actors[i].mutex, NULL);
    }
  pthread_create (&canceller, NULL, cancel_in_time, actors);
  pthread_create (&watcher, NULL, watch_clock, worker);
  for (int i = 0; i < CHAOS_THREADS; i++)
    pthread_create (&actors[i].thread, NULL, act, &actors[i]);
  for (int i = 0; i < CHAOS_ACTORS; i++)
    pthread_create (&threads[i], NULL, others[i], worker);
  for (int i = 0; i < CHAOS_THREADS; i++)
    pthread_join (actors[i].thread, NULL);
  for (int i = 0; i < CHAOS_ACTORS; i++)
    pthread_join (threads[i], NULL);
  pthread_join (canceller, NULL);
  pthread_join (watcher, NULL);
  for (int i = 0; i < CHAOS_THREADS; i++)
    {
      g_clear_object (&actors[i].cancellable);
      g_rand_free (actors[i].rand);
      recorder_close (actors[i].recorder);
      pthread_mutex_destroy (&actors[i].mutex);
    }
}

/* Enters a time namespace. The process must not have other threads yet. */
static gboolean
enter_time_namespace (const char *offset_s)
{
  g_autofree char *text = g_strdup_printf ("boottime %s 0", offset_s);
  const int offsets =
      unshare (CLONE_NEWTIME) == 0 ? open ("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC) : -1;
  if (offsets < 0)
    return FALSE;
  const gboolean written = write (offsets, text, strlen (text)) == (gssize) strlen (text);
  close (offsets);
  const int namespace = open ("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
  const gboolean entered = written && setns (namespace, CLONE_NEWTIME) == 0;
  close (namespace);
  return entered;
}

static gboolean
set_clocks (Worker *worker, const char *offset_s)
{
  g_autofree char *slept = g_strdup_printf ("%s/%d.slept", worker->directory, worker->process);
  if (strcmp (offset_s, "0") != 0 && enter_time_namespace (offset_s))
    chaos_cell_add (&worker->cells->in_namespace, 1);
  const MachineClocks *clocks = chaos_clocks_open (slept);
  machine_sleep_begin (clocks);
  return clocks != NULL;
}

/* A worker that crashes says where, in its output: there may be no core of it. */
static void
tell_crash (int signal)
{
  void *frames[64];
  backtrace_symbols_fd (frames, backtrace (frames, G_N_ELEMENTS (frames)), STDERR_FILENO);
}

/* A sanitizer's own handlers stay. The second signal ends the process. */
static void
tell_crashes (void)
{
  static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE };
  const struct sigaction tell = { .sa_handler = tell_crash, .sa_flags = (int) SA_RESETHAND };
  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      struct sigaction before;
      sigaction (signals[i], NULL, &before);
      if (before.sa_handler == SIG_DFL)
        sigaction (signals[i], &tell, NULL);
    }
}

int
main (int argc, char **argv)
{
  static Worker worker;
  g_autoptr (GError) error = NULL;
  if (argc != 10)
    return 64;
  tell_crashes ();
  worker.connect_string = argv[1];
  worker.session_ms = atoi (argv[2]);
  worker.tick_ms = atoi (argv[3]);
  worker.process = atoi (argv[4]);
  worker.seed = (guint32) g_ascii_strtoull (argv[5], NULL, 10);
  worker.directory = argv[6];
  worker.cells = chaos_cells_open (argv[6]);
  if (!set_clocks (&worker, argv[8]) || !chaos_resolver_begin (argv[9]))
    return 1;
  worker.resource = resource_open (argv[7]);
  worker.keeper = belief_keeper_new (argv[6], worker.process, LOOK_US, LOG_EVENTS);
  if (!open_all (&worker, &error))
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }
  G_GNUC_UNUSED const gboolean connected =
      curator_client_block_until_connected (worker.client, CURATOR_WAIT_FOREVER, NULL, NULL);
  const ChaosActor blocking = further_actor (&worker, worker.seed);
  worker.blocks = chaos_blocks_open (&blocking);
  chaos_cell_set (&worker.cells->ready[worker.process], 1);
  run_actors (&worker);
  close_all (&worker);
  return 0;
}
