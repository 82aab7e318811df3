/* Retry policies with a constant sleep.
 *
 * Mirrors SleepingRetry with RetryNTimes, RetryOneTime and RetryUntilElapsed, and RetryForever.
 * Threads: any; constant, no lock.
 */
#include "retry/retry_policy.h"

typedef struct
{
  guint n;
  gint64 sleep_ms;
  gint64 max_elapsed_ms; /* RetryUntilElapsed */
} Sleeping;

static CuratorRetryPolicy *
new_sleeping (CuratorRetryFunc func, guint n, gint64 sleep_ms, gint64 max_elapsed_ms)
{
  Sleeping *sleeping = g_new0 (Sleeping, 1);

  sleeping->n = n;
  sleeping->sleep_ms = sleep_ms;
  sleeping->max_elapsed_ms = max_elapsed_ms;
  return curator_retry_policy_new_builtin (func, sleeping, g_free);
}

static gboolean
allow_n_times (guint retry_count, gint64 elapsed_ms, gint64 *sleep_ms, gpointer user_data)
{
  const Sleeping *sleeping = user_data;

  if (retry_count >= sleeping->n)
    return FALSE;
  *sleep_ms = sleeping->sleep_ms;
  return TRUE;
}

/* Curator sleeps first, then compares the time from before the sleep. So *sleep_ms is set even if
 * FALSE is returned. */
static gboolean
allow_until_elapsed (guint retry_count, gint64 elapsed_ms, gint64 *sleep_ms, gpointer user_data)
{
  const Sleeping *sleeping = user_data;

  return allow_n_times (retry_count, elapsed_ms, sleep_ms, user_data)
         && elapsed_ms < sleeping->max_elapsed_ms;
}

static gboolean
allow_forever (guint retry_count, gint64 elapsed_ms, gint64 *sleep_ms, gpointer user_data)
{
  const Sleeping *sleeping = user_data;

  *sleep_ms = sleeping->sleep_ms;
  return TRUE;
}

CuratorRetryPolicy *
curator_retry_policy_new_n_times (guint n, gint64 sleep_ms)
{
  return new_sleeping (allow_n_times, n, sleep_ms, 0);
}

CuratorRetryPolicy *
curator_retry_policy_new_one_time (gint64 sleep_ms)
{
  return new_sleeping (allow_n_times, 1, sleep_ms, 0);
}

CuratorRetryPolicy *
curator_retry_policy_new_until_elapsed (gint64 max_elapsed_ms, gint64 sleep_ms)
{
  return new_sleeping (allow_until_elapsed, G_MAXINT, sleep_ms, max_elapsed_ms);
}

CuratorRetryPolicy *
curator_retry_policy_new_forever (gint64 sleep_ms)
{
  if (sleep_ms < 1)
    g_warning ("a policy that retries for ever must sleep; %" G_GINT64_FORMAT " ms becomes 1 ms",
               sleep_ms);
  return new_sleeping (allow_forever, 0, MAX (sleep_ms, 1), 0);
}
