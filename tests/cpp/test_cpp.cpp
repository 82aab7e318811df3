/* curator.hpp against a real server: only what C++ adds to the C library. Built as C++17 and C++20,
 * with each installed compiler. */
#include "cpp/fixture.hpp"

#include "cpp/criticals.hpp"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <future>
#include <malloc.h>
#include <mutex>
#include <poll.h>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;

namespace
{
template <class Handle>
constexpr bool is_only_moved =
    !std::is_copy_constructible_v<Handle> && std::is_nothrow_move_constructible_v<Handle>;
template <class... Handles> constexpr bool are_only_moved = (is_only_moved<Handles> && ...);
static_assert (are_only_moved<curator::client, curator::lease, curator::mutex, curator::rw_lock,
                              curator::semaphore, curator::semaphore_mutex, curator::multi_lock,
                              curator::retry_policy>);
static_assert (std::is_nothrow_move_assignable_v<curator::mutex>);
static_assert (std::is_nothrow_move_assignable_v<curator::rw_lock>);
static_assert (std::is_base_of_v<std::runtime_error, curator::error>);
static_assert (noexcept (std::declval<curator::mutex &> ().unlock ()));
static_assert (noexcept (std::declval<curator::rw_lock &> ().unlock_shared ()));

/* The result of a try_lock on another thread. */
template <class Lock>
bool
other_gets (Lock &lock)
{
  return std::async (std::launch::async,
                     [&lock] {
                       const std::unique_lock<Lock> hold (lock, std::try_to_lock);
                       return hold.owns_lock ();
                     })
      .get ();
}

TEST (test_unique_lock)
{
  curator::client client = connect (fixture);
  curator::mutex mutex (client, "/cpp/unique");
  {
    std::unique_lock hold (mutex, LONG);
    assert_true (hold.owns_lock ());
    assert_true (mutex.is_owned_by_current_thread ());
    assert_true (mutex.is_acquired_in_this_process ());
    assert_false (other_gets (mutex));
    std::unique_lock again (mutex, std::try_to_lock);
    assert_true (again.owns_lock ());
    again.unlock ();
    assert_true (mutex.is_owned_by_current_thread ());
    assert_true (mutex.current_lease ().has_value ());
    assert_true (mutex.current_lease ()->fencing_token () > 0);
    assert_int_equal (mutex.participant_nodes ().size (), 1);
    assert_string_equal (mutex.participant_nodes ()[0].c_str (),
                         mutex.current_lease ()->node_path ().c_str ());
  }
  assert_false (mutex.is_acquired_in_this_process ());
  assert_false (mutex.current_lease ().has_value ());
  assert_true (other_gets (mutex));
  assert_children (fixture, "/cpp/unique", 0, LONG_MS);
}

TEST (test_timeouts)
{
  curator::client client = connect (fixture);
  curator::mutex holder (client, "/cpp/time");
  curator::mutex waiter (client, "/cpp/time");
  const std::lock_guard hold (holder);

  assert_false (waiter.try_lock ());
  assert_false (waiter.try_lock_for (-1h));
  assert_false (waiter.try_lock_for (1us)); /* rounded up, or it would wait forever */
  const auto began = std::chrono::steady_clock::now ();
  assert_false (waiter.try_lock_for (200ms));
  assert_false (waiter.try_lock_until (std::chrono::system_clock::now () + 200ms));
  assert_true (std::chrono::steady_clock::now () - began >= 390ms);
  assert_false (waiter.try_lock_until (std::chrono::steady_clock::now () - 1s));
  assert_false (waiter.try_acquire_lease_for (50ms).has_value ());

  /* Too long to count in milliseconds: waits, and is cancelled. */
  curator::cancellable cancellable;
  std::thread canceller ([&] {
    std::this_thread::sleep_for (100ms);
    cancellable.cancel ();
  });
  assert_int_equal (
      code_of ([&] { (void) waiter.try_lock_for (std::chrono::hours::max (), cancellable); }),
      CANCELLED);
  canceller.join ();
}

TEST (test_std_lock)
{
  curator::client client = connect (fixture);
  int shared = 0;
  const auto work = [&] (const char *one, const char *two) {
    curator::mutex first (client, one);
    curator::mutex second (client, two);
    for (int i = 0; i < 5; i++) {
      const std::scoped_lock both (first, second);
      shared++;
    }
  };
  std::thread other (work, "/cpp/b", "/cpp/a");
  work ("/cpp/a", "/cpp/b");
  other.join ();
  assert_int_equal (shared, 10);
}

TEST (test_shared_lock)
{
  curator::client client = connect (fixture);
  curator::rw_lock mine (client, "/cpp/rw");
  curator::rw_lock theirs (client, "/cpp/rw");
  {
    const std::shared_lock reading (mine);
    assert_true (mine.share ().reader ().is_owned_by_current_thread ());
    const auto reads = [&] { return std::shared_lock (theirs, LONG).owns_lock (); };
    assert_true (std::async (std::launch::async, reads).get ());
    assert_false (other_gets (theirs));
  }
  {
    std::unique_lock writing (mine, LONG);
    assert_true (writing.owns_lock ());
    const auto reads = [&] { return std::shared_lock (theirs, std::try_to_lock).owns_lock (); };
    assert_false (std::async (std::launch::async, reads).get ());
    /* The writer downgrades, and no other writer is granted in between. */
    const std::shared_lock reading (mine);
    writing.unlock ();
    assert_true (std::async (std::launch::async, reads).get ());
    assert_false (other_gets (theirs));
    assert_true (mine.reader ().is_owned_by_current_thread ());
    assert_false (mine.writer ().is_owned_by_current_thread ());
  }
  assert_true (other_gets (theirs));
}

TEST (test_release_without_waiting)
{
  curator::client client = connect (fixture);
  curator::mutex quick (client, "/cpp/quick", curator::unlock_mode::background);
  {
    const std::lock_guard hold (quick);
  }
  assert_false (quick.is_acquired_in_this_process ());
  assert_children (fixture, "/cpp/quick", 0, LONG_MS);

  quick.lock ();
  await ([&] (auto done) {
    quick.release_then (done);
    assert_false (quick.is_owned_by_current_thread ());
  });
  curator::lease lease = quick.acquire_lease ();
  await ([&] (auto done) {
    lease.release_then (done);
    assert_true (lease.state () == curator::lease_state::released);
  });
  assert_children (fixture, "/cpp/quick", 0, LONG_MS);
  assert_int_equal (code_of ([&] { await ([&] (auto done) { quick.release_then (done); }); }),
                    CURATOR_ERROR_NOT_OWNER);
}

TEST (test_errors)
{
  curator::client client = connect (fixture);
  const auto is_invalid = [] (auto &&call) {
    assert_int_equal (code_of (call), CURATOR_ERROR_INVALID_ARGUMENT);
  };
  is_invalid ([&] { (void) curator::semaphore (client, "/cpp/none", 0); });
  is_invalid ([&] { (void) curator::multi_lock (client, { "/cpp/x", "/cpp/x" }); });
  is_invalid ([&] {
    curator::client_options options;
    options.name_space = "a/../b";
    (void) curator::client (fixture_server (fixture), options);
  });
  is_invalid ([&] { client.update_servers ("127.0.0.1:0"); });
  client.update_servers (fixture_server (fixture));
  curator::mutex mutex (client, "/cpp/errors");
  assert_int_equal (code_of ([&] { mutex.release (); }), CURATOR_ERROR_NOT_OWNER);
  std::unique_lock hold (mutex, LONG);
  client.close ();
  assert_int_equal (code_of ([&] { (void) curator::mutex (client, "/cpp/errors").lock (); }),
                    CURATOR_ERROR_CLOSED);
  assert_false (mutex.is_owned_by_current_thread ());
  hold.unlock (); /* a lost hold is unlocked like any other */
}

TEST (test_max_hold)
{
  curator::client client = connect (fixture);
  curator::mutex mutex (client, "/cpp/max-hold");
  assert_int_equal (code_of ([&] { mutex.set_max_hold (0s); }), CURATOR_ERROR_INVALID_ARGUMENT);
  mutex.set_max_hold (1h);
  curator::lease hold = mutex.acquire_lease ();
  hold.extend (2h);
  hold.release ();
  mutex.set_max_hold (200ms);
  curator::lease brief = mutex.acquire_lease ();
  assert_true (brief.remaining () <= 200ms);
  std::promise<void> lost;
  brief.add_listener ([&] (curator::lease_state) { lost.set_value (); });
  lost.get_future ().get ();
  assert_true (brief.state () == curator::lease_state::lost);
  assert_true (brief.lost_reason () == curator::lost_reason::max_hold);
  assert_int_equal (code_of ([&] { brief.extend (1s); }), CURATOR_ERROR_LOCK_LOST);
  mutex.set_max_hold (curator::forever);
  assert_true (mutex.acquire_lease ().remaining () > 200ms);
}

TEST (test_leases)
{
  curator::client client = connect (fixture);
  curator::mutex mutex (client, "/cpp/lease");
  curator::lease first = mutex.acquire_lease ();
  const auto token = first.fencing_token ();
  assert_true (first.state () == curator::lease_state::held);
  assert_string_equal (to_string (first.state ()), "HELD");
  assert_true (first.remaining () > 0ms);
  assert_true (first.valid_for (1ms));
  assert_false (first.valid_for (std::chrono::hours::max ()));
  assert_true (first.session_id () == client.session_id ());
  assert_true (first.node_path () == "/cpp/lease/" + first.node_name ());

  std::promise<void> dropped;
  first.add_listener ([end = std::shared_ptr<void> (nullptr, [&] (void *) {
                         dropped.set_value ();
                       })] (curator::lease_state) {});
  const int fd = dup (first.fd ());
  struct pollfd poll_fd = { fd, POLLIN, 0 };
  assert_int_equal (poll (&poll_fd, 1, 0), 0);

  /* Destroying the last handle releases it, on any thread. */
  curator::lease second = first.share ();
  curator::lease moved = std::move (first);
  assert_false (static_cast<bool> (first));  // NOLINT(bugprone-use-after-move): that is the point
  moved.reset ();
  assert_true (second.state () == curator::lease_state::held);
  std::thread ([hold = std::move (second)] {}).join ();
  dropped.get_future ().get ();
  assert_int_equal (poll (&poll_fd, 1, LONG_MS), 1);
  close (fd);
  assert_children (fixture, "/cpp/lease", 0, LONG_MS);

  std::optional<curator::lease> next = mutex.try_acquire_lease_for (LONG);
  assert_true (next.has_value ());
  assert_true (next->fencing_token () > token);
  next->release ();
  next->release ();
  assert_true (next->state () == curator::lease_state::released);
}

TEST (test_semaphore)
{
  curator::client client = connect (fixture);
  curator::semaphore semaphore (client, "/cpp/semaphore", 3);
  assert_int_equal (semaphore.max_leases (), 3);
  semaphore.set_node_data ("who");
  std::optional<curator::lease> one = semaphore.try_acquire ();
  assert_true (one.has_value ());
  assert_true (one->data () == "who");
  assert_true (semaphore.try_acquire_n_for (3, 100ms).empty ());
  assert_int_equal (code_of ([&] { (void) semaphore.acquire_n (3, 2s); }),
                    CURATOR_ERROR_TIMED_OUT);
  std::vector<curator::lease> two = semaphore.acquire_n (2);
  assert_int_equal (two.size (), 2);
  assert_int_equal (semaphore.participant_nodes ().size (), 3);
  assert_false (semaphore.try_acquire ().has_value ());

  const auto granted = await<std::vector<curator::lease>> ([&] (auto done) {
    semaphore.acquire_n_then (2, curator::forever, done);
    two.clear ();
  });
  assert_int_equal (granted.size (), 2);

  curator::shared_count count (client, "/cpp/count", 1);
  count.start ();
  curator::semaphore counted (client, "/cpp/counted", count);
  const curator::lease only = counted.acquire ();
  assert_false (counted.try_acquire ().has_value ());
  count.set (2);
  assert_true (counted.try_acquire_for (LONG).has_value ());
  assert_int_equal (count.get (), 2);
}

TEST (test_multi_lock)
{
  curator::client client = connect (fixture);
  curator::mutex a (client, "/cpp/multi-a");
  curator::semaphore_mutex b (client, "/cpp/multi-b");
  {
    curator::multi_lock both ({ a, b });
    const std::lock_guard hold (both);
    assert_true (a.is_owned_by_current_thread ());
    assert_true (b.is_acquired_in_this_process ());
    assert_true (both.current_lease ().value ().fencing_token () > 0);
    assert_int_equal (code_of ([&] { (void) both.participant_nodes (); }),
                      CURATOR_ERROR_UNSUPPORTED);
    assert_int_equal (code_of ([&] { both.make_revocable ([] {}); }), CURATOR_ERROR_UNSUPPORTED);
  }
  assert_false (a.is_acquired_in_this_process ());
  curator::multi_lock paths (client, { "/cpp/multi-b2", "/cpp/multi-a" });
  curator::multi_lock sorted (client, { "/cpp/multi-b2", "/cpp/multi-a" },
                              curator::lock_order::sorted);
  const auto first_of = [] (curator::multi_lock &lock) {
    const curator::lease lease = lock.acquire_lease (LONG);
    return lease.node_path ().substr (0, std::strlen ("/cpp/multi-?"));
  };
  assert_true (first_of (paths) == "/cpp/multi-b");
  assert_true (first_of (sorted) == "/cpp/multi-a");
  const std::scoped_lock hold (paths);
  assert_false (sorted.try_lock ());
  assert_false (other_gets (a));
}

/* Flags are numbers in C++, too. */
TEST (test_flags)
{
  curator::client client (fixture_server (fixture));
  curator_client_add_acl (client.native_handle (), "world", "anyone",
                          CURATOR_PERMISSIONS_ALL & ~CURATOR_PERMISSIONS_ADMIN);
  curator_client_add_acl (client.native_handle (), "ip", "127.0.0.1",
                          CURATOR_PERMISSIONS_READ | CURATOR_PERMISSIONS_CREATE);
  client.start ();
}

TEST (test_retry_policy)
{
  using policies = curator::retry_policy;
  auto policy = policies::custom (
      [calls = std::make_unique<int> (0)] (guint retries, auto elapsed,
                                           auto *) -> std::optional<std::chrono::milliseconds> {
        return retries < 2 ? std::optional (elapsed + 1ms) : std::nullopt;
      });
  const auto same = policy.share ();
  assert_true (same.native_handle () == policy.native_handle ());
  assert_true (policy.allow_retry (0, 5ms) == 6ms);
  assert_false (policy.allow_retry (2, 5ms).has_value ());
  assert_true (policies::n_times (1, 7ms).allow_retry (0, 0ms) == 7ms);
  assert_false (policies::one_time (7ms).allow_retry (1, 0ms).has_value ());
  assert_true (policies::always (3ms).allow_retry (1000, 1h) == 3ms);
  assert_true (policies::exponential_backoff (4ms, 3).allow_retry (0, 0ms) == 4ms);
  assert_true (policies::bounded_exponential_backoff (9ms, 5ms, 3).allow_retry (0, 0ms) == 5ms);
  assert_false (policies::until_elapsed (10ms, 1ms).allow_retry (0, 10ms).has_value ());

  criticals seen;
  auto broken =
      policies::custom ([] (guint, std::chrono::milliseconds,
                            const curator::error *) -> std::optional<std::chrono::milliseconds> {
        throw std::runtime_error ("cannot decide");
      });
  assert_false (broken.allow_retry (0, 0ms).has_value ());
  assert_int_equal (seen.count (), 1);
}

TEST (test_client_options)
{
  curator::client_options options;
  options.retry = curator::retry_policy::n_times (3, 10ms);
  options.session_timeout = 30s;
  options.server_tick = 2s;
  options.heartbeat_interval = 500ms;
  options.connection_timeout = 30s;
  options.name_space = "cpp-space";
  options.auth.emplace_back ("digest", "user:secret");
  options.default_data = "me";
  options.compression = true;
  std::atomic<int> connected (0);
  curator::client client (fixture_server (fixture), options);
  const unsigned id = client.add_state_listener ([&] (curator::connection_state now) {
    connected += now == curator::connection_state::connected ? 1 : 0;
  });
  assert_true (client.state () == curator::connection_state::suspended);
  client.start ();
  assert_true (client.block_until_connected (LONG));
  assert_true (client.state () == curator::connection_state::connected);
  assert_string_equal (to_string (client.state ()), "CONNECTED");
  assert_false (client.connection_error ().has_value ());
  assert_true (client.session_timeout () == 30s);
  const curator::lease hold = curator::mutex (client, "/cpp").acquire_lease ();
  assert_true (hold.data () == "me");
  assert_int_equal (raw_zk_count_children (fixture->raw, "/cpp-space/cpp"), 1);
  assert_soon (connected > 0);
  client.remove_state_listener (id);
  curator::client other = client.share ();
  other.close ();
  assert_true (client.state () == curator::connection_state::lost);
}

TEST (test_connection_errors)
{
  const std::string nowhere = "127.0.0.1:1";
  curator::client client (nowhere);
  std::promise<curator::error> heard;
  bool first = true;
  const unsigned id = client.add_connection_error_listener ([&] (const curator::error &cause) {
    if (std::exchange (first, false))
      heard.set_value (cause);
  });
  client.start ();
  const curator::error cause = heard.get_future ().get ();
  client.remove_connection_error_listener (id);
  assert_true (cause.domain () == CURATOR_CONNECT_ERROR);
  assert_int_equal (cause.code (), CURATOR_CONNECT_ERROR_CONNECT);
  assert_true (client.connection_error ().has_value ());
  assert_true (std::string (client.connection_error ()->what ()).find (nowhere)
               != std::string::npos);
  /* Bounded by its timeout, where the connection timeout would be much longer. */
  assert_int_equal (code_of ([&] { client.attempt_revoke ("/cpp/node", 50ms); }),
                    CURATOR_ERROR_CONNECTION_LOST);
}

/* What a retry may mend makes a try_ function return false; it throws everything else. */
TEST (test_temporary_errors)
{
  constexpr auto fails = [] (const GError *wanted, GError **error) -> gboolean {
    *error = g_error_copy (wanted);
    return FALSE;
  };
  const auto is_temporary = [&] (GQuark domain, int code) {
    g_autoptr (GError) wanted = g_error_new_literal (domain, code, "as wanted");
    bool threw = false;
    try {
      assert_false ((curator::detail::call<bool, true> (+fails, wanted)));
    } catch (const curator::error &thrown) {
      threw = thrown.domain () == domain && thrown.code () == code && !thrown.is_temporary ();
    }
    assert_true (curator::error (wanted).is_temporary () == !threw);
    return !threw;
  };
  const std::set<int> temporary = { CURATOR_ERROR_TIMED_OUT, CURATOR_ERROR_NO_ANSWER,
                                    CURATOR_ERROR_CONNECTION_LOST, CURATOR_ERROR_SESSION_EXPIRED,
                                    CURATOR_ERROR_RESOURCES };

  /* One more than there are: a code of a later version. */
  for (int code = 0; code <= CURATOR_ERROR_ALREADY_STARTED + 1; code++) {
    assert_int_equal (is_temporary (CURATOR_ERROR, code), temporary.count (code));
    assert_false (is_temporary (CURATOR_CONNECT_ERROR, code));
    assert_false (is_temporary (CURATOR_ZK_ERROR, code));
  }
  assert_false (is_temporary (CURATOR_ZK_ERROR, -102 /* ZNOAUTH */));
  assert_false (is_temporary (G_IO_ERROR, G_IO_ERROR_CANCELLED));
}

#ifdef __cpp_lib_jthread
/* As a worker does that asks for the token before each step. */
TEST (test_stop_token_again_and_again)
{
  const curator::client client = connect (fixture, {});
  curator::lease hold = curator::mutex (client, "/cpp/tokens").acquire_lease ();
  const std::stop_token first = hold.stop_token ();
  assert_true (hold.stop_token () == first);
  const auto before = mallinfo2 ().uordblks;
  for (int i = 0; i < 10000; i++)
    assert_false (hold.stop_token ().stop_requested ());
  /* The client's threads allocate meanwhile. */
  assert_true (mallinfo2 ().uordblks < before + 100000);
  hold.release ();
  assert_soon (first.stop_requested ());
  assert_true (hold.stop_token ().stop_requested ());
}
#endif

#if __cplusplus >= 202002L
TEST (test_designated_options)
{
  const curator::client client =
      connect (fixture, { .session_timeout = 5s, .name_space = "twenty" });
  assert_true (client.session_timeout () == 5s);
}
#endif

TEST (test_revocation)
{
  curator::client client = connect (fixture);
  curator::mutex mutex (client, "/cpp/revoked");
  std::promise<void> asked;
  mutex.make_revocable ([&] { asked.set_value (); });
  curator::lease hold = mutex.acquire_lease ();
  client.attempt_revoke (mutex.participant_nodes ().at (0));
  asked.get_future ().get ();
  mutex.make_irrevocable ();
  hold.release ();

  curator::semaphore semaphore (client, "/cpp/revoked-semaphore", 1);
  std::promise<curator::lease> which;
  semaphore.make_revocable (
      [&] (const curator::lease &wanted) { which.set_value (wanted.share ()); });
  curator::lease permit = semaphore.acquire ();
  client.attempt_revoke (permit.node_path ());
  assert_true (which.get_future ().get ().native_handle () == permit.native_handle ());
}

TEST (test_counters_and_trace)
{
  std::promise<std::pair<std::string, std::chrono::microseconds>> released;
  curator::client_options options;
  options.trace = [&] (const curator::trace_event &event) {
    if (event.kind == curator::trace_kind::released)
      released.set_value ({ std::string (event.path), event.duration });
  };
  curator::client client (fixture_server (fixture), options);
  client.start ();
  curator::lease hold = curator::mutex (client, "/cpp/traced").acquire_lease ();
  const std::string node = hold.node_path ();
  assert_int_equal (client.counter (CURATOR_COUNTER_GRANTS), 1);
  assert_int_equal (client.counter (CURATOR_COUNTER_RELEASES), 0);
  assert_true (client.counters ().size () > CURATOR_COUNTER_LOST_MAX_HOLD);
  assert_true (client.metrics ().find ("\ncurator_grants_total 1\n") != std::string::npos);
  hold.release ();
  assert_int_equal (client.counter (CURATOR_COUNTER_RELEASES), 1);
  assert_string_equal (curator::to_string (CURATOR_COUNTER_GRANTS), "grants");
  const auto [path, duration] = released.get_future ().get ();
  assert_string_equal (path.c_str (), node.c_str ());
  assert_true (duration.count () > 0);
}

template <class Object>
void
assert_given (const Object &object, const char *path, const curator::client &client)
{
  assert_string_equal (object.path ().c_str (), path);
  assert_ptr_equal (object.client ().native_handle (), client.native_handle ());
}

/* What an object was given, and what its client knows. */
TEST (test_getters)
{
  curator::client_options options;
  options.name_space = "space";
  curator::client client (fixture_server (fixture), options);
  assert_true (client.server ().empty ());
  client.start ();
  assert_true (client.block_until_connected (LONG));
  assert_string_equal (client.server ().c_str (), fixture_server (fixture));
  assert_string_equal (client.name_space ().c_str (), "space");
  assert_true (connect (fixture).name_space ().empty ());

  curator::mutex mutex (client, "/cpp/getters");
  assert_given (mutex, "/cpp/getters", client);
  assert_false (mutex.max_hold ().has_value ());
  mutex.set_max_hold (1min);
  assert_true (mutex.max_hold () == 1min);
  mutex.set_max_hold (curator::forever);
  assert_false (mutex.max_hold ().has_value ());
  curator::multi_lock both (client, { "/cpp/getters", "/cpp/others" });
  assert_true (both.path ().empty ());
  assert_null (both.client ().native_handle ());
  assert_given (curator::semaphore (client, "/cpp/leases", 1), "/cpp/leases", client);
  assert_given (curator::shared_count (client, "/cpp/counted", 1), "/cpp/counted", client);
}

/* The session and the clock end all holds: test_lost_reasons. */
TEST (test_lost_reasons)
{
  curator::client client = connect (fixture);
  const curator::lease deleted = curator::mutex (client, "/cpp/reasons/a").acquire_lease ();
  const curator::lease closed = curator::mutex (client, "/cpp/reasons/c").acquire_lease ();
  assert_true (closed.lost_reason () == curator::lost_reason::none);
  assert_int_equal (raw_zk_delete (fixture->raw, deleted.node_path ().c_str ()), ZOK);
  assert_soon (deleted.state () == curator::lease_state::lost);
  assert_true (deleted.lost_reason () == curator::lost_reason::deleted);
  client.close ();
  assert_true (closed.lost_reason () == curator::lost_reason::closed);
  assert_true (deleted.lost_reason () == curator::lost_reason::deleted);
  assert_string_equal (curator::to_string (closed.lost_reason ()), "CLOSED");
}

TEST (test_inspection)
{
  curator::client client = connect (fixture);
  curator::rw_lock lock (client, "/cpp/seen", curator::unlock_mode::wait, "label");
  const curator::lease hold = lock.writer ().acquire_lease ();
  assert_int_equal (raw_zk_create (fixture->raw, "/cpp/seen/foreign", "", 0, nullptr), 0);
  const curator::inspection seen (client, "/cpp/seen");
  assert_true (seen.path () == "/cpp/seen");
  assert_true (seen.kind () == curator::lock_kind::read_write);
  assert_string_equal (to_string (seen.kind ()), "read-write");
  assert_int_equal (seen.n_holders (), 1);
  assert_int_equal (seen.n_waiting (), 0);
  assert_true (seen.next_number () > 0);
  assert_true (seen.counter_used () >= 0 && seen.counter_used () < 0.1);
  assert_true (seen.foreign_children () == std::vector<std::string>{ "foreign" });
  const std::vector<curator::participant> all = seen.share ().participants ();
  assert_int_equal (all.size (), 1);
  assert_true (all[0].kind == curator::participant_kind::write);
  assert_string_equal (to_string (all[0].kind), "write");
  assert_true (all[0].is_holder && all[0].is_readable);
  assert_int_equal (all[0].position, 0);
  assert_true (all[0].node_path == hold.node_path ());
  assert_true (all[0].session_id == hold.session_id ());
  assert_true (all[0].token == hold.fencing_token ());
  assert_true (all[0].data == "label");
  const auto later = await<curator::inspection> (
      [&] (auto done) { curator::inspect_then (client, "/cpp/seen", 60s, done); });
  assert_true (later.participants ()[0].node_path == hold.node_path ());
  const auto nodes = await<std::vector<std::string>> (
      [&] (auto done) { lock.writer ().participant_nodes_then (60s, done); });
  assert_true (nodes == std::vector<std::string>{ hold.node_path () });
  const curator::found_locks found = curator::find_locks (client, "/cpp/seen");
  assert_true (found.complete && found.paths == std::vector<std::string>{ "/cpp/seen" });
  const std::vector<curator::inspection> found_all = curator::inspect_all (client, "/cpp/seen");
  assert_int_equal (found_all.size (), 1);
  assert_true (found_all[0].path () == "/cpp/seen");
  const auto again = curator::inspect_all (client, "/cpp/seen", found_all);
  assert_ptr_equal (again[0].native_handle (), found_all[0].native_handle ());
  assert_int_equal (code_of ([&] { seen.delete_ownerless (client, 0); }),
                    CURATOR_ERROR_INVALID_ARGUMENT);
  assert_true (curator::escape_name ("a\n") == "a\\x0a");
}

TEST (test_fixed_node_lock)
{
  curator::client client = connect (fixture);
  curator::fixed_node_lock lock (client, "/cpp/fixed/node");
  {
    const std::lock_guard hold (lock);
    assert_true (raw_zk_exists (fixture->raw, "/cpp/fixed/node"));
    assert_true (lock.current_lease ()->node_path () == "/cpp/fixed/node");
    assert_false (other_gets (lock));
  }
  assert_true (other_gets (lock));
}

/* A semaphore of two, written as a driver: each of its functions is called. */
TEST (test_driver)
{
  curator::client client = connect (fixture);
  std::atomic<int> described (0);
  std::atomic<int> sorted (0);
  std::atomic<bool> throws (false);
  curator::lock_driver_functions functions;
  functions.creates_the_lock = [&] (curator::node_request &request) {
    described++;
    request.set_data ("from " + request.name ());
    if (throws)
      throw std::runtime_error ("from a driver");
  };
  functions.gets_the_lock = [] (const std::vector<std::string_view> &children, std::string_view own,
                                guint max_leases) {
    std::size_t index = 0;
    while (children.at (index) != own)
      index++;
    const auto most = static_cast<std::size_t> (max_leases);
    return index < most ? curator::predicate_results{ true, {} }
                        : curator::predicate_results{ false, std::string (children[index - most]) };
  };
  functions.fix_for_sorting = [&] (std::string_view name, std::string_view lock_name) {
    sorted++;
    const std::size_t at = name.rfind (lock_name);
    return at == name.npos ? name : name.substr (at + lock_name.size ());
  };
  const curator::lock_driver driver (std::move (functions));
  curator::mutex pair (client, "/cpp/driver", "two-", 2, driver.share ());
  curator::lease first = pair.acquire_lease ();
  assert_true (first.data () == "from two-");
  assert_true (first.node_name ().find ("two-") != std::string::npos);
  curator::lease second = pair.acquire_lease ();
  assert_false (pair.try_acquire_lease_for (1s).has_value ());
  std::promise<std::string> granted;
  pair.acquire_then (curator::forever, [&] (curator::lease hold, const curator::error *) {
    granted.set_value (hold.data ());
  });
  criticals seen;
  first.release ();
  assert_true (granted.get_future ().get () == "from two-");
  assert_true (described >= 4 && sorted > 0);
  second.release (); /* the one that the driver waits for */
  throws = true;
  assert_true (pair.acquire_lease ().data () == "from two-");
  assert_int_equal (seen.count (), 1);
}

/* A driver without a queue: its node has the name and the mode that it chose. */
TEST (test_driver_of_a_plain_node)
{
  curator::client client = connect (fixture);
  curator::lock_driver_functions functions;
  functions.creates_the_lock = [] (curator::node_request &request) {
    request.set_name ("plain");
    request.set_mode (curator::create_mode::ephemeral);
    request.set_protected (false);
  };
  const curator::lock_driver driver (std::move (functions));
  curator::mutex lock (client, "/cpp/plain", "lock-", 1, driver);
  const curator::lease held = lock.acquire_lease ();
  assert_string_equal (held.node_path ().c_str (), "/cpp/plain/plain");
  assert_false (lock.try_acquire_lease_for (50ms).has_value ());
}

TEST (test_leaders)
{
  curator::client client = connect (fixture);
  std::promise<std::uint64_t> leads;
  std::promise<bool> stopped;
  curator::leader_selector selector (client, "/cpp/selector",
                                     [&] (const curator::lease &lease, GCancellable *cancellable) {
                                       leads.set_value (lease.fencing_token ());
                                       while (g_cancellable_is_cancelled (cancellable) == FALSE)
                                         std::this_thread::sleep_for (1ms);
                                       stopped.set_value (selector.has_leadership ());
                                       throw std::runtime_error ("a leader that throws");
                                     });
  selector.set_id ("one");
  selector.set_auto_requeue (false);
  assert_string_equal (selector.id ().c_str (), "one");
  assert_false (selector.current_lease ().has_value ());
  selector.start ();
  selector.await ();
  assert_true (selector.try_await_for (0ms));
  assert_true (selector.try_await_until (std::chrono::steady_clock::now ()));
  assert_true (selector.current_lease ().value ().fencing_token () > 0);
  assert_given (selector, "/cpp/selector", client);
  assert_true (leads.get_future ().get () > 0);
  assert_true (selector.leader ().value ().is_leader);
  assert_string_equal (selector.share ().leader ().value ().id.c_str (), "one");
  assert_int_equal (selector.participants ().size (), 1);
  assert_false (selector.requeue ());
  const criticals seen;
  selector.interrupt_leadership ();
  assert_true (stopped.get_future ().get ());
  assert_soon (seen.count () > 0 && !selector.has_leadership ());
  selector.close ();

  curator::leader_latch latch (client, "/cpp/latch", "two");
  std::promise<void> over;
  latch.add_listener ([&] (bool is_leader) {
    if (!is_leader)
      over.set_value ();
  });
  assert_false (latch.leader ().has_value ());
  latch.start ();
  latch.await ();
  assert_true (latch.try_await_for (0ms));
  std::promise<bool> heard;
  latch.add_listener ([&, first = true] (bool is_leader) mutable {
    if (std::exchange (first, false))
      heard.set_value (is_leader);
  });
  assert_true (heard.get_future ().get ());
  assert_true (latch.share ().has_leadership ());
  assert_true (latch.current_lease ().has_value ());
  assert_given (latch, "/cpp/latch", client);
  assert_string_equal (latch.participants ().at (0).id.c_str (), "two");
  curator::leader_latch other (client, "/cpp/latch");
  other.start ();
  assert_false (other.try_await_for (1ms));
  latch.close (curator::latch_close_mode::notify_leader);
  over.get_future ().get ();
  other.await ();
}

#ifdef __cpp_lib_jthread
/* A leader that waits for a stop token: that of its cancellable is stopped by a close, that of its
 * lease by the end of the leadership. */
TEST (test_leader_with_stop_token)
{
  const curator::client client = connect (fixture);
  std::promise<void> leads;
  std::promise<std::stop_token> stopped;
  curator::leader_selector selector (
      client, "/cpp/stopped", [&] (const curator::lease &lease, GCancellable *cancellable) {
        const std::stop_token stop = curator::stop_token_of (cancellable);
        std::mutex mutex;
        std::condition_variable_any changed;
        std::unique_lock<std::mutex> lock (mutex);
        leads.set_value ();
        changed.wait (lock, stop, [] { return false; });
        const std::stop_token over = lease.stop_token ();
        assert_false (over.stop_requested ());
        stopped.set_value (over);
      });
  selector.start ();
  leads.get_future ().get ();
  selector.close ();
  const std::stop_token over = stopped.get_future ().get ();
  assert_soon (over.stop_requested ());
}
#endif

TEST (test_versions_of_a_count)
{
  curator::client client = connect (fixture);
  curator::shared_count count (client, "/cpp/versions", 7);
  assert_false (count.versioned ().has_value ());
  count.start ();
  std::promise<std::int32_t> told;
  const unsigned id = count.add_listener ([&] (std::int32_t value) { told.set_value (value); });
  const auto before = count.versioned ();
  assert_true (before.has_value () && before->value == 7);
  assert_true (count.try_set (before->version, 8));
  assert_int_equal (told.get_future ().get (), 8);
  count.remove_listener (id);
  assert_false (count.try_set (before->version, 9));
  assert_int_equal (count.share ().get (), 8);
}

/* Only a call without a time waits for as long as the connection timeout. */
TEST (test_default_time)
{
  curator::client_options options;
  options.connection_timeout = 1s;
  curator::client client = connect (fixture, options);
  assert_true (client.block_until_connected ());
  curator::mutex mutex (client, "/cpp/default-time/mutex");
  curator::lease other = curator::mutex (client, "/cpp/default-time/lease").acquire_lease ();
  mutex.lock ();
  zk_server_freeze (fixture->server);

  const auto wait_for_default = [] (auto &&release) {
    const gint64 start = wait_now_ms ();
    assert_int_equal (code_of (release), CURATOR_ERROR_RELEASE_PENDING);
    assert_true (wait_now_ms () - start >= 999);
  };
  wait_for_default ([&] { mutex.release (); });
  wait_for_default ([&] { other.release (); });
  zk_server_thaw (fixture->server);
  assert_children (fixture, "/cpp/default-time/lease", 0, LONG_MS);
}

}

SUITE ("cpp", fixture_start_slow, fixture_stop)
