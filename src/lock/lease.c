/* A lease as its user sees it (Lease): state, time left, listeners, descriptor, references.
 *
 * Its class says what it holds: one node (node_lease.c) or several leases (composite_lease.c).
 * Threads: any; state, listeners and descriptor are guarded by the client's mutex, path and token
 * are constant.
 */
#include "lock/lease-impl.h"

#include "base/fork_gate.h"
#include "base/path.h"
#include "base/tag.h"
#include "base/threads.h"
#include "core/async.h"
#include "core/await.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "nodes/call.h"
#include "session/session.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The clock may end a lease whose last reference is just being dropped. */
gpointer
curator_lease_try_ref (gpointer data)
{
  CuratorLease *lease = data;
  return curator_refs_try_inc (&lease->refs) ? lease : NULL;
}

CURATOR_DESTROY_FUNC (unref_lease, curator_lease_unref)

static void
call_listener (GCallback func, gpointer lease, int state, gpointer user_data)
{
  ((CuratorLeaseListener) func) (lease, (CuratorLeaseState) state, user_data);
}

static CURATOR_LOCKED void
make_readable (CuratorLease *lease)
{
  const guint64 one = 1;
  if (lease->fd >= 0 && write (lease->fd, &one, sizeof one) < 0)
    curator_warn ("cannot write a lease's descriptor: %s", g_strerror (errno));
}

/* The last reference is being dropped: nobody else reads the lease. */
static CURATOR_NOT_ANALYSED void
cancel_at_last (CuratorLease *lease)
{
  if (lease->cancellable != NULL) {
    curator_client_lock (lease->client);
    curator_dispatch_cancel (lease->client, lease->cancellable);
    curator_client_unlock (lease->client);
  }
}

void
curator_lease_set_state (CuratorLease *lease, CuratorLeaseState state)
{
  if (lease->state == state || curator_lease_is_over (lease->state))
    return;
  curator_debug ("lease %s: %s -> %s", lease->path != NULL ? lease->path : "of a multi-lock",
                 curator_lease_state_to_string (lease->state),
                 curator_lease_state_to_string (state));
  g_atomic_int_set (&lease->state, state);
  if (curator_lease_is_over (state)) {
    if (lease->klass->on_end != NULL)
      lease->klass->on_end (lease);
    make_readable (lease);
    if (lease->cancellable != NULL)
      curator_dispatch_cancel (lease->client, lease->cancellable);
  }
  curator_listeners_notify (&lease->listeners, 0, lease->client, call_listener, lease,
                            curator_lease_try_ref, unref_lease, (int) state);
  for (GSList *link = lease->composites; link != NULL; link = link->next) {
    CuratorLease *composite = link->data;
    composite->klass->on_member_changed (composite, lease);
  }
  if (lease->follower != NULL)
    lease->follower->changed (lease->follower, state);
}

void
curator_lease_set_hook (CuratorLease *lease, CuratorLeaseHook *hook)
{
  lease->follower = hook;
}

CURATOR_REF_FUNC (curator_lease_ref, CuratorLease, LEASE)

void
curator_lease_unref (CuratorLease *lease)
{
  g_return_if_fail (CURATOR_IS_LEASE (lease));
  CuratorClient *client = lease->client;

  if (client->fork_generation != curator_fork_generation () || !curator_refs_dec (&lease->refs))
    return;
  CURATOR_INSIDE_GATE;
  lease->klass->finalize (lease);
  cancel_at_last (lease);
  curator_not_shared ();
  curator_listeners_clear (&lease->listeners);
  if (lease->fd >= 0)
    close (lease->fd);
  g_clear_object (&lease->cancellable);
  g_free (lease->path);
  curator_tag_clear (lease);
  g_free (lease);
  curator_client_unref (client);
}

const char *
curator_lease_full_path (CuratorLease *lease)
{
  return curator_lease_first (lease)->path;
}

CuratorSession *
curator_lease_get_session (CuratorLease *lease)
{
  return curator_lease_first (lease)->session;
}

const char *
curator_lease_get_node_path (const CuratorLease *lease)
{
  g_return_val_if_fail (CURATOR_IS_LEASE (lease), NULL);
  lease = curator_lease_first (lease);
  return curator_client_user_path (lease->client, lease->path);
}

const char *
curator_lease_get_node_name (const CuratorLease *lease)
{
  g_return_val_if_fail (CURATOR_IS_LEASE (lease), NULL);
  return curator_path_leaf (curator_lease_first (lease)->path);
}

guint64
curator_lease_get_fencing_token (const CuratorLease *lease)
{
  g_return_val_if_fail (CURATOR_IS_LEASE (lease), 0);
  return (guint64) curator_lease_first (lease)->czxid;
}

gint64
curator_lease_get_session_id (const CuratorLease *lease)
{
  g_return_val_if_fail (CURATOR_IS_LEASE (lease), 0);
  return curator_lease_first (lease)->session->id;
}

GError *
curator_lease_over_error (const CuratorLease *lease, const char *whose)
{
  return g_error_new (CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST, "%s %s", whose,
                      g_atomic_int_get (&lease->state) == CURATOR_LEASE_STATE_RELEASED
                          ? "was released through its lease: release the lock, too"
                          : "is lost: release it first");
}

gboolean
curator_lease_is_provable (CuratorLease *lease)
{
  return !curator_lease_is_over (lease->klass->get_state (lease));
}

CuratorLeaseState
curator_lease_state_now (CuratorLease *lease)
{
  return lease->klass->state_now (lease);
}

/* A type takes no parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
/* The public function that asks a lease's class; value: in the child of a fork. */
#define LEASE_GETTER(Result, name, ask, value)                                                     \
  Result name (CuratorLease *lease)                                                                \
  {                                                                                                \
    g_return_val_if_fail (CURATOR_IS_LEASE (lease), value);                                        \
    return curator_client_check_forked (lease->client, NULL) ? lease->klass->ask (lease) : value;  \
  }
/* NOLINTEND(bugprone-macro-parentheses) */
LEASE_GETTER (CuratorLeaseState, curator_lease_get_state, get_state, CURATOR_LEASE_STATE_LOST)
LEASE_GETTER (CuratorLostReason, curator_lease_get_lost_reason, get_lost_reason,
              CURATOR_LOST_REASON_NONE)
LEASE_GETTER (gint64, curator_lease_get_remaining_ms, get_remaining_ms, 0)

gboolean
curator_lease_extend (CuratorLease *lease, gint64 at_least_ms, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_LEASE (lease), error, FALSE);

  if (!curator_client_check_forked (lease->client, error))
    return FALSE;
  return lease->klass->extend (lease, at_least_ms)
         || CURATOR_REFUSE (error, CURATOR_ERROR_LOCK_LOST, "the hold of %s has ended",
                            curator_lease_get_node_path (lease));
}

int
curator_lease_get_fd (CuratorLease *lease)
{
  g_return_val_if_fail (CURATOR_IS_LEASE (lease), -1);
  if (!curator_client_check_forked (lease->client, NULL))
    return -1;
  curator_client_lock (lease->client);
  if (lease->fd < 0) {
    lease->fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (curator_lease_is_over (lease->klass->state_now (lease)))
      make_readable (lease);
  }
  const int fd = lease->fd;
  curator_client_unlock (lease->client);
  return fd;
}

GCancellable *
curator_lease_get_cancellable (CuratorLease *lease)
{
  g_return_val_if_fail (CURATOR_IS_LEASE (lease), NULL);
  if (!curator_client_check_forked (lease->client, NULL))
    return curator_forks_cancelled ();
  curator_client_lock (lease->client);
  if (lease->cancellable == NULL) {
    lease->cancellable = g_cancellable_new ();
    curator_dispatch_expect (lease->client, CURATOR_LANE_STATES, CURATOR_EXPECTED_CANCEL);
  }
  GCancellable *cancellable = lease->cancellable;
  curator_client_unlock (lease->client);
  /* By the clock, which may be ahead of the notification. */
  if (curator_lease_is_over (lease->klass->get_state (lease)))
    g_cancellable_cancel (cancellable);
  return cancellable;
}

guint
curator_lease_add_listener (CuratorLease *lease, CuratorLeaseListener listener, gpointer user_data,
                            GDestroyNotify destroy)
{
  g_return_val_if_fail (CURATOR_IS_LEASE (lease) && listener != NULL, 0);
  CuratorClient *client = lease->client;

  if (!curator_client_check_forked (client, NULL))
    return 0;
  curator_client_lock (client);
  const guint id =
      curator_listeners_add (&lease->listeners, client, G_CALLBACK (listener), user_data, destroy);
  if (curator_lease_is_over (lease->klass->state_now (lease))) {
    curator_listeners_notify (&lease->listeners, curator_listeners_count (&lease->listeners) - 1,
                              client, call_listener, lease, curator_lease_try_ref, unref_lease,
                              (int) lease->state);
  }
  curator_client_unlock (client);
  return id;
}

void
curator_lease_remove_listener (CuratorLease *lease, guint id)
{
  g_return_if_fail (CURATOR_IS_LEASE (lease));
  curator_listeners_remove (&lease->listeners, lease->client, id);
}

GBytes *
curator_lease_get_data (CuratorLease *lease, gint64 timeout_ms, GCancellable *cancellable,
                        GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_LEASE (lease), cancellable, error, NULL);
  g_autoptr (GError) local = NULL;
  const CuratorLease *first = curator_lease_first (lease);
  CuratorLimits limits;

  if (!curator_limits_init (&limits, first->client, timeout_ms, cancellable, error))
    return NULL;
  g_autoptr (CuratorCallResult) result =
      curator_call (&limits, CURATOR_CALL_GET, first->path, NULL, 0, NULL, &local);
  if (result != NULL)
    return g_steal_pointer (&result->data);
  if (g_error_matches (local, CURATOR_ZK_ERROR, ZNONODE))
    g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST, "the node %s is gone",
                 curator_lease_get_node_path (lease));
  else
    g_propagate_error (error, g_steal_pointer (&local));
  return NULL;
}

void
curator_lease_release_part (CuratorLease *lease, CuratorOp *whole)
{
  g_autoptr (GError) error = NULL;

  if (curator_client_check_forked (lease->client, &error))
    lease->klass->release (lease, curator_release_part (whole, lease->client));
  else
    curator_release_part_ended (whole, error);
}

static CuratorOp *
start_release (CuratorLease *lease, gint64 timeout_ms, CuratorOpDone done, gpointer data)
{
  CuratorOp *release = curator_release_new (lease->client, timeout_ms, done, data);
  lease->klass->release (lease, release);
  return release;
}

gboolean
curator_lease_release (CuratorLease *lease, gint64 timeout_ms, GCancellable *cancellable,
                       GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_LEASE (lease), cancellable, error, FALSE);
  CuratorAwait await;

  if (!curator_client_check_forked (lease->client, error))
    return FALSE;
  curator_await_init (&await, lease->client);
  CuratorOp *release = start_release (lease, timeout_ms, curator_await_done, &await);
  return curator_await_op (&await, release, cancellable, NULL, error);
}

static void
deliver_release (GCallback callback, gpointer lease, gpointer result, const GError *error,
                 gpointer user_data)
{
  ((CuratorLeaseReleaseCallback) callback) (lease, error, user_data);
}

void
curator_lease_release_then (CuratorLease *lease, gint64 timeout_ms, GCancellable *cancellable,
                            CuratorLeaseReleaseCallback callback, gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_LEASE (lease));
  g_return_if_fail (curator_is_cancellable (cancellable));
  if (callback == NULL) {
    /* No thread is woken. */
    if (curator_client_check_forked (lease->client, NULL))
      lease->klass->release (lease, NULL);
    return;
  }
  CuratorAsync *async = curator_async_new (lease->client, curator_lease_ref (lease), unref_lease,
                                           deliver_release, G_CALLBACK (callback), user_data);
  GError *error = NULL;
  CuratorOp *release = curator_client_check_forked (lease->client, &error)
                           ? start_release (lease, timeout_ms, curator_async_done, async)
                           : NULL;

  curator_async_started (async, release, cancellable, error);
}
