/* One sweep over the events in order of time. A "claim" may block others (from the call on), a
 * "hold" is believed by its holder (from the return on). */
#include "checker.h"

#define MS G_GINT64_CONSTANT (1000000)

typedef struct
{
  guint call;
  guint grant;
  gboolean granted;
  gboolean believed;
  int depth;
  guint lost;     /* 1 + index of its loss, 0 if there was none */
  gint64 over_ns; /* when it can no longer block others, G_MAXINT64 while unknown */
} Claim;

/* Of a kind, lock, token and so on to 1 + the index of an event. */
typedef enum
{
  RELEASES, /* called */
  GRANTED,
  DEAD_SESSIONS,
  DEAD_PROCESSES,
  TOP, /* the grant with the highest token */
  TOP_EXCLUSIVE,
  TOP_WRITE,
  N_TABLES
} Table;

typedef struct
{
  const GArray *events;
  const CheckerRules *rules;
  GPtrArray *claims;   /* all of them, by time of call */
  GPtrArray *live;     /* those that are believed, by time of grant */
  GHashTable *pending; /* actor to Claim */
  GHashTable *tables[N_TABLES];
  GArray *taken; /* guint: indices of RECORD_NODE_TAKEN */
  GPtrArray *violations;
} Check;

static const RecordEvent *
event_at (const Check *check, guint i)
{
  return &g_array_index (check->events, RecordEvent, i);
}

const char *
check_kind_to_string (CheckKind kind)
{
  static const char *const names[CHECK_N_KINDS] = {
    "two holders",        "too many permits", "token not rising", "token given twice",
    "no token",           "re-entry token",   "dead session",     "after death",
    "false busy",         "early timeout",    "late return",      "never returned",
    "release of nothing", "stale write",      "forged token",     "malformed",
    "confident loser",    "late loss"
  };
  return kind < CHECK_N_KINDS ? names[kind] : "?";
}

static char *
describe (const Check *check, guint i)
{
  const RecordEvent *event = event_at (check, i);
  return g_strdup_printf (
      "#%u %.3f ms p%d/t%d lock %u %s (kind %d, result %d, token %" G_GUINT64_FORMAT
      ", permits %d)",
      i, (double) event->time_ns / 1e6, event->process, event->thread, event->lock,
      record_op_to_string (event->op), event->kind, event->result, event->token, event->permits);
}

static void
report (Check *check, CheckKind kind, guint first, guint second)
{
  CheckViolation *violation = g_new0 (CheckViolation, 1);
  g_autofree char *one = describe (check, first);
  g_autofree char *two = describe (check, second);
  violation->kind = kind;
  violation->first = first;
  violation->second = second;
  violation->text = g_strdup_printf ("%s: %s / %s", check_kind_to_string (kind), one, two);
  g_ptr_array_add (check->violations, violation);
}

static void
violation_free (gpointer data)
{
  CheckViolation *violation = data;
  g_free (violation->text);
  g_free (violation);
}

/* Keys are small strings: histories are short and the checker runs after the fact. */
static char *
token_key (const RecordEvent *event)
{
  return g_strdup_printf ("%u/%" G_GUINT64_FORMAT, event->lock, event->token);
}

static char *
number_key (gint64 number)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT, number);
}

/* The index stored under key (which is freed), or -1. */
static int
look_up (const Check *check, Table table, char *key)
{
  int stored = GPOINTER_TO_INT (g_hash_table_lookup (check->tables[table], key));
  g_free (key);
  return stored - 1;
}

static void
store (Check *check, Table table, char *key, guint i)
{
  g_hash_table_replace (check->tables[table], key, GINT_TO_POINTER ((int) i + 1));
}

static gboolean
same_thread (const RecordEvent *a, const RecordEvent *b)
{
  return a->process == b->process && a->thread == b->thread;
}

static gboolean
is_exclusive (const RecordEvent *event)
{
  return event->kind == RECORD_MUTEX || event->kind == RECORD_WRITE;
}

/* Whether these two exclude each other. A thread may read under its own write lock. */
static gboolean
excludes (const RecordEvent *a, const RecordEvent *b)
{
  if (a->lock != b->lock || a->kind == RECORD_SEMAPHORE)
    return FALSE;
  gboolean mixed = a->kind != b->kind;
  return (is_exclusive (a) || is_exclusive (b)) && !(mixed && same_thread (a, b));
}

static Claim *
claim_at (Check *check, guint i)
{
  return g_ptr_array_index (check->claims, i);
}

/* A waiter's node may be replaced, too: then it is found out after the grant. */
static gint64
last_belief_ns (const RecordEvent *taken, const RecordEvent *hold)
{
  return MAX ((gint64) taken->spare, hold->time_ns) + taken->timeout_ms * MS;
}

/* Whether a third party has ended the hold, and its holder may not know it yet. */
static gboolean
is_excused (const Check *check, const RecordEvent *hold, gint64 now_ns)
{
  for (guint t = 0; t < check->taken->len; t++) {
    const RecordEvent *taken = event_at (check, g_array_index (check->taken, guint, t));
    if (record_may_have_ended (taken, hold) && now_ns <= last_belief_ns (taken, hold))
      return TRUE;
  }
  return FALSE;
}

/* The belief ends with event i. */
static void
check_late_loss (Check *check, const Claim *claim, guint i)
{
  const RecordEvent *hold = event_at (check, claim->grant);
  for (guint t = 0; t < check->taken->len; t++) {
    const guint at = g_array_index (check->taken, guint, t);
    const RecordEvent *taken = event_at (check, at);
    if (taken->result == RECORD_OK && taken->lock == hold->lock && taken->token == hold->token
        && event_at (check, i)->time_ns > last_belief_ns (taken, hold))
      report (check, CHECK_LATE_LOSS, at, i);
  }
}

static void
stop_believing (Check *check, Claim *claim, guint i)
{
  if (claim->believed && event_at (check, i)->op != RECORD_PROCESS_DIED)
    check_late_loss (check, claim, i);
  claim->believed = FALSE;
  g_ptr_array_remove (check->live, claim);
}

static void
check_exclusion (Check *check, guint i)
{
  const RecordEvent *grant = event_at (check, i);
  int permits = grant->permits;
  int oldest = -1;
  for (guint c = 0; c < check->live->len; c++) {
    Claim *claim = g_ptr_array_index (check->live, c);
    const RecordEvent *other = event_at (check, claim->grant);
    if (other->lock != grant->lock || is_excused (check, other, grant->time_ns)
        || is_excused (check, grant, grant->time_ns))
      continue;
    if (excludes (other, grant))
      report (check, CHECK_TWO_HOLDERS, claim->grant, i);
    permits += other->kind == RECORD_SEMAPHORE ? other->permits : 0;
    oldest = oldest < 0 ? (int) claim->grant : oldest;
  }
  if (grant->kind == RECORD_SEMAPHORE && permits > grant->limit)
    report (check, CHECK_TOO_MANY_PERMITS, oldest < 0 ? i : (guint) oldest, i);
}

static void
raise_top (Check *check, Table table, guint i)
{
  const RecordEvent *event = event_at (check, i);
  int before = look_up (check, table, number_key (event->lock));
  if (before < 0 || event_at (check, (guint) before)->token < event->token)
    store (check, table, number_key (event->lock), i);
}

static void
check_fencing (Check *check, guint i)
{
  const RecordEvent *grant = event_at (check, i);
  const Table bar = is_exclusive (grant) ? TOP : TOP_EXCLUSIVE;
  int twin = look_up (check, GRANTED, token_key (grant));
  int higher = look_up (check, bar, number_key (grant->lock));
  if (twin >= 0)
    report (check, CHECK_TOKEN_TWICE, (guint) twin, i);
  else if (higher >= 0 && event_at (check, (guint) higher)->token > grant->token
           && !is_excused (check, grant, grant->time_ns))
    report (check, CHECK_TOKEN_NOT_RISING, (guint) higher, i);
  store (check, GRANTED, token_key (grant), i);
  raise_top (check, TOP, i);
  if (is_exclusive (grant))
    raise_top (check, TOP_EXCLUSIVE, i);
}

/* The hold that this thread re-enters, if there is one. Permits do not nest. */
static Claim *
own_hold (Check *check, const RecordEvent *grant)
{
  for (guint c = 0; c < check->live->len && grant->kind != RECORD_SEMAPHORE; c++) {
    Claim *claim = g_ptr_array_index (check->live, c);
    const RecordEvent *held = event_at (check, claim->grant);
    if (same_thread (held, grant) && held->lock == grant->lock && held->kind == grant->kind)
      return claim;
  }
  return NULL;
}

static void
on_grant (Check *check, Claim *claim, guint i)
{
  const RecordEvent *grant = event_at (check, i);
  int ended = look_up (check, DEAD_SESSIONS, number_key (grant->session));
  Claim *own = own_hold (check, grant);
  if (grant->token == 0) {
    report (check, CHECK_NO_TOKEN, claim->call, i);
    return;
  }
  if (ended >= 0 && grant->session != 0)
    report (check, CHECK_DEAD_SESSION, (guint) ended, i);
  if (own != NULL) {
    if (event_at (check, own->grant)->token != grant->token)
      report (check, CHECK_REENTRY_TOKEN, own->grant, i);
    own->depth++;
    claim->over_ns = grant->time_ns;
    return;
  }
  check_exclusion (check, i);
  check_fencing (check, i);
  g_ptr_array_add (check->live, claim);
  claim->granted = TRUE;
  claim->believed = TRUE;
  claim->grant = i;
  claim->depth = 1;
}

static gboolean
stands_in_the_way (const RecordEvent *other, const RecordEvent *call)
{
  return other->lock == call->lock
         && (is_exclusive (other) || is_exclusive (call) || other->kind == RECORD_SEMAPHORE);
}

/* A try may be "busy" only if another claim blocked it between its call and its return. */
static void
check_busy (Check *check, Claim *claim, guint i)
{
  const RecordEvent *call = event_at (check, claim->call);
  int permits = call->permits;
  for (guint c = 0; c < check->claims->len; c++) {
    Claim *other = claim_at (check, c);
    const RecordEvent *others = event_at (check, other->call);
    if (other == claim || other->over_ns < call->time_ns || !stands_in_the_way (others, call))
      continue;
    permits += others->permits;
    if (call->kind != RECORD_SEMAPHORE || permits > call->limit)
      return;
  }
  report (check, CHECK_FALSE_BUSY, claim->call, i);
}

static void
check_time (Check *check, Claim *claim, guint i)
{
  const RecordEvent *call = event_at (check, claim->call);
  const RecordEvent *answer = event_at (check, i);
  gint64 took = answer->time_ns - call->time_ns;
  gint64 limit = call->timeout_ms * MS;
  if (answer->result == RECORD_TIMED_OUT && (call->timeout_ms < 0 || took < limit - MS))
    report (check, CHECK_EARLY_TIMEOUT, claim->call, i);
  /* A try has no timeout of its own: the connection timeout bounds it. */
  if (check->rules->max_overrun_ms > 0 && call->timeout_ms > 0
      && took > limit + check->rules->max_overrun_ms * MS)
    report (check, CHECK_LATE_RETURN, claim->call, i);
}

static void
on_acquire_called (Check *check, guint i)
{
  const RecordEvent *event = event_at (check, i);
  char *key = record_dup_actor (event);
  Claim *before = g_hash_table_lookup (check->pending, key);
  if (before != NULL)
    report (check, CHECK_MALFORMED, before->call, i);
  Claim *claim = g_new0 (Claim, 1);
  claim->call = i;
  claim->over_ns = G_MAXINT64;
  g_ptr_array_add (check->claims, claim);
  g_hash_table_replace (check->pending, key, claim);
}

static void
on_acquire_returned (Check *check, guint i)
{
  const RecordEvent *event = event_at (check, i);
  g_autofree char *key = record_dup_actor (event);
  Claim *claim = g_hash_table_lookup (check->pending, key);
  if (claim == NULL) {
    report (check, CHECK_MALFORMED, i, i);
    return;
  }
  g_hash_table_remove (check->pending, key);
  check_time (check, claim, i);
  if (event->result == RECORD_OK) {
    on_grant (check, claim, i);
    return;
  }
  claim->over_ns = event->time_ns + check->rules->residue_ms * MS;
  if (event->result == RECORD_TIMED_OUT && event_at (check, claim->call)->timeout_ms == 0)
    check_busy (check, claim, i);
}

static Claim *
claim_of (Check *check, const RecordEvent *event)
{
  for (guint c = check->claims->len; c > 0; c--) {
    Claim *claim = claim_at (check, c - 1);
    const RecordEvent *grant = claim->granted ? event_at (check, claim->grant) : NULL;
    if (grant != NULL && record_is_of_hold (event, grant))
      return claim;
  }
  return NULL;
}

static void
on_release_called (Check *check, guint i)
{
  const RecordEvent *event = event_at (check, i);
  Claim *claim = claim_of (check, event);
  store (check, RELEASES, record_dup_actor (event), i);
  if (claim != NULL && claim->depth > 0 && --claim->depth == 0)
    stop_believing (check, claim, i);
}

static void
on_release_returned (Check *check, guint i)
{
  const RecordEvent *event = event_at (check, i);
  int call = look_up (check, RELEASES, record_dup_actor (event));
  Claim *claim = claim_of (check, event);
  g_autofree char *key = record_dup_actor (event);
  g_hash_table_remove (check->tables[RELEASES], key);
  if (call < 0)
    report (check, CHECK_MALFORMED, i, i);
  else if (claim == NULL && event->result != RECORD_FAILED)
    report (check, CHECK_RELEASE_OF_NOTHING, (guint) call, i);
  else if (claim != NULL && claim->depth == 0 && event->result == RECORD_OK)
    claim->over_ns = event->time_ns;
}

static void
on_lost (Check *check, guint i)
{
  Claim *claim = claim_of (check, event_at (check, i));
  if (claim == NULL) {
    report (check, CHECK_FORGED_TOKEN, i, i);
    return;
  }
  claim->lost = claim->lost != 0 ? claim->lost : i + 1;
  stop_believing (check, claim, i);
}

static void
on_sample (Check *check, guint i)
{
  const RecordEvent *event = event_at (check, i);
  const Claim *claim = claim_of (check, event);
  if (claim == NULL)
    report (check, CHECK_FORGED_TOKEN, i, i);
  else if (event->op == RECORD_SAMPLE && event->timeout_ms > 0 && claim->lost != 0)
    report (check, CHECK_CONFIDENT_LOSER, claim->lost - 1, i);
}

static void
on_process_died (Check *check, guint i)
{
  const RecordEvent *event = event_at (check, i);
  store (check, DEAD_PROCESSES, number_key (event->process), i);
  for (guint c = 0; c < check->claims->len; c++) {
    Claim *claim = claim_at (check, c);
    const RecordEvent *call = event_at (check, claim->call);
    if (call->process == event->process) {
      g_autofree char *key = record_dup_actor (call);
      stop_believing (check, claim, i);
      g_hash_table_remove (check->pending, key);
    }
  }
}

static void
on_resource_write (Check *check, guint i)
{
  const RecordEvent *event = event_at (check, i);
  int higher = look_up (check, TOP_WRITE, number_key (event->lock));
  if (event->result != RECORD_OK)
    return;
  if (look_up (check, GRANTED, token_key (event)) < 0)
    report (check, CHECK_FORGED_TOKEN, i, i);
  else if (higher >= 0 && event_at (check, (guint) higher)->token > event->token)
    report (check, CHECK_STALE_WRITE, (guint) higher, i);
  raise_top (check, TOP_WRITE, i);
}

static void
on_session_ended (Check *check, guint i)
{
  store (check, DEAD_SESSIONS, number_key (event_at (check, i)->session), i);
}

static void
on_node_taken (Check *check, guint i)
{
  g_array_append_val (check->taken, i);
}

static void
on_stall (Check *check, guint i)
{
}

static void
on_event (Check *check, guint i)
{
  static void (*const handlers[RECORD_N_OPS]) (Check *, guint) = {
    [RECORD_ACQUIRE_CALLED] = on_acquire_called,
    [RECORD_ACQUIRE_RETURNED] = on_acquire_returned,
    [RECORD_RELEASE_CALLED] = on_release_called,
    [RECORD_RELEASE_RETURNED] = on_release_returned,
    [RECORD_LOST] = on_lost,
    [RECORD_DEADLINE] = on_lost,
    [RECORD_SESSION_ENDED] = on_session_ended,
    [RECORD_PROCESS_DIED] = on_process_died,
    [RECORD_RESOURCE_WRITE] = on_resource_write,
    [RECORD_SUSPECT] = on_sample,
    [RECORD_SAMPLE] = on_sample,
    [RECORD_STALL] = on_stall,
    [RECORD_NODE_TAKEN] = on_node_taken,
  };
  const RecordEvent *event = event_at (check, i);
  int died = look_up (check, DEAD_PROCESSES, number_key (event->process));
  if (died >= 0 && event->op != RECORD_RESOURCE_WRITE)
    report (check, CHECK_AFTER_DEATH, (guint) died, i);
  if (event->op < RECORD_N_OPS)
    handlers[event->op](check, i);
  else
    report (check, CHECK_MALFORMED, i, i);
}

static void
check_liveness (Check *check)
{
  for (guint c = 0; c < check->claims->len; c++) {
    Claim *claim = claim_at (check, c);
    g_autofree char *key = record_dup_actor (event_at (check, claim->call));
    if (g_hash_table_lookup (check->pending, key) == claim)
      report (check, CHECK_NEVER_RETURNED, claim->call, check->events->len - 1);
  }
}

static GHashTable *
new_table (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

GPtrArray *
checker_run (const GArray *events, const CheckerRules *rules)
{
  Check check = { .events = events,
                  .rules = rules,
                  .claims = g_ptr_array_new_with_free_func (g_free),
                  .live = g_ptr_array_new (),
                  .pending = new_table (),
                  .taken = g_array_new (FALSE, FALSE, sizeof (guint)),
                  .violations = g_ptr_array_new_with_free_func (violation_free) };
  for (gsize i = 0; i < N_TABLES; i++)
    check.tables[i] = new_table ();
  for (guint i = 0; i < events->len; i++)
    on_event (&check, i);
  check_liveness (&check);
  for (gsize i = 0; i < N_TABLES; i++)
    g_hash_table_unref (check.tables[i]);
  g_hash_table_unref (check.pending);
  g_array_unref (check.taken);
  g_ptr_array_unref (check.live);
  g_ptr_array_unref (check.claims);
  return check.violations;
}

guint
checker_print (const GPtrArray *violations)
{
  for (guint i = 0; i < violations->len; i++) {
    const CheckViolation *violation = g_ptr_array_index (violations, i);
    g_printerr ("%s\n", violation->text);
  }
  return violations->len;
}
