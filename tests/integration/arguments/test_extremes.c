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
  const gint64 turns[] = {
    first,          last,         0, 1, -1, G_MAXINT32, G_MININT32, G_MAXUINT32, G_MAXINT64 / 1000,
    extreme->first, extreme->last
  };
  GArray *values = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (gsize i = 0; i < G_N_ELEMENTS (turns); i++)
    add_around (values, first, last, turns[i]);
  return values;
}

/* --- judging ---------------------------------------------------------------------------------- */

static GLogWriterOutput
count_criticals (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  if ((level & G_LOG_LEVEL_CRITICAL) != 0)
    {
      g_atomic_int_inc (&extreme_n_criticals);
      return G_LOG_WRITER_HANDLED;
    }
  return (level & G_LOG_LEVEL_ERROR) != 0
             ? g_log_writer_standard_streams (level, fields, n_fields, data)
             : G_LOG_WRITER_HANDLED;
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
  extreme_now.extreme = extreme;
  extreme_now.n_calls++;
  g_snprintf (extreme_now.text, sizeof extreme_now.text, "%s (%s: %" G_GINT64_FORMAT ")%s",
              extreme->function, extreme->parameter, value, how);
  g_atomic_int_set (&extreme_n_criticals, 0);
  alarm (CALL_SECONDS);
}

static void
end (Scene *scene, Stage *stage, const Extreme *extreme, Outcome *outcome)
{
  extreme_give_back (stage, outcome);
  outcome_clear (outcome);
  scene_leave (scene, stage, extreme);
  alarm (0);
}

static void
call_and_judge (Scene *scene, const Extreme *extreme, gint64 value)
{
  Stage stage = { .value = value };
  Outcome outcome = { 0 };

  begin (extreme, value, "");
  scene_enter (scene, &stage, extreme, FALSE);
  extreme->run (&stage, &outcome);
  extreme_judge (&stage, &outcome);
  end (scene, &stage, extreme, &outcome);
}

static void
for_each_value (Scene *scene, const Extreme *extreme,
                void (*call) (Scene *scene, const Extreme *extreme, gint64 value))
{
  g_autoptr (GArray) values = values_of (extreme);

  for (guint i = 0; i < values->len; i++)
    {
      const gint64 value = g_array_index (values, gint64, i);
      if (extreme->rule != RULE_IN_MEMORY || extreme_is_allowed (extreme, value))
        call (scene, extreme, value);
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
  print_message ("%u calls\n", extreme_now.n_calls);
  assert_int_equal (extreme_now.n_failures, 0);
}

static Scene *
begin_test (Fixture *fixture, int connection_timeout_ms)
{
  crashes_watch (extreme_now.text);
  extreme_now.n_calls = 0;
  extreme_now.n_failures = 0;
  return scene_new (fixture, connection_timeout_ms);
}

TEST (test_numbers)
{
  Scene *scene = begin_test (fixture, LONG_MS);

  for (guint i = 0; i < n_extremes; i++)
    if (extremes[i].rule != RULE_WAIT && !is_in_driver (&extremes[i]))
      for_each_value (scene, &extremes[i], call_and_judge);
  finish (scene);
}

/* --- timeouts --------------------------------------------------------------------------------- */

static gboolean
is_too_late (const Outcome *outcome)
{
  return extreme_is_silent () && !outcome->succeeded
         && (extreme_has_code (outcome, CURATOR_ERROR_TIMED_OUT)
             || extreme_has_code (outcome, CURATOR_ERROR_NO_ANSWER)
             || extreme_has_code (outcome, CURATOR_ERROR_CONNECTION_LOST));
}

static gpointer
cancel_soon (gpointer cancellable)
{
  wait_ms (PATIENCE_MS);
  g_cancellable_cancel (cancellable);
  return NULL;
}

static void
wait_in_vain (Scene *scene, const Extreme *extreme, gint64 value)
{
  const gboolean is_long = value == CURATOR_WAIT_FOREVER || value > EXTREME_FAR_MS;
  Stage stage = { .value = value };
  Outcome outcome = { 0 };
  GThread *canceller = NULL;

  begin (extreme, value, " in vain");
  scene_enter (scene, &stage, extreme, TRUE);
  if (is_long)
    canceller = g_thread_new ("canceller", cancel_soon, stage.cancellable);
  extreme->run (&stage, &outcome);
  extreme_expect (!extreme_is_allowed (extreme, value) ? extreme_is_refused (&outcome)
                  : is_long ? g_error_matches (outcome.error, G_IO_ERROR, G_IO_ERROR_CANCELLED)
                            : is_too_late (&outcome),
                  "a timeout", &outcome);
  g_clear_pointer (&canceller, g_thread_join);
  end (scene, &stage, extreme, &outcome);
}

/* A short one may be too short, and none at all is. */
static gboolean
is_fit (const Extreme *extreme, gint64 value, const Outcome *outcome)
{
  if (!extreme_is_allowed (extreme, value))
    return extreme_is_refused (outcome);
  if (value == 0 && extreme_asks_only_server (extreme->function))
    return extreme_is_silent () && extreme_has_code (outcome, CURATOR_ERROR_NO_ANSWER);
  return extreme_is_clean_success (outcome)
         || (value != CURATOR_WAIT_FOREVER && value < EXTREME_FAR_MS && is_too_late (outcome));
}

static void
wait_for_nothing (Scene *scene, const Extreme *extreme, gint64 value)
{
  Stage stage = { .value = value };
  Outcome outcome = { 0 };

  begin (extreme, value, " for nothing");
  scene_enter (scene, &stage, extreme, FALSE);
  extreme->run (&stage, &outcome);
  extreme_expect (is_fit (extreme, value, &outcome), "a timeout", &outcome);
  end (scene, &stage, extreme, &outcome);
}

TEST (test_timeouts)
{
  Scene *scene = begin_test (fixture, HASTY_MS);

  for (guint i = 0; i < n_extremes; i++)
    {
      if (extremes[i].rule == RULE_WAIT)
        {
          for_each_value (scene, &extremes[i], wait_in_vain);
          for_each_value (scene, &extremes[i], wait_for_nothing);
        }
    }
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
  extreme_now.extreme->run (&in_driver->stage, &in_driver->outcome);
}

static void
call_in_driver (Scene *scene, const Extreme *extreme, gint64 value)
{
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = run_in_driver };
  const gboolean is_mode = strcmp (extreme->parameter, "mode") == 0;
  InDriver in_driver = { .stage.value = value };
  Outcome *outcome = &in_driver.outcome;

  begin (extreme, value, "");
  scene_enter (scene, &in_driver.stage, extreme, FALSE);
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (&funcs, &in_driver, NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new_with_driver (
      in_driver.stage.client, extreme_path (&in_driver.stage), "lock-", 1, driver, &outcome->error);
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (lock, LONG_MS, NULL, &outcome->error);
  extreme_expect (extreme_is_allowed (extreme, value)
                      ? lease != NULL
                      : extreme_has_code (outcome, CURATOR_ERROR_LIMIT_EXCEEDED),
                  "a node request", outcome);
  extreme_expect (
      extreme_is_silent ()
          == (!is_mode || (value >= 0 && value <= CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL)),
      "a kind of node", outcome);
  end (scene, &in_driver.stage, extreme, outcome);
}

TEST (test_node_requests)
{
  Scene *scene = begin_test (fixture, LONG_MS);

  for (guint i = 0; i < n_extremes; i++)
    if (is_in_driver (&extremes[i]))
      for_each_value (scene, &extremes[i], call_in_driver);
  finish (scene);
}

/* --- numbers that are no parameters ----------------------------------------------------------- */

TEST (test_ports)
{
  static const char *const bad[] = {
    "-1", "0", "65536", "2147483647", "2147483648", "4294967297", "18446744073709551617"
  };
  static const char *const good[] = { "1", "2", "65534", "65535" };

  for (gsize i = 0; i < G_N_ELEMENTS (bad) + G_N_ELEMENTS (good); i++)
    {
      const gboolean is_good = i >= G_N_ELEMENTS (bad);
      g_autofree char *address =
          g_strdup_printf ("127.0.0.1:%s", is_good ? good[i - G_N_ELEMENTS (bad)] : bad[i]);
      g_autoptr (CuratorClient) client = client_new (address);
      g_autoptr (GError) error = NULL;
      if (is_good)
        {
          assert_ok (curator_client_start (client, &error), &error);
        }
      else
        {
          assert_false (curator_client_start (client, &error));
          assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
        }
    }
}

typedef struct
{
  gint64 sleep_ms;
  gint n_asked; /* atomic */
} Sleeper;

/* Gives up after a few. */
static gboolean
sleep_so_long (guint retry_count, gint64 elapsed_ms, gint64 *sleep_ms, gpointer data)
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

  for (gsize i = 0; i < G_N_ELEMENTS (sleeps); i++)
    {
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
      GThread *canceller =
          sleeps[i] > 1 ? g_thread_new ("canceller", cancel_when_asked, both) : NULL;
      assert_false (curator_lock_acquire (lock, LONG_MS, cancellable, &error));
      g_clear_pointer (&canceller, g_thread_join);
      if (sleeps[i] > 1)
        {
          assert_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
          assert_int_equal (sleeper.n_asked, 1);
        }
      else
        {
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
