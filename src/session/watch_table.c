/* A session's table of watches: finds the entries for an event, a connect and the session's end.
 *
 * Mirrors WatcherRemovalManager. Threads: any; guarded by the client's mutex.
 */
#include "session/watches-private.h"

#include "session/request.h"
#include "session/watch_table.h"

#include <string.h>

static guint
key_hash (gconstpointer data)
{
  const CuratorWatchKey *key = data;
  return g_str_hash (key->path) + (guint) key->type;
}

static gboolean
key_equal (gconstpointer a, gconstpointer b)
{
  const CuratorWatchKey *x = a;
  const CuratorWatchKey *y = b;
  return x->type == y->type && strcmp (x->path, y->path) == 0;
}

GHashTable *
curator_watches_table_new (void)
{
  return g_hash_table_new_full (key_hash, key_equal, NULL, curator_watch_entry_free);
}

static CURATOR_LOCKED void
event_for (CuratorSession *session, const char *path, ZooWatcherType type, gboolean deleted)
{
  const CuratorWatchKey key = { (char *) path, type };
  CuratorWatchEntry *entry = g_hash_table_lookup (session->watches, &key);

  /* In every other state a read or a removal is in flight or due, and its reply is newer. */
  if (entry == NULL || entry->state != ENTRY_ARMED)
    return;
  if (deleted)
    curator_watch_entry_end (entry, FALSE, CURATOR_WATCH_GONE, ZOK);
  else
    curator_watch_entry_changed (entry);
}

void
curator_watches_event (CuratorSession *session, int type, const char *path)
{
  const gboolean deleted = type == ZOO_DELETED_EVENT;

  if (deleted || type == ZOO_CHANGED_EVENT || type == ZOO_CREATED_EVENT)
    event_for (session, path, ZWATCHTYPE_DATA, deleted);
  if (deleted || type == ZOO_CHILD_EVENT)
    event_for (session, path, ZWATCHTYPE_CHILD, deleted);
}

void
curator_watches_connected (CuratorSession *session)
{
  g_autoptr (GList) entries = g_hash_table_get_values (session->watches);

  /* This only sends requests, so the entries stay. */
  for (GList *link = entries; link != NULL; link = link->next) {
    CuratorWatchEntry *entry = link->data;
    if (entry->state == ENTRY_WANTED)
      curator_watch_entry_arm (entry);
    else if (entry->state == ENTRY_UNWANTED)
      curator_watch_entry_remove (entry);
  }
}

/* Where the library's list of watches is more than the server takes, reads set them again. */
void
curator_watches_disconnected (CuratorSession *session)
{
  g_autoptr (GList) entries = g_hash_table_get_values (session->watches);

  if (session->watched_bytes <= curator_request_room (session, session->watched_bytes))
    return;
  for (GList *link = entries; link != NULL; link = link->next)
    curator_watch_entry_forget (link->data);
}

void
curator_watches_remove_all (CuratorSession *session)
{
  g_autoptr (GList) entries = g_hash_table_get_values (session->watches);

  for (GList *link = entries; link != NULL; link = link->next) {
    curator_watch_entry_detach (link->data);
    curator_watch_entry_end_unused (link->data);
  }
}
