/* What a call of extreme_headers has to do, by the rule of its number. */
#include "extremes.h"

#include <string.h>

ExtremeCall extreme_now;

gboolean
extreme_is_allowed (const Extreme *extreme, gint64 value)
{
  return value >= extreme->first && value <= extreme->last;
}

void
extreme_expect (gboolean condition, const char *what, const Outcome *outcome)
{
  if (!condition)
    {
      extreme_now.n_failures++;
      print_error ("%s: %s; it %s, %d criticals, error: %s\n", extreme_now.text, what,
                   outcome->succeeded ? "succeeded" : "failed", extreme_n_criticals,
                   outcome->error != NULL ? outcome->error->message : "none");
    }
}

gboolean
extreme_is_silent (void)
{
  return g_atomic_int_get (&extreme_n_criticals) == 0;
}

gboolean
extreme_has_code (const Outcome *outcome, CuratorError code)
{
  return g_error_matches (outcome->error, CURATOR_ERROR, (int) code);
}

gboolean
extreme_is_refused (const Outcome *outcome)
{
  return extreme_n_criticals == 1
             ? outcome->error == NULL && outcome->result == NULL
             : extreme_is_silent () && !outcome->succeeded
                   && (extreme_has_code (outcome, CURATOR_ERROR_INVALID_ARGUMENT)
                       || extreme_has_code (outcome, CURATOR_ERROR_LIMIT_EXCEEDED));
}

gboolean
extreme_is_clean_success (const Outcome *outcome)
{
  return extreme_is_silent () && outcome->succeeded && outcome->error == NULL;
}

/* --- using what was made ---------------------------------------------------------------------- */

/* lease: what the use gave, transfer full. */
static void
end_use (CuratorLease *lease, const char *what, Outcome *outcome)
{
  extreme_expect (lease != NULL, what, outcome);
  if (lease != NULL)
    {
      curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
      curator_lease_unref (lease);
    }
}

/* Ends what a call holds, so that the next one meets nothing. */
void
extreme_give_back (const Stage *stage, Outcome *outcome)
{
  if (strcmp (extreme_now.extreme->function, "curator_lock_acquire") == 0 && outcome->succeeded)
    curator_lock_release (stage->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  if (outcome->drop == (GDestroyNotify) curator_lease_unref && outcome->result != NULL)
    curator_lease_release (outcome->result, CURATOR_WAIT_DEFAULT, NULL, NULL);
  if (outcome->drop == (GDestroyNotify) g_ptr_array_unref
      && g_str_has_prefix (extreme_now.extreme->function, "curator_semaphore_acquire_")
      && outcome->result != NULL)
    {
      curator_semaphore_return_all (stage->semaphore, outcome->result, CURATOR_WAIT_DEFAULT, NULL,
                                    NULL);
    }
}

/* --- rules ------------------------------------------------------------------------------------ */

static void
judge_limited (const Stage *stage, Outcome *outcome)
{
  const char *function = extreme_now.extreme->function;

  if (!extreme_is_allowed (extreme_now.extreme, stage->value))
    {
      extreme_expect (extreme_is_refused (outcome), "not refused", outcome);
      return;
    }
  extreme_expect (extreme_is_clean_success (outcome), "a value that is allowed", outcome);
  if (outcome->drop == (GDestroyNotify) curator_lock_unref)
    {
      end_use (curator_lock_acquire_lease (outcome->result, LONG_MS, NULL, &outcome->error),
               "the lock cannot be used", outcome);
    }
  else if (outcome->drop == (GDestroyNotify) curator_semaphore_unref)
    {
      end_use (curator_semaphore_acquire (outcome->result, LONG_MS, NULL, &outcome->error),
               "the semaphore cannot be used", outcome);
    }
  else if (strcmp (function, "curator_shared_count_new") == 0)
    {
      extreme_expect (curator_shared_count_get (outcome->result) == stage->value, "another seed",
                      outcome);
    }
  else if (strcmp (function, "curator_lease_extend") == 0)
    {
      extreme_expect (curator_lease_get_state (stage->lease) == CURATOR_LEASE_HELD, "shortened",
                      outcome);
    }
}

/* What was refused is still held. */
static void
judge_release (const Stage *stage, Outcome *outcome)
{
  const char *function = extreme_now.extreme->function;
  const gboolean is_held = g_str_has_prefix (function, "curator_lock_release")
                               ? curator_lock_is_owned_by_current_thread (stage->lock)
                           : g_str_has_prefix (function, "curator_lease_release")
                               ? curator_lease_get_state (stage->held_lease) == CURATOR_LEASE_HELD
                               : curator_lease_get_state (g_ptr_array_index (stage->held_leases, 0))
                                     == CURATOR_LEASE_HELD;

  if (!extreme_is_allowed (extreme_now.extreme, stage->value))
    {
      extreme_expect (extreme_is_refused (outcome) && is_held, "not refused", outcome);
      return;
    }
  extreme_expect (!is_held && extreme_is_silent ()
                      && ((outcome->succeeded && stage->value != 0)
                          || extreme_has_code (outcome, CURATOR_ERROR_RELEASE_PENDING)),
                  "a timeout", outcome);
}

static void
judge_setting (const Stage *stage, Outcome *outcome)
{
  const gboolean is_started = curator_client_start (stage->client, &outcome->error);

  outcome->succeeded = is_started;
  if (!extreme_is_allowed (extreme_now.extreme, stage->value))
    {
      extreme_expect (extreme_is_refused (outcome), "not refused", outcome);
      return;
    }
  extreme_expect (is_started, "refused by start", outcome);
  extreme_expect (
      curator_client_block_until_connected (stage->client, LONG_MS, NULL, &outcome->error),
      "does not connect", outcome);
  g_autoptr (CuratorLock) lock = mutex_new (stage->client, "/extremes/setting");
  if (strcmp (extreme_now.extreme->parameter, "tick_ms") == 0 && stage->value > SESSION_MS)
    {
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
  if (extreme_is_allowed (extreme_now.extreme, stage->value))
    {
      end_use (curator_semaphore_acquire (stage->semaphore, LONG_MS, NULL, &outcome->error),
               "the semaphore cannot be used", outcome);
      return;
    }
  g_autoptr (CuratorLease) lease =
      curator_semaphore_acquire (stage->semaphore, LONG_MS, NULL, &outcome->error);
  extreme_expect (lease == NULL && extreme_has_code (outcome, CURATOR_ERROR_LIMIT_EXCEEDED),
                  "not refused", outcome);
}

static void
judge_max_hold (const Stage *stage, Outcome *outcome)
{
  if (!extreme_is_allowed (extreme_now.extreme, stage->value)
      && stage->value != CURATOR_WAIT_FOREVER)
    {
      extreme_expect (extreme_n_criticals == 1, "not refused", outcome);
      return;
    }
  extreme_expect (extreme_is_silent (), "refused", outcome);
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (stage->lock, LONG_MS, NULL, &outcome->error);
  if (stage->value == CURATOR_WAIT_FOREVER || stage->value > EXTREME_FAR_MS)
    {
      extreme_expect (lease != NULL && curator_lease_get_state (lease) == CURATOR_LEASE_HELD,
                      "not held", outcome);
    }
  else
    {
      extreme_expect (lease != NULL ? holds_within (
                          curator_lease_get_state (lease) == CURATOR_LEASE_LOST, LONG_MS)
                                    : extreme_has_code (outcome, CURATOR_ERROR_LOCK_LOST),
                      "held for ever", outcome);
    }
}

/* The node has it, too. */
static void
judge_count (const Stage *stage, Outcome *outcome)
{
  g_autoptr (GError) error = NULL;

  extreme_expect (extreme_is_clean_success (outcome), "a value", outcome);
  assert_ok (curator_shared_count_start (stage->count, LONG_MS, NULL, &error), &error);
  extreme_expect (curator_shared_count_get (stage->count) == stage->value, "another value",
                  outcome);
}

static void
judge_version (const Stage *stage, Outcome *outcome)
{
  if (stage->value == -1)
    {
      extreme_expect (extreme_is_refused (outcome), "not refused", outcome);
      return;
    }
  extreme_expect (extreme_is_clean_success (outcome)
                      && outcome->flag == (stage->value == stage->version),
                  "set by a version", outcome);
}

static gint64
number_of (const Stage *stage, const char *parameter, gint64 otherwise)
{
  return strcmp (extreme_now.extreme->parameter, parameter) == 0 ? stage->value : otherwise;
}

/* As retry.h says of each policy; the numbers that are not at an end are those of
 * extreme_headers. */
static gboolean
must_allow (const Stage *stage, gint64 count, gint64 elapsed_ms)
{
  const char *kind = extreme_now.extreme->function + strlen ("curator_retry_policy_new_");

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
  const char *kind = extreme_now.extreme->function + strlen ("curator_retry_policy_new_");

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

  extreme_expect (extreme_is_clean_success (outcome), "no policy", outcome);
  for (gsize i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      for (gsize k = 0; k < G_N_ELEMENTS (numbers); k++)
        {
          const guint count = (guint) CLAMP (numbers[i], 0, G_MAXUINT32);
          gint64 sleep_ms = -1;
          const gboolean allowed =
              curator_retry_policy_allow_retry (outcome->result, count, numbers[k], &sleep_ms);
          extreme_expect (!allowed == !must_allow (stage, count, MAX (numbers[k], 0)),
                          "another answer", outcome);
          extreme_expect (sleep_ms >= 0 && sleep_ms <= longest_sleep (stage), "another sleep",
                          outcome);
        }
    }
}

void
extreme_judge (const Stage *stage, Outcome *outcome)
{
  const gboolean is_in = extreme_is_allowed (extreme_now.extreme, stage->value);

  switch (extreme_now.extreme->rule)
    {
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
      extreme_expect (extreme_is_silent () && (outcome->result != NULL) == is_in, "another end",
                      outcome);
      break;
    case RULE_MODE:
      extreme_expect (extreme_n_criticals == (is_in ? 0 : 1), "a mode", outcome);
      break;
    case RULE_POLICY:
      judge_policy (stage, outcome);
      break;
    case RULE_SLEEP:
      extreme_expect (extreme_is_silent () && outcome->number >= 0, "a sleep", outcome);
      break;
    case RULE_WAIT:    /* has calls of its own */
    case RULE_REQUEST: /* has, too */
    case RULE_IN_MEMORY:
    case RULE_NAME:
    case RULE_ANY:
    default:
      extreme_expect (extreme_is_silent () && outcome->error == NULL, "a value that does nothing",
                      outcome);
      break;
    }
}
