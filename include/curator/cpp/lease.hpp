/* One hold. */
#ifndef CURATOR_CPP_LEASE_HPP
#define CURATOR_CPP_LEASE_HPP

#include <curator/cpp/cancellable.hpp>
#include <curator/cpp/detail.hpp>
#include <curator/cpp/time.hpp>
#include <curator/lease.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace curator
{
inline namespace CURATOR_CPP_NAMESPACE
{
/** States of a hold: CuratorLeaseState. */
enum class lease_state
{
  held = CURATOR_LEASE_HELD,        /**< held, as a recent answer from the server proves */
  suspect = CURATOR_LEASE_SUSPECT,  /**< the deadline approaches: begin nothing new */
  lost = CURATOR_LEASE_LOST,        /**< no longer held: stop at once */
  released = CURATOR_LEASE_RELEASED /**< released by this process */
};

/** Name of a state, for example "HELD". */
inline const char *
to_string (lease_state state) noexcept
{
  return curator_lease_state_to_string (static_cast<CuratorLeaseState> (state));
}

/** One hold that belongs to no thread. Wraps CuratorLease; see lease.h. Destroying its last handle
 *  releases it in the background; release() waits for the server. */
class [[nodiscard]] lease
{
public:
  /** An empty handle. */
  lease () noexcept = default;

  /** Takes over a reference. */
  [[nodiscard]] explicit lease (CuratorLease *object) noexcept : handle_ (object)
  {
  }

  /** Whether the handle is not empty; the lease may be held or not. */
  explicit operator bool () const noexcept
  {
    return handle_.get () != nullptr;
  }

  /** Full path of the lock node, without namespace. */
  std::string
  node_path () const
  {
    return curator_lease_get_node_path (detail::require (native_handle ()));
  }

  /** Last part of the node's path. */
  std::string
  node_name () const
  {
    return curator_lease_get_node_name (detail::require (native_handle ()));
  }

  /** Grows with every later exclusive grant; curator_lease_get_fencing_token(). */
  [[nodiscard]] std::uint64_t
  fencing_token () const
  {
    return curator_lease_get_fencing_token (detail::require (native_handle ()));
  }

  /** The current state. */
  [[nodiscard]] lease_state
  state () const
  {
    return static_cast<lease_state> (curator_lease_get_state (detail::require (native_handle ())));
  }

  /** Time until the hold's deadline if no server answers again; zero after it. */
  [[nodiscard]] std::chrono::milliseconds
  remaining () const
  {
    return std::chrono::milliseconds (
        curator_lease_get_remaining_ms (detail::require (native_handle ())));
  }

  /** Whether a step of that duration can end before the deadline. Call it before each step that
   *  cannot be undone. */
  template <class Rep, class Period>
  [[nodiscard]] bool
  valid_for (const std::chrono::duration<Rep, Period> &time) const
  {
    const std::chrono::duration<double, std::milli> left = remaining ();
    return left.count () > 0
           && left.count () >= std::chrono::duration<double, std::milli> (time).count ();
  }

  /** Gives a hold with a maximum at least that much time from now; lockable::set_max_hold(),
   *  curator_lease_extend().
   *  @throws error  LOCK_LOST if the hold has ended */
  template <class Rep, class Period>
  result<void>
  extend (const std::chrono::duration<Rep, Period> &at_least) const
  {
    detail::outcome outcome;
    return outcome.check (
        curator_lease_extend (detail::require (native_handle ()), detail::to_ms (at_least), outcome)
        != FALSE);
  }

  /** A descriptor for poll(), readable once the lease is lost or released. Owned by the lease; -1
   *  if the process has no descriptor left. */
  int
  fd () const
  {
    return curator_lease_get_fd (detail::require (native_handle ()));
  }

  /** Id of the session that owns the lease. */
  std::int64_t
  session_id () const
  {
    return curator_lease_get_session_id (detail::require (native_handle ()));
  }

  /** Is cancelled once the lease is lost or released; curator_lease_get_cancellable(). Borrowed. */
  GCancellable *
  cancellable () const
  {
    return curator_lease_get_cancellable (detail::require (native_handle ()));
  }

#ifdef __cpp_lib_jthread
  /** A token that is stopped once the lease is lost or released. Stop callbacks run on a thread of the
   *  library. */
  std::stop_token
  stop_token () const
  {
    return stop_token_of (cancellable ());
  }
#endif

  /** Reads the payload of the node from the server: curator_lease_get_data().
   *  @param timeout  for the whole call; 0: up to the connection timeout
   *  @throws error  LOCK_LOST if the node is gone ... */
  result<std::string>
  data (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    GBytes *bytes =
        curator_lease_get_data (detail::require (native_handle ()), timeout, cancellable, outcome);
    std::string text;
    if (bytes != nullptr)
      {
        gsize size = 0;
        const void *start = g_bytes_get_data (bytes, &size);
        text.assign (static_cast<const char *> (start), size);
        g_bytes_unref (bytes);
      }
    return outcome.give (bytes != nullptr, std::move (text));
  }

  /** Adds a listener, called for every change of state, in order. If the lease is lost or released
   *  already, one call with that state follows. Destroying the last handle calls no listener.
   *  @param listener  called as listener (lease_state). If it captures a handle of the same lease,
   *                   that handle keeps the lease held until the lease is lost or released
   *  @return an id for remove_listener() */
  template <class F>
  unsigned
  add_listener (F &&listener)
  {
    using callback = std::decay_t<F>;
    CuratorLease *const object = detail::require (native_handle ());
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const guint id = curator_lease_add_listener (
        object,
        [] (CuratorLease *, CuratorLeaseState state, gpointer data) {
          detail::shield (
              [&] { (*static_cast<callback *> (data)) (static_cast<lease_state> (state)); });
        },
        kept.get (), detail::destroy<callback>);
    return detail::release_to_library (kept, id);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_listener (unsigned id) noexcept
  {
    if (native_handle () != nullptr)
      curator_lease_remove_listener (native_handle (), id);
  }

  /** Releases the hold and waits for the server to confirm. Idempotent.
   *  @param timeout  for the wait; 0: up to the connection timeout
   *  @throws error  RELEASE_PENDING if no confirmation came in time, or is_cancelled(); the hold has
   *                 ended nevertheless, and its node is deleted in the background */
  result<void>
  release (detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    return outcome.check (
        curator_lease_release (detail::require (native_handle ()), timeout, cancellable, outcome)
        != FALSE);
  }

  /** Like release(), but does not wait, and reports the confirmation of the server.
   *  @param done  called as done (const error *), once: NULL on success; borrowed */
  template <class F>
  void
  async_release (F &&done)
  {
    using callback = std::decay_t<F>;
    CuratorLease *const object = detail::require (native_handle ());
    curator_lease_release_async (
        object,
        [] (CuratorLease *, const GError *failed, gpointer data) {
          detail::tell_release<callback> (failed, data);
        },
        detail::keep (std::forward<F> (done)));
  }

  /** Empties this handle without waiting. Emptying the last one releases the hold in the
   *  background. */
  void
  reset () noexcept
  {
    *this = lease ();
  }

  /** Another handle of the same hold. */
  lease
  share () const noexcept
  {
    return lease (handle_.new_ref ());
  }

  /** The lease for the C functions; borrowed. */
  CuratorLease *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  detail::handle<CuratorLease, curator_lease_ref, curator_lease_unref> handle_;
};
}
}

#endif
