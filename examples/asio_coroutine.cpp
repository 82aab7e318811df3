/* SPDX-License-Identifier: Apache-2.0
 * Locks in Asio's coroutines: co_await acquires and releases, and no thread waits. A timer shows
 * how long the io_context is away.
 *
 * usage: asio_coroutine CONNECT-STRING [LOCKS ROUNDS]
 */
#include <curator/curator.hpp>

#include <asio.hpp>

#include <iostream>

namespace
{
using namespace std::chrono_literals;

/* Asio's coroutines await only what Asio knows. This makes it of a call of the library: the answer
 * is posted to where the coroutine runs. */
template <class Call>
asio::awaitable<decltype (std::declval<Call> ().await_resume ())>
in_asio (Call call)
{
  co_await asio::async_initiate<const asio::use_awaitable_t<> &, void ()> (
      [&call] (auto handler) {
        call.await_suspend (
            [handler = std::move (handler)] () mutable { asio::post (std::move (handler)); });
      },
      asio::use_awaitable);
  co_return call.await_resume ();
}

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
      co_await in_asio (calls_.close (client_));
      closed_ = true;
    }
  }

  asio::awaitable<void> round (curator::mutex &lock)
  {
    const curator::lease hold = co_await in_asio (calls_.acquire (lock, 60s));
    std::cout << "held: " << hold.node_path () << '\n';
    asio::steady_timer work (loop_, 100ms);
    co_await work.async_wait (asio::use_awaitable);
    co_await in_asio (calls_.release (hold));
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

  const curator::awaitables<> calls_{};
  asio::io_context loop_;
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
