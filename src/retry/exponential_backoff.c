/* Retry policies with random sleeps that grow exponentially.
 *
 * Mirrors ExponentialBackoffRetry and BoundedExponentialBackoffRetry. Threads: any. The policy's
 * own mutex guards the random number generator. It is taken under the client's mutex, and no other
 * under it.
 */
#include "retry/retry_policy.h"

#include "base/fork_gate.h"

#include <pthread.h>

#define MAX_RETRIES_LIMIT 29
#define MAX_SLEEP_MS      ((gint64) G_MAXINT32)

typedef struct
{
  /* Constant. */
  gint64 base_sleep_ms;
  gint64 max_sleep_ms;
  guint max_retries;

  pthread_mutex_t mutex;
  GRand *rand; /* guarded by mutex */
} Backoff;

static void
backoff_free (gpointer data)
{
  Backoff *backoff = data;

  pthread_mutex_destroy (&backoff->mutex);
  g_rand_free (backoff->rand);
  g_free (backoff);
}

/* The product fits: the base has at most 31 bits and the factor 29. */
static gboolean
allow_with_backoff (guint retry_count, gint64 elapsed_ms, const GError *error, gint64 *sleep_ms,
                    gpointer user_data)
{
  Backoff *backoff = user_data;

  if (retry_count >= backoff->max_retries)
    return FALSE;
  pthread_mutex_lock (&backoff->mutex);
  const guint32 random = g_rand_int (backoff->rand);
  pthread_mutex_unlock (&backoff->mutex);
  const gint64 factor = random >> (31 - retry_count); /* below 2^(retry_count + 1) */
  *sleep_ms = MIN (backoff->max_sleep_ms, backoff->base_sleep_ms * MAX (factor, 1));
  return TRUE;
}

CuratorRetryPolicy *
curator_retry_policy_new_exponential_backoff (gint64 base_sleep_ms, guint max_retries)
{
  return curator_retry_policy_new_bounded_exponential_backoff (base_sleep_ms, MAX_SLEEP_MS,
                                                               max_retries);
}

CuratorRetryPolicy *
curator_retry_policy_new_bounded_exponential_backoff (gint64 base_sleep_ms, gint64 max_sleep_ms,
                                                      guint max_retries)
{
  CURATOR_INSIDE_GATE;
  Backoff *backoff = g_new0 (Backoff, 1);

  if (max_retries > MAX_RETRIES_LIMIT)
    g_warning ("%u retries with exponential backoff are too many; pinned to %d", max_retries,
               MAX_RETRIES_LIMIT);
  backoff->base_sleep_ms = CLAMP (base_sleep_ms, 0, MAX_SLEEP_MS);
  backoff->max_sleep_ms = CLAMP (max_sleep_ms, 0, MAX_SLEEP_MS);
  backoff->max_retries = MIN (max_retries, MAX_RETRIES_LIMIT);
  pthread_mutex_init (&backoff->mutex, NULL);
  backoff->rand = g_rand_new ();
  return curator_retry_policy_new_builtin (allow_with_backoff, backoff, backoff_free);
}

gboolean
curator_retry_policy_seed (CuratorRetryPolicy *policy, guint32 seed)
{
  g_return_val_if_fail (policy != NULL, FALSE);
  if (policy->func != allow_with_backoff)
    return FALSE;
  Backoff *backoff = policy->user_data;
  pthread_mutex_lock (&backoff->mutex);
  g_rand_set_seed (backoff->rand, seed);
  pthread_mutex_unlock (&backoff->mutex);
  return TRUE;
}
