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
  ChaosScene *scene;
  LockView locks[CHAOS_LOCKS];
  const GArray *events;
  GHashTable *asks;   /* actor to the event of its call */
  GHashTable *grants; /* lock and token to the event */
  GHashTable *taken;  /* lock and token to the event, until the holder knows */
  guint acquisitions;
  guint violations;
} View;

static RecordEvent *
event_at (const View *view, guint i)
{
  return &g_array_index (view->events, RecordEvent, i);
}

/* Since when that process, or CHAOS_MACHINE, had not run. */
static gint64
stalled_since_ns (const RecordEvent *stall)
{
  return stall->time_ns - stall->timeout_ms * (gint64) MS;
}

static gint64
actor_of (const RecordEvent *event)
{
  return ((gint64) event->process << 32) | ((gint64) event->thread << 16)
         | ((gint64) event->lock << 4) | event->kind;
}

static gint64
hold_of (const RecordEvent *event)
{
  return (gint64) (event->token << 6) | event->lock;
}

static void
remember (GHashTable *table, gint64 key, const RecordEvent *event)
{
  g_hash_table_replace (table, g_memdup2 (&key, sizeof key), (gpointer) event);
}

/* NULL: there is none. */
static const RecordEvent *
recall (GHashTable *table, gint64 key)
{
  return g_hash_table_lookup (table, &key);
}

/* A child of fork has its parent's paths and processors. */
static int
home_of (const View *view, int process)
{
  return process < CHAOS_PROCESSES ? process : (int) view->scene->cells->lives_in[process];
}

static int
session_ms (const View *view, int process)
{
  return view->scene->cells->starts[home_of (view, process)].session_ms;
}

/* Whether a fault of one of these kinds (bits) overlaps; process 0: of any process. */
static const ChaosFault *
fault_at (const View *view, guint kinds, int process, gint64 from_ns, gint64 to_ns)
{
  for (guint i = 0; i < view->scene->faults->len; i++) {
    const ChaosFault *fault = &g_array_index (view->scene->faults, ChaosFault, i);
    if ((kinds & (1U << fault->kind)) != 0
        && (process == 0 || fault->process == home_of (view, process)) && fault->from_ns <= to_ns
        && fault->to_ns >= from_ns)
      return fault;
  }
  return NULL;
}

static void
on_call (View *view, const RecordEvent *event)
{
  remember (view->asks, actor_of (event), event);
}

/* --- third parties ---------------------------------------------------------------------------- */

static gboolean
is_disturbed (const View *view, int process, gint64 from_ns, gint64 to_ns)
{
  const guint others = (1U << CHAOS_AT_SERVERS) | (1U << CHAOS_ACL);
  for (guint i = 0; i < view->events->len; i++) {
    const RecordEvent *stall = event_at (view, i);
    if (stall->op == RECORD_STALL
        && (stall->process == home_of (view, process) || stall->process == CHAOS_MACHINE)
        && stalled_since_ns (stall) <= to_ns && stall->time_ns >= from_ns)
      return TRUE;
  }
  return fault_at (view, others, 0, from_ns, to_ns) != NULL
         || fault_at (view, ~0U, process, from_ns, to_ns) != NULL;
}

/* A heartbeat, and what a busy machine needs; if anything else is wrong, what a hold can last. */
static void
judge_taken (View *view, RecordEvent *taken)
{
  const RecordEvent *grant = recall (view->grants, hold_of (taken));
  const int process = grant != NULL ? grant->process : CHAOS_MACHINE;
  const gint64 longest_ms = process != CHAOS_MACHINE && !view->scene->unequal
                                ? session_ms (view, process)
                                : CHAOS_LONGEST_SESSION_MS;
  const gint64 beat_ms = longest_ms / 6 + BUSY_MS;
  const gint64 to_ns = (gint64) taken->spare + beat_ms * (gint64) MS;
  const gboolean disturbed =
      process == CHAOS_MACHINE || is_disturbed (view, process, taken->time_ns - SETTLING_NS, to_ns);
  taken->timeout_ms = disturbed ? longest_ms : beat_ms;
}

/* The belief has ended. TRUE if a third party had deleted the node; measures for how long the
 * holder believed then, if nothing else was wrong. */
static gboolean
measure_taken (View *view, const RecordEvent *event)
{
  const gint64 hold = hold_of (event);
  const RecordEvent *taken = recall (view->taken, hold);
  if (taken != NULL && taken->timeout_ms < MIN (session_ms (view, event->process), 3000))
    figures_add (view->scene->figures, "taken_belief_ms",
                 MAX ((double) (event->time_ns - (gint64) taken->spare) / MS, 0));
  g_hash_table_remove (view->taken, &hold);
  return taken != NULL;
}

static void
on_taken (View *view, const RecordEvent *event)
{
  const LockView *lock = &view->locks[event->lock];
  if (event->result == RECORD_OK && lock->token == event->token
      && lock->lost_token != event->token) {
    remember (view->taken, hold_of (event), event);
    view->scene->kinds
        .took_effect[event->limit != 0 ? CHAOS_KIND_RECREATION : CHAOS_KIND_DELETION]++;
  }
}

/* A write that the resource has refused to a believing holder: only if a third party has let
 * another holder in. */
static void
on_write (View *view, const RecordEvent *event)
{
  if (event->result == RECORD_OK)
    return;
  for (guint i = 0; i < view->events->len; i++) {
    const RecordEvent *taken = event_at (view, i);
    if (taken->op == RECORD_NODE_TAKEN && hold_of (taken) == hold_of (event)
        && taken->time_ns <= event->time_ns)
      return;
  }
  g_printerr ("lock %u refuses token %" G_GUINT64_FORMAT " of its holder\n", event->lock,
              event->token);
  view->violations++;
}

/* Errors that need a cause. */
static void
on_error (View *view, const RecordEvent *event)
{
  const int code = (int) (gint64) event->spare;
  const ChaosFaultKind kind = code == ZNOAUTH ? CHAOS_ACL : CHAOS_QUOTA;
  if (code == 0)
    return;
  view->scene->kinds.took_effect[code == ZNOAUTH ? CHAOS_KIND_ACL : CHAOS_KIND_QUOTA]++;
  /* A call may get an error for whatever happened while it lasted. */
  const RecordEvent *ask = recall (view->asks, actor_of (event));
  const gint64 from_ns =
      MIN (ask != NULL ? ask->time_ns : event->time_ns, event->time_ns - EXPLAINED_NS);
  if (fault_at (view, 1U << kind, 0, from_ns, event->time_ns) == NULL) {
    g_printerr ("lock %u, process %d: error %d without a cause\n", event->lock, event->process,
                code);
    view->violations++;
  }
}

/* Another process has trouble at the same time. */
static gboolean
is_shared (const View *view, const ChaosLoss *loss)
{
  for (guint i = 0; i < view->events->len; i++) {
    const RecordEvent *event = event_at (view, i);
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
  const ChaosCells *cells = view->scene->cells;
  const guint n = MIN (cells->n_losses, CHAOS_LOSSES);
  guint unexplained = 0;
  for (guint i = 0; i < n; i++) {
    const ChaosLoss *loss = &cells->losses[i];
    const gint64 from_ns = loss->held_ns - CHAOS_LONGEST_SESSION_MS * (gint64) MS - SETTLING_NS;
    if (!is_disturbed (view, loss->process, from_ns, loss->lost_ns) && !is_shared (view, loss)) {
      g_printerr ("process %d loses a hold while user code blocks, and nothing else is wrong\n",
                  loss->process);
      unexplained++;
    }
  }
  figures_add (view->scene->figures, "blocked_losses", cells->n_losses);
  figures_add (view->scene->figures, "unexplained_losses", unexplained);
  view->violations += unexplained;
}

/* --- figures ---------------------------------------------------------------------------------- */

/* A stop by a fault looks like a stall, too, but was not caused by the machine. */
static void
on_stall (View *view, const RecordEvent *event)
{
  if (fault_at (view, STOPS, event->process, stalled_since_ns (event), event->time_ns) == NULL)
    figures_add (view->scene->figures, "stall_ms", (double) event->timeout_ms);
}

static gint64
stalled_ns (const View *view, int process, gint64 from_ns, gint64 to_ns)
{
  gint64 sum = 0;
  for (guint i = 0; i < view->events->len; i++) {
    const RecordEvent *stall = event_at (view, i);
    if (stall->op == RECORD_STALL && stall->process == home_of (view, process))
      sum += MAX (MIN (stall->time_ns, to_ns) - MAX (stalled_since_ns (stall), from_ns), 0);
  }
  return sum;
}

/* The lateness without the time in which the process did not run. */
static void
on_time_out (View *view, const RecordEvent *event, const RecordEvent *ask)
{
  const gint64 due_ns = ask->time_ns + ask->timeout_ms * (gint64) MS;
  if (ask->timeout_ms > 0
      && fault_at (view, STOPS, event->process, ask->time_ns, event->time_ns) == NULL) {
    const gint64 stalled = stalled_ns (view, event->process, due_ns, event->time_ns);
    figures_add (view->scene->figures, "overrun_ms",
                 (double) (event->time_ns - due_ns - stalled) / MS);
  }
}

static gboolean
is_exclusive (const RecordEvent *event)
{
  return event->kind == RECORD_MUTEX || event->kind == RECORD_WRITE;
}

/* Figures of the times from the last loss, release and death to this grant. */
static void
measure_grant (View *view, const RecordEvent *event, const RecordEvent *ask, LockView *lock)
{
  const gint64 now = event->time_ns;
  if (lock->lost_ns != 0 && (is_exclusive (event) || !lock->lost_reader)) {
    figures_add (view->scene->figures, "margin_ms", (double) (now - lock->lost_ns) / MS);
    lock->lost_ns = 0;
  }
  if (lock->released_ns > ask->time_ns && is_exclusive (event)
      && fault_at (view, ~0U, 0, lock->released_ns - SETTLING_NS, now) == NULL)
    figures_add (view->scene->figures, "handover_ms", (double) (now - lock->released_ns) / MS);
  if (lock->died_ns > ask->time_ns
      && fault_at (view, ~(1U << CHAOS_KILLED), 0, lock->died_ns - SETTLING_NS, now) == NULL)
    figures_add (view->scene->figures, "after_kill_ms", (double) (now - lock->died_ns) / MS);
  lock->released_ns = 0;
  lock->died_ns = 0;
}

static void
on_grant (View *view, const RecordEvent *event, const RecordEvent *ask)
{
  LockView *lock = &view->locks[event->lock];
  if (recall (view->grants, hold_of (event)) != event)
    return; /* re-entry */
  view->acquisitions++;
  if (event->kind != RECORD_SEMAPHORE)
    measure_grant (view, event, ask, lock);
  if (is_exclusive (event)) {
    lock->token = event->token;
    lock->process = event->process;
  }
}

static void
on_return (View *view, const RecordEvent *event)
{
  const RecordEvent *ask = recall (view->asks, actor_of (event));
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
  if (event->kind != RECORD_SEMAPHORE && lock->lost_token != event->token) {
    lock->lost_token = event->token;
    lock->lost_ns = taken ? 0 : event->time_ns; /* the deletion made room for the next grant */
    lock->lost_reader = event->kind == RECORD_READ;
  }
  if (fault_at (view, 1U << CHAOS_ASLEEP, event->process, event->time_ns - SETTLING_NS,
                event->time_ns)
      != NULL)
    view->scene->kinds.took_effect[CHAOS_KIND_SLEEP]++;
}

/* The time from a silent path to the holder's warning, as a share of its session timeout. */
static void
on_suspect (View *view, const RecordEvent *event)
{
  const RecordEvent *grant = recall (view->grants, hold_of (event));
  const ChaosFault *fault =
      fault_at (view, 1U << CHAOS_PATH_SILENT, event->process, event->time_ns, event->time_ns);
  if (fault != NULL && grant != NULL && grant->time_ns < fault->from_ns && !view->scene->unequal) {
    figures_add (view->scene->figures, "suspect_share",
                 (double) (event->time_ns - fault->from_ns) / MS
                     / session_ms (view, event->process));
  }
}

static void
on_release (View *view, const RecordEvent *event)
{
  LockView *lock = &view->locks[event->lock];
  on_call (view, event);
  measure_taken (view, event);
  if (is_exclusive (event) && lock->token == event->token && lock->lost_token != event->token) {
    lock->released_ns = event->time_ns;
    lock->token = 0;
  }
}

static void
on_death (View *view, const RecordEvent *event)
{
  for (guint i = 0; i < CHAOS_LOCKS; i++) {
    LockView *lock = &view->locks[i];
    if (lock->token != 0 && lock->process == event->process && lock->lost_token != lock->token) {
      lock->died_ns = event->time_ns;
      lock->token = 0;
    }
  }
}

static void (*const handlers[RECORD_N_OPS]) (View *view, const RecordEvent *event) = {
  [RECORD_ACQUIRE_CALLED] = on_call,
  [RECORD_ACQUIRE_RETURNED] = on_return,
  [RECORD_RELEASE_CALLED] = on_release,
  [RECORD_RELEASE_RETURNED] = on_error,
  [RECORD_LOST] = on_loss,
  [RECORD_DEADLINE] = on_loss,
  [RECORD_SUSPECT] = on_suspect,
  [RECORD_PROCESS_DIED] = on_death,
  [RECORD_NODE_TAKEN] = on_taken,
  [RECORD_RESOURCE_WRITE] = on_write,
  [RECORD_STALL] = on_stall,
};

static void
view_all (View *view)
{
  for (guint i = 0; i < view->events->len; i++) {
    const RecordEvent *event = event_at (view, i);
    if (event->op == RECORD_ACQUIRE_RETURNED && event->result == RECORD_OK
        && recall (view->grants, hold_of (event)) == NULL)
      remember (view->grants, hold_of (event), event);
  }
  for (guint i = 0; i < view->events->len; i++)
    if (event_at (view, i)->op == RECORD_NODE_TAKEN)
      judge_taken (view, event_at (view, i));
  for (guint i = 0; i < view->events->len; i++)
    if (handlers[event_at (view, i)->op] != NULL)
      handlers[event_at (view, i)->op](view, event_at (view, i));
}

static guint
judge_history (const GArray *events, FILE *figures)
{
  static const CheckerRules rules = { .residue_ms = 60000 };
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  guint believed_twice = 0;
  for (guint i = 0; i < violations->len; i++) {
    const CheckViolation *violation = g_ptr_array_index (violations, i);
    believed_twice +=
        violation->kind == CHECK_TWO_HOLDERS || violation->kind == CHECK_TOO_MANY_PERMITS
        || violation->kind == CHECK_CONFIDENT_LOSER || violation->kind == CHECK_LATE_LOSS;
  }
  figures_add (figures, "double_holders", believed_twice);
  return checker_print (violations);
}

guint
chaos_judge (GArray *events, ChaosScene *scene)
{
  View view = { .scene = scene,
                .events = events,
                .asks = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL),
                .grants = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL),
                .taken = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL) };
  view_all (&view);
  judge_losses (&view);
  const guint violations = view.violations + judge_history (events, scene->figures);
  figures_add (scene->figures, "acquisitions", view.acquisitions);
  figures_add (scene->figures, "violations", violations);
  g_hash_table_unref (view.asks);
  g_hash_table_unref (view.grants);
  g_hash_table_unref (view.taken);
  return violations;
}
