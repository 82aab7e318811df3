/* Retry policies. */
#pragma once

#include <curator/cpp/handle.hpp>
#include <curator/retry.h>

CURATOR_CPP_BEGIN

/** Decides whether and when a failed request is retried. Wraps CuratorRetryPolicy; see retry.h for
 *  the policies, their limits and their Java names. */
class [[nodiscard]] retry_policy
    : public handle<retry_policy, CuratorRetryPolicy, curator_retry_policy_ref,
                    curator_retry_policy_unref>
{
  using ms = std::chrono::milliseconds;
  using span = detail::span;

public:
  /** The client's default: exponential backoff from 1000 ms with 3 retries. */
  retry_policy () noexcept = default;

  using handle::handle;

  /** curator_retry_policy_new_exponential_backoff() */
  static retry_policy exponential_backoff (span base_sleep, guint max_retries)
  {
    return retry_policy (
        curator_retry_policy_new_exponential_backoff (base_sleep.count (), max_retries));
  }

  /** curator_retry_policy_new_bounded_exponential_backoff() */
  static retry_policy bounded_exponential_backoff (span base_sleep, span max_sleep,
                                                   guint max_retries)
  {
    return retry_policy (curator_retry_policy_new_bounded_exponential_backoff (
        base_sleep.count (), max_sleep.count (), max_retries));
  }

  /** curator_retry_policy_new_n_times() */
  static retry_policy n_times (guint n, span sleep)
  {
    return retry_policy (curator_retry_policy_new_n_times (n, sleep.count ()));
  }

  /** curator_retry_policy_new_one_time() */
  static retry_policy one_time (span sleep)
  {
    return retry_policy (curator_retry_policy_new_one_time (sleep.count ()));
  }

  /** curator_retry_policy_new_forever() */
  static retry_policy always (span sleep)
  {
    return retry_policy (curator_retry_policy_new_forever (sleep.count ()));
  }

  /** curator_retry_policy_new_until_elapsed() */
  static retry_policy until_elapsed (span max_elapsed, span sleep)
  {
    return retry_policy (
        curator_retry_policy_new_until_elapsed (max_elapsed.count (), sleep.count ()));
  }

  /** A custom policy: curator_retry_policy_new_custom().
   *  @param decide  called as decide (guint retry_count, std::chrono::milliseconds elapsed, const
   *                 error *why), where why may be nullptr; returns
   *                 std::optional<std::chrono::milliseconds>: how long to sleep before the retry,
   *                 or nothing to give up. May be called concurrently. An exception gives up */
  template <class F> static retry_policy custom (F &&decide)
  {
    using callback = std::decay_t<F>;
    return retry_policy (curator_retry_policy_new_custom (
        [] (guint retry_count, gint64 elapsed_ms, const GError *failed, gint64 *sleep_ms,
            gpointer data) noexcept -> gboolean {
          std::optional<span> sleep;
          detail::shield ([&] {
            const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
            sleep = (*static_cast<callback *> (data)) (retry_count, ms (elapsed_ms),
                                                       why ? &*why : nullptr);
          });
          *sleep_ms = sleep ? sleep->count () : 0;
          return sleep ? TRUE : FALSE;
        },
        new std::decay_t<F> (std::forward<F> (decide)), detail::destroy<callback>));
  }

  /** Decides whether to retry. Never sleeps. Not for a default-constructed policy.
   *  @return how long to sleep before the retry; nothing to give up */
  std::optional<ms> allow_retry (guint retry_count, span elapsed) const
  {
    gint64 sleep_ms = 0;
    const gboolean again = curator_retry_policy_allow_retry (object (), retry_count,
                                                             elapsed.count (), nullptr, &sleep_ms);
    return again ? std::optional<ms> (sleep_ms) : std::nullopt;
  }
};

CURATOR_CPP_END
