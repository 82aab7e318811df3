/* Every operation of every class of curator.hpp on empty, moved-from and closed objects, and texts
 * with a NUL. check_operations compares the names in these tables with the header. */
#include "cpp/fixture.hpp"

#include "cpp/criticals.hpp"

#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>

using namespace std::chrono_literals;

namespace
{
enum class outcome
{
  returns,
  is_critical,
  throws_logic_error,
  throws_error
};

const char *
to_string (outcome what)
{
  const char *const names[] = { "returned", "logged a critical message", "threw a logic_error",
                                "threw a curator::error" };
  return names[static_cast<int> (what)];
}

template <class Call>
outcome
outcome_of (Call &&call)
{
  criticals seen;
  try {
    call ();
  } catch (const curator::error &) {
    return outcome::throws_error;
  } catch (const std::logic_error &) {
    return seen.count () == 0 ? outcome::throws_logic_error : outcome::is_critical;
  }
  return seen.count () == 0 ? outcome::returns : outcome::is_critical;
}

void
expect (const char *name, const char *on, outcome wanted, outcome seen)
{
  if (wanted != seen)
    fail_msg ("%s on %s %s, but should have %s", name, on, to_string (seen), to_string (wanted));
}

template <class Handle> struct operation
{
  const char *name;
  outcome when_empty;
  outcome when_closed;
  std::function<void (Handle &)> call;
};

template <class Handle> using operations = std::vector<operation<Handle>>;

constexpr outcome logic = outcome::throws_logic_error;
constexpr outcome refused = outcome::throws_error;
constexpr outcome returns = outcome::returns;
constexpr outcome critical = outcome::is_critical;

/* The row of one member function, of it. */
#define OP(type, member, empty, closed, ...)                                                       \
  {                                                                                                \
    G_STRINGIFY (type)                                                                             \
    "::" G_STRINGIFY (member), empty, closed, [] (auto &it) { (void) (__VA_ARGS__); }              \
  }

const auto SOON = std::chrono::steady_clock::now () + 1ms;

const operations<curator::client> of_client = {
  OP (client, start, logic, refused, it.start ()),
  OP (client, block_until_connected, logic, refused, it.block_until_connected (1ms)),
  OP (client, block_until_connected_then, logic, refused,
      await ([&] (auto done) { it.block_until_connected_then (1ms, done); })),
  OP (client, update_servers, logic, refused, it.update_servers ("127.0.0.1:1")),
  OP (client, state, logic, returns, it.state ()),
  OP (client, session_id, logic, returns, it.session_id ()),
  OP (client, session_timeout, logic, returns, it.session_timeout ()),
  OP (client, server, logic, returns, assert_true (it.server ().empty ())),
  OP (client, name_space, logic, returns, it.name_space ()),
  OP (client, add_state_listener, logic, returns,
      it.add_state_listener ([] (curator::connection_state) {})),
  OP (client, remove_state_listener, returns, returns, it.remove_state_listener (1)),
  OP (client, connection_error, logic, returns,
      assert_true (it.connection_error ()->is (CURATOR_ERROR_CLOSED))),
  OP (client, add_connection_error_listener, logic, returns,
      it.add_connection_error_listener ([] (const curator::error &) {})),
  OP (client, remove_connection_error_listener, returns, returns,
      it.remove_connection_error_listener (1)),
  OP (client, counters, logic, returns, it.counters ()),
  OP (client, metrics, logic, returns, it.metrics ()),
  OP (client, counter, logic, returns, it.counter (CURATOR_COUNTER_GRANTS)),
  OP (client, attempt_revoke, logic, refused, it.attempt_revoke ("/cpp/node")),
  OP (client, close, returns, returns, it.close ()),
  { "client::close_then", logic, returns,
    [] (curator::client &it) {
      std::promise<void> closed;
      it.close_then ([&] { closed.set_value (); });
      closed.get_future ().get ();
    } },
};

const operations<curator::lease> of_lease = {
  OP (lease, node_path, logic, returns, it.node_path ()),
  OP (lease, node_name, logic, returns, it.node_name ()),
  OP (lease, fencing_token, logic, returns, it.fencing_token ()),
  OP (lease, state, logic, returns, assert_true (it.state () == curator::lease_state::lost)),
  OP (lease, lost_reason, logic, returns,
      assert_true (it.lost_reason () == curator::lost_reason::closed)),
  OP (lease, remaining, logic, returns, assert_true (it.remaining () == 0ms)),
  OP (lease, valid_for, logic, returns, assert_false (it.valid_for (0ms))),
  OP (lease, extend, logic, refused, it.extend (1s)),
  OP (lease, fd, logic, returns, it.fd ()),
  OP (lease, cancellable, logic, returns,
      assert_true (g_cancellable_is_cancelled (it.cancellable ()))),
#ifdef __cpp_lib_jthread
  OP (lease, stop_token, logic, returns, assert_true (it.stop_token ().stop_requested ())),
#endif
  OP (lease, session_id, logic, returns, it.session_id ()),
  OP (lease, data, logic, refused, it.data ()),
  OP (lease, add_listener, logic, returns, it.add_listener ([] (curator::lease_state) {})),
  OP (lease, remove_listener, returns, returns, it.remove_listener (1)),
  OP (lease, release, logic, returns, it.release ()),
  OP (lease, release_then, logic, returns, await ([&] (auto done) { it.release_then (done); })),
  OP (lease, reset, returns, returns, it.reset ()),
};

template <class Lock>
operations<Lock>
of_lock (outcome revocable)
{
  return {
    OP (lockable, lock, logic, refused, it.lock ()),
    OP (lockable, try_lock, logic, refused, it.try_lock ()),
    OP (lockable, try_lock_for, logic, refused, it.try_lock_for (1ms)),
    OP (lockable, try_lock_until, logic, refused, it.try_lock_until (SOON)),
    OP (lockable, unlock, critical, critical, it.unlock ()),
    OP (lockable, release, logic, refused, it.release ()),
    OP (lockable, release_then, logic, refused,
        await ([&] (auto done) { it.release_then (done); })),
    OP (lockable, is_acquired_in_this_process, logic, returns,
        assert_false (it.is_acquired_in_this_process ())),
    OP (lockable, is_owned_by_current_thread, logic, returns,
        assert_false (it.is_owned_by_current_thread ())),
    OP (lockable, current_lease, logic, returns, assert_false (it.current_lease ().has_value ())),
    OP (lockable, acquire_lease, logic, refused, it.acquire_lease ()),
    OP (lockable, try_acquire_lease_for, logic, refused, it.try_acquire_lease_for (1ms)),
    OP (lockable, try_acquire_lease_until, logic, refused, it.try_acquire_lease_until (SOON)),
    OP (lockable, acquire_then, logic, refused,
        await<curator::lease> ([&] (auto done) { it.acquire_then (1ms, done); })),
    OP (lockable, participant_nodes, logic, refused, it.participant_nodes ()),
    OP (lockable, participant_nodes_then, logic, refused,
        await<std::vector<std::string>> (
            [&] (auto done) { it.participant_nodes_then (1ms, done); })),
    OP (lockable, set_max_hold, logic, returns, it.set_max_hold (1min)),
    OP (lockable, max_hold, logic, returns, it.max_hold ()),
    OP (lockable, path, logic, returns, it.path ()),
    OP (lockable, client, logic, returns, it.client ()),
    OP (lockable, make_revocable, logic, revocable, it.make_revocable ([] {})),
    OP (lockable, make_irrevocable, logic, revocable, it.make_irrevocable ()),
    OP (lockable, share, returns, returns, it.lockable::share ()),
    OP (recipe, share, returns, returns, it.share ()),
  };
}

const operations<curator::rw_lock> of_rw_lock = {
  OP (rw_lock, reader, logic, refused, it.reader ().lock ()),
  OP (rw_lock, writer, logic, refused, it.writer ().lock ()),
  OP (rw_lock, lock, logic, refused, it.lock ()),
  OP (rw_lock, try_lock, logic, refused, it.try_lock ()),
  OP (rw_lock, try_lock_for, logic, refused, it.try_lock_for (1ms)),
  OP (rw_lock, try_lock_until, logic, refused, it.try_lock_until (SOON)),
  OP (rw_lock, unlock, critical, critical, it.unlock ()),
  OP (rw_lock, lock_shared, logic, refused, it.lock_shared ()),
  OP (rw_lock, try_lock_shared, logic, refused, it.try_lock_shared ()),
  OP (rw_lock, try_lock_shared_for, logic, refused, it.try_lock_shared_for (1ms)),
  OP (rw_lock, try_lock_shared_until, logic, refused, it.try_lock_shared_until (SOON)),
  OP (rw_lock, unlock_shared, critical, critical, it.unlock_shared ()),
  OP (rw_lock, share, returns, returns, it.share ()),
};

const operations<curator::shared_count> of_shared_count = {
  OP (shared_count, path, logic, returns, it.path ()),
  OP (shared_count, client, logic, returns, it.client ()),
  OP (shared_count, start, logic, refused, it.start ()),
  OP (shared_count, get, logic, returns, it.get ()),
  OP (shared_count, set, logic, refused, it.set (1)),
  OP (shared_count, versioned, logic, returns, it.versioned ()),
  OP (shared_count, try_set, logic, refused, it.try_set (0, 1)),
  OP (shared_count, add_listener, logic, returns, it.add_listener ([] (std::int32_t) {})),
  OP (shared_count, remove_listener, returns, returns, it.remove_listener (1)),
  OP (shared_count, close, returns, returns, it.close ()),
};

const operations<curator::leader_selector> of_leader_selector = {
  OP (leader_selector, set_id, logic, returns, it.set_id ("id")),
  OP (leader_selector, id, logic, returns, it.id ()),
  OP (leader_selector, path, logic, returns, it.path ()),
  OP (leader_selector, client, logic, returns, it.client ()),
  OP (leader_selector, await, logic, refused, it.await ()),
  OP (leader_selector, try_await_for, logic, refused, it.try_await_for (1ms)),
  OP (leader_selector, try_await_until, logic, refused, it.try_await_until (SOON)),
  OP (leader_selector, current_lease, logic, returns, it.current_lease ()),
  OP (leader_selector, set_auto_requeue, logic, returns, it.set_auto_requeue (true)),
  OP (leader_selector, set_until_lost, logic, returns, it.set_until_lost (true)),
  OP (leader_selector, start, logic, refused, it.start ()),
  OP (leader_selector, requeue, logic, returns, it.requeue ()),
  OP (leader_selector, interrupt_leadership, logic, returns, it.interrupt_leadership ()),
  OP (leader_selector, has_leadership, logic, returns, it.has_leadership ()),
  OP (leader_selector, participants, logic, refused, it.participants ()),
  OP (leader_selector, leader, logic, refused, it.leader ()),
  OP (leader_selector, close, returns, returns, it.close ()),
};

const operations<curator::leader_latch> of_leader_latch = {
  OP (leader_latch, id, logic, returns, it.id ()),
  OP (leader_latch, path, logic, returns, it.path ()),
  OP (leader_latch, client, logic, returns, it.client ()),
  OP (leader_latch, set_until_lost, logic, returns, it.set_until_lost (true)),
  OP (leader_latch, start, logic, refused, it.start ()),
  OP (leader_latch, await, logic, refused, it.await ()),
  OP (leader_latch, try_await_for, logic, refused, it.try_await_for (1ms)),
  OP (leader_latch, try_await_until, logic, refused, it.try_await_until (SOON)),
  OP (leader_latch, has_leadership, logic, returns, it.has_leadership ()),
  OP (leader_latch, current_lease, logic, returns, it.current_lease ()),
  OP (leader_latch, participants, logic, refused, it.participants ()),
  OP (leader_latch, leader, logic, refused, it.leader ()),
  OP (leader_latch, add_listener, logic, returns, it.add_listener ([] (bool) {})),
  OP (leader_latch, remove_listener, returns, returns, it.remove_listener (1)),
  OP (leader_latch, close, returns, returns, it.close ()),
};

const operations<curator::semaphore> of_semaphore = {
  OP (semaphore, acquire, logic, refused, it.acquire ()),
  OP (semaphore, try_acquire, logic, refused, it.try_acquire ()),
  OP (semaphore, try_acquire_for, logic, refused, it.try_acquire_for (1ms)),
  OP (semaphore, try_acquire_until, logic, refused, it.try_acquire_until (SOON)),
  OP (semaphore, acquire_n, logic, refused, it.acquire_n (1)),
  OP (semaphore, try_acquire_n_for, logic, refused, it.try_acquire_n_for (1, 1ms)),
  OP (semaphore, try_acquire_n_until, logic, refused, it.try_acquire_n_until (1, SOON)),
  OP (semaphore, acquire_n_then, logic, refused,
      await<std::vector<curator::lease>> ([&] (auto done) { it.acquire_n_then (1, 1ms, done); })),
  OP (semaphore, acquire_then, logic, refused,
      await<curator::lease> ([&] (auto done) { it.acquire_then (1ms, done); })),
  OP (semaphore, return_all, logic, returns, it.return_all ({})),
  OP (semaphore, return_all_then, logic, returns,
      await ([&] (auto done) { it.return_all_then ({}, done); })),
  OP (semaphore, max_leases, logic, returns, it.max_leases ()),
  OP (semaphore, path, logic, returns, it.path ()),
  OP (semaphore, client, logic, returns, it.client ()),
  OP (semaphore, set_node_data, logic, returns, it.set_node_data ("data")),
  OP (semaphore, participant_nodes, logic, refused, it.participant_nodes ()),
  OP (semaphore, make_revocable, logic, returns,
      it.make_revocable ([] (const curator::lease &) {})),
  OP (semaphore, make_irrevocable, logic, returns, it.make_irrevocable ()),
};

const operations<curator::inspection> of_inspection = {
  OP (inspection, path, logic, returns, it.path ()),
  OP (inspection, kind, logic, returns, it.kind ()),
  OP (inspection, n_holders, logic, returns, it.n_holders ()),
  OP (inspection, n_waiting, logic, returns, it.n_waiting ()),
  OP (inspection, participants, logic, returns, it.participants ()),
  OP (inspection, foreign_children, logic, returns, it.foreign_children ()),
  OP (inspection, next_number, logic, returns, it.next_number ()),
  OP (inspection, counter_used, logic, returns, it.counter_used ()),
  OP (inspection, delete_ownerless, logic, logic, it.delete_ownerless (curator::client (), 0)),
};

const operations<curator::lock_driver> of_lock_driver = {
  OP (lock_driver, set_nothing_overtakes, logic, returns, it.set_nothing_overtakes (false)),
};

const operations<curator::tls> of_tls = {
  OP (tls, set_ca_file, logic, refused, it.set_ca_file ("/none")),
  OP (tls, set_crl_file, logic, refused, it.set_crl_file ("/none")),
  OP (tls, set_certificate_files, logic, refused, it.set_certificate_files ("/none", "/none")),
  OP (tls, set_pkcs12, logic, refused, it.set_pkcs12 ("/none")),
  OP (tls, set_pkcs11, logic, refused, it.set_pkcs11 ("pkcs11:token=none", "pkcs11:token=none")),
  OP (tls, set_server_name, logic, returns, it.set_server_name ("name")),
  OP (tls, set_verify, logic, returns, it.set_verify (true)),
};

const operations<curator::retry_policy> of_retry_policy = {
  OP (retry_policy, allow_retry, logic, returns, it.allow_retry (0, 0ms)),
};

template <class Handle>
const operations<Handle> of_handle = {
  OP (handle, share, returns, returns,
      assert_ptr_equal (it.share ().native_handle (), it.native_handle ())),
  OP (handle, native_handle, returns, returns, it.native_handle ()),
};

template <class Handle, class Create>
void
check (const operations<Handle> &own, Create &&create)
{
  for (const operations<Handle> &all : { own, of_handle<Handle> })
    for (const operation<Handle> &one : all) {
      Handle empty;
      expect (one.name, "an empty handle", one.when_empty, outcome_of ([&] { one.call (empty); }));
      Handle source = create ();
      const Handle target = std::move (source);
      expect (one.name, "a moved-from handle", one.when_empty,
              outcome_of ([&] { one.call (source); }));  // NOLINT(bugprone-use-after-move)
    }
}

template <class Handle>
void
check_closed (const operations<Handle> &own, Handle &handle)
{
  for (const operations<Handle> &all : { own, of_handle<Handle> })
    for (const operation<Handle> &one : all)
      expect (one.name, "a closed object", one.when_closed,
              outcome_of ([&] { one.call (handle); }));
}

/* Of a class that is constructed with a client, which is closed; use is called before. */
template <class Handle, class Use, class... Args>
void
check_with (Fixture *fixture, const operations<Handle> &all, Use &&use, const Args &...args)
{
  curator::client client = connect (fixture);
  check (all, [&] { return Handle (client, args...); });
  Handle handle (client, args...);
  use (handle);
  client.close ();
  check_closed (all, handle);
}

template <class Lock, class... Args>
void
check_lock (Fixture *fixture, outcome revocable, const Args &...args)
{
  curator::client client = connect (fixture);
  const operations<Lock> all = of_lock<Lock> (revocable);
  check (all, [&] { return Lock (client, args...); });
  Lock lock (client, args...);
  lock.lock (); /* and is lost by close */
  client.close ();
  expect ("lockable::lock", "a lost hold", refused, outcome_of ([&] { lock.lock (); }));
  lock.unlock ();
  check_closed (all, lock);
}

TEST (test_clients_and_leases)
{
  check (of_client, [&] { return connect (fixture); });
  curator::client client = connect (fixture);
  curator::mutex mutex (client, "/misuse/lease");
  check (of_lease, [&] { return mutex.acquire_lease (); });
  curator::lease lease = mutex.acquire_lease ();
  client.close ();
  check_closed (of_client, client);
  check_closed (of_lease, lease);
}

TEST (test_locks)
{
  const std::vector<std::string> paths = { "/misuse/multi-a", "/misuse/multi-b" };
  check_lock<curator::mutex> (fixture, returns, "/misuse/mutex");
  check_lock<curator::semaphore_mutex> (fixture, refused, "/misuse/semaphore-mutex");
  check_lock<curator::fixed_node_lock> (fixture, returns, "/misuse/fixed");
  check_lock<curator::multi_lock> (fixture, refused, paths);
}

TEST (test_the_other_recipes)
{
  const auto lead = [] (const curator::lease &, GCancellable *) {};
  const auto unused = [] (const auto &) {};
  const auto start = [] (curator::shared_count &count) { count.start (); };
  check_with (fixture, of_rw_lock, unused, "/misuse/rw");
  check_with (fixture, of_shared_count, start, "/misuse/count", 1);
  check_with (fixture, of_semaphore, unused, "/misuse/semaphore", 1U);
  check_with (fixture, of_leader_selector, unused, "/misuse/a", lead);
  check_with (fixture, of_leader_latch, unused, "/misuse/b");
  check_with (fixture, of_inspection, unused, "/misuse");
}

TEST (test_what_has_no_client)
{
  check (of_lock_driver, [] { return curator::lock_driver (curator::lock_driver_functions ()); });
  check (of_tls, [] { return curator::tls::with_system_cas (); });
  curator::tls tls = curator::tls::with_system_cas ();
  check_closed (of_tls, tls); /* files and tokens that do not exist */
  check (of_retry_policy, [] { return curator::retry_policy::always (1ms); });
}

/* In the background mode, too. */
TEST (test_unlock_of_empty_handles)
{
  curator::lockable background (nullptr, curator::unlock_mode::background);
  assert_true (outcome_of ([&] { background.unlock (); }) == critical);
  curator::lockable waiting;
  assert_true (outcome_of ([&] { waiting.unlock (); }) == critical);
  curator::rw_lock none (nullptr);
  assert_true (outcome_of ([&] { none.lock (); }) == logic);
}

struct creation
{
  const char *name;
  std::function<void (const curator::client &, const std::string &path)> call;
};

template <class Handle, auto... Args>
void
construct (const curator::client &client, const std::string &path)
{
  (void) Handle (client, path, Args...);
}

const std::vector<creation> creations = {
  { "mutex", construct<curator::mutex> },
  { "mutex with a driver",
    [] (auto &client, auto &path) {
      const curator::lock_driver driver ((curator::lock_driver_functions ()));
      (void) curator::mutex (client, path, "lock-", 1, driver);
    } },
  { "semaphore_mutex", construct<curator::semaphore_mutex> },
  { "fixed_node_lock", construct<curator::fixed_node_lock> },
  { "multi_lock",
    [] (auto &client, auto &path) {
      (void) curator::multi_lock (client, std::vector<std::string>{ "/misuse/x", path });
    } },
  { "multi_lock, sorted",
    [] (auto &client, auto &path) {
      (void) curator::multi_lock (client, std::vector<std::string>{ path },
                                  curator::lock_order::sorted);
    } },
  { "rw_lock", construct<curator::rw_lock> },
  { "shared_count", construct<curator::shared_count, 1> },
  { "semaphore", construct<curator::semaphore, 1U> },
  { "inspection", construct<curator::inspection> },
  { "inspect_then",
    [] (auto &client, auto &path) {
      (void) await<curator::inspection> (
          [&] (auto done) { curator::inspect_then (client, path, 1ms, done); });
    } },
  { "find_locks", [] (auto &client, auto &path) { (void) curator::find_locks (client, path); } },
  { "inspect_all", [] (auto &client, auto &path) { (void) curator::inspect_all (client, path); } },
  { "attempt_revoke", [] (auto &client, auto &path) { client.share ().attempt_revoke (path); } },
};

TEST (test_creations)
{
  using namespace std::string_literals;
  const curator::client client = connect (fixture);
  const curator::client empty;
  curator::client closed = connect (fixture);
  closed.close ();
  const char *server = fixture_server (fixture);
  const curator::lock_driver driver ((curator::lock_driver_functions ()));
  const curator::lock_driver no_driver;
  const curator::shared_count no_count;
  const curator::mutex no_mutex;

  for (const creation &one : creations) {
    expect (one.name, "an empty client", logic,
            outcome_of ([&] { one.call (empty, "/misuse/a"); }));
    for (const std::string &path : { "/misuse/a\0b"s, "/misuse/a\0"s, "\0"s, ""s, "no/slash"s })
      expect (one.name, "a bad path", refused, outcome_of ([&] { one.call (client, path); }));
  }
  const auto made_with = [&] (void (*set) (curator::client_options &)) {
    curator::client_options options;
    set (options);
    (void) curator::client (server, options);
  };
  const struct
  {
    const char *name;
    const char *on;
    outcome wanted;
    std::function<void ()> call;
  } others[] = {
    { "inspection", "a closed client", refused,
      [&] { (void) curator::inspection (closed, "/misuse"); } },
    { "find_locks", "a closed client", refused, [&] { (void) curator::find_locks (closed, "/"); } },
    { "inspect_all", "a closed client", refused,
      [&] { (void) curator::inspect_all (closed, "/"); } },
    { "client", "a NUL", refused, [&] { (void) curator::client (server + "\0/chroot"s); } },
    { "name_space", "a NUL", refused,
      [&] { made_with ([] (auto &options) { options.name_space = "a\0b"s; }); } },
    { "auth", "a NUL", refused,
      [&] { made_with ([] (auto &options) { options.auth.emplace_back ("digest\0"s, "a:b"); }); } },
    { "lock_name", "a NUL", refused,
      [&] { (void) curator::mutex (client, "/misuse/a", "lock-\0"s, 1, driver); } },
    { "mutex", "an empty driver", logic,
      [&] { (void) curator::mutex (client, "/misuse/a", "lock-", 1, no_driver); } },
    { "semaphore", "an empty count", logic,
      [&] { (void) curator::semaphore (client, "/misuse/a", no_count); } },
    { "multi_lock", "an empty member", logic,
      [&] {
        (void) curator::multi_lock ({ no_mutex, no_mutex });
      } },
    { "node_request", "nothing", logic, [] { curator::node_request (nullptr); } },
  };
  for (const auto &one : others)
    expect (one.name, one.on, one.wanted, outcome_of (one.call));
}

/* A multi-lock without members: every way of acquiring it has an answer, and what a callback owns
 * is freed. */
TEST (test_multi_lock_without_members)
{
  const curator::client client = connect (fixture);
  curator::multi_lock none (client, std::vector<std::string> ());
  curator::multi_lock nothing ({ none, none });

  for (curator::multi_lock *lock : { &none, &nothing }) {
    std::promise<void> freed;
    std::shared_ptr<void> owned (nullptr, [&] (void *) { freed.set_value (); });
    const auto acquire = [&] (auto done) {
      lock->acquire_then (1ms, [done, kept = std::move (owned)] (
                                   curator::lease hold, const curator::error *failed) mutable {
        done (std::move (hold), failed);
      });
    };
    assert_true (std::unique_lock (*lock, 1s).owns_lock ());
    assert_false (lock->current_lease ().has_value ());
    assert_true (outcome_of ([&] { (void) lock->acquire_lease (); }) == refused);
    assert_true (outcome_of ([&] { (void) lock->try_acquire_lease_for (1ms); }) == refused);
    assert_true (outcome_of ([&] { (void) await<curator::lease> (acquire); }) == refused);
    freed.get_future ().get ();
    assert_true (outcome_of ([&] { await ([&] (auto done) { lock->release_then (done); }); })
                 == returns);
  }
}
}

SUITE ("cpp_misuse", fixture_start_slow, fixture_stop)
