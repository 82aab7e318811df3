/* Every operation of every class of curator.hpp on empty, moved-from and closed objects, and texts
 * with a NUL. check_operations compares the names in these tables with the header. */
#include <curator/curator.hpp>

#include <gio/gio.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C"
{
#include "integration/fixture.h"
}

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
  { "client::start", logic, refused, [] (curator::client &it) { it.start (); } },
  { "client::block_until_connected", logic, refused,
    [] (curator::client &it) { (void) it.block_until_connected (1ms); } },
  { "client::update_servers", logic, refused,
    [] (curator::client &it) { it.update_servers ("127.0.0.1:1"); } },
  { "client::state", logic, returns, [] (curator::client &it) { (void) it.state (); } },
  { "client::session_id", logic, returns, [] (curator::client &it) { (void) it.session_id (); } },
  { "client::session_timeout", logic, returns,
    [] (curator::client &it) { (void) it.session_timeout (); } },
  { "client::add_state_listener", logic, returns,
    [] (curator::client &it) { it.add_state_listener ([] (curator::connection_state) {}); } },
  { "client::remove_state_listener", returns, returns,
    [] (curator::client &it) { it.remove_state_listener (1); } },
  { "client::connection_error", logic, returns,
    [] (curator::client &it) { assert_true (it.connection_error ()->is (CURATOR_ERROR_CLOSED)); } },
  { "client::add_connection_error_listener", logic, returns,
    [] (curator::client &it) {
      it.add_connection_error_listener ([] (const curator::error &) {});
    } },
  { "client::remove_connection_error_listener", returns, returns,
    [] (curator::client &it) { it.remove_connection_error_listener (1); } },
  { "client::counters", logic, returns, [] (curator::client &it) { (void) it.counters (); } },
  { "client::metrics", logic, returns, [] (curator::client &it) { (void) it.metrics (); } },
  { "client::counter", logic, returns,
    [] (curator::client &it) { (void) it.counter (CURATOR_COUNTER_GRANTS); } },
  { "client::attempt_revoke", logic, refused,
    [] (curator::client &it) { it.attempt_revoke ("/cpp/node"); } },
  { "client::close", returns, returns, [] (curator::client &it) { it.close (); } },
  { "client::share", returns, returns,
    [] (curator::client &it) {
      assert_true (it.share ().native_handle () == it.native_handle ());
    } },
  { "client::native_handle", returns, returns,
    [] (curator::client &it) { (void) it.native_handle (); } },
};

const operations<curator::lease> of_lease = {
  { "lease::node_path", logic, returns, [] (curator::lease &it) { (void) it.node_path (); } },
  { "lease::node_name", logic, returns, [] (curator::lease &it) { (void) it.node_name (); } },
  { "lease::fencing_token", logic, returns,
    [] (curator::lease &it) { (void) it.fencing_token (); } },
  { "lease::state", logic, returns,
    [] (curator::lease &it) { assert_true (it.state () == curator::lease_state::lost); } },
  { "lease::remaining", logic, returns,
    [] (curator::lease &it) { assert_true (it.remaining () == 0ms); } },
  { "lease::valid_for", logic, returns,
    [] (curator::lease &it) { assert_false (it.valid_for (0ms)); } },
  { "lease::extend", logic, refused, [] (curator::lease &it) { it.extend (1s); } },
  { "lease::fd", logic, returns, [] (curator::lease &it) { (void) it.fd (); } },
  { "lease::cancellable", logic, returns,
    [] (curator::lease &it) { assert_true (g_cancellable_is_cancelled (it.cancellable ())); } },
#ifdef __cpp_lib_jthread
  { "lease::stop_token", logic, returns,
    [] (curator::lease &it) { assert_true (it.stop_token ().stop_requested ()); } },
#endif
  { "lease::session_id", logic, returns, [] (curator::lease &it) { (void) it.session_id (); } },
  { "lease::data", logic, refused, [] (curator::lease &it) { (void) it.data (); } },
  { "lease::add_listener", logic, returns,
    [] (curator::lease &it) { it.add_listener ([] (curator::lease_state) {}); } },
  { "lease::remove_listener", returns, returns,
    [] (curator::lease &it) { it.remove_listener (1); } },
  { "lease::release", logic, returns, [] (curator::lease &it) { it.release (); } },
  { "lease::async_release", logic, returns,
    [] (curator::lease &it) {
      answer released;
      it.async_release (released.callback ());
      released.get ();
    } },
  { "lease::share", returns, returns, [] (curator::lease &it) { (void) it.share (); } },
  { "lease::native_handle", returns, returns,
    [] (curator::lease &it) { (void) it.native_handle (); } },
  { "lease::reset", returns, returns, [] (curator::lease &it) { it.reset (); } },
};

template <class Lock>
operations<Lock>
of_lock (outcome revocable = returns)
{
  return {
    { "lockable::lock", logic, refused, [] (Lock &it) { it.lock (); } },
    { "lockable::try_lock", logic, refused, [] (Lock &it) { (void) it.try_lock (); } },
    { "lockable::try_lock_for", logic, refused, [] (Lock &it) { (void) it.try_lock_for (1ms); } },
    { "lockable::try_lock_until", logic, refused,
      [] (Lock &it) { (void) it.try_lock_until (std::chrono::steady_clock::now () + 1ms); } },
    { "lockable::unlock", critical, critical, [] (Lock &it) { it.unlock (); } },
    { "lockable::release", logic, refused, [] (Lock &it) { it.release (); } },
    { "lockable::unlock_async", logic, refused,
      [] (Lock &it) {
        answer released;
        it.unlock_async (released.callback ());
        released.get ();
      } },
    { "lockable::is_acquired_in_this_process", logic, returns,
      [] (Lock &it) { assert_false (it.is_acquired_in_this_process ()); } },
    { "lockable::is_owned_by_current_thread", logic, returns,
      [] (Lock &it) { assert_false (it.is_owned_by_current_thread ()); } },
    { "lockable::current_lease", logic, returns,
      [] (Lock &it) { assert_false (it.current_lease ().has_value ()); } },
    { "lockable::acquire_lease", logic, refused, [] (Lock &it) { (void) it.acquire_lease (); } },
    { "lockable::try_acquire_lease_for", logic, refused,
      [] (Lock &it) { (void) it.try_acquire_lease_for (1ms); } },
    { "lockable::try_acquire_lease_until", logic, refused,
      [] (Lock &it) { (void) it.try_acquire_lease_until (std::chrono::steady_clock::now ()); } },
    { "lockable::acquire_async", logic, refused,
      [] (Lock &it) {
        answer granted;
        it.acquire_async (1ms, granted.callback<curator::lease> ());
        granted.get ();
      } },
    { "lockable::participant_nodes", logic, refused,
      [] (Lock &it) { (void) it.participant_nodes (); } },
    { "lockable::set_max_hold", logic, returns, [] (Lock &it) { it.set_max_hold (1min); } },
    { "lockable::make_revocable", logic, revocable, [] (Lock &it) { it.make_revocable ([] {}); } },
    { "lockable::make_irrevocable", logic, revocable, [] (Lock &it) { it.make_irrevocable (); } },
    { "lockable::share", returns, returns,
      [] (curator::lockable &it) {
        assert_ptr_equal (it.share ().native_handle (), it.native_handle ());
      } },
    { "lockable::native_handle", returns, returns, [] (Lock &it) { (void) it.native_handle (); } },
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
  { "rw_lock::reader", logic, refused, [] (curator::rw_lock &it) { it.reader ().lock (); } },
  { "rw_lock::writer", logic, refused, [] (curator::rw_lock &it) { it.writer ().lock (); } },
  { "rw_lock::lock", logic, refused, [] (curator::rw_lock &it) { it.lock (); } },
  { "rw_lock::try_lock", logic, refused, [] (curator::rw_lock &it) { (void) it.try_lock (); } },
  { "rw_lock::try_lock_for", logic, refused,
    [] (curator::rw_lock &it) { (void) it.try_lock_for (1ms); } },
  { "rw_lock::try_lock_until", logic, refused,
    [] (curator::rw_lock &it) {
      (void) it.try_lock_until (std::chrono::steady_clock::now () + 1ms);
    } },
  { "rw_lock::unlock", critical, critical, [] (curator::rw_lock &it) { it.unlock (); } },
  { "rw_lock::lock_shared", logic, refused, [] (curator::rw_lock &it) { it.lock_shared (); } },
  { "rw_lock::try_lock_shared", logic, refused,
    [] (curator::rw_lock &it) { (void) it.try_lock_shared (); } },
  { "rw_lock::try_lock_shared_for", logic, refused,
    [] (curator::rw_lock &it) { (void) it.try_lock_shared_for (1ms); } },
  { "rw_lock::try_lock_shared_until", logic, refused,
    [] (curator::rw_lock &it) {
      (void) it.try_lock_shared_until (std::chrono::steady_clock::now () + 1ms);
    } },
  { "rw_lock::unlock_shared", critical, critical,
    [] (curator::rw_lock &it) { it.unlock_shared (); } },
  { "rw_lock::share", returns, returns, [] (curator::rw_lock &it) { (void) it.share (); } },
  { "rw_lock::native_handle", returns, returns,
    [] (curator::rw_lock &it) { (void) it.native_handle (); } },
};

const operations<curator::shared_count> of_shared_count = {
  { "shared_count::start", logic, refused, [] (curator::shared_count &it) { it.start (); } },
  { "shared_count::get", logic, returns, [] (curator::shared_count &it) { (void) it.get (); } },
  { "shared_count::set", logic, refused, [] (curator::shared_count &it) { it.set (1); } },
  { "shared_count::versioned", logic, returns,
    [] (curator::shared_count &it) { (void) it.versioned (); } },
  { "shared_count::try_set", logic, refused,
    [] (curator::shared_count &it) { (void) it.try_set (0, 1); } },
  { "shared_count::add_listener", logic, returns,
    [] (curator::shared_count &it) { it.add_listener ([] (std::int32_t) {}); } },
  { "shared_count::remove_listener", returns, returns,
    [] (curator::shared_count &it) { it.remove_listener (1); } },
  { "shared_count::close", returns, returns, [] (curator::shared_count &it) { it.close (); } },
  { "shared_count::share", returns, returns,
    [] (curator::shared_count &it) { (void) it.share (); } },
  { "shared_count::native_handle", returns, returns,
    [] (curator::shared_count &it) { (void) it.native_handle (); } },
};

const operations<curator::leader_selector> of_leader_selector = {
  { "leader_selector::set_id", logic, returns,
    [] (curator::leader_selector &it) { it.set_id ("id"); } },
  { "leader_selector::id", logic, returns, [] (curator::leader_selector &it) { (void) it.id (); } },
  { "leader_selector::set_auto_requeue", logic, returns,
    [] (curator::leader_selector &it) { it.set_auto_requeue (true); } },
  { "leader_selector::set_until_lost", logic, returns,
    [] (curator::leader_selector &it) { it.set_until_lost (true); } },
  { "leader_selector::start", logic, refused, [] (curator::leader_selector &it) { it.start (); } },
  { "leader_selector::requeue", logic, returns,
    [] (curator::leader_selector &it) { (void) it.requeue (); } },
  { "leader_selector::interrupt_leadership", logic, returns,
    [] (curator::leader_selector &it) { it.interrupt_leadership (); } },
  { "leader_selector::has_leadership", logic, returns,
    [] (curator::leader_selector &it) { (void) it.has_leadership (); } },
  { "leader_selector::participants", logic, refused,
    [] (curator::leader_selector &it) { (void) it.participants (); } },
  { "leader_selector::leader", logic, refused,
    [] (curator::leader_selector &it) { (void) it.leader (); } },
  { "leader_selector::close", returns, returns,
    [] (curator::leader_selector &it) { it.close (); } },
  { "leader_selector::share", returns, returns,
    [] (curator::leader_selector &it) { (void) it.share (); } },
  { "leader_selector::native_handle", returns, returns,
    [] (curator::leader_selector &it) { (void) it.native_handle (); } },
};

const operations<curator::leader_latch> of_leader_latch = {
  { "leader_latch::id", logic, returns, [] (curator::leader_latch &it) { (void) it.id (); } },
  { "leader_latch::set_until_lost", logic, returns,
    [] (curator::leader_latch &it) { it.set_until_lost (true); } },
  { "leader_latch::start", logic, refused, [] (curator::leader_latch &it) { it.start (); } },
  { "leader_latch::await", logic, refused, [] (curator::leader_latch &it) { it.await (); } },
  { "leader_latch::try_await_for", logic, refused,
    [] (curator::leader_latch &it) { (void) it.try_await_for (1ms); } },
  { "leader_latch::try_await_until", logic, refused,
    [] (curator::leader_latch &it) {
      (void) it.try_await_until (std::chrono::steady_clock::now ());
    } },
  { "leader_latch::has_leadership", logic, returns,
    [] (curator::leader_latch &it) { (void) it.has_leadership (); } },
  { "leader_latch::current_lease", logic, returns,
    [] (curator::leader_latch &it) { (void) it.current_lease (); } },
  { "leader_latch::participants", logic, refused,
    [] (curator::leader_latch &it) { (void) it.participants (); } },
  { "leader_latch::leader", logic, refused,
    [] (curator::leader_latch &it) { (void) it.leader (); } },
  { "leader_latch::add_listener", logic, returns,
    [] (curator::leader_latch &it) { it.add_listener ([] (bool) {}); } },
  { "leader_latch::remove_listener", returns, returns,
    [] (curator::leader_latch &it) { it.remove_listener (1); } },
  { "leader_latch::close", returns, returns, [] (curator::leader_latch &it) { it.close (); } },
  { "leader_latch::share", returns, returns,
    [] (curator::leader_latch &it) { (void) it.share (); } },
  { "leader_latch::native_handle", returns, returns,
    [] (curator::leader_latch &it) { (void) it.native_handle (); } },
};

const operations<curator::semaphore> of_semaphore = {
  { "semaphore::acquire", logic, refused, [] (curator::semaphore &it) { (void) it.acquire (); } },
  { "semaphore::try_acquire", logic, refused,
    [] (curator::semaphore &it) { (void) it.try_acquire (); } },
  { "semaphore::try_acquire_for", logic, refused,
    [] (curator::semaphore &it) { (void) it.try_acquire_for (1ms); } },
  { "semaphore::try_acquire_until", logic, refused,
    [] (curator::semaphore &it) {
      (void) it.try_acquire_until (std::chrono::steady_clock::now ());
    } },
  { "semaphore::try_acquire_n_for", logic, refused,
    [] (curator::semaphore &it) { (void) it.try_acquire_n_for (1, 1ms); } },
  { "semaphore::try_acquire_n_until", logic, refused,
    [] (curator::semaphore &it) {
      (void) it.try_acquire_n_until (1, std::chrono::steady_clock::now ());
    } },
  { "semaphore::acquire_async", logic, refused,
    [] (curator::semaphore &it) {
      answer granted;
      it.acquire_async (1, 1ms, granted.callback<std::vector<curator::lease>> ());
      granted.get ();
    } },
  { "semaphore::max_leases", logic, returns,
    [] (curator::semaphore &it) { (void) it.max_leases (); } },
  { "semaphore::set_node_data", logic, returns,
    [] (curator::semaphore &it) { it.set_node_data ("data"); } },
  { "semaphore::participant_nodes", logic, refused,
    [] (curator::semaphore &it) { (void) it.participant_nodes (); } },
  { "semaphore::make_revocable", logic, returns,
    [] (curator::semaphore &it) { it.make_revocable ([] (const curator::lease &) {}); } },
  { "semaphore::share", returns, returns, [] (curator::semaphore &it) { (void) it.share (); } },
  { "semaphore::native_handle", returns, returns,
    [] (curator::semaphore &it) { (void) it.native_handle (); } },
};

const operations<curator::inspection> of_inspection = {
  { "inspection::path", logic, returns, [] (curator::inspection &it) { (void) it.path (); } },
  { "inspection::kind", logic, returns, [] (curator::inspection &it) { (void) it.kind (); } },
  { "inspection::n_holders", logic, returns,
    [] (curator::inspection &it) { (void) it.n_holders (); } },
  { "inspection::n_waiting", logic, returns,
    [] (curator::inspection &it) { (void) it.n_waiting (); } },
  { "inspection::participants", logic, returns,
    [] (curator::inspection &it) { (void) it.participants (); } },
  { "inspection::foreign_children", logic, returns,
    [] (curator::inspection &it) { (void) it.foreign_children (); } },
  { "inspection::next_number", logic, returns,
    [] (curator::inspection &it) { (void) it.next_number (); } },
  { "inspection::counter_used", logic, returns,
    [] (curator::inspection &it) { (void) it.counter_used (); } },
  { "inspection::delete_ownerless", logic, logic,
    [] (curator::inspection &it) { it.delete_ownerless (curator::client (), 0); } },
  { "inspection::share", returns, returns, [] (curator::inspection &it) { (void) it.share (); } },
  { "inspection::native_handle", returns, returns,
    [] (curator::inspection &it) { (void) it.native_handle (); } },
};

const operations<curator::lock_driver> of_lock_driver = {
  { "lock_driver::set_nothing_overtakes", logic, returns,
    [] (curator::lock_driver &it) { it.set_nothing_overtakes (false); } },
  { "lock_driver::share", returns, returns, [] (curator::lock_driver &it) { (void) it.share (); } },
  { "lock_driver::native_handle", returns, returns,
    [] (curator::lock_driver &it) { (void) it.native_handle (); } },
};

const operations<curator::tls> of_tls = {
  { "tls::set_ca_file", logic, refused, [] (curator::tls &it) { it.set_ca_file ("/none"); } },
  { "tls::set_crl_file", logic, refused, [] (curator::tls &it) { it.set_crl_file ("/none"); } },
  { "tls::set_certificate_files", logic, refused,
    [] (curator::tls &it) { it.set_certificate_files ("/none", "/none"); } },
  { "tls::set_pkcs12", logic, refused, [] (curator::tls &it) { it.set_pkcs12 ("/none"); } },
  { "tls::set_pkcs11", logic, refused,
    [] (curator::tls &it) { it.set_pkcs11 ("pkcs11:token=none", "pkcs11:token=none"); } },
  { "tls::set_server_name", logic, returns,
    [] (curator::tls &it) { it.set_server_name ("name"); } },
  { "tls::set_verify", logic, returns, [] (curator::tls &it) { it.set_verify (true); } },
  { "tls::share", returns, returns, [] (curator::tls &it) { (void) it.share (); } },
  { "tls::native_handle", returns, returns, [] (curator::tls &it) { (void) it.native_handle (); } },
};

const operations<curator::retry_policy> of_retry_policy = {
  { "retry_policy::allow_retry", logic, returns,
    [] (curator::retry_policy &it) { (void) it.allow_retry (0, 0ms); } },
  { "retry_policy::share", returns, returns,
    [] (curator::retry_policy &it) { (void) it.share (); } },
  { "retry_policy::native_handle", returns, returns,
    [] (curator::retry_policy &it) { (void) it.native_handle (); } },
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

curator::client
connect (void **state)
{
  curator::client_options options;
  options.session_timeout = 30s;
  curator::client client (fixture_server (static_cast<Fixture *> (*state)), options);
  client.start ();
  assert_true (client.block_until_connected (std::chrono::milliseconds (LONG_MS)));
  return client;
}

void
test_clients_and_leases (void **state)
{
  check (of_client, [&] { return connect (state); });
  curator::client client = connect (state);
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

void
test_locks (void **state)
{
  curator::client client = connect (state);
  check_lock (client, of_lock<curator::lockable> (), [&] {
    return curator::lockable (curator_mutex_new (client.native_handle (), "/misuse/any", nullptr));
  });
  client = connect (state);
  check_lock (client, of_derived<curator::mutex> ("mutex::share"),
              [&] { return curator::mutex (client, "/misuse/mutex"); });
  client = connect (state);
  check_lock (client, of_derived<curator::semaphore_mutex> ("semaphore_mutex::share", refused),
              [&] { return curator::semaphore_mutex (client, "/misuse/semaphore-mutex"); });
  client = connect (state);
  check_lock (client, of_derived<curator::fixed_node_lock> ("fixed_node_lock::share"),
              [&] { return curator::fixed_node_lock (client, "/misuse/fixed"); });
  client = connect (state);
  check_lock (client, of_derived<curator::multi_lock> ("multi_lock::share", refused), [&] {
    return curator::multi_lock (client, { "/misuse/multi-a", "/misuse/multi-b" });
  });
  client = connect (state);
  check (of_rw_lock, [&] { return curator::rw_lock (client, "/misuse/rw"); });
  curator::rw_lock rw_lock (client, "/misuse/rw");
  client.close ();
  check_closed (of_rw_lock, rw_lock);
}

/* In the background mode, too, and without a callback. */
void
test_unlock_of_empty_handles (void **)
{
  curator::lockable background (nullptr, curator::unlock_mode::background);
  assert_true (outcome_of ([&] { background.unlock (); }) == critical);
  assert_true (outcome_of ([&] { background.unlock_async (); }) == critical);
  curator::lockable waiting;
  assert_true (outcome_of ([&] { waiting.unlock_async (); }) == critical);
  curator::rw_lock none (nullptr);
  assert_true (outcome_of ([&] { none.lock (); }) == logic);
}

/* A guard must not own a lock that is no lock. */
void
test_guards_of_empty_handles (void **)
{
  curator::mutex mutex;
  curator::rw_lock rw_lock;
  assert_true (outcome_of ([&] { std::unique_lock hold (mutex, 1s); }) == logic);
  assert_true (outcome_of ([&] { std::unique_lock hold (mutex, std::try_to_lock); }) == logic);
  assert_true (outcome_of ([&] { const std::lock_guard hold (mutex); }) == logic);
  assert_true (outcome_of ([&] { const std::scoped_lock hold (rw_lock); }) == logic);
  assert_true (outcome_of ([&] { std::shared_lock hold (rw_lock); }) == logic);
}

void
test_counts_and_semaphores (void **state)
{
  curator::client client = connect (state);
  check (of_shared_count, [&] { return curator::shared_count (client, "/misuse/count", 1); });
  check (of_semaphore, [&] { return curator::semaphore (client, "/misuse/semaphore", 1); });
  curator::shared_count count (client, "/misuse/count", 1);
  count.start ();
  curator::semaphore semaphore (client, "/misuse/semaphore", 1);
  client.close ();
  check_closed (of_shared_count, count);
  check_closed (of_semaphore, semaphore);
}

void
test_leaders (void **state)
{
  curator::client client = connect (state);
  const auto lead = [] (const curator::lease &, GCancellable *) {};
  check (of_leader_selector, [&] { return curator::leader_selector (client, "/misuse/a", lead); });
  check (of_leader_latch, [&] { return curator::leader_latch (client, "/misuse/b"); });
  curator::leader_selector selector (client, "/misuse/a", lead);
  curator::leader_latch latch (client, "/misuse/b");
  client.close ();
  check_closed (of_leader_selector, selector);
  check_closed (of_leader_latch, latch);
}

void
test_the_rest (void **state)
{
  curator::client client = connect (state);
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
  { "find_locks", [] (auto &client, auto &path) { (void) curator::find_locks (client, path); } },
  { "inspect_all", [] (auto &client, auto &path) { (void) curator::inspect_all (client, path); } },
  { "attempt_revoke", [] (auto &client, auto &path) { client.share ().attempt_revoke (path); } },
};

void
test_creations (void **state)
{
  using namespace std::string_literals;
  const curator::client client = connect (state);
  const curator::client empty;
  const char *server = fixture_server (static_cast<Fixture *> (*state));
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
void
test_multi_lock_without_members (void **state)
{
  const curator::client client = connect (state);
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
                     lock->acquire_async (
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
                     lock->unlock_async (released.callback ());
                     released.get ();
                   })
                   == returns);
    }
}
}

int
main ()
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_clients_and_leases),
    cmocka_unit_test (test_locks),
    cmocka_unit_test (test_unlock_of_empty_handles),
    cmocka_unit_test (test_guards_of_empty_handles),
    cmocka_unit_test (test_counts_and_semaphores),
    cmocka_unit_test (test_leaders),
    cmocka_unit_test (test_the_rest),
    cmocka_unit_test (test_creations),
    cmocka_unit_test (test_multi_lock_without_members),
  };
  return cmocka_run_group_tests (tests, fixture_start_slow, fixture_stop);
}
