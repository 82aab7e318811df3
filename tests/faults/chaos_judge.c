#include "chaos_judge.h"

#include "support/checker.h"

#include <zookeeper/zookeeper.h>

#define MS 1e6
/* From the end of a fault to the connection: a second, and 250 ms for an absent host. */
#define SETTLING_NS G_GINT64_CONSTANT (1250000000)
/* From the cause of an error to the error. */
#define EXPLAINED_NS G_GINT64_CONSTANT (3000000000)
#define STOPS        ((1U << CHAOS_STOPPED) | (1U << CHAOS_ASLEEP))
#define BUSY_MS      1000 /* for a busy machine to notice anything */

typedef struct
{
  guint64 token; /* of the newest exclusive hold, 0 once released */
  int process;
  gint64 released_ns; /* the event that the next grant follows: one of these, or none */
  gint64 died_ns;
  gint64 lost_ns;
  guint64 lost_token;
  gboolean lost_reader;
} LockView;

typedef struct
{
  gint64 at_ns;
  gint64 timeout_ms;
} Ask;

/* A time in which a process, or CHAOS_MACHINE, did not run. */
typedef struct
{
  int process;
  gint64 from_ns;
  gint64 to_ns;
} Stall;

typedef struct
{
  const ChaosCase *of;
  const GArray *faults;
  Figures *figures;
  LockView locks[CHAOS_LOCKS];
  const GArray *events;
  GHashTable *asks;   /* actor to Ask */
  GHashTable *grants; /* lock and token to time of the grant */
  GHashTable *taken;  /* lock and token to the event, until the holder knows */
  GHashTable *owners; /* lock and token to number of the process */
  GArray *stalls;     /* Stall */
  guint acquisitions;
  guint violations;
} View;

static gint64 *
actor_of (const RecordEvent *event)
{
  const gint64 key = ((gint64) event->process << 32) | ((gint64) event->thread << 16)
                     | ((gint64) event->lock << 4) | event->kind;
  return g_memdup2 (&key, sizeof key);
}

static gint64 *
grant_key (const RecordEvent *event)
{
  const gint64 key = (gint64) (event->token << 6) | event->lock;
  return g_memdup2 (&key, sizeof key);
}

/* A child of fork has its parent's paths and processors. */
static int
home_of (const View *view, int process)
{
  return process < CHAOS_PROCESSES ? process : (int) view->of->cells->lives_in[process];
}

/* Whether a fault of one of these kinds (bits) overlaps; process 0: of any process. */
static const ChaosFault *
fault_at (const View *view, guint kinds, int process, gint64 from_ns, gint64 to_ns)
{
  for (guint i = 0; i < view->faults->len; i++)
    {
      const ChaosFault *fault = &g_array_index (view->faults, ChaosFault, i);
      if ((kinds & (1U << fault->kind)) != 0
          && (process == 0 || fault->process == home_of (view, process)) && fault->from_ns <= to_ns
          && fault->to_ns >= from_ns)
        return fault;
    }
  return NULL;
}

static void
on_ask (View *view, const RecordEvent *event)
{
  Ask *ask = g_new (Ask, 1);
  ask->at_ns = event->time_ns;
  ask->timeout_ms = event->timeout_ms;
  g_hash_table_replace (view->asks, actor_of (event), ask);
}

/* A call may get an error for whatever happened while it lasted. */
static gint64
asked_ns (View *view, const RecordEvent *event)
{
  g_autofree gint64 *actor = actor_of (event);
  const Ask *ask = g_hash_table_lookup (view->asks, actor);
  return ask != NULL ? ask->at_ns : event->time_ns;
}

/* --- third parties ---------------------------------------------------------------------------- */

static gboolean
is_disturbed (const View *view, int process, gint64 from_ns, gint64 to_ns)
{
  const guint others = (1U << CHAOS_AT_SERVERS) | (1U << CHAOS_ACL);
  for (guint i = 0; i < view->stalls->len; i++)
    {
      const Stall *stall = &g_array_index (view->stalls, Stall, i);
      if ((stall->process == home_of (view, process) || stall->process == CHAOS_MACHINE)
          && stall->from_ns <= to_ns && stall->to_ns >= from_ns)
        return TRUE;
    }
  return fault_at (view, others, 0, from_ns, to_ns) != NULL
         || fault_at (view, ~0U, process, from_ns, to_ns) != NULL;
}

/* A heartbeat, and what a busy machine needs; if anything else is wrong, what a hold can last. */
static void
judge_taken (View *view, RecordEvent *taken)
{
  g_autofree gint64 *key = grant_key (taken);
  const int process = GPOINTER_TO_INT (g_hash_table_lookup (view->owners, key));
  const gint64 longest_ms =
      process > 0 && !view->of->unequal ? view->of->session_ms[process] : CHAOS_LONGEST_SESSION_MS;
  const gint64 beat_ms = longest_ms / 6 + BUSY_MS;
  const gint64 to_ns = (gint64) taken->spare + beat_ms * (gint64) MS;
  taken->timeout_ms =
      process == 0 || is_disturbed (view, process, taken->time_ns - SETTLING_NS, to_ns) ? longest_ms
                                                                                        : beat_ms;
}

static void
find_owners (View *view)
{
  for (guint i = 0; i < view->events->len; i++)
    {
      const RecordEvent *event = &g_array_index (view->events, RecordEvent, i);
      if (event->op == RECORD_ACQUIRE_RETURNED && event->result == RECORD_OK)
        g_hash_table_replace (view->owners, grant_key (event), GINT_TO_POINTER (event->process));
    }
}

static void
judge_all_taken (View *view)
{
  for (guint i = 0; i < view->events->len; i++)
    {
      RecordEvent *event = &g_array_index (view->events, RecordEvent, i);
      if (event->op == RECORD_NODE_TAKEN)
        judge_taken (view, event);
    }
}

/* The belief has ended. TRUE if a third party had deleted the node; measures for how long the
 * holder believed then, if nothing else was wrong. */
static gboolean
measure_taken (View *view, const RecordEvent *event)
{
  g_autofree gint64 *key = grant_key (event);
  const RecordEvent *taken = g_hash_table_lookup (view->taken, key);
  if (taken != NULL && taken->timeout_ms < MIN (view->of->session_ms[event->process], 3000))
    {
      figures_add (view->figures, "taken_belief_ms",
                   MAX ((double) (event->time_ns - (gint64) taken->spare) / MS, 0));
    }
  g_hash_table_remove (view->taken, key);
  return taken != NULL;
}

static void
on_taken (View *view, const RecordEvent *event)
{
  const LockView *lock = &view->locks[event->lock];
  if (event->result == RECORD_OK && lock->token == event->token && lock->lost_token != event->token)
    {
      g_hash_table_replace (view->taken, grant_key (event), (gpointer) event);
      chaos_kinds_add_effects (view->of->kinds,
                               event->limit != 0 ? CHAOS_KIND_RECREATION : CHAOS_KIND_DELETION, 1);
    }
}

/* A write that the resource has refused to a believing holder: only if a third party has let
 * another holder in. */
static void
on_write (View *view, const RecordEvent *event)
{
  for (guint i = 0; i < view->events->len && event->result != RECORD_OK; i++)
    {
      const RecordEvent *taken = &g_array_index (view->events, RecordEvent, i);
      if (taken->op == RECORD_NODE_TAKEN && taken->lock == event->lock
          && taken->token == event->token && taken->time_ns <= event->time_ns)
        return;
    }
  if (event->result != RECORD_OK)
    {
      g_printerr ("lock %u refuses token %" G_GUINT64_FORMAT " of its holder\n", event->lock,
                  event->token);
      figures_add (view->figures, "refused_believers", 1);
      view->violations++;
    }
}

/* Errors that need a cause. */
static void
on_error (View *view, const RecordEvent *event)
{
  const int code = (int) (gint64) event->spare;
  const ChaosFaultKind kind = code == ZNOAUTH ? CHAOS_ACL : CHAOS_QUOTA;
  if (code == 0)
    return;
  chaos_kinds_add_effects (view->of->kinds, code == ZNOAUTH ? CHAOS_KIND_ACL : CHAOS_KIND_QUOTA, 1);
  const gint64 from_ns = MIN (asked_ns (view, event), event->time_ns - EXPLAINED_NS);
  if (fault_at (view, 1U << kind, 0, from_ns, event->time_ns) == NULL)
    {
      g_printerr ("lock %u, process %d: error %d without a cause\n", event->lock, event->process,
                  code);
      view->violations++;
    }
}

/* Another process has trouble at the same time. */
static gboolean
is_shared (const View *view, const ChaosLoss *loss)
{
  for (guint i = 0; i < view->events->len; i++)
    {
      const RecordEvent *event = &g_array_index (view->events, RecordEvent, i);
      if ((event->op == RECORD_SUSPECT || event->op == RECORD_LOST || event->op == RECORD_DEADLINE)
          && home_of (view, event->process) != loss->process
          && event->time_ns > loss->held_ns - EXPLAINED_NS
          && event->time_ns < loss->lost_ns + EXPLAINED_NS)
        return TRUE;
    }
  return FALSE;
}

/* User code that blocks costs no hold. */
static void
judge_losses (View *view)
{
  const ChaosCells *cells = view->of->cells;
  const guint n = MIN (cells->n_losses, CHAOS_LOSSES);
  guint unexplained = 0;
  for (guint i = 0; i < n; i++)
    {
      const ChaosLoss *loss = &cells->losses[i];
      const gint64 from_ns = loss->held_ns - CHAOS_LONGEST_SESSION_MS * (gint64) MS - SETTLING_NS;
      if (!is_disturbed (view, loss->process, from_ns, loss->lost_ns) && !is_shared (view, loss))
        {
          g_printerr ("process %d loses a hold while user code blocks, and nothing else is wrong\n",
                      loss->process);
          unexplained++;
        }
    }
  figures_add (view->figures, "blocked_losses", cells->n_losses);
  figures_add (view->figures, "unexplained_losses", unexplained);
  view->violations += unexplained;
}

/* --- figures ---------------------------------------------------------------------------------- */

/* A stop by a fault looks like a stall, too, but was not caused by the machine. */
static void
add_stall (View *view, const RecordEvent *event)
{
  const Stall stall = { event->process, event->time_ns - event->timeout_ms * (gint64) MS,
                        event->time_ns };
  g_array_append_val (view->stalls, stall);
  if (fault_at (view, STOPS, event->process, stall.from_ns, stall.to_ns) == NULL)
    figures_add (view->figures, "stall_ms", (double) event->timeout_ms);
}

static gint64
stalled_ns (const View *view, int process, gint64 from_ns, gint64 to_ns)
{
  gint64 sum = 0;
  for (guint i = 0; i < view->stalls->len; i++)
    {
      const Stall *stall = &g_array_index (view->stalls, Stall, i);
      if (stall->process == home_of (view, process))
        sum += MAX (MIN (stall->to_ns, to_ns) - MAX (stall->from_ns, from_ns), 0);
    }
  return sum;
}

/* The lateness without the time in which the process did not run. */
static void
on_time_out (View *view, const RecordEvent *event, const Ask *ask)
{
  const gint64 due_ns = ask->at_ns + ask->timeout_ms * (gint64) MS;
  if (ask->timeout_ms > 0
      && fault_at (view, STOPS, event->process, ask->at_ns, event->time_ns) == NULL)
    {
      const gint64 stalled = stalled_ns (view, event->process, due_ns, event->time_ns);
      figures_add (view->figures, "overrun_ms", (double) (event->time_ns - due_ns - stalled) / MS);
    }
}

static gboolean
is_exclusive (const RecordEvent *event)
{
  return event->kind == RECORD_MUTEX || event->kind == RECORD_WRITE;
}

/* Figures of the times from the last loss, release and death to this grant. */
static void
measure_grant (View *view, const RecordEvent *event, const Ask *ask, LockView *lock)
{
  const gint64 now = event->time_ns;
  if (lock->lost_ns != 0 && (is_exclusive (event) || !lock->lost_reader))
    {
      figures_add (view->figures, "margin_ms", (double) (now - lock->lost_ns) / MS);
      lock->lost_ns = 0;
    }
  if (lock->released_ns > ask->at_ns && is_exclusive (event)
      && fault_at (view, ~0U, 0, lock->released_ns - SETTLING_NS, now) == NULL)
    figures_add (view->figures, "handover_ms", (double) (now - lock->released_ns) / MS);
  if (lock->died_ns > ask->at_ns
      && fault_at (view, ~(1U << CHAOS_KILLED), 0, lock->died_ns - SETTLING_NS, now) == NULL)
    figures_add (view->figures, "after_kill_ms", (double) (now - lock->died_ns) / MS);
  lock->released_ns = 0;
  lock->died_ns = 0;
}

static void
on_grant (View *view, const RecordEvent *event, const Ask *ask)
{
  LockView *lock = &view->locks[event->lock];
  if (!g_hash_table_insert (view->grants, grant_key (event),
                            g_memdup2 (&event->time_ns, sizeof event->time_ns)))
    return; /* re-entry */
  view->acquisitions++;
  if (event->kind != RECORD_SEMAPHORE)
    measure_grant (view, event, ask, lock);
  if (is_exclusive (event))
    {
      lock->token = event->token;
      lock->process = event->process;
    }
}

static void
on_return (View *view, const RecordEvent *event)
{
  g_autofree gint64 *actor = actor_of (event);
  const Ask *ask = g_hash_table_lookup (view->asks, actor);
  if (ask != NULL && event->result == RECORD_OK)
    on_grant (view, event, ask);
  else if (ask != NULL && event->result == RECORD_TIMED_OUT)
    on_time_out (view, event, ask);
  else
    on_error (view, event);
}

static void
on_loss (View *view, const RecordEvent *event)
{
  LockView *lock = &view->locks[event->lock];
  const gboolean taken = measure_taken (view, event);
  if (event->kind != RECORD_SEMAPHORE && lock->lost_token != event->token)
    {
      lock->lost_token = event->token;
      lock->lost_ns = taken ? 0 : event->time_ns; /* the deletion made room for the next grant */
      lock->lost_reader = event->kind == RECORD_READ;
    }
  if (fault_at (view, 1U << CHAOS_ASLEEP, event->process, event->time_ns - SETTLING_NS,
                event->time_ns)
      != NULL)
    chaos_kinds_add_effects (view->of->kinds, CHAOS_KIND_SLEEP, 1);
}

/* The time from a silent path to the holder's warning, as a share of its session timeout. */
static void
on_suspect (View *view, const RecordEvent *event)
{
  g_autofree gint64 *key = grant_key (event);
  const gint64 *granted_ns = g_hash_table_lookup (view->grants, key);
  const ChaosFault *fault =
      fault_at (view, 1U << CHAOS_PATH_SILENT, event->process, event->time_ns, event->time_ns);
  if (fault != NULL && granted_ns != NULL && *granted_ns < fault->from_ns && !view->of->unequal)
    {
      figures_add (view->figures, "suspect_share",
                   (double) (event->time_ns - fault->from_ns) / MS
                       / view->of->session_ms[event->process]);
    }
}

static void
on_release (View *view, const RecordEvent *event)
{
  LockView *lock = &view->locks[event->lock];
  on_ask (view, event);
  measure_taken (view, event);
  if (is_exclusive (event) && lock->token == event->token && lock->lost_token != event->token)
    {
      lock->released_ns = event->time_ns;
      lock->token = 0;
    }
}

static void
on_death (View *view, const RecordEvent *event)
{
  for (guint i = 0; i < CHAOS_LOCKS; i++)
    {
      LockView *lock = &view->locks[i];
      if (lock->token != 0 && lock->process == event->process && lock->lost_token != lock->token)
        {
          lock->died_ns = event->time_ns;
          lock->token = 0;
        }
    }
}

static void
on_event (View *view, const RecordEvent *event)
{
  switch ((RecordOp) event->op)
    {
    case RECORD_ACQUIRE_CALLED:
      on_ask (view, event);
      break;
    case RECORD_ACQUIRE_RETURNED:
      on_return (view, event);
      break;
    case RECORD_RELEASE_CALLED:
      on_release (view, event);
      break;
    case RECORD_LOST:
    case RECORD_DEADLINE:
      on_loss (view, event);
      break;
    case RECORD_SUSPECT:
      on_suspect (view, event);
      break;
    case RECORD_PROCESS_DIED:
      on_death (view, event);
      break;
    case RECORD_NODE_TAKEN:
      on_taken (view, event);
      break;
    case RECORD_RESOURCE_WRITE:
      on_write (view, event);
      break;
    case RECORD_RELEASE_RETURNED:
      on_error (view, event);
      break;
    case RECORD_SESSION_ENDED:
    case RECORD_SAMPLE:
    case RECORD_STALL:
    case RECORD_N_OPS:
    default:
      break;
    }
}

static void
view_all (View *view)
{
  for (guint i = 0; i < view->events->len; i++)
    {
      const RecordEvent *event = &g_array_index (view->events, RecordEvent, i);
      if (event->op == RECORD_STALL)
        add_stall (view, event);
    }
  find_owners (view);
  judge_all_taken (view);
  for (guint i = 0; i < view->events->len; i++)
    on_event (view, &g_array_index (view->events, RecordEvent, i));
}

static guint
judge_history (const GArray *events, Figures *figures)
{
  static const CheckerRules rules = { .residue_ms = 60000 };
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  guint believed_twice = 0;
  for (guint i = 0; i < violations->len; i++)
    {
      const CheckViolation *violation = g_ptr_array_index (violations, i);
      believed_twice +=
          violation->kind == CHECK_TWO_HOLDERS || violation->kind == CHECK_TOO_MANY_PERMITS
          || violation->kind == CHECK_CONFIDENT_LOSER || violation->kind == CHECK_LATE_LOSS;
    }
  figures_add (figures, "double_holders", believed_twice);
  return checker_print (violations);
}

guint
chaos_judge (GArray *events, const ChaosCase *of)
{
  View view = { .of = of,
                .faults = of->faults,
                .figures = of->figures,
                .events = events,
                .asks = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free),
                .grants = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free),
                .owners = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL),
                .taken = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL),
                .stalls = g_array_new (FALSE, FALSE, sizeof (Stall)) };
  view_all (&view);
  judge_losses (&view);
  const guint violations = view.violations + judge_history (events, of->figures);
  figures_add (of->figures, "acquisitions", view.acquisitions);
  figures_add (of->figures, "violations", violations);
  g_array_unref (view.stalls);
  g_hash_table_unref (view.asks);
  g_hash_table_unref (view.grants);
  g_hash_table_unref (view.owners);
  g_hash_table_unref (view.taken);
  return violations;
}
