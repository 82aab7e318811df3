/* An integer shared by all processes. */
#ifndef CURATOR_CPP_SHARED_COUNT_HPP
#define CURATOR_CPP_SHARED_COUNT_HPP

#include <curator/cpp/client.hpp>
#include <curator/cpp/detail.hpp>
#include <curator/cpp/time.hpp>
#include <curator/shared_count.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace curator
{
inline namespace CURATOR_CPP_NAMESPACE
{
/** An integer shared by all processes. Wraps CuratorSharedCount; see shared_count.h. */
class [[nodiscard]] shared_count
{
public:
  /** An empty handle. */
  shared_count () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param seed  the value until start(), and of the node if start() creates it */
  [[nodiscard]] shared_count (const client &client, const std::string &path, std::int32_t seed)
  {
    detail::outcome outcome;
    if (outcome.takes (path))
      {
        handle_ = count_handle (curator_shared_count_new (detail::require (client.native_handle ()),
                                                          path.c_str (), seed, outcome));
      }
    outcome.built (native_handle () != nullptr);
  }

  /** Takes over a reference. */
  [[nodiscard]] explicit shared_count (CuratorSharedCount *object) noexcept : handle_ (object)
  {
  }

  /** Creates the node if it does not exist, reads it and follows its changes from then on:
   *  curator_shared_count_start().
   *  @param timeout  for the whole call; 0: up to the connection timeout. As for the other calls */
  result<void>
  start (detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    return outcome.check (curator_shared_count_start (detail::require (native_handle ()), timeout,
                                                      cancellable, outcome)
                          != FALSE);
  }

  /** The last known value. Sends no request. */
  std::int32_t
  get () const
  {
    return curator_shared_count_get (detail::require (native_handle ()));
  }

  /** Sets the value unconditionally and waits for the server: curator_shared_count_set(). */
  result<void>
  set (std::int32_t value, detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    return outcome.check (curator_shared_count_set (detail::require (native_handle ()), value,
                                                    timeout, cancellable, outcome)
                          != FALSE);
  }

  /** A value and the version of the node that has it. */
  struct versioned_value
  {
    std::int32_t value;   /**< the count */
    std::int32_t version; /**< of the node */
  };

  /** The last known value and its version; nothing if the node was never read. */
  std::optional<versioned_value>
  versioned () const
  {
    versioned_value last = { 0, 0 };
    const gboolean known = curator_shared_count_get_versioned (detail::require (native_handle ()),
                                                               &last.value, &last.version);
    return known ? std::optional<versioned_value> (last) : std::nullopt;
  }

  /** Sets the value if its version still is @p version, from versioned():
   *  curator_shared_count_try_set().
   *  @return false if another client changed the value first; the newer value has been read then */
  [[nodiscard]] result<bool>
  try_set (std::int32_t version, std::int32_t value, detail::timeout timeout = {},
           GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    gboolean set = FALSE;
    const gboolean asked = curator_shared_count_try_set (
        detail::require (native_handle ()), version, value, &set, timeout, cancellable, outcome);
    return outcome.give (asked != FALSE, set != FALSE);
  }

  /** Adds a listener, called as listener (std::int32_t) with each new value; values that change
   *  quickly may be skipped.
   *  @return an id for remove_listener() */
  template <class F>
  unsigned
  add_listener (F &&listener)
  {
    using callback = std::decay_t<F>;
    CuratorSharedCount *const object = detail::require (native_handle ());
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const guint id = curator_shared_count_add_listener (
        object,
        [] (CuratorSharedCount *, gint32 value, gpointer data) {
          detail::shield ([&] { (*static_cast<callback *> (data)) (std::int32_t (value)); });
        },
        kept.get (), detail::destroy<callback>);
    return detail::release_to_library (kept, id);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_listener (unsigned id) noexcept
  {
    if (native_handle () != nullptr)
      curator_shared_count_remove_listener (native_handle (), id);
  }

  /** Stops following the node, without deleting it. */
  void
  close () noexcept
  {
    if (native_handle () != nullptr)
      curator_shared_count_close (native_handle ());
  }

  /** Another handle of the same count. */
  shared_count
  share () const noexcept
  {
    return shared_count (handle_.new_ref ());
  }

  /** The count for the C functions; borrowed. */
  CuratorSharedCount *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using count_handle =
      detail::handle<CuratorSharedCount, curator_shared_count_ref, curator_shared_count_unref>;
  count_handle handle_;
};
}
}

#endif
