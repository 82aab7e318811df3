/* The calls that do not wait, for coroutines. Declares nothing before C++20. */
#pragma once

#include <curator/cpp/inspect.hpp>
#include <curator/cpp/lock.hpp>
#include <curator/cpp/semaphore.hpp>

#ifdef __cpp_impl_coroutine
#include <coroutine>
#include <tuple>

CURATOR_CPP_BEGIN

namespace detail
{
/* What a call came to. The coroutine and the call share it: each may end before the other. */
template <class T> struct arrival
{
  std::optional<error> failed{};
  T value{};
  bool is_awaited = true;
};

/* The end of one call under way. */
template <class T, class Post, class Resume> struct ending
{
  std::shared_ptr<arrival<T>> arrived;
  Post post;
  std::shared_ptr<Resume> resume;

  void operator() (const error *failed)
  {
    if (failed != nullptr)
      arrived->failed = *failed;
    post ([arrived = arrived, resume = resume] {
      if (arrived->is_awaited)
        (*resume) ();
    });
  }

  void operator() (T given, const error *failed)
  {
    arrived->value = std::move (given);
    (*this) (failed);
  }
};

/* Resumes a coroutine where the callbacks run. */
struct at_once
{
  template <class F> void operator() (F &&resume) const { resume (); }
};
}

/** A call that begins when a coroutine awaits it, once; class awaitables makes it. The coroutine
 *  may be destroyed while it waits, on the thread that would resume it: then the answer is dropped
 *  when it comes, and a lease in it released. Cancel the call to have that soon. */
template <class T, class Post, class Function, class... Args> class [[nodiscard]] awaitable
{
  /* A connection tells only whether it failed. */
  using told = std::conditional_t<std::is_same_v<T, bool>, void, T>;
  using value_type = std::conditional_t<std::is_void_v<T>, bool, T>;

public:
  /** Of class awaitables. */
  awaitable (Post post, Function function, Args... args)
      : post_ (std::move (post)), function_ (function), args_ (std::move (args)...)
  {
    std::apply ([] (const auto &...each) { (static_cast<void> (detail::for_c (each)), ...); },
                args_);
  }

  /** Before it is awaited. */
  awaitable (awaitable &&) noexcept = default;

  ~awaitable ()
  {
    if (arrived_ != nullptr)
      arrived_->is_awaited = false;
  }

  /** There is always something to wait for. */
  bool await_ready () const noexcept { return false; }

  /** Begins the call.
   *  @param resume  a std::coroutine_handle<>; or what else is called as resume (), once, when
   *                 await_resume() has the answer, for libraries that await only what they know */
  template <class Resume> void await_suspend (Resume resume)
  {
    /* The coroutine may be resumed, and end with this object, before the function returns. */
    const Function function = function_;
    const std::tuple<Args...> all = std::move (args_);
    detail::ending<value_type, Post, Resume> ending{
      arrived_, std::move (post_), std::make_shared<Resume> (std::move (resume))
    };
    std::apply (
        [&] (const auto &...args) {
          detail::outcome refused;
          if (refused.takes (args...))
            detail::begin<told> (std::move (ending), function, args...);
          else
            detail::shield ([&] { ending (&*std::make_unique<error> (refused.get ())); });
        },
        all);
  }

  /** What the call came to. @throws error  why it failed */
  result<T> await_resume ()
  {
    const std::optional<error> &failed = arrived_->failed;
    constexpr bool is_try = std::is_same_v<T, bool>;
    if (failed && !(is_try && failed->is_temporary ()))
      return detail::fail<result<T>> (*failed);
    if constexpr (std::is_void_v<T>)
      return result<T> ();
    else if constexpr (is_try)
      return result<T> (!failed);
    else
      return result<T> (std::move (arrived_->value));
  }

private:
  std::shared_ptr<detail::arrival<value_type>> arrived_ =
      std::make_shared<detail::arrival<value_type>> ();
  Post post_;
  Function function_;
  std::tuple<Args...> args_;
};

/** The calls that a coroutine can await:
 *
 *      const curator::awaitables calls;
 *      curator::lease hold = co_await calls.acquire (nightly, 10s);
 *      co_await calls.release (hold);
 *
 *  Arguments and errors are those of the functions that wait; nothing waits here. The coroutine is
 *  resumed where the callbacks of the client run (see client.h), or by the function that is given
 *  to the constructor. A cancellable has to last until the call is awaited. Any coroutine type will
 *  do; the library has none. */
template <class Post = detail::at_once> class awaitables
{
public:
  /** Resumes where the callbacks of the client run, and counts as a callback there. */
  awaitables () = default;

  /** @param post  called as post (resume), from a callback of the client; resume () can be copied,
   *               and continues the coroutine where it is called: once, or never, if the
   *               coroutine is destroyed there before. It must be valid until every call is over,
   *               at the latest when the client is closed */
  explicit awaitables (Post post) : post_ (std::move (post)) {}

  /** A lease of any lock: lockable::acquire_lease(). */
  auto acquire (const lockable &lock, detail::timeout timeout = forever,
                GCancellable *cancellable = nullptr) const
  {
    return await<lease> (curator_lock_acquire_then, lock.share (), timeout, cancellable);
  }

  /** One lease of a semaphore: semaphore::acquire(). */
  auto acquire (const semaphore &semaphore, detail::timeout timeout = forever,
                GCancellable *cancellable = nullptr) const
  {
    return await<lease> (curator_semaphore_acquire_then, semaphore.share (), timeout, cancellable);
  }

  /** So many leases, or none: a std::vector<lease>; curator_semaphore_acquire_n(). */
  auto acquire_n (const semaphore &semaphore, guint n, detail::timeout timeout = forever,
                  GCancellable *cancellable = nullptr) const
  {
    return await<std::vector<lease>> (curator_semaphore_acquire_n_then, semaphore.share (), n,
                                      timeout, cancellable);
  }

  /** The confirmation of the servers: lease::release(). */
  auto release (const lease &hold, detail::timeout timeout = {},
                GCancellable *cancellable = nullptr) const
  {
    return await<void> (curator_lease_release_then, hold.share (), timeout, cancellable);
  }

  /** The confirmation of all of these releases: semaphore::return_all(). */
  auto return_all (const semaphore &semaphore, const std::vector<lease> &leases,
                   detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    return await<void> (curator_semaphore_return_all_then, semaphore.share (),
                        detail::lease_array (leases), timeout, cancellable);
  }

  /** The end of one level of the hold of the thread that awaits it: lockable::release(). */
  auto release (const lockable &lock, detail::timeout timeout = {},
                GCancellable *cancellable = nullptr) const
  {
    return await<void> (curator_lock_release_then, lock.share (), timeout, cancellable);
  }

  /** A std::vector<std::string>: lockable::participant_nodes(). */
  auto participant_nodes (const lockable &lock, detail::timeout timeout = {},
                          GCancellable *cancellable = nullptr) const
  {
    return await<std::vector<std::string>> (curator_lock_get_participant_nodes_then, lock.share (),
                                            timeout, cancellable);
  }

  /** An inspection. */
  auto inspect (const client &client, const std::string &path, detail::timeout timeout = {},
                GCancellable *cancellable = nullptr) const
  {
    return await<inspection> (curator_client_inspect_then, client.share (), path, timeout,
                              cancellable);
  }

  /** Whether there is a connection in time: client::block_until_connected(). */
  auto block_until_connected (const client &client, detail::timeout timeout,
                              GCancellable *cancellable = nullptr) const
  {
    return await<bool> (curator_client_block_until_connected_then, client.share (), timeout,
                        cancellable);
  }

  /** The end of the client: client::close(). Without a callback context the coroutine is resumed on
   *  a thread of its own. */
  auto close (const client &client) const
  {
    return await<void> (curator_client_close_then, client.share ());
  }

private:
  template <class T, class Function, class... Args>
  awaitable<T, Post, Function, Args...> await (Function function, Args... args) const
  {
    return { post_, function, std::move (args)... };
  }

  Post post_;
};

CURATOR_CPP_END
#endif
