/* SPDX-License-Identifier: Apache-2.0
 * Locks in an Asio io_context that never waits for them: handlers run in it, the end of a
 * hold wakes it through a descriptor, and a timer shows how long it is away.
 *
 * usage: asio_lock CONNECT-STRING [LOCKS ROUNDS]
 */
#include <curator/cpp/asio.hpp>
#include <curator/curator.hpp>

#include <asio.hpp>

#include <iostream>
#include <unistd.h>

namespace
{
using namespace std::chrono_literals;

/* Locks, works and releases, so many times; then calls over (succeeded). */
class job : public std::enable_shared_from_this<job>
{
public:
  job (asio::io_context &loop, curator::mutex lock, int rounds, std::function<void (bool)> over)
      : calls_ (loop.get_executor ()), ended_ (loop), work_ (loop), lock_ (std::move (lock)),
        rounds_ (rounds), over_ (std::move (over))
  {
  }

  void begin_round ()
  {
    if (rounds_-- == 0)
      return over_ (true);
    calls_.acquire (lock_, 60s,
                    [self = shared_from_this ()] (std::exception_ptr failed, curator::lease hold) {
                      self->granted (failed, std::move (hold));
                    });
  }

private:
  void granted (const std::exception_ptr &failed, curator::lease hold)
  {
    try {
      if (failed)
        std::rethrow_exception (failed);
    } catch (const curator::error &error) {
      std::cerr << "asio_lock: " << error.what () << '\n';
      return over_ (false);
    }
    hold_ = std::move (hold);
    std::cout << "held: " << hold_.node_path () << '\n';
    /* Asio closes its descriptors, and this one belongs to the lease. */
    ended_.assign (dup (hold_.fd ()));
    ended_.async_wait (asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this ()] (const asio::error_code &) { self->ended (); });
    work_.expires_after (100ms);
    work_.async_wait ([self = shared_from_this ()] (const asio::error_code &cancelled) {
      if (!cancelled)
        self->calls_.release (self->hold_, {}, [] (const std::exception_ptr &) {});
    });
  }

  void ended ()
  {
    const curator::lease_state state = hold_.state ();
    std::cout << "ended: " << curator::to_string (state) << '\n';
    work_.cancel ();
    ended_.close ();
    hold_.reset ();
    if (state == curator::lease_state::released)
      begin_round ();
    else
      over_ (false);
  }

  curator::asio_calls<> calls_;
  asio::posix::stream_descriptor ended_;
  asio::steady_timer work_;
  curator::mutex lock_;
  curator::lease hold_;
  int rounds_;
  std::function<void (bool)> over_;
};

class program
{
public:
  explicit program (const char *servers) : client_ (servers) {}

  int run (int locks, int rounds)
  {
    client_.start ();
    tick ();
    for (busy_ = locks; locks > 0; locks--) {
      curator::mutex lock (client_, "/examples/asio-" + std::to_string (locks));
      const auto over = [this] (bool succeeded) { job_over (succeeded); };
      std::make_shared<job> (loop_, std::move (lock), rounds, over)->begin_round ();
    }
    loop_.run ();
    return status_;
  }

private:
  void job_over (bool succeeded)
  {
    if (!succeeded)
      status_ = 1;
    if (--busy_ == 0)
      curator::asio_calls (loop_.get_executor ())
          .close (client_, [this] (const std::exception_ptr &) { loop_.stop (); });
  }

  void tick ()
  {
    tick_.expires_after (5ms);
    tick_.async_wait ([this, began = std::chrono::steady_clock::now ()] (const asio::error_code &) {
      const auto away = std::chrono::steady_clock::now () - began;
      if (away > longest_) {
        longest_ = away;
        std::cout << "away: " << away / 1ms << " ms" << std::endl;
      }
      tick ();
    });
  }

  asio::io_context loop_;
  asio::steady_timer tick_{ loop_ };
  std::chrono::steady_clock::duration longest_{};
  int busy_ = 0;
  int status_ = 0;
  curator::client client_;
};
}

int
main (int argc, char **argv)
{
  try {
    return program (argc > 1 ? argv[1] : "localhost:2181")
        .run (argc > 2 ? std::stoi (argv[2]) : 1, argc > 3 ? std::stoi (argv[3]) : 1);
  } catch (const std::exception &error) {
    std::cerr << "asio_lock: " << error.what () << '\n';
    return 1;
  }
}
