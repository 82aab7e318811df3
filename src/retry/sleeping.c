/* Retry policies with a constant sleep.
 *
 * Mirrors SleepingRetry with RetryNTimes, RetryOneTime and RetryUntilElapsed, and RetryForever.
 * Threads: any; constant, no lock.
 */
#include "retry/retry_policy.h"

typedef struct
{
  guint64 n; /* G_MAXUINT64 where there is no limit, like the next */
  guint64 max_elapsed_ms;
  gint64 sleep_ms;
} Sleeping;

/* Curator sleeps first, then compares the time from before the sleep. So *sleep_ms is set even if
 * that is over. */
static gboolean
allow_sleeping (guint retry_count, gint64 elapsed_ms, const GError *error, gint64 *sleep_ms,
                gpointer user_data)
{
  const Sleeping *sleeping = user_data;

  if (retry_count >= sleeping->n)
    return FALSE;
  *sleep_ms = sleeping->sleep_ms;
  return (guint64) elapsed_ms < sleeping->max_elapsed_ms;
}

static CuratorRetryPolicy *
new_sleeping (guint64 n, guint64 max_elapsed_ms, gint64 sleep_ms)
{
  Sleeping *sleeping = g_new (Sleeping, 1);
  *sleeping = (Sleeping){ n, max_elapsed_ms, sleep_ms };
  return curator_retry_policy_new_builtin (allow_sleeping, sleeping, g_free);
}

CuratorRetryPolicy *
curator_retry_policy_new_n_times (guint n, gint64 sleep_ms)
{
  return new_sleeping (n, G_MAXUINT64, sleep_ms);
}

CuratorRetryPolicy *
curator_retry_policy_new_one_time (gint64 sleep_ms)
{
  return new_sleeping (1, G_MAXUINT64, sleep_ms);
}

CuratorRetryPolicy *
curator_retry_policy_new_until_elapsed (gint64 max_elapsed_ms, gint64 sleep_ms)
{
  return new_sleeping (G_MAXINT, (guint64) MAX (max_elapsed_ms, 0), sleep_ms);
}

CuratorRetryPolicy *
curator_retry_policy_new_forever (gint64 sleep_ms)
{
  if (sleep_ms < 1)
    g_warning ("a policy that retries for ever must sleep; %" G_GINT64_FORMAT " ms becomes 1 ms",
               sleep_ms);
  return new_sleeping (G_MAXUINT64, G_MAXUINT64, MAX (sleep_ms, 1));
}
