/* A number of leases among all processes. */
#ifndef CURATOR_CPP_SEMAPHORE_HPP
#define CURATOR_CPP_SEMAPHORE_HPP

#include <curator/cpp/client.hpp>
#include <curator/cpp/detail.hpp>
#include <curator/cpp/lease.hpp>
#include <curator/cpp/shared_count.hpp>
#include <curator/cpp/time.hpp>
#include <curator/semaphore.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace curator
{
inline namespace CURATOR_CPP_NAMESPACE
{
/** A number of leases among all processes, handed out in order of arrival. Wraps CuratorSemaphore;
 *  see semaphore.h. */
class [[nodiscard]] semaphore
{
public:
  /** An empty handle. */
  semaphore () noexcept = default;

  /** @param max_leases  at least 1; all processes must use the same number.
   *  @throws error  INVALID_ARGUMENT */
  [[nodiscard]] semaphore (const client &client, const std::string &path, guint max_leases)
  {
    detail::outcome outcome;
    if (outcome.takes (path))
      {
        handle_ = semaphore_handle (curator_semaphore_new (
            detail::require (client.native_handle ()), path.c_str (), max_leases, outcome));
      }
    outcome.built (native_handle () != nullptr);
  }

  /** Creates a semaphore whose number of leases follows @p count, which must be started.
   *  @throws error  INVALID_ARGUMENT */
  [[nodiscard]] semaphore (const client &client, const std::string &path, const shared_count &count)
  {
    detail::outcome outcome;
    if (outcome.takes (path))
      {
        handle_ = semaphore_handle (curator_semaphore_new_with_shared_count (
            detail::require (client.native_handle ()), path.c_str (),
            detail::require (count.native_handle ()), outcome));
      }
    outcome.built (native_handle () != nullptr);
  }

  /** Takes over a reference. */
  [[nodiscard]] explicit semaphore (CuratorSemaphore *object) noexcept : handle_ (object)
  {
  }

  /** Acquires one lease, waiting its turn. @throws error  as lockable::lock() */
  [[nodiscard]] result<lease>
  acquire (GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_semaphore_acquire (detail::require (native_handle ()),
                                              CURATOR_WAIT_FOREVER, cancellable, outcome));
    const bool is_granted = bool (granted);
    return outcome.give (is_granted, std::move (granted));
  }

  /** The same, within a timeout. @throws error  also TIMED_OUT */
  template <class Rep, class Period>
  [[nodiscard]] result<lease>
  acquire (const std::chrono::duration<Rep, Period> &timeout, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_semaphore_acquire (detail::require (native_handle ()),
                                              detail::to_ms (timeout), cancellable, outcome));
    const bool is_granted = bool (granted);
    return outcome.give (is_granted, std::move (granted));
  }

  /** Acquires one lease if one is free and no other contender is ahead. @throws error  as
   *  lockable::try_lock() */
  [[nodiscard]] result<std::optional<lease>>
  try_acquire ()
  {
    return try_acquire_for (std::chrono::milliseconds::zero ());
  }

  /** Acquires one lease within a timeout. */
  template <class Rep, class Period>
  [[nodiscard]] result<std::optional<lease>>
  try_acquire_for (const std::chrono::duration<Rep, Period> &timeout,
                   GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_semaphore_acquire (detail::require (native_handle ()),
                                              detail::to_ms (timeout), cancellable, outcome));
    const bool is_granted = bool (granted);
    return outcome.in_time (is_granted, std::move (granted));
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  template <class Clock, class Duration>
  [[nodiscard]] result<std::optional<lease>>
  try_acquire_until (const std::chrono::time_point<Clock, Duration> &time,
                     GCancellable *cancellable = nullptr)
  {
    return try_acquire_for (detail::left_until (time), cancellable);
  }

  /** Acquires @p n leases within a timeout, or none: then the vector is empty. */
  template <class Rep, class Period>
  [[nodiscard]] result<std::vector<lease>>
  try_acquire_n_for (guint n, const std::chrono::duration<Rep, Period> &timeout,
                     GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    GPtrArray *granted = curator_semaphore_acquire_n (
        detail::require (native_handle ()), n, detail::to_ms (timeout), cancellable, outcome);
    return outcome.give (granted != nullptr || outcome.is_late (), take_leases (granted));
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  template <class Clock, class Duration>
  [[nodiscard]] result<std::vector<lease>>
  try_acquire_n_until (guint n, const std::chrono::time_point<Clock, Duration> &time,
                       GCancellable *cancellable = nullptr)
  {
    return try_acquire_n_for (n, detail::left_until (time), cancellable);
  }

  /** Acquires @p n leases asynchronously.
   *  @param done  called as done (std::vector<lease>, const error *), once: the leases and NULL, or
   *               no leases and an error, which is borrowed */
  template <class Rep, class Period, class F>
  void
  acquire_async (guint n, const std::chrono::duration<Rep, Period> &timeout, F &&done,
                 GCancellable *cancellable = nullptr)
  {
    using callback = std::decay_t<F>;
    CuratorSemaphore *const object = detail::require (native_handle ());
    curator_semaphore_acquire_async (
        object, n, detail::to_ms (timeout), cancellable,
        [] (CuratorSemaphore *, GPtrArray *granted, const GError *failed, gpointer data) {
          detail::shield ([&] {
            const auto kept = detail::take<callback> (data);
            auto leases = take_leases (granted);
            const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
            (*kept) (std::move (leases), why ? &*why : nullptr);
          });
        },
        detail::keep (std::forward<F> (done)));
  }

  /** The number of leases, or the last known value of the shared count. */
  guint
  max_leases () const
  {
    return curator_semaphore_get_max_leases (detail::require (native_handle ()));
  }

  /** Sets the payload of the nodes of later leases. */
  void
  set_node_data (std::string_view data)
  {
    curator_semaphore_set_node_data (detail::require (native_handle ()), data.data (),
                                     data.size ());
  }

  /** Full paths of the lease nodes, oldest first: curator_semaphore_get_participant_nodes(). A name may
   *  hold any byte.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  result<std::vector<std::string>>
  participant_nodes (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    char **nodes = curator_semaphore_get_participant_nodes (detail::require (native_handle ()),
                                                            timeout, cancellable, outcome);
    return outcome.give (nodes != nullptr, detail::take_strings (nodes));
  }

  /** Lets other clients ask for a lease back. Covers leases acquired after this call.
   *  @param listener  called as listener (const lease &); the lease is borrowed: share() it to keep
   *                   it */
  template <class F>
  result<void>
  make_revocable (F &&listener)
  {
    using callback = std::decay_t<F>;
    detail::outcome outcome;
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const gboolean taken = curator_semaphore_make_revocable (
        detail::require (native_handle ()),
        [] (CuratorSemaphore *, CuratorLease *asked, gpointer data) {
          detail::shield ([&] {
            const lease hold (curator_lease_ref (asked));
            (*static_cast<callback *> (data)) (hold);
          });
        },
        kept.get (), detail::destroy<callback>, outcome);
    if (taken)
      {
        static_cast<void> (kept.release ());
      }
    return outcome.check (taken != FALSE);
  }

  /** Another handle of the same semaphore. */
  semaphore
  share () const noexcept
  {
    return semaphore (handle_.new_ref ());
  }

  /** The semaphore for the C functions; borrowed. */
  CuratorSemaphore *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using semaphore_handle =
      detail::handle<CuratorSemaphore, curator_semaphore_ref, curator_semaphore_unref>;

  static std::vector<lease>
  take_leases (GPtrArray *granted)
  {
    return detail::take_array (granted, [] (gpointer one) {
      return lease (curator_lease_ref (static_cast<CuratorLease *> (one)));
    });
  }

  semaphore_handle handle_;
};
}
}

#endif
