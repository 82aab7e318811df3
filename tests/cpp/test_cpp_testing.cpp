/* testing.hpp: real servers, a network and sessions that end, as a C++ program's tests use them. */
#include <curator/curator.hpp>
#include <curator/testing.hpp>

#include <gio/gio.h>
#include <pthread.h>
#define SUITE_FIXTURE [[maybe_unused]] void *no_fixture
extern "C"
{
#include "support/suite.h"
}

#include <thread>

namespace
{
using namespace std::chrono_literals;

constexpr auto LONG = 60s;

template <class Condition>
bool
becomes (Condition &&condition)
{
  const auto end = std::chrono::steady_clock::now () + LONG;
  while (!condition () && std::chrono::steady_clock::now () < end)
    std::this_thread::sleep_for (2ms);
  return condition ();
}

curator::client
connect (const std::string &address)
{
  curator::client_options options;
  options.session_timeout = 10s;
  curator::client client (address, options);
  client.start ();
  assert_true (client.block_until_connected (LONG));
  return client;
}

bool
is_connected (const curator::client &client)
{
  const auto state = client.state ();
  return state == curator::connection_state::connected
         || state == curator::connection_state::reconnected;
}

TEST (test_server_comes_back)
{
  const auto began = std::chrono::steady_clock::now ();
  assert_true (curator::test_machine_delay (began) < LONG);
  curator::test_server server;
  const curator::client client = connect (server.connect_string ());
  server.kill ();
  assert_true (becomes ([&] { return !is_connected (client); }));
  server.restart ();
  assert_true (becomes ([&] { return is_connected (client); }));

  curator::mutex mutex (client, "/testing");
  const curator::lease lease = mutex.acquire_lease (LONG);
  server.pause ();
  assert_true (becomes ([&] { return lease.state () == curator::lease_state::lost; }));
  server.resume ();
  curator::test_server other (std::move (server));
  assert_null (server.native_handle ());
  assert_true (becomes ([&] { return is_connected (client); }));
}

TEST (test_proxy_obeys)
{
  curator::test_server server;
  curator::test_proxy proxy (server.connect_string ());
  const curator::client client = connect (proxy.connect_string ());
  curator::mutex mutex (client, "/testing");
  proxy.delay (100ms, 100ms);
  const auto before = std::chrono::steady_clock::now ();
  curator::lease lease = mutex.acquire_lease (LONG);
  assert_true (std::chrono::steady_clock::now () - before >= 200ms);
  proxy.restore ();

  const auto cut = client.session_id ();
  proxy.refuse ();
  assert_true (becomes ([&] { return !is_connected (client); }));
  proxy.restore ();
  assert_true (becomes ([&] { return is_connected (client); }));
  proxy.cut ();
  lease.release (LONG);
  assert_true (client.session_id () == cut);

  proxy.stall ();
  proxy.expire_session ();
  proxy.restore ();
  assert_true (becomes ([&] { return is_connected (client) && client.session_id () != cut; }));
}

template <class Call>
bool
fails (Call &&call, bool is_missing)
{
  try {
    call ();
    return false;
  } catch (const curator::test_error &error) {
    return error.is_missing () == is_missing && std::string (error.what ()).size () > 10;
  }
}

TEST (test_failures_are_thrown)
{
  const char *const jars = "CURATOR_TEST_ZOOKEEPER_CLASSPATH";
  const std::unique_ptr<char, void (*) (gpointer)> old (g_strdup (g_getenv (jars)), g_free);
  g_setenv (jars, "/nonexistent/zookeeper.jar", TRUE);
  assert_true (fails ([] { (void) curator::test_server (); }, true));
  assert_true (fails ([] { (void) curator::test_cluster (); }, true));
  old != nullptr ? void (g_setenv (jars, old.get (), TRUE)) : g_unsetenv (jars);
  assert_true (fails ([] { (void) curator::test_proxy ("zookeeper.example:2181"); }, false));
  curator::test_proxy proxy ("127.0.0.1:1");
  assert_true (fails ([&] { proxy.expire_session (); }, false));
}

TEST (test_cluster_survives_its_leader)
{
  curator::test_cluster cluster;
  const int leader = cluster.leader ().value ();
  cluster.kill (leader);
  const curator::client client = connect (cluster.connect_string ());
  curator::mutex mutex (client, "/testing");
  const curator::lease lease = mutex.acquire_lease (LONG);
  assert_true (cluster.leader () != leader);
  cluster.restart (leader);
  cluster.wait ();
  const curator::client again = connect (cluster.member (leader));
  assert_true (again.session_id () != client.session_id ());
  assert_non_null (cluster.native_handle ());
}
}

SUITE ("cpp_testing", nullptr, nullptr)
