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
 *     object. A moved-from handle is empty: only assign to it or destroy it.
 *   - Errors throw curator::error. A timeout is not an error of the functions whose names begin
 *     with try_: they return false or an empty optional.
 *   - A timeout is any std::chrono::duration, rounded up to milliseconds. Zero or less tries once;
 *     curator::forever, or a century and more, waits without a limit.
 *   - Functions that wait take a GCancellable *, for example a curator::cancellable. A cancelled
 *     call throws an error with G_IO_ERROR and G_IO_ERROR_CANCELLED.
 *   - Callbacks are lambdas or other callables. The library moves them in and destroys them. They
 *     run on the threads that client.h describes. An exception in a callback is caught and logged
 *     as a critical message.
 *   - Functions are as thread-safe as those of C; handles are not: two threads may lock one mutex
 *     object, but not while a third assigns to it or destroys it.
 */
#ifndef CURATOR_CURATOR_HPP
#define CURATOR_CURATOR_HPP

#include <curator/curator.h>

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

namespace curator
{
/* Keeps objects compiled with different versions of this header apart. */
inline namespace v0_1
{
static_assert (CURATOR_MAJOR_VERSION == 0 && CURATOR_MINOR_VERSION == 1,
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

  /** #CURATOR_ERROR, #CURATOR_ZK_ERROR or G_IO_ERROR. */
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

  void
  check () const
  {
    if (error_ != nullptr)
      {
        throw error (error_);
      }
  }

  /* Returns false on a timeout; throws any other error. */
  bool
  in_time () const
  {
    if (g_error_matches (error_, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
      {
        return false;
      }
    check ();
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

/* Catches exceptions, which must not reach the C frames of the caller. */
template <class Call>
void
shield (Call &&call) noexcept
{
  try
    {
      std::forward<Call> (call) ();
    }
  catch (const std::exception &thrown)
    {
      g_log ("Curator", G_LOG_LEVEL_CRITICAL, "a callback threw: %s", thrown.what ());
    }
  catch (...)
    {
      g_log ("Curator", G_LOG_LEVEL_CRITICAL,
             "a callback threw an exception that is not a std::exception");
    }
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

/* Takes ownership of the callback of a pending call, which runs once. */
template <class F>
std::unique_ptr<F>
take (gpointer data) noexcept
{
  return std::unique_ptr<F> (static_cast<F *> (data));
}

inline std::vector<std::string>
take_strings (char **strings)
{
  const std::unique_ptr<char *, void (*) (char **)> owner (strings, g_strfreev);
  return std::vector<std::string> (strings, strings + g_strv_length (strings));
}
}

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

/** Decides whether and when a failed request is retried. Wraps CuratorRetryPolicy; see retry.h for
 *  the policies, their limits and their Java names. */
class retry_policy
{
  using ms = std::chrono::milliseconds;

public:
  /** The client's default: exponential backoff from 1000 ms with 3 retries. */
  retry_policy () noexcept = default;

  /** Takes over a reference. */
  explicit retry_policy (CuratorRetryPolicy *policy) noexcept : handle_ (policy)
  {
  }

  /** curator_retry_policy_new_exponential_backoff() */
  static retry_policy
  exponential_backoff (ms base_sleep, int max_retries)
  {
    return retry_policy (
        curator_retry_policy_new_exponential_backoff (base_sleep.count (), max_retries));
  }

  /** curator_retry_policy_new_bounded_exponential_backoff() */
  static retry_policy
  bounded_exponential_backoff (ms base_sleep, ms max_sleep, int max_retries)
  {
    return retry_policy (curator_retry_policy_new_bounded_exponential_backoff (
        base_sleep.count (), max_sleep.count (), max_retries));
  }

  /** curator_retry_policy_new_n_times() */
  static retry_policy
  n_times (int n, ms sleep)
  {
    return retry_policy (curator_retry_policy_new_n_times (n, sleep.count ()));
  }

  /** curator_retry_policy_new_one_time() */
  static retry_policy
  one_time (ms sleep)
  {
    return retry_policy (curator_retry_policy_new_one_time (sleep.count ()));
  }

  /** curator_retry_policy_new_forever() */
  static retry_policy
  always (ms sleep)
  {
    return retry_policy (curator_retry_policy_new_forever (sleep.count ()));
  }

  /** curator_retry_policy_new_until_elapsed() */
  static retry_policy
  until_elapsed (ms max_elapsed, ms sleep)
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
          std::optional<ms> sleep;
          detail::shield (
              [&] { sleep = (*static_cast<callback *> (data)) (retry_count, ms (elapsed_ms)); });
          *sleep_ms = sleep ? sleep->count () : 0;
          return sleep ? TRUE : FALSE;
        },
        detail::keep (std::forward<F> (decide)), detail::destroy<callback>));
  }

  /** Decides whether to retry. Never sleeps. Not for a default-constructed policy.
   *  @return how long to sleep before the retry; nothing to give up */
  std::optional<ms>
  allow_retry (int retry_count, ms elapsed) const
  {
    gint64 sleep_ms = 0;
    if (!curator_retry_policy_allow_retry (handle_.get (), retry_count, elapsed.count (),
                                           &sleep_ms))
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

/** Settings of a client. A member that is not set keeps the default of the library. */
struct client_options
{
  /** Retry policy; curator_client_new(). */
  retry_policy retry{};
  /** curator_client_set_session_timeout() */
  std::optional<std::chrono::milliseconds> session_timeout{};
  /** curator_client_set_connection_timeout() */
  std::optional<std::chrono::milliseconds> connection_timeout{};
  /** curator_client_set_namespace() */
  std::string name_space{};
  /** Pairs of scheme and credentials: curator_client_add_auth() */
  std::vector<std::pair<std::string, std::string>> auth{};
  /** Copied; curator_client_set_acl() */
  const struct ACL_vector *acl = nullptr;
  /** Empty for no payload; curator_client_set_default_data() */
  std::optional<std::string> default_data{};
  /** curator_client_set_callback_context() */
  GMainContext *callback_context = nullptr;
  /** curator_client_set_server_tick() */
  std::optional<std::chrono::milliseconds> server_tick{};
  /** curator_client_set_heartbeat_interval() */
  std::optional<std::chrono::milliseconds> heartbeat_interval{};
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
      : handle_ (curator_client_new (connect_string.c_str (), options.retry.native_handle ()))
  {
    if (options.session_timeout)
      {
        curator_client_set_session_timeout (native_handle (), options.session_timeout->count ());
      }
    if (options.server_tick)
      {
        curator_client_set_server_tick (native_handle (), options.server_tick->count ());
      }
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
    if (!options.name_space.empty ())
      {
        detail::outcome outcome;
        curator_client_set_namespace (native_handle (), options.name_space.c_str (), outcome);
        outcome.check ();
      }
    for (const auto &[scheme, credentials] : options.auth)
      {
        curator_client_add_auth (native_handle (), scheme.c_str (), credentials.data (),
                                 credentials.size ());
      }
    if (options.acl != nullptr)
      {
        curator_client_set_acl (native_handle (), options.acl);
      }
    if (options.default_data)
      {
        curator_client_set_default_data (native_handle (), options.default_data->data (),
                                         options.default_data->size ());
      }
    if (options.callback_context != nullptr)
      {
        curator_client_set_callback_context (native_handle (), options.callback_context);
      }
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
    curator_client_start (native_handle (), outcome);
    outcome.check ();
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
    curator_client_block_until_connected (native_handle (), detail::to_ms (timeout), cancellable,
                                          outcome);
    return outcome.in_time ();
  }

  /** The current state; suspended before the first connection. */
  connection_state
  state () const noexcept
  {
    return static_cast<connection_state> (curator_client_get_connection_state (native_handle ()));
  }

  /** Id of the current session; 0 while there is none. */
  std::int64_t
  session_id () const noexcept
  {
    return curator_client_get_session_id (native_handle ());
  }

  /** The session timeout that the server granted; 0 before the first connection. */
  std::chrono::milliseconds
  session_timeout () const noexcept
  {
    return std::chrono::milliseconds (curator_client_get_session_timeout (native_handle ()));
  }

  /** Adds a listener, called for every change of the connection state, in order.
   *  @param listener  called as listener (connection_state)
   *  @return an id for remove_state_listener() */
  template <class F>
  unsigned
  add_state_listener (F &&listener)
  {
    using callback = std::decay_t<F>;
    return curator_client_add_state_listener (
        native_handle (),
        [] (CuratorClient *, CuratorConnectionState state, gpointer data) {
          detail::shield (
              [&] { (*static_cast<callback *> (data)) (static_cast<connection_state> (state)); });
        },
        detail::keep (std::forward<F> (listener)), detail::destroy<callback>);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_state_listener (unsigned id) noexcept
  {
    curator_client_remove_state_listener (native_handle (), id);
  }

  /** Asks the holder of a lock node to release it: curator_attempt_revoke(). */
  void
  attempt_revoke (const std::string &lock_node_path)
  {
    detail::outcome outcome;
    curator_attempt_revoke (native_handle (), lock_node_path.c_str (), outcome);
    outcome.check ();
  }

  /** Closes the client and ends all its holds; idempotent. */
  void
  close () noexcept
  {
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
    return curator_lease_get_node_path (native_handle ());
  }

  /** Last part of the node's path. */
  std::string
  node_name () const
  {
    return curator_lease_get_node_name (native_handle ());
  }

  /** Grows with every later exclusive grant; curator_lease_get_fencing_token(). */
  std::uint64_t
  fencing_token () const noexcept
  {
    return curator_lease_get_fencing_token (native_handle ());
  }

  /** The current state. */
  lease_state
  state () const noexcept
  {
    return static_cast<lease_state> (curator_lease_get_state (native_handle ()));
  }

  /** Time until the hold's deadline if no server answers again; zero after it. */
  std::chrono::milliseconds
  remaining () const noexcept
  {
    return std::chrono::milliseconds (curator_lease_get_remaining_ms (native_handle ()));
  }

  /** Whether a step of that duration can end before the deadline. Call it before each step that
   *  cannot be undone. */
  template <class Rep, class Period>
  bool
  valid_for (const std::chrono::duration<Rep, Period> &time) const noexcept
  {
    const std::chrono::duration<double, std::milli> left = remaining ();
    return left.count () > 0 && left >= std::chrono::duration<double, std::milli> (time);
  }

  /** A descriptor for poll(), readable once the lease is lost or released. Owned by the lease; -1
   *  if the process has no descriptor left. */
  int
  fd () const noexcept
  {
    return curator_lease_get_fd (native_handle ());
  }

  /** Id of the session that owns the lease. */
  std::int64_t
  session_id () const noexcept
  {
    return curator_lease_get_session_id (native_handle ());
  }

  /** Reads the payload of the node from the server. @throws error  LOCK_LOST if the node is gone
   *  ... */
  std::string
  data () const
  {
    detail::outcome outcome;
    GBytes *bytes = curator_lease_get_data (native_handle (), outcome);
    outcome.check ();
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
    return curator_lease_add_listener (
        native_handle (),
        [] (CuratorLease *, CuratorLeaseState state, gpointer data) {
          detail::shield (
              [&] { (*static_cast<callback *> (data)) (static_cast<lease_state> (state)); });
        },
        detail::keep (std::forward<F> (listener)), detail::destroy<callback>);
  }

  /** Removes a listener. A call may still be running on another thread; no later one follows. */
  void
  remove_listener (unsigned id) noexcept
  {
    curator_lease_remove_listener (native_handle (), id);
  }

  /** Releases the hold and waits for the server to confirm. Idempotent.
   *  @throws error  RELEASE_PENDING if no confirmation came; the hold has ended nevertheless, and
   *                 its node is deleted in the background */
  void
  release ()
  {
    detail::outcome outcome;
    curator_lease_release (native_handle (), outcome);
    outcome.check ();
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
    curator_lock_acquire (native_handle (), CURATOR_WAIT_FOREVER, cancellable, outcome);
    outcome.check ();
  }

  /** Acquires if no other contender is ahead.
   *  @throws error  as lock(); CONNECTION_LOST if the server did not answer */
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
    curator_lock_acquire (native_handle (), detail::to_ms (timeout), cancellable, outcome);
    return outcome.in_time ();
  }

  /** The same, until a point in time. Ignores later adjustments of that clock. */
  template <class Clock, class Duration>
  bool
  try_lock_until (const std::chrono::time_point<Clock, Duration> &time,
                  GCancellable *cancellable = nullptr)
  {
    return try_lock_for (time - Clock::now (), cancellable);
  }

  /** Ends one level of the calling thread's hold, even of a lost one. A missing confirmation of the
   *  server is not reported, since the hold has ended anyway. Without a hold it logs a critical
   *  message. release() throws instead. */
  void
  unlock () noexcept
  {
    if (mode_ == unlock_mode::background)
      {
        unlock_async ();
        return;
      }
    detail::outcome outcome;
    curator_lock_release (native_handle (), outcome);
    log_misuse (outcome.get ());
  }

  /** Like unlock(), but throws. @throws error  NOT_OWNER, or RELEASE_PENDING if the server did not
   *  confirm in time; the hold has ended nevertheless */
  void
  release ()
  {
    detail::outcome outcome;
    curator_lock_release (native_handle (), outcome);
    outcome.check ();
  }

  /** Like unlock(), but does not wait: the calling thread's level ends at once. */
  void
  unlock_async () noexcept
  {
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
    curator_lock_release_async (
        native_handle (),
        [] (CuratorLock *, const GError *failed, gpointer data) {
          detail::shield ([&] {
            const auto kept = detail::take<callback> (data);
            const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
            (*kept) (why ? &*why : nullptr);
          });
        },
        detail::keep (std::forward<F> (done)));
  }

  /** Whether any thread of this process holds through this object. */
  bool
  is_acquired_in_this_process () const noexcept
  {
    return curator_lock_is_acquired_in_this_process (native_handle ()) != FALSE;
  }

  /** Whether the calling thread holds through this object. */
  bool
  is_owned_by_current_thread () const noexcept
  {
    return curator_lock_is_owned_by_current_thread (native_handle ()) != FALSE;
  }

  /** The calling thread's hold, for its token and remaining time; nothing if there is none, and for
   *  a multi_lock. Do not release it: unlock() does, and counts the levels. */
  std::optional<lease>
  current_lease () const
  {
    CuratorLease *held = curator_lock_get_lease (native_handle ());
    if (held == nullptr)
      {
        return std::nullopt;
      }
    return lease (curator_lease_ref (held));
  }

  /** Acquires a hold that belongs to no thread and is never re-entrant. @throws error  as lock() */
  lease
  acquire_lease (GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (
        curator_lock_acquire_lease (native_handle (), CURATOR_WAIT_FOREVER, cancellable, outcome));
    outcome.check ();
    return granted;
  }

  /** The same, within a timeout. */
  template <class Rep, class Period>
  std::optional<lease>
  try_acquire_lease_for (const std::chrono::duration<Rep, Period> &timeout,
                         GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    lease granted (curator_lock_acquire_lease (native_handle (), detail::to_ms (timeout),
                                               cancellable, outcome));
    if (!outcome.in_time ())
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
    curator_lock_acquire_async (
        native_handle (), detail::to_ms (timeout), cancellable,
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

  /** Full paths of the nodes in the queue, holders first. A name may hold any byte.
   *  @throws error  UNSUPPORTED for a multi_lock ... */
  std::vector<std::string>
  participant_nodes () const
  {
    detail::outcome outcome;
    char **nodes = curator_lock_get_participant_nodes (native_handle (), outcome);
    outcome.check ();
    return detail::take_strings (nodes);
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
    curator_lock_make_revocable (
        native_handle (),
        [] (CuratorLock *, gpointer data) {
          detail::shield ([&] { (*static_cast<callback *> (data)) (); });
        },
        kept.get (), detail::destroy<callback>, outcome);
    outcome.check ();
    kept.release ();
  }

  /** Reverts make_revocable(). */
  void
  make_irrevocable ()
  {
    detail::outcome outcome;
    curator_lock_make_revocable (native_handle (), nullptr, nullptr, nullptr, outcome);
    outcome.check ();
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
        g_log ("Curator", G_LOG_LEVEL_CRITICAL, "unlock: %s", failed->message);
      }
  }

  detail::handle<CuratorLock, curator_lock_ref, curator_lock_unref> handle_;
  unlock_mode mode_ = unlock_mode::wait;
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
    CuratorLock *lock = curator_mutex_new (client.native_handle (), path.c_str (), outcome);
    outcome.check ();
    return lock;
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
    CuratorLock *lock =
        curator_semaphore_mutex_new (client.native_handle (), path.c_str (), outcome);
    outcome.check ();
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
        texts.push_back (path.c_str ());
      }
    texts.push_back (nullptr);
    detail::outcome outcome;
    CuratorLock *lock =
        order == lock_order::sorted
            ? curator_multi_lock_new_for_paths_sorted (client.native_handle (), texts.data (),
                                                       outcome)
            : curator_multi_lock_new_for_paths (client.native_handle (), texts.data (), outcome);
    outcome.check ();
    return lock;
  }

  static CuratorLock *
  make (std::initializer_list<std::reference_wrapper<const lockable>> members)
  {
    std::vector<CuratorLock *> locks;
    locks.reserve (members.size ());
    for (const lockable &member : members)
      {
        locks.push_back (member.native_handle ());
      }
    return curator_multi_lock_new (locks.data (), locks.size ());
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
      : handle_ (lock), reader_ (curator_lock_ref (curator_rw_lock_read_lock (lock)), mode),
        writer_ (curator_lock_ref (curator_rw_lock_write_lock (lock)), mode)
  {
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
        curator_rw_lock_new (client.native_handle (), path.c_str (), data ? data->data () : nullptr,
                             data ? data->size () : 0, outcome);
    outcome.check ();
    return lock;
  }

  detail::handle<CuratorRwLock, curator_rw_lock_ref, curator_rw_lock_unref> handle_;
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
    handle_ = count_handle (
        curator_shared_count_new (client.native_handle (), path.c_str (), seed, outcome));
    outcome.check ();
  }

  /** Creates the node if it does not exist, reads it and follows its changes from then on. */
  void
  start ()
  {
    detail::outcome outcome;
    curator_shared_count_start (native_handle (), outcome);
    outcome.check ();
  }

  /** The last known value. Sends no request. */
  std::int32_t
  get () const noexcept
  {
    return curator_shared_count_get (native_handle ());
  }

  /** Sets the value unconditionally and waits for the server. */
  void
  set (std::int32_t value)
  {
    detail::outcome outcome;
    curator_shared_count_set (native_handle (), value, outcome);
    outcome.check ();
  }

  /** Stops following the node, without deleting it. */
  void
  close () noexcept
  {
    curator_shared_count_close (native_handle ());
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
    handle_ = semaphore_handle (
        curator_semaphore_new (client.native_handle (), path.c_str (), max_leases, outcome));
    outcome.check ();
  }

  /** Creates a semaphore whose number of leases follows @p count, which must be started.
   *  @throws error  INVALID_ARGUMENT */
  semaphore (const client &client, const std::string &path, const shared_count &count)
  {
    detail::outcome outcome;
    handle_ = semaphore_handle (curator_semaphore_new_with_shared_count (
        client.native_handle (), path.c_str (), count.native_handle (), outcome));
    outcome.check ();
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
    lease granted (
        curator_semaphore_acquire (native_handle (), CURATOR_WAIT_FOREVER, cancellable, outcome));
    outcome.check ();
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
    lease granted (curator_semaphore_acquire (native_handle (), detail::to_ms (timeout),
                                              cancellable, outcome));
    if (!outcome.in_time ())
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
    GPtrArray *granted = curator_semaphore_acquire_n (native_handle (), n, detail::to_ms (timeout),
                                                      cancellable, outcome);
    return outcome.in_time () ? take_leases (granted) : std::vector<lease> ();
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
    curator_semaphore_acquire_async (
        native_handle (), n, detail::to_ms (timeout), cancellable,
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
  max_leases () const noexcept
  {
    return curator_semaphore_get_max_leases (native_handle ());
  }

  /** Sets the payload of the nodes of later leases. */
  void
  set_node_data (std::string_view data) noexcept
  {
    curator_semaphore_set_node_data (native_handle (), data.data (), data.size ());
  }

  /** Full paths of the lease nodes, oldest first. A name may hold any byte. */
  std::vector<std::string>
  participant_nodes () const
  {
    detail::outcome outcome;
    char **nodes = curator_semaphore_get_participant_nodes (native_handle (), outcome);
    outcome.check ();
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
    curator_semaphore_make_revocable (
        native_handle (),
        [] (CuratorSemaphore *, CuratorLease *asked, gpointer data) {
          detail::shield ([&] {
            const lease hold (curator_lease_ref (asked));
            (*static_cast<callback *> (data)) (hold);
          });
        },
        kept.get (), detail::destroy<callback>, outcome);
    outcome.check ();
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
}
}

#endif
