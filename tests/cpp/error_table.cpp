/* The rows of the table in docs/errors.md. What succeeds is undone. */
#include "cpp/error_table.hpp"

#include <mutex>
#include <thread>

namespace
{
using namespace std::chrono_literals;

constexpr gint64 UNDO_MS = 60000;

/* Calls a function of C with the objects of handles. */
template <class Function, class... Args>
auto
c (Function function, const Args &...args)
{
  return function (curator::detail::for_c (args)...);
}

gboolean
undo (curator::mutex &lock, gboolean is_held)
{
  g_autoptr (GError) error = nullptr;
  if (is_held && !c (curator_lock_release, lock, UNDO_MS, nullptr, &error))
    g_warning ("%s", error->message);
  return is_held;
}

gboolean
undo (CuratorLease *lease)
{
  g_autoptr (CuratorLease) held = lease;
  g_autoptr (GError) error = nullptr;
  if (held != nullptr && !curator_lease_release (held, UNDO_MS, nullptr, &error))
    g_warning ("%s", error->message);
  return held != nullptr;
}

gboolean
acquire_forever (stage &it, GError **error)
{
  curator::cancellable cancellable;
  std::thread canceller;
  /* Not in a child of fork (): ThreadSanitizer ends it. */
  if (it.is_waiting)
    canceller = std::thread ([&] {
      std::this_thread::sleep_for (100ms);
      cancellable.cancel ();
    });
  GCancellable *const stop = cancellable;
  const gboolean is_held = c (curator_lock_acquire, it.lock, CURATOR_WAIT_FOREVER, stop, error);
  if (canceller.joinable ())
    canceller.join ();
  return undo (it.lock, is_held);
}

gboolean
has_connection (stage &it, GError **error)
{
  GError *const cause = c (curator_client_dup_connection_error, it.client);
  if (cause != nullptr)
    g_propagate_error (error, cause);
  return cause == nullptr;
}

/* A second release would not tell what the first one has. */
gint64
release_ms (const stage &it)
{
  return it.is_answered ? UNDO_MS : it.time_ms;
}

template <class Try>
gboolean
attempt (GError **error, Try &&call)
{
  try {
    return call () ? TRUE : FALSE;
  } catch (const curator::error &thrown) {
    g_set_error_literal (error, thrown.domain (), thrown.code (), thrown.what ());
    return FALSE;
  }
}

/* Whether a function of C gives something, which is freed. */
template <class T>
gboolean
is_given (T *given, void (*free) (T *))
{
  if (given != nullptr)
    free (given);
  return given != nullptr;
}
}

#define ROW(name, ...)                                                                             \
  {                                                                                                \
    name, [] (stage &it, GError **error) -> gboolean { return __VA_ARGS__; }                       \
  }
/* Of what was held before the state began. */
#define HOLD_ROW(name, ...)                                                                        \
  {                                                                                                \
    name, [] (stage &it, GError **error) -> gboolean { return __VA_ARGS__; }, true                 \
  }
#define TRY(expression) attempt (error, [&] { return expression; })
#define SOME_TIME       std::chrono::milliseconds (it.time_ms)

/* What ends holds, and what starts a client, is last. */
const std::vector<table_row> table_rows = {
  ROW ("`client_block_until_connected`",
       c (curator_client_block_until_connected, it.client, it.time_ms, nullptr, error)),
  { "`client_dup_connection_error`", has_connection },
  ROW ("`client_update_servers`", c (curator_client_update_servers, it.client, it.servers, error)),
  ROW ("`lock_acquire`, 0 ms",
       undo (it.lock, c (curator_lock_acquire, it.lock, 0, nullptr, error))),
  ROW ("`lock_acquire`, some time",
       undo (it.lock, c (curator_lock_acquire, it.lock, it.time_ms, nullptr, error))),
  { "`lock_acquire`, FOREVER, cancelled", acquire_forever },
  HOLD_ROW ("`lock_acquire` of one's own hold",
            undo (it.held, c (curator_lock_acquire, it.held, 0, nullptr, error))),
  ROW ("`lock_acquire_lease`",
       undo (c (curator_lock_acquire_lease, it.lock, it.time_ms, nullptr, error))),
  ROW ("`semaphore_acquire`",
       undo (c (curator_semaphore_acquire, it.semaphore, it.time_ms, nullptr, error))),
  ROW ("`lock_get_participant_nodes`",
       is_given (c (curator_lock_get_participant_nodes, it.lock, it.time_ms, nullptr, error),
                 g_strfreev)),
  ROW ("`client_inspect`",
       is_given (c (curator_client_inspect, it.client, it.path, it.time_ms, nullptr, error),
                 curator_inspection_unref)),
  ROW ("`shared_count_start`",
       c (curator_shared_count_start, it.new_count, it.time_ms, nullptr, error)),
  ROW ("`shared_count_set`", c (curator_shared_count_set, it.count, 1, it.time_ms, nullptr, error)),
  ROW ("`leader_latch_start`", c (curator_leader_latch_start, it.latch, error)),
  ROW ("`leader_latch_start` again", c (curator_leader_latch_start, it.latch, error)),
  ROW ("`leader_latch_await`",
       c (curator_leader_latch_await, it.latch, it.time_ms, nullptr, error)),
  ROW ("`leader_selector_start`", c (curator_leader_selector_start, it.selector, error)),
  ROW ("`leader_selector_start` again", c (curator_leader_selector_start, it.selector, error)),
  ROW ("`leader_selector_await`",
       c (curator_leader_selector_await, it.selector, it.time_ms, nullptr, error)),
  ROW ("C++ `block_until_connected`", TRY (it.client.block_until_connected (SOME_TIME))),
  ROW ("C++ `try_lock`", TRY (std::unique_lock (it.lock, std::try_to_lock).owns_lock ())),
  ROW ("C++ `try_lock_for`", TRY (std::unique_lock (it.lock, SOME_TIME).owns_lock ())),
  HOLD_ROW ("C++ `try_lock` of one's own hold",
            TRY (std::unique_lock (it.held, std::try_to_lock).owns_lock ())),
  ROW ("C++ `semaphore::try_acquire_for`",
       TRY (it.semaphore.try_acquire_for (SOME_TIME).has_value ())),
  ROW ("C++ `leader_latch::try_await_for`", TRY (it.latch.try_await_for (SOME_TIME))),
  HOLD_ROW (
      "`lease_get_data`",
      is_given (c (curator_lease_get_data, it.lease, it.time_ms, nullptr, error), g_bytes_unref)),
  ROW ("`lock_release`", c (curator_lock_release, it.held, release_ms (it), nullptr, error)),
  HOLD_ROW ("`lease_release`",
            c (curator_lease_release, it.lease, release_ms (it), nullptr, error)),
  ROW ("`client_start`", c (curator_client_start, it.client, error)),
};
