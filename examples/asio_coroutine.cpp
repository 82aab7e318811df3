/* SPDX-License-Identifier: Apache-2.0
 * Locks in Asio's coroutines: co_await acquires and releases, no thread waits, and what else Asio
 * has for its operations works with these, cancellation too. A timer shows how long the io_context
 * is away.
 *
 * usage: asio_coroutine CONNECT-STRING [LOCKS ROUNDS]
 */
#include <curator/cpp/asio.hpp>
#include <curator/curator.hpp>

#include <asio.hpp>

#include <iostream>

namespace
{
using namespace std::chrono_literals;

class program
{
public:
  explicit program (const char *servers) : client_ (servers) {}

  int run (int locks, int rounds)
  {
    client_.start ();
    for (busy_ = locks; locks > 0; locks--) {
      curator::mutex lock (client_, "/examples/asio-" + std::to_string (locks));
      asio::co_spawn (loop_, job (std::move (lock), rounds), asio::detached);
    }
    asio::co_spawn (loop_, tick (), asio::detached);
    loop_.run ();
    return status_;
  }

private:
  asio::awaitable<void> job (curator::mutex lock, int rounds)
  {
    try {
      while (rounds-- > 0)
        co_await round (lock);
    } catch (const curator::error &failed) {
      std::cerr << "asio_coroutine: " << failed.what () << '\n';
      status_ = 1;
    }
    if (--busy_ == 0) {
      co_await calls_.close (client_, asio::use_awaitable);
      closed_ = true;
    }
  }

  asio::awaitable<void> round (curator::mutex &lock)
  {
    const curator::lease hold = co_await calls_.acquire (lock, 60s, asio::use_awaitable);
    std::cout << "held: " << hold.node_path () << '\n';
    asio::steady_timer work (loop_, 100ms);
    co_await work.async_wait (asio::use_awaitable);
    co_await calls_.release (hold, {}, asio::use_awaitable);
  }

  asio::awaitable<void> tick ()
  {
    while (!closed_) {
      const auto began = std::chrono::steady_clock::now ();
      asio::steady_timer timer (loop_, 5ms);
      co_await timer.async_wait (asio::use_awaitable);
      const auto away = std::chrono::steady_clock::now () - began;
      if (away > longest_) {
        longest_ = away;
        std::cout << "away: " << away / 1ms << " ms" << std::endl;
      }
    }
  }

  asio::io_context loop_;
  const curator::asio_calls<> calls_{ loop_.get_executor () };
  curator::client client_;
  std::chrono::steady_clock::duration longest_{};
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
    std::cerr << "asio_coroutine: " << error.what () << '\n';
    return 1;
  }
}
