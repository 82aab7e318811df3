/* Listeners of every kind: connection states, leases, shared counts (ListenerManager).
 *
 * Threads: any; lists are guarded by the client's mutex. Each thing to be told is a job of its own on
 * the callback lane or, for states, on that of the news, so that a listener removed before its turn is
 * not called any more.
 */
#include "client/listeners.h"

#include "client/monitor.h"
#include "guards.h"

struct _CuratorListener
{
  CuratorRefs refs;
  guint id;
  gboolean removed CURATOR_GUARDED; /* guarded by the client's mutex */
  GCallback func;
  gpointer user_data;
  GDestroyNotify destroy;
};

typedef struct
{
  CuratorClient *client;
  CuratorListener *listener;
  CuratorListenerCall call;
  gpointer subject;
  GDestroyNotify unref_subject;
  int news;
} News;

static void
listener_unref (gpointer data)
{
  CuratorListener *listener = data;
  if (curator_refs_dec (&listener->refs))
    {
      if (listener->destroy != NULL)
        {
          listener->destroy (listener->user_data);
        }
      g_free (listener);
    }
}

guint
curator_listeners_add (CuratorListeners *listeners, GCallback func, gpointer user_data,
                       GDestroyNotify destroy)
{
  CuratorListener *listener = g_new0 (CuratorListener, 1);
  curator_refs_init (&listener->refs);
  listener->id = ++listeners->last_id;
  listener->func = func;
  listener->user_data = user_data;
  listener->destroy = destroy;
  if (listeners->all == NULL)
    {
      listeners->all = g_ptr_array_new_with_free_func (listener_unref);
    }
  g_ptr_array_add (listeners->all, listener);
  return listener->id;
}

static CURATOR_UNLOCKED void
tell (gpointer data)
{
  News *news = data;
  curator_client_lock (news->client);
  const gboolean removed = news->listener->removed;
  curator_client_unlock (news->client);
  if (!removed)
    {
      news->call (news->listener->func, news->subject, news->news, news->listener->user_data);
    }
}

static void
news_free (gpointer data)
{
  News *news = data;
  listener_unref (news->listener);
  if (news->unref_subject != NULL)
    {
      news->unref_subject (news->subject);
    }
  curator_client_memory_unref (news->client);
  g_free (news);
}

static CURATOR_LOCKED void
tell_from (CuratorListeners *listeners, guint first, const News *pattern,
           gpointer (*ref_subject) (gpointer subject))
{
  for (guint i = first; listeners->all != NULL && i < listeners->all->len; i++)
    {
      if (ref_subject != NULL && ref_subject (pattern->subject) == NULL)
        {
          return;
        }
      News *news = g_new (News, 1);
      *news = *pattern;
      news->listener = g_ptr_array_index (listeners->all, i);
      curator_refs_inc (&news->listener->refs);
      curator_client_memory_ref (news->client);
      (listeners->are_news ? curator_dispatch_news : curator_dispatch_callback) (news->client, tell,
                                                                                 news, news_free);
    }
}

void
curator_listeners_tell (CuratorListeners *listeners, CuratorClient *client,
                        CuratorListenerCall call, gpointer subject,
                        gpointer (*ref_subject) (gpointer subject), GDestroyNotify unref_subject,
                        int news)
{
  const News pattern = {
    .client = client, .call = call, .subject = subject, .unref_subject = unref_subject, .news = news
  };
  tell_from (listeners, 0, &pattern, ref_subject);
}

void
curator_listeners_tell_newest (CuratorListeners *listeners, CuratorClient *client,
                               CuratorListenerCall call, gpointer subject,
                               gpointer (*ref_subject) (gpointer subject),
                               GDestroyNotify unref_subject, int news)
{
  const News pattern = {
    .client = client, .call = call, .subject = subject, .unref_subject = unref_subject, .news = news
  };
  tell_from (listeners, listeners->all->len - 1, &pattern, ref_subject);
}

void
curator_listeners_remove (CuratorListeners *listeners, CuratorClient *client, guint id)
{
  CuratorListener *found = NULL;

  if (!curator_client_check_forked (client, NULL))
    {
      return;
    }
  curator_client_lock (client);
  for (guint i = 0; listeners->all != NULL && i < listeners->all->len && found == NULL; i++)
    {
      CuratorListener *listener = g_ptr_array_index (listeners->all, i);
      if (listener->id == id)
        {
          listener->removed = TRUE;
          found = g_ptr_array_steal_index (listeners->all, i);
        }
    }
  curator_client_unlock (client);
  g_clear_pointer (&found, listener_unref);
}

void
curator_listeners_clear (CuratorListeners *listeners)
{
  g_clear_pointer (&listeners->all, g_ptr_array_unref);
}
