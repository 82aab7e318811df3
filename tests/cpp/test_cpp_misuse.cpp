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
  try
    {
      call ();
    }
  catch (const curator::error &)
    {
      return outcome::throws_error;
    }
  catch (const std::logic_error &)
    {
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
    G_STRINGIFY (type) "::" G_STRINGIFY (member), empty, closed, [] (auto &it) { __VA_ARGS__; }    \
  }

/* Waits for the callback of an asynchronous call and throws the error that it was given. */
class answer
{
public:
  template <class... Ignored> auto callback ()
  {
    return [this] (Ignored..., const curator::error *failed) {
      failed != nullptr ? done_.set_exception (std::make_exception_ptr (*failed))
                        : done_.set_value ();
    };
  }

  void get () { done_.get_future ().get (); }

private:
  std::promise<void> done_;
};

const operations<curator::client> of_client = {
  OP (client, start, logic, refused, it.start ()),
  OP (client, block_until_connected, logic, refused, (void) it.block_until_connected (1ms)),
  { "client::block_until_connected_then", logic, refused,
    [] (curator::client &it) {
      answer connected;
      it.block_until_connected_then (1ms, connected.callback ());
      connected.get ();
    } },
  OP (client, update_servers, logic, refused, it.update_servers ("127.0.0.1:1")),
  OP (client, state, logic, returns, (void) it.state ()),
  OP (client, session_id, logic, returns, (void) it.session_id ()),
  OP (client, session_timeout, logic, returns, (void) it.session_timeout ()),
  OP (client, server, logic, returns, assert_true (it.server ().empty ())),
  OP (client, name_space, logic, returns, (void) it.name_space ()),
  OP (client, add_state_listener, logic, returns,
      it.add_state_listener ([] (curator::connection_state) {})),
  OP (client, remove_state_listener, returns, returns, it.remove_state_listener (1)),
  OP (client, connection_error, logic, returns,
      assert_true (it.connection_error ()->is (CURATOR_ERROR_CLOSED))),
  OP (client, add_connection_error_listener, logic, returns,
      it.add_connection_error_listener ([] (const curator::error &) {})),
  OP (client, remove_connection_error_listener, returns, returns,
      it.remove_connection_error_listener (1)),
  OP (client, counters, logic, returns, (void) it.counters ()),
  OP (client, metrics, logic, returns, (void) it.metrics ()),
  OP (client, counter, logic, returns, (void) it.counter (CURATOR_COUNTER_GRANTS)),
  OP (client, attempt_revoke, logic, refused, it.attempt_revoke ("/cpp/node")),
  OP (client, close, returns, returns, it.close ()),
  { "client::close_then", logic, returns,
    [] (curator::client &it) {
      std::promise<void> closed;
      it.close_then ([&] { closed.set_value (); });
      closed.get_future ().get ();
    } },
  OP (client, share, returns, returns,
      assert_true (it.share ().native_handle () == it.native_handle ())),
  OP (client, native_handle, returns, returns, (void) it.native_handle ()),
};

const operations<curator::lease> of_lease = {
  OP (lease, node_path, logic, returns, (void) it.node_path ()),
  OP (lease, node_name, logic, returns, (void) it.node_name ()),
  OP (lease, fencing_token, logic, returns, (void) it.fencing_token ()),
  OP (lease, state, logic, returns, assert_true (it.state () == curator::lease_state::lost)),
  OP (lease, lost_reason, logic, returns,
      assert_true (it.lost_reason () == curator::lost_reason::closed)),
  OP (lease, remaining, logic, returns, assert_true (it.remaining () == 0ms)),
  OP (lease, valid_for, logic, returns, assert_false (it.valid_for (0ms))),
  OP (lease, extend, logic, refused, it.extend (1s)),
  OP (lease, fd, logic, returns, (void) it.fd ()),
  OP (lease, cancellable, logic, returns,
      assert_true (g_cancellable_is_cancelled (it.cancellable ()))),
#ifdef __cpp_lib_jthread
  OP (lease, stop_token, logic, returns, assert_true (it.stop_token ().stop_requested ())),
#endif
  OP (lease, session_id, logic, returns, (void) it.session_id ()),
  OP (lease, data, logic, refused, (void) it.data ()),
  OP (lease, add_listener, logic, returns, it.add_listener ([] (curator::lease_state) {})),
  OP (lease, remove_listener, returns, returns, it.remove_listener (1)),
  OP (lease, release, logic, returns, it.release ()),
  { "lease::release_then", logic, returns,
    [] (curator::lease &it) {
      answer released;
      it.release_then (released.callback ());
      released.get ();
    } },
  OP (lease, share, returns, returns, (void) it.share ()),
  OP (lease, native_handle, returns, returns, (void) it.native_handle ()),
  OP (lease, reset, returns, returns, it.reset ()),
};

template <class Lock>
operations<Lock>
of_lock (outcome revocable = returns)
{
  return {
    OP (lockable, lock, logic, refused, it.lock ()),
    OP (lockable, try_lock, logic, refused, (void) it.try_lock ()),
    OP (lockable, try_lock_for, logic, refused, (void) it.try_lock_for (1ms)),
    OP (lockable, try_lock_until, logic, refused,
        (void) it.try_lock_until (std::chrono::steady_clock::now () + 1ms)),
    OP (lockable, unlock, critical, critical, it.unlock ()),
    OP (lockable, release, logic, refused, it.release ()),
    { "lockable::release_then", logic, refused,
      [] (Lock &it) {
        answer released;
        it.release_then (released.callback ());
        released.get ();
      } },
    OP (lockable, is_acquired_in_this_process, logic, returns,
        assert_false (it.is_acquired_in_this_process ())),
    OP (lockable, is_owned_by_current_thread, logic, returns,
        assert_false (it.is_owned_by_current_thread ())),
    OP (lockable, current_lease, logic, returns, assert_false (it.current_lease ().has_value ())),
    OP (lockable, acquire_lease, logic, refused, (void) it.acquire_lease ()),
    OP (lockable, try_acquire_lease_for, logic, refused, (void) it.try_acquire_lease_for (1ms)),
    OP (lockable, try_acquire_lease_until, logic, refused,
        (void) it.try_acquire_lease_until (std::chrono::steady_clock::now ())),
    { "lockable::acquire_then", logic, refused,
      [] (Lock &it) {
        answer granted;
        it.acquire_then (1ms, granted.callback<curator::lease> ());
        granted.get ();
      } },
    OP (lockable, participant_nodes, logic, refused, (void) it.participant_nodes ()),
    { "lockable::participant_nodes_then", logic, refused,
      [] (Lock &it) {
        answer seen;
        it.participant_nodes_then (1ms, seen.callback<std::vector<std::string>> ());
        seen.get ();
      } },
    OP (lockable, set_max_hold, logic, returns, it.set_max_hold (1min)),
    OP (lockable, max_hold, logic, returns, (void) it.max_hold ()),
    OP (lockable, path, logic, returns, (void) it.path ()),
    OP (lockable, client, logic, returns, (void) it.client ()),
    OP (lockable, make_revocable, logic, revocable, it.make_revocable ([] {})),
    OP (lockable, make_irrevocable, logic, revocable, it.make_irrevocable ()),
    OP (lockable, share, returns, returns,
        assert_ptr_equal (it.share ().native_handle (), it.native_handle ())),
    OP (lockable, native_handle, returns, returns, (void) it.native_handle ()),
  };
}

template <class Lock>
operations<Lock>
of_derived (const char *name, outcome revocable = returns)
{
  operations<Lock> all = of_lock<Lock> (revocable);
  all.push_back ({ name, returns, returns, [] (Lock &it) { (void) it.share (); } });
  return all;
}

const operations<curator::rw_lock> of_rw_lock = {
  OP (rw_lock, reader, logic, refused, it.reader ().lock ()),
  OP (rw_lock, writer, logic, refused, it.writer ().lock ()),
  OP (rw_lock, lock, logic, refused, it.lock ()),
  OP (rw_lock, try_lock, logic, refused, (void) it.try_lock ()),
  OP (rw_lock, try_lock_for, logic, refused, (void) it.try_lock_for (1ms)),
  OP (rw_lock, try_lock_until, logic, refused,
      (void) it.try_lock_until (std::chrono::steady_clock::now () + 1ms)),
  OP (rw_lock, unlock, critical, critical, it.unlock ()),
  OP (rw_lock, lock_shared, logic, refused, it.lock_shared ()),
  OP (rw_lock, try_lock_shared, logic, refused, (void) it.try_lock_shared ()),
  OP (rw_lock, try_lock_shared_for, logic, refused, (void) it.try_lock_shared_for (1ms)),
  OP (rw_lock, try_lock_shared_until, logic, refused,
      (void) it.try_lock_shared_until (std::chrono::steady_clock::now () + 1ms)),
  OP (rw_lock, unlock_shared, critical, critical, it.unlock_shared ()),
  OP (rw_lock, share, returns, returns, (void) it.share ()),
  OP (rw_lock, native_handle, returns, returns, (void) it.native_handle ()),
};

const operations<curator::shared_count> of_shared_count = {
  OP (shared_count, path, logic, returns, (void) it.path ()),
  OP (shared_count, client, logic, returns, (void) it.client ()),
  OP (shared_count, start, logic, refused, it.start ()),
  OP (shared_count, get, logic, returns, (void) it.get ()),
  OP (shared_count, set, logic, refused, it.set (1)),
  OP (shared_count, versioned, logic, returns, (void) it.versioned ()),
  OP (shared_count, try_set, logic, refused, (void) it.try_set (0, 1)),
  OP (shared_count, add_listener, logic, returns, it.add_listener ([] (std::int32_t) {})),
  OP (shared_count, remove_listener, returns, returns, it.remove_listener (1)),
  OP (shared_count, close, returns, returns, it.close ()),
  OP (shared_count, share, returns, returns, (void) it.share ()),
  OP (shared_count, native_handle, returns, returns, (void) it.native_handle ()),
};

const operations<curator::leader_selector> of_leader_selector = {
  OP (leader_selector, set_id, logic, returns, it.set_id ("id")),
  OP (leader_selector, id, logic, returns, (void) it.id ()),
  OP (leader_selector, path, logic, returns, (void) it.path ()),
  OP (leader_selector, client, logic, returns, (void) it.client ()),
  OP (leader_selector, await, logic, refused, it.await ()),
  OP (leader_selector, try_await_for, logic, refused, (void) it.try_await_for (1ms)),
  OP (leader_selector, try_await_until, logic, refused,
      (void) it.try_await_until (std::chrono::steady_clock::now ())),
  OP (leader_selector, current_lease, logic, returns, (void) it.current_lease ()),
  OP (leader_selector, set_auto_requeue, logic, returns, it.set_auto_requeue (true)),
  OP (leader_selector, set_until_lost, logic, returns, it.set_until_lost (true)),
  OP (leader_selector, start, logic, refused, it.start ()),
  OP (leader_selector, requeue, logic, returns, (void) it.requeue ()),
  OP (leader_selector, interrupt_leadership, logic, returns, it.interrupt_leadership ()),
  OP (leader_selector, has_leadership, logic, returns, (void) it.has_leadership ()),
  OP (leader_selector, participants, logic, refused, (void) it.participants ()),
  OP (leader_selector, leader, logic, refused, (void) it.leader ()),
  OP (leader_selector, close, returns, returns, it.close ()),
  OP (leader_selector, share, returns, returns, (void) it.share ()),
  OP (leader_selector, native_handle, returns, returns, (void) it.native_handle ()),
};

const operations<curator::leader_latch> of_leader_latch = {
  OP (leader_latch, id, logic, returns, (void) it.id ()),
  OP (leader_latch, path, logic, returns, (void) it.path ()),
  OP (leader_latch, client, logic, returns, (void) it.client ()),
  OP (leader_latch, set_until_lost, logic, returns, it.set_until_lost (true)),
  OP (leader_latch, start, logic, refused, it.start ()),
  OP (leader_latch, await, logic, refused, it.await ()),
  OP (leader_latch, try_await_for, logic, refused, (void) it.try_await_for (1ms)),
  OP (leader_latch, try_await_until, logic, refused,
      (void) it.try_await_until (std::chrono::steady_clock::now ())),
  OP (leader_latch, has_leadership, logic, returns, (void) it.has_leadership ()),
  OP (leader_latch, current_lease, logic, returns, (void) it.current_lease ()),
  OP (leader_latch, participants, logic, refused, (void) it.participants ()),
  OP (leader_latch, leader, logic, refused, (void) it.leader ()),
  OP (leader_latch, add_listener, logic, returns, it.add_listener ([] (bool) {})),
  OP (leader_latch, remove_listener, returns, returns, it.remove_listener (1)),
  OP (leader_latch, close, returns, returns, it.close ()),
  OP (leader_latch, share, returns, returns, (void) it.share ()),
  OP (leader_latch, native_handle, returns, returns, (void) it.native_handle ()),
};

const operations<curator::semaphore> of_semaphore = {
  OP (semaphore, acquire, logic, refused, (void) it.acquire ()),
  OP (semaphore, try_acquire, logic, refused, (void) it.try_acquire ()),
  OP (semaphore, try_acquire_for, logic, refused, (void) it.try_acquire_for (1ms)),
  OP (semaphore, try_acquire_until, logic, refused,
      (void) it.try_acquire_until (std::chrono::steady_clock::now ())),
  OP (semaphore, try_acquire_n_for, logic, refused, (void) it.try_acquire_n_for (1, 1ms)),
  OP (semaphore, try_acquire_n_until, logic, refused,
      (void) it.try_acquire_n_until (1, std::chrono::steady_clock::now ())),
  { "semaphore::acquire_then", logic, refused,
    [] (curator::semaphore &it) {
      answer granted;
      it.acquire_then (1, 1ms, granted.callback<std::vector<curator::lease>> ());
      granted.get ();
    } },
  { "semaphore::acquire_one_then", logic, refused,
    [] (curator::semaphore &it) {
      answer granted;
      it.acquire_one_then (1ms, granted.callback<curator::lease> ());
      granted.get ();
    } },
  OP (semaphore, return_all, logic, returns, it.return_all ({})),
  { "semaphore::return_all_then", logic, returns,
    [] (curator::semaphore &it) {
      answer returned;
      it.return_all_then ({}, returned.callback ());
      returned.get ();
    } },
  OP (semaphore, max_leases, logic, returns, (void) it.max_leases ()),
  OP (semaphore, path, logic, returns, (void) it.path ()),
  OP (semaphore, client, logic, returns, (void) it.client ()),
  OP (semaphore, set_node_data, logic, returns, it.set_node_data ("data")),
  OP (semaphore, participant_nodes, logic, refused, (void) it.participant_nodes ()),
  OP (semaphore, make_revocable, logic, returns,
      it.make_revocable ([] (const curator::lease &) {})),
  OP (semaphore, make_irrevocable, logic, returns, it.make_irrevocable ()),
  OP (semaphore, share, returns, returns, (void) it.share ()),
  OP (semaphore, native_handle, returns, returns, (void) it.native_handle ()),
};

const operations<curator::inspection> of_inspection = {
  OP (inspection, path, logic, returns, (void) it.path ()),
  OP (inspection, kind, logic, returns, (void) it.kind ()),
  OP (inspection, n_holders, logic, returns, (void) it.n_holders ()),
  OP (inspection, n_waiting, logic, returns, (void) it.n_waiting ()),
  OP (inspection, participants, logic, returns, (void) it.participants ()),
  OP (inspection, foreign_children, logic, returns, (void) it.foreign_children ()),
  OP (inspection, next_number, logic, returns, (void) it.next_number ()),
  OP (inspection, counter_used, logic, returns, (void) it.counter_used ()),
  OP (inspection, delete_ownerless, logic, logic, it.delete_ownerless (curator::client (), 0)),
  OP (inspection, share, returns, returns, (void) it.share ()),
  OP (inspection, native_handle, returns, returns, (void) it.native_handle ()),
};

const operations<curator::lock_driver> of_lock_driver = {
  OP (lock_driver, set_nothing_overtakes, logic, returns, it.set_nothing_overtakes (false)),
  OP (lock_driver, share, returns, returns, (void) it.share ()),
  OP (lock_driver, native_handle, returns, returns, (void) it.native_handle ()),
};

const operations<curator::tls> of_tls = {
  OP (tls, set_ca_file, logic, refused, it.set_ca_file ("/none")),
  OP (tls, set_crl_file, logic, refused, it.set_crl_file ("/none")),
  OP (tls, set_certificate_files, logic, refused, it.set_certificate_files ("/none", "/none")),
  OP (tls, set_pkcs12, logic, refused, it.set_pkcs12 ("/none")),
  OP (tls, set_pkcs11, logic, refused, it.set_pkcs11 ("pkcs11:token=none", "pkcs11:token=none")),
  OP (tls, set_server_name, logic, returns, it.set_server_name ("name")),
  OP (tls, set_verify, logic, returns, it.set_verify (true)),
  OP (tls, share, returns, returns, (void) it.share ()),
  OP (tls, native_handle, returns, returns, (void) it.native_handle ()),
};

const operations<curator::retry_policy> of_retry_policy = {
  OP (retry_policy, allow_retry, logic, returns, (void) it.allow_retry (0, 0ms)),
  OP (retry_policy, share, returns, returns, (void) it.share ()),
  OP (retry_policy, native_handle, returns, returns, (void) it.native_handle ()),
};

template <class Handle, class Create>
void
check (const operations<Handle> &all, Create &&create)
{
  for (const operation<Handle> &one : all)
    {
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
check_closed (const operations<Handle> &all, Handle &handle)
{
  for (const operation<Handle> &one : all)
    {
      expect (one.name, "a closed object", one.when_closed,
              outcome_of ([&] { one.call (handle); }));
    }
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

template <class Lock, class Create>
void
check_lock (curator::client &client, const operations<Lock> &all, Create &&create)
{
  check (all, create);
  Lock lock = create ();
  lock.lock (); /* and is lost by close */
  client.close ();
  expect ("lockable::lock", "a lost hold", refused, outcome_of ([&] { lock.lock (); }));
  lock.unlock ();
  check_closed (all, lock);
}

TEST (test_locks)
{
  curator::client client = connect (fixture);
  check_lock (client, of_lock<curator::lockable> (), [&] {
    return curator::lockable (curator_mutex_new (client.native_handle (), "/misuse/any", nullptr));
  });
  client = connect (fixture);
  check_lock (client, of_derived<curator::mutex> ("mutex::share"),
              [&] { return curator::mutex (client, "/misuse/mutex"); });
  client = connect (fixture);
  check_lock (client, of_derived<curator::semaphore_mutex> ("semaphore_mutex::share", refused),
              [&] { return curator::semaphore_mutex (client, "/misuse/semaphore-mutex"); });
  client = connect (fixture);
  check_lock (client, of_derived<curator::fixed_node_lock> ("fixed_node_lock::share"),
              [&] { return curator::fixed_node_lock (client, "/misuse/fixed"); });
  client = connect (fixture);
  check_lock (client, of_derived<curator::multi_lock> ("multi_lock::share", refused), [&] {
    return curator::multi_lock (client, { "/misuse/multi-a", "/misuse/multi-b" });
  });
  client = connect (fixture);
  check (of_rw_lock, [&] { return curator::rw_lock (client, "/misuse/rw"); });
  curator::rw_lock rw_lock (client, "/misuse/rw");
  client.close ();
  check_closed (of_rw_lock, rw_lock);
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

/* A guard must not own a lock that is no lock. */
TEST (test_guards_of_empty_handles)
{
  curator::mutex mutex;
  curator::rw_lock rw_lock;
  assert_true (outcome_of ([&] { std::unique_lock hold (mutex, 1s); }) == logic);
  assert_true (outcome_of ([&] { std::unique_lock hold (mutex, std::try_to_lock); }) == logic);
  assert_true (outcome_of ([&] { const std::lock_guard hold (mutex); }) == logic);
  assert_true (outcome_of ([&] { const std::scoped_lock hold (rw_lock); }) == logic);
  assert_true (outcome_of ([&] { std::shared_lock hold (rw_lock); }) == logic);
}

TEST (test_counts_and_semaphores)
{
  curator::client client = connect (fixture);
  check (of_shared_count, [&] { return curator::shared_count (client, "/misuse/count", 1); });
  check (of_semaphore, [&] { return curator::semaphore (client, "/misuse/semaphore", 1); });
  curator::shared_count count (client, "/misuse/count", 1);
  count.start ();
  curator::semaphore semaphore (client, "/misuse/semaphore", 1);
  client.close ();
  check_closed (of_shared_count, count);
  check_closed (of_semaphore, semaphore);
}

TEST (test_leaders)
{
  curator::client client = connect (fixture);
  const auto lead = [] (const curator::lease &, GCancellable *) {};
  check (of_leader_selector, [&] { return curator::leader_selector (client, "/misuse/a", lead); });
  check (of_leader_latch, [&] { return curator::leader_latch (client, "/misuse/b"); });
  curator::leader_selector selector (client, "/misuse/a", lead);
  curator::leader_latch latch (client, "/misuse/b");
  client.close ();
  check_closed (of_leader_selector, selector);
  check_closed (of_leader_latch, latch);
}

TEST (test_the_rest)
{
  curator::client client = connect (fixture);
  check (of_inspection, [&] { return curator::inspection (client, "/misuse"); });
  check (of_lock_driver, [] { return curator::lock_driver (curator::lock_driver_functions ()); });
  check (of_tls, [] { return curator::tls::with_system_cas (); });
  curator::tls tls = curator::tls::with_system_cas ();
  check_closed (of_tls, tls); /* files and tokens that do not exist */
  check (of_retry_policy, [] { return curator::retry_policy::always (1ms); });
  curator::inspection inspection (client, "/misuse");
  client.close ();
  check_closed (of_inspection, inspection);
  expect ("inspection", "a closed client", refused,
          outcome_of ([&] { (void) curator::inspection (client, "/misuse"); }));
  expect ("find_locks", "a closed client", refused,
          outcome_of ([&] { (void) curator::find_locks (client, "/"); }));
  expect ("inspect_all", "a closed client", refused,
          outcome_of ([&] { (void) curator::inspect_all (client, "/"); }));
}

struct creation
{
  const char *name;
  std::function<void (const curator::client &, const std::string &path)> call;
};

const std::vector<creation> creations = {
  { "mutex", [] (auto &client, auto &path) { (void) curator::mutex (client, path); } },
  { "mutex with a driver",
    [] (auto &client, auto &path) {
      const curator::lock_driver driver ((curator::lock_driver_functions ()));
      (void) curator::mutex (client, path, "lock-", 1, driver);
    } },
  { "semaphore_mutex",
    [] (auto &client, auto &path) { (void) curator::semaphore_mutex (client, path); } },
  { "fixed_node_lock",
    [] (auto &client, auto &path) { (void) curator::fixed_node_lock (client, path); } },
  { "multi_lock",
    [] (auto &client, auto &path) {
      (void) curator::multi_lock (client, std::vector<std::string>{ "/misuse/x", path });
    } },
  { "multi_lock, given",
    [] (auto &client, auto &path) {
      (void) curator::multi_lock (client, std::vector<std::string>{ path },
                                  curator::lock_order::given);
    } },
  { "rw_lock", [] (auto &client, auto &path) { (void) curator::rw_lock (client, path); } },
  { "shared_count",
    [] (auto &client, auto &path) { (void) curator::shared_count (client, path, 1); } },
  { "semaphore", [] (auto &client, auto &path) { (void) curator::semaphore (client, path, 1); } },
  { "inspection", [] (auto &client, auto &path) { (void) curator::inspection (client, path); } },
  { "inspect_then",
    [] (auto &client, auto &path) {
      answer seen;
      curator::inspect_then (client, path, 1ms, seen.callback<curator::inspection> ());
      seen.get ();
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
  const char *server = fixture_server (fixture);
  const curator::lock_driver driver ((curator::lock_driver_functions ()));
  const curator::lock_driver no_driver;
  const curator::shared_count no_count;
  const curator::mutex no_mutex;

  for (const creation &one : creations)
    {
      expect (one.name, "an empty client", logic,
              outcome_of ([&] { one.call (empty, "/misuse/a"); }));
      for (const std::string &path : { "/misuse/a\0b"s, "/misuse/a\0"s, "\0"s, ""s, "no/slash"s })
        expect (one.name, "a bad path", refused, outcome_of ([&] { one.call (client, path); }));
    }
  expect ("client", "a NUL", refused,
          outcome_of ([&] { (void) curator::client (server + "\0/chroot"s); }));
  expect ("name_space", "a NUL", refused, outcome_of ([&] {
            curator::client_options options;
            options.name_space = "a\0b"s;
            (void) curator::client (server, options);
          }));
  expect ("auth", "a NUL", refused, outcome_of ([&] {
            curator::client_options options;
            options.auth.emplace_back ("digest\0"s, "user:secret");
            (void) curator::client (server, options);
          }));
  expect ("lock_name", "a NUL", refused,
          outcome_of ([&] { (void) curator::mutex (client, "/misuse/a", "lock-\0"s, 1, driver); }));
  expect ("mutex", "an empty driver", logic,
          outcome_of ([&] { (void) curator::mutex (client, "/misuse/a", "lock-", 1, no_driver); }));
  expect ("semaphore", "an empty count", logic,
          outcome_of ([&] { (void) curator::semaphore (client, "/misuse/a", no_count); }));
  expect ("multi_lock", "an empty member", logic, outcome_of ([&] {
            (void) curator::multi_lock ({ no_mutex, no_mutex });
          }));
  expect ("node_request", "nothing", logic, outcome_of ([&] { curator::node_request (nullptr); }));
}

/* A multi-lock without members: every way of acquiring it has an answer, and what a callback owns
 * is freed. */
TEST (test_multi_lock_without_members)
{
  const curator::client client = connect (fixture);
  curator::multi_lock none (client, std::vector<std::string> ());
  curator::multi_lock nothing ({ none, none });

  for (curator::multi_lock *lock : { &none, &nothing })
    {
      std::promise<void> freed;
      std::shared_ptr<void> owned (nullptr, [&] (void *) { freed.set_value (); });
      assert_true (std::unique_lock (*lock, 1s).owns_lock ());
      assert_false (lock->current_lease ().has_value ());
      assert_true (outcome_of ([&] { (void) lock->acquire_lease (); }) == refused);
      assert_true (outcome_of ([&] { (void) lock->try_acquire_lease_for (1ms); }) == refused);
      assert_true (outcome_of ([&] {
                     answer granted;
                     lock->acquire_then (
                         1ms,
                         [told = granted.callback<curator::lease> (), kept = std::move (owned)] (
                             curator::lease hold, const curator::error *failed) mutable {
                           told (std::move (hold), failed);
                         });
                     granted.get ();
                   })
                   == refused);
      freed.get_future ().get ();
      assert_true (outcome_of ([&] {
                     answer released;
                     lock->release_then (released.callback ());
                     released.get ();
                   })
                   == returns);
    }
}
}

SUITE ("cpp_misuse", fixture_start_slow, fixture_stop)
