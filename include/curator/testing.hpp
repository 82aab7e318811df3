/* Real ZooKeeper servers, and faults between them and a program, for tests in C++17 and later.
 *
 * Inline functions over testing.h, whose comments have the details. curator.hpp does not include
 * this header, nor this one curator.hpp. Handles are move-only. What fails throws
 * curator::test_error; tests that are compiled without exceptions have the functions of C.
 */
#pragma once

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
  bool is_missing () const noexcept { return is_missing_; }

private:
  bool is_missing_;
};

/* Not part of the interface. */
namespace test_detail
{
/* Calls a function of C, and throws its error. */
template <class Answer, class... Parameters, class... Args>
Answer
call (Answer (*function) (Parameters...), Args... args)
{
  GError *failed = nullptr;
  const Answer answer = function (args..., &failed);
  const std::unique_ptr<GError, void (*) (GError *)> owner (failed, g_error_free);
  if (failed != nullptr)
    throw test_error (failed);
  return answer;
}
}

/** Owns an object of the C library. Move-only. */
template <class Object, void (*Free) (Object *), const char *(*ConnectString) (const Object *)>
class [[nodiscard]] test_handle
{
public:
  /** "host:port"; of a cluster "host:port,host:port,host:port" */
  std::string connect_string () const { return ConnectString (native_handle ()); }

  /** The object for the C functions; borrowed. */
  Object *native_handle () const noexcept { return object_.get (); }

protected:
  explicit test_handle (Object *object) : object_ (object, Free) {}

private:
  std::unique_ptr<Object, void (*) (Object *)> object_;
};

/** One server. Wraps CuratorTestServer. */
class [[nodiscard]] test_server : public test_handle<CuratorTestServer, curator_test_server_free,
                                                     curator_test_server_get_connect_string>
{
public:
  /** Starts it and waits until it serves. @throws test_error */
  [[nodiscard]] test_server () : test_handle (test_detail::call (curator_test_server_new)) {}

  /** Kills it; its data stay. */
  void kill () { curator_test_server_kill (native_handle ()); }

  /** Kills it if it runs, starts it with its data and waits until it serves. @throws test_error */
  void restart () { test_detail::call (curator_test_server_restart, native_handle ()); }

  /** Stops its process, as a long garbage collection does. */
  void pause () { curator_test_server_pause (native_handle ()); }

  /** Continues it. */
  void resume () { curator_test_server_resume (native_handle ()); }
};

/** Three servers that form one ensemble. Wraps CuratorTestCluster. */
class [[nodiscard]] test_cluster : public test_handle<CuratorTestCluster, curator_test_cluster_free,
                                                      curator_test_cluster_get_connect_string>
{
public:
  /** Starts them and waits until all serve. @throws test_error */
  [[nodiscard]] test_cluster () : test_handle (test_detail::call (curator_test_cluster_new)) {}

  /** "host:port" of member 0, 1 or 2. */
  std::string member (int i) const { return curator_test_cluster_get_member (native_handle (), i); }

  /** The member that leads the ensemble now; nothing if none does. */
  std::optional<int> leader () const
  {
    const int member = curator_test_cluster_get_leader (native_handle ());
    return member >= 0 ? std::optional<int> (member) : std::nullopt;
  }

  /** Kills a member; its data stay. */
  void kill (int i) { curator_test_cluster_kill (native_handle (), i); }

  /** Kills the member if it runs, and starts it with its data. wait() waits for it. @throws
   *  test_error */
  void restart (int i) { test_detail::call (curator_test_cluster_restart, native_handle (), i); }

  /** Waits until all members serve, one of them as the leader. @throws test_error  after a minute */
  void wait () { test_detail::call (curator_test_cluster_wait, native_handle ()); }
};

/** A network between a program and one server, which does as it is told. Wraps CuratorTestProxy. */
class [[nodiscard]] test_proxy : public test_handle<CuratorTestProxy, curator_test_proxy_free,
                                                    curator_test_proxy_get_connect_string>
{
public:
  /** Listens on a free port and forwards to the server. @throws test_error
   *  @param server  "127.x.y.z:port": of a test_server, of a member, or any other server on loopback */
  [[nodiscard]] explicit test_proxy (const std::string &server)
      : test_handle (test_detail::call (curator_test_proxy_new, server.c_str ()))
  {
  }

  /** Resets every connection. New ones are accepted. */
  void cut () { curator_test_proxy_cut (native_handle ()); }

  /** Resets every connection and refuses new ones until restore(). */
  void refuse () { curator_test_proxy_refuse (native_handle ()); }

  /** Forwards nothing more until restore(): silence. */
  void stall () { curator_test_proxy_stall (native_handle ()); }

  /** Forwards what is sent from now on so much later. */
  void delay (std::chrono::milliseconds to_server, std::chrono::milliseconds to_client)
  {
    curator_test_proxy_delay (native_handle (), static_cast<int> (to_server.count ()),
                              static_cast<int> (to_client.count ()));
  }

  /** Ends a stall, a refusal and a delay. */
  void restore () { curator_test_proxy_restore (native_handle ()); }

  /** Ends a session on the server: curator_test_expire_session(). @throws test_error
   *  @param session_id  0: the last one that began or went on through the proxy */
  void expire_session (std::int64_t session_id = 0)
  {
    test_detail::call (curator_test_expire_session, native_handle (), session_id);
  }
};

/** How late this machine was since then: curator_test_get_machine_delay_us(). */
inline std::chrono::microseconds
test_machine_delay (std::chrono::steady_clock::time_point since)
{
  const auto then =
      std::chrono::duration_cast<std::chrono::microseconds> (since.time_since_epoch ());
  return std::chrono::microseconds (curator_test_get_machine_delay_us (then.count ()));
}
}
