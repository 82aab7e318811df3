/* Functions of a C++ program that end their thread, or throw: what they own is destroyed, the
 * process lives, and the library goes on as it does for C. Built as C++17 and C++20, with each
 * installed compiler. */
#include "cpp/fixture.hpp"

#include "cpp/criticals.hpp"

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;

namespace
{
constexpr int TIMES = 3;

enum class end
{
  exit,
  cancel,
  exception,
  number /* an exception, too */
};

constexpr end ENDS[] = { end::exit, end::cancel, end::exception, end::number };

/* Counts its destruction; a moved-from one does not count. */
class witness
{
public:
  explicit witness (std::atomic<int> &destroyed) : destroyed_ (&destroyed) {}

  /* std::function asks for it, and does not call it here. */
  witness (const witness &) : destroyed_ (nullptr) { assert_true (false); }

  witness (witness &&other) noexcept : destroyed_ (std::exchange (other.destroyed_, nullptr)) {}

  witness &operator= (const witness &) = delete;

  ~witness ()
  {
    if (destroyed_ != nullptr)
      ++*destroyed_;
  }

private:
  std::atomic<int> *destroyed_;
};

/* What a function leaves behind. */
struct trail
{
  std::atomic<int> entered = 0;
  std::atomic<int> unwound = 0;   /* objects of the function's own */
  std::atomic<int> destroyed = 0; /* what the callable has captured */
};

/* The threads of callbacks are not cancelled unless they allow it. */
void
leave (end how, trail &left)
{
  const witness local (left.unwound);
  left.entered++;
  if (how == end::exception)
    throw std::runtime_error ("from a function of the program");
  if (how == end::number)
    throw 42;
  if (how == end::exit)
    pthread_exit (nullptr);
  pthread_setcancelstate (PTHREAD_CANCEL_ENABLE, nullptr);
  pthread_cancel (pthread_self ());
  pthread_testcancel ();
}

void
await (const std::atomic<int> &number, int at_least)
{
  (void) holds_within (number >= at_least, LONG_MS);
  assert_int_equal (number.load (), at_least);
}

/* A critical message for each exception, and no other; the last may be on its way. */
void
await_messages (const criticals &seen, end how, int n)
{
  const int expected = how == end::exception || how == end::number ? n : 0;
  (void) holds_within (seen.count () >= expected, LONG_MS);
  assert_int_equal (seen.count (), expected);
}

std::string
path_of (const char *name, end how)
{
  return std::string ("/cpp_ends/") + name + std::to_string (static_cast<int> (how));
}

/* Leads again and again: each leadership has a thread of its own. */
TEST (test_leader)
{
  for (const end how : ENDS) {
    const std::string path = path_of ("leader", how);
    const curator::client client = connect (fixture);
    const criticals seen;
    trail left;
    std::atomic<bool> leads_on = false;
    {
      std::function<void (const curator::lease &, GCancellable *)> lead =
          [&, kept = witness (left.destroyed)] (const curator::lease &lease, GCancellable *stop) {
            const curator::lease mine = lease.share ();
            if (left.entered < TIMES)
              leave (how, left);
            leads_on = true;
            while (g_cancellable_is_cancelled (stop) == FALSE)
              std::this_thread::sleep_for (1ms);
          };
      curator::leader_selector selector (client, path, std::move (lead));
      selector.set_auto_requeue (true);
      selector.start ();
      await (left.unwound, TIMES);
      await_messages (seen, how, TIMES);
      assert_soon (leads_on);
      selector.close ();
    }
    await (left.destroyed, 1);
    assert_int_equal (left.entered.load (), TIMES);
    assert_no_residue (fixture, path.c_str (), LONG_MS);
  }
}

/* Each is granted, because what the one before it held has ended with it. */
TEST (test_callback_of_an_acquire)
{
  for (const end how : ENDS) {
    const std::string path = path_of ("grant", how);
    curator::client client = connect (fixture);
    curator::mutex mutex (client, path);
    const criticals seen;
    trail left;

    for (int i = 0; i < TIMES; i++) {
      std::function<void (curator::lease, const curator::error *)> done =
          [&, how, kept = witness (left.destroyed)] (curator::lease, const curator::error *failed) {
            if (failed == nullptr)
              leave (how, left);
          };
      mutex.acquire_then (curator::forever, std::move (done));
    }
    await (left.unwound, TIMES);
    await (left.destroyed, TIMES);
    await_messages (seen, how, TIMES);
    assert_true (mutex.acquire_lease (LONG).state () == curator::lease_state::held);
    assert_no_residue (fixture, path.c_str (), LONG_MS);
    client.close ();
  }
}

/* Each kind of release, one after the other: the hold has ended all the same. */
TEST (test_callback_of_a_release)
{
  for (const end how : ENDS) {
    const std::string path = path_of ("release", how);
    curator::client client = connect (fixture);
    curator::mutex mutex (client, path);
    curator::semaphore semaphore (client, path + "-semaphore", 1);
    const criticals seen;
    trail left;
    const auto done = [&] {
      return
          [&, how, kept = witness (left.destroyed)] (const curator::error *) { leave (how, left); };
    };

    for (int n = 0; n < TIMES * 3; n += 3) {
      mutex.acquire_lease (LONG).release_then (done ());
      await (left.unwound, n + 1);
      mutex.lock ();
      mutex.release_then (done ());
      await (left.unwound, n + 2);
      semaphore.acquire (LONG).release_then (done ());
      await (left.unwound, n + 3);
    }
    await (left.destroyed, TIMES * 3);
    await_messages (seen, how, TIMES * 3);
    assert_no_residue (fixture, path.c_str (), LONG_MS);
    client.close ();
  }
}

/* The same for the acquire of a semaphore and for listeners of leases. */
TEST (test_callbacks_of_a_hold)
{
  for (const end how : ENDS) {
    curator::client client = connect (fixture);
    curator::semaphore semaphore (client, path_of ("granted", how), 1);
    const criticals seen;
    trail left;

    for (int n = 0; n < TIMES * 2; n += 2) {
      semaphore.acquire_n_then (
          1, curator::forever,
          [&, how, kept = witness (left.destroyed)] (
              std::vector<curator::lease>, const curator::error *) { leave (how, left); });
      await (left.unwound, n + 1);
      curator::lease lease = semaphore.acquire (LONG);
      lease.add_listener (
          [&, how, kept = witness (left.destroyed)] (curator::lease_state) { leave (how, left); });
      lease.release ();
      await (left.unwound, n + 2);
    }
    await (left.destroyed, TIMES * 2);
    await_messages (seen, how, TIMES * 2);
    client.close ();
  }
}

/* Each listener is called, and what it has captured is destroyed once, after the last call. */
TEST (test_state_listener)
{
  for (const end how : ENDS) {
    curator::client client (fixture_server (fixture), {});
    const criticals seen;
    trail left;

    for (int i = 0; i < TIMES; i++) {
      std::function<void (curator::connection_state)> listener =
          [&, how, kept = witness (left.destroyed)] (curator::connection_state state) {
            if (state == curator::connection_state::connected)
              leave (how, left);
          };
      client.add_state_listener (std::move (listener));
    }
    client.start ();
    await (left.unwound, TIMES);
    await_messages (seen, how, TIMES);
    assert_int_equal (left.destroyed.load (), 0);
    client = curator::client ();
    await (left.destroyed, TIMES);
  }
}

/* A cancellation that the callback did not allow ends nothing. */
TEST (test_cancelled_callback_goes_on)
{
  curator::client client (fixture_server (fixture), {});
  std::atomic<int> survived = 0;

  for (int i = 0; i < TIMES; i++) {
    client.add_state_listener ([&] (curator::connection_state now) {
      if (now == curator::connection_state::connected) {
        pthread_cancel (pthread_self ());
        pthread_testcancel ();
        survived++;
      }
    });
  }
  client.start ();
  await (survived, TIMES);
  client.close ();
}
}

SUITE ("cpp_ends", fixture_start_slow, fixture_stop)
