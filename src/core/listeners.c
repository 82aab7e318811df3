/* Listeners of connection states, leases and shared counts, and the end of what a program has given
 * with a function. Mirrors ListenerManager.
 *
 * Threads: any; lists are guarded by the client's mutex. Each notification of each listener is a
 * job of its own, so a listener that is removed before its turn is not called.
 */
#include "core/listeners.h"

#include "base/fork_gate.h"
#include "base/guards.h"
#include "base/threads.h"
#include "core/monitor.h"

struct _CuratorListener
{
  CuratorRefs refs;
  CuratorClient *client; /* no reference: the list's owner has one, and each notification */
  guint id;
  gboolean removed CURATOR_GUARDED; /* guarded by the client's mutex */
  GCallback func;
  gpointer user_data;
  GDestroyNotify destroy;
};

typedef struct
{
  CuratorListener *listener;
  CuratorListenerCall call;
  gpointer subject;
  GDestroyNotify unref_subject;
  int value;
} Notification;

void
curator_user_data_destroy (CuratorClient *client, GDestroyNotify destroy, gpointer data)
{
  if (destroy == NULL)
    return;
  if (!curator_thread_role ().is_ours) {
    CURATOR_INSIDE_GATE;
    const guint depth = curator_gate_suspend ();
    destroy (data);
    curator_gate_resume (depth);
    return;
  }
  curator_client_lock (client);
  curator_dispatch_push (client, CURATOR_LANE_CALLS, NULL, data, destroy);
  curator_client_unlock (client);
}

static void
listener_unref (gpointer data)
{
  CuratorListener *listener = data;
  if (curator_refs_dec (&listener->refs)) {
    curator_user_data_destroy (listener->client, listener->destroy, listener->user_data);
    g_free (listener);
  }
}

guint
curator_listeners_add (CuratorListeners *listeners, CuratorClient *client, GCallback func,
                       gpointer user_data, GDestroyNotify destroy)
{
  CuratorListener *listener = g_new (CuratorListener, 1);
  *listener = (CuratorListener){ .client = client,
                                 .id = ++listeners->last_id,
                                 .func = func,
                                 .user_data = user_data,
                                 .destroy = destroy };
  curator_refs_init (&listener->refs);
  if (listeners->all == NULL)
    listeners->all = g_ptr_array_new_with_free_func (listener_unref);
  g_ptr_array_add (listeners->all, listener);
  curator_dispatch_expect (client,
                           listeners->on_state_lane ? CURATOR_LANE_STATES : CURATOR_LANE_CALLS,
                           CURATOR_EXPECTED_CALLBACKS);
  return listener->id;
}

static CURATOR_UNLOCKED void
notify (gpointer data)
{
  Notification *notification = data;
  CuratorListener *listener = notification->listener;
  if (!CURATOR_WITH_MUTEX (listener->client, listener->removed))
    notification->call (listener->func, notification->subject, notification->value,
                        listener->user_data);
}

static void
notification_free (gpointer data)
{
  Notification *notification = data;
  CuratorClient *client = notification->listener->client;
  listener_unref (notification->listener);
  if (notification->unref_subject != NULL)
    notification->unref_subject (notification->subject);
  curator_client_memory_unref (client);
  g_free (notification);
}

void
curator_listeners_notify (CuratorListeners *listeners, guint first, CuratorClient *client,
                          CuratorListenerCall call, gpointer subject,
                          gpointer (*ref_subject) (gpointer subject), GDestroyNotify unref_subject,
                          int value)
{
  for (guint i = first; i < curator_listeners_count (listeners); i++) {
    if (ref_subject != NULL && ref_subject (subject) == NULL)
      return;
    Notification *notification = g_new (Notification, 1);
    *notification = (Notification){ .listener = g_ptr_array_index (listeners->all, i),
                                    .call = call,
                                    .subject = subject,
                                    .unref_subject = unref_subject,
                                    .value = value };
    curator_refs_inc (&notification->listener->refs);
    curator_client_memory_ref (client);
    curator_dispatch_push (client,
                           listeners->on_state_lane ? CURATOR_LANE_STATES : CURATOR_LANE_CALLS,
                           notify, notification, notification_free);
  }
}

void
curator_listeners_remove (CuratorListeners *listeners, CuratorClient *client, guint id)
{
  CuratorListener *found = NULL;

  if (!curator_client_check_forked (client, NULL))
    return;
  curator_client_lock (client);
  for (guint i = 0; i < curator_listeners_count (listeners) && found == NULL; i++) {
    CuratorListener *listener = g_ptr_array_index (listeners->all, i);
    if (listener->id == id) {
      listener->removed = TRUE;
      curator_refs_inc (&listener->refs); /* it is freed without the mutex */
      found = listener;
      g_ptr_array_remove_index (listeners->all, i);
    }
  }
  curator_client_unlock (client);
  if (found != NULL)
    listener_unref (found);
}

void
curator_listeners_remove_all (CuratorListeners *listeners, CuratorClient *client, gboolean silently)
{
  curator_client_lock (client);
  GPtrArray *all = g_steal_pointer (&listeners->all);
  for (guint i = 0; silently && all != NULL && i < all->len; i++)
    ((CuratorListener *) g_ptr_array_index (all, i))->removed = TRUE;
  curator_client_unlock (client);
  g_clear_pointer (&all, g_ptr_array_unref);
}

void
curator_listeners_clear (CuratorListeners *listeners)
{
  CURATOR_INSIDE_GATE;
  g_clear_pointer (&listeners->all, g_ptr_array_unref);
}
