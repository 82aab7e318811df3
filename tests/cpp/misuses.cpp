/* What must not be dropped, each dropped; with -DCORRECT, each used. check_misuses compiles
 * both. */
#include <curator/curator.hpp>

#include <chrono>
#include <mutex>

#ifdef CORRECT
#define MISUSE(wrong, correct) correct
#else
#define MISUSE(wrong, correct) wrong
#endif

using namespace std::chrono_literals;

/* A misuse is one line. */
/* clang-format off */

void misuse_constructors (const curator::client &client, curator::mutex &mutex);
void misuse_leases (const curator::client &client, curator::mutex &mutex,
                    curator::semaphore &semaphore);
bool misuse_tries (curator::client &client, curator::mutex &mutex, curator::rw_lock &pair,
                   curator::leader_latch &latch, curator::shared_count &count);

void
misuse_constructors (const curator::client &client, curator::mutex &mutex)
{
  const auto lead = [] (const curator::lease &, GCancellable *) {};

  MISUSE (curator::client ("zk:2181"), curator::client connected ("zk:2181"));
  MISUSE (curator::mutex (client, "/path"), curator::mutex other (client, "/path"));
  MISUSE (curator::semaphore (client, "/path", 2), curator::semaphore semaphore (client, "/path", 2));
  MISUSE (curator::rw_lock (client, "/path"), curator::rw_lock pair (client, "/path"));
  MISUSE (curator::multi_lock (client, { "/a", "/b" }), curator::multi_lock both (client, { "/a", "/b" }));
  MISUSE (curator::leader_latch (client, "/path"), curator::leader_latch latch (client, "/path"));
  MISUSE (curator::leader_selector (client, "/path", lead), curator::leader_selector selector (client, "/path", lead));
  MISUSE (curator::make<curator::mutex> (client, "/path"), const auto made = curator::make<curator::mutex> (client, "/path"));
  MISUSE (mutex.share (), const curator::mutex shared = mutex.share ());
}

void
misuse_leases (const curator::client &client, curator::mutex &mutex, curator::semaphore &semaphore)
{
  MISUSE (mutex.acquire_lease (), const auto waited = mutex.acquire_lease ());
  MISUSE (mutex.acquire_lease (1s), const auto lease = mutex.acquire_lease (1s));
  MISUSE (mutex.try_acquire_lease_for (1s), const auto tried = mutex.try_acquire_lease_for (1s));
  MISUSE (semaphore.acquire (1s), const auto one = semaphore.acquire (1s));
  MISUSE (semaphore.try_acquire (), const auto maybe = semaphore.try_acquire ());
  MISUSE (semaphore.acquire_n (2), const auto both = semaphore.acquire_n (2));
  MISUSE (semaphore.try_acquire_n_for (2, 1s), const auto two = semaphore.try_acquire_n_for (2, 1s));
  MISUSE (curator::inspection (client, "/path"), const curator::inspection inspection (client, "/path"));
}

bool
misuse_tries (curator::client &client, curator::mutex &mutex, curator::rw_lock &pair,
              curator::leader_latch &latch, curator::shared_count &count)
{
  bool all = true;

  MISUSE (client.block_until_connected (1s), all &= client.block_until_connected (1s));
  MISUSE (mutex.try_lock (), all &= mutex.try_lock ());
  MISUSE (mutex.try_lock_for (1s), all &= mutex.try_lock_for (1s));
  MISUSE (mutex.try_lock_until (std::chrono::steady_clock::now ()), all &= mutex.try_lock_until (std::chrono::steady_clock::now ()));
  MISUSE (pair.reader (), pair.reader ().unlock ());
  MISUSE (pair.writer (), pair.writer ().unlock ());
  MISUSE (pair.try_lock_shared_for (1s), all &= pair.try_lock_shared_for (1s));
  MISUSE (latch.try_await_for (1s), all &= latch.try_await_for (1s));
  MISUSE (count.try_set (1, 2), all &= count.try_set (1, 2));
  MISUSE (mutex.current_lease ()->valid_for (1s), all &= mutex.current_lease ()->valid_for (1s));
#ifndef __cpp_exceptions
  MISUSE (client.start (), all &= bool (client.start ()));
  MISUSE (mutex.release (), all &= bool (mutex.release ()));
#endif
  return all;
}
