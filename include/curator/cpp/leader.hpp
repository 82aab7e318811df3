/* Elections. */
#ifndef CURATOR_CPP_LEADER_HPP
#define CURATOR_CPP_LEADER_HPP

#include <curator/cpp/client.hpp>
#include <curator/cpp/detail.hpp>
#include <curator/cpp/lease.hpp>
#include <curator/cpp/time.hpp>
#include <curator/leader.h>

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
/** A candidate in an election when the server was asked. Copies a CuratorLeaderParticipant. */
struct leader_participant
{
  std::string id; /**< that the participant was given */
  bool is_leader; /**< it led */
};

/** Which listeners hear that a closed latch leads no more. Wraps CuratorLeaderLatchCloseMode. */
enum class latch_close_mode
{
  silent = CURATOR_LEADER_LATCH_SILENT,              /**< none */
  notify_leader = CURATOR_LEADER_LATCH_NOTIFY_LEADER /**< those of a latch that leads */
};

namespace detail
{
/* Takes over the participant. */
inline leader_participant
take_participant (CuratorLeaderParticipant *object)
{
  const handle<CuratorLeaderParticipant, curator_leader_participant_ref,
               curator_leader_participant_unref>
      owner (object);
  return { curator_leader_participant_get_id (object),
           curator_leader_participant_is_leader (object) != FALSE };
}

/* Nothing, if there is none. */
inline result<std::optional<leader_participant>>
take_leader (const outcome &outcome, CuratorLeaderParticipant *object)
{
  auto leader = object != nullptr ? std::optional<leader_participant> (take_participant (object))
                                  : std::nullopt;
  return outcome.give (outcome.get () == nullptr, std::move (leader));
}

/* Takes over the array. */
inline result<std::vector<leader_participant>>
take_participants (const outcome &outcome, GPtrArray *objects)
{
  return outcome.give (objects != nullptr, take_array (objects, [] (gpointer one) {
                         return take_participant (curator_leader_participant_ref (
                             static_cast<CuratorLeaderParticipant *> (one)));
                       }));
}
}

/** Runs a function on a thread of its own while it leads. Wraps CuratorLeaderSelector; see
 *  leader.h. */
class [[nodiscard]] leader_selector
{
public:
  /** An empty handle. */
  leader_selector () noexcept = default;

  /** Takes over a reference. */
  [[nodiscard]] explicit leader_selector (CuratorLeaderSelector *object) noexcept : handle_ (object)
  {
  }

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param lead  called as lead (const lease &, GCancellable *) for each leadership, which ends when
   *               it returns. It should return soon after the cancellable was cancelled; in C++20,
   *               stop_token_of (cancellable) is a token for that. lease::stop_token() is stopped
   *               only when the lease has ended, whatever the rule of the selector */
  template <class F>
  [[nodiscard]] leader_selector (const client &client, const std::string &path, F &&lead)
  {
    using callback = std::decay_t<F>;
    CuratorClient *const owner = detail::require (client.native_handle ());
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (lead)));
    detail::outcome outcome;
    if (outcome.takes (path))
      {
        handle_ = selector_handle (
            curator_leader_selector_new (owner, path.c_str (), call_lead<callback>, kept.get (),
                                         detail::destroy<callback>, outcome));
      }
    if (native_handle () != nullptr)
      kept.release ();
    outcome.built (native_handle () != nullptr);
  }

  /** Sets the id, which other participants see. Call it before start(). */
  result<void>
  set_id (const std::string &id)
  {
    detail::outcome outcome;
    CuratorLeaderSelector *const object = detail::require (native_handle ());
    const bool taken = outcome.takes (id);
    if (taken)
      curator_leader_selector_set_id (object, id.c_str ());
    return outcome.check (taken);
  }

  /** The id; empty if none was set. */
  std::string
  id () const
  {
    return curator_leader_selector_get_id (detail::require (native_handle ()));
  }

  /** Sets whether it queues again after each leadership and each failure; default false. */
  void
  set_auto_requeue (bool auto_requeue)
  {
    curator_leader_selector_set_auto_requeue (detail::require (native_handle ()), auto_requeue);
  }

  /** Sets whether the cancellable is cancelled only when the lease ends, and not as soon as it is
   *  suspect; default false. */
  void
  set_until_lost (bool until_lost)
  {
    curator_leader_selector_set_until_lost (detail::require (native_handle ()), until_lost);
  }

  /** Queues for leadership, in the background. Only once. */
  result<void>
  start ()
  {
    detail::outcome outcome;
    return outcome.check (
        curator_leader_selector_start (detail::require (native_handle ()), outcome) != FALSE);
  }

  /** Queues again. @return false if it is queued or leading already, not started, or closed */
  bool
  requeue ()
  {
    return curator_leader_selector_requeue (detail::require (native_handle ())) != FALSE;
  }

  /** Cancels the current leadership, if there is one. */
  void
  interrupt_leadership ()
  {
    curator_leader_selector_interrupt_leadership (detail::require (native_handle ()));
  }

  /** Whether it leads now, by the local clock. Sends no request. */
  [[nodiscard]] bool
  has_leadership () const
  {
    return curator_leader_selector_has_leadership (detail::require (native_handle ())) != FALSE;
  }

  /** Reads the candidates from the server, the leader first.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  result<std::vector<leader_participant>>
  participants (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    return detail::take_participants (
        outcome, curator_leader_selector_get_participants (detail::require (native_handle ()),
                                                           timeout, cancellable, outcome));
  }

  /** Reads the leader from the server; nothing if there is none.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  result<std::optional<leader_participant>>
  leader (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    return detail::take_leader (
        outcome, curator_leader_selector_get_leader (detail::require (native_handle ()), timeout,
                                                     cancellable, outcome));
  }

  /** Leaves the queue, or cancels the current leadership. Does not wait. */
  void
  close () noexcept
  {
    if (native_handle () != nullptr)
      curator_leader_selector_close (native_handle ());
  }

  /** Another handle of the same selector. */
  leader_selector
  share () const noexcept
  {
    return leader_selector (handle_.new_ref ());
  }

  /** The selector for the C functions; borrowed. */
  CuratorLeaderSelector *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  template <class F>
  static void
  call_lead (CuratorLeaderSelector *, CuratorLease *held, GCancellable *cancellable, gpointer data)
  {
    detail::shield ([&] {
      const lease leadership (curator_lease_ref (held));
      (*static_cast<F *> (data)) (leadership, cancellable);
    });
  }

  using selector_handle = detail::handle<CuratorLeaderSelector, curator_leader_selector_ref,
                                         curator_leader_selector_unref>;
  selector_handle handle_;
};

/** Leads from its turn until it is closed. Wraps CuratorLeaderLatch; see leader.h. */
class [[nodiscard]] leader_latch
{
public:
  /** An empty handle. */
  leader_latch () noexcept = default;

  /** Takes over a reference. */
  [[nodiscard]] explicit leader_latch (CuratorLeaderLatch *object) noexcept : handle_ (object)
  {
  }

  /** Sends no request. @throws error  INVALID_ARGUMENT, LIMIT_EXCEEDED
   *  @param id  what other participants see */
  [[nodiscard]] leader_latch (const client &client, const std::string &path,
                              const std::string &id = {})
  {
    detail::outcome outcome;
    if (outcome.takes (path, id))
      {
        handle_ = latch_handle (curator_leader_latch_new (detail::require (client.native_handle ()),
                                                          path.c_str (), id.c_str (), outcome));
      }
    outcome.built (native_handle () != nullptr);
  }

  /** The id; may be empty. */
  std::string
  id () const
  {
    return curator_leader_latch_get_id (detail::require (native_handle ()));
  }

  /** Sets whether it leads until its lease ends, and not only until the lease is suspect; default
   *  false. Call it before start(). */
  void
  set_until_lost (bool until_lost)
  {
    curator_leader_latch_set_until_lost (detail::require (native_handle ()), until_lost);
  }

  /** Queues for leadership, in the background. Only once. */
  result<void>
  start ()
  {
    detail::outcome outcome;
    return outcome.check (curator_leader_latch_start (detail::require (native_handle ()), outcome)
                          != FALSE);
  }

  /** Waits until it leads. @throws error  CLOSED, NOT_STARTED ... */
  result<void>
  await (GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    return outcome.check (curator_leader_latch_await (detail::require (native_handle ()),
                                                      CURATOR_WAIT_FOREVER, cancellable, outcome)
                          != FALSE);
  }

  /** Waits within a timeout. @return whether it leads */
  template <class Rep, class Period>
  [[nodiscard]] result<bool>
  try_await_for (const std::chrono::duration<Rep, Period> &timeout,
                 GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    return outcome.in_time (curator_leader_latch_await (detail::require (native_handle ()),
                                                        detail::to_ms (timeout), cancellable,
                                                        outcome)
                            != FALSE);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  template <class Clock, class Duration>
  [[nodiscard]] result<bool>
  try_await_until (const std::chrono::time_point<Clock, Duration> &time,
                   GCancellable *cancellable = nullptr)
  {
    return try_await_for (detail::left_until (time), cancellable);
  }

  /** Whether it leads now, by the local clock. Sends no request. */
  [[nodiscard]] bool
  has_leadership () const
  {
    return curator_leader_latch_has_leadership (detail::require (native_handle ())) != FALSE;
  }

  /** The leadership, for its token and remaining time; nothing if it does not lead. Releasing it
   *  makes the latch queue again. */
  std::optional<lease>
  current_lease () const
  {
    CuratorLease *held = curator_leader_latch_dup_lease (detail::require (native_handle ()));
    return held != nullptr ? std::optional<lease> (lease (held)) : std::nullopt;
  }

  /** Reads the candidates from the server, the leader first.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  result<std::vector<leader_participant>>
  participants (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    return detail::take_participants (
        outcome, curator_leader_latch_get_participants (detail::require (native_handle ()), timeout,
                                                        cancellable, outcome));
  }

  /** Reads the leader from the server; nothing if there is none.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  result<std::optional<leader_participant>>
  leader (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    return detail::take_leader (outcome,
                                curator_leader_latch_get_leader (detail::require (native_handle ()),
                                                                 timeout, cancellable, outcome));
  }

  /** Adds a listener, called as listener (bool is_leader) for every change, in order.
   *  @return an id for remove_listener() */
  template <class F>
  unsigned
  add_listener (F &&listener)
  {
    using callback = std::decay_t<F>;
    CuratorLeaderLatch *const object = detail::require (native_handle ());
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const guint id = curator_leader_latch_add_listener (
        object,
        [] (CuratorLeaderLatch *, gboolean is_leader, gpointer data) {
          detail::shield ([&] { (*static_cast<callback *> (data)) (is_leader != FALSE); });
        },
        kept.get (), detail::destroy<callback>);
    return detail::release_to_library (kept, id);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_listener (unsigned id) noexcept
  {
    if (native_handle () != nullptr)
      curator_leader_latch_remove_listener (native_handle (), id);
  }

  /** Leaves the queue and gives up leadership at once; drops all listeners. */
  void
  close (latch_close_mode mode = latch_close_mode::silent) noexcept
  {
    if (native_handle () != nullptr)
      {
        curator_leader_latch_close (native_handle (),
                                    static_cast<CuratorLeaderLatchCloseMode> (mode));
      }
  }

  /** Another handle of the same latch. */
  leader_latch
  share () const noexcept
  {
    return leader_latch (handle_.new_ref ());
  }

  /** The latch for the C functions; borrowed. */
  CuratorLeaderLatch *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using latch_handle =
      detail::handle<CuratorLeaderLatch, curator_leader_latch_ref, curator_leader_latch_unref>;
  latch_handle handle_;
};
}
}

#endif
