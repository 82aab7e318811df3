/* An integer shared by all processes. */
#pragma once

#include <curator/cpp/client.hpp>
#include <curator/shared_count.h>

CURATOR_CPP_BEGIN

/** An integer shared by all processes. Wraps CuratorSharedCount; see shared_count.h. */
class [[nodiscard]] shared_count
    : public handle<shared_count, CuratorSharedCount, curator_shared_count_ref,
                    curator_shared_count_unref>
{
public:
  /** An empty handle. */
  shared_count () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param seed  the value until start(), and of the node if start() creates it */
  [[nodiscard]] shared_count (const curator::client &client, const std::string &path,
                              std::int32_t seed)
      : handle (detail::create (curator_shared_count_new, client, path, seed))
  {
  }

  using handle::handle;

  /** The path that the constructor was given. */
  std::string path () const { return curator_shared_count_get_path (object ()); }

  /** The client that the constructor was given: another handle of it. */
  curator::client client () const
  {
    return curator::client (curator_client_ref (curator_shared_count_get_client (object ())));
  }

  /** Creates the node if it does not exist, reads it and follows its changes from then on:
   *  curator_shared_count_start().
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait. As
   *                  for the other calls */
  result<void> start (detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    return call<void> (curator_shared_count_start, timeout, cancellable);
  }

  /** The last known value. Sends no request. */
  std::int32_t get () const { return curator_shared_count_get (object ()); }

  /** Sets the value unconditionally and waits for the server: curator_shared_count_set(). */
  result<void> set (std::int32_t value, detail::timeout timeout = {},
                    GCancellable *cancellable = nullptr)
  {
    return call<void> (curator_shared_count_set, value, timeout, cancellable);
  }

  /** A value and the version of the node that has it. */
  struct versioned_value
  {
    std::int32_t value;   /**< the count */
    std::int32_t version; /**< of the node */
  };

  /** The last known value and its version; nothing if the node was never read. */
  std::optional<versioned_value> versioned () const
  {
    versioned_value last = { 0, 0 };
    const gboolean known =
        curator_shared_count_get_versioned (object (), &last.value, &last.version);
    return known ? std::optional<versioned_value> (last) : std::nullopt;
  }

  /** Sets the value if its version still is @p version, from versioned():
   *  curator_shared_count_try_set().
   *  @return false if another client changed the value first; the newer value has been read then
   *  @throws error  every failure: without an answer the value may or may not be set */
  [[nodiscard]] result<bool> try_set (std::int32_t version, std::int32_t value,
                                      detail::timeout timeout = {},
                                      GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    gboolean set = FALSE;
    const gboolean asked = curator_shared_count_try_set (object (), version, value, &set, timeout,
                                                         cancellable, outcome);
    return outcome.give (asked, set != FALSE);
  }

  /** Adds a listener, called as listener (std::int32_t) with each new value; values that change
   *  quickly may be skipped.
   *  @return an id for remove_listener() */
  template <class F> unsigned add_listener (F &&listener)
  {
    return detail::listen<std::int32_t> (curator_shared_count_add_listener, object (),
                                         std::forward<F> (listener));
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void remove_listener (unsigned id) noexcept
  {
    unless_empty (curator_shared_count_remove_listener, id);
  }

  /** Stops following the node, without deleting it. */
  void close () noexcept { unless_empty (curator_shared_count_close); }
};

CURATOR_CPP_END
