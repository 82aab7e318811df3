/* asio.hpp against a real server: what each call gives with each kind of token, where handlers run,
 * cancellation through slots, and contexts that end before the client. C++20, with each installed
 * compiler. */
#include "cpp/fixture.hpp"

#include <curator/cpp/asio.hpp>

#include <random>
#include <thread>

using namespace std::chrono_literals;

extern "C"
{
#include "support/metronome.h"
#include "support/waiting.h"
}

namespace
{
/* A context that a thread runs. */
class running
{
public:
  running () : thread_ ([this] { loop.run (); }) {}

  ~running ()
  {
    work_.reset ();
    thread_.join ();
  }

  asio::io_context loop{};

private:
  asio::executor_work_guard<asio::io_context::executor_type> work_{ loop.get_executor () };
  std::thread thread_;
};

template <class Future>
int
code_of_future (Future future)
{
  return code_of ([&] { static_cast<void> (future.get ()); });
}

int
code_in (const std::exception_ptr &failed)
{
  return code_of ([&] {
    if (failed)
      std::rethrow_exception (failed);
  });
}
}

TEST (test_asio_calls_give_what_the_calls_that_wait_give)
{
  running there;
  const curator::asio_calls calls (there.loop.get_executor ());
  curator::client client = connect (fixture);
  curator::mutex lock (client, "/asio/mutex");
  curator::semaphore semaphore (client, "/asio/semaphore", 3);

  calls.block_until_connected (client, LONG, asio::use_future).get ();
  const curator::lease hold = calls.acquire (lock, LONG, asio::use_future).get ();
  assert_true (hold.valid_for (1ms));
  assert_int_equal (calls.participant_nodes (lock, LONG, asio::use_future).get ().size (), 1);
  assert_int_equal (
      calls.inspect (client, "/asio/mutex", LONG, asio::use_future).get ().participants ().size (),
      1);
  calls.release (hold, LONG, asio::use_future).get ();
  std::vector<curator::lease> leases =
      calls.acquire_n (semaphore, 2, LONG, asio::use_future).get ();
  assert_int_equal (leases.size (), 2);
  leases.push_back (calls.acquire (semaphore, LONG, asio::use_future).get ());
  assert_int_equal (code_of_future (calls.acquire (semaphore, 0ms, asio::use_future)),
                    CURATOR_ERROR_TIMED_OUT);
  calls.return_all (semaphore, leases, LONG, asio::use_future).get ();
  const std::string nul ("/a\0b", 4);
  assert_int_equal (
      code_of (
          [&] { static_cast<void> (calls.inspect (client, nul, LONG, asio::use_future).get ()); }),
      CURATOR_ERROR_INVALID_ARGUMENT);
  calls.close (client, asio::use_future).get ();
  assert_int_equal (code_of_future (calls.acquire (lock, LONG, asio::use_future)),
                    CURATOR_ERROR_CLOSED);
}

/* Never inside the call, and in the handler's own executor where it has one. */
TEST (test_asio_handlers_run_in_their_executor)
{
  asio::io_context fallback;
  asio::io_context loop;
  const curator::asio_calls calls (fallback.get_executor ());
  curator::client client = connect (fixture);
  curator::mutex lock (client, "/asio/executor");
  auto strand = asio::make_strand (loop);
  bool inside = true;
  int n_told = 0;

  for (const bool is_refused : { false, true }) {
    curator::mutex asked =
        is_refused ? curator::mutex (connect (fixture), "/asio/closed") : lock.share ();
    if (is_refused)
      asked.client ().close ();
    calls.acquire (
        asked, LONG,
        asio::bind_executor (strand, [&] (std::exception_ptr failed, curator::lease hold) {
          assert_false (inside);
          assert_true (strand.running_in_this_thread ());
          assert_int_equal (code_in (failed), is_refused ? CURATOR_ERROR_CLOSED : SUCCESS);
          assert_true (bool (hold) != is_refused);
          n_told++;
        }));
    inside = false;
    /* It has work until the handler has been called. */
    loop.run ();
    loop.restart ();
    inside = true;
  }
  assert_int_equal (n_told, 2);
  assert_int_equal (fallback.run (), 0);
}

namespace
{
constexpr int N_WAITERS = 1000;
constexpr std::size_t BURST = 20; /* one half of these is cancelled together */
constexpr int AT_ONCE_MS = 50;

struct crowd
{
  asio::io_context loop{};
  curator::asio_calls<> calls{ loop.get_executor () };
  int n_waiting = 0;
  int n_holding = 0;
  int n_granted = 0;
  int n_cancelled = 0;
  gint64 cancelled_ms = 0;
};

asio::awaitable<void>
take_turn (crowd &all, curator::mutex lock)
{
  all.n_waiting++;
  try {
    const curator::lease hold = co_await all.calls.acquire (lock, LONG, asio::use_awaitable);
    assert_int_equal (++all.n_holding, 1);
    all.n_granted++;
    all.n_holding--;
    co_await all.calls.release (hold, LONG, asio::use_awaitable);
  } catch (const curator::error &error) {
    assert_true (error.is_cancelled ());
    all.n_cancelled++;
  }
}
}

TEST (test_asio_slots_cancel_half_of_a_crowd)
{
  crowd all;
  std::vector<asio::cancellation_signal> signals (N_WAITERS);
  curator::client client = connect (fixture);
  curator::mutex lock (client, "/asio/crowd");
  std::optional<curator::lease> hold = lock.acquire_lease (LONG);

  for (auto &signal : signals) {
    asio::co_spawn (all.loop, take_turn (all, lock.share ()),
                    asio::bind_cancellation_slot (signal.slot (), asio::detached));
  }
  while (lock.participant_nodes ().size () < N_WAITERS + 1)
    all.loop.run_for (50ms);
  for (std::size_t i = 0; i < N_WAITERS; i += 2) {
    if (i % BURST == 0)
      all.cancelled_ms = wait_now_ms ();
    signals[i].emit (asio::cancellation_type::terminal);
    if (i % BURST != BURST - 2)
      continue;
    while (all.n_cancelled * 2 < int (i) + 2)
      all.loop.run_one ();
    /* asio.hpp: a cancelled call ends at once. */
    assert_promised_ms (wait_now_ms () - all.cancelled_ms, AT_ONCE_MS, all.cancelled_ms);
  }
  hold->release (LONG);
  all.loop.run ();
  assert_int_equal (all.n_cancelled, N_WAITERS / 2);
  assert_int_equal (all.n_granted, N_WAITERS / 2);
}

/* Whenever a context ends, its handlers are destroyed, and what they waited for is nobody's. */
TEST (test_asio_contexts_may_end_first)
{
  std::minstd_rand random (1);
  curator::client client = connect (fixture);
  curator::mutex lock (client, "/asio/first");
  const auto witness = std::make_shared<int> ();

  for (int i = 0; i < 200; i++) {
    auto loop = std::make_unique<asio::io_context> ();
    const curator::asio_calls calls (loop->get_executor ());
    for (int k = 0; k < 4; k++) {
      calls.acquire (lock, LONG, [witness, &calls] (std::exception_ptr, curator::lease hold) {
        if (hold)
          calls.release (hold, LONG, [witness] (std::exception_ptr) {});
      });
    }
    if (random () % 2 == 0)
      loop->run_for (std::chrono::microseconds (random () % 20000));
    else
      std::this_thread::sleep_for (std::chrono::microseconds (random () % 5000));
    loop.reset ();
    assert_int_equal (witness.use_count (), 1);
  }
  const curator::lease hold = lock.acquire_lease (LONG);
  assert_true (holds_within (lock.participant_nodes ().size () == 1, LONG_MS));
}

PROMPT_SUITE ("cpp_asio", fixture_start_slow, fixture_stop)
