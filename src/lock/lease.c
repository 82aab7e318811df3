/* One hold: its node, its token, how long it is provable, and its end (Lease).
 *
 * Mirrors Lease of InterProcessSemaphoreV2. Threads: any; state, listeners and descriptor are
 * guarded by the client's mutex, path and token are constant. LOST comes from the lease clock, the
 * session's death or the node's disappearance, whichever is first, and is final.
 */
#include "lock/lease-impl.h"

#include "client/await.h"
#include "client/call.h"
#include "client/client-private.h"
#include "client/heartbeat.h"
#include "client/log.h"
#include "client/monitor.h"
#include "client/path.h"
#include "client/settings.h"
#include "client/stats-private.h"
#include "client/threads.h"
#include "lock/own_watch.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Short holds are over before a third party could matter; only longer ones are worth a watch. */
#define OWN_WATCH_AFTER_US (250 * 1000)

/* The clock may end a lease whose last reference is just being dropped. */
CuratorLease *
curator_lease_try_ref (CuratorLease *lease)
{
  return curator_refs_try_inc (&lease->refs) ? lease : NULL;
}

static gpointer
ref_lease (gpointer lease)
{
  return curator_lease_try_ref (lease);
}

static void
unref_lease (gpointer lease)
{
  curator_lease_unref (lease);
}

static void
call_listener (GCallback func, gpointer lease, int state, gpointer user_data)
{
  ((CuratorLeaseListener) func) (lease, (CuratorLeaseState) state, user_data);
}

static void
make_readable (CuratorLease *lease)
{
  const guint64 one = 1;
  if (lease->fd >= 0 && write (lease->fd, &one, sizeof one) < 0)
    {
      curator_warn ("a lease's descriptor cannot be written: %s", g_strerror (errno));
    }
}

void
curator_lease_set_state (CuratorLease *lease, CuratorLeaseState state)
{
  if (lease->state == state || curator_lease_is_over (lease->state))
    {
      return;
    }
  curator_debug ("lease %s: %s -> %s", lease->path != NULL ? lease->path : "of a multi-lock",
                 curator_lease_state_to_string (lease->state),
                 curator_lease_state_to_string (state));
  g_atomic_int_set (&lease->state, state);
  if (curator_lease_is_over (state))
    {
      curator_timer_cancel (lease->client, &lease->own_watch_timer);
      curator_stake_unregister (&lease->stake);
      curator_session_remove_hook (&lease->hook);
      g_clear_pointer (&lease->own_watch, curator_own_watch_abandon);
      make_readable (lease);
    }
  curator_listeners_tell (&lease->listeners, lease->client, call_listener, lease, ref_lease,
                          unref_lease, (int) state);
  curator_composite_member_changed (lease);
}

/* @locks client mutex required. */
static void
delete_node (CuratorLease *lease, gint64 patience_us, CuratorReaperDone done, gpointer data)
{
  if (lease->name_is_ours)
    {
      curator_reaper_delete (lease->client, lease->path, patience_us, done, data);
      return;
    }
  curator_reaper_delete_owned (lease->client, lease->path,
                               lease->is_ephemeral ? lease->session->id : 0, lease->czxid,
                               patience_us, done, data);
}

/* @locks client mutex required. */
static void
note_end (CuratorLease *lease, CuratorTraceKind kind, CuratorCounter counter)
{
  CuratorClient *client = lease->client;
  curator_count (client, counter, 1);
  curator_trace (client, kind, lease->path, curator_client_now_us (client) - lease->since_us,
                 lease->session->id);
}

/* @locks client mutex held. What is lost here may still stand in others' way there. */
static void
lose (CuratorLease *lease, CuratorCounter reason)
{
  if (!curator_lease_is_over (lease->state))
    {
      curator_lease_set_state (lease, CURATOR_LEASE_LOST);
      note_end (lease, CURATOR_TRACE_LOST, reason);
      delete_node (lease, G_MAXINT64, NULL, NULL);
      curator_place_leave (&lease->place, FALSE, curator_path_leaf (lease->path));
    }
}

static void
on_stake_changed (CuratorStake *stake, CuratorLeaseState state)
{
  CuratorLease *lease = (CuratorLease *) ((char *) stake - G_STRUCT_OFFSET (CuratorLease, stake));
  if (state == CURATOR_LEASE_LOST)
    {
      lose (lease, stake->loss);
      return;
    }
  curator_lease_set_state (lease, state);
}

static void
on_node_gone (gpointer data)
{
  CuratorLease *lease = data;
  g_autofree char *shown = curator_path_escape (lease->path);
  curator_warn ("%s was deleted by somebody else: the hold is lost", shown);
  lose (lease, CURATOR_COUNTER_LOST_DELETED);
}

static void
on_own_watch_due (gpointer data)
{
  CuratorLease *lease = data;
  lease->own_watch_timer = NULL;
  curator_lease_watch_own_node (
      lease, curator_own_watch_new (lease->internals, lease->session, lease->path));
}

/* @locks client mutex held. A persistent node is no less ours in the next session; only a client that
 * is closed looks after it no longer, and leaves it where it is. */
static void
on_session_died (CuratorSessionHook *hook)
{
  CuratorLease *lease = (CuratorLease *) ((char *) hook - G_STRUCT_OFFSET (CuratorLease, hook));
  CuratorClient *client = lease->client;

  g_clear_pointer (&lease->own_watch, curator_own_watch_free);
  if (!curator_client_is_running (client) || client->session == NULL)
    {
      curator_lease_set_state (lease, CURATOR_LEASE_LOST);
      note_end (lease, CURATOR_TRACE_LOST, CURATOR_COUNTER_LOST_CLOSED);
      return;
    }
  curator_session_add_hook (client->session, &lease->hook);
}

CuratorLease *
curator_lease_new (CuratorSession *session, CuratorLockInternals *internals,
                   const CuratorLeaseNode *node)
{
  CuratorClient *client = session->client;
  CuratorLease *lease = g_new0 (CuratorLease, 1);

  curator_refs_init (&lease->refs);
  lease->listeners.are_news = TRUE;
  lease->client = curator_client_ref (client);
  lease->internals = curator_lock_internals_ref (internals);
  lease->session = curator_session_ref (session);
  lease->path = node->path;
  lease->czxid = node->czxid;
  lease->name_is_ours = node->name_is_ours;
  lease->is_ephemeral = node->is_ephemeral;
  lease->fd = -1;
  lease->state = CURATOR_LEASE_HELD;
  lease->since_us = curator_client_now_us (client);
  lease->stake.path = node->path;
  lease->stake.changed = on_stake_changed;
  if (lease->is_ephemeral)
    {
      curator_stake_register (&lease->stake, session, TRUE);
    }
  else
    {
      lease->hook.died = on_session_died;
      curator_session_add_hook (session, &lease->hook);
    }
  return lease;
}

void
curator_lease_watch_own_node (CuratorLease *lease, CuratorOwnWatch *own)
{
  CuratorClient *client = lease->client;

  if (curator_lease_is_over (lease->state))
    {
      g_clear_pointer (&own, curator_own_watch_abandon);
      return;
    }
  lease->own_watch = own;
  if (own != NULL)
    {
      curator_own_watch_set_lease (own, lease);
      curator_own_watch_set_gone (own, on_node_gone, lease);
      return;
    }
  lease->own_watch_timer = curator_timer_add (
      client, curator_client_now_us (client) + OWN_WATCH_AFTER_US, on_own_watch_due, lease);
}

void
curator_lease_take_place (CuratorLease *lease, CuratorPlace *place)
{
  curator_place_move (place, &lease->place);
  /* The clock may have run out between the look at it and the grant. */
  if (curator_lease_is_over (lease->state))
    {
      curator_place_leave (&lease->place, FALSE, curator_path_leaf (lease->path));
    }
}

void
curator_lease_cover (CuratorLease *lease, CuratorLine *line)
{
  if (lease->place.line == line)
    {
      lease->place.is_covered = TRUE;
    }
}

CuratorLease *
curator_lease_ref (CuratorLease *lease)
{
  g_return_val_if_fail (lease != NULL, NULL);
  curator_refs_inc (&lease->refs);
  return lease;
}

gboolean
curator_lease_end (CuratorLease *lease, gint64 patience_us, CuratorReaperDone done, gpointer data)
{
  if (curator_lease_is_over (curator_lease_state_now (lease)))
    {
      return FALSE;
    }
  curator_lease_set_state (lease, CURATOR_LEASE_RELEASED);
  note_end (lease, CURATOR_TRACE_RELEASED, CURATOR_COUNTER_RELEASES);
  delete_node (lease, patience_us, done, data);
  curator_place_leave (&lease->place, TRUE, curator_path_leaf (lease->path));
  return TRUE;
}

void
curator_lease_unref (CuratorLease *lease)
{
  g_return_if_fail (lease != NULL);
  CuratorClient *client = lease->client;

  if (client->fork_generation != curator_fork_generation ()
      || !curator_refs_dec (&lease->refs))
    {
      return;
    }
  if (lease->members != NULL)
    {
      curator_composite_free_members (lease);
    }
  else
    {
      curator_client_lock (client);
      curator_lease_end (lease, G_MAXINT64, NULL, NULL);
      curator_client_unlock (client);
      curator_session_unref (lease->session);
      curator_lock_internals_unref (lease->internals);
    }
  curator_listeners_clear (&lease->listeners);
  if (lease->fd >= 0)
    {
      close (lease->fd);
    }
  g_free (lease->path);
  g_free (lease);
  curator_client_unref (client);
}

const char *
curator_lease_full_path (CuratorLease *lease)
{
  return curator_lease_first (lease)->path;
}

CuratorClient *
curator_lease_get_client (CuratorLease *lease)
{
  return lease->client;
}

CuratorSession *
curator_lease_get_session (CuratorLease *lease)
{
  return curator_lease_first (lease)->session;
}

const char *
curator_lease_get_node_path (CuratorLease *lease)
{
  g_return_val_if_fail (lease != NULL, NULL);
  lease = curator_lease_first (lease);
  return curator_client_user_path (lease->client, lease->path);
}

const char *
curator_lease_get_node_name (CuratorLease *lease)
{
  g_return_val_if_fail (lease != NULL, NULL);
  return curator_path_leaf (curator_lease_first (lease)->path);
}

guint64
curator_lease_get_fencing_token (CuratorLease *lease)
{
  g_return_val_if_fail (lease != NULL, 0);
  return (guint64) curator_lease_first (lease)->czxid;
}

gint64
curator_lease_get_session_id (CuratorLease *lease)
{
  g_return_val_if_fail (lease != NULL, 0);
  return curator_lease_first (lease)->session->id;
}

const CuratorLeaseState *
curator_lease_peek_state (const CuratorLease *lease)
{
  return &lease->state;
}

CuratorLeaseState
curator_lease_state_now (CuratorLease *lease)
{
  if (lease->is_ephemeral && !curator_lease_is_over (lease->state)
      && curator_lease_clock_remaining_us (lease->session) == 0)
    {
      lose (lease, CURATOR_COUNTER_LOST_CLOCK);
    }
  return lease->state;
}

CuratorLeaseState
curator_lease_get_state (CuratorLease *lease)
{
  g_return_val_if_fail (lease != NULL, CURATOR_LEASE_LOST);
  if (!curator_client_check_forked (lease->client, NULL))
    {
      return CURATOR_LEASE_LOST;
    }
  if (lease->members != NULL)
    {
      return curator_composite_state (lease);
    }
  curator_client_lock (lease->client);
  const CuratorLeaseState state = curator_lease_state_now (lease);
  curator_client_unlock (lease->client);
  return state;
}

gint64
curator_lease_get_remaining_ms (CuratorLease *lease)
{
  g_return_val_if_fail (lease != NULL, 0);
  gint64 remaining = G_MAXINT64;

  if (!curator_client_check_forked (lease->client, NULL))
    {
      return 0;
    }
  if (lease->members != NULL)
    {
      return curator_composite_remaining_ms (lease);
    }
  curator_client_lock (lease->client);
  if (curator_lease_is_over (curator_lease_state_now (lease)))
    {
      remaining = 0;
    }
  else if (lease->is_ephemeral)
    {
      remaining = curator_lease_clock_remaining_us (lease->session) / 1000;
    }
  curator_client_unlock (lease->client);
  return remaining;
}

/* @locks client mutex required. A composite's state is what its members' news have made of it. */
static CuratorLeaseState
known_state (CuratorLease *lease)
{
  return lease->members != NULL ? lease->state : curator_lease_state_now (lease);
}

int
curator_lease_get_fd (CuratorLease *lease)
{
  g_return_val_if_fail (lease != NULL, -1);
  if (!curator_client_check_forked (lease->client, NULL))
    {
      return -1;
    }
  curator_client_lock (lease->client);
  if (lease->fd < 0)
    {
      lease->fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
      if (curator_lease_is_over (known_state (lease)))
        {
          make_readable (lease);
        }
    }
  const int fd = lease->fd;
  curator_client_unlock (lease->client);
  return fd;
}

guint
curator_lease_add_listener (CuratorLease *lease, CuratorLeaseListener listener, gpointer user_data,
                            GDestroyNotify destroy)
{
  g_return_val_if_fail (lease != NULL && listener != NULL, 0);
  CuratorClient *client = lease->client;

  if (!curator_client_check_forked (client, NULL))
    {
      return 0;
    }
  curator_client_lock (client);
  const guint id
      = curator_listeners_add (&lease->listeners, G_CALLBACK (listener), user_data, destroy);
  if (curator_lease_is_over (known_state (lease)))
    {
      curator_listeners_tell_newest (&lease->listeners, client, call_listener, lease, ref_lease,
                                     unref_lease, (int) lease->state);
    }
  curator_client_unlock (client);
  return id;
}

void
curator_lease_remove_listener (CuratorLease *lease, guint id)
{
  g_return_if_fail (lease != NULL);
  if (!curator_client_check_forked (lease->client, NULL))
    {
      return;
    }
  curator_listeners_remove (&lease->listeners, lease->client, id);
}

GBytes *
curator_lease_get_data (CuratorLease *lease, GError **error)
{
  g_return_val_if_fail (lease != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);
  g_autoptr (GError) local = NULL;

  lease = curator_lease_first (lease);
  g_autoptr (CuratorCallResult) result
      = curator_call (lease->client, CURATOR_CALL_GET, lease->path, NULL, 0, NULL, &local);
  if (result != NULL)
    {
      return g_steal_pointer (&result->data);
    }
  if (g_error_matches (local, CURATOR_ZK_ERROR, ZNONODE))
    {
      g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST, "the node %s is gone",
                   curator_lease_get_node_path (lease));
      return NULL;
    }
  g_propagate_error (error, g_steal_pointer (&local));
  return NULL;
}

gint64
curator_client_release_patience_us (CuratorClient *client)
{
  return (gint64) client->connection_timeout_ms * 1000;
}

void
curator_lease_release_start (CuratorLease *lease, CuratorReaperDone done, gpointer data)
{
  CuratorClient *client = lease->client;

  if (lease->members != NULL)
    {
      curator_composite_release (lease, done, data);
      return;
    }
  curator_client_lock (client);
  const gboolean ended
      = curator_lease_end (lease, curator_client_release_patience_us (client), done, data);
  curator_client_unlock (client);
  if (!ended && done != NULL)
    {
      done (NULL, data);
    }
}

static void
release_done (const GError *error, gpointer await)
{
  curator_await_signal (await, NULL, error);
}

gboolean
curator_lease_release (CuratorLease *lease, GError **error)
{
  g_return_val_if_fail (lease != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);
  CuratorAwait await;

  if (!curator_client_check_forked (lease->client, error))
    {
      return FALSE;
    }
  curator_await_init (&await, lease->client);
  curator_lease_release_start (lease, release_done, &await);
  return curator_await_finish (&await, NULL, error);
}
