/* Retry policies: Curator's arithmetic, and sharing between threads. */
#define SUITE_SETUP set_up
#include "unit.h"

#include "retry/retry_policy.h"

#include <pthread.h>

static guint n_warnings;

static void
count_warning (const char *domain, GLogLevelFlags level, const char *message, gpointer user_data)
{
  n_warnings += (level & G_LOG_LEVEL_WARNING) != 0 ? 1 : 0;
}

static int
set_up (void **state)
{
  n_warnings = 0;
  g_log_set_default_handler (count_warning, NULL);
  return 0;
}

/* Asserts an answer. */
static void
check (CuratorRetryPolicy *policy, guint retry_count, gint64 elapsed_ms, gboolean allowed,
       gint64 sleep_ms)
{
  gint64 sleep = -1;

  assert_int_equal (
      curator_retry_policy_allow_retry (policy, retry_count, elapsed_ms, NULL, &sleep), allowed);
  assert_true (sleep == sleep_ms);
}

/* TestRetryLoop.testExponentialBackoffRetryLimit: the limit holds for every count. */
static void
check_limit_at (CuratorRetryPolicy *policy, guint retry_count)
{
  gint64 sleep = -1;
  gboolean allowed = curator_retry_policy_allow_retry (policy, retry_count, 0, NULL, &sleep);

  assert_int_equal (allowed, retry_count < 29);
  assert_true (sleep >= 0 && sleep <= 100);
}

TEST (test_exponential_backoff_retry_limit)
{
  g_autoptr (CuratorRetryPolicy) policy =
      curator_retry_policy_new_bounded_exponential_backoff (1, 100, G_MAXINT);

  assert_int_equal (n_warnings, 1);
  for (int i = 0; i < 1000000; i++)
    check_limit_at (policy, i);
  for (int i = 1000000; i < G_MAXINT - 20011; i += 20011)
    check_limit_at (policy, i);
  check_limit_at (policy, G_MAXINT - 1);
  check_limit_at (policy, G_MAXINT);
}

/* TestRetryLoop.testRetryForever: always allowed, one sleep each. */
TEST (test_retry_forever)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (1000);

  for (int i = 0; i < 10; i++)
    check (policy, i, 0, TRUE, 1000);
  check (policy, G_MAXINT, G_MAXINT64, TRUE, 1000);
  assert_int_equal (n_warnings, 0);
}

TEST (test_forever_must_sleep)
{
  g_autoptr (CuratorRetryPolicy) zero = curator_retry_policy_new_forever (0);
  g_autoptr (CuratorRetryPolicy) negative = curator_retry_policy_new_forever (G_MININT64);

  assert_int_equal (n_warnings, 2);
  check (zero, 0, 0, TRUE, 1);
  check (negative, 5, 0, TRUE, 1);
}

TEST (test_n_times)
{
  g_autoptr (CuratorRetryPolicy) three = curator_retry_policy_new_n_times (3, 250);
  g_autoptr (CuratorRetryPolicy) none = curator_retry_policy_new_n_times (0, 250);
  g_autoptr (CuratorRetryPolicy) most = curator_retry_policy_new_n_times (G_MAXUINT, 250);
  g_autoptr (CuratorRetryPolicy) sleepless = curator_retry_policy_new_n_times (1, -5);
  g_autoptr (CuratorRetryPolicy) one = curator_retry_policy_new_one_time (7);

  check (three, 0, 0, TRUE, 250);
  check (three, 2, G_MAXINT64, TRUE, 250);
  check (three, 3, 0, FALSE, 0);
  check (three, G_MAXINT, 0, FALSE, 0);
  check (none, 0, 0, FALSE, 0);
  check (most, G_MAXUINT - 1, 0, TRUE, 250);
  check (most, G_MAXUINT, 0, FALSE, 0);
  check (sleepless, 0, 0, TRUE, 0);
  check (one, 0, 0, TRUE, 7);
  check (one, 1, 0, FALSE, 0);
}

TEST (test_until_elapsed)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_until_elapsed (1000, 300);
  g_autoptr (CuratorRetryPolicy) never = curator_retry_policy_new_until_elapsed (0, 300);

  check (policy, 0, 0, TRUE, 300);
  check (policy, 1000000, 999, TRUE, 300);
  /* Curator sleeps before it checks the elapsed time. */
  check (policy, 3, 1000, FALSE, 300);
  check (policy, 3, G_MAXINT64, FALSE, 300);
  check (policy, G_MAXINT, 0, FALSE, 0);
  check (never, 0, 0, FALSE, 300);
}

/* Every sleep lies on the grid base x [1, 2^(k+1) - 1], and both halves of it are used. */
static void
check_backoff_at (CuratorRetryPolicy *policy, guint retry_count, gint64 base)
{
  gint64 top = (G_GINT64_CONSTANT (1) << (retry_count + 1)) - 1;
  gboolean seen_low = FALSE;
  gboolean seen_high = FALSE;

  for (int i = 0; i < 2000; i++) {
    gint64 sleep = -1;

    assert_true (curator_retry_policy_allow_retry (policy, retry_count, 0, NULL, &sleep));
    assert_true (sleep >= base && sleep <= MIN (base * top, G_MAXINT32));
    assert_true (sleep % base == 0 || sleep == G_MAXINT32);
    seen_low = seen_low || sleep <= base * (top / 2);
    seen_high = seen_high || sleep > base * (top / 2);
  }
  assert_true (seen_high && (seen_low || retry_count == 0));
}

TEST (test_exponential_backoff_grows_and_spreads)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_exponential_backoff (3, 29);

  assert_int_equal (n_warnings, 0);
  for (int k = 0; k < 29; k++)
    check_backoff_at (policy, k, 3);
  check (policy, 29, 0, FALSE, 0);
}

TEST (test_exponential_backoff_edges)
{
  g_autoptr (CuratorRetryPolicy) huge =
      curator_retry_policy_new_exponential_backoff (G_MAXINT64, 29);
  g_autoptr (CuratorRetryPolicy) bounded =
      curator_retry_policy_new_bounded_exponential_backoff (500, 200, 29);
  g_autoptr (CuratorRetryPolicy) negative = curator_retry_policy_new_exponential_backoff (-1, 2);
  g_autoptr (CuratorRetryPolicy) sleepless =
      curator_retry_policy_new_bounded_exponential_backoff (10, -1, 2);

  assert_int_equal (n_warnings, 0);
  for (int k = 0; k < 29; k++) {
    check (huge, k, 0, TRUE, G_MAXINT32);
    check (bounded, k, 0, TRUE, 200);
  }
  check (negative, 0, 0, TRUE, 0);
  check (sleepless, 1, 0, TRUE, 0);
}

TEST (test_seed_repeats_the_sleeps)
{
  g_autoptr (CuratorRetryPolicy) one = curator_retry_policy_new_exponential_backoff (1, 29);
  g_autoptr (CuratorRetryPolicy) two = curator_retry_policy_new_exponential_backoff (1, 29);
  g_autoptr (CuratorRetryPolicy) other = curator_retry_policy_new_one_time (1);

  assert_true (curator_retry_policy_seed (one, 42));
  assert_true (curator_retry_policy_seed (two, 42));
  assert_false (curator_retry_policy_seed (other, 42));
  for (int k = 0; k < 29; k++) {
    gint64 sleep = -1;

    assert_true (curator_retry_policy_allow_retry (one, k, 0, NULL, &sleep));
    check (two, k, 0, TRUE, sleep);
  }
}

typedef struct
{
  guint retry_count;
  gint64 elapsed_ms;
  gint64 sleep_at_entry;
  const GError *error;
  guint n_freed;
} Custom;

static gboolean
custom_allow (guint retry_count, gint64 elapsed_ms, const GError *error, gint64 *sleep_ms,
              gpointer user_data)
{
  Custom *custom = user_data;

  custom->retry_count = retry_count;
  custom->elapsed_ms = elapsed_ms;
  custom->error = error;
  custom->sleep_at_entry = *sleep_ms;
  *sleep_ms = retry_count == 0 ? -17 : (gint64) retry_count;
  return 2;
}

static void
custom_free (gpointer user_data)
{
  ((Custom *) user_data)->n_freed++;
}

TEST (test_custom)
{
  Custom custom = { 0 };
  g_autoptr (GError) why = g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER, "why");
  CuratorRetryPolicy *policy = curator_retry_policy_new_custom (custom_allow, &custom, custom_free);

  custom.sleep_at_entry = -1;
  check (policy, 0, 5, TRUE, 0);
  assert_true (custom.sleep_at_entry == 0);
  check (policy, 9, 6, TRUE, 9);
  assert_int_equal (custom.retry_count, 9);
  assert_true (custom.elapsed_ms == 6);
  /* The sleep may be NULL; negative counts and times count as 0. */
  assert_true (curator_retry_policy_allow_retry (policy, 0, -4, why, NULL));
  assert_int_equal (custom.retry_count, 0);
  assert_true (custom.elapsed_ms == 0);
  assert_ptr_equal (custom.error, why);

  assert_ptr_equal (curator_retry_policy_ref (policy), policy);
  curator_retry_policy_unref (policy);
  assert_int_equal (custom.n_freed, 0);
  curator_retry_policy_unref (policy);
  assert_int_equal (custom.n_freed, 1);
}

static void *
ask_often (void *data)
{
  CuratorRetryPolicy *policy = data;

  for (int i = 0; i < 20000; i++) {
    gint64 sleep = -1;

    curator_retry_policy_unref (curator_retry_policy_ref (policy));
    if (!curator_retry_policy_allow_retry (policy, i % 29, 0, NULL, &sleep) || sleep < 1)
      return policy;
  }
  return NULL;
}

TEST (test_threads_share_a_policy)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_exponential_backoff (1, 29);
  pthread_t threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    assert_int_equal (pthread_create (&threads[i], NULL, ask_often, policy), 0);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++) {
    void *failure = policy;

    assert_int_equal (pthread_join (threads[i], &failure), 0);
    assert_null (failure);
  }
}

SUITE ("retry", NULL, NULL)
