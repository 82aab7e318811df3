/* Every number of the API at the ends of its type and around the documented limits, everything else
 * valid: an error, or what the documentation says. extreme_headers writes the calls;
 * UndefinedBehaviorSanitizer sees what overflows. */
#include "extremes.h"
#include "integration/crashes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CALL_SECONDS 60
/* After that a call that waits without a limit is cancelled. */
#define PATIENCE_MS 10
#define HASTY_MS    200
/* A timeout that has certainly not passed yet. */
#define FAR_MS 1000000

/* --- values ----------------------------------------------------------------------------------- */

static void
add (GArray *values, gint64 first, gint64 last, gint64 value)
{
  gboolean is_known = value < first || value > last;
  for (guint i = 0; i < values->len && !is_known; i++)
    is_known = g_array_index (values, gint64, i) == value;
  if (!is_known)
    g_array_append_val (values, value);
}

/* Both neighbours, too. */
static void
add_around (GArray *values, gint64 first, gint64 last, gint64 value)
{
  if (value > G_MININT64)
    add (values, first, last, value - 1);
  add (values, first, last, value);
  if (value < G_MAXINT64)
    add (values, first, last, value + 1);
}

/* What overflows on the way to an int, when it is doubled, or in microseconds, is among them. */
static GArray *
values_of (const Extreme *extreme)
{
  static const gint64 ends[][2] = { [VALUES_LONG] = { G_MININT64, G_MAXINT64 },
                                    [VALUES_INT] = { G_MININT32, G_MAXINT32 },
                                    [VALUES_UNSIGNED] = { 0, G_MAXUINT32 },
                                    [VALUES_SIZE] = { G_MININT64, G_MAXINT64 } };
  const gint64 first = ends[extreme->values][0];
  const gint64 last = ends[extreme->values][1];
  const gint64 turns[] = { 0,
                           first,
                           last,
                           1,
                           -1,
                           -20,
                           G_MAXINT32,
                           G_MININT32,
                           G_MAXUINT32,
                           G_MAXINT64 / 1000,
                           extreme->first,
                           extreme->last };
  GArray *values = g_array_new (FALSE, FALSE, sizeof (gint64));

  add (values, first, last, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (turns); i++)
    add_around (values, first, last, turns[i]);
  return values;
}

/* --- judging ---------------------------------------------------------------------------------- */

static GLogWriterOutput
count_criticals (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  if ((level & G_LOG_LEVEL_CRITICAL) != 0) {
    g_atomic_int_inc (&extreme_n_criticals);
    return G_LOG_WRITER_HANDLED;
  }
  return (level & G_LOG_LEVEL_ERROR) != 0
             ? g_log_writer_standard_streams (level, fields, n_fields, data)
             : G_LOG_WRITER_HANDLED;
}

/* The call that is made. */
static struct
{
  const Extreme *extreme;
  char text[160];
  guint n_calls;
  guint n_failures;
  int code_of_none; /* what the call failed with without any time, or -1 */
} now;

static gboolean
is_allowed (const Extreme *extreme, gint64 value)
{
  return value >= extreme->first && value <= extreme->last;
}

static void
expect (gboolean condition, const char *what, const Outcome *outcome)
{
  if (!condition) {
    now.n_failures++;
    print_error ("%s: %s; it %s, %d criticals, error: %s\n", now.text, what,
                 outcome->succeeded ? "succeeded" : "failed", extreme_n_criticals,
                 outcome->error != NULL ? outcome->error->message : "none");
  }
}

static gboolean
is_silent (void)
{
  return g_atomic_int_get (&extreme_n_criticals) == 0;
}

static gboolean
has_code (const Outcome *outcome, CuratorError code)
{
  return g_error_matches (outcome->error, CURATOR_ERROR, (int) code);
}

static gboolean
was_cancelled (const Outcome *outcome)
{
  return g_error_matches (outcome->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static gboolean
is_refused (const Outcome *outcome)
{
  return extreme_n_criticals == 1 ? outcome->error == NULL && outcome->result == NULL
                                  : is_silent () && !outcome->succeeded
                                        && (has_code (outcome, CURATOR_ERROR_INVALID_ARGUMENT)
                                            || has_code (outcome, CURATOR_ERROR_LIMIT_EXCEEDED));
}

static gboolean
is_clean_success (const Outcome *outcome)
{
  return is_silent () && outcome->succeeded && outcome->error == NULL;
}

/* --- using what was made ---------------------------------------------------------------------- */

/* lease: what the use gave, transfer full. */
static void
end_use (CuratorLease *lease, const char *what, Outcome *outcome)
{
  expect (lease != NULL, what, outcome);
  if (lease != NULL) {
    curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
    curator_lease_unref (lease);
  }
}

/* Ends what a call holds, so that the next one meets nothing. */
static void
give_back (const Stage *stage, Outcome *outcome)
{
  if (strcmp (now.extreme->function, "curator_lock_acquire") == 0 && outcome->succeeded)
    curator_lock_release (stage->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  if (outcome->drop == (GDestroyNotify) curator_lease_unref && outcome->result != NULL)
    curator_lease_release (outcome->result, CURATOR_WAIT_DEFAULT, NULL, NULL);
  if (outcome->drop == (GDestroyNotify) g_ptr_array_unref
      && g_str_has_prefix (now.extreme->function, "curator_semaphore_acquire_")
      && outcome->result != NULL) {
    curator_semaphore_return_all (stage->semaphore, outcome->result, CURATOR_WAIT_DEFAULT, NULL,
                                  NULL);
  }
}

/* --- rules ------------------------------------------------------------------------------------ */

static void
judge_limited (const Stage *stage, Outcome *outcome)
{
  const char *function = now.extreme->function;

  if (!is_allowed (now.extreme, stage->value)) {
    expect (is_refused (outcome), "not refused", outcome);
    return;
  }
  expect (is_clean_success (outcome), "a value that is allowed", outcome);
  if (outcome->drop == (GDestroyNotify) curator_lock_unref) {
    end_use (curator_lock_acquire_lease (outcome->result, LONG_MS, NULL, &outcome->error),
             "the lock cannot be used", outcome);
  } else if (outcome->drop == (GDestroyNotify) curator_semaphore_unref) {
    end_use (curator_semaphore_acquire (outcome->result, LONG_MS, NULL, &outcome->error),
             "the semaphore cannot be used", outcome);
  } else if (strcmp (function, "curator_shared_count_new") == 0) {
    expect (curator_shared_count_get (outcome->result) == stage->value, "another seed", outcome);
  } else if (strcmp (function, "curator_lease_extend") == 0) {
    expect (curator_lease_get_state (stage->lease) == CURATOR_LEASE_STATE_HELD, "shortened",
            outcome);
  }
}

static gboolean
is_long (gint64 timeout_ms)
{
  return timeout_ms > FAR_MS;
}

static gboolean
does_not_wait (gint64 timeout_ms)
{
  return timeout_ms <= 0 && timeout_ms != CURATOR_WAIT_DEFAULT;
}

/* A negative timeout does what 0, which comes first, has done. */
static void
judge_negative (const Stage *stage, Outcome *outcome)
{
  const int code = outcome->error != NULL ? outcome->error->code : -1;

  if (stage->value == 0)
    now.code_of_none = code;
  else if (does_not_wait (stage->value))
    expect (code == now.code_of_none, "not as without any time", outcome);
}

static void
judge_release (const Stage *stage, Outcome *outcome)
{
  const char *function = now.extreme->function;
  const gboolean is_held =
      g_str_has_prefix (function, "curator_lock_release")
          ? curator_lock_is_owned_by_current_thread (stage->lock)
      : g_str_has_prefix (function, "curator_lease_release")
          ? curator_lease_get_state (stage->held_lease) == CURATOR_LEASE_STATE_HELD
          : curator_lease_get_state (g_ptr_array_index (stage->held_leases, 0))
                == CURATOR_LEASE_STATE_HELD;

  expect (!is_held && is_silent ()
              && ((outcome->succeeded && !does_not_wait (stage->value))
                  || has_code (outcome, CURATOR_ERROR_RELEASE_PENDING) || was_cancelled (outcome)),
          "a timeout", outcome);
  judge_negative (stage, outcome);
}

static void
judge_setting (const Stage *stage, Outcome *outcome)
{
  const gboolean is_started = curator_client_start (stage->client, &outcome->error);

  outcome->succeeded = is_started;
  if (!is_allowed (now.extreme, stage->value)) {
    expect (is_refused (outcome), "not refused", outcome);
    return;
  }
  expect (is_started, "refused by start", outcome);
  expect (curator_client_block_until_connected (stage->client, LONG_MS, NULL, &outcome->error),
          "does not connect", outcome);
  g_autoptr (CuratorLock) lock = mutex_new (stage->client, "/extremes/setting");
  if (strcmp (now.extreme->parameter, "tick_ms") == 0 && stage->value > SESSION_MS) {
    /* Holds of such a client end when they begin. */
    CuratorLease *lease = curator_lock_acquire_lease (lock, 100, NULL, NULL);
    g_clear_pointer (&lease, curator_lease_unref);
    return;
  }
  end_use (curator_lock_acquire_lease (lock, LONG_MS, NULL, &outcome->error),
           "the lock cannot be used", outcome);
}

static void
judge_node_data (const Stage *stage, Outcome *outcome)
{
  if (is_allowed (now.extreme, stage->value)) {
    end_use (curator_semaphore_acquire (stage->semaphore, LONG_MS, NULL, &outcome->error),
             "the semaphore cannot be used", outcome);
    return;
  }
  g_autoptr (CuratorLease) lease =
      curator_semaphore_acquire (stage->semaphore, LONG_MS, NULL, &outcome->error);
  expect (lease == NULL && has_code (outcome, CURATOR_ERROR_LIMIT_EXCEEDED), "not refused",
          outcome);
}

static void
judge_max_hold (const Stage *stage, Outcome *outcome)
{
  if (!is_allowed (now.extreme, stage->value)) {
    expect (extreme_n_criticals == 1, "not refused", outcome);
    return;
  }
  expect (is_silent (), "refused", outcome);
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (stage->lock, LONG_MS, NULL, &outcome->error);
  if (is_long (stage->value)) {
    expect (lease != NULL && curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD,
            "not held", outcome);
  } else {
    expect (lease != NULL ? holds_within (
                curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST, LONG_MS)
                          : has_code (outcome, CURATOR_ERROR_LOCK_LOST),
            "held for ever", outcome);
  }
}

/* The node has it, too. */
static void
judge_count (const Stage *stage, Outcome *outcome)
{
  g_autoptr (GError) error = NULL;

  expect (is_clean_success (outcome), "a value", outcome);
  assert_ok (curator_shared_count_start (stage->count, LONG_MS, NULL, &error), &error);
  expect (curator_shared_count_get (stage->count) == stage->value, "another value", outcome);
}

static void
judge_version (const Stage *stage, Outcome *outcome)
{
  if (stage->value == -1) {
    expect (is_refused (outcome), "not refused", outcome);
    return;
  }
  expect (is_clean_success (outcome) && outcome->flag == (stage->value == stage->version),
          "set by a version", outcome);
}

static gint64
number_of (const Stage *stage, const char *parameter, gint64 otherwise)
{
  return strcmp (now.extreme->parameter, parameter) == 0 ? stage->value : otherwise;
}

/* As retry.h says of each policy; the numbers that are not at an end are those of
 * extreme_headers. */
static gboolean
must_allow (const Stage *stage, gint64 count, gint64 elapsed_ms)
{
  const char *kind = now.extreme->function + strlen ("curator_retry_policy_new_");

  return g_str_has_suffix (kind, "backoff") ? count < MIN (number_of (stage, "max_retries", 3), 29)
         : strcmp (kind, "n_times") == 0    ? count < number_of (stage, "n", 1)
         : strcmp (kind, "one_time") == 0   ? count < 1
         : strcmp (kind, "until_elapsed") == 0
             ? count < G_MAXINT && elapsed_ms < number_of (stage, "max_elapsed_ms", 1000)
             : TRUE;
}

static gint64
longest_sleep (const Stage *stage)
{
  const char *kind = now.extreme->function + strlen ("curator_retry_policy_new_");

  return strcmp (kind, "exponential_backoff") == 0 ? G_MAXINT32
         : strcmp (kind, "bounded_exponential_backoff") == 0
             ? CLAMP (number_of (stage, "max_sleep_ms", 1000), 0, G_MAXINT32)
             : MAX (number_of (stage, "sleep_ms", 1), strcmp (kind, "forever") == 0 ? 1 : 0);
}

static void
judge_policy (const Stage *stage, Outcome *outcome)
{
  static const gint64 numbers[] = { G_MININT64, -1,          0,         1,   2,    3,
                                    28,         29,          30,        999, 1000, G_MAXINT32 - 1,
                                    G_MAXINT32, G_MAXUINT32, G_MAXINT64 };

  expect (is_clean_success (outcome), "no policy", outcome);
  for (gsize i = 0; i < G_N_ELEMENTS (numbers); i++) {
    for (gsize k = 0; k < G_N_ELEMENTS (numbers); k++) {
      const guint count = (guint) CLAMP (numbers[i], 0, G_MAXUINT32);
      gint64 sleep_ms = -1;
      const gboolean allowed =
          curator_retry_policy_allow_retry (outcome->result, count, numbers[k], NULL, &sleep_ms);
      expect (!allowed == !must_allow (stage, count, MAX (numbers[k], 0)), "another answer",
              outcome);
      expect (sleep_ms >= 0 && sleep_ms <= longest_sleep (stage), "another sleep", outcome);
    }
  }
}

static void
judge (const Stage *stage, Outcome *outcome)
{
  const gboolean is_in = is_allowed (now.extreme, stage->value);

  switch (now.extreme->rule) {
  case RULE_SETTING:
    judge_setting (stage, outcome);
    break;
  case RULE_RELEASE:
    judge_release (stage, outcome);
    break;
  case RULE_LIMITED:
    judge_limited (stage, outcome);
    break;
  case RULE_NODE_DATA:
    judge_node_data (stage, outcome);
    break;
  case RULE_MAX_HOLD:
    judge_max_hold (stage, outcome);
    break;
  case RULE_COUNT:
    judge_count (stage, outcome);
    break;
  case RULE_VERSION:
    judge_version (stage, outcome);
    break;
  case RULE_INDEX:
    expect (is_silent () && (outcome->result != NULL) == is_in, "another end", outcome);
    break;
  case RULE_MODE:
    expect (extreme_n_criticals == (is_in ? 0 : 1), "a mode", outcome);
    break;
  case RULE_POLICY:
    judge_policy (stage, outcome);
    break;
  case RULE_SLEEP:
    expect (is_silent () && outcome->number >= 0, "a sleep", outcome);
    break;
  case RULE_WAIT:    /* has calls of its own */
  case RULE_REQUEST: /* has, too */
  case RULE_IN_MEMORY:
  case RULE_NAME:
  case RULE_ANY:
  default:
    expect (is_silent () && outcome->error == NULL, "a value that does nothing", outcome);
    break;
  }
}

/* --- calls ------------------------------------------------------------------------------------ */

static void
outcome_clear (Outcome *outcome)
{
  if (outcome->drop != NULL && outcome->result != NULL)
    outcome->drop (outcome->result);
  g_clear_error (&outcome->error);
  *outcome = (Outcome){ 0 };
}

static void
begin (const Extreme *extreme, gint64 value, const char *how)
{
  now.extreme = extreme;
  now.n_calls++;
  g_snprintf (now.text, sizeof now.text, "%s (%s: %" G_GINT64_FORMAT ")%s", extreme->function,
              extreme->parameter, value, how);
  g_atomic_int_set (&extreme_n_criticals, 0);
  alarm (CALL_SECONDS);
}

static void
end (Scene *scene, Stage *stage, const Extreme *extreme, Outcome *outcome)
{
  give_back (stage, outcome);
  outcome_clear (outcome);
  scene_leave (scene, stage, extreme);
  alarm (0);
}

/* One way to make a call, and to judge it. */
typedef struct
{
  const char *name;
  Obstacle obstacle; /* a long wait is cancelled if there is one */
  void (*judge) (const Stage *stage, Outcome *outcome);
} Way;

static gpointer
cancel_soon (gpointer cancellable)
{
  wait_ms (PATIENCE_MS);
  g_cancellable_cancel (cancellable);
  return NULL;
}

static void
call_and_judge (Scene *scene, const Extreme *extreme, gint64 value, const Way *way)
{
  Stage stage = { .value = value };
  Outcome outcome = { 0 };
  GThread *canceller = NULL;

  begin (extreme, value, way->name);
  scene_enter (scene, &stage, extreme, way->obstacle);
  if (way->obstacle != OBSTACLE_NONE && is_long (value))
    canceller = g_thread_new ("canceller", cancel_soon, stage.cancellable);
  extreme->run (&stage, &outcome);
  extreme_await (extreme, &outcome);
  way->judge (&stage, &outcome);
  g_clear_pointer (&canceller, g_thread_join);
  end (scene, &stage, extreme, &outcome);
}

typedef void (*Call) (Scene *scene, const Extreme *extreme, gint64 value, const Way *way);

static void
for_each_value (Scene *scene, const Extreme *extreme, Call call, const Way *way)
{
  g_autoptr (GArray) values = values_of (extreme);

  for (guint i = 0; i < values->len; i++) {
    const gint64 value = g_array_index (values, gint64, i);
    if (extreme->rule != RULE_IN_MEMORY || is_allowed (extreme, value))
      call (scene, extreme, value, way);
  }
}

static gboolean
is_in_driver (const Extreme *extreme)
{
  return g_str_has_prefix (extreme->function, "curator_node_request_");
}

static void
finish (Scene *scene)
{
  scene_free (scene);
  print_message ("%u calls\n", now.n_calls);
  assert_int_equal (now.n_failures, 0);
}

static Scene *
begin_test (Fixture *fixture, int connection_timeout_ms)
{
  crashes_watch (now.text);
  now.n_calls = 0;
  now.n_failures = 0;
  return scene_new (fixture, connection_timeout_ms);
}

TEST (test_numbers)
{
  const Way way = { "", OBSTACLE_NONE, judge };
  Scene *scene = begin_test (fixture, LONG_MS);

  for (guint i = 0; i < n_extremes; i++)
    if (extremes[i].rule != RULE_WAIT && !is_in_driver (&extremes[i]))
      for_each_value (scene, &extremes[i], call_and_judge, &way);
  finish (scene);
}

/* --- timeouts --------------------------------------------------------------------------------- */

static gboolean
is_too_late (const Outcome *outcome)
{
  return is_silent () && !outcome->succeeded
         && (has_code (outcome, CURATOR_ERROR_TIMED_OUT)
             || has_code (outcome, CURATOR_ERROR_NO_ANSWER)
             || has_code (outcome, CURATOR_ERROR_CONNECTION_LOST));
}

static void
judge_in_vain (const Stage *stage, Outcome *outcome)
{
  expect (is_long (stage->value) ? was_cancelled (outcome) : is_too_late (outcome), "a timeout",
          outcome);
  judge_negative (stage, outcome);
}

/* A short one may be too short, and none at all is. */
static void
judge_for_nothing (const Stage *stage, Outcome *outcome)
{
  const gboolean asks_at_once =
      does_not_wait (stage->value) && extreme_asks_only_server (now.extreme->function);

  expect (asks_at_once
              ? is_silent () && has_code (outcome, CURATOR_ERROR_NO_ANSWER)
              : is_clean_success (outcome) || (!is_long (stage->value) && is_too_late (outcome)),
          "a timeout", outcome);
}

TEST (test_timeouts)
{
  const Way ways[] = { { " in vain", OBSTACLE_HOLDER, judge_in_vain },
                       { " for nothing", OBSTACLE_NONE, judge_for_nothing } };
  Scene *scene = begin_test (fixture, HASTY_MS);

  for (guint i = 0; i < n_extremes; i++)
    for (gsize k = 0; extremes[i].rule == RULE_WAIT && k < G_N_ELEMENTS (ways); k++)
      for_each_value (scene, &extremes[i], call_and_judge, &ways[k]);
  finish (scene);
}

/* The next acquire, of which the scene has some, shows that what was released is free. */
TEST (test_timeouts_without_server)
{
  static const gint64 values[] = { 0, G_MININT64 + 1, G_MININT32, -20, -2, -1, 1, G_MAXINT64 - 1 };
  static const Way ways[] = { { " of a silent server", OBSTACLE_SILENT_SERVER, judge_in_vain },
                              { " without a server", OBSTACLE_NO_SERVER, judge_in_vain },
                              { " of a silent server", OBSTACLE_SILENT_SERVER, judge_release },
                              { " without a server", OBSTACLE_NO_SERVER, judge_release } };
  Scene *scene = begin_test (fixture, HASTY_MS);

  for (guint i = 0; i < n_extremes; i++)
    for (gsize k = 0; k < G_N_ELEMENTS (ways); k++)
      for (gsize v = 0; v < G_N_ELEMENTS (values); v++)
        if (extremes[i].rule == (ways[k].judge == judge_release ? RULE_RELEASE : RULE_WAIT))
          call_and_judge (scene, &extremes[i], values[v], &ways[k]);
  finish (scene);
}

/* --- numbers of a node request, which exists only while a driver runs ------------------------- */

typedef struct
{
  Stage stage;
  Outcome outcome;
} InDriver;

static void
run_in_driver (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data)
{
  InDriver *in_driver = data;
  in_driver->stage.request = request;
  now.extreme->run (&in_driver->stage, &in_driver->outcome);
}

static void
call_in_driver (Scene *scene, const Extreme *extreme, gint64 value, const Way *way)
{
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = run_in_driver };
  const gboolean is_mode = strcmp (extreme->parameter, "mode") == 0;
  InDriver in_driver = { .stage.value = value };
  Outcome *outcome = &in_driver.outcome;

  begin (extreme, value, "");
  scene_enter (scene, &in_driver.stage, extreme, OBSTACLE_NONE);
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (&funcs, &in_driver, NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new_with_driver (
      in_driver.stage.client, extreme_path (&in_driver.stage), "lock-", 1, driver, &outcome->error);
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (lock, LONG_MS, NULL, &outcome->error);
  expect (is_allowed (extreme, value) ? lease != NULL
                                      : has_code (outcome, CURATOR_ERROR_LIMIT_EXCEEDED),
          "a node request", outcome);
  expect (is_silent ()
              == (!is_mode || (value >= 0 && value <= CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL)),
          "a kind of node", outcome);
  end (scene, &in_driver.stage, extreme, outcome);
}

TEST (test_node_requests)
{
  Scene *scene = begin_test (fixture, LONG_MS);

  for (guint i = 0; i < n_extremes; i++)
    if (is_in_driver (&extremes[i]))
      for_each_value (scene, &extremes[i], call_in_driver, NULL);
  finish (scene);
}

/* --- answers of a function of the program --------------------------------------------------- */

typedef struct
{
  gint64 sleep_ms;
  gint n_asked; /* atomic */
} Sleeper;

/* Gives up after a few. */
static gboolean
sleep_so_long (guint retry_count, gint64 elapsed_ms, const GError *error, gint64 *sleep_ms,
               gpointer data)
{
  Sleeper *sleeper = data;
  g_atomic_int_inc (&sleeper->n_asked);
  *sleep_ms = sleeper->sleep_ms;
  return retry_count < 3;
}

static gpointer
cancel_when_asked (gpointer data)
{
  gpointer *both = data;
  (void) holds_within (g_atomic_int_get (&((Sleeper *) both[0])->n_asked) > 0, LONG_MS);
  wait_ms (PATIENCE_MS);
  g_cancellable_cancel (both[1]);
  return NULL;
}

/* A negative sleep is none, a long one lasts until the call ends. */
TEST (test_answers_of_a_policy)
{
  static const gint64 sleeps[] = {
    G_MININT64, -1, 0, 1, G_MAXINT32, G_MAXINT64 / 1000, G_MAXINT64
  };

  for (gsize i = 0; i < G_N_ELEMENTS (sleeps); i++) {
    Sleeper sleeper = { .sleep_ms = sleeps[i] };
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorRetryPolicy) policy =
        curator_retry_policy_new_custom (sleep_so_long, &sleeper, NULL);
    g_autoptr (CuratorClient) client = curator_client_new ("127.0.0.1:1", policy);
    curator_client_set_connection_timeout (client, 1);
    assert_ok (curator_client_start (client, &error), &error);
    g_autoptr (CuratorLock) lock = mutex_new (client, "/extremes/policy");
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    gpointer both[] = { &sleeper, cancellable };
    GThread *canceller = sleeps[i] > 1 ? g_thread_new ("canceller", cancel_when_asked, both) : NULL;
    assert_false (curator_lock_acquire (lock, LONG_MS, cancellable, &error));
    g_clear_pointer (&canceller, g_thread_join);
    if (sleeps[i] > 1) {
      assert_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      assert_int_equal (sleeper.n_asked, 1);
    } else {
      assert_curator_error (&error, CURATOR_ERROR_CONNECTION_LOST);
      assert_int_equal (sleeper.n_asked, 4);
    }
    curator_client_close (client);
  }
}

int
main (void)
{
  /* Elsewhere a critical message ends the test. */
  g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_writer_func (count_criticals, NULL, NULL);
  return suite_run ("extremes", fixture_start_calm, fixture_stop);
}
