/* The library for C++17 and later: owning handles, exceptions, lambdas, and the standard's lock
 * types.
 *
 * Inline functions over curator.h, whose comments have the details: each class names the C type
 * that it wraps, and native_handle() returns the C object. Programs link only the C library. The
 * ABI of this header is not stable: compile it into each program and keep it out of the interfaces
 * of your own shared libraries.
 *
 *   curator::client client ("zk1:2181,zk2:2181");
 *   client.start ();
 *   curator::mutex nightly (client, "/jobs/nightly");
 *   std::unique_lock hold (nightly, 5s);
 *   if (hold)
 *     write_result (nightly.current_lease ()->fencing_token ());
 *
 * Conventions
 *   - Handles are move-only and own one reference; share() returns another handle of the same
 *     object. A default-constructed or moved-from handle is empty. An operation on it throws
 *     std::logic_error, except that share() gives another empty handle, close() and the functions
 *     that remove a listener do nothing, and unlock() logs a critical message.
 *   - Errors throw curator::error. A timeout is not an error of the functions whose names begin
 *     with try_: they return false or an empty optional. A call that the C library refuses as a
 *     misuse throws std::logic_error. A std::string with a NUL inside, given as a path or another
 *     text, is INVALID_ARGUMENT.
 *   - A timeout is any std::chrono::duration, rounded up to milliseconds. Zero or less tries once;
 *     curator::forever, or a century and more, waits without a limit. Times of settings and retry
 *     policies are any duration, too; what milliseconds cannot count is the nearest that they can.
 *   - Functions that wait take a GCancellable *, for example a curator::cancellable. A cancelled
 *     call throws an error with G_IO_ERROR and G_IO_ERROR_CANCELLED.
 *   - Callbacks are lambdas or other callables. The library moves them in and destroys them. They
 *     run on the threads that client.h describes. An exception in a callback is caught and logged
 *     as a critical message. A callback and the function of a leader selector may end their thread
 *     with pthread_exit(), or be cancelled there: what they own is destroyed, and another thread
 *     goes on. What answers a question (a retry policy, a driver) and destructors have to return.
 *   - Functions are as thread-safe as those of C; handles are not: two threads may lock one mutex
 *     object, but not while a third assigns to it or destroys it.
 */
#ifndef CURATOR_CURATOR_HPP
#define CURATOR_CURATOR_HPP

#include <curator/curator.h>
#include <curator/lock_internals.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <version>
#endif
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif
#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

namespace curator
{
/* Keeps objects compiled with different versions of this header apart. */
inline namespace v0_3
{
static_assert (CURATOR_MAJOR_VERSION == 0 && CURATOR_MINOR_VERSION == 3,
               "name the inline namespace after the version");

/** The timeout that waits without a limit. */
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max ();

/** The exception of every function: a GError of a domain from error.h, or of G_IO_ERROR. */
class error : public std::runtime_error
{
public:
  /** Copies @p cause, which must not be NULL. */
  explicit error (const GError *cause)
      : std::runtime_error (cause->message), domain_ (cause->domain), code_ (cause->code)
  {
  }

  /** #CURATOR_ERROR, #CURATOR_ZK_ERROR, #CURATOR_CONNECT_ERROR or G_IO_ERROR. */
  GQuark
  domain () const noexcept
  {
    return domain_;
  }

  /** A code of the domain, for example #CURATOR_ERROR_CLOSED. */
  int
  code () const noexcept
  {
    return code_;
  }

  /** Whether this is a #CURATOR_ERROR with that code. */
  bool
  is (CuratorError code) const noexcept
  {
    return domain_ == CURATOR_ERROR && code_ == static_cast<int> (code);
  }

  /** Whether a GCancellable ended the call. */
  bool
  is_cancelled () const noexcept
  {
    return domain_ == G_IO_ERROR && code_ == static_cast<int> (G_IO_ERROR_CANCELLED);
  }

private:
  GQuark domain_;
  int code_;
};

/* Not part of the interface. */
namespace detail
{
template <class Rep, class Period>
gint64
to_ms (const std::chrono::duration<Rep, Period> &time)
{
  using namespace std::chrono;
  if (!(time > time.zero ()))
    {
      return 0;
    }
  /* Compare in floating point, where hours::max() does not overflow. */
  constexpr double century_ms = 100.0 * 366 * 24 * 3600 * 1000;
  if (duration<double, std::milli> (time).count () >= century_ms)
    {
      return CURATOR_WAIT_FOREVER;
    }
  return static_cast<gint64> (ceil<milliseconds> (time).count ());
}

/* In floating point, where neither a point in time far from now nor the difference overflows. */
template <class Clock, class Duration>
std::chrono::duration<double, std::milli>
left_until (const std::chrono::time_point<Clock, Duration> &time)
{
  using fractional = std::chrono::duration<double, std::milli>;
  return fractional (time.time_since_epoch ()) - fractional (Clock::now ().time_since_epoch ());
}

/* The timeout of a call that may take any: without overflow, whatever its unit. */
class timeout
{
public:
  timeout () noexcept = default;

  template <class Rep, class Period>
  timeout (const std::chrono::duration<Rep, Period> &time) : ms_ (to_ms (time))
  {
  }

  operator gint64 () const noexcept
  {
    return ms_;
  }

private:
  gint64 ms_ = 0;
};

/* A length of time for C: any duration, rounded up to milliseconds, and the nearest one that they can
 * count. */
class span
{
public:
  template <class Rep, class Period> span (const std::chrono::duration<Rep, Period> &time)
  {
    using namespace std::chrono;
    /* Compare in floating point, where hours::max() does not overflow. */
    constexpr double most_ms = 9.2e18;
    const double near_ms = duration<double, std::milli> (time).count ();
    ms_ = near_ms >= most_ms    ? milliseconds::max ()
          : near_ms <= -most_ms ? milliseconds::min ()
                                : ceil<milliseconds> (time);
  }

  operator std::chrono::milliseconds () const noexcept
  {
    return ms_;
  }

  gint64
  count () const noexcept
  {
    return gint64 (ms_.count ());
  }

private:
  std::chrono::milliseconds ms_;
};

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

  /* Failure without an error is what the C library answers to a misuse. */
  void
  check (bool succeeded) const
  {
    if (error_ != nullptr)
      {
        throw error (error_);
      }
    if (!succeeded)
      {
        throw std::logic_error ("the curator library refused the call");
      }
  }

  template <class T>
  T *
  check (T *object) const
  {
    check (object != nullptr);
    return object;
  }

  /* Returns false on a timeout; throws any other error. */
  bool
  in_time (bool succeeded) const
  {
    if (!succeeded
        && (g_error_matches (error_, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
            || g_error_matches (error_, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)))
      {
        return false;
      }
    check (succeeded);
    return true;
  }

  const GError *
  get () const noexcept
  {
    return error_;
  }

private:
  GError *error_ = nullptr;
};

template <class T>
T *
require (T *object)
{
  if (object == nullptr)
    {
      throw std::logic_error ("the curator handle is empty");
    }
  return object;
}

/* A text for C, which would end it at a NUL. */
inline const char *
c_text (const std::string &text)
{
  if (text.find ('\0') != std::string::npos)
    {
      outcome refused;
      g_set_error_literal (refused, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                           "a text has a NUL inside");
      refused.check (false);
    }
  return text.c_str ();
}

/* What unwinds the stack of a thread that ends in pthread_exit() or is cancelled. Only GNU's library
 * shows it to catch (...), which then must not keep it. */
#ifdef __GLIBCXX__
using thread_end = abi::__forced_unwind;
#else
class thread_end
{
};
#endif

/* Catches exceptions, which must not reach the C frames of the caller. The end of the thread
 * passes; it has no object, and the reference to it is null. */
template <class Call>
__attribute__ ((no_sanitize ("null"))) void
shield (Call &&call)
{
  try
    {
      std::forward<Call> (call) ();
    }
  catch (const thread_end &)
    {
      throw;
    }
  catch (const std::exception &thrown)
    {
      g_log ("curator", G_LOG_LEVEL_CRITICAL, "a callback threw: %s", thrown.what ());
    }
  catch (...)
    {
      g_log ("curator", G_LOG_LEVEL_CRITICAL,
             "a callback threw an exception that is not a std::exception");
    }
}

/* The same for what the library waits for: it has to return. */
template <class Call>
void
shield_question (Call &&call) noexcept
{
  shield (std::forward<Call> (call));
}

template <class F>
void
destroy (gpointer data)
{
  shield ([data] { delete static_cast<F *> (data); });
}

template <class F>
std::decay_t<F> *
keep (F &&callback)
{
  return new std::decay_t<F> (std::forward<F> (callback));
}

template <class T, T *(*Ref) (T *), void (*Unref) (T *)> class handle
{
public:
  handle () noexcept = default;

  explicit handle (T *object) noexcept : object_ (object)
  {
  }

  handle (handle &&other) noexcept : object_ (std::exchange (other.object_, nullptr))
  {
  }

  handle &
  operator= (handle &&other) noexcept
  {
    handle old (std::exchange (object_, std::exchange (other.object_, nullptr)));
    return *this;
  }

  ~handle ()
  {
    if (object_ != nullptr)
      {
        Unref (object_);
      }
  }

  T *
  get () const noexcept
  {
    return object_;
  }

  T *
  new_ref () const noexcept
  {
    return object_ != nullptr ? Ref (object_) : nullptr;
  }

private:
  T *object_ = nullptr;
};

/* A listener that the library has taken has an id. */
template <class F>
unsigned
release_to_library (std::unique_ptr<F> &kept, guint id)
{
  if (id == 0)
    {
      throw std::logic_error ("the curator library refused the listener");
    }
  kept.release ();
  return id;
}

/* Takes ownership of the callback of a pending call, which runs once. */
template <class F>
std::unique_ptr<F>
take (gpointer data) noexcept
{
  return std::unique_ptr<F> (static_cast<F *> (data));
}

/* Calls the callback of a release that does not wait. */
template <class F>
void
tell_release (const GError *failed, gpointer data) noexcept
{
  shield ([&] {
    const auto kept = take<F> (data);
    const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
    (*kept) (why ? &*why : nullptr);
  });
}

inline std::vector<std::string>
take_strings (char **strings)
{
  const std::unique_ptr<char *, void (*) (char **)> owner (strings, g_strfreev);
  return std::vector<std::string> (strings, strings + g_strv_length (strings));
}
}

#ifdef __cpp_lib_jthread
namespace detail
{
/* The only one of that cancellable, which keeps it. */
inline std::stop_source
stop_source_of (GCancellable *cancellable)
{
  constexpr auto free_source = [] (gpointer data) {
    delete static_cast<std::stop_source *> (data);
  };
  constexpr auto copy_source = [] (gpointer data, gpointer) -> gpointer {
    return data != nullptr ? new std::stop_source (*static_cast<std::stop_source *> (data))
                           : nullptr;
  };
  const GQuark key = g_quark_from_static_string ("curator::stop_source");
  GObject *const object = G_OBJECT (cancellable);

  for (;;)
    {
      const std::unique_ptr<std::stop_source> known (
          static_cast<std::stop_source *> (g_object_dup_qdata (object, key, copy_source, nullptr)));
      if (known != nullptr)
        {
          return *known;
        }
      auto source = std::make_unique<std::stop_source> ();
      auto listener = std::make_unique<std::stop_source> (*source);
      if (g_object_replace_qdata (object, key, nullptr, source.get (), free_source, nullptr))
        {
          source.release ();
          g_cancellable_connect (cancellable, G_CALLBACK (+[] (GCancellable *, gpointer data) {
                                   static_cast<std::stop_source *> (data)->request_stop ();
                                 }),
                                 listener.release (), free_source);
        }
    }
}
}
#endif

/** Cancels waiting calls from another thread. Wraps GCancellable, and converts to it. It stays
 *  cancelled. */
class cancellable
{
public:
  cancellable () : object_ (g_cancellable_new ())
  {
  }

  cancellable (const cancellable &) = delete;
  cancellable &operator= (const cancellable &) = delete;

  ~cancellable ()
  {
    g_object_unref (object_);
  }

  /** Any thread may call it, at any time. */
  void
  cancel () noexcept
  {
    g_cancellable_cancel (object_);
  }

  /** Converts to the parameter type of the functions that wait. Borrowed. */
  operator GCancellable * () const noexcept
  {
    return object_;
  }

private:
  GCancellable *object_;
};

#ifdef __cpp_lib_jthread
/** A token that is stopped once @p cancellable is cancelled. Stop callbacks run on the thread that
 *  cancels, or here if that has happened. */
inline std::stop_token
stop_token_of (GCancellable *cancellable)
{
  return detail::stop_source_of (detail::require (cancellable)).get_token ();
}
#endif

/** Decides whether and when a failed request is retried. Wraps CuratorRetryPolicy; see retry.h for
 *  the policies, their limits and their Java names. */
class retry_policy
{
  using ms = std::chrono::milliseconds;
  using span = detail::span;

public:
  /** The client's default: exponential backoff from 1000 ms with 3 retries. */
  retry_policy () noexcept = default;

  /** Takes over a reference. */
  explicit retry_policy (CuratorRetryPolicy *policy) noexcept : handle_ (policy)
  {
  }

  /** curator_retry_policy_new_exponential_backoff() */
  static retry_policy
  exponential_backoff (span base_sleep, int max_retries)
  {
    return retry_policy (
        curator_retry_policy_new_exponential_backoff (base_sleep.count (), max_retries));
  }

  /** curator_retry_policy_new_bounded_exponential_backoff() */
  static retry_policy
  bounded_exponential_backoff (span base_sleep, span max_sleep, int max_retries)
  {
    return retry_policy (curator_retry_policy_new_bounded_exponential_backoff (
        base_sleep.count (), max_sleep.count (), max_retries));
  }

  /** curator_retry_policy_new_n_times() */
  static retry_policy
  n_times (int n, span sleep)
  {
    return retry_policy (curator_retry_policy_new_n_times (n, sleep.count ()));
  }

  /** curator_retry_policy_new_one_time() */
  static retry_policy
  one_time (span sleep)
  {
    return retry_policy (curator_retry_policy_new_one_time (sleep.count ()));
  }

  /** curator_retry_policy_new_forever() */
  static retry_policy
  always (span sleep)
  {
    return retry_policy (curator_retry_policy_new_forever (sleep.count ()));
  }

  /** curator_retry_policy_new_until_elapsed() */
  static retry_policy
  until_elapsed (span max_elapsed, span sleep)
  {
    return retry_policy (
        curator_retry_policy_new_until_elapsed (max_elapsed.count (), sleep.count ()));
  }

  /** A custom policy: curator_retry_policy_new_custom().
   *  @param decide  called as decide (int retry_count, std::chrono::milliseconds elapsed); returns
   *                 std::optional<std::chrono::milliseconds>: how long to sleep before the retry,
   *                 or nothing to give up. May be called concurrently. An exception gives up */
  template <class F>
  static retry_policy
  custom (F &&decide)
  {
    using callback = std::decay_t<F>;
    return retry_policy (curator_retry_policy_new_custom (
        [] (int retry_count, gint64 elapsed_ms, gint64 *sleep_ms, gpointer data) -> gboolean {
          std::optional<span> sleep;
          detail::shield_question (
              [&] { sleep = (*static_cast<callback *> (data)) (retry_count, ms (elapsed_ms)); });
          *sleep_ms = sleep ? sleep->count () : 0;
          return sleep ? TRUE : FALSE;
        },
        detail::keep (std::forward<F> (decide)), detail::destroy<callback>));
  }

  /** Decides whether to retry. Never sleeps. Not for a default-constructed policy.
   *  @return how long to sleep before the retry; nothing to give up */
  std::optional<ms>
  allow_retry (int retry_count, span elapsed) const
  {
    gint64 sleep_ms = 0;
    if (!curator_retry_policy_allow_retry (detail::require (handle_.get ()), retry_count,
                                           elapsed.count (), &sleep_ms))
      {
        return std::nullopt;
      }
    return ms (sleep_ms);
  }

  /** Another handle of the same policy. */
  retry_policy
  share () const noexcept
  {
    return retry_policy (handle_.new_ref ());
  }

  /** The policy for the C functions, NULL for the default; borrowed. */
  CuratorRetryPolicy *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  detail::handle<CuratorRetryPolicy, curator_retry_policy_ref, curator_retry_policy_unref> handle_;
};

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

/** Name of a counter, for example "grants"; nullptr for other values. */
inline const char *
to_string (CuratorCounter counter) noexcept
{
  return curator_counter_to_string (counter);
}

/** Kinds of traced events: CuratorTraceKind. Values may be added. */
enum class trace_kind
{
  granted = CURATOR_TRACE_GRANTED,   /**< a hold began; the duration is the time since the call */
  failed = CURATOR_TRACE_FAILED,     /**< an attempt failed; the same duration */
  released = CURATOR_TRACE_RELEASED, /**< a hold was released; the duration is how long it lasted */
  lost = CURATOR_TRACE_LOST,         /**< a hold was lost; the same duration */
  heartbeat = CURATOR_TRACE_HEARTBEAT /**< a heartbeat was answered; the round trip */
};

/** One traced event; stats.h describes its members. */
struct trace_event
{
  trace_kind kind;                    /**< what happened */
  std::string_view path;              /**< valid only during the call of the trace function */
  std::chrono::microseconds duration; /**< how long it took */
  std::int64_t session_id;            /**< of the session in which it happened */
};

/** How a client uses TLS. Wraps CuratorTls; see tls.h. An empty handle stands for clear text. */
class tls
{
public:
  /** Clear text, unless the connect string says tls://. */
  tls () noexcept = default;

  /** Takes over a reference. */
  explicit tls (CuratorTls *object) noexcept : handle_ (object)
  {
  }

  /** TLS with the CAs of the system: curator_tls_new() */
  static tls
  with_system_cas ()
  {
    return tls (curator_tls_new ());
  }

  /** curator_tls_set_ca_file() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_ca_file (const std::string &pem)
  {
    detail::outcome outcome;
    outcome.check (curator_tls_set_ca_file (require (), detail::c_text (pem), outcome) != FALSE);
  }

  /** curator_tls_set_crl_file(); without a value: none @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_crl_file (const std::optional<std::string> &pem)
  {
    detail::outcome outcome;
    outcome.check (
        curator_tls_set_crl_file (require (), pem ? detail::c_text (*pem) : nullptr, outcome)
        != FALSE);
  }

  /** curator_tls_set_certificate_files() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_certificate_files (const std::string &cert_pem, const std::string &key_pem,
                         const std::optional<std::string> &password = std::nullopt)
  {
    detail::outcome outcome;
    outcome.check (curator_tls_set_certificate_files (
                       require (), detail::c_text (cert_pem), detail::c_text (key_pem),
                       password ? detail::c_text (*password) : nullptr, outcome)
                   != FALSE);
  }

  /** curator_tls_set_pkcs12() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_pkcs12 (const std::string &file, const std::optional<std::string> &password = std::nullopt)
  {
    detail::outcome outcome;
    outcome.check (curator_tls_set_pkcs12 (require (), detail::c_text (file),
                                           password ? detail::c_text (*password) : nullptr, outcome)
                   != FALSE);
  }

  /** curator_tls_set_pkcs11() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_pkcs11 (const std::string &cert_uri, const std::string &key_uri)
  {
    detail::outcome outcome;
    outcome.check (curator_tls_set_pkcs11 (require (), detail::c_text (cert_uri),
                                           detail::c_text (key_uri), outcome)
                   != FALSE);
  }

  /** curator_tls_set_server_name() */
  void
  set_server_name (const std::string &name)
  {
    curator_tls_set_server_name (require (), detail::c_text (name));
  }

  /** curator_tls_set_verify() */
  void
  set_verify (bool verify)
  {
    curator_tls_set_verify (require (), verify ? TRUE : FALSE);
  }

  /** Another handle of the same settings. */
  tls
  share () const noexcept
  {
    return tls (handle_.new_ref ());
  }

  /** The settings for the C functions, NULL for clear text; borrowed. */
  CuratorTls *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  CuratorTls *
  require () const
  {
    return detail::require (handle_.get ());
  }

  detail::handle<CuratorTls, curator_tls_ref, curator_tls_unref> handle_;
};

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
class client
{
public:
  /** An empty handle. */
  client () noexcept = default;

  /** Creates a client that is not yet started.
   *  @param connect_string  "host:port,host:port/chroot"
   *  @throws error  INVALID_ARGUMENT for the namespace; start() reports other errors */
  explicit client (const std::string &connect_string, const client_options &options = {})
      : handle_ (detail::require (
          curator_client_new (detail::c_text (connect_string), options.retry.native_handle ())))
  {
    if (options.session_timeout)
      {
        curator_client_set_session_timeout (detail::require (native_handle ()),
                                            options.session_timeout->count ());
      }
    if (options.server_tick)
      {
        curator_client_set_server_tick (detail::require (native_handle ()),
                                        options.server_tick->count ());
      }
    if (options.heartbeat_interval)
      {
        curator_client_set_heartbeat_interval (detail::require (native_handle ()),
                                               options.heartbeat_interval->count ());
      }
    if (options.connection_timeout)
      {
        curator_client_set_connection_timeout (detail::require (native_handle ()),
                                               options.connection_timeout->count ());
      }
    if (!options.name_space.empty ())
      {
        detail::outcome outcome;
        outcome.check (curator_client_set_namespace (detail::require (native_handle ()),
                                                     detail::c_text (options.name_space), outcome)
                       != FALSE);
      }
    for (const auto &[scheme, credentials] : options.auth)
      {
        curator_client_add_auth (detail::require (native_handle ()), detail::c_text (scheme),
                                 credentials.data (), credentials.size ());
      }
    if (options.acl != nullptr)
      {
        curator_client_set_acl (detail::require (native_handle ()), options.acl);
      }
    if (options.default_data)
      {
        curator_client_set_default_data (detail::require (native_handle ()),
                                         options.default_data->data (),
                                         options.default_data->size ());
      }
    if (options.compression)
      {
        curator_client_set_compression (detail::require (native_handle ()), TRUE);
      }
    if (options.follow_configuration)
      {
        curator_client_set_follow_configuration (detail::require (native_handle ()), TRUE);
      }
    if (options.callback_context != nullptr)
      {
        curator_client_set_callback_context (detail::require (native_handle ()),
                                             options.callback_context);
      }
    if (options.trace)
      {
        curator_client_set_trace (detail::require (native_handle ()), call_trace,
                                  detail::keep (options.trace), detail::destroy<trace_function>);
      }
    set_security (options);
  }

  /** Takes over a reference. */
  explicit client (CuratorClient *object) noexcept : handle_ (object)
  {
  }

  /** Starts the client and returns at once. @throws error  see curator_client_start() */
  void
  start ()
  {
    detail::outcome outcome;
    outcome.check (curator_client_start (detail::require (native_handle ()), outcome) != FALSE);
  }

  /** Gives a running client other servers of the same ensemble; see curator_client_update_servers().
   *  @throws error  INVALID_ARGUMENT, NOT_STARTED, CLOSED, UNSUPPORTED; nothing has changed then */
  void
  update_servers (const std::string &connect_string)
  {
    detail::outcome outcome;
    outcome.check (curator_client_update_servers (detail::require (native_handle ()),
                                                  connect_string.c_str (), outcome)
                   != FALSE);
  }

  /** Waits for a connection.
   *  @return false on a timeout
   *  @throws error  CLOSED, NOT_STARTED, AUTH_FAILED, cancelled */
  template <class Rep, class Period>
  bool
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
      {
        curator_client_remove_state_listener (native_handle (), id);
      }
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
  void
  attempt_revoke (const std::string &lock_node_path, detail::timeout timeout = {},
                  GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    outcome.check (curator_attempt_revoke (detail::require (native_handle ()),
                                           detail::c_text (lock_node_path), timeout, cancellable,
                                           outcome)
                   != FALSE);
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
      {
        curator_client_remove_connection_error_listener (native_handle (), id);
      }
  }

  /** Closes the client and ends all its holds; idempotent. */
  void
  close () noexcept
  {
    if (native_handle () != nullptr)
      {
        curator_client_close (native_handle ());
      }
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
  void
  set_security (const client_options &options)
  {
    CuratorClient *object = detail::require (native_handle ());
    detail::outcome outcome;
    if (options.tls.native_handle () != nullptr)
      {
        outcome.check (curator_client_set_tls (object, options.tls.native_handle (), outcome)
                       != FALSE);
      }
    if (options.sasl_digest)
      {
        outcome.check (
            curator_client_set_sasl_digest (object, detail::c_text (options.sasl_digest->user),
                                            detail::c_text (options.sasl_digest->password), outcome)
            != FALSE);
      }
    if (options.sasl_gssapi)
      {
        const auto &name = options.sasl_gssapi->server_name;
        outcome.check (
            curator_client_set_sasl_gssapi (object, detail::c_text (options.sasl_gssapi->service),
                                            name ? detail::c_text (*name) : nullptr, outcome)
            != FALSE);
      }
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

  detail::handle<CuratorClient, curator_client_ref, curator_client_unref> handle_;
};

/** States of a hold: CuratorLeaseState. */
enum class lease_state
{
  held = CURATOR_LEASE_HELD,        /**< held, as a recent answer from the server proves */
  suspect = CURATOR_LEASE_SUSPECT,  /**< the deadline approaches: begin nothing new */
  lost = CURATOR_LEASE_LOST,        /**< no longer held: stop at once */
  released = CURATOR_LEASE_RELEASED /**< released by this process */
};

/** Name of a state, for example "HELD". */
inline const char *
to_string (lease_state state) noexcept
{
  return curator_lease_state_to_string (static_cast<CuratorLeaseState> (state));
}

/** One hold that belongs to no thread. Wraps CuratorLease; see lease.h. Destroying its last handle
 *  releases it in the background; release() waits for the server. */
class lease
{
public:
  /** An empty handle. */
  lease () noexcept = default;

  /** Takes over a reference. */
  explicit lease (CuratorLease *object) noexcept : handle_ (object)
  {
  }

  /** Whether the handle is not empty; the lease may be held or not. */
  explicit operator bool () const noexcept
  {
    return handle_.get () != nullptr;
  }

  /** Full path of the lock node, without namespace. */
  std::string
  node_path () const
  {
    return curator_lease_get_node_path (detail::require (native_handle ()));
  }

  /** Last part of the node's path. */
  std::string
  node_name () const
  {
    return curator_lease_get_node_name (detail::require (native_handle ()));
  }

  /** Grows with every later exclusive grant; curator_lease_get_fencing_token(). */
  std::uint64_t
  fencing_token () const
  {
    return curator_lease_get_fencing_token (detail::require (native_handle ()));
  }

  /** The current state. */
  lease_state
  state () const
  {
    return static_cast<lease_state> (curator_lease_get_state (detail::require (native_handle ())));
  }

  /** Time until the hold's deadline if no server answers again; zero after it. */
  std::chrono::milliseconds
  remaining () const
  {
    return std::chrono::milliseconds (
        curator_lease_get_remaining_ms (detail::require (native_handle ())));
  }

  /** Whether a step of that duration can end before the deadline. Call it before each step that
   *  cannot be undone. */
  template <class Rep, class Period>
  bool
  valid_for (const std::chrono::duration<Rep, Period> &time) const
  {
    const std::chrono::duration<double, std::milli> left = remaining ();
    return left.count () > 0 && left >= std::chrono::duration<double, std::milli> (time);
  }

  /** Gives a hold with a maximum at least that much time from now; lockable::set_max_hold(),
   *  curator_lease_extend().
   *  @throws error  LOCK_LOST if the hold has ended */
  template <class Rep, class Period>
  void
  extend (const std::chrono::duration<Rep, Period> &at_least) const
  {
    detail::outcome outcome;
    outcome.check (
        curator_lease_extend (detail::require (native_handle ()), detail::to_ms (at_least), outcome)
        != FALSE);
  }

  /** A descriptor for poll(), readable once the lease is lost or released. Owned by the lease; -1
   *  if the process has no descriptor left. */
  int
  fd () const
  {
    return curator_lease_get_fd (detail::require (native_handle ()));
  }

  /** Id of the session that owns the lease. */
  std::int64_t
  session_id () const
  {
    return curator_lease_get_session_id (detail::require (native_handle ()));
  }

  /** Is cancelled once the lease is lost or released; curator_lease_get_cancellable(). Borrowed. */
  GCancellable *
  cancellable () const
  {
    return curator_lease_get_cancellable (detail::require (native_handle ()));
  }

#ifdef __cpp_lib_jthread
  /** A token that is stopped once the lease is lost or released. Stop callbacks run on a thread of the
   *  library. */
  std::stop_token
  stop_token () const
  {
    return stop_token_of (cancellable ());
  }
#endif

  /** Reads the payload of the node from the server: curator_lease_get_data().
   *  @param timeout  for the whole call; 0: up to the connection timeout
   *  @throws error  LOCK_LOST if the node is gone ... */
  std::string
  data (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    GBytes *bytes =
        curator_lease_get_data (detail::require (native_handle ()), timeout, cancellable, outcome);
    outcome.check (bytes);
    const std::unique_ptr<GBytes, void (*) (GBytes *)> owner (bytes, g_bytes_unref);
    gsize size = 0;
    const void *text = g_bytes_get_data (bytes, &size);
    return std::string (static_cast<const char *> (text), size);
  }

  /** Adds a listener, called for every change of state, in order. If the lease is lost or released
   *  already, one call with that state follows. Destroying the last handle calls no listener.
   *  @param listener  called as listener (lease_state). If it captures a handle of the same lease,
   *                   that handle keeps the lease held until the lease is lost or released
   *  @return an id for remove_listener() */
  template <class F>
  unsigned
  add_listener (F &&listener)
  {
    using callback = std::decay_t<F>;
    CuratorLease *const object = detail::require (native_handle ());
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const guint id = curator_lease_add_listener (
        object,
        [] (CuratorLease *, CuratorLeaseState state, gpointer data) {
          detail::shield (
              [&] { (*static_cast<callback *> (data)) (static_cast<lease_state> (state)); });
        },
        kept.get (), detail::destroy<callback>);
    return detail::release_to_library (kept, id);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_listener (unsigned id) noexcept
  {
    if (native_handle () != nullptr)
      {
        curator_lease_remove_listener (native_handle (), id);
      }
  }

  /** Releases the hold and waits for the server to confirm. Idempotent.
   *  @param timeout  for the wait; 0: up to the connection timeout
   *  @throws error  RELEASE_PENDING if no confirmation came in time, or is_cancelled(); the hold has
   *                 ended nevertheless, and its node is deleted in the background */
  void
  release (detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    outcome.check (
        curator_lease_release (detail::require (native_handle ()), timeout, cancellable, outcome)
        != FALSE);
  }

  /** Like release(), but does not wait, and reports the confirmation of the server.
   *  @param done  called as done (const error *), once: NULL on success; borrowed */
  template <class F>
  void
  async_release (F &&done)
  {
    using callback = std::decay_t<F>;
    CuratorLease *const object = detail::require (native_handle ());
    curator_lease_release_async (
        object,
        [] (CuratorLease *, const GError *failed, gpointer data) {
          detail::tell_release<callback> (failed, data);
        },
        detail::keep (std::forward<F> (done)));
  }

  /** Empties this handle without waiting. Emptying the last one releases the hold in the
   *  background. */
  void
  reset () noexcept
  {
    *this = lease ();
  }

  /** Another handle of the same hold. */
  lease
  share () const noexcept
  {
    return lease (handle_.new_ref ());
  }

  /** The lease for the C functions; borrowed. */
  CuratorLease *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  detail::handle<CuratorLease, curator_lease_ref, curator_lease_unref> handle_;
};

/** What unlock() does, which std::unique_lock and the like call at the end of a scope. */
enum class unlock_mode
{
  wait,      /**< returns once the server has confirmed, or after the connection timeout */
  background /**< returns at once; the release continues in the background */
};

/** A lock of any recipe. Wraps CuratorLock; see lock.h for who owns a hold and how it is lost. It
 *  is TimedLockable: std::unique_lock, std::scoped_lock and std::lock accept it.
 *
 *  Locking costs at least one round trip, and std::lock retries. To acquire several locks, prefer
 *  multi_lock, which queues. */
class lockable
{
public:
  /** An empty handle. */
  lockable () noexcept = default;

  /** Takes over a reference to a lock of any recipe. */
  explicit lockable (CuratorLock *lock, unlock_mode mode = unlock_mode::wait) noexcept
      : handle_ (lock), mode_ (mode)
  {
  }

  /** Acquires for the calling thread, waiting its turn; re-entrant if the recipe is.
   *  @throws error  the errors of curator_lock_acquire(): LOCK_LOST, CONNECTION_LOST, CLOSED ... */
  void
  lock (GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    const gboolean acquired = curator_lock_acquire (detail::require (native_handle ()),
                                                    CURATOR_WAIT_FOREVER, cancellable, outcome);
    outcome.check (acquired != FALSE);
  }

  /** lock() waits without a limit: try_lock_for() takes one. */
  template <class Rep, class Period>
  void lock (const std::chrono::duration<Rep, Period> &timeout,
             GCancellable *cancellable = nullptr) = delete;

  /** Acquires if no other contender is ahead.
   *  @throws error  as lock(); CONNECTION_LOST if there is no connection */
  bool
  try_lock ()
  {
    return try_lock_for (std::chrono::milliseconds::zero ());
  }

  /** Acquires within a timeout. @throws error  as lock() */
  template <class Rep, class Period>
  bool
  try_lock_for (const std::chrono::duration<Rep, Period> &timeout,
                GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    const gboolean acquired = curator_lock_acquire (detail::require (native_handle ()),
                                                    detail::to_ms (timeout), cancellable, outcome);
    return outcome.in_time (acquired != FALSE);
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  template <class Clock, class Duration>
  bool
  try_lock_until (const std::chrono::time_point<Clock, Duration> &time,
                  GCancellable *cancellable = nullptr)
  {
    return try_lock_for (detail::left_until (time), cancellable);
  }

  /** Ends one level of the calling thread's hold, even of a lost one. A missing confirmation of the
   *  server is not reported, since the hold has ended anyway. Without a hold it logs a critical
   *  message. release() throws instead. */
  void
  unlock () noexcept
  {
    if (mode_ == unlock_mode::background || native_handle () == nullptr)
      {
        unlock_async ();
        return;
      }
    detail::outcome outcome;
    curator_lock_release (native_handle (), 0, nullptr, outcome);
    log_misuse (outcome.get ());
  }

  /** Like unlock(), but throws.
   *  @param timeout  for the wait; 0: up to the connection timeout
   *  @throws error  NOT_OWNER, or RELEASE_PENDING if the server did not confirm in time, or
   *                 is_cancelled(); after the last two the hold has ended nevertheless */
  void
  release (detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    outcome.check (
        curator_lock_release (detail::require (native_handle ()), timeout, cancellable, outcome)
        != FALSE);
  }

  /** Like unlock(), but does not wait: the calling thread's level ends at once. */
  void
  unlock_async () noexcept
  {
    if (native_handle () == nullptr)
      {
        g_log ("curator", G_LOG_LEVEL_CRITICAL, "unlock: the curator handle is empty");
        return;
      }
    curator_lock_release_async (
        native_handle (),
        [] (CuratorLock *, const GError *failed, gpointer) { log_misuse (failed); }, nullptr);
  }

  /** The same, and reports the confirmation of the server.
   *  @param done  called as done (const error *), once: NULL on success; borrowed */
  template <class F>
  void
  unlock_async (F &&done)
  {
    using callback = std::decay_t<F>;
    CuratorLock *const object = detail::require (native_handle ());
    curator_lock_release_async (
        object,
        [] (CuratorLock *, const GError *failed, gpointer data) {
          detail::tell_release<callback> (failed, data);
        },
        detail::keep (std::forward<F> (done)));
  }

  /** Whether any thread of this process holds through this object. */
  bool
  is_acquired_in_this_process () const
  {
    return curator_lock_is_acquired_in_this_process (detail::require (native_handle ())) != FALSE;
  }

  /** Whether the calling thread holds through this object. */
  bool
  is_owned_by_current_thread () const
  {
    return curator_lock_is_owned_by_current_thread (detail::require (native_handle ())) != FALSE;
  }

  /** The calling thread's hold, for its token and remaining time; nothing if there is none:
   *  curator_lock_dup_lease(). Do not release it: unlock() does, and counts the levels. */
  std::optional<lease>
  current_lease () const
  {
    CuratorLease *held = curator_lock_dup_lease (detail::require (native_handle ()));
    return held != nullptr ? std::optional<lease> (lease (held)) : std::nullopt;
  }

  /** Acquires a hold that belongs to no thread and is never re-entrant. @throws error  as lock() */
  lease
  acquire_lease (GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_lock_acquire_lease (detail::require (native_handle ()),
                                               CURATOR_WAIT_FOREVER, cancellable, outcome));
    outcome.check (granted.native_handle ());
    return granted;
  }

  /** The same, within a timeout. @throws error  also TIMED_OUT */
  template <class Rep, class Period>
  lease
  acquire_lease (const std::chrono::duration<Rep, Period> &timeout,
                 GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_lock_acquire_lease (detail::require (native_handle ()),
                                               detail::to_ms (timeout), cancellable, outcome));
    outcome.check (granted.native_handle ());
    return granted;
  }

  /** The same, without an error if the time is over. */
  template <class Rep, class Period>
  std::optional<lease>
  try_acquire_lease_for (const std::chrono::duration<Rep, Period> &timeout,
                         GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_lock_acquire_lease (detail::require (native_handle ()),
                                               detail::to_ms (timeout), cancellable, outcome));
    if (!outcome.in_time (granted.native_handle () != nullptr))
      {
        return std::nullopt;
      }
    return granted;
  }

  /** Acquires a lease asynchronously.
   *  @param timeout  curator::forever, or how long to wait in the queue
   *  @param done     called as done (lease, const error *), once: a lease and NULL, or an empty
   *                  lease and an error, which is borrowed; TIMED_OUT is an error here */
  template <class Rep, class Period, class F>
  void
  acquire_async (const std::chrono::duration<Rep, Period> &timeout, F &&done,
                 GCancellable *cancellable = nullptr)
  {
    using callback = std::decay_t<F>;
    CuratorLock *const object = detail::require (native_handle ());
    curator_lock_acquire_async (
        object, detail::to_ms (timeout), cancellable,
        [] (CuratorLock *, CuratorLease *granted, const GError *failed, gpointer data) {
          detail::shield ([&] {
            lease hold (granted);
            const auto kept = detail::take<callback> (data);
            const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
            (*kept) (std::move (hold), why ? &*why : nullptr);
          });
        },
        detail::keep (std::forward<F> (done)));
  }

  /** Full paths of the nodes in the queue, holders first: curator_lock_get_participant_nodes(). A name
   *  may hold any byte.
   *  @param timeout  for the whole call; 0: up to the connection timeout
   *  @throws error  UNSUPPORTED for a multi_lock ... */
  std::vector<std::string>
  participant_nodes (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    char **nodes = curator_lock_get_participant_nodes (detail::require (native_handle ()), timeout,
                                                       cancellable, outcome);
    outcome.check (nodes);
    return detail::take_strings (nodes);
  }

  /** Ends holds granted from now on when they last so long, also if the holder hangs:
   *  curator_lock_set_max_hold(). curator::forever, the default: no maximum.
   *  @throws error  INVALID_ARGUMENT for no time at all */
  template <class Rep, class Period>
  void
  set_max_hold (const std::chrono::duration<Rep, Period> &max_hold)
  {
    const gint64 ms = detail::to_ms (max_hold);
    if (ms == 0)
      {
        detail::outcome refused;
        g_set_error_literal (refused, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                             "a maximum of no time at all");
        refused.check (false);
      }
    curator_lock_set_max_hold (detail::require (native_handle ()), ms);
  }

  /** Lets other clients ask for the lock back. Covers attempts that begin after this call.
   *  @param listener  called as listener ()
   *  @throws error  UNSUPPORTED for a multi_lock */
  template <class F>
  void
  make_revocable (F &&listener)
  {
    using callback = std::decay_t<F>;
    detail::outcome outcome;
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const gboolean taken = curator_lock_make_revocable (
        detail::require (native_handle ()),
        [] (CuratorLock *, gpointer data) {
          detail::shield ([&] { (*static_cast<callback *> (data)) (); });
        },
        kept.get (), detail::destroy<callback>, outcome);
    outcome.check (taken != FALSE);
    kept.release ();
  }

  /** Reverts make_revocable(). */
  void
  make_irrevocable ()
  {
    detail::outcome outcome;
    outcome.check (curator_lock_make_revocable (detail::require (native_handle ()), nullptr,
                                                nullptr, nullptr, outcome)
                   != FALSE);
  }

  /** The lock for the C functions; borrowed. */
  CuratorLock *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

protected:
  /** A new reference, for share() of the derived classes. */
  CuratorLock *
  new_ref () const noexcept
  {
    return handle_.new_ref ();
  }

  /** The mode of unlock(). */
  unlock_mode
  mode () const noexcept
  {
    return mode_;
  }

private:
  static void
  log_misuse (const GError *failed) noexcept
  {
    if (g_error_matches (failed, CURATOR_ERROR, CURATOR_ERROR_NOT_OWNER))
      {
        g_log ("curator", G_LOG_LEVEL_CRITICAL, "unlock: %s", failed->message);
      }
  }

  detail::handle<CuratorLock, curator_lock_ref, curator_lock_unref> handle_;
  unlock_mode mode_ = unlock_mode::wait;
};

/** How a node is created: CuratorCreateMode. */
enum class create_mode
{
  persistent = CURATOR_CREATE_PERSISTENT,
  persistent_sequential = CURATOR_CREATE_PERSISTENT_SEQUENTIAL,
  ephemeral = CURATOR_CREATE_EPHEMERAL,
  ephemeral_sequential = CURATOR_CREATE_EPHEMERAL_SEQUENTIAL
};

/** The node that an attempt creates, for a driver to describe. Valid only during the call. */
class node_request
{
public:
  /** Wraps the request of a C driver; borrowed. */
  explicit node_request (CuratorNodeRequest *request) : request_ (detail::require (request))
  {
  }

  /** The name so far: at first the lock's name. */
  std::string
  name () const
  {
    return curator_node_request_get_name (request_);
  }

  /** Sets the name. */
  void
  set_name (const std::string &name)
  {
    curator_node_request_set_name (request_, detail::c_text (name));
  }

  /** Sets the mode; default: ephemeral and sequential. */
  void
  set_mode (create_mode mode)
  {
    curator_node_request_set_mode (request_, static_cast<CuratorCreateMode> (mode));
  }

  /** Sets the payload; default: the lock's. */
  void
  set_data (std::string_view data)
  {
    curator_node_request_set_data (request_, data.data (), data.size ());
  }

  /** Sets whether a unique prefix protects the node; default: true. */
  void
  set_protected (bool is_protected)
  {
    curator_node_request_set_protected (request_, is_protected ? TRUE : FALSE);
  }

private:
  CuratorNodeRequest *request_;
};

/** What a driver decides about a node. */
struct predicate_results
{
  bool gets_the_lock = false; /**< whether the node holds the lock */
  /** Otherwise the child whose deletion to wait for; empty for any change of the children. */
  std::string path_to_watch{};
};

/** Members of a driver: CuratorLockDriverFuncs. One that is not set is the standard driver's. They
 *  may be called concurrently. */
struct lock_driver_functions
{
  /** Describes the node to create. After an exception the default is created. */
  std::function<void (node_request &)> creates_the_lock{};
  /** Called with the names of the children in order, the attempt's own name, and how many may hold
   *  at the same time. After an exception the node does not hold the lock. */
  std::function<predicate_results (const std::vector<std::string_view> &, std::string_view, int)>
      gets_the_lock{};
  /** Called with a child's name and the lock's name; returns the end of the child's name to sort
   *  by. After an exception, and for anything but an end of that name, the child is foreign. */
  std::function<std::string_view (std::string_view, std::string_view)> fix_for_sorting{};
};

/** Decides who holds a lock, for recipes of your own. Wraps CuratorLockDriver; see
 *  lock_internals.h. */
class lock_driver
{
public:
  /** An empty handle. */
  lock_driver () noexcept = default;

  /** Creates a driver of these functions. */
  explicit lock_driver (lock_driver_functions functions)
  {
    auto kept = std::make_unique<state> ();
    kept->functions = std::move (functions);
    CuratorLockDriverFuncs funcs = {};
    funcs.creates_the_lock = kept->functions.creates_the_lock ? creates_the_lock : nullptr;
    funcs.gets_the_lock = kept->functions.gets_the_lock ? gets_the_lock : nullptr;
    funcs.fix_for_sorting = kept->functions.fix_for_sorting ? fix_for_sorting : nullptr;
    handle_ = driver_handle (
        detail::require (curator_lock_driver_new (&funcs, kept.get (), detail::destroy<state>)));
    kept.release ();
  }

  /** Takes over a reference. */
  explicit lock_driver (CuratorLockDriver *driver) noexcept : handle_ (driver)
  {
  }

  /** Promises that no later node is granted before an earlier one:
   *  curator_lock_driver_set_nothing_overtakes(). Before the first lock uses the driver. */
  void
  set_nothing_overtakes (bool nothing_overtakes)
  {
    curator_lock_driver_set_nothing_overtakes (detail::require (native_handle ()),
                                               nothing_overtakes ? TRUE : FALSE);
  }

  /** Another handle of the same driver. */
  lock_driver
  share () const noexcept
  {
    return lock_driver (handle_.new_ref ());
  }

  /** The driver for the C functions; borrowed. */
  CuratorLockDriver *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using driver_handle =
      detail::handle<CuratorLockDriver, curator_lock_driver_ref, curator_lock_driver_unref>;

  struct state
  {
    lock_driver_functions functions;
  };

  static void
  creates_the_lock (CuratorLockDriver *, CuratorNodeRequest *request, gpointer data)
  {
    detail::shield_question ([&] {
      node_request described (request);
      static_cast<state *> (data)->functions.creates_the_lock (described);
    });
  }

  static void
  gets_the_lock (CuratorLockDriver *, const char *const *children, gsize n_children,
                 const char *sequence_node_name, int max_leases, CuratorPredicateResults *results,
                 gpointer data)
  {
    detail::shield_question ([&] {
      /* C reads the name after the return. */
      static thread_local std::string to_watch;
      const std::vector<std::string_view> names (children, children + n_children);
      predicate_results decided = static_cast<state *> (data)->functions.gets_the_lock (
          names, sequence_node_name, max_leases);
      to_watch = std::move (decided.path_to_watch);
      results->gets_the_lock = decided.gets_the_lock ? TRUE : FALSE;
      results->path_to_watch = to_watch.empty () ? nullptr : detail::c_text (to_watch);
    });
  }

  static const char *
  fix_for_sorting (CuratorLockDriver *, const char *name, const char *lock_name, gpointer data)
  {
    const char *key = name;
    detail::shield_question ([&] {
      const std::string_view whole (name);
      const std::string_view end =
          static_cast<state *> (data)->functions.fix_for_sorting (whole, lock_name);
      if (end.size () <= whole.size () && whole.substr (whole.size () - end.size ()) == end)
        {
          key = name + (whole.size () - end.size ());
        }
    });
    return key;
  }

  driver_handle handle_;
};

/** A fair, re-entrant mutex: curator_mutex_new(). */
class mutex : public lockable
{
public:
  /** An empty handle. */
  mutex () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT */
  mutex (const client &client, const std::string &path, unlock_mode mode = unlock_mode::wait)
      : mutex (make (client, path), mode)
  {
  }

  /** Creates a lock with a driver: curator_mutex_new_with_driver(). @throws error  INVALID_ARGUMENT
   *  @param lock_name   what the names of its nodes begin with, for example "lock-"
   *  @param max_leases  passed to the driver */
  mutex (const client &client, const std::string &path, const std::string &lock_name,
         int max_leases, const lock_driver &driver, unlock_mode mode = unlock_mode::wait)
      : mutex (make (client, path, lock_name, max_leases, driver), mode)
  {
  }

  /** Another handle of the same lock object, holds included. */
  mutex
  share () const noexcept
  {
    return mutex (new_ref (), mode ());
  }

private:
  mutex (CuratorLock *lock, unlock_mode mode) noexcept : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::string &path)
  {
    detail::outcome outcome;
    CuratorLock *lock = curator_mutex_new (detail::require (client.native_handle ()),
                                           detail::c_text (path), outcome);
    outcome.check (lock);
    return lock;
  }

  static CuratorLock *
  make (const client &client, const std::string &path, const std::string &lock_name, int max_leases,
        const lock_driver &driver)
  {
    detail::outcome outcome;
    return outcome.check (curator_mutex_new_with_driver (
        detail::require (client.native_handle ()), detail::c_text (path),
        detail::c_text (lock_name), max_leases, detail::require (driver.native_handle ()),
        outcome));
  }
};

/** A lock that is one ephemeral node, without a queue: curator_fixed_node_lock_new(). */
class fixed_node_lock : public lockable
{
public:
  /** An empty handle. */
  fixed_node_lock () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param node_path  path of the node itself */
  fixed_node_lock (const client &client, const std::string &node_path,
                   unlock_mode mode = unlock_mode::wait)
      : fixed_node_lock (make (client, node_path), mode)
  {
  }

  /** Another handle of the same lock object, holds included. */
  fixed_node_lock
  share () const noexcept
  {
    return fixed_node_lock (new_ref (), mode ());
  }

private:
  fixed_node_lock (CuratorLock *lock, unlock_mode mode) noexcept : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::string &path)
  {
    detail::outcome outcome;
    return outcome.check (curator_fixed_node_lock_new (detail::require (client.native_handle ()),
                                                       detail::c_text (path), outcome));
  }
};

/** A fair mutex that is not re-entrant and that any thread may unlock:
 *  curator_semaphore_mutex_new(). */
class semaphore_mutex : public lockable
{
public:
  /** An empty handle. */
  semaphore_mutex () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT */
  semaphore_mutex (const client &client, const std::string &path,
                   unlock_mode mode = unlock_mode::wait)
      : semaphore_mutex (make (client, path), mode)
  {
  }

  /** Another handle of the same lock object, its hold included. */
  semaphore_mutex
  share () const noexcept
  {
    return semaphore_mutex (new_ref (), mode ());
  }

private:
  semaphore_mutex (CuratorLock *lock, unlock_mode mode) noexcept : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::string &path)
  {
    detail::outcome outcome;
    CuratorLock *lock = curator_semaphore_mutex_new (detail::require (client.native_handle ()),
                                                     detail::c_text (path), outcome);
    outcome.check (lock);
    return lock;
  }
};

/** The order in which a multi_lock acquires its members. */
enum class lock_order
{
  sorted, /**< in byte order of their paths: callers cannot deadlock */
  given   /**< as given, like Java; all callers must use the same order */
};

/** Several locks as one: curator_multi_lock_new(). Locks all members or none, unlocks in
 *  reverse. */
class multi_lock : public lockable
{
public:
  /** An empty handle. */
  multi_lock () noexcept = default;

  /** Creates a lock of mutexes, one for each path; no path twice. @throws error
   *  INVALID_ARGUMENT */
  multi_lock (const client &client, const std::vector<std::string> &paths,
              lock_order order = lock_order::sorted, unlock_mode mode = unlock_mode::wait)
      : multi_lock (make (client, paths, order), mode)
  {
  }

  /** Creates a lock of these locks, of any recipe and any client, in this order. Their handles may
   *  be destroyed first. */
  explicit multi_lock (std::initializer_list<std::reference_wrapper<const lockable>> members,
                       unlock_mode mode = unlock_mode::wait)
      : multi_lock (make (members), mode)
  {
  }

  /** Another handle of the same lock object, holds included. */
  multi_lock
  share () const noexcept
  {
    return multi_lock (new_ref (), mode ());
  }

private:
  multi_lock (CuratorLock *lock, unlock_mode mode) noexcept : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::vector<std::string> &paths, lock_order order)
  {
    std::vector<const char *> texts;
    texts.reserve (paths.size () + 1);
    for (const std::string &path : paths)
      {
        texts.push_back (detail::c_text (path));
      }
    texts.push_back (nullptr);
    detail::outcome outcome;
    CuratorLock *lock = order == lock_order::sorted
                            ? curator_multi_lock_new_for_paths_sorted (
                                detail::require (client.native_handle ()), texts.data (), outcome)
                            : curator_multi_lock_new_for_paths (
                                detail::require (client.native_handle ()), texts.data (), outcome);
    outcome.check (lock);
    return lock;
  }

  static CuratorLock *
  make (std::initializer_list<std::reference_wrapper<const lockable>> members)
  {
    std::vector<CuratorLock *> locks;
    locks.reserve (members.size ());
    for (const lockable &member : members)
      {
        locks.push_back (detail::require (member.native_handle ()));
      }
    return detail::require (curator_multi_lock_new (locks.data (), locks.size ()));
  }
};

/** Many readers or one writer. Wraps CuratorRwLock; see rwlock.h. It is a SharedTimedMutex:
 *  std::unique_lock writes, std::shared_lock reads. A thread that holds the writer's side can lock
 *  the readers' side too and keeps it when it unlocks the writer's side. The reverse, an upgrade,
 *  throws UNSUPPORTED. */
class rw_lock
{
public:
  /** An empty handle. */
  rw_lock () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT, LIMIT_EXCEEDED
   *  @param data  payload of the lock nodes; nullopt for the client's default */
  rw_lock (const client &client, const std::string &path, unlock_mode mode = unlock_mode::wait,
           const std::optional<std::string> &data = std::nullopt)
      : rw_lock (make (client, path, data), mode)
  {
  }

  /** Takes over a reference. */
  explicit rw_lock (CuratorRwLock *lock, unlock_mode mode = unlock_mode::wait) noexcept
      : handle_ (lock), mode_ (mode)
  {
    if (lock != nullptr)
      {
        reader_ = lockable (curator_lock_ref (curator_rw_lock_read_lock (lock)), mode);
        writer_ = lockable (curator_lock_ref (curator_rw_lock_write_lock (lock)), mode);
      }
  }

  /** The readers' side as a lock. */
  lockable &
  reader () noexcept
  {
    return reader_;
  }

  /** The writer's side as a lock. */
  lockable &
  writer () noexcept
  {
    return writer_;
  }

  /** Locks the writer's side; lockable::lock(). */
  void
  lock (GCancellable *cancellable = nullptr)
  {
    writer_.lock (cancellable);
  }

  /** Locks the writer's side if no other contender is ahead. */
  bool
  try_lock ()
  {
    return writer_.try_lock ();
  }

  /** Locks the writer's side within a timeout. */
  template <class Rep, class Period>
  bool
  try_lock_for (const std::chrono::duration<Rep, Period> &timeout,
                GCancellable *cancellable = nullptr)
  {
    return writer_.try_lock_for (timeout, cancellable);
  }

  /** Locks the writer's side within a timeout. */
  template <class Clock, class Duration>
  bool
  try_lock_until (const std::chrono::time_point<Clock, Duration> &time,
                  GCancellable *cancellable = nullptr)
  {
    return writer_.try_lock_until (time, cancellable);
  }

  /** Unlocks the writer's side; lockable::unlock(). */
  void
  unlock () noexcept
  {
    writer_.unlock ();
  }

  /** Locks the readers' side; lockable::lock(). */
  void
  lock_shared (GCancellable *cancellable = nullptr)
  {
    reader_.lock (cancellable);
  }

  /** Locks the readers' side if no writer is ahead. */
  bool
  try_lock_shared ()
  {
    return reader_.try_lock ();
  }

  /** Locks the readers' side within a timeout. */
  template <class Rep, class Period>
  bool
  try_lock_shared_for (const std::chrono::duration<Rep, Period> &timeout,
                       GCancellable *cancellable = nullptr)
  {
    return reader_.try_lock_for (timeout, cancellable);
  }

  /** Locks the readers' side within a timeout. */
  template <class Clock, class Duration>
  bool
  try_lock_shared_until (const std::chrono::time_point<Clock, Duration> &time,
                         GCancellable *cancellable = nullptr)
  {
    return reader_.try_lock_until (time, cancellable);
  }

  /** Unlocks the readers' side; lockable::unlock(). */
  void
  unlock_shared () noexcept
  {
    reader_.unlock ();
  }

  /** Another handle of the same pair of locks, holds included. */
  rw_lock
  share () const noexcept
  {
    return rw_lock (handle_.new_ref (), mode_);
  }

  /** The pair for the C functions; borrowed. */
  CuratorRwLock *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  static CuratorRwLock *
  make (const client &client, const std::string &path, const std::optional<std::string> &data)
  {
    detail::outcome outcome;
    CuratorRwLock *lock =
        curator_rw_lock_new (detail::require (client.native_handle ()), detail::c_text (path),
                             data ? data->data () : nullptr, data ? data->size () : 0, outcome);
    outcome.check (lock);
    return lock;
  }

  detail::handle<CuratorRwLock, curator_rw_lock_ref, curator_rw_lock_unref> handle_;
  unlock_mode mode_ = unlock_mode::wait;
  lockable reader_;
  lockable writer_;
};

/** An integer shared by all processes. Wraps CuratorSharedCount; see shared_count.h. */
class shared_count
{
public:
  /** An empty handle. */
  shared_count () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param seed  the value until start(), and of the node if start() creates it */
  shared_count (const client &client, const std::string &path, std::int32_t seed)
  {
    detail::outcome outcome;
    handle_ = count_handle (curator_shared_count_new (detail::require (client.native_handle ()),
                                                      detail::c_text (path), seed, outcome));
    outcome.check (handle_.get ());
  }

  /** Takes over a reference. */
  explicit shared_count (CuratorSharedCount *object) noexcept : handle_ (object)
  {
  }

  /** Creates the node if it does not exist, reads it and follows its changes from then on:
   *  curator_shared_count_start().
   *  @param timeout  for the whole call; 0: up to the connection timeout. As for the other calls */
  void
  start (detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    outcome.check (curator_shared_count_start (detail::require (native_handle ()), timeout,
                                               cancellable, outcome)
                   != FALSE);
  }

  /** The last known value. Sends no request. */
  std::int32_t
  get () const
  {
    return curator_shared_count_get (detail::require (native_handle ()));
  }

  /** Sets the value unconditionally and waits for the server: curator_shared_count_set(). */
  void
  set (std::int32_t value, detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    outcome.check (curator_shared_count_set (detail::require (native_handle ()), value, timeout,
                                             cancellable, outcome)
                   != FALSE);
  }

  /** A value and the version of the node that has it. */
  struct versioned_value
  {
    std::int32_t value;   /**< the count */
    std::int32_t version; /**< of the node */
  };

  /** The last known value and its version; nothing if the node was never read. */
  std::optional<versioned_value>
  versioned () const
  {
    versioned_value last = { 0, 0 };
    const gboolean known = curator_shared_count_get_versioned (detail::require (native_handle ()),
                                                               &last.value, &last.version);
    return known ? std::optional<versioned_value> (last) : std::nullopt;
  }

  /** Sets the value if its version still is @p version, from versioned():
   *  curator_shared_count_try_set().
   *  @return false if another client changed the value first; the newer value has been read then */
  bool
  try_set (std::int32_t version, std::int32_t value, detail::timeout timeout = {},
           GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    gboolean set = FALSE;
    outcome.check (curator_shared_count_try_set (detail::require (native_handle ()), version, value,
                                                 &set, timeout, cancellable, outcome)
                   != FALSE);
    return set != FALSE;
  }

  /** Adds a listener, called as listener (std::int32_t) with each new value; values that change
   *  quickly may be skipped.
   *  @return an id for remove_listener() */
  template <class F>
  unsigned
  add_listener (F &&listener)
  {
    using callback = std::decay_t<F>;
    CuratorSharedCount *const object = detail::require (native_handle ());
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const guint id = curator_shared_count_add_listener (
        object,
        [] (CuratorSharedCount *, gint32 value, gpointer data) {
          detail::shield ([&] { (*static_cast<callback *> (data)) (std::int32_t (value)); });
        },
        kept.get (), detail::destroy<callback>);
    return detail::release_to_library (kept, id);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_listener (unsigned id) noexcept
  {
    if (native_handle () != nullptr)
      {
        curator_shared_count_remove_listener (native_handle (), id);
      }
  }

  /** Stops following the node, without deleting it. */
  void
  close () noexcept
  {
    if (native_handle () != nullptr)
      {
        curator_shared_count_close (native_handle ());
      }
  }

  /** Another handle of the same count. */
  shared_count
  share () const noexcept
  {
    return shared_count (handle_.new_ref ());
  }

  /** The count for the C functions; borrowed. */
  CuratorSharedCount *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using count_handle =
      detail::handle<CuratorSharedCount, curator_shared_count_ref, curator_shared_count_unref>;
  count_handle handle_;
};

/** A number of leases among all processes, handed out in order of arrival. Wraps CuratorSemaphore;
 *  see semaphore.h. */
class semaphore
{
public:
  /** An empty handle. */
  semaphore () noexcept = default;

  /** @param max_leases  at least 1; all processes must use the same number.
   *  @throws error  INVALID_ARGUMENT */
  semaphore (const client &client, const std::string &path, int max_leases)
  {
    detail::outcome outcome;
    handle_ = semaphore_handle (curator_semaphore_new (detail::require (client.native_handle ()),
                                                       detail::c_text (path), max_leases, outcome));
    outcome.check (handle_.get ());
  }

  /** Creates a semaphore whose number of leases follows @p count, which must be started.
   *  @throws error  INVALID_ARGUMENT */
  semaphore (const client &client, const std::string &path, const shared_count &count)
  {
    detail::outcome outcome;
    handle_ = semaphore_handle (curator_semaphore_new_with_shared_count (
        detail::require (client.native_handle ()), detail::c_text (path),
        detail::require (count.native_handle ()), outcome));
    outcome.check (handle_.get ());
  }

  /** Takes over a reference. */
  explicit semaphore (CuratorSemaphore *object) noexcept : handle_ (object)
  {
  }

  /** Acquires one lease, waiting its turn. @throws error  as lockable::lock() */
  lease
  acquire (GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_semaphore_acquire (detail::require (native_handle ()),
                                              CURATOR_WAIT_FOREVER, cancellable, outcome));
    outcome.check (granted.native_handle ());
    return granted;
  }

  /** The same, within a timeout. @throws error  also TIMED_OUT */
  template <class Rep, class Period>
  lease
  acquire (const std::chrono::duration<Rep, Period> &timeout, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_semaphore_acquire (detail::require (native_handle ()),
                                              detail::to_ms (timeout), cancellable, outcome));
    outcome.check (granted.native_handle ());
    return granted;
  }

  /** Acquires one lease if one is free and no other contender is ahead. @throws error  as
   *  lockable::try_lock() */
  std::optional<lease>
  try_acquire ()
  {
    return try_acquire_for (std::chrono::milliseconds::zero ());
  }

  /** Acquires one lease within a timeout. */
  template <class Rep, class Period>
  std::optional<lease>
  try_acquire_for (const std::chrono::duration<Rep, Period> &timeout,
                   GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_semaphore_acquire (detail::require (native_handle ()),
                                              detail::to_ms (timeout), cancellable, outcome));
    if (!outcome.in_time (granted.native_handle () != nullptr))
      {
        return std::nullopt;
      }
    return granted;
  }

  /** Acquires @p n leases within a timeout, or none: then the vector is empty. */
  template <class Rep, class Period>
  std::vector<lease>
  try_acquire_n_for (int n, const std::chrono::duration<Rep, Period> &timeout,
                     GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    GPtrArray *granted = curator_semaphore_acquire_n (
        detail::require (native_handle ()), n, detail::to_ms (timeout), cancellable, outcome);
    return outcome.in_time (granted != nullptr) ? take_leases (granted) : std::vector<lease> ();
  }

  /** Acquires @p n leases asynchronously.
   *  @param done  called as done (std::vector<lease>, const error *), once: the leases and NULL, or
   *               no leases and an error, which is borrowed */
  template <class Rep, class Period, class F>
  void
  acquire_async (int n, const std::chrono::duration<Rep, Period> &timeout, F &&done,
                 GCancellable *cancellable = nullptr)
  {
    using callback = std::decay_t<F>;
    CuratorSemaphore *const object = detail::require (native_handle ());
    curator_semaphore_acquire_async (
        object, n, detail::to_ms (timeout), cancellable,
        [] (CuratorSemaphore *, GPtrArray *granted, const GError *failed, gpointer data) {
          detail::shield ([&] {
            const auto kept = detail::take<callback> (data);
            auto leases = granted != nullptr ? take_leases (granted) : std::vector<lease> ();
            const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
            (*kept) (std::move (leases), why ? &*why : nullptr);
          });
        },
        detail::keep (std::forward<F> (done)));
  }

  /** The number of leases, or the last known value of the shared count. */
  int
  max_leases () const
  {
    return curator_semaphore_get_max_leases (detail::require (native_handle ()));
  }

  /** Sets the payload of the nodes of later leases. */
  void
  set_node_data (std::string_view data)
  {
    curator_semaphore_set_node_data (detail::require (native_handle ()), data.data (),
                                     data.size ());
  }

  /** Full paths of the lease nodes, oldest first: curator_semaphore_get_participant_nodes(). A name may
   *  hold any byte.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  std::vector<std::string>
  participant_nodes (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    char **nodes = curator_semaphore_get_participant_nodes (detail::require (native_handle ()),
                                                            timeout, cancellable, outcome);
    outcome.check (nodes);
    return detail::take_strings (nodes);
  }

  /** Lets other clients ask for a lease back. Covers leases acquired after this call.
   *  @param listener  called as listener (const lease &); the lease is borrowed: share() it to keep
   *                   it */
  template <class F>
  void
  make_revocable (F &&listener)
  {
    using callback = std::decay_t<F>;
    detail::outcome outcome;
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const gboolean taken = curator_semaphore_make_revocable (
        detail::require (native_handle ()),
        [] (CuratorSemaphore *, CuratorLease *asked, gpointer data) {
          detail::shield ([&] {
            const lease hold (curator_lease_ref (asked));
            (*static_cast<callback *> (data)) (hold);
          });
        },
        kept.get (), detail::destroy<callback>, outcome);
    outcome.check (taken != FALSE);
    kept.release ();
  }

  /** Another handle of the same semaphore. */
  semaphore
  share () const noexcept
  {
    return semaphore (handle_.new_ref ());
  }

  /** The semaphore for the C functions; borrowed. */
  CuratorSemaphore *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using semaphore_handle =
      detail::handle<CuratorSemaphore, curator_semaphore_ref, curator_semaphore_unref>;

  static std::vector<lease>
  take_leases (GPtrArray *granted)
  {
    const std::unique_ptr<GPtrArray, void (*) (GPtrArray *)> owner (granted, g_ptr_array_unref);
    std::vector<lease> leases;
    leases.reserve (granted->len);
    for (guint i = 0; i < granted->len; i++)
      {
        leases.emplace_back (
            curator_lease_ref (static_cast<CuratorLease *> (g_ptr_array_index (granted, i))));
      }
    return leases;
  }

  semaphore_handle handle_;
};

/** A candidate in an election when the server was asked. Copies a CuratorLeaderParticipant. */
struct leader_participant
{
  std::string id; /**< that the participant was given */
  bool is_leader; /**< it led */
};

/** Which listeners hear that a closed latch leads no more. Wraps CuratorLeaderLatchCloseMode. */
enum class latch_close_mode
{
  silent = CURATOR_LEADER_LATCH_SILENT,              /**< none */
  notify_leader = CURATOR_LEADER_LATCH_NOTIFY_LEADER /**< those of a latch that leads */
};

namespace detail
{
/* Takes over the participant. */
inline leader_participant
take_participant (CuratorLeaderParticipant *object)
{
  const handle<CuratorLeaderParticipant, curator_leader_participant_ref,
               curator_leader_participant_unref>
      owner (object);
  return { curator_leader_participant_get_id (object),
           curator_leader_participant_is_leader (object) != FALSE };
}

/* Nothing, if there was no error. */
inline std::optional<leader_participant>
take_leader (const outcome &outcome, CuratorLeaderParticipant *object)
{
  outcome.check (true);
  return object != nullptr ? std::optional<leader_participant> (take_participant (object))
                           : std::nullopt;
}

/* Takes over the array. */
inline std::vector<leader_participant>
take_participants (GPtrArray *objects)
{
  const std::unique_ptr<GPtrArray, void (*) (GPtrArray *)> owner (objects, g_ptr_array_unref);
  std::vector<leader_participant> participants;
  for (guint i = 0; i < objects->len; i++)
    {
      auto *const object = static_cast<CuratorLeaderParticipant *> (g_ptr_array_index (objects, i));
      participants.push_back (take_participant (curator_leader_participant_ref (object)));
    }
  return participants;
}
}

/** Runs a function on a thread of its own while it leads. Wraps CuratorLeaderSelector; see
 *  leader.h. */
class leader_selector
{
public:
  /** An empty handle. */
  leader_selector () noexcept = default;

  /** Takes over a reference. */
  explicit leader_selector (CuratorLeaderSelector *object) noexcept : handle_ (object)
  {
  }

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param lead  called as lead (const lease &, GCancellable *) for each leadership, which ends when
   *               it returns. It should return soon after the cancellable was cancelled; in C++20,
   *               stop_token_of (cancellable) is a token for that. lease::stop_token() is stopped
   *               only when the lease has ended, whatever the rule of the selector */
  template <class F> leader_selector (const client &client, const std::string &path, F &&lead)
  {
    using callback = std::decay_t<F>;
    CuratorClient *const owner = detail::require (client.native_handle ());
    const char *const where = detail::c_text (path);
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (lead)));
    detail::outcome outcome;
    handle_ = selector_handle (curator_leader_selector_new (
        owner, where,
        [] (CuratorLeaderSelector *, CuratorLease *held, GCancellable *cancellable, gpointer data) {
          detail::shield ([&] {
            const lease leadership (curator_lease_ref (held));
            (*static_cast<callback *> (data)) (leadership, cancellable);
          });
        },
        kept.get (), detail::destroy<callback>, outcome));
    outcome.check (handle_.get ());
    kept.release ();
  }

  /** Sets the id, which other participants see. Call it before start(). */
  void
  set_id (const std::string &id)
  {
    curator_leader_selector_set_id (detail::require (native_handle ()), detail::c_text (id));
  }

  /** The id; empty if none was set. */
  std::string
  id () const
  {
    return curator_leader_selector_get_id (detail::require (native_handle ()));
  }

  /** Sets whether it queues again after each leadership and each failure; default false. */
  void
  set_auto_requeue (bool auto_requeue)
  {
    curator_leader_selector_set_auto_requeue (detail::require (native_handle ()), auto_requeue);
  }

  /** Sets whether the cancellable is cancelled only when the lease ends, and not as soon as it is
   *  suspect; default false. */
  void
  set_until_lost (bool until_lost)
  {
    curator_leader_selector_set_until_lost (detail::require (native_handle ()), until_lost);
  }

  /** Queues for leadership, in the background. Only once. */
  void
  start ()
  {
    detail::outcome outcome;
    outcome.check (curator_leader_selector_start (detail::require (native_handle ()), outcome)
                   != FALSE);
  }

  /** Queues again. @return false if it is queued or leading already, not started, or closed */
  bool
  requeue ()
  {
    return curator_leader_selector_requeue (detail::require (native_handle ())) != FALSE;
  }

  /** Cancels the current leadership, if there is one. */
  void
  interrupt_leadership ()
  {
    curator_leader_selector_interrupt_leadership (detail::require (native_handle ()));
  }

  /** Whether it leads now, by the local clock. Sends no request. */
  bool
  has_leadership () const
  {
    return curator_leader_selector_has_leadership (detail::require (native_handle ())) != FALSE;
  }

  /** Reads the candidates from the server, the leader first.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  std::vector<leader_participant>
  participants (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    return detail::take_participants (outcome.check (curator_leader_selector_get_participants (
        detail::require (native_handle ()), timeout, cancellable, outcome)));
  }

  /** Reads the leader from the server; nothing if there is none.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  std::optional<leader_participant>
  leader (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    return detail::take_leader (
        outcome, curator_leader_selector_get_leader (detail::require (native_handle ()), timeout,
                                                     cancellable, outcome));
  }

  /** Leaves the queue, or cancels the current leadership. Does not wait. */
  void
  close () noexcept
  {
    if (native_handle () != nullptr)
      {
        curator_leader_selector_close (native_handle ());
      }
  }

  /** Another handle of the same selector. */
  leader_selector
  share () const noexcept
  {
    return leader_selector (handle_.new_ref ());
  }

  /** The selector for the C functions; borrowed. */
  CuratorLeaderSelector *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using selector_handle = detail::handle<CuratorLeaderSelector, curator_leader_selector_ref,
                                         curator_leader_selector_unref>;
  selector_handle handle_;
};

/** Leads from its turn until it is closed. Wraps CuratorLeaderLatch; see leader.h. */
class leader_latch
{
public:
  /** An empty handle. */
  leader_latch () noexcept = default;

  /** Takes over a reference. */
  explicit leader_latch (CuratorLeaderLatch *object) noexcept : handle_ (object)
  {
  }

  /** Sends no request. @throws error  INVALID_ARGUMENT, LIMIT_EXCEEDED
   *  @param id  what other participants see */
  leader_latch (const client &client, const std::string &path, const std::string &id = {})
  {
    detail::outcome outcome;
    handle_ = latch_handle (curator_leader_latch_new (detail::require (client.native_handle ()),
                                                      detail::c_text (path), detail::c_text (id),
                                                      outcome));
    outcome.check (handle_.get ());
  }

  /** The id; may be empty. */
  std::string
  id () const
  {
    return curator_leader_latch_get_id (detail::require (native_handle ()));
  }

  /** Sets whether it leads until its lease ends, and not only until the lease is suspect; default
   *  false. Call it before start(). */
  void
  set_until_lost (bool until_lost)
  {
    curator_leader_latch_set_until_lost (detail::require (native_handle ()), until_lost);
  }

  /** Queues for leadership, in the background. Only once. */
  void
  start ()
  {
    detail::outcome outcome;
    outcome.check (curator_leader_latch_start (detail::require (native_handle ()), outcome)
                   != FALSE);
  }

  /** Waits until it leads. @throws error  CLOSED, NOT_STARTED ... */
  void
  await (GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    outcome.check (curator_leader_latch_await (detail::require (native_handle ()),
                                               CURATOR_WAIT_FOREVER, cancellable, outcome)
                   != FALSE);
  }

  /** Waits within a timeout. @return whether it leads */
  template <class Rep, class Period>
  bool
  try_await_for (const std::chrono::duration<Rep, Period> &timeout,
                 GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    return outcome.in_time (curator_leader_latch_await (detail::require (native_handle ()),
                                                        detail::to_ms (timeout), cancellable,
                                                        outcome)
                            != FALSE);
  }

  /** Whether it leads now, by the local clock. Sends no request. */
  bool
  has_leadership () const
  {
    return curator_leader_latch_has_leadership (detail::require (native_handle ())) != FALSE;
  }

  /** The leadership, for its token and remaining time; nothing if it does not lead. Releasing it
   *  makes the latch queue again. */
  std::optional<lease>
  current_lease () const
  {
    CuratorLease *held = curator_leader_latch_dup_lease (detail::require (native_handle ()));
    return held != nullptr ? std::optional<lease> (lease (held)) : std::nullopt;
  }

  /** Reads the candidates from the server, the leader first.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  std::vector<leader_participant>
  participants (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    return detail::take_participants (outcome.check (curator_leader_latch_get_participants (
        detail::require (native_handle ()), timeout, cancellable, outcome)));
  }

  /** Reads the leader from the server; nothing if there is none.
   *  @param timeout  for the whole call; 0: up to the connection timeout */
  std::optional<leader_participant>
  leader (detail::timeout timeout = {}, GCancellable *cancellable = nullptr) const
  {
    detail::outcome outcome;
    return detail::take_leader (outcome,
                                curator_leader_latch_get_leader (detail::require (native_handle ()),
                                                                 timeout, cancellable, outcome));
  }

  /** Adds a listener, called as listener (bool is_leader) for every change, in order.
   *  @return an id for remove_listener() */
  template <class F>
  unsigned
  add_listener (F &&listener)
  {
    using callback = std::decay_t<F>;
    CuratorLeaderLatch *const object = detail::require (native_handle ());
    std::unique_ptr<callback> kept (detail::keep (std::forward<F> (listener)));
    const guint id = curator_leader_latch_add_listener (
        object,
        [] (CuratorLeaderLatch *, gboolean is_leader, gpointer data) {
          detail::shield ([&] { (*static_cast<callback *> (data)) (is_leader != FALSE); });
        },
        kept.get (), detail::destroy<callback>);
    return detail::release_to_library (kept, id);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_listener (unsigned id) noexcept
  {
    if (native_handle () != nullptr)
      {
        curator_leader_latch_remove_listener (native_handle (), id);
      }
  }

  /** Leaves the queue and gives up leadership at once; drops all listeners. */
  void
  close (latch_close_mode mode = latch_close_mode::silent) noexcept
  {
    if (native_handle () != nullptr)
      {
        curator_leader_latch_close (native_handle (),
                                    static_cast<CuratorLeaderLatchCloseMode> (mode));
      }
  }

  /** Another handle of the same latch. */
  leader_latch
  share () const noexcept
  {
    return leader_latch (handle_.new_ref ());
  }

  /** The latch for the C functions; borrowed. */
  CuratorLeaderLatch *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using latch_handle =
      detail::handle<CuratorLeaderLatch, curator_leader_latch_ref, curator_leader_latch_unref>;
  latch_handle handle_;
};

/** Which recipe the children of a path belong to: CuratorLockKind. Values may be added. */
enum class lock_kind
{
  none = CURATOR_LOCK_KIND_NONE,
  mutex = CURATOR_LOCK_KIND_MUTEX,
  read_write = CURATOR_LOCK_KIND_READ_WRITE,
  semaphore = CURATOR_LOCK_KIND_SEMAPHORE,
  leader_latch = CURATOR_LOCK_KIND_LEADER_LATCH
};

/** Name of a kind, for example "read-write". */
inline const char *
to_string (lock_kind kind) noexcept
{
  return curator_lock_kind_to_string (static_cast<CuratorLockKind> (kind));
}

/** What one lock node is for: CuratorParticipantKind. Values may be added. */
enum class participant_kind
{
  mutex = CURATOR_PARTICIPANT_MUTEX,
  read = CURATOR_PARTICIPANT_READ,
  write = CURATOR_PARTICIPANT_WRITE,
  lease = CURATOR_PARTICIPANT_LEASE,
  turn = CURATOR_PARTICIPANT_TURN,
  latch = CURATOR_PARTICIPANT_LATCH
};

/** Name of a kind, for example "write". */
inline const char *
to_string (participant_kind kind) noexcept
{
  return curator_participant_kind_to_string (static_cast<CuratorParticipantKind> (kind));
}

/** One lock node at the time of an inspection; inspect.h describes the members. */
struct participant
{
  participant_kind kind;         /**< of lock that the node is for */
  bool is_holder;                /**< the node holds the lock */
  unsigned position;             /**< in the queue of those who wait, from 1; 0 for a holder */
  std::string node_path;         /**< of the lock node */
  std::int64_t session_id;       /**< that owns the node */
  bool is_readable;              /**< the node could be read */
  std::chrono::milliseconds age; /**< of the node, by the clock of this host */
  std::uint64_t token;           /**< the fencing token */
  std::int64_t number;           /**< the sequence number */
  std::string data;              /**< the payload */
};

/** Who holds a lock and who waits for it. Wraps CuratorInspection; see inspect.h. Immutable. */
class inspection
{
public:
  /** An empty handle. */
  inspection () noexcept = default;

  /** Inspects the lock at @p path. Waits for the server.
   *  @param timeout  for the whole call; 0: up to the connection timeout
   *  @throws error  see curator_inspect() */
  inspection (const client &client, const std::string &path, detail::timeout timeout = {},
              GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    handle_ = inspection_handle (
        outcome.check (curator_inspect (detail::require (client.native_handle ()),
                                        detail::c_text (path), timeout, cancellable, outcome)));
  }

  /** Takes over a reference. */
  explicit inspection (CuratorInspection *object) noexcept : handle_ (object)
  {
  }

  /** The inspected path. */
  std::string
  path () const
  {
    return curator_inspection_get_path (detail::require (native_handle ()));
  }

  /** The recipe that most of the lock nodes belong to. */
  lock_kind
  kind () const
  {
    return static_cast<lock_kind> (
        curator_inspection_get_kind (detail::require (native_handle ())));
  }

  /** Number of holders. */
  unsigned
  n_holders () const
  {
    return curator_inspection_get_n_holders (detail::require (native_handle ()));
  }

  /** Number of waiting contenders. */
  unsigned
  n_waiting () const
  {
    return curator_inspection_get_n_waiting (detail::require (native_handle ()));
  }

  /** Holders first, then the waiting ones in queue order. */
  std::vector<participant>
  participants () const
  {
    CuratorInspection *const object = detail::require (native_handle ());
    const guint n = curator_inspection_get_n_participants (object);
    std::vector<participant> all;
    all.reserve (n);
    for (guint i = 0; i < n; i++)
      {
        all.push_back (copy (curator_inspection_get_participant (object, i)));
      }
    return all;
  }

  /** Names of children that are not nodes of the lock's recipe. */
  std::vector<std::string>
  foreign_children () const
  {
    std::vector<std::string> names;
    const char *const *name =
        curator_inspection_get_foreign_children (detail::require (native_handle ()));
    for (; *name != nullptr; name++)
      {
        names.emplace_back (*name);
      }
    return names;
  }

  /** The sequence number of the next node. */
  std::int64_t
  next_number () const
  {
    return curator_inspection_get_next_number (detail::require (native_handle ()));
  }

  /** Deletes the node of the participant at that index if no session owns it:
   *  curator_delete_ownerless(). @throws std::out_of_range  there is no such participant */
  void
  delete_ownerless (const client &client, unsigned i, detail::timeout timeout = {},
                    GCancellable *cancellable = nullptr) const
  {
    const CuratorParticipant *one =
        curator_inspection_get_participant (detail::require (native_handle ()), i);
    if (one == nullptr)
      {
        throw std::out_of_range ("no such participant");
      }
    detail::outcome outcome;
    outcome.check (curator_delete_ownerless (detail::require (client.native_handle ()), one,
                                             timeout, cancellable, outcome)
                   != FALSE);
  }

  /** The share of the sequence counter that is used up, 0 to 1. */
  double
  counter_used () const
  {
    return curator_inspection_get_counter_used (detail::require (native_handle ()));
  }

  /** Another handle of the same inspection. */
  inspection
  share () const noexcept
  {
    return inspection (handle_.new_ref ());
  }

  /** The inspection for the C functions; borrowed. */
  CuratorInspection *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using inspection_handle =
      detail::handle<CuratorInspection, curator_inspection_ref, curator_inspection_unref>;

  static participant
  copy (const CuratorParticipant *one)
  {
    gsize size = 0;
    const void *data = g_bytes_get_data (curator_participant_get_data (one), &size);
    return { static_cast<participant_kind> (curator_participant_get_kind (one)),
             curator_participant_is_holder (one) != FALSE,
             curator_participant_get_position (one),
             curator_participant_get_node_path (one),
             curator_participant_get_session_id (one),
             curator_participant_is_readable (one) != FALSE,
             std::chrono::milliseconds (curator_participant_get_age_ms (one)),
             curator_participant_get_token (one),
             curator_participant_get_number (one),
             size > 0 ? std::string (static_cast<const char *> (data), size) : std::string () };
  }

  inspection_handle handle_;
};

/** The result of find_locks(). */
struct found_locks
{
  std::vector<std::string> paths; /**< in byte order */
  bool complete;                  /**< false if there were more nodes, or one was not readable */
};

/** Paths of the locks that are held or waited for at or below a path: curator_find_locks().
 *  @param max_nodes  how many nodes to list at most; 0 for 100000
 *  @param timeout    for the whole call; 0: up to the connection timeout */
inline found_locks
find_locks (const client &client, const std::string &path, unsigned max_nodes = 0,
            detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
{
  detail::outcome outcome;
  gboolean complete = FALSE;
  char **paths = outcome.check (curator_find_locks (detail::require (client.native_handle ()),
                                                    detail::c_text (path), max_nodes, &complete,
                                                    timeout, cancellable, outcome));
  return { detail::take_strings (paths), complete != FALSE };
}

/** Every lock at or below a path: curator_inspect_all().
 *  @param previous  the result of the last call: locks that have not changed are not read again */
inline std::vector<inspection>
inspect_all (const client &client, const std::string &path,
             const std::vector<inspection> &previous = {}, detail::timeout timeout = {},
             GCancellable *cancellable = nullptr)
{
  detail::outcome outcome;
  const std::unique_ptr<GPtrArray, void (*) (GPtrArray *)> old (g_ptr_array_new (),
                                                                g_ptr_array_unref);
  for (const inspection &one : previous)
    {
      g_ptr_array_add (old.get (), detail::require (one.native_handle ()));
    }
  const std::unique_ptr<GPtrArray, void (*) (GPtrArray *)> all (
      outcome.check (curator_inspect_all (detail::require (client.native_handle ()),
                                          detail::c_text (path), old.get (), nullptr, timeout,
                                          cancellable, outcome)),
      g_ptr_array_unref);
  std::vector<inspection> result;
  for (guint i = 0; i < all->len; i++)
    {
      auto *one = static_cast<CuratorInspection *> (g_ptr_array_index (all.get (), i));
      result.emplace_back (curator_inspection_ref (one));
    }
  return result;
}

/** Escapes bytes from a server for printing: curator_escape_name(). */
inline std::string
escape_name (std::string_view bytes)
{
  const std::unique_ptr<char, void (*) (gpointer)> text (
      curator_escape_name (bytes.data (), static_cast<gssize> (bytes.size ())), g_free);
  return text.get ();
}
}
}

#endif
