/* The connection to the servers. */
#pragma once

#include <curator/client.h>
#include <curator/cpp/handle.hpp>
#include <curator/cpp/retry.hpp>
#include <curator/cpp/stats.hpp>
#include <curator/cpp/tls.hpp>
#include <curator/lock.h>

CURATOR_CPP_BEGIN

/** State of the connection to the ensemble: CuratorConnectionState. */
enum class connection_state
{
  connected = CURATOR_CONNECTION_STATE_CONNECTED, /**< for the first time */
  suspended = CURATOR_CONNECTION_STATE_SUSPENDED, /**< connection lost; the session may survive */
  reconnected = CURATOR_CONNECTION_STATE_RECONNECTED, /**< connected again */
  lost = CURATOR_CONNECTION_STATE_LOST,               /**< all holds lost */
  read_only = CURATOR_CONNECTION_STATE_READ_ONLY      /**< never entered by this version */
};

/** Name of a state as in Java, for example "CONNECTED". */
inline const char *
to_string (connection_state state) noexcept
{
  return curator_connection_state_to_string (CuratorConnectionState (state));
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

/** An entry of an ACL; curator_client_add_acl() */
struct acl_entry
{
  std::string scheme;                             /**< for example "auth" */
  std::string id;                                 /**< whom it is for */
  unsigned permissions = CURATOR_PERMISSIONS_ALL; /**< flags of #CuratorPermissions */
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
  /** Entries of the ACL: curator_client_add_acl() */
  std::vector<acl_entry> acl{};
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
    : public handle<client, CuratorClient, curator_client_ref, curator_client_unref>
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
    const bool taken = outcome.takes (connect_string);
    if (taken) {
      *this = client (curator_client_new (connect_string.c_str (), options.retry.native_handle ()));
      configure (options);
    }
    if (!taken || !set_identity (options, outcome))
      *this = client ();
    outcome.built (native_handle () != nullptr);
  }

  using handle::handle;

  /** Starts the client and returns at once. @throws error  see curator_client_start() */
  result<void> start () { return call<void> (curator_client_start); }

  /** Gives a running client other servers of the same ensemble; see
   *  curator_client_update_servers().
   *  @throws error  INVALID_ARGUMENT, NOT_STARTED, CLOSED, UNSUPPORTED; nothing has changed then */
  result<void> update_servers (const std::string &connect_string)
  {
    return call<void> (curator_client_update_servers, connect_string);
  }

  /** Waits for a connection.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait
   *  @return false if there is none in time; connection_error() says why
   *  @throws error  CLOSED, NOT_STARTED, AUTH_FAILED, cancelled */
  [[nodiscard]] result<bool> block_until_connected (detail::timeout timeout = {},
                                                    GCancellable *cancellable = nullptr)
  {
    return try_call<bool> (curator_client_block_until_connected, timeout, cancellable);
  }

  /** Waits for a connection without blocking.
   *  @param done  called as done (const error *), once: NULL while there is a connection; the error
   *               is borrowed; CONNECTION_LOST is one here */
  template <class F>
  void block_until_connected_then (limit timeout, F &&done, GCancellable *cancellable = nullptr)
  {
    begin<void> (std::forward<F> (done), curator_client_block_until_connected_then, timeout,
                 cancellable);
  }

  /** The current state; suspended before the first connection. */
  connection_state state () const
  {
    return get<connection_state> (curator_client_get_connection_state);
  }

  /** Id of the current session; 0 while there is none. */
  std::int64_t session_id () const { return curator_client_get_session_id (object ()); }

  /** The server to which it is connected, as "host:port": curator_client_dup_server(). Empty
   *  without a connection. */
  std::string server () const { return get<std::string> (curator_client_dup_server); }

  /** The namespace; empty if there is none. */
  std::string name_space () const { return get<std::string> (curator_client_get_namespace); }

  /** The session timeout that the server granted; 0 before the first connection. */
  std::chrono::milliseconds session_timeout () const
  {
    return get<std::chrono::milliseconds> (curator_client_get_session_timeout_ms);
  }

  /** Adds a listener, called for every change of the connection state, in order.
   *  @param listener  called as listener (connection_state)
   *  @return an id for remove_state_listener() */
  template <class F> unsigned add_state_listener (F &&listener)
  {
    return detail::listen<connection_state> (curator_client_add_state_listener, object (),
                                             std::forward<F> (listener));
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void remove_state_listener (unsigned id) noexcept
  {
    unless_empty (curator_client_remove_state_listener, id);
  }

  /** All counters at one moment, indexed by #CuratorCounter: curator_client_get_counters(). */
  std::vector<std::uint64_t> counters () const
  {
    std::vector<guint64> values (curator_client_get_counters (object (), nullptr, 0));
    curator_client_get_counters (object (), values.data (), values.size ());
    return std::vector<std::uint64_t> (values.begin (), values.end ());
  }

  /** One counter. */
  std::uint64_t counter (CuratorCounter which) const
  {
    return counters ().at (static_cast<std::size_t> (which));
  }

  /** The statistics in the OpenMetrics text format: curator_client_format_metrics(). */
  std::string metrics () const { return get<std::string> (curator_client_format_metrics); }

  /** Asks the holder of a lock node to release it: curator_client_attempt_revoke().
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait */
  result<void> attempt_revoke (const std::string &lock_node_path, detail::timeout timeout = {},
                               GCancellable *cancellable = nullptr)
  {
    return call<void> (curator_client_attempt_revoke, lock_node_path, timeout, cancellable);
  }

  /** Why there is no connection; nothing while there is one. */
  std::optional<error> connection_error () const
  {
    const std::unique_ptr<GError, void (*) (GError *)> cause (
        curator_client_dup_connection_error (object ()), g_error_free);
    return cause != nullptr ? std::optional<error> (error (cause.get ())) : std::nullopt;
  }

  /** Adds a listener for the causes of a missing connection.
   *  @param listener  called as listener (const error &)
   *  @return an id for remove_connection_error_listener() */
  template <class F> unsigned add_connection_error_listener (F &&listener)
  {
    return detail::listen<error> (curator_client_add_connection_error_listener, object (),
                                  std::forward<F> (listener));
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void remove_connection_error_listener (unsigned id) noexcept
  {
    unless_empty (curator_client_remove_connection_error_listener, id);
  }

  /** Closes the client and ends all its holds; idempotent. */
  void close () noexcept { unless_empty (curator_client_close); }

  /** Like close(), but does not wait: curator_client_close_then().
   *  @param done  called as done (), once, when the client is closed */
  template <class F> void close_then (F &&done)
  {
    detail::begin (
        [closed = std::decay_t<F> (std::forward<F> (done))] (const error *) mutable { closed (); },
        curator_client_close_then, object ());
  }

private:
  /* What C takes whatever it is; start () refuses what it cannot be. */
  void configure (const client_options &options)
  {
    const auto set = [this] (auto setter, const std::optional<detail::span> &time) {
      if (time)
        setter (object (), time->count ());
    };
    set (curator_client_set_session_timeout, options.session_timeout);
    set (curator_client_set_server_tick, options.server_tick);
    set (curator_client_set_heartbeat_interval, options.heartbeat_interval);
    set (curator_client_set_connection_timeout, options.connection_timeout);
    for (const auto &[scheme, id, permissions] : options.acl)
      curator_client_add_acl (object (), scheme.c_str (), id.c_str (), permissions);
    if (options.default_data)
      curator_client_set_default_data (object (), options.default_data->data (),
                                       options.default_data->size ());
    curator_client_set_compression (object (), options.compression);
    curator_client_set_follow_configuration (object (), options.follow_configuration);
    if (options.callback_context != nullptr)
      curator_client_set_callback_context (object (), options.callback_context);
    if (options.trace) {
      using callback = std::function<void (const trace_event &)>;
      constexpr auto hear = [] (const CuratorTraceEvent *event, gpointer data) {
        const trace_event traced = {
          trace_kind (curator_trace_event_get_kind (event)), curator_trace_event_get_path (event),
          std::chrono::microseconds (curator_trace_event_get_duration_us (event)),
          curator_trace_event_get_session_id (event)
        };
        detail::tell<callback> (data, traced);
      };
      curator_client_set_trace (object (), hear, new callback (options.trace),
                                detail::destroy<callback>);
    }
  }

  bool set_identity (const client_options &options, detail::outcome &outcome)
  {
    for (const auto &[scheme, credentials] : options.auth)
      if (!outcome.of (curator_client_add_auth, *this, scheme, credentials.data (),
                       credentials.size ()))
        return false;
    const auto &digest = options.sasl_digest;
    const auto &gssapi = options.sasl_gssapi;
    return (options.name_space.empty ()
            || outcome.of (curator_client_set_namespace, *this, options.name_space))
           && (options.tls.native_handle () == nullptr
               || outcome.of (curator_client_set_tls, *this, options.tls))
           && (!digest
               || outcome.of (curator_client_set_sasl_digest, *this, digest->user,
                              digest->password))
           && (!gssapi
               || outcome.of (curator_client_set_sasl_gssapi, *this, gssapi->service,
                              gssapi->server_name));
  }
};

CURATOR_CPP_END
