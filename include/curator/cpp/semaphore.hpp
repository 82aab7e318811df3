/* A number of leases among all processes. */
#ifndef CURATOR_CPP_SEMAPHORE_HPP
#define CURATOR_CPP_SEMAPHORE_HPP

#include <curator/cpp/client.hpp>
#include <curator/cpp/lease.hpp>
#include <curator/cpp/shared_count.hpp>
#include <curator/semaphore.h>

CURATOR_CPP_BEGIN

/** A number of leases among all processes, handed out in order of arrival. Wraps CuratorSemaphore;
 *  see semaphore.h. */
class [[nodiscard]] semaphore
    : public handle<semaphore, CuratorSemaphore, curator_semaphore_ref, curator_semaphore_unref>
{
public:
  /** An empty handle. */
  semaphore () noexcept = default;

  /** @param max_leases  at least 1; all processes must use the same number.
   *  @throws error  INVALID_ARGUMENT */
  [[nodiscard]] semaphore (const curator::client &client, const std::string &path, guint max_leases)
      : handle (detail::create (curator_semaphore_new, client, path, max_leases))
  {
  }

  /** Creates a semaphore whose number of leases follows @p count, which must be started.
   *  @throws error  INVALID_ARGUMENT */
  [[nodiscard]] semaphore (const curator::client &client, const std::string &path,
                           const shared_count &count)
      : handle (detail::create (curator_semaphore_new_with_shared_count, client, path, count))
  {
  }

  using handle::handle;

  /** Acquires one lease, waiting its turn. @throws error  as lockable::lock() */
  [[nodiscard]] result<lease> acquire (GCancellable *cancellable = nullptr)
  {
    return detail::call<lease> (curator_semaphore_acquire, object (), CURATOR_WAIT_FOREVER,
                                cancellable);
  }

  /** The same, within a timeout. @throws error  also TIMED_OUT */
  template <class Rep, class Period>
  [[nodiscard]] result<lease> acquire (const std::chrono::duration<Rep, Period> &timeout,
                                       GCancellable *cancellable = nullptr)
  {
    return detail::call<lease> (curator_semaphore_acquire, object (), detail::to_ms (timeout),
                                cancellable);
  }

  /** Acquires one lease if one is free and no other contender is ahead. Nothing is returned where
   *  lockable::try_lock() returns false. */
  [[nodiscard]] result<std::optional<lease>> try_acquire ()
  {
    return try_acquire_for (std::chrono::milliseconds::zero ());
  }

  /** Acquires one lease within a timeout. */
  template <class Rep, class Period>
  [[nodiscard]] result<std::optional<lease>>
  try_acquire_for (const std::chrono::duration<Rep, Period> &timeout,
                   GCancellable *cancellable = nullptr)
  {
    return detail::try_call<std::optional<lease>> (curator_semaphore_acquire, object (),
                                                   detail::to_ms (timeout), cancellable);
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
    return detail::try_call<std::vector<lease>> (curator_semaphore_acquire_n, object (), n,
                                                 detail::to_ms (timeout), cancellable);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  template <class Clock, class Duration>
  [[nodiscard]] result<std::vector<lease>>
  try_acquire_n_until (guint n, const std::chrono::time_point<Clock, Duration> &time,
                       GCancellable *cancellable = nullptr)
  {
    return try_acquire_n_for (n, detail::left_until (time), cancellable);
  }

  /** Acquires @p n leases without waiting.
   *  @param done  called as done (std::vector<lease>, const error *), once: the leases and NULL, or
   *               no leases and an error, which is borrowed */
  template <class Rep, class Period, class F>
  void acquire_then (guint n, const std::chrono::duration<Rep, Period> &timeout, F &&done,
                     GCancellable *cancellable = nullptr)
  {
    CuratorSemaphore *const leases = object ();
    curator_semaphore_acquire_then (
        leases, n, detail::to_ms (timeout), cancellable,
        [] (CuratorSemaphore *, GPtrArray *granted, const GError *failed, gpointer data) {
          detail::answer<std::decay_t<F>, std::vector<lease>> (data, failed, granted);
        },
        new std::decay_t<F> (std::forward<F> (done)));
  }

  /** The path that the constructor was given. */
  std::string path () const { return curator_semaphore_get_path (object ()); }

  /** The client that the constructor was given: another handle of it. */
  curator::client client () const
  {
    return curator::client (curator_client_ref (curator_semaphore_get_client (object ())));
  }

  /** Acquires one lease without waiting.
   *  @param done  called as done (lease, const error *), once: a lease and NULL, or an empty lease
   *               and an error, which is borrowed */
  template <class Rep, class Period, class F>
  void acquire_one_then (const std::chrono::duration<Rep, Period> &timeout, F &&done,
                         GCancellable *cancellable = nullptr)
  {
    CuratorSemaphore *const leases = object ();
    curator_semaphore_acquire_one_then (
        leases, detail::to_ms (timeout), cancellable,
        [] (CuratorSemaphore *, CuratorLease *granted, const GError *failed, gpointer data) {
          detail::answer<std::decay_t<F>, lease> (data, failed, granted);
        },
        new std::decay_t<F> (std::forward<F> (done)));
  }

  /** Releases all of these leases at once and waits for the server:
   *  curator_semaphore_return_all().
   *  @throws error  the first failure; every lease was released nevertheless */
  result<void> return_all (const std::vector<lease> &leases, detail::timeout timeout = {},
                           GCancellable *cancellable = nullptr)
  {
    CuratorSemaphore *const all = object ();
    const auto borrowed = array_of (leases);
    detail::outcome outcome;
    return outcome.check (
        curator_semaphore_return_all (all, borrowed.get (), timeout, cancellable, outcome));
  }

  /** Like return_all(), but does not wait: every hold has ended when this returns.
   *  @param timeout  as for return_all(), until done is called; without one: the default
   *  @param done     called as done (const error *), once: NULL once the server has confirmed;
   *                  borrowed */
  template <class F>
  void return_all_then (const std::vector<lease> &leases, detail::timeout timeout, F &&done,
                        GCancellable *cancellable = nullptr)
  {
    CuratorSemaphore *const all = object ();
    const auto borrowed = array_of (leases);
    curator_semaphore_return_all_then (
        all, borrowed.get (), timeout, cancellable,
        [] (CuratorSemaphore *, const GError *failed, gpointer data) {
          detail::answer<std::decay_t<F>> (data, failed);
        },
        new std::decay_t<F> (std::forward<F> (done)));
  }

  /** The same, with the default timeout. */
  template <class F> void return_all_then (const std::vector<lease> &leases, F &&done)
  {
    return_all_then (leases, detail::timeout (), std::forward<F> (done));
  }

  /** The number of leases, or the last known value of the shared count. */
  guint max_leases () const { return curator_semaphore_get_max_leases (object ()); }

  /** Sets the payload of the nodes of later leases. */
  void set_node_data (std::string_view data)
  {
    curator_semaphore_set_node_data (object (), data.data (), data.size ());
  }

  /** Full paths of the lease nodes, oldest first: curator_semaphore_get_participant_nodes(). A name
   *  may hold any byte.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait */
  result<std::vector<std::string>> participant_nodes (detail::timeout timeout = {},
                                                      GCancellable *cancellable = nullptr) const
  {
    return detail::call<std::vector<std::string>> (curator_semaphore_get_participant_nodes,
                                                   object (), timeout, cancellable);
  }

  /** Lets other clients ask for a lease back. Covers leases acquired after this call.
   *  @param listener  called as listener (const lease &); the lease is borrowed: share() it to keep
   *                   it */
  template <class F> result<void> make_revocable (F &&listener)
  {
    constexpr auto hear = [] (CuratorSemaphore *, CuratorLease *asked, gpointer data) {
      const lease hold (curator_lease_ref (asked));
      detail::tell<std::decay_t<F>> (data, hold);
    };
    return detail::set_callback (curator_semaphore_make_revocable, object (), hear,
                                 std::forward<F> (listener));
  }

  /** Reverts make_revocable(). */
  result<void> make_irrevocable ()
  {
    return detail::call<void> (curator_semaphore_make_revocable, object (), nullptr, nullptr,
                               nullptr);
  }

private:
  using array = std::unique_ptr<GPtrArray, void (*) (GPtrArray *)>;

  /* Borrows the leases. */
  static array array_of (const std::vector<lease> &leases)
  {
    array all (g_ptr_array_new (), g_ptr_array_unref);
    for (const lease &one : leases)
      g_ptr_array_add (all.get (), detail::require (one.native_handle ()));
    return all;
  }
};

CURATOR_CPP_END

#endif
