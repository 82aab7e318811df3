/* A program that is compiled with -fno-exceptions and -fno-rtti, against a real server: it
 * acquires, tries, fails, leads and releases. Built as C++17 and C++20. */
#include "cpp/fixture.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <mutex>
#include <shared_mutex>

#ifdef __cpp_exceptions
#error "without exceptions"
#endif

namespace
{
using namespace std::chrono_literals;

template <class Result>
bool
fails (const Result &result, CuratorError code)
{
  return result.error () != nullptr && result.error ()->is (code);
}

curator::client
connect (Fixture *fixture)
{
  curator::client client (fixture_server (fixture));
  assert_true (bool (client.start ()));
  assert_true (client.block_until_connected (LONG));
  return client;
}

TEST (test_acquires_and_releases)
{
  const curator::client client = connect (fixture);
  curator::mutex mutex (client, "/quiet/mutex");
  {
    const std::unique_lock hold (mutex, LONG);
    assert_true (hold.owns_lock ());
    assert_true (mutex.current_lease ()->fencing_token () > 0);
  }
  auto lease = mutex.acquire_lease (LONG);
  assert_true (bool (lease) && lease.error () == nullptr);
  assert_true (lease->valid_for (1ms));
  const auto nodes = *mutex.participant_nodes ();
  assert_int_equal (nodes.size (), 1);
  assert_true (bool (lease->data ()));
  assert_true (bool (lease->release ()));
  assert_true (fails (lease->extend (1s), CURATOR_ERROR_LOCK_LOST));
  assert_true (fails (mutex.release (), CURATOR_ERROR_NOT_OWNER));
}

TEST (test_tries)
{
  const curator::client client = connect (fixture);
  const curator::client other = connect (fixture);
  curator::mutex mutex (client, "/quiet/tried");
  curator::mutex waiter (other, "/quiet/tried");
  curator::rw_lock pair (client, "/quiet/pair");
  curator::semaphore semaphore (other, "/quiet/semaphore", 2);
  auto held = mutex.try_acquire_lease_for (LONG);
  assert_true (bool (held));

  const auto late = waiter.try_lock_for (50ms);
  assert_true (!late && late.error () == nullptr);
  const auto none = waiter.try_acquire_lease_until (std::chrono::system_clock::now () + 50ms);
  assert_true (!none && none.error () == nullptr);
  assert_true (fails (waiter.acquire_lease (0ms), CURATOR_ERROR_TIMED_OUT));
  assert_false (std::unique_lock (waiter, std::try_to_lock).owns_lock ());
  assert_true (bool (held->release ()));

  assert_true (std::shared_lock (pair, LONG).owns_lock ());
  const auto two = semaphore.try_acquire_n_for (2, LONG);
  assert_true (bool (two));
  assert_true (!semaphore.try_acquire ());
  const auto empty = semaphore.try_acquire_n_for (1, 0ms);
  assert_true (bool (empty));
}

TEST (test_fails)
{
  const std::string with_nul ("/quiet\0/path", 12);
  curator::client client = connect (fixture);
  assert_true (
      fails (curator::make<curator::mutex> (client, "no slash"), CURATOR_ERROR_INVALID_ARGUMENT));
  assert_true (
      fails (curator::make<curator::mutex> (client, with_nul), CURATOR_ERROR_INVALID_ARGUMENT));
  assert_true (fails (curator::make<curator::semaphore> (client, "/quiet", 0U),
                      CURATOR_ERROR_INVALID_ARGUMENT));
  assert_true (fails (curator::find_locks (client, with_nul), CURATOR_ERROR_INVALID_ARGUMENT));
  assert_true (fails (client.attempt_revoke (with_nul), CURATOR_ERROR_INVALID_ARGUMENT));
  auto mutex = curator::make<curator::mutex> (client, "/quiet/made");
  assert_true (bool (mutex));
  curator::cancellable cancelled;
  cancelled.cancel ();
  const auto outcome = mutex->try_lock_for (curator::forever, cancelled);
  assert_true (!outcome && outcome.error ()->is_cancelled ());
  client.close ();
  const auto closed = mutex->try_lock ();
  assert_true (!closed && fails (closed, CURATOR_ERROR_CLOSED));
}

TEST (test_leads)
{
  const curator::client client = connect (fixture);
  curator::leader_latch latch (client, "/quiet/latch", "me");
  assert_true (bool (latch.start ()));
  assert_true (latch.try_await_for (LONG));
  assert_true (latch.has_leadership ());
  const auto leader = latch.leader ();
  assert_true (bool (leader));
  latch.close ();

  std::promise<void> leads;
  curator::leader_selector selector (
      client, "/quiet/selector",
      [&] (const curator::lease &, GCancellable *) { leads.set_value (); });
  assert_true (bool (selector.start ()));
  leads.get_future ().wait ();
}

TEST (test_hears_of_failures_in_callbacks)
{
  curator::client client = connect (fixture);
  curator::mutex mutex (client, "/quiet/async");
  std::promise<void> told;
  mutex.acquire_then (LONG, [&] (curator::lease lease, const curator::error *failed) {
    assert_true (bool (lease) && failed == nullptr);
    told.set_value ();
  });
  told.get_future ().wait ();
}

#ifdef __cpp_impl_coroutine
struct task
{
  struct promise_type
  {
    task get_return_object () { return {}; }
    std::suspend_never initial_suspend () noexcept { return {}; }
    std::suspend_never final_suspend () noexcept { return {}; }
    void return_void () {}
    void unhandled_exception () {}
  };
};

task
await_some (curator::client &client, bool &is_right, std::promise<void> &over)
{
  const curator::awaitables<> calls;
  curator::mutex mutex (client, "/quiet/coroutine");
  auto lease = co_await calls.acquire (mutex, LONG);
  is_right = bool (lease) && lease.error () == nullptr;
  is_right &= fails (co_await calls.acquire (mutex, 0s), CURATOR_ERROR_TIMED_OUT);
  is_right &= bool (co_await calls.release (*lease));
  is_right &= fails (co_await calls.inspect (client, std::string ("/a\0b", 4)),
                     CURATOR_ERROR_INVALID_ARGUMENT);
  is_right &= bool (co_await calls.block_until_connected (client, LONG));
  over.set_value ();
}

TEST (test_awaits)
{
  curator::client client = connect (fixture);
  std::promise<void> over;
  bool is_right = false;
  await_some (client, is_right, over);
  over.get_future ().wait ();
  assert_true (is_right);
}
#endif

/* The program's end in a child: a constructor that fails, and an operation on an empty handle. */
template <class Mistake>
void
ends (Mistake &&mistake)
{
  const pid_t child = fork ();
  if (child == 0) {
    const struct rlimit no_core = { 0, 0 };
    setrlimit (RLIMIT_CORE, &no_core);
    signal (SIGABRT, SIG_DFL);
    signal (SIGTRAP, SIG_DFL);
    mistake ();
    _exit (0);
  }
  int status = 0;
  assert_int_equal (waitpid (child, &status, 0), child);
  assert_true (WIFSIGNALED (status));
}

TEST (test_misuse_ends_the_program)
{
  ends ([] { curator::retry_policy ().allow_retry (0, 1ms).reset (); });
  ends ([] { (void) curator::mutex ().try_lock ().error (); });
  ends ([] { curator::client client (std::string ("a\0b", 3)); });
}

}

SUITE ("cpp_without_exceptions", fixture_start_slow, fixture_stop)
