/* Retry policies: whether and when a failed request is retried.
 *
 * A policy decides but never sleeps; the client waits, within the caller's timeout. Policies are
 * immutable (but for their random numbers), thread-safe, and can be shared by clients. Only errors
 * that a retry can cure are retried: a lost connection, the timeout of an operation, a moved or
 * expired session. Mirrors org.apache.curator.retry and RetryPolicy.
 *
 * Arguments out of range are set to the nearest valid value, as described below. A warning is
 * logged where Curator logs one.
 */
#ifndef CURATOR_RETRY_H
#define CURATOR_RETRY_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** The function of a custom policy. Runs on one thread of each client, so concurrently if clients
 *  share it, while the library holds no lock: it may call every function that does not wait for
 *  ZooKeeper, curator_client_close() included. Return at once: a slow policy delays the retries and
 *  the lock drivers of its client. The answer is dropped if the operation has ended meanwhile.
 *  @param retry_count   number of retries so far in this session; 0 after the first failure
 *  @param elapsed_ms    time since the first try in this session began, in milliseconds
 *  @param error         why the last try failed, borrowed: CONNECTION_LOST, whose cause
 *                       curator_client_dup_connection_error() returns, NO_ANSWER, SESSION_EXPIRED,
 *                       AUTH_FAILED or #CURATOR_ZK_ERROR; NULL if curator_retry_policy_allow_retry()
 *                       was given NULL
 *  @param sleep_ms      out, never NULL, 0 at entry: how long to wait before the retry, in
 *                       milliseconds; a negative value counts as 0, more than 366 days as 366 days
 *  @return TRUE to retry */
typedef gboolean (*CuratorRetryFunc) (guint retry_count, gint64 elapsed_ms, const GError *error,
                                      gint64 *sleep_ms, gpointer user_data);

/** Retries up to @p max_retries times. Each sleep is the base times a random integer from [0,
 *  2^(retry+1) - 1], at least 1: the first is exactly @p base_sleep_ms, later ones grow and vary.
 *  No sleep exceeds 2147483647 ms. More than 29 retries are set to 29 with a warning; a negative
 *  base counts as 0. Mirrors ExponentialBackoffRetry(int, int). */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorRetryPolicy *curator_retry_policy_new_exponential_backoff (gint64 base_sleep_ms,
                                                                  guint max_retries);

/** Retries with growing sleeps of at most @p max_sleep_ms. Mirrors BoundedExponentialBackoffRetry
 *  and ExponentialBackoffRetry(int, int, int). */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorRetryPolicy *curator_retry_policy_new_bounded_exponential_backoff (gint64 base_sleep_ms,
                                                                          gint64 max_sleep_ms,
                                                                          guint max_retries);

/** Retries @p n times, each after @p sleep_ms. With 0 it never retries; if @p sleep_ms
 *  is not positive, it retries at once. Mirrors RetryNTimes. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorRetryPolicy *curator_retry_policy_new_n_times (guint n, gint64 sleep_ms);

/** Retries once, after @p sleep_ms. Mirrors RetryOneTime. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorRetryPolicy *curator_retry_policy_new_one_time (gint64 sleep_ms);

/** Retries without a limit, each time after @p sleep_ms, which must be positive: less is set to 1
 *  with a warning (Java throws), because retries without a sleep would keep a processor busy.
 *  Mirrors RetryForever. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorRetryPolicy *curator_retry_policy_new_forever (gint64 sleep_ms);

/** Retries while less than @p max_elapsed_ms have passed, 2147483647 times at most, each time after
 *  @p sleep_ms. The time is compared before the sleep, so the whole may take @p sleep_ms longer. A
 *  refusal also returns the sleep, because Curator sleeps before it refuses. Mirrors
 *  RetryUntilElapsed. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorRetryPolicy *curator_retry_policy_new_until_elapsed (gint64 max_elapsed_ms, gint64 sleep_ms);

/** Calls @p func for each decision. Mirrors implementing RetryPolicy.
 *  @param destroy  frees @p user_data with the policy; may be NULL */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorRetryPolicy *curator_retry_policy_new_custom (CuratorRetryFunc func, gpointer user_data,
                                                     GDestroyNotify destroy);

/** Decides whether to retry. Never sleeps. Mirrors RetryPolicy.allowRetry.
 *  @param retry_count  number of retries so far, from 0
 *  @param elapsed_ms   time since the first try began, in milliseconds
 *  @param error        why the last try failed, for a custom policy; may be NULL
 *  @param sleep_ms     out, may be NULL: milliseconds to sleep before the retry, never negative; 0
 *                      on a refusal, except for curator_retry_policy_new_until_elapsed()
 *  @return TRUE to retry */
CURATOR_API
gboolean curator_retry_policy_allow_retry (CuratorRetryPolicy *policy, guint retry_count,
                                           gint64 elapsed_ms, const GError *error,
                                           gint64 *sleep_ms);

/** Adds a reference and returns @p policy. */
CURATOR_API
CuratorRetryPolicy *curator_retry_policy_ref (CuratorRetryPolicy *policy);

/** Drops a reference; dropping the last one frees the policy. */
CURATOR_API
void curator_retry_policy_unref (CuratorRetryPolicy *policy);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorRetryPolicy, curator_retry_policy_unref)

G_END_DECLS

#endif
