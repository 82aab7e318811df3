/* A number of leases among all processes. */
#pragma once

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

  /** Acquires one lease, waiting its turn. @throws error  as lockable::lock(), and TIMED_OUT if it
   *  has a timeout */
  [[nodiscard]] result<lease> acquire (limit timeout = forever, GCancellable *cancellable = nullptr)
  {
    return call<lease> (curator_semaphore_acquire, timeout, cancellable);
  }

  /** The same, without a timeout. */
  [[nodiscard]] result<lease> acquire (GCancellable *cancellable)
  {
    return acquire (forever, cancellable);
  }

  /** Acquires one lease if one is free and no other contender is ahead. Nothing is returned where
   *  lockable::try_lock() returns false. */
  [[nodiscard]] result<std::optional<lease>> try_acquire ()
  {
    return try_acquire_for (std::chrono::milliseconds::zero ());
  }

  /** Acquires one lease within a timeout. */
  [[nodiscard]] result<std::optional<lease>> try_acquire_for (limit timeout,
                                                              GCancellable *cancellable = nullptr)
  {
    return try_call<std::optional<lease>> (curator_semaphore_acquire, timeout, cancellable);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  [[nodiscard]] result<std::optional<lease>> try_acquire_until (deadline time,
                                                                GCancellable *cancellable = nullptr)
  {
    return try_acquire_for (time, cancellable);
  }

  /** Acquires @p n leases or none. @throws error  as acquire() */
  [[nodiscard]] result<std::vector<lease>> acquire_n (guint n, limit timeout = forever,
                                                      GCancellable *cancellable = nullptr)
  {
    return call<std::vector<lease>> (curator_semaphore_acquire_n, n, timeout, cancellable);
  }

  /** Acquires @p n leases within a timeout, or none: then the vector is empty. */
  [[nodiscard]] result<std::vector<lease>> try_acquire_n_for (guint n, limit timeout,
                                                              GCancellable *cancellable = nullptr)
  {
    return try_call<std::vector<lease>> (curator_semaphore_acquire_n, n, timeout, cancellable);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  [[nodiscard]] result<std::vector<lease>> try_acquire_n_until (guint n, deadline time,
                                                                GCancellable *cancellable = nullptr)
  {
    return try_acquire_n_for (n, time, cancellable);
  }

  /** Acquires one lease without waiting.
   *  @param done  called as done (lease, const error *), once: a lease and NULL, or an empty lease
   *               and an error, which is borrowed */
  template <class F>
  void acquire_then (limit timeout, F &&done, GCancellable *cancellable = nullptr)
  {
    begin<lease> (std::forward<F> (done), curator_semaphore_acquire_then, timeout, cancellable);
  }

  /** Acquires @p n leases without waiting.
   *  @param done  called as done (std::vector<lease>, const error *), once: the leases and NULL, or
   *               no leases and an error, which is borrowed */
  template <class F>
  void acquire_n_then (guint n, limit timeout, F &&done, GCancellable *cancellable = nullptr)
  {
    begin<std::vector<lease>> (std::forward<F> (done), curator_semaphore_acquire_n_then, n, timeout,
                               cancellable);
  }

  /** The path that the constructor was given. */
  std::string path () const { return curator_semaphore_get_path (object ()); }

  /** The client that the constructor was given: another handle of it. */
  curator::client client () const
  {
    return curator::client (curator_client_ref (curator_semaphore_get_client (object ())));
  }

  /** Releases all of these leases at once and waits for the server:
   *  curator_semaphore_return_all().
   *  @throws error  the first failure; every lease was released nevertheless */
  result<void> return_all (const std::vector<lease> &leases, detail::timeout timeout = {},
                           GCancellable *cancellable = nullptr)
  {
    return call<void> (curator_semaphore_return_all, detail::lease_array (leases), timeout,
                       cancellable);
  }

  /** Like return_all(), but does not wait: every hold has ended when this returns.
   *  @param timeout  as for return_all(), until done is called; without one: the default
   *  @param done     called as done (const error *), once: NULL once the server has confirmed;
   *                  borrowed */
  template <class F>
  void return_all_then (const std::vector<lease> &leases, detail::timeout timeout, F &&done,
                        GCancellable *cancellable = nullptr)
  {
    begin<void> (std::forward<F> (done), curator_semaphore_return_all_then,
                 detail::lease_array (leases), timeout, cancellable);
  }

  /** The same, with the default timeout. */
  template <class F> void return_all_then (const std::vector<lease> &leases, F &&done)
  {
    return_all_then (leases, {}, std::forward<F> (done));
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
    return call<strings> (curator_semaphore_get_participant_nodes, timeout, cancellable);
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
    return call<void> (curator_semaphore_make_revocable, nullptr, nullptr, nullptr);
  }
};

CURATOR_CPP_END
