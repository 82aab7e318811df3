/* One hold. */
#pragma once

#include <curator/cpp/cancellable.hpp>
#include <curator/cpp/handle.hpp>
#include <curator/lease.h>

CURATOR_CPP_BEGIN

/** States of a hold: CuratorLeaseState. */
enum class lease_state
{
  held = CURATOR_LEASE_STATE_HELD,        /**< held, as a recent answer from the server proves */
  suspect = CURATOR_LEASE_STATE_SUSPECT,  /**< the deadline approaches: begin nothing new */
  lost = CURATOR_LEASE_STATE_LOST,        /**< no longer held: stop at once */
  released = CURATOR_LEASE_STATE_RELEASED /**< released by this process */
};

/** Name of a state, for example "HELD". */
inline const char *
to_string (lease_state state) noexcept
{
  return curator_lease_state_to_string (CuratorLeaseState (state));
}

/** Why a hold is lost: CuratorLostReason. */
enum class lost_reason
{
  none = CURATOR_LOST_REASON_NONE,        /**< it is not lost */
  session = CURATOR_LOST_REASON_SESSION,  /**< the session expired, or no server was reached */
  clock = CURATOR_LOST_REASON_CLOCK,      /**< no quorum confirmed it in time */
  deleted = CURATOR_LOST_REASON_DELETED,  /**< another client deleted its node */
  closed = CURATOR_LOST_REASON_CLOSED,    /**< the client was closed */
  max_hold = CURATOR_LOST_REASON_MAX_HOLD /**< it lasted longer than its maximum */
};

/** Name of a reason, for example "MAX_HOLD". */
inline const char *
to_string (lost_reason reason) noexcept
{
  return curator_lost_reason_to_string (CuratorLostReason (reason));
}

/** One hold that belongs to no thread. Wraps CuratorLease; see lease.h. Destroying its last handle
 *  releases it in the background; release() waits for the server. */
class [[nodiscard]] lease
    : public handle<lease, CuratorLease, curator_lease_ref, curator_lease_unref>
{
public:
  using handle::handle;

  /** Whether the handle is not empty; the lease may be held or not. */
  explicit operator bool () const noexcept { return native_handle () != nullptr; }

  /** Full path of the lock node, without namespace. */
  std::string node_path () const { return curator_lease_get_node_path (object ()); }

  /** Last part of the node's path. */
  std::string node_name () const { return curator_lease_get_node_name (object ()); }

  /** Grows with every later exclusive grant; curator_lease_get_fencing_token(). */
  [[nodiscard]] std::uint64_t fencing_token () const
  {
    return curator_lease_get_fencing_token (object ());
  }

  /** The current state. */
  [[nodiscard]] lease_state state () const { return get<lease_state> (curator_lease_get_state); }

  /** Why it is lost; none unless it is. */
  [[nodiscard]] curator::lost_reason lost_reason () const
  {
    return get<curator::lost_reason> (curator_lease_get_lost_reason);
  }

  /** Time until the hold's deadline if no server answers again; zero after it. */
  [[nodiscard]] std::chrono::milliseconds remaining () const
  {
    return get<std::chrono::milliseconds> (curator_lease_get_remaining_ms);
  }

  /** Whether a step of that duration can end before the deadline. Call it before each step that
   *  cannot be undone. */
  template <class Rep, class Period>
  [[nodiscard]] bool valid_for (const std::chrono::duration<Rep, Period> &time) const
  {
    const std::chrono::duration<double, std::milli> left = remaining ();
    return left.count () > 0
           && left.count () >= std::chrono::duration<double, std::milli> (time).count ();
  }

  /** Gives a hold with a maximum at least that much time from now; lockable::set_max_hold(),
   *  curator_lease_extend().
   *  @throws error  LOCK_LOST if the hold has ended */
  result<void> extend (limit at_least) const { return call<void> (curator_lease_extend, at_least); }

  /** A descriptor for poll(), readable once the lease is lost or released. Owned by the lease; -1
   *  if the process has no descriptor left. */
  int fd () const { return curator_lease_get_fd (object ()); }

  /** Id of the session that owns the lease. */
  std::int64_t session_id () const { return curator_lease_get_session_id (object ()); }

  /** Is cancelled once the lease is lost or released; curator_lease_get_cancellable(). Borrowed. */
  GCancellable *cancellable () const { return curator_lease_get_cancellable (object ()); }

  /** Reads the payload of the node from the server: curator_lease_get_data().
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait
   *  @throws error  LOCK_LOST if the node is gone ... */
  result<std::string> data (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    return call<std::string> (curator_lease_get_data, timeout, cancellable);
  }

  /** Adds a listener, called for every change of state, in order. If the lease is lost or released
   *  already, one call with that state follows. Destroying the last handle calls no listener.
   *  @param listener  called as listener (lease_state). If it captures a handle of the same lease,
   *                   that handle keeps the lease held until the lease is lost or released
   *  @return an id for remove_listener() */
  template <class F> unsigned add_listener (F &&listener)
  {
    return detail::listen<lease_state> (curator_lease_add_listener, object (),
                                        std::forward<F> (listener));
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void remove_listener (unsigned id) noexcept { unless_empty (curator_lease_remove_listener, id); }

  /** Releases the hold and waits for the server to confirm. Idempotent.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait
   *  @throws error  RELEASE_PENDING if no confirmation came in time, or is_cancelled(); the hold has
   *                 ended nevertheless, and its node is deleted in the background */
  result<void> release (detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    return call<void> (curator_lease_release, timeout, cancellable);
  }

  /** Like release(), but does not wait: the hold has ended when this returns.
   *  @param timeout  as for release(), until done is called; without one: the default
   *  @param done     called as done (const error *), once: NULL once the server has confirmed;
   *                  borrowed */
  template <class F>
  void release_then (detail::timeout timeout, F &&done, GCancellable *cancellable = nullptr)
  {
    begin<void> (std::forward<F> (done), curator_lease_release_then, timeout, cancellable);
  }

  /** The same, with the default timeout. */
  template <class F> void release_then (F &&done) { release_then ({}, std::forward<F> (done)); }

  /** Empties this handle without waiting. Emptying the last one releases the hold in the
   *  background. */
  void reset () noexcept { *this = lease (); }

#ifdef __cpp_lib_jthread
  /** A token that is stopped once the lease is lost or released. Stop callbacks run on a thread of
   *  the library. */
  std::stop_token stop_token () const
  {
    return stop_token_of (cancellable ());
  }
#endif
};

namespace detail
{
/* For C, which keeps them. */
struct lease_array : handle<lease_array, GPtrArray, g_ptr_array_ref, g_ptr_array_unref>
{
  explicit lease_array (const std::vector<lease> &leases)
      : handle (g_ptr_array_new_with_free_func (
          [] (gpointer hold) { curator_lease_unref (static_cast<CuratorLease *> (hold)); }))
  {
    for (const lease &one : leases)
      g_ptr_array_add (native_handle (), curator_lease_ref (require (one.native_handle ())));
  }
};
}

CURATOR_CPP_END
