/* Retry policies: is a request that failed tried again, and how long after?
 *
 * A policy decides and never sleeps; the client does the waiting, within the time the caller gave.
 * Policies are immutable (but for their random numbers), thread-safe and may be shared by clients.
 * Only outcomes that a new try can change are retried: a lost connection, a time-out of an
 * operation, a moved or expired session. Mirrors org.apache.curator.retry and RetryPolicy.
 *
 * Arguments out of range are pinned to the nearest usable value, as told below; a warning is logged
 * where Curator logs one.
 */
#ifndef CURATOR_RETRY_H
#define CURATOR_RETRY_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** A policy of your own. Called on threads of the library under no lock of the policy: return at
 *  once, call nothing that waits for ZooKeeper, expect several calls at the same time.
 *  @param retry_count   tries made again so far; 0 after the first failure
 *  @param elapsed_ms    time since the first try began, in milliseconds
 *  @param sleep_ms      never NULL, 0 at entry: how long to wait before the next try, in
 *                       milliseconds; a negative value counts as 0
 *  @return TRUE to try again */
typedef gboolean (*CuratorRetryFunc) (int retry_count, gint64 elapsed_ms, gint64 *sleep_ms,
                                      gpointer user_data);

/** Up to @p max_retries times, after base x a random integer from [0, 2^(retry+1) - 1], at least 1:
 *  the first sleep is exactly @p base_sleep_ms, later ones grow and spread. No sleep is longer than
 *  2147483647 ms. More than 29 retries are pinned to 29 with a warning; a negative number of
 *  retries or base counts as 0. Mirrors ExponentialBackoffRetry(int, int). */
CURATOR_API
CuratorRetryPolicy *curator_retry_policy_new_exponential_backoff (gint64 base_sleep_ms,
                                                                  int max_retries);

/** The same, with no sleep longer than @p max_sleep_ms. Mirrors BoundedExponentialBackoffRetry and
 *  ExponentialBackoffRetry(int, int, int). */
CURATOR_API
CuratorRetryPolicy *curator_retry_policy_new_bounded_exponential_backoff (gint64 base_sleep_ms,
                                                                          gint64 max_sleep_ms,
                                                                          int max_retries);

/** @p n times (never if not positive), each after @p sleep_ms; not positive: at once. Mirrors
 *  RetryNTimes. */
CURATOR_API
CuratorRetryPolicy *curator_retry_policy_new_n_times (int n, gint64 sleep_ms);

/** Once, after @p sleep_ms. Mirrors RetryOneTime. */
CURATOR_API
CuratorRetryPolicy *curator_retry_policy_new_one_time (gint64 sleep_ms);

/** Always, each time after @p sleep_ms, which must be positive: less is pinned to 1 with a warning
 *  (Java throws), as no sleep at all would keep a processor busy for ever. Mirrors RetryForever. */
CURATOR_API
CuratorRetryPolicy *curator_retry_policy_new_forever (gint64 sleep_ms);

/** As long as less than @p max_elapsed_ms have passed, each time after @p sleep_ms. The time is
 *  compared before the sleep, so the whole may take @p sleep_ms longer; and the sleep is told with
 *  a denial too, as Curator sleeps before it denies. Mirrors RetryUntilElapsed. */
CURATOR_API
CuratorRetryPolicy *curator_retry_policy_new_until_elapsed (gint64 max_elapsed_ms, gint64 sleep_ms);

/** Asks @p func. Mirrors implementing RetryPolicy.
 *  @param destroy  frees @p user_data with the policy; may be NULL */
CURATOR_API
CuratorRetryPolicy *curator_retry_policy_new_custom (CuratorRetryFunc func, gpointer user_data,
                                                     GDestroyNotify destroy);

/** Decides whether to try again. Never sleeps. Mirrors RetryPolicy.allowRetry.
 *  @param retry_count  tries made again so far, from 0
 *  @param elapsed_ms   time since the first try began
 *  @param sleep_ms     out, may be NULL: the pause before the next try, never negative; 0 on a
 *                      denial, but for curator_retry_policy_new_until_elapsed()
 *  @return TRUE if a new try is allowed */
CURATOR_API
gboolean curator_retry_policy_allow_retry (CuratorRetryPolicy *policy, int retry_count,
                                           gint64 elapsed_ms, gint64 *sleep_ms);

/** Adds a reference and returns @p policy. */
CURATOR_API
CuratorRetryPolicy *curator_retry_policy_ref (CuratorRetryPolicy *policy);

/** Drops a reference; the last one frees. */
CURATOR_API
void curator_retry_policy_unref (CuratorRetryPolicy *policy);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorRetryPolicy, curator_retry_policy_unref)

G_END_DECLS

#endif
