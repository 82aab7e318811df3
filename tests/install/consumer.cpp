/* The same in C++. */
#include <curator/curator.hpp>

#include <iostream>
#include <mutex>

int
main (int argc, char **argv)
try {
  curator::client client (argc > 1 ? argv[1] : "");
  client.start ();
  curator::mutex mutex (client, "/consumer");
  const std::unique_lock hold (mutex, std::chrono::seconds (20));
  if (!hold)
    return 1;
  std::cout << "held with token " << mutex.current_lease ()->fencing_token () << '\n';
  return 0;
} catch (const curator::error &error) {
  std::cerr << error.what () << '\n';
  return 1;
}
