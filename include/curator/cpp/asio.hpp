/* The calls that do not wait, for Asio: with any completion token. Needs the headers of Asio, which
 * curator.hpp does not include. */
#pragma once

#include <curator/cpp/inspect.hpp>
#include <curator/cpp/lock.hpp>
#include <curator/cpp/semaphore.hpp>

#include <asio.hpp>

#include <list>
#include <mutex>

CURATOR_CPP_BEGIN

namespace detail
{
/* The calls under way that began in one execution context. It destroys the handlers that still wait
 * when the context is destroyed, which may be before the client is. */
class asio_calls_under_way
{
public:
  struct call
  {
    virtual ~call () = default;
    /* With the mutex: the call no longer ends. */
    virtual std::shared_ptr<call> take () noexcept = 0;
    /* Destroys the handler, and cancels the call. */
    virtual void abandon () noexcept = 0;
  };

  using place = std::list<call *>::iterator;

  std::mutex mutex;
  std::list<call *> all;
};

class asio_service : public asio::execution_context::service
{
public:
  using key_type = asio_service;
  inline static asio::execution_context::id id;

  explicit asio_service (asio::execution_context &context) : service (context) {}

  std::shared_ptr<asio_calls_under_way> calls () const { return calls_; }

private:
  void shutdown () noexcept override
  {
    std::unique_lock hold (calls_->mutex);
    while (!calls_->all.empty ()) {
      const auto first = calls_->all.front ()->take ();
      calls_->all.pop_front ();
      hold.unlock ();
      first->abandon ();
      hold.lock ();
    }
  }

  std::shared_ptr<asio_calls_under_way> calls_ = std::make_shared<asio_calls_under_way> ();
};

template <class T> struct asio_signature
{
  using type = void (std::exception_ptr, T);
};

template <> struct asio_signature<void>
{
  using type = void (std::exception_ptr);
};

/* One call under way. It keeps work in the context of its handler until the handler has been
 * posted there. The call of C, its slot and the context may end in any order. */
template <class Handler, class Executor>
class asio_call : public asio_calls_under_way::call,
                  public std::enable_shared_from_this<asio_call<Handler, Executor>>
{
  using executor_type = asio::associated_executor_t<Handler, Executor>;

public:
  asio_call (Handler &&handler, const Executor &fallback)
      : executor_ (asio::get_associated_executor (handler, fallback)),
        calls_ (asio::use_service<asio_service> (asio::query (fallback, asio::execution::context))
                    .calls ()),
        waiting_ (std::in_place, std::move (handler), executor_)
  {
  }

  ~asio_call () override { g_object_unref (cancellable_); }

  GCancellable *cancellable () const noexcept { return cancellable_; }

  /* Before the call begins, on the thread that begins it. */
  void wait ()
  {
    auto slot = asio::get_associated_cancellation_slot (waiting_->handler);
    if (slot.is_connected ())
      slot.assign ([self = this->shared_from_this ()] (asio::cancellation_type) {
        g_cancellable_cancel (self->cancellable_);
      });
    const std::lock_guard hold (calls_->mutex);
    self_ = this->shared_from_this ();
    place_ = calls_->all.insert (calls_->all.end (), this);
  }

  /* From any thread, once. */
  template <class... Answer> void end (const error *failed, Answer... answer)
  {
    std::exception_ptr why;
    if (failed != nullptr)
      why = std::make_exception_ptr (*failed);
    /* The context cannot end in between. */
    std::unique_lock hold (calls_->mutex);
    const auto self = std::move (self_);
    if (self == nullptr)
      return;
    calls_->all.erase (place_);
    auto over = std::make_unique<waiting> (std::move (*waiting_));
    waiting_.reset ();
    asio::post (
        executor_, asio::bind_executor (executor_, [over = std::move (over), why = std::move (why),
                                                    all = std::tuple<Answer...> (
                                                        std::move (answer)...)] () mutable {
          Handler handler = std::move (over->handler);
          asio::get_associated_cancellation_slot (handler).clear ();
          over.reset ();
          std::apply (
              [&] (auto &...each) { std::move (handler) (std::move (why), std::move (each)...); },
              all);
        }));
  }

  std::shared_ptr<call> take () noexcept override { return std::move (self_); }

  void abandon () noexcept override
  {
    g_cancellable_cancel (cancellable_);
    waiting_.reset ();
  }

private:
  struct waiting
  {
    waiting (Handler &&given, const executor_type &executor)
        : handler (std::move (given)), work (executor)
    {
    }

    Handler handler;
    asio::executor_work_guard<executor_type> work;
  };

  executor_type executor_;
  std::shared_ptr<asio_calls_under_way> calls_;
  std::optional<waiting> waiting_;
  std::shared_ptr<asio_call> self_; /* while it is listed */
  asio_calls_under_way::place place_{};
  GCancellable *cancellable_ = g_cancellable_new ();
};
}

/** The calls that do not wait, as asynchronous operations of Asio:
 *
 *      const curator::asio_calls calls (loop.get_executor ());
 *      curator::lease hold = co_await calls.acquire (nightly, 10s, asio::use_awaitable);
 *      co_await calls.release (hold, {}, asio::use_awaitable);
 *
 *  Arguments are those of the functions that wait, and a completion token. A handler is called with
 *  a std::exception_ptr, which holds the curator::error of a call that failed and is null otherwise,
 *  and with the value, which is empty after an error. It runs in its associated executor, or else
 *  in that of the constructor, and never inside the call; the context has work until then. Its
 *  cancellation slot, with any type of cancellation, cancels the call, which then fails with
 *  error::is_cancelled(), unless it had ended. The context of the constructor, destroyed while calls
 *  are under way, destroys their handlers and cancels them; a lease that comes nevertheless is released. */
template <class Executor = asio::any_io_executor> class asio_calls
{
public:
  /** @param executor  of handlers that have none */
  explicit asio_calls (Executor executor) : executor_ (std::move (executor)) {}

  /** A lease of any lock: lockable::acquire_lease(). */
  template <class Token>
  auto acquire (const lockable &lock, detail::limit timeout, Token &&token) const
  {
    return begin<lease> (token, curator_lock_acquire_then, lock.share (), timeout);
  }

  /** One lease of a semaphore: semaphore::acquire(). */
  template <class Token>
  auto acquire (const semaphore &semaphore, detail::limit timeout, Token &&token) const
  {
    return begin<lease> (token, curator_semaphore_acquire_then, semaphore.share (), timeout);
  }

  /** So many leases, or none: semaphore::acquire_n(). */
  template <class Token>
  auto acquire_n (const semaphore &semaphore, guint n, detail::limit timeout, Token &&token) const
  {
    return begin<std::vector<lease>> (token, curator_semaphore_acquire_n_then, semaphore.share (),
                                      n, timeout);
  }

  /** The confirmation of the servers: lease::release(). The hold has ended when this returns, or
   *  when a lazy token begins the call. */
  template <class Token>
  auto release (const lease &hold, detail::timeout timeout, Token &&token) const
  {
    return begin<void> (token, curator_lease_release_then, hold.share (), timeout);
  }

  /** The confirmation of all of these releases: semaphore::return_all(). */
  template <class Token>
  auto return_all (const semaphore &semaphore, const std::vector<lease> &leases,
                   detail::timeout timeout, Token &&token) const
  {
    return begin<void> (token, curator_semaphore_return_all_then, semaphore.share (),
                        detail::lease_array (leases), timeout);
  }

  /** Full paths of the nodes: lockable::participant_nodes(). */
  template <class Token>
  auto participant_nodes (const lockable &lock, detail::timeout timeout, Token &&token) const
  {
    return begin<std::vector<std::string>> (token, curator_lock_get_participant_nodes_then,
                                            lock.share (), timeout);
  }

  /** client::inspect(). */
  template <class Token>
  auto inspect (const client &client, const std::string &path, detail::timeout timeout,
                Token &&token) const
  {
    return begin<inspection> (token, curator_client_inspect_then, client.share (), path, timeout);
  }

  /** While there is a connection; fails with TIMED_OUT otherwise:
   *  client::block_until_connected_then(). */
  template <class Token>
  auto block_until_connected (const client &client, detail::timeout timeout, Token &&token) const
  {
    return begin<void> (token, curator_client_block_until_connected_then, client.share (), timeout);
  }

  /** The end of the client: client::close(). It cannot be cancelled. */
  template <class Token> auto close (const client &client, Token &&token) const
  {
    return initiate<void, false> (token, curator_client_close_then,
                                  std::make_tuple (client.share ()));
  }

private:
  template <class T, class Token, class Function, class... Args>
  auto begin (Token &token, Function function, Args... args) const
  {
    return initiate<T, true> (token, function, std::make_tuple (std::move (args)...));
  }

  template <class T, bool IsCancellable, class Token, class Function, class... Args>
  auto initiate (Token &token, Function function, std::tuple<Args...> all) const
  {
    using signature = typename detail::asio_signature<T>::type;
    return asio::async_initiate<Token, signature> (
        [executor = executor_] (auto &&handler, Function called, std::tuple<Args...> &&with) {
          using call = detail::asio_call<std::decay_t<decltype (handler)>, Executor>;
          const auto under_way = std::make_shared<call> (std::move (handler), executor);
          under_way->wait ();
          std::apply (
              [&] (auto &...each) {
                const auto end = [under_way] (auto... told) {
                  finish<T> (*under_way, std::move (told)...);
                };
                detail::outcome refused;
                if (!refused.takes (each...))
                  end_refused<T> (*under_way, error (refused.get ()));
                else if constexpr (IsCancellable)
                  detail::begin<T> (end, called, each..., under_way->cancellable ());
                else
                  detail::begin<T> (end, called, each...);
              },
              with);
        },
        token, function, std::move (all));
  }

  template <class T, class Call, class... Told> static void finish (Call &call, Told... told)
  {
    if constexpr (std::is_void_v<T>)
      call.end (told...);
    else
      give (call, std::move (told)...);
  }

  template <class Call, class T> static void give (Call &call, T value, const error *failed)
  {
    call.end (failed, std::move (value));
  }

  template <class T, class Call> static void end_refused (Call &call, const error &why)
  {
    if constexpr (std::is_void_v<T>)
      call.end (&why);
    else
      call.end (&why, T ());
  }

  Executor executor_;
};

CURATOR_CPP_END
