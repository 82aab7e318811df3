/* A lock of any recipe. */
#pragma once

#include <curator/cpp/client.hpp>
#include <curator/cpp/lease.hpp>
#include <curator/lock.h>

CURATOR_CPP_BEGIN

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
    : public handle<lockable, CuratorLock, curator_lock_ref, curator_lock_unref>
{
public:
  /** An empty handle. */
  lockable () noexcept = default;

  /** Takes over a reference to a lock of any recipe. */
  [[nodiscard]] explicit lockable (CuratorLock *lock, unlock_mode mode = unlock_mode::wait) noexcept
      : handle (lock), mode_ (mode)
  {
  }

  /** lock() waits without a limit: try_lock_for() takes one. */
  void lock (limit timeout, GCancellable *cancellable = nullptr) = delete;

  /** Acquires if no other contender is ahead. Asks the servers once, which may take up to the
   *  connection timeout.
   *  @return false if one is, and for every other failure that may pass: error::is_temporary().
   *          lock() and acquire_lease() throw it
   *  @throws error  what a retry cannot mend: LOCK_LOST, CLOSED, AUTH_FAILED ... */
  [[nodiscard]] result<bool> try_lock () { return try_lock_for (std::chrono::seconds (0)); }

  /** Acquires within a timeout. Answers as try_lock(). */
  [[nodiscard]] result<bool> try_lock_for (limit timeout, GCancellable *cancellable = nullptr)
  {
    return try_call<bool> (curator_lock_acquire, timeout, cancellable);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  [[nodiscard]] result<bool> try_lock_until (deadline time, GCancellable *cancellable = nullptr)
  {
    return try_lock_for (time, cancellable);
  }

  /** Ends one level of the calling thread's hold, even of a lost one. A missing confirmation of the
   *  server is not reported, since the hold has ended anyway. Without a hold it logs a critical
   *  message. release() throws instead. */
  void unlock () noexcept
  {
    if (native_handle () == nullptr)
      return g_log ("curator", G_LOG_LEVEL_CRITICAL, "unlock: the curator handle is empty");
    if (mode_ == unlock_mode::background)
      return curator_lock_release_then (
          native_handle (), CURATOR_WAIT_DEFAULT, nullptr,
          [] (CuratorLock *, const GError *failed, gpointer) { log_misuse (failed); }, nullptr);
    detail::outcome outcome;
    curator_lock_release (native_handle (), CURATOR_WAIT_DEFAULT, nullptr, outcome);
    log_misuse (outcome.get ());
  }

  /** Like unlock(), but throws.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait
   *  @throws error  NOT_OWNER, or RELEASE_PENDING if the server did not confirm in time, or
   *                 is_cancelled(); after the last two the hold has ended nevertheless */
  result<void> release (detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    return call<void> (curator_lock_release, timeout, cancellable);
  }

  /** Like release(), but does not wait: the calling thread's level has ended when this returns.
   *  @param timeout  as for release(), until done is called; without one: the default
   *  @param done     called as done (const error *), once: NULL once the server has confirmed;
   *                  borrowed */
  template <class F>
  void release_then (detail::timeout timeout, F &&done, GCancellable *cancellable = nullptr)
  {
    begin<void> (std::forward<F> (done), curator_lock_release_then, timeout, cancellable);
  }

  /** The same, with the default timeout. */
  template <class F> void release_then (F &&done) { release_then ({}, std::forward<F> (done)); }

  /** Whether any thread of this process holds through this object. */
  bool is_acquired_in_this_process () const
  {
    return get (curator_lock_is_acquired_in_this_process);
  }

  /** Whether the calling thread holds through this object. */
  bool is_owned_by_current_thread () const { return get (curator_lock_is_owned_by_current_thread); }

  /** The calling thread's hold, for its token and remaining time; nothing if there is none:
   *  curator_lock_dup_lease(). Do not release it: unlock() does, and counts the levels. */
  std::optional<lease> current_lease () const
  {
    return get<std::optional<lease>> (curator_lock_dup_lease);
  }

  /** Acquires a hold that belongs to no thread and is never re-entrant. @throws error  as lock(), and
   *  TIMED_OUT if it has a timeout */
  [[nodiscard]] result<lease> acquire_lease (limit timeout = forever,
                                             GCancellable *cancellable = nullptr)
  {
    return call<lease> (curator_lock_acquire_lease, timeout, cancellable);
  }

  /** The same, without a timeout. */
  [[nodiscard]] result<lease> acquire_lease (GCancellable *cancellable)
  {
    return acquire_lease (forever, cancellable);
  }

  /** The same, but a failure that may pass is no error: nothing is returned, as try_lock() does. */
  [[nodiscard]] result<std::optional<lease>>
  try_acquire_lease_for (limit timeout, GCancellable *cancellable = nullptr)
  {
    return try_call<std::optional<lease>> (curator_lock_acquire_lease, timeout, cancellable);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  [[nodiscard]] result<std::optional<lease>>
  try_acquire_lease_until (deadline time, GCancellable *cancellable = nullptr)
  {
    return try_acquire_lease_for (time, cancellable);
  }

  /** Acquires a lease without waiting.
   *  @param timeout  curator::forever, or how long to wait in the queue
   *  @param done     called as done (lease, const error *), once: a lease and NULL, or an empty
   *                  lease and an error, which is borrowed; TIMED_OUT is an error here */
  template <class F>
  void acquire_then (limit timeout, F &&done, GCancellable *cancellable = nullptr)
  {
    begin<lease> (std::forward<F> (done), curator_lock_acquire_then, timeout, cancellable);
  }

  /** Full paths of the nodes in the queue, holders first: curator_lock_get_participant_nodes(). A
   *  name may hold any byte.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait
   *  @throws error  UNSUPPORTED for a multi_lock ... */
  result<std::vector<std::string>> participant_nodes (detail::timeout timeout = {},
                                                      GCancellable *cancellable = nullptr) const
  {
    return call<strings> (curator_lock_get_participant_nodes, timeout, cancellable);
  }

  /** Asks for them without waiting: curator_lock_get_participant_nodes_then().
   *  @param timeout  for the whole call, or curator::forever; 0 does not wait
   *  @param done     called as done (std::vector<std::string>, const error *), once; the error is
   *                  borrowed */
  template <class F>
  void participant_nodes_then (limit timeout, F &&done, GCancellable *cancellable = nullptr) const
  {
    begin<strings> (std::forward<F> (done), curator_lock_get_participant_nodes_then, timeout,
                    cancellable);
  }

  /** Ends holds granted from now on when they last so long, also if the holder hangs:
   *  curator_lock_set_max_hold(). curator::forever, the default: no maximum.
   *  @throws error  INVALID_ARGUMENT for no time at all */
  result<void> set_max_hold (limit max_hold)
  {
    detail::outcome outcome;
    CuratorLock *const lock = object ();
    return outcome.check ((max_hold != 0 || outcome.refuse ("a maximum of no time at all"))
                          && outcome.of (curator_lock_set_max_hold, lock, max_hold));
  }

  /** What set_max_hold() has set; nothing for no maximum: curator_lock_get_max_hold_ms(). */
  std::optional<std::chrono::milliseconds> max_hold () const
  {
    const gint64 ms = curator_lock_get_max_hold_ms (object ());
    return ms != CURATOR_WAIT_FOREVER ? std::optional (std::chrono::milliseconds (ms))
                                      : std::nullopt;
  }

  /** The path that the constructor was given; empty for a multi_lock. */
  std::string path () const { return get<std::string> (curator_lock_get_path); }

  /** The client that the constructor was given: another handle of it; empty for a multi_lock. */
  curator::client client () const
  {
    CuratorClient *const given = curator_lock_get_client (object ());
    return curator::client (given != nullptr ? curator_client_ref (given) : nullptr);
  }

  /** Lets other clients ask for the lock back. Covers attempts that begin after this call.
   *  @param listener  called as listener ()
   *  @throws error  UNSUPPORTED for a multi_lock */
  template <class F> result<void> make_revocable (F &&listener)
  {
    constexpr auto hear = [] (CuratorLock *, gpointer data) {
      detail::tell<std::decay_t<F>> (data);
    };
    return detail::set_callback (curator_lock_make_revocable, object (), hear,
                                 std::forward<F> (listener));
  }

  /** Reverts make_revocable(). */
  result<void> make_irrevocable ()
  {
    return call<void> (curator_lock_make_revocable, nullptr, nullptr, nullptr);
  }

  /** Another handle of the same lock object, holds included. */
  lockable share () const noexcept
  {
    lockable other = handle::share ();
    other.mode_ = mode_;
    return other;
  }

#ifdef __cpp_exceptions
  /** Acquires for the calling thread, waiting its turn; re-entrant if the recipe is.
   *  @throws error  the errors of curator_lock_acquire(): LOCK_LOST, CONNECTION_LOST, CLOSED ... */
  void lock (GCancellable *cancellable = nullptr)
  {
    call<void> (curator_lock_acquire, CURATOR_WAIT_FOREVER, cancellable);
  }
#else
  /** std::unique_lock would not see it fail. try_lock_for (curator::forever) waits as long. */
  void lock (GCancellable *cancellable = nullptr) = delete;
#endif

private:
  static void log_misuse (const GError *failed) noexcept
  {
    if (g_error_matches (failed, CURATOR_ERROR, CURATOR_ERROR_NOT_OWNER))
      g_log ("curator", G_LOG_LEVEL_CRITICAL, "unlock: %s", failed->message);
  }

  unlock_mode mode_ = unlock_mode::wait;
};

/** A lock of one recipe. */
template <class Lock> class recipe : public lockable
{
public:
  /** An empty handle. */
  recipe () noexcept = default;

  /** Another handle of the same lock object, holds included. */
  Lock share () const noexcept
  {
    Lock other;
    static_cast<lockable &> (other) = lockable::share ();
    return other;
  }

protected:
  recipe (CuratorLock *lock, unlock_mode mode) noexcept : lockable (lock, mode) {}
};

CURATOR_CPP_END
