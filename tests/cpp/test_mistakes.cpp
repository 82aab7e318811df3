/* The mistakes of tests/unit/mistakes.c that no compiler can find: each is right when it runs. The
 * server is stopped, so that whatever waits for an answer waits for long. */
#include "cpp/fixture.hpp"

extern "C"
{
#include "support/metronome.h"
}

#include <atomic>

using namespace std::chrono_literals;

/* 4: a program computes how much time is left, and passes it on. */
TEST (test_release_without_time)
{
  const curator::client client = connect (fixture);
  curator::mutex in_c (client, "/mistakes/c"), in_cpp (client, "/mistakes/cpp");
  g_autoptr (GError) error = nullptr;
  in_c.lock ();
  in_cpp.lock ();
  zk_server_freeze (fixture->server);
  const auto left = std::chrono::steady_clock::now () - 1s;
  const gint64 since = wait_now_ms ();
  assert_false (curator_lock_release (in_c.native_handle (), 0, nullptr, &error));
  assert_int_equal (code_of ([&] { in_cpp.release (left - std::chrono::steady_clock::now ()); }),
                    CURATOR_ERROR_RELEASE_PENDING);
  /* Promised by types.h: 0 does not wait. */
  assert_promised_ms (wait_now_ms () - since, 50, since);
  assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING));
  assert_false (in_c.is_owned_by_current_thread () || in_cpp.is_owned_by_current_thread ());
  zk_server_thaw (fixture->server);
  assert_children (fixture, "/mistakes/c", 0, LONG_MS);
  assert_children (fixture, "/mistakes/cpp", 0, LONG_MS);
}

/* 5: and nothing was wrong with the arguments. */
TEST (test_started_twice)
{
  curator::client client = connect (fixture);
  curator::leader_latch latch (client, "/mistakes/latch");
  curator::leader_selector selector (client, "/mistakes/selector",
                                     [] (const curator::lease &, GCancellable *) {});
  latch.start ();
  selector.start ();
  assert_int_equal (code_of ([&] { client.start (); }), CURATOR_ERROR_ALREADY_STARTED);
  assert_int_equal (code_of ([&] { latch.start (); }), CURATOR_ERROR_ALREADY_STARTED);
  assert_int_equal (code_of ([&] { selector.start (); }), CURATOR_ERROR_ALREADY_STARTED);
}

/* 6: the thread of a loop releases, and goes on; the answer comes later, or does not. */
TEST (test_release_in_a_loop)
{
  const curator::client client = connect (fixture);
  curator::mutex in_c (client, "/mistakes/c"), in_cpp (client, "/mistakes/cpp");
  std::atomic<int> pending = 0;
  in_c.lock ();
  in_cpp.lock ();
  zk_server_freeze (fixture->server);
  const gint64 since = wait_now_ms ();
  curator_lock_release_then (
      in_c.native_handle (), 100, nullptr,
      [] (CuratorLock *, const GError *failed, gpointer counter) {
        *static_cast<std::atomic<int> *> (counter) +=
            g_error_matches (failed, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING);
      },
      &pending);
  in_cpp.release_then (100ms, [&] (const curator::error *failed) {
    pending += failed != nullptr && failed->is (CURATOR_ERROR_RELEASE_PENDING);
  });
  /* Promised by lock.h: it returns at once. */
  assert_promised_ms (wait_now_ms () - since, 20, since);
  assert_false (in_c.is_owned_by_current_thread () || in_cpp.is_owned_by_current_thread ());
  assert_soon (pending == 2);
  zk_server_thaw (fixture->server);
  assert_children (fixture, "/mistakes/c", 0, LONG_MS);
  assert_children (fixture, "/mistakes/cpp", 0, LONG_MS);
}

/* 7: a loop of tries outlives an outage: none of them throws while it lasts. The last test, as the
 * observer's session may not outlive it. */
TEST (test_tries_in_an_outage)
{
  curator::client_options options;
  options.session_timeout = std::chrono::milliseconds (SESSION_MS);
  options.connection_timeout = 500ms; /* how long a call waits that was not told how long */
  curator::client client = connect (fixture, options);
  curator::mutex lock (client, "/mistakes/try");
  zk_server_freeze (fixture->server);
  while (client.state () == curator::connection_state::connected)
    assert_false (lock.try_lock_for (50ms));
  assert_false (lock.try_lock_for (50ms));
  assert_false (lock.try_lock ());
  zk_server_thaw (fixture->server);
  assert_soon (lock.try_lock_for (1s));
  lock.unlock ();
  client.close ();
  assert_int_equal (code_of ([&] { (void) lock.try_lock_for (50ms); }), CURATOR_ERROR_CLOSED);
}

int
main ()
{
  metronome_start ();
  return suite_run ("mistakes", fixture_start_slow, fixture_stop);
}
