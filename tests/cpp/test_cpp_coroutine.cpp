/* coroutine.hpp against a real server: what each call gives, where it resumes, and a coroutine that
 * is destroyed while it waits. C++20, with each installed compiler. */
#include "cpp/fixture.hpp"

#include <condition_variable>
#include <coroutine>
#include <future>
#include <mutex>
#include <thread>

using namespace std::chrono_literals;

namespace
{
/* A coroutine that begins at once; join () throws what it threw. */
class task
{
public:
  struct promise_type
  {
    std::promise<void> over;
    task get_return_object ()
    {
      return task (std::coroutine_handle<promise_type>::from_promise (*this), over.get_future ());
    }
    std::suspend_never initial_suspend () noexcept { return {}; }
    std::suspend_never final_suspend () noexcept { return {}; }
    void return_void () { over.set_value (); }
    void unhandled_exception () { over.set_exception (std::current_exception ()); }
  };

  void join ()
  {
    assert_true (over_.wait_for (LONG) == std::future_status::ready);
    over_.get ();
  }

  bool is_over () const { return over_.wait_for (0s) == std::future_status::ready; }

  void destroy () { handle_.destroy (); }

private:
  task (std::coroutine_handle<promise_type> handle, std::future<void> over)
      : handle_ (handle), over_ (std::move (over))
  {
  }

  std::coroutine_handle<promise_type> handle_;
  std::future<void> over_;
};

/* A loop: what is posted runs where run () is called. */
class loop
{
public:
  void post (std::function<void ()> function)
  {
    const std::lock_guard hold (mutex_);
    posted_.push_back (std::move (function));
    changed_.notify_all ();
  }

  auto calls ()
  {
    return curator::awaitables ([this] (auto resume) { post (std::move (resume)); });
  }

  /* Waits for one and calls it. */
  void run_one ()
  {
    std::unique_lock hold (mutex_);
    assert_true (changed_.wait_for (hold, LONG, [this] { return !posted_.empty (); }));
    const std::function<void ()> function = std::move (posted_.front ());
    posted_.erase (posted_.begin ());
    hold.unlock ();
    function ();
  }

  void run (const task &until)
  {
    while (!until.is_over ())
      run_one ();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void ()>> posted_;
};

/* The CuratorError code that a call ends with; 0 if it succeeds. */
template <class Call>
task
code_of (Call call, int &code)
{
  try {
    static_cast<void> (co_await call);
    code = 0;
  } catch (const curator::error &failed) {
    code = failed.is_cancelled () ? -2 : failed.code ();
  }
}

template <class Call>
int
fails_with (Call call)
{
  int code = -1;
  code_of (std::move (call), code).join ();
  return code;
}

struct seen
{
  std::size_t nodes, leases, participants;
  bool is_connected, is_held, was_held;
};

task
call_all (curator::client &client, seen &seen)
{
  const curator::awaitables<> calls;
  seen.is_connected = co_await calls.block_until_connected (client, LONG);

  curator::mutex mutex (client, "/co/mutex");
  const curator::lease hold = co_await calls.acquire (mutex, LONG);
  seen.is_held = hold.state () == curator::lease_state::held;
  seen.nodes = (co_await calls.participant_nodes (mutex)).size ();
  const curator::inspection inspection = co_await calls.inspect (client, "/co/mutex");
  seen.participants = inspection.participants ().size ();
  co_await calls.release (hold);
  seen.was_held = hold.state () == curator::lease_state::released;

  /* The thread of the callbacks is where it goes on, so it may hold there, too. */
  (void) mutex.try_lock ();
  co_await calls.release (mutex);

  const curator::semaphore semaphore (client, "/co/semaphore", 3);
  const curator::lease one = co_await calls.acquire (semaphore);
  const std::vector<curator::lease> two = co_await calls.acquire_n (semaphore, 2);
  seen.leases = two.size () + (one ? 1 : 0);
  co_await calls.return_all (semaphore, two);
  co_await calls.release (one);
  co_await calls.close (client);
}

TEST (test_each_call)
{
  curator::client client (fixture_server (fixture));
  client.start ();
  seen seen = {};
  call_all (client, seen).join ();
  assert_true (seen.is_connected && seen.is_held && seen.was_held);
  assert_int_equal (seen.nodes, 1);
  assert_int_equal (seen.participants, 1);
  assert_int_equal (seen.leases, 3);
  assert_children (fixture, "/co/mutex", 0, LONG_MS);
  assert_children (fixture, "/co/semaphore/leases", 0, LONG_MS);
  assert_true (client.state () == curator::connection_state::lost);
}

TEST (test_failures)
{
  const curator::client client = connect (fixture);
  const curator::awaitables<> calls;
  curator::mutex holder (client, "/co/failures");
  curator::mutex waiter (client, "/co/failures");
  const std::lock_guard hold (holder);
  assert_int_equal (fails_with (calls.acquire (waiter, 0s)), CURATOR_ERROR_TIMED_OUT);
  assert_int_equal (fails_with (calls.release (waiter)), CURATOR_ERROR_NOT_OWNER);
  assert_int_equal (fails_with (calls.inspect (client, std::string ("/a\0b", 4))),
                    CURATOR_ERROR_INVALID_ARGUMENT);

  curator::cancellable cancellable;
  int code = -1;
  task waiting = code_of (calls.acquire (waiter, curator::forever, cancellable), code);
  cancellable.cancel ();
  waiting.join ();
  assert_int_equal (code, -2);

  curator::client other (fixture_server (fixture));
  assert_int_equal (fails_with (calls.block_until_connected (other, LONG)),
                    CURATOR_ERROR_NOT_STARTED);
  other.close ();
  assert_int_equal (fails_with (calls.acquire (curator::mutex (other, "/co/failures"))),
                    CURATOR_ERROR_CLOSED);
}

task
is_connected_in_time (curator::client &client, bool &is_connected)
{
  is_connected = co_await curator::awaitables<> ().block_until_connected (client, 10ms);
}

TEST (test_no_connection_in_time)
{
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  curator::client client (fixture_proxy (fixture));
  client.start ();
  bool is_connected = true;
  is_connected_in_time (client, is_connected).join ();
  assert_false (is_connected);
}

template <class Call>
bool
is_refused (Call &&call)
{
  try {
    (void) call ();
  } catch (const std::logic_error &) {
    return true;
  }
  return false;
}

/* Before anything is awaited. */
TEST (test_empty_handles)
{
  const curator::awaitables<> calls;
  const curator::mutex mutex;
  const curator::semaphore semaphore;
  const curator::client client;
  assert_true (is_refused ([&] { return calls.acquire (mutex); }));
  assert_true (is_refused ([&] { return calls.acquire (semaphore); }));
  assert_true (is_refused ([&] { return calls.acquire_n (semaphore, 1); }));
  assert_true (is_refused ([&] { return calls.return_all (semaphore, {}); }));
  assert_true (is_refused ([&] { return calls.release (curator::lease ()); }));
  assert_true (is_refused ([&] { return calls.release (mutex); }));
  assert_true (is_refused ([&] { return calls.participant_nodes (mutex); }));
  assert_true (is_refused ([&] { return calls.inspect (client, "/co"); }));
  assert_true (is_refused ([&] { return calls.block_until_connected (client, 0s); }));
  assert_true (is_refused ([&] { return calls.close (client); }));
}

template <class Calls>
task
lock_once (Calls calls, curator::mutex &mutex, std::vector<std::thread::id> &threads)
{
  const curator::lease hold = co_await calls.acquire (mutex);
  threads.push_back (std::this_thread::get_id ());
  co_await calls.release (hold);
  threads.push_back (std::this_thread::get_id ());
}

TEST (test_resumes_where_it_is_posted)
{
  const curator::client client = connect (fixture);
  curator::mutex mutex (client, "/co/post");
  loop loop;
  std::vector<std::thread::id> threads;
  loop.run (lock_once (loop.calls (), mutex, threads));
  assert_true (threads == std::vector (2, std::this_thread::get_id ()));
}

TEST (test_resumes_in_the_callback_context)
{
  GMainContext *context = g_main_context_new ();
  curator::client_options options;
  options.callback_context = context;
  curator::client client = connect (fixture, options);
  curator::mutex mutex (client, "/co/context");
  std::vector<std::thread::id> threads;
  const task task = lock_once (curator::awaitables<> (), mutex, threads);
  while (!task.is_over ())
    g_main_context_iteration (context, TRUE);
  assert_true (threads == std::vector (2, std::this_thread::get_id ()));
  client.close ();
  g_main_context_unref (context);
}

/* The answer comes later, to nobody: the lease in it is released. */
TEST (test_destroyed_while_it_waits)
{
  const curator::client client = connect (fixture);
  curator::mutex holder (client, "/co/destroyed");
  curator::mutex waiter (client, "/co/destroyed");
  loop loop;
  std::vector<std::thread::id> threads;
  const curator::lease hold = holder.acquire_lease (LONG);
  task task = lock_once (loop.calls (), waiter, threads);
  assert_children (fixture, "/co/destroyed", 2, LONG_MS);
  task.destroy ();
  hold.share ().release ();
  loop.run_one ();
  assert_true (threads.empty ());
  assert_children (fixture, "/co/destroyed", 0, LONG_MS);
}

/* Nothing is begun until it is awaited. */
TEST (test_never_awaited)
{
  const curator::client client = connect (fixture);
  const curator::mutex mutex (client, "/co/never");
  {
    const auto call = curator::awaitables<> ().acquire (mutex);
  }
  assert_true (mutex.participant_nodes ().empty ());
}
}

SUITE ("cpp_coroutine", fixture_start_slow, fixture_stop)
