/* SPDX-License-Identifier: Apache-2.0
 * A leader in an Asio io_context: a timer works only while the latch leads. The latch asks its own
 * clock, so the work stops in time even if the loop was busy and has not heard of the end.
 *
 * usage: asio_leader CONNECT-STRING [ID]
 */
#include <curator/curator.hpp>

#include <asio.hpp>

#include <iostream>
#include <memory>

namespace
{
class program
{
public:
  program (const char *servers, const char *id)
      : client_ (servers), latch_ (client_, "/examples/asio-leader", id)
  {
  }

  void run ()
  {
    client_.start ();
    /* The listener runs on a thread of the library, and only passes the change on. It may still run
     * when the latch is closed, so it keeps the loop. */
    latch_.add_listener ([this, loop = loop_] (bool is_leader) {
      asio::post (*loop, [this, is_leader] { changed (is_leader); });
    });
    latch_.start ();
    loop_->run ();
  }

private:
  void changed (bool is_leader)
  {
    std::cout << latch_.id () << (is_leader ? " leads" : " leads no more") << '\n';
    if (is_leader)
      wait ();
    else
      timer_.cancel ();
  }

  void wait ()
  {
    timer_.expires_after (std::chrono::milliseconds (50));
    timer_.async_wait ([this] (const asio::error_code &cancelled) {
      if (!cancelled)
        work ();
    });
  }

  void work ()
  {
    /* A step takes at most a second; it must not begin with less time left. */
    const auto leadership = latch_.current_lease ();
    if (!leadership || !leadership->valid_for (std::chrono::seconds (1))) {
      wait ();
      return;
    }
    std::cout << "step " << steps_ << ", token " << leadership->fencing_token () << '\n';
    if (++steps_ < 3)
      wait ();
    else
      busy_.reset ();
  }

  std::shared_ptr<asio::io_context> loop_ = std::make_shared<asio::io_context> ();
  asio::executor_work_guard<asio::io_context::executor_type> busy_{ loop_->get_executor () };
  asio::steady_timer timer_{ *loop_ };
  int steps_ = 0;
  curator::client client_;
  curator::leader_latch latch_;
};
}

int
main (int argc, char **argv)
{
  try {
    program (argc > 1 ? argv[1] : "localhost:2181", argc > 2 ? argv[2] : "example").run ();
    return 0;
  } catch (const std::exception &error) {
    std::cerr << "asio_leader: " << error.what () << '\n';
    return 1;
  }
}
