/* The connection to the servers. */
#ifndef CURATOR_CPP_CLIENT_HPP
#define CURATOR_CPP_CLIENT_HPP

#include <curator/client.h>
#include <curator/cpp/detail.hpp>
#include <curator/cpp/retry.hpp>
#include <curator/cpp/stats.hpp>
#include <curator/cpp/time.hpp>
#include <curator/cpp/tls.hpp>
#include <curator/lock.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace curator
{
inline namespace CURATOR_CPP_NAMESPACE
{
/** State of the connection to the ensemble: CuratorConnectionState. */
enum class connection_state
{
  connected = CURATOR_STATE_CONNECTED,     /**< for the first time */
  suspended = CURATOR_STATE_SUSPENDED,     /**< connection lost; the session may survive */
  reconnected = CURATOR_STATE_RECONNECTED, /**< connected again */
  lost = CURATOR_STATE_LOST,               /**< all holds lost */
  read_only = CURATOR_STATE_READ_ONLY      /**< never entered by this version */
};

/** Name of a state as in Java, for example "CONNECTED". */
inline const char *
to_string (connection_state state) noexcept
{
  return curator_connection_state_to_string (static_cast<CuratorConnectionState> (state));
}

/** SASL DIGEST-MD5: curator_client_set_sasl_digest() */
struct sasl_digest
{
  std::string user;     /**< the name of the user */
  std::string password; /**< not wiped by this struct */
};

/** SASL GSSAPI: curator_client_set_sasl_gssapi() */
struct sasl_gssapi
{
  std::string service = "zookeeper";        /**< the first part of the server's principal */
  std::optional<std::string> server_name{}; /**< the second part; not set: each host's name */
};

/** Settings of a client. A member that is not set keeps the default of the library. */
struct client_options
{
  /** Retry policy; curator_client_new(). */
  retry_policy retry{};
  /** curator_client_set_session_timeout() */
  std::optional<detail::span> session_timeout{};
  /** curator_client_set_connection_timeout() */
  std::optional<detail::span> connection_timeout{};
  /** curator_client_set_namespace() */
  std::string name_space{};
  /** Pairs of scheme and credentials: curator_client_add_auth() */
  std::vector<std::pair<std::string, std::string>> auth{};
  /** Copied; curator_client_set_acl() */
  const struct ACL_vector *acl = nullptr;
  /** Empty for no payload; curator_client_set_default_data() */
  std::optional<std::string> default_data{};
  /** curator_client_set_compression() */
  bool compression = false;
  /** curator_client_set_follow_configuration() */
  bool follow_configuration = false;
  /** curator_client_set_callback_context() */
  GMainContext *callback_context = nullptr;
  /** curator_client_set_server_tick() */
  std::optional<detail::span> server_tick{};
  /** curator_client_set_heartbeat_interval() */
  std::optional<detail::span> heartbeat_interval{};
  /** Called for each traced event, in order: curator_client_set_trace() */
  std::function<void (const trace_event &)> trace{};
  /** curator_client_set_tls() */
  curator::tls tls{};
  /** curator_client_set_sasl_digest() */
  std::optional<curator::sasl_digest> sasl_digest{};
  /** curator_client_set_sasl_gssapi() */
  std::optional<curator::sasl_gssapi> sasl_gssapi{};
};

/** One connection and its session. Wraps CuratorClient; see client.h. The locks of a client keep it
 *  alive; close() closes it for them too. */
class [[nodiscard]] client
{
public:
  /** An empty handle. */
  client () noexcept = default;

  /** Creates a client that is not yet started.
   *  @param connect_string  "host:port,host:port/chroot"
   *  @throws error  INVALID_ARGUMENT for the namespace; start() reports other errors */
  [[nodiscard]] explicit client (const std::string &connect_string,
                                 const client_options &options = {})
  {
    detail::outcome outcome;
    if (outcome.takes (connect_string, options.name_space))
      {
        handle_ = client_handle (
            curator_client_new (connect_string.c_str (), options.retry.native_handle ()));
        set_times (options);
        set_nodes (options);
        set_callbacks (options);
        if (!set_auth (options, outcome) || !set_security (options, outcome))
          handle_ = client_handle ();
      }
    outcome.built (native_handle () != nullptr);
  }

  /** Takes over a reference. */
  [[nodiscard]] explicit client (CuratorClient *object) noexcept : handle_ (object)
  {
  }

  /** Starts the client and returns at once. @throws error  see curator_client_start() */
  result<void>
  start ()
  {
    detail::outcome outcome;
    return outcome.check (curator_client_start (detail::require (native_handle ()), outcome)
                          != FALSE);
  }

  /** Gives a running client other servers of the same ensemble; see curator_client_update_servers().
   *  @throws error  INVALID_ARGUMENT, NOT_STARTED, CLOSED, UNSUPPORTED; nothing has changed then */
  result<void>
  update_servers (const std::string &connect_string)
  {
    detail::outcome outcome;
    return outcome.check (outcome.takes (connect_string)
                          && curator_client_update_servers (detail::require (native_handle ()),
                                                            connect_string.c_str (), outcome));
  }

  /** Waits for a connection.
   *  @return false on a timeout
   *  @throws error  CLOSED, NOT_STARTED, AUTH_FAILED, cancelled */
  template <class Rep, class Period>
  [[nodiscard]] result<bool>
  block_until_connected (const std::chrono::duration<Rep, Period> &timeout,
                         GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    const gboolean connected = curator_client_block_until_connected (
        detail::require (native_handle ()), detail::to_ms (timeout), cancellable, outcome);
    return outcome.in_time (connected != FALSE);
  }

  /** The current state; suspended before the first connection. */
  connection_state
  state () const
  {
    return static_cast<connection_state> (
        curator_client_get_connection_state (detail::require (native_handle ())));
  }

  /** Id of the current session; 0 while there is none. */
  std::int64_t
  session_id () const
  {
    return curator_client_get_session_id (detail::require (native_handle ()));
  }

  /** The session timeout that the server granted; 0 before the first connection. */
  std::chrono::milliseconds
  session_timeout () const
  {
    return std::chrono::milliseconds (
        curator_client_get_session_timeout (detail::require (native_handle ())));
  }

  /** Adds a listener, called for every change of the connection state, in order.
   *  @param listener  called as listener (connection_state)
   *  @return an id for remove_state_listener() */
  template <class F>
  unsigned
  add_state_listener (F &&listener)
  {
    using callback = std::decay_t<F>;
    CuratorClient *const object = detail::require (native_handle ());
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const guint id = curator_client_add_state_listener (
        object,
        [] (CuratorClient *, CuratorConnectionState state, gpointer data) {
          detail::shield (
              [&] { (*static_cast<callback *> (data)) (static_cast<connection_state> (state)); });
        },
        kept.get (), detail::destroy<callback>);
    return detail::release_to_library (kept, id);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_state_listener (unsigned id) noexcept
  {
    if (native_handle () != nullptr)
      curator_client_remove_state_listener (native_handle (), id);
  }

  /** All counters at one moment, indexed by #CuratorCounter: curator_client_get_counters(). */
  std::vector<std::uint64_t>
  counters () const
  {
    CuratorClient *const object = detail::require (native_handle ());
    std::vector<guint64> values (curator_client_get_counters (object, nullptr, 0));
    curator_client_get_counters (object, values.data (), values.size ());
    return std::vector<std::uint64_t> (values.begin (), values.end ());
  }

  /** One counter. */
  std::uint64_t
  counter (CuratorCounter which) const
  {
    return counters ().at (static_cast<std::size_t> (which));
  }

  /** The statistics in the OpenMetrics text format: curator_client_format_metrics(). */
  std::string
  metrics () const
  {
    const std::unique_ptr<char, void (*) (gpointer)> text (
        curator_client_format_metrics (detail::require (native_handle ())), g_free);
    return text != nullptr ? text.get () : std::string ();
  }

  /** Asks the holder of a lock node to release it: curator_attempt_revoke().
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  result<void>
  attempt_revoke (const std::string &lock_node_path, detail::timeout timeout = {},
                  GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    return outcome.check (outcome.takes (lock_node_path)
                          && curator_attempt_revoke (detail::require (native_handle ()),
                                                     lock_node_path.c_str (), timeout, cancellable,
                                                     outcome));
  }

  /** Why there is no connection; nothing while there is one. */
  std::optional<error>
  connection_error () const
  {
    const std::unique_ptr<GError, void (*) (GError *)> cause (
        curator_client_dup_connection_error (detail::require (native_handle ())), g_error_free);
    return cause != nullptr ? std::optional<error> (error (cause.get ())) : std::nullopt;
  }

  /** Adds a listener for the causes of a missing connection.
   *  @param listener  called as listener (const error &)
   *  @return an id for remove_connection_error_listener() */
  template <class F>
  unsigned
  add_connection_error_listener (F &&listener)
  {
    using callback = std::decay_t<F>;
    CuratorClient *const object = detail::require (native_handle ());
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const guint id = curator_client_add_connection_error_listener (
        object,
        [] (CuratorClient *, const GError *cause, gpointer data) {
          detail::shield ([&] { (*static_cast<callback *> (data)) (error (cause)); });
        },
        kept.get (), detail::destroy<callback>);
    return detail::release_to_library (kept, id);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_connection_error_listener (unsigned id) noexcept
  {
    if (native_handle () != nullptr)
      curator_client_remove_connection_error_listener (native_handle (), id);
  }

  /** Closes the client and ends all its holds; idempotent. */
  void
  close () noexcept
  {
    if (native_handle () != nullptr)
      curator_client_close (native_handle ());
  }

  /** Another handle of the same client. */
  client
  share () const noexcept
  {
    return client (handle_.new_ref ());
  }

  /** The client for the C functions; borrowed. */
  CuratorClient *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using client_handle = detail::handle<CuratorClient, curator_client_ref, curator_client_unref>;

  void
  set_times (const client_options &options)
  {
    if (options.session_timeout)
      curator_client_set_session_timeout (native_handle (), options.session_timeout->count ());
    if (options.server_tick)
      curator_client_set_server_tick (native_handle (), options.server_tick->count ());
    if (options.heartbeat_interval)
      {
        curator_client_set_heartbeat_interval (native_handle (),
                                               options.heartbeat_interval->count ());
      }
    if (options.connection_timeout)
      {
        curator_client_set_connection_timeout (native_handle (),
                                               options.connection_timeout->count ());
      }
  }

  void
  set_nodes (const client_options &options)
  {
    if (options.acl != nullptr)
      curator_client_set_acl (native_handle (), options.acl);
    if (options.default_data)
      {
        curator_client_set_default_data (native_handle (), options.default_data->data (),
                                         options.default_data->size ());
      }
    if (options.compression)
      curator_client_set_compression (native_handle (), TRUE);
    if (options.follow_configuration)
      curator_client_set_follow_configuration (native_handle (), TRUE);
  }

  void
  set_callbacks (const client_options &options)
  {
    if (options.callback_context != nullptr)
      curator_client_set_callback_context (native_handle (), options.callback_context);
    if (options.trace)
      {
        curator_client_set_trace (native_handle (), call_trace, detail::keep (options.trace),
                                  detail::destroy<trace_function>);
      }
  }

  bool
  set_auth (const client_options &options, detail::outcome &outcome)
  {
    for (const auto &[scheme, credentials] : options.auth)
      {
        if (!outcome.takes (scheme))
          return false;
        curator_client_add_auth (native_handle (), scheme.c_str (), credentials.data (),
                                 credentials.size ());
      }
    return options.name_space.empty ()
           || curator_client_set_namespace (native_handle (), options.name_space.c_str (), outcome);
  }

  bool
  set_security (const client_options &options, detail::outcome &outcome)
  {
    CuratorClient *const object = native_handle ();
    const auto &digest = options.sasl_digest;
    const auto &gssapi = options.sasl_gssapi;
    return (options.tls.native_handle () == nullptr
            || curator_client_set_tls (object, options.tls.native_handle (), outcome))
           && (!digest
               || (outcome.takes (digest->user, digest->password)
                   && curator_client_set_sasl_digest (object, digest->user.c_str (),
                                                      digest->password.c_str (), outcome)))
           && (!gssapi
               || (outcome.takes (gssapi->service, gssapi->server_name)
                   && curator_client_set_sasl_gssapi (object, gssapi->service.c_str (),
                                                      detail::c_str (gssapi->server_name),
                                                      outcome)));
  }

  using trace_function = std::function<void (const trace_event &)>;

  static void
  call_trace (const CuratorTraceEvent *event, gpointer data)
  {
    detail::shield ([&] {
      const trace_event traced = { static_cast<trace_kind> (curator_trace_event_get_kind (event)),
                                   curator_trace_event_get_path (event),
                                   std::chrono::microseconds (
                                       curator_trace_event_get_duration_us (event)),
                                   curator_trace_event_get_session_id (event) };
      (*static_cast<trace_function *> (data)) (traced);
    });
  }

  client_handle handle_;
};
}
}

#endif
