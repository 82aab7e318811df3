/* SPDX-License-Identifier: Apache-2.0
 * C++: the lock types of the standard library. Leaving the block, also by an exception, ends the
 * holds.
 *
 * usage: scoped_lock CONNECT-STRING
 */
#include <curator/curator.hpp>

#include <iostream>
#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;

int
main (int argc, char **argv)
try {
  curator::client client (argc > 1 ? argv[1] : "localhost:2181");
  client.start ();

  curator::mutex jobs (client, "/examples/cpp/jobs");
  curator::rw_lock table (client, "/examples/cpp/table");
  {
    const std::scoped_lock both (jobs, table);
    std::cout << "jobs and table are held, token " << jobs.current_lease ()->fencing_token ()
              << '\n';
  }
  if (const std::shared_lock reading (table, 5s); reading)
    std::cout << "reading, with others\n";
  curator::semaphore slots (client, "/examples/cpp/slots", 2);
  if (const auto slot = slots.try_acquire_for (5s))
    std::cout << "a slot for " << slot->remaining ().count () << " ms at least\n";
  return 0;
} catch (const curator::error &error) {
  std::cerr << "scoped_lock: " << error.what () << '\n';
  return 1;
}
