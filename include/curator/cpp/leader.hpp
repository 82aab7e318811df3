/* Elections. */
#pragma once

#include <curator/cpp/client.hpp>
#include <curator/cpp/lease.hpp>
#include <curator/leader.h>

CURATOR_CPP_BEGIN

/** A candidate in an election when the server was asked. Copies a CuratorLeaderParticipant. */
struct leader_participant
{
  std::string id; /**< that the participant was given */
  bool is_leader; /**< it led */
};

/** Which listeners hear that a closed latch leads no more. Wraps CuratorLeaderLatchCloseMode. */
enum class latch_close_mode
{
  silent = CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT,              /**< none */
  notify_leader = CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER /**< those of a latch that leads */
};

namespace detail
{
template <>
inline leader_participant
take (gpointer given)
{
  auto *const object = static_cast<CuratorLeaderParticipant *> (given);
  const std::unique_ptr<CuratorLeaderParticipant, void (*) (CuratorLeaderParticipant *)> owner (
      object, curator_leader_participant_unref);
  return { curator_leader_participant_get_id (object),
           curator_leader_participant_is_leader (object) != FALSE };
}

/* Nothing, if there is none. */
template <class Function, class... Args>
result<std::optional<leader_participant>>
leader_of (Function function, const Args &...args)
{
  outcome outcome;
  const gpointer leader = outcome.of (function, args...);
  return outcome.give (leader != nullptr || outcome.get () == nullptr,
                       leader != nullptr ? std::optional (take<leader_participant> (leader))
                                         : std::nullopt);
}
}

/** Runs a function on a thread of its own while it leads. Wraps CuratorLeaderSelector; see
 *  leader.h. */
class [[nodiscard]] leader_selector
    : public handle<leader_selector, CuratorLeaderSelector, curator_leader_selector_ref,
                    curator_leader_selector_unref>
{
public:
  /** An empty handle. */
  leader_selector () noexcept = default;

  using handle::handle;

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param lead  called as lead (const lease &, GCancellable *) for each leadership, which ends when
   *               it returns. It should return soon after the cancellable was cancelled; in C++20,
   *               stop_token_of (cancellable) is a token for that. lease::stop_token() is stopped
   *               only when the lease has ended, whatever the rule of the selector */
  template <class F>
  [[nodiscard]] leader_selector (const curator::client &client, const std::string &path, F &&lead)
      : handle (detail::entrust (std::forward<F> (lead), [&] (gpointer kept, GDestroyNotify free) {
          const CuratorTakeLeadershipFunc hear = [] (CuratorLeaderSelector *, CuratorLease *held,
                                                     GCancellable *cancellable, gpointer data) {
            const lease leadership (curator_lease_ref (held));
            detail::tell<std::decay_t<F>> (data, leadership, cancellable);
          };
          return detail::create (curator_leader_selector_new, client, path, hear, kept, free);
        }))
  {
  }

  /** Sets the id, which other participants see. Call it before start(). */
  result<void> set_id (const std::string &id)
  {
    return call<void> (curator_leader_selector_set_id, id);
  }

  /** The id; empty if none was set. */
  std::string id () const { return curator_leader_selector_get_id (object ()); }

  /** The path that the constructor was given. */
  std::string path () const { return curator_leader_selector_get_path (object ()); }

  /** The client that the constructor was given: another handle of it. */
  curator::client client () const
  {
    return curator::client (curator_client_ref (curator_leader_selector_get_client (object ())));
  }

  /** Sets whether it queues again after each leadership and each failure; default false. */
  void set_auto_requeue (bool auto_requeue)
  {
    curator_leader_selector_set_auto_requeue (object (), auto_requeue);
  }

  /** Sets whether the cancellable is cancelled only when the lease ends, and not as soon as it is
   *  suspect; default false. */
  void set_until_lost (bool until_lost)
  {
    curator_leader_selector_set_until_lost (object (), until_lost);
  }

  /** Queues for leadership, in the background. Only once. */
  result<void> start () { return call<void> (curator_leader_selector_start); }

  /** Queues again. @return false if it is queued or leading already, not started, or closed */
  bool requeue () { return get (curator_leader_selector_requeue); }

  /** Cancels the current leadership, if there is one. */
  void interrupt_leadership () { curator_leader_selector_interrupt_leadership (object ()); }

  /** Waits until it leads: until the function has been called, or is about to be.
   *  @throws error  CLOSED, NOT_STARTED ... */
  result<void> await (GCancellable *cancellable = nullptr)
  {
    return call<void> (curator_leader_selector_await, CURATOR_WAIT_FOREVER, cancellable);
  }

  /** Waits within a timeout. @return whether it leads */
  [[nodiscard]] result<bool> try_await_for (limit timeout, GCancellable *cancellable = nullptr)
  {
    return try_call<bool> (curator_leader_selector_await, timeout, cancellable);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  [[nodiscard]] result<bool> try_await_until (deadline time, GCancellable *cancellable = nullptr)
  {
    return try_await_for (time, cancellable);
  }

  /** Whether it leads now, by the local clock. Sends no request. */
  [[nodiscard]] bool has_leadership () const
  {
    return get (curator_leader_selector_has_leadership);
  }

  /** The leadership, as the function has it, for other threads; nothing if it does not lead. */
  std::optional<lease> current_lease () const
  {
    return get<std::optional<lease>> (curator_leader_selector_dup_lease);
  }

  /** Reads the candidates from the server, the leader first.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait */
  result<std::vector<leader_participant>> participants (detail::timeout timeout = {},
                                                        GCancellable *cancellable = nullptr) const
  {
    return call<std::vector<leader_participant>> (curator_leader_selector_get_participants, timeout,
                                                  cancellable);
  }

  /** Reads the leader from the server; nothing if there is none.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait */
  result<std::optional<leader_participant>> leader (detail::timeout timeout = {},
                                                    GCancellable *cancellable = nullptr) const
  {
    return detail::leader_of (curator_leader_selector_get_leader, object (), timeout, cancellable);
  }

  /** Leaves the queue, or cancels the current leadership. Does not wait. */
  void close () noexcept { unless_empty (curator_leader_selector_close); }
};

/** Leads from its turn until it is closed. Wraps CuratorLeaderLatch; see leader.h. */
class [[nodiscard]] leader_latch
    : public handle<leader_latch, CuratorLeaderLatch, curator_leader_latch_ref,
                    curator_leader_latch_unref>
{
public:
  /** An empty handle. */
  leader_latch () noexcept = default;

  using handle::handle;

  /** Sends no request. @throws error  INVALID_ARGUMENT, LIMIT_EXCEEDED
   *  @param id  what other participants see */
  [[nodiscard]] leader_latch (const curator::client &client, const std::string &path,
                              const std::string &id = {})
      : handle (detail::create (curator_leader_latch_new, client, path, id))
  {
  }

  /** The id; may be empty. */
  std::string id () const { return curator_leader_latch_get_id (object ()); }

  /** The path that the constructor was given. */
  std::string path () const { return curator_leader_latch_get_path (object ()); }

  /** The client that the constructor was given: another handle of it. */
  curator::client client () const
  {
    return curator::client (curator_client_ref (curator_leader_latch_get_client (object ())));
  }

  /** Sets whether it leads until its lease ends, and not only until the lease is suspect; default
   *  false. Call it before start(). */
  void set_until_lost (bool until_lost)
  {
    curator_leader_latch_set_until_lost (object (), until_lost);
  }

  /** Queues for leadership, in the background. Only once. */
  result<void> start () { return call<void> (curator_leader_latch_start); }

  /** Waits until it leads. @throws error  CLOSED, NOT_STARTED ... */
  result<void> await (GCancellable *cancellable = nullptr)
  {
    return call<void> (curator_leader_latch_await, CURATOR_WAIT_FOREVER, cancellable);
  }

  /** Waits within a timeout.
   *  @return whether it leads; false for every failure that may pass: error::is_temporary() */
  [[nodiscard]] result<bool> try_await_for (limit timeout, GCancellable *cancellable = nullptr)
  {
    return try_call<bool> (curator_leader_latch_await, timeout, cancellable);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  [[nodiscard]] result<bool> try_await_until (deadline time, GCancellable *cancellable = nullptr)
  {
    return try_await_for (time, cancellable);
  }

  /** Whether it leads now, by the local clock. Sends no request. */
  [[nodiscard]] bool has_leadership () const { return get (curator_leader_latch_has_leadership); }

  /** The leadership, for its token and remaining time; nothing if it does not lead. Releasing it
   *  makes the latch queue again. */
  std::optional<lease> current_lease () const
  {
    return get<std::optional<lease>> (curator_leader_latch_dup_lease);
  }

  /** Reads the candidates from the server, the leader first.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait */
  result<std::vector<leader_participant>> participants (detail::timeout timeout = {},
                                                        GCancellable *cancellable = nullptr) const
  {
    return call<std::vector<leader_participant>> (curator_leader_latch_get_participants, timeout,
                                                  cancellable);
  }

  /** Reads the leader from the server; nothing if there is none.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait */
  result<std::optional<leader_participant>> leader (detail::timeout timeout = {},
                                                    GCancellable *cancellable = nullptr) const
  {
    return detail::leader_of (curator_leader_latch_get_leader, object (), timeout, cancellable);
  }

  /** Adds a listener, called as listener (bool is_leader) for every change, in order; if it leads
   *  already, one call with true follows.
   *  @return an id for remove_listener() */
  template <class F> unsigned add_listener (F &&listener)
  {
    return detail::listen<bool> (curator_leader_latch_add_listener, object (),
                                 std::forward<F> (listener));
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void remove_listener (unsigned id) noexcept
  {
    unless_empty (curator_leader_latch_remove_listener, id);
  }

  /** Gives up leadership at once, drops all listeners, and leaves the queue once those that hear of
   *  it have returned: curator_leader_latch_close(). */
  void close (latch_close_mode mode = latch_close_mode::silent) noexcept
  {
    unless_empty (curator_leader_latch_close, CuratorLeaderLatchCloseMode (mode));
  }
};

CURATOR_CPP_END
