/* SPDX-License-Identifier: Apache-2.0
 * Locks in coroutines on plain epoll, with no library for either: co_await acquires and releases,
 * and no thread waits. An eventfd wakes the loop to resume a coroutine. A timer shows how long the
 * loop is away.
 *
 * usage: epoll_coroutine CONNECT-STRING [LOCKS ROUNDS]
 */
#include <curator/curator.hpp>

#include <algorithm>
#include <coroutine>
#include <iostream>
#include <map>
#include <mutex>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace
{
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/* A coroutine that nobody waits for. */
struct task
{
  struct promise_type
  {
    task get_return_object () { return {}; }
    std::suspend_never initial_suspend () noexcept { return {}; }
    std::suspend_never final_suspend () noexcept { return {}; }
    void return_void () {}
    void unhandled_exception () { std::terminate (); }
  };
};

class loop
{
public:
  loop ()
  {
    epoll_event event = { EPOLLIN, {} };
    epoll_ctl (epoll_, EPOLL_CTL_ADD, woken_, &event);
  }

  ~loop ()
  {
    close (woken_);
    close (epoll_);
  }

  /* Any thread may call it. The loop calls the function. */
  void post (std::function<void ()> function)
  {
    const std::lock_guard<std::mutex> guard (mutex_);
    posted_.push_back (std::move (function));
    eventfd_write (woken_, 1);
  }

  struct sleep
  {
    loop &in;
    steady::duration time;

    bool await_ready () const { return false; }
    void await_suspend (std::coroutine_handle<> waiting) const
    {
      in.sleeping_.emplace (steady::now () + time, waiting);
    }
    void await_resume () const {}
  };

  void run ()
  {
    for (epoll_event event; !stopped_;) {
      if (epoll_wait (epoll_, &event, 1, left_ms ()) > 0)
        call_posted ();
      while (!sleeping_.empty () && sleeping_.begin ()->first <= steady::now ())
        sleeping_.extract (sleeping_.begin ()).mapped ().resume ();
    }
  }

  void stop () { stopped_ = true; }

private:
  void call_posted ()
  {
    eventfd_t count;
    eventfd_read (woken_, &count);
    std::unique_lock<std::mutex> guard (mutex_);
    const std::vector<std::function<void ()>> functions = std::exchange (posted_, {});
    guard.unlock ();
    for (const auto &function : functions)
      function ();
  }

  int left_ms () const
  {
    if (sleeping_.empty ())
      return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds> (sleeping_.begin ()->first - steady::now ());
    return static_cast<int> (std::max (left, 0ms).count ());
  }

  int epoll_ = epoll_create1 (EPOLL_CLOEXEC);
  int woken_ = eventfd (0, EFD_CLOEXEC);
  std::multimap<steady::time_point, std::coroutine_handle<>> sleeping_;
  std::mutex mutex_;
  std::vector<std::function<void ()>> posted_;
  bool stopped_ = false;
};

class program
{
public:
  explicit program (const char *servers) : client_ (servers) {}

  int run (int locks, int rounds)
  {
    client_.start ();
    tick ();
    for (busy_ = locks; locks > 0; locks--)
      job (curator::mutex (client_, "/examples/epoll-" + std::to_string (locks)), rounds);
    loop_.run ();
    return status_;
  }

private:
  task job (curator::mutex lock, int rounds)
  {
    const curator::awaitables calls ([this] (auto resume) { loop_.post (resume); });
    try {
      while (rounds-- > 0) {
        const curator::lease hold = co_await calls.acquire (lock, 60s);
        std::cout << "held: " << hold.node_path () << '\n';
        co_await loop::sleep{ loop_, 100ms };
        co_await calls.release (hold);
      }
    } catch (const curator::error &failed) {
      std::cerr << "epoll_coroutine: " << failed.what () << '\n';
      status_ = 1;
    }
    if (--busy_ == 0) {
      co_await calls.close (client_);
      closed_ = true;
    }
  }

  task tick ()
  {
    while (!closed_) {
      const auto began = steady::now ();
      co_await loop::sleep{ loop_, 5ms };
      const auto away = steady::now () - began;
      if (away > longest_) {
        longest_ = away;
        std::cout << "away: " << away / 1ms << " ms" << std::endl;
      }
    }
    loop_.stop ();
  }

  loop loop_;
  curator::client client_;
  steady::duration longest_{};
  int busy_ = 0;
  bool closed_ = false;
  int status_ = 0;
};
}

int
main (int argc, char **argv)
{
  try {
    return program (argc > 1 ? argv[1] : "localhost:2181")
        .run (argc > 2 ? std::stoi (argv[2]) : 1, argc > 3 ? std::stoi (argv[3]) : 1);
  } catch (const std::exception &error) {
    std::cerr << "epoll_coroutine: " << error.what () << '\n';
    return 1;
  }
}
