/* A lock of any recipe. */
#ifndef CURATOR_CPP_LOCK_HPP
#define CURATOR_CPP_LOCK_HPP

#include <curator/cpp/detail.hpp>
#include <curator/cpp/lease.hpp>
#include <curator/cpp/time.hpp>
#include <curator/lock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace curator
{
inline namespace CURATOR_CPP_NAMESPACE
{
/** What unlock() does, which std::unique_lock and the like call at the end of a scope. */
enum class unlock_mode
{
  wait,      /**< returns once the server has confirmed, or after the connection timeout */
  background /**< returns at once; the release continues in the background */
};

/** A lock of any recipe. Wraps CuratorLock; see lock.h for who owns a hold and how it is lost. It
 *  is TimedLockable: std::unique_lock, std::scoped_lock and std::lock accept it.
 *
 *  Locking costs at least one round trip, and std::lock retries. To acquire several locks, prefer
 *  multi_lock, which queues. */
class [[nodiscard]] lockable
{
public:
  /** An empty handle. */
  lockable () noexcept = default;

  /** Takes over a reference to a lock of any recipe. */
  [[nodiscard]] explicit lockable (CuratorLock *lock, unlock_mode mode = unlock_mode::wait) noexcept
      : handle_ (lock), mode_ (mode)
  {
  }

#ifdef __cpp_exceptions
  /** Acquires for the calling thread, waiting its turn; re-entrant if the recipe is.
   *  @throws error  the errors of curator_lock_acquire(): LOCK_LOST, CONNECTION_LOST, CLOSED ... */
  void
  lock (GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    const gboolean acquired = curator_lock_acquire (detail::require (native_handle ()),
                                                    CURATOR_WAIT_FOREVER, cancellable, outcome);
    outcome.check (acquired != FALSE);
  }
#else
  /** std::unique_lock would not see it fail. try_lock_for (curator::forever) waits as long. */
  void lock (GCancellable *cancellable = nullptr) = delete;
#endif

  /** lock() waits without a limit: try_lock_for() takes one. */
  template <class Rep, class Period>
  void lock (const std::chrono::duration<Rep, Period> &timeout,
             GCancellable *cancellable = nullptr) = delete;

  /** Acquires if no other contender is ahead.
   *  @throws error  as lock(); CONNECTION_LOST if there is no connection */
  [[nodiscard]] result<bool>
  try_lock ()
  {
    return try_lock_for (std::chrono::milliseconds::zero ());
  }

  /** Acquires within a timeout. @throws error  as lock() */
  template <class Rep, class Period>
  [[nodiscard]] result<bool>
  try_lock_for (const std::chrono::duration<Rep, Period> &timeout,
                GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    const gboolean acquired = curator_lock_acquire (detail::require (native_handle ()),
                                                    detail::to_ms (timeout), cancellable, outcome);
    return outcome.in_time (acquired != FALSE);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  template <class Clock, class Duration>
  [[nodiscard]] result<bool>
  try_lock_until (const std::chrono::time_point<Clock, Duration> &time,
                  GCancellable *cancellable = nullptr)
  {
    return try_lock_for (detail::left_until (time), cancellable);
  }

  /** Ends one level of the calling thread's hold, even of a lost one. A missing confirmation of the
   *  server is not reported, since the hold has ended anyway. Without a hold it logs a critical
   *  message. release() throws instead. */
  void
  unlock () noexcept
  {
    if (mode_ == unlock_mode::background || native_handle () == nullptr)
      {
        unlock_async ();
        return;
      }
    detail::outcome outcome;
    curator_lock_release (native_handle (), 0, nullptr, outcome);
    log_misuse (outcome.get ());
  }

  /** Like unlock(), but throws.
   *  @param timeout  for the wait; 0: up to the connection timeout
   *  @throws error  NOT_OWNER, or RELEASE_PENDING if the server did not confirm in time, or
   *                 is_cancelled(); after the last two the hold has ended nevertheless */
  result<void>
  release (detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    return outcome.check (
        curator_lock_release (detail::require (native_handle ()), timeout, cancellable, outcome)
        != FALSE);
  }

  /** Like unlock(), but does not wait: the calling thread's level ends at once. */
  void
  unlock_async () noexcept
  {
    if (native_handle () == nullptr)
      {
        g_log ("curator", G_LOG_LEVEL_CRITICAL, "unlock: the curator handle is empty");
        return;
      }
    curator_lock_release_async (
        native_handle (),
        [] (CuratorLock *, const GError *failed, gpointer) { log_misuse (failed); }, nullptr);
  }

  /** The same, and reports the confirmation of the server.
   *  @param done  called as done (const error *), once: NULL on success; borrowed */
  template <class F>
  void
  unlock_async (F &&done)
  {
    using callback = std::decay_t<F>;
    CuratorLock *const object = detail::require (native_handle ());
    curator_lock_release_async (
        object,
        [] (CuratorLock *, const GError *failed, gpointer data) {
          detail::tell_release<callback> (failed, data);
        },
        detail::keep (std::forward<F> (done)));
  }

  /** Whether any thread of this process holds through this object. */
  bool
  is_acquired_in_this_process () const
  {
    return curator_lock_is_acquired_in_this_process (detail::require (native_handle ())) != FALSE;
  }

  /** Whether the calling thread holds through this object. */
  bool
  is_owned_by_current_thread () const
  {
    return curator_lock_is_owned_by_current_thread (detail::require (native_handle ())) != FALSE;
  }

  /** The calling thread's hold, for its token and remaining time; nothing if there is none:
   *  curator_lock_dup_lease(). Do not release it: unlock() does, and counts the levels. */
  std::optional<lease>
  current_lease () const
  {
    CuratorLease *held = curator_lock_dup_lease (detail::require (native_handle ()));
    return held != nullptr ? std::optional<lease> (lease (held)) : std::nullopt;
  }

  /** Acquires a hold that belongs to no thread and is never re-entrant. @throws error  as lock() */
  [[nodiscard]] result<lease>
  acquire_lease (GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_lock_acquire_lease (detail::require (native_handle ()),
                                               CURATOR_WAIT_FOREVER, cancellable, outcome));
    const bool is_granted = bool (granted);
    return outcome.give (is_granted, std::move (granted));
  }

  /** The same, within a timeout. @throws error  also TIMED_OUT */
  template <class Rep, class Period>
  [[nodiscard]] result<lease>
  acquire_lease (const std::chrono::duration<Rep, Period> &timeout,
                 GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_lock_acquire_lease (detail::require (native_handle ()),
                                               detail::to_ms (timeout), cancellable, outcome));
    const bool is_granted = bool (granted);
    return outcome.give (is_granted, std::move (granted));
  }

  /** The same, without an error if the time is over. */
  template <class Rep, class Period>
  [[nodiscard]] result<std::optional<lease>>
  try_acquire_lease_for (const std::chrono::duration<Rep, Period> &timeout,
                         GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_lock_acquire_lease (detail::require (native_handle ()),
                                               detail::to_ms (timeout), cancellable, outcome));
    const bool is_granted = bool (granted);
    return outcome.in_time (is_granted, std::move (granted));
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  template <class Clock, class Duration>
  [[nodiscard]] result<std::optional<lease>>
  try_acquire_lease_until (const std::chrono::time_point<Clock, Duration> &time,
                           GCancellable *cancellable = nullptr)
  {
    return try_acquire_lease_for (detail::left_until (time), cancellable);
  }

  /** Acquires a lease asynchronously.
   *  @param timeout  curator::forever, or how long to wait in the queue
   *  @param done     called as done (lease, const error *), once: a lease and NULL, or an empty
   *                  lease and an error, which is borrowed; TIMED_OUT is an error here */
  template <class Rep, class Period, class F>
  void
  acquire_async (const std::chrono::duration<Rep, Period> &timeout, F &&done,
                 GCancellable *cancellable = nullptr)
  {
    using callback = std::decay_t<F>;
    CuratorLock *const object = detail::require (native_handle ());
    curator_lock_acquire_async (
        object, detail::to_ms (timeout), cancellable,
        [] (CuratorLock *, CuratorLease *granted, const GError *failed, gpointer data) {
          detail::shield ([&] {
            lease hold (granted);
            const auto kept = detail::take<callback> (data);
            const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
            (*kept) (std::move (hold), why ? &*why : nullptr);
          });
        },
        detail::keep (std::forward<F> (done)));
  }

  /** Full paths of the nodes in the queue, holders first: curator_lock_get_participant_nodes(). A name
   *  may hold any byte.
   *  @param timeout  for the whole call; 0: up to the connection timeout
   *  @throws error  UNSUPPORTED for a multi_lock ... */
  result<std::vector<std::string>>
  participant_nodes (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    char **nodes = curator_lock_get_participant_nodes (detail::require (native_handle ()), timeout,
                                                       cancellable, outcome);
    return outcome.give (nodes != nullptr, detail::take_strings (nodes));
  }

  /** Ends holds granted from now on when they last so long, also if the holder hangs:
   *  curator_lock_set_max_hold(). curator::forever, the default: no maximum.
   *  @throws error  INVALID_ARGUMENT for no time at all */
  template <class Rep, class Period>
  result<void>
  set_max_hold (const std::chrono::duration<Rep, Period> &max_hold)
  {
    detail::outcome outcome;
    CuratorLock *const object = detail::require (native_handle ());
    const gint64 ms = detail::to_ms (max_hold);
    const bool taken = ms != 0 || outcome.refuse ("a maximum of no time at all");
    if (taken)
      curator_lock_set_max_hold (object, ms);
    return outcome.check (taken);
  }

  /** Lets other clients ask for the lock back. Covers attempts that begin after this call.
   *  @param listener  called as listener ()
   *  @throws error  UNSUPPORTED for a multi_lock */
  template <class F>
  result<void>
  make_revocable (F &&listener)
  {
    using callback = std::decay_t<F>;
    detail::outcome outcome;
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const gboolean taken = curator_lock_make_revocable (
        detail::require (native_handle ()),
        [] (CuratorLock *, gpointer data) {
          detail::shield ([&] { (*static_cast<callback *> (data)) (); });
        },
        kept.get (), detail::destroy<callback>, outcome);
    if (taken)
      {
        static_cast<void> (kept.release ());
      }
    return outcome.check (taken != FALSE);
  }

  /** Reverts make_revocable(). */
  result<void>
  make_irrevocable ()
  {
    detail::outcome outcome;
    return outcome.check (curator_lock_make_revocable (detail::require (native_handle ()), nullptr,
                                                       nullptr, nullptr, outcome)
                          != FALSE);
  }

  /** The lock for the C functions; borrowed. */
  CuratorLock *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

protected:
  /** A new reference, for share() of the derived classes. */
  CuratorLock *
  new_ref () const noexcept
  {
    return handle_.new_ref ();
  }

  /** The mode of unlock(). */
  unlock_mode
  mode () const noexcept
  {
    return mode_;
  }

private:
  static void
  log_misuse (const GError *failed) noexcept
  {
    if (g_error_matches (failed, CURATOR_ERROR, CURATOR_ERROR_NOT_OWNER))
      g_log ("curator", G_LOG_LEVEL_CRITICAL, "unlock: %s", failed->message);
  }

  detail::handle<CuratorLock, curator_lock_ref, curator_lock_unref> handle_;
  unlock_mode mode_ = unlock_mode::wait;
};
}
}

#endif
