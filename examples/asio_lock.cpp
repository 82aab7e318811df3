/* SPDX-License-Identifier: Apache-2.0
 * A lock in an Asio io_context: the result of the acquire is posted to it, and the end of the hold
 * wakes it through a descriptor. No thread of the program waits.
 *
 * usage: asio_lock CONNECT-STRING
 */
#include <curator/curator.hpp>

#include <asio.hpp>

#include <iostream>
#include <unistd.h>

namespace
{
class program
{
public:
  explicit program (const char *servers) : client_ (servers), lock_ (client_, "/examples/asio") {}

  int run ()
  {
    client_.start ();
    /* The callback runs on a thread of the library, and only passes the result on. */
    lock_.acquire_then (std::chrono::seconds (10),
                        [this] (curator::lease hold, const curator::error *error) {
                          const std::string why = error != nullptr ? error->what () : "";
                          asio::post (loop_, [this, why, kept = std::move (hold)] () mutable {
                            acquired (std::move (kept), why);
                          });
                        });
    loop_.run ();
    return status_;
  }

private:
  void acquired (curator::lease hold, const std::string &why)
  {
    busy_.reset ();
    if (!why.empty ())
      {
        std::cerr << "asio_lock: " << why << '\n';
        return;
      }
    hold_ = std::move (hold);
    std::cout << "held: " << hold_.node_path () << '\n';
    /* Asio closes its descriptors, and this one belongs to the lease. */
    ended_.assign (dup (hold_.fd ()));
    ended_.async_wait (asio::posix::stream_descriptor::wait_read,
                       [this] (const asio::error_code &) { ended (); });
    work_.expires_after (std::chrono::milliseconds (100));
    /* A release waits for the server: another thread does it. */
    work_.async_wait (
        [this] (const asio::error_code &) { asio::post (helpers_, [this] { hold_.release (); }); });
  }

  void ended ()
  {
    const curator::lease_state state = hold_.state ();
    std::cout << "ended: " << curator::to_string (state) << '\n';
    status_ = state == curator::lease_state::released ? 0 : 1;
  }

  curator::client client_;
  curator::mutex lock_;
  curator::lease hold_;
  asio::io_context loop_;
  asio::executor_work_guard<asio::io_context::executor_type> busy_{ loop_.get_executor () };
  asio::posix::stream_descriptor ended_{ loop_ };
  asio::steady_timer work_{ loop_ };
  asio::thread_pool helpers_{ 1 };
  int status_ = 1;
};
}

int
main (int argc, char **argv)
{
  try
    {
      return program (argc > 1 ? argv[1] : "localhost:2181").run ();
    }
  catch (const std::exception &error)
    {
      std::cerr << "asio_lock: " << error.what () << '\n';
      return 1;
    }
}
