/* curator.hpp with every time point and duration at its ends, in every unit: what overflows is seen
 * here, and by UndefinedBehaviorSanitizer. Built as C++17 and C++20. */
/* Before a macro of cmocka that it clashes with. */
#include <filesystem>

#include "cpp/fixture.hpp"

#include <cmath>
#include <functional>
#include <future>
#include <shared_mutex>
#include <thread>

namespace
{
using std::chrono::duration;
using std::chrono::time_point;

/* Calls test with a null pointer to each unit: those of the standard, and strange ones. */
template <class Test>
void
for_each_unit (Test &&test)
{
  using units =
      std::tuple<std::chrono::nanoseconds *, std::chrono::microseconds *,
                 std::chrono::milliseconds *, std::chrono::seconds *, std::chrono::minutes *,
                 std::chrono::hours *, duration<std::int64_t, std::ratio<31556952>> *,
                 duration<std::int32_t> *, duration<std::uint64_t, std::milli> *,
                 duration<std::int64_t, std::atto> *, duration<double> *,
                 duration<float, std::ratio<3600>> *>;
  std::apply ([&] (auto... each) { (test (each), ...); }, units ());
}

/* A clock of a program's own, which counts its units from the start of the steady clock plus an
 * offset. */
template <class Rep, class Period, std::int64_t OffsetSeconds> struct own_clock
{
  using rep = Rep;
  using period = Period;
  using duration = std::chrono::duration<Rep, Period>;
  using time_point = std::chrono::time_point<own_clock>;
  static constexpr bool is_steady = true;

  static time_point now ()
  {
    const auto since = std::chrono::steady_clock::now ().time_since_epoch ();
    return time_point (
        std::chrono::duration_cast<duration> (since + std::chrono::seconds (OffsetSeconds)));
  }
};

/* Calls test with a null pointer to each clock. The file clock counts from the year 2174. */
template <class Test>
void
for_each_clock (Test &&test)
{
  using clocks = std::tuple<std::chrono::system_clock *, std::chrono::steady_clock *,
                            std::filesystem::file_time_type::clock *,
                            own_clock<std::uint64_t, std::micro, 0> *,
                            own_clock<std::int32_t, std::ratio<1, 100>, 0> *,
                            own_clock<double, std::ratio<60>, -9000000000> *>;
  std::apply ([&] (auto... each) { (test (each), ...); }, clocks ());
}

/* The ends of time by each clock in each unit. Unsigned ones cannot be before the epoch, which may
 * be far away itself. */
template <class Test>
void
for_each_time_point (Test &&test)
{
  for_each_unit ([&] (auto *unit) {
    for_each_clock ([&] (auto *clock) {
      using unit_type = std::remove_pointer_t<decltype (unit)>;
      using clock_type = std::remove_pointer_t<decltype (clock)>;
      test (time_point<clock_type, unit_type>::min ());
      test (time_point<clock_type, unit_type>::max ());
    });
  });
}

/* Later than this test; the others are past, or within the nine seconds that are INT64_MAX
 * attoseconds. */
template <class Point>
bool
is_far (const Point &point)
{
  using seconds = duration<double>;
  return seconds (point.time_since_epoch ())
         > seconds (Point::clock::now ().time_since_epoch ()) + seconds (3600);
}

bool
starts (const char *server, const curator::client_options &options)
{
  curator::client client (server, options);
  const int code = code_of ([&] { client.start (); });
  assert_true (code == SUCCESS || code == CURATOR_ERROR_INVALID_ARGUMENT);
  return code == SUCCESS;
}

std::size_t
children (Fixture *fixture, const char *path)
{
  char **names = raw_zk_children (fixture->raw, path);
  const std::size_t n = names != nullptr ? g_strv_length (names) : 0;
  g_strfreev (names);
  return n;
}

/* A try that would wait for ever until it is cancelled. */
bool
waits (Fixture *fixture, const char *path, const std::function<bool (GCancellable *)> &attempt)
{
  curator::cancellable cancellable;
  auto outcome = std::async (std::launch::async, [&] {
    bool is_granted = false;
    const int code =
        code_of ([&] { is_granted = attempt (static_cast<GCancellable *> (cancellable)); });
    return code == CANCELLED && !is_granted;
  });
  while (outcome.wait_for (std::chrono::milliseconds (1)) == std::future_status::timeout)
    if (children (fixture, path) > 1)
      cancellable.cancel ();
  while (children (fixture, path) > 1)
    std::this_thread::yield ();
  return outcome.get ();
}

TEST (test_time_points)
{
  curator::client client = connect (fixture);
  curator::client other = connect (fixture);
  curator::mutex held (client, "/extremes/held");
  curator::mutex waiter (other, "/extremes/held");
  curator::rw_lock pair (client, "/extremes/pair");
  curator::rw_lock reader (other, "/extremes/pair");
  const std::lock_guard<curator::mutex> hold (held);
  const std::lock_guard<curator::rw_lock> written (pair);

  for_each_time_point ([&] (auto time) {
    if (is_far (time)) {
      assert_true (waits (fixture, "/extremes/held",
                          [&] (GCancellable *stop) { return waiter.try_lock_until (time, stop); }));
      assert_true (waits (fixture, "/extremes/pair",
                          [&] (GCancellable *stop) { return reader.try_lock_until (time, stop); }));
      assert_true (waits (fixture, "/extremes/pair", [&] (GCancellable *stop) {
        return reader.try_lock_shared_until (time, stop);
      }));
    } else {
      assert_false (waiter.try_lock_until (time));
      assert_false (reader.try_lock_until (time));
      assert_false (reader.try_lock_shared_until (time));
    }
  });
}

/* Not earlier than that clock says, by another one. */
TEST (test_each_clock_is_awaited)
{
  curator::client client = connect (fixture);
  curator::client other = connect (fixture);
  curator::mutex held (client, "/extremes/awaited");
  curator::mutex waiter (other, "/extremes/awaited");
  curator::semaphore all (client, "/extremes/leases", 1);
  curator::semaphore none (other, "/extremes/leases", 1);
  curator::leader_latch leader (client, "/extremes/leads");
  curator::leader_latch follower (other, "/extremes/leads");
  const auto hold = held.acquire_lease (LONG);
  const auto lease = all.acquire (LONG);
  leader.start ();
  leader.await ();
  follower.start ();

  for_each_clock ([&] (auto *clock) {
    using clock_type = std::remove_pointer_t<decltype (clock)>;
    using unit = typename clock_type::duration;
    const auto waits = [&] (auto &&attempt) {
      const auto before = std::chrono::steady_clock::now ();
      const auto time = clock_type::now ()
                        + std::chrono::ceil<std::chrono::duration<double, typename unit::period>> (
                            std::chrono::milliseconds (60));
      assert_false (attempt (time));
      const auto took = std::chrono::steady_clock::now () - before;
      assert_true (took >= std::chrono::milliseconds (45)); /* a tick of the coarsest is 10 ms */
      assert_true (took < LONG);
    };
    waits ([&] (auto time) { return waiter.try_lock_until (time); });
    waits ([&] (auto time) { return waiter.try_acquire_lease_until (time).has_value (); });
    waits ([&] (auto time) { return none.try_acquire_until (time).has_value (); });
    waits ([&] (auto time) { return !none.try_acquire_n_until (1, time).empty (); });
    waits ([&] (auto time) { return follower.try_await_until (time); });
  });
}

template <class Unit>
constexpr Unit ENDS[] = { Unit::min (), Unit::max (), Unit::zero (), Unit (1),
                          Unit (0) - Unit (1) };

/* Nothing is in the way, so that each of these returns at once. */
TEST (test_durations)
{
  curator::client client = connect (fixture);
  curator::mutex mutex (client, "/extremes/mutex");
  curator::semaphore semaphore (client, "/extremes/semaphore", 3);
  curator::leader_latch latch (client, "/extremes/latch");
  latch.start ();
  latch.await ();

  for_each_unit ([&] (auto *unit) {
    using unit_type = std::remove_pointer_t<decltype (unit)>;
    for (const unit_type time : ENDS<unit_type>) {
      assert_true (client.block_until_connected (time));
      assert_true (latch.try_await_for (time));
      const bool is_none = time <= unit_type::zero ();
      if (time < unit_type::max () && !is_none)
        continue; /* a server may take longer */
      const auto asks = [&] (auto &&question) {
        assert_int_equal (code_of (question), is_none ? CURATOR_ERROR_NO_ANSWER : SUCCESS);
      };
      assert_true (mutex.try_lock_for (time));
      asks ([&] { assert_int_equal (mutex.participant_nodes (time).size (), 1); });
      mutex.unlock ();
      mutex.try_acquire_lease_for (time).value ().release ();
      curator::lease lease = mutex.acquire_lease (time);
      asks ([&] { assert_true (lease.data (time).size () < 100); });
      assert_true (lease.valid_for (unit_type::min ()));
      assert_int_equal (code_of ([&] { lease.release (time); }),
                        is_none ? CURATOR_ERROR_RELEASE_PENDING : SUCCESS);
      semaphore.try_acquire_for (time).value ().release ();
      semaphore.acquire (time).release ();
      for (curator::lease &one : semaphore.try_acquire_n_for (2, time))
        one.release ();
    }
  });
}

/* The sleep of a policy, which its duration gives within the limits of retry.h. */
template <class Unit>
void
check_sleep (const curator::retry_policy &policy, Unit time, int least_ms)
{
  const auto sleep = policy.allow_retry (0, Unit::zero ());
  assert_true (sleep.has_value ());
  assert_true (sleep->count () >= (time > Unit::zero () ? 1 : least_ms));
  assert_true (time > Unit::zero () || sleep->count () == least_ms);
}

TEST (test_retry_policies)
{
  using policy = curator::retry_policy;

  for_each_unit ([&] (auto *unit) {
    using unit_type = std::remove_pointer_t<decltype (unit)>;
    for (const unit_type time : ENDS<unit_type>) {
      check_sleep (policy::exponential_backoff (time, 1), time, 0);
      check_sleep (policy::bounded_exponential_backoff (time, time, 1), time, 0);
      check_sleep (policy::n_times (1, time), time, 0);
      check_sleep (policy::one_time (time), time, 0);
      check_sleep (policy::always (time), time, 1);
      check_sleep (policy::custom ([=] (guint, auto, auto *) { return std::optional (time); }),
                   time, 0);
      assert_true (
          policy::until_elapsed (time, time).allow_retry (0, unit_type::zero ()).has_value ()
          == (time > unit_type::zero ()));
      const bool is_early = duration<double> (time).count () <= 0.9;
      const bool is_late = duration<double> (time).count () >= 1;
      const bool goes_on =
          policy::until_elapsed (std::chrono::seconds (1), time).allow_retry (0, time).has_value ();
      assert_true (goes_on ? !is_late : !is_early);
    }
  });
}

/* Start says whether it can be one. */
TEST (test_settings)
{
  const char *server = fixture_server (fixture);

  for_each_unit ([&] (auto *unit) {
    using unit_type = std::remove_pointer_t<decltype (unit)>;
    for (const unit_type time : ENDS<unit_type>) {
      const double ms = std::ceil (duration<double, std::milli> (time).count ());
      curator::client_options session, others;
      session.session_timeout = time;
      others.connection_timeout = time;
      others.server_tick = time;
      others.heartbeat_interval = time;
      assert_true (starts (server, session) == (ms >= 10 && ms < (1 << 30)));
      assert_true (starts (server, others) == (ms >= 1 && ms <= G_MAXINT32));
    }
  });
}

/* A time that is no number is no time. */
TEST (test_not_a_number)
{
  const duration<double> time (std::nan (""));
  curator::client client = connect (fixture);
  curator::client other = connect (fixture);
  curator::mutex mutex (client, "/extremes/nan");
  curator::mutex waiter (other, "/extremes/nan");
  const auto lease = mutex.acquire_lease (LONG);
  curator::client_options options;

  options.connection_timeout = time;
  assert_false (starts (fixture_server (fixture), options));
  assert_false (waiter.try_lock_for (time));
  assert_false (
      waiter.try_lock_until (time_point<std::chrono::system_clock, duration<double>> (time)));
  assert_false (lease.valid_for (time));
}

}

SUITE ("cpp_extremes", fixture_start_slow, fixture_stop)
