/* The rows of the table in docs/errors.md. What succeeds is undone. */
#include "cpp/error_table.h"

#include <gio/gio.h>

#define UNDO_MS 60000

static gboolean
undo_hold (CuratorLock *lock, gboolean is_held)
{
  if (is_held)
    {
      g_autoptr (GError) error = NULL;
      if (!curator_lock_release (lock, UNDO_MS, NULL, &error))
        g_warning ("%s", error->message);
    }
  return is_held;
}

static gboolean
undo_lease (CuratorLease *lease)
{
  g_autoptr (CuratorLease) held = lease;
  g_autoptr (GError) error = NULL;

  if (held != NULL && !curator_lease_release (held, UNDO_MS, NULL, &error))
    g_warning ("%s", error->message);
  return held != NULL;
}

/* A row that is one expression of the stage and the error. */
#define CALL(name, expression)                                                                     \
  static gboolean call_##name (Stage *stage, GError **error)                                       \
  {                                                                                                \
    return (expression);                                                                           \
  }

CALL (block, curator_client_block_until_connected (stage->client, stage->time_ms, NULL, error))
CALL (acquire_once, undo_hold (stage->lock, curator_lock_acquire (stage->lock, 0, NULL, error)))
CALL (acquire,
      undo_hold (stage->lock, curator_lock_acquire (stage->lock, stage->time_ms, NULL, error)))

static gpointer
cancel_later (gpointer cancellable)
{
  g_usleep (100 * 1000);
  g_cancellable_cancel (cancellable);
  return NULL;
}

static gboolean
call_acquire_forever (Stage *stage, GError **error)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  GThread *thread = stage->waits ? g_thread_new ("cancel", cancel_later, cancellable) : NULL;
  const gboolean is_held =
      curator_lock_acquire (stage->lock, CURATOR_WAIT_FOREVER, cancellable, error);

  if (thread != NULL)
    g_thread_join (thread);
  return undo_hold (stage->lock, is_held);
}

CALL (acquire_again, undo_hold (stage->held, curator_lock_acquire (stage->held, 0, NULL, error)))
CALL (acquire_lease,
      undo_lease (curator_lock_acquire_lease (stage->lock, stage->time_ms, NULL, error)))
CALL (semaphore,
      undo_lease (curator_semaphore_acquire (stage->semaphore, stage->time_ms, NULL, error)))

static gboolean
call_get_data (Stage *stage, GError **error)
{
  g_autoptr (GBytes) data = curator_lease_get_data (stage->lease, stage->time_ms, NULL, error);
  return data != NULL;
}

/* A second release would not tell what the first one has. */
static gint64
release_ms (const Stage *stage)
{
  return stage->answers ? UNDO_MS : stage->time_ms;
}

CALL (release, curator_lock_release (stage->held, release_ms (stage), NULL, error))
CALL (lease_release, curator_lease_release (stage->lease, release_ms (stage), NULL, error))

static gboolean
call_nodes (Stage *stage, GError **error)
{
  g_auto (GStrv) nodes =
      curator_lock_get_participant_nodes (stage->lock, stage->time_ms, NULL, error);
  return nodes != NULL;
}

static gboolean
call_inspect (Stage *stage, GError **error)
{
  g_autoptr (CuratorInspection) inspection =
      curator_client_inspect (stage->client, stage->path, stage->time_ms, NULL, error);
  return inspection != NULL;
}

CALL (count_start, curator_shared_count_start (stage->new_count, stage->time_ms, NULL, error))
CALL (count_set, curator_shared_count_set (stage->count, 1, stage->time_ms, NULL, error))
CALL (latch_start, curator_leader_latch_start (stage->latch, error))
CALL (latch_await, curator_leader_latch_await (stage->latch, stage->time_ms, NULL, error))
CALL (selector_start, curator_leader_selector_start (stage->selector, error))
CALL (selector_await, curator_leader_selector_await (stage->selector, stage->time_ms, NULL, error))
CALL (update_servers, curator_client_update_servers (stage->client, stage->servers, error))

static gboolean
call_connection_error (Stage *stage, GError **error)
{
  GError *cause = curator_client_dup_connection_error (stage->client);
  if (cause != NULL)
    g_propagate_error (error, cause);
  return cause == NULL;
}

CALL (start, curator_client_start (stage->client, error))

/* What ends holds, and what starts a client, is last. */
const TableRow table_rows[] = {
  { "`client_block_until_connected`", call_block },
  { "`client_dup_connection_error`", call_connection_error },
  { "`client_update_servers`", call_update_servers },
  { "`lock_acquire`, 0 ms", call_acquire_once },
  { "`lock_acquire`, some time", call_acquire },
  { "`lock_acquire`, FOREVER, cancelled", call_acquire_forever },
  { "`lock_acquire` of one's own hold", call_acquire_again, TRUE },
  { "`lock_acquire_lease`", call_acquire_lease },
  { "`semaphore_acquire`", call_semaphore },
  { "`lock_get_participant_nodes`", call_nodes },
  { "`client_inspect`", call_inspect },
  { "`shared_count_start`", call_count_start },
  { "`shared_count_set`", call_count_set },
  { "`leader_latch_start`", call_latch_start },
  { "`leader_latch_start` again", call_latch_start },
  { "`leader_latch_await`", call_latch_await },
  { "`leader_selector_start`", call_selector_start },
  { "`leader_selector_start` again", call_selector_start },
  { "`leader_selector_await`", call_selector_await },
  { "C++ `block_until_connected`", cpp_block_until_connected },
  { "C++ `try_lock`", cpp_try_lock },
  { "C++ `try_lock_for`", cpp_try_lock_for },
  { "C++ `try_lock` of one's own hold", cpp_try_lock_held, TRUE },
  { "C++ `semaphore::try_acquire_for`", cpp_try_acquire_for },
  { "C++ `leader_latch::try_await_for`", cpp_try_await_for },
  { "`lease_get_data`", call_get_data, TRUE },
  { "`lock_release`", call_release },
  { "`lease_release`", call_lease_release, TRUE },
  { "`client_start`", call_start },
};
const guint n_table_rows = G_N_ELEMENTS (table_rows);
