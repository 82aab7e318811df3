/* Real ZooKeeper servers, and faults between them and a program, for tests in C++17 and later.
 *
 * Inline functions over testing.h, whose comments have the details. curator.hpp does not include this
 * header, nor this one curator.hpp. Handles are move-only. What fails throws curator::test_error; tests that
 * are compiled without exceptions have the functions of C.
 */
#ifndef CURATOR_TESTING_HPP
#define CURATOR_TESTING_HPP

#include <curator/testing.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace curator
{
/** Why a server, a cluster or a proxy failed: an error of #CURATOR_TEST_ERROR. */
class test_error : public std::runtime_error
{
public:
  /** Copies @p cause, which must not be NULL. */
  explicit test_error (const GError *cause)
      : std::runtime_error (cause->message),
        is_missing_ (g_error_matches (cause, CURATOR_TEST_ERROR, CURATOR_TEST_ERROR_MISSING))
  {
  }

  /** Whether the machine lacks Java or ZooKeeper; what() says in one sentence what to install. */
  bool
  is_missing () const noexcept
  {
    return is_missing_;
  }

private:
  bool is_missing_;
};

/* Not part of the interface. */
namespace test_detail
{
/* Receives and owns the GError * of one call. */
class outcome
{
public:
  outcome () = default;
  outcome (const outcome &) = delete;
  outcome &operator= (const outcome &) = delete;

  ~outcome ()
  {
    g_clear_error (&error_);
  }

  operator GError ** () noexcept
  {
    return &error_;
  }

  template <class T>
  T
  check (T result) const
  {
    if (error_ != nullptr)
      throw test_error (error_);
    return result;
  }

private:
  GError *error_ = nullptr;
};
}

/** One server. Wraps CuratorTestServer. */
class [[nodiscard]] test_server
{
public:
  /** Starts it and waits until it serves. @throws test_error */
  [[nodiscard]] test_server () : test_server (test_detail::outcome ())
  {
  }

  /** "host:port" */
  std::string
  connect_string () const
  {
    return curator_test_server_get_connect_string (handle_.get ());
  }

  /** Kills it; its data stay. */
  void
  kill ()
  {
    curator_test_server_kill (handle_.get ());
  }

  /** Kills it if it runs, starts it with its data and waits until it serves. @throws test_error */
  void
  restart ()
  {
    test_detail::outcome outcome;
    outcome.check (curator_test_server_restart (handle_.get (), outcome));
  }

  /** Stops its process, as a long garbage collection does. */
  void
  pause ()
  {
    curator_test_server_pause (handle_.get ());
  }

  /** Continues it. */
  void
  resume ()
  {
    curator_test_server_resume (handle_.get ());
  }

  /** The server for the C functions; borrowed. */
  CuratorTestServer *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  explicit test_server (test_detail::outcome &&outcome)
      : handle_ (curator_test_server_new (outcome), curator_test_server_free)
  {
    outcome.check (true);
  }

  std::unique_ptr<CuratorTestServer, void (*) (CuratorTestServer *)> handle_;
};

/** Three servers that form one ensemble. Wraps CuratorTestCluster. */
class [[nodiscard]] test_cluster
{
public:
  /** Starts them and waits until all serve. @throws test_error */
  [[nodiscard]] test_cluster () : test_cluster (test_detail::outcome ())
  {
  }

  /** "host:port,host:port,host:port" */
  std::string
  connect_string () const
  {
    return curator_test_cluster_get_connect_string (handle_.get ());
  }

  /** "host:port" of member 0, 1 or 2. */
  std::string
  member (int i) const
  {
    return curator_test_cluster_get_member (handle_.get (), i);
  }

  /** The member that leads the ensemble now; nothing if none does. */
  std::optional<int>
  leader () const
  {
    const int member = curator_test_cluster_get_leader (handle_.get ());
    return member >= 0 ? std::optional<int> (member) : std::nullopt;
  }

  /** Kills a member; its data stay. */
  void
  kill (int i)
  {
    curator_test_cluster_kill (handle_.get (), i);
  }

  /** Kills the member if it runs, and starts it with its data. wait() waits for it. @throws test_error */
  void
  restart (int i)
  {
    test_detail::outcome outcome;
    outcome.check (curator_test_cluster_restart (handle_.get (), i, outcome));
  }

  /** Waits until all members serve, one of them as the leader. @throws test_error  after a minute */
  void
  wait ()
  {
    test_detail::outcome outcome;
    outcome.check (curator_test_cluster_wait (handle_.get (), outcome));
  }

  /** The cluster for the C functions; borrowed. */
  CuratorTestCluster *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  explicit test_cluster (test_detail::outcome &&outcome)
      : handle_ (curator_test_cluster_new (outcome), curator_test_cluster_free)
  {
    outcome.check (true);
  }

  std::unique_ptr<CuratorTestCluster, void (*) (CuratorTestCluster *)> handle_;
};

/** A network between a program and one server, which does as it is told. Wraps CuratorTestProxy. */
class [[nodiscard]] test_proxy
{
public:
  /** Listens on a free port and forwards to the server. @throws test_error
   *  @param server  "127.x.y.z:port": of a test_server, of a member, or any other server on loopback */
  [[nodiscard]] explicit test_proxy (const std::string &server)
      : test_proxy (server, test_detail::outcome ())
  {
  }

  /** "host:port", for the program. */
  std::string
  connect_string () const
  {
    return curator_test_proxy_get_connect_string (handle_.get ());
  }

  /** Resets every connection. New ones are accepted. */
  void
  cut ()
  {
    curator_test_proxy_cut (handle_.get ());
  }

  /** Resets every connection and refuses new ones until restore(). */
  void
  refuse ()
  {
    curator_test_proxy_refuse (handle_.get ());
  }

  /** Forwards nothing more until restore(): silence. */
  void
  stall ()
  {
    curator_test_proxy_stall (handle_.get ());
  }

  /** Forwards what is sent from now on so much later. */
  void
  delay (std::chrono::milliseconds to_server, std::chrono::milliseconds to_client)
  {
    curator_test_proxy_delay (handle_.get (), static_cast<int> (to_server.count ()),
                              static_cast<int> (to_client.count ()));
  }

  /** Ends a stall, a refusal and a delay. */
  void
  restore ()
  {
    curator_test_proxy_restore (handle_.get ());
  }

  /** Ends a session on the server: curator_test_expire_session(). @throws test_error
   *  @param session_id  0: the last one that began or went on through the proxy */
  void
  expire_session (std::int64_t session_id = 0)
  {
    test_detail::outcome outcome;
    outcome.check (curator_test_expire_session (handle_.get (), session_id, outcome));
  }

  /** The proxy for the C functions; borrowed. */
  CuratorTestProxy *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  test_proxy (const std::string &server, test_detail::outcome &&outcome)
      : handle_ (curator_test_proxy_new (server.c_str (), outcome), curator_test_proxy_free)
  {
    outcome.check (true);
  }

  std::unique_ptr<CuratorTestProxy, void (*) (CuratorTestProxy *)> handle_;
};
}

#endif
