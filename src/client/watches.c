/* One server-side watch per path and kind, however many users it has here.
 *
 * Mirrors WatcherRemovalManager. Threads: any; guarded by the client's mutex. Users are kept in
 * watch objects of their own, never as contexts of the library, so an event that is already on its
 * way when a user leaves finds nobody.
 *
 * NOTES: whoever waits, waits for an event. In case one is ever lost, at a server, on the way or in
 * the library, what is watched is read again now and then, and the watch set with that. Servers with
 * the remedy for CVE-2024-23944 tell nothing of a node to who may not read it: such a node is looked
 * at often.
 */
#include "client/watches.h"

#include "client/log.h"
#include "client/monitor.h"
#include "client/path.h"
#include "client/request.h"
#include "client/zk_error.h"

#include <string.h>

/* On reconnect the library sends every watched path in one packet, and more than 1 MiB never
 * arrives: the session then flaps for ever. */
#define MAX_WATCHED_BYTES (512 * 1024)
#define AGAIN_US (100 * 1000)
#define MOST_REREAD_US (30 * G_USEC_PER_SEC)
#define UNTOLD_REREAD_US (400 * 1000)

typedef enum
{
  ENTRY_WANTED,    /* to be set when there is a connection */
  ENTRY_ARMING,    /* the read is under way */
  ENTRY_ARMED,
  ENTRY_UNWANTED,  /* to be removed when there is a connection */
  ENTRY_REMOVING   /* the removal is under way */
} EntryState;

typedef struct
{
  char *path;
  ZooWatcherType type;
} EntryKey;

typedef struct
{
  EntryKey key;             /* first: the entry is its own key */
  CuratorSession *session;
  EntryState state;
  gboolean is_own;          /* the node is this session's, as the last read has it */
  gboolean by_exists;       /* getData was refused: watch with exists */
  gboolean maybe_set;       /* the library may still have the watch although it is WANTED */
  gboolean telling;         /* users are being told: the entry stays whatever they release */
  CuratorRequest *request;
  GQueue users;             /* CuratorWatch that hear every piece of news */
  GQueue newcomers;         /* CuratorWatch to be told that the watch was armed already */
  CuratorTimer *welcome;
  CuratorTimer *again;      /* a request was refused for the moment */
  CuratorTimer *reread;     /* ARMED: when to look whether an event was lost */
} Entry;

struct _CuratorWatch
{
  Entry *entry;             /* NULL once spent */
  GQueue *queue;            /* where link is: a queue of the entry, or of somebody telling */
  GList link;
  CuratorWatchFunc func;
  gpointer data;
};

static void entry_arm (Entry *entry);
static void entry_remove (Entry *entry);
static void reread_later (Entry *entry);

static guint
key_hash (gconstpointer data)
{
  const EntryKey *key = data;
  return g_str_hash (key->path) + (guint) key->type;
}

static gboolean
key_equal (gconstpointer a, gconstpointer b)
{
  const EntryKey *x = a;
  const EntryKey *y = b;
  return x->type == y->type && strcmp (x->path, y->path) == 0;
}

static gsize
watched_bytes (const char *path)
{
  return strlen (path) + 4;
}

/* @locks client mutex required. */
static void
stop_rereading (Entry *entry)
{
  curator_timer_cancel (entry->session->client, &entry->reread);
  if (entry->request != NULL)
    {
      curator_request_forget (entry->request);
      entry->request = NULL;
    }
}

static void
entry_free (gpointer data)
{
  Entry *entry = data;
  entry->session->watched_bytes -= watched_bytes (entry->key.path);
  stop_rereading (entry);
  curator_timer_cancel (entry->session->client, &entry->welcome);
  curator_timer_cancel (entry->session->client, &entry->again);
  g_free (entry->key.path);
  g_free (entry);
}

GHashTable *
curator_watches_table_new (void)
{
  return g_hash_table_new_full (key_hash, key_equal, NULL, entry_free);
}

static gboolean
is_connected (const Entry *entry)
{
  return entry->session->state == CURATOR_SESSION_CONNECTED;
}

static gboolean
has_users (const Entry *entry)
{
  return entry->users.length > 0 || entry->newcomers.length > 0;
}

static void
place (CuratorWatch *watch, GQueue *queue)
{
  if (watch->queue != NULL)
    {
      g_queue_unlink (watch->queue, &watch->link);
    }
  watch->queue = queue;
  if (queue != NULL)
    {
      g_queue_push_tail_link (queue, &watch->link);
    }
}

static void
move_all (GQueue *from, GQueue *to, Entry *entry)
{
  while (from->head != NULL)
    {
      CuratorWatch *watch = from->head->data;
      place (watch, to);
      watch->entry = entry;
    }
}

/* @locks client mutex required. Whoever is told may release any watch and add others: each is told
 * from the head of a queue that a release takes it off. */
static void
tell_spent (GQueue *queue, CuratorWatchNews news, int rc)
{
  while (queue->head != NULL)
    {
      CuratorWatch *watch = queue->head->data;
      place (watch, NULL);
      watch->func (watch, news, rc, NULL, watch->data);
    }
}

static void
drop_entry (Entry *entry)
{
  g_hash_table_remove (entry->session->watches, &entry->key);
}

/* @locks client mutex required. The watch is spent for all its users and the entry is gone. */
static void
entry_end (Entry *entry, CuratorWatchNews news, int rc)
{
  GQueue users = G_QUEUE_INIT;
  move_all (&entry->users, &users, NULL);
  move_all (&entry->newcomers, &users, NULL);
  drop_entry (entry);
  tell_spent (&users, news, rc);
}

/* @locks client mutex held (timer lane). */
static void
on_again (gpointer data)
{
  Entry *entry = data;
  entry->again = NULL;
  if (entry->state == ENTRY_WANTED)
    {
      entry_arm (entry);
    }
  else if (entry->state == ENTRY_UNWANTED)
    {
      entry_remove (entry);
    }
}

/* @locks client mutex required. If the connection is gone the next one takes care of the entry; if a
 * server refused for the moment, this does. */
static void
entry_later (Entry *entry)
{
  CuratorClient *client = entry->session->client;
  if (entry->again == NULL)
    {
      entry->again = curator_timer_after (client, AGAIN_US, on_again,
                                        entry);
    }
}

/* @locks client mutex held. */
static void
on_removed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Entry *entry = data;
  entry->request = NULL;
  if (curator_zk_is_retryable (rc))
    {
      /* The library still has the watch and would set it again on reconnect. */
      entry->maybe_set = TRUE;
      entry->state = has_users (entry) ? ENTRY_WANTED : ENTRY_UNWANTED;
      entry_later (entry);
      return;
    }
  entry->maybe_set = FALSE;
  if (has_users (entry))
    {
      entry_arm (entry);
      return;
    }
  drop_entry (entry);
}

static void
entry_remove (Entry *entry)
{
  stop_rereading (entry);
  entry->state = ENTRY_UNWANTED;
  if (is_connected (entry))
    {
      entry->state = ENTRY_REMOVING;
      entry->request = curator_request_remove_watches (entry->session, entry->key.path,
                                                       entry->key.type, on_removed, entry);
    }
}

/* @locks client mutex required. Nobody uses the watch any more: take it from the server too. */
static void
entry_unused (Entry *entry)
{
  if (entry->state == ENTRY_ARMED && entry->request != NULL)
    {
      /* It is being read again: the answer might set what was removed before. */
      return;
    }
  if (entry->state == ENTRY_ARMED)
    {
      entry_remove (entry);
    }
  else if (entry->state == ENTRY_WANTED && entry->maybe_set)
    {
      entry->state = ENTRY_UNWANTED;
    }
  else if (entry->state == ENTRY_WANTED)
    {
      drop_entry (entry);
    }
}

/* @locks client mutex required. Tells those in queue, who remain users of the entry. */
static void
tell_users (Entry *entry, GQueue *queue, CuratorWatchNews news, const CuratorZkReply *reply)
{
  entry->telling = TRUE;
  while (queue->head != NULL)
    {
      CuratorWatch *watch = queue->head->data;
      place (watch, &entry->users);
      watch->func (watch, news, ZOK, reply, watch->data);
    }
  entry->telling = FALSE;
  if (!has_users (entry))
    {
      entry_unused (entry);
    }
}

/* @locks client mutex required. */
static void
entry_armed (Entry *entry, const CuratorZkReply *reply)
{
  GQueue told = G_QUEUE_INIT;

  entry->state = ENTRY_ARMED;
  entry->is_own = reply->stat != NULL && reply->stat->ephemeralOwner == entry->session->id;
  reread_later (entry);
  move_all (&entry->users, &told, entry);
  move_all (&entry->newcomers, &told, entry);
  tell_users (entry, &told, CURATOR_WATCH_ARMED, reply);
}

/* @locks client mutex held. */
static void
on_armed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Entry *entry = data;
  entry->request = NULL;
  if (rc == ZOK)
    {
      entry_armed (entry, reply);
    }
  else if (rc == ZNOAUTH && entry->key.type == ZWATCHTYPE_DATA && !entry->by_exists)
    {
      entry->by_exists = TRUE;
      entry_arm (entry);
    }
  else if (rc == ZNONODE && entry->by_exists)
    {
      /* exists has left a watch for the creation of a node that never comes back. */
      GQueue users = G_QUEUE_INIT;
      move_all (&entry->users, &users, NULL);
      move_all (&entry->newcomers, &users, NULL);
      entry_remove (entry);
      tell_spent (&users, CURATOR_WATCH_GONE, ZNONODE);
    }
  else if (curator_zk_is_retryable (rc) && !is_connected (entry) && has_users (entry))
    {
      entry->state = ENTRY_WANTED;
    }
  else
    {
      entry_end (entry, rc == ZNONODE ? CURATOR_WATCH_GONE : CURATOR_WATCH_FAILED, rc);
    }
}

/* @locks client mutex required. The read that sets the watch. */
static void
send_read (Entry *entry, CuratorRequestDone done)
{
  CuratorSession *session = entry->session;
  const char *path = entry->key.path;

  if (entry->key.type == ZWATCHTYPE_CHILD)
    {
      entry->request = curator_request_get_children (session, path, TRUE, done, entry);
    }
  else if (entry->by_exists)
    {
      entry->request = curator_request_exists (session, path, TRUE, done, entry);
    }
  else
    {
      entry->request = curator_request_get (session, path, TRUE, done, entry);
    }
}

static void
entry_arm (Entry *entry)
{
  stop_rereading (entry);
  entry->state = ENTRY_WANTED;
  if (is_connected (entry))
    {
      entry->state = ENTRY_ARMING;
      send_read (entry, on_armed);
    }
}

/* @locks client mutex held. An error says nothing about the watch, which is still set. */
static void
on_reread (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Entry *entry = data;
  if (rc == ZNONODE && !entry->by_exists && entry->state == ENTRY_ARMED)
    {
      /* A server tells of an end before it answers a read that comes after it. */
      g_autofree char *shown = curator_path_escape (entry->key.path);
      curator_info ("nobody has told that %s is gone", shown);
    }
  if (rc == ZOK || rc == ZNONODE || entry->state == ENTRY_ARMING)
    {
      on_armed (rc, reply, sent_us, entry);
      return;
    }
  entry->request = NULL;
  reread_later (entry);
  if (!has_users (entry))
    {
      entry_unused (entry);
    }
}

/* @locks client mutex held (timer lane). */
static void
on_reread_due (gpointer data)
{
  Entry *entry = data;
  entry->reread = NULL;
  if (is_connected (entry))
    {
      send_read (entry, on_reread);
    }
  else
    {
      reread_later (entry);
    }
}

/* @locks client mutex required. After one period to one and a half, so that thousands do not read at
 * once. */
static void
reread_later (Entry *entry)
{
  CuratorSession *session = entry->session;
  const gint64 seldom = MIN ((gint64) session->timeout_ms * 1000, MOST_REREAD_US);
  const gint64 period = entry->by_exists ? MIN (seldom, UNTOLD_REREAD_US) : seldom;
  const guint64 mixed = ((guint64) session->id + ++session->n_rereads)
                        * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  const gint64 pause = period + (gint64) (mixed >> 40) % (period / 2 + 1);

  entry->reread = curator_timer_after (session->client, pause, on_reread_due, entry);
}

/* @locks client mutex held (timer lane). */
static void
on_welcome (gpointer data)
{
  Entry *entry = data;
  GQueue newcomers = G_QUEUE_INIT;

  entry->welcome = NULL;
  if (entry->state != ENTRY_ARMED)
    {
      return;
    }
  move_all (&entry->newcomers, &newcomers, entry);
  tell_users (entry, &newcomers, CURATOR_WATCH_ARMED, NULL);
}

static Entry *
entry_new (CuratorSession *session, const char *path, ZooWatcherType type, CuratorWatchNeed need)
{
  static const gsize room[] = { [CURATOR_WATCH_SPARE] = MAX_WATCHED_BYTES / 2,
                                [CURATOR_WATCH_NEW] = MAX_WATCHED_BYTES / 8 * 7,
                                [CURATOR_WATCH_NEEDED] = MAX_WATCHED_BYTES };

  if (session->watched_bytes + watched_bytes (path) > room[need])
    {
      return NULL;
    }
  Entry *entry = g_new0 (Entry, 1);
  entry->key.path = g_strdup (path);
  entry->key.type = type;
  entry->session = session;
  session->watched_bytes += watched_bytes (path);
  g_hash_table_insert (session->watches, &entry->key, entry);
  entry_arm (entry);
  return entry;
}

CuratorWatch *
curator_watch_add (CuratorSession *session, const char *path, ZooWatcherType type,
                   CuratorWatchNeed need, CuratorWatchFunc func, gpointer data)
{
  const EntryKey key = { (char *) path, type };
  Entry *entry = g_hash_table_lookup (session->watches, &key);

  if (entry == NULL && (entry = entry_new (session, path, type, need)) == NULL)
    {
      return NULL;
    }
  CuratorWatch *watch = g_new0 (CuratorWatch, 1);
  watch->entry = entry;
  watch->link.data = watch;
  watch->func = func;
  watch->data = data;
  if (entry->state == ENTRY_UNWANTED)
    {
      entry->maybe_set = TRUE;
      entry_arm (entry);
    }
  if (entry->state != ENTRY_ARMED)
    {
      place (watch, &entry->users);
      return watch;
    }
  place (watch, &entry->newcomers);
  if (entry->welcome == NULL)
    {
      CuratorClient *client = session->client;
      entry->welcome
          = curator_timer_after (client, 0, on_welcome, entry);
    }
  return watch;
}

void
curator_watch_release (CuratorWatch *watch)
{
  Entry *entry = watch->entry;

  place (watch, NULL);
  g_free (watch);
  if (entry != NULL && !entry->telling && !has_users (entry))
    {
      entry_unused (entry);
    }
}

const char *
curator_watch_get_path (const CuratorWatch *watch)
{
  return watch->entry != NULL ? watch->entry->key.path : NULL;
}

gboolean
curator_watch_is_own (const CuratorWatch *watch)
{
  return watch->entry != NULL && watch->entry->is_own;
}

/* @locks client mutex held. */
static void
on_abandoned (CuratorWatch *watch, CuratorWatchNews news, int rc, const CuratorZkReply *reply,
              gpointer data)
{
  if (news == CURATOR_WATCH_GONE || news == CURATOR_WATCH_FAILED)
    {
      curator_watch_release (watch);
    }
}

void
curator_watch_abandon (CuratorWatch *watch)
{
  if (watch->entry == NULL)
    {
      curator_watch_release (watch);
      return;
    }
  watch->func = on_abandoned;
}

/* @locks client mutex required. The server's watch is spent by the event; set it again. */
static void
entry_changed (Entry *entry)
{
  GQueue told = G_QUEUE_INIT;

  entry->state = ENTRY_WANTED;
  entry->maybe_set = FALSE;
  move_all (&entry->users, &told, entry);
  move_all (&entry->newcomers, &told, entry);
  entry_arm (entry);
  tell_users (entry, &told, CURATOR_WATCH_CHANGED, NULL);
}

/* @locks client mutex required. If it is being read again, the answer may set the watch of a node that
 * took the place of the one that is gone. */
static void
entry_gone (Entry *entry)
{
  GQueue users = G_QUEUE_INIT;

  if (entry->request == NULL)
    {
      entry_end (entry, CURATOR_WATCH_GONE, ZOK);
      return;
    }
  entry->state = ENTRY_ARMING;
  move_all (&entry->users, &users, NULL);
  move_all (&entry->newcomers, &users, NULL);
  tell_spent (&users, CURATOR_WATCH_GONE, ZOK);
}

static void
event_for (CuratorSession *session, const char *path, ZooWatcherType type, gboolean deleted)
{
  const EntryKey key = { (char *) path, type };
  Entry *entry = g_hash_table_lookup (session->watches, &key);

  /* In every other state a read or a removal is under way, whose answer is newer. */
  if (entry == NULL || entry->state != ENTRY_ARMED)
    {
      return;
    }
  if (deleted)
    {
      entry_gone (entry);
    }
  else
    {
      entry_changed (entry);
    }
}

void
curator_watches_event (CuratorSession *session, int type, const char *path)
{
  if (type == ZOO_DELETED_EVENT)
    {
      event_for (session, path, ZWATCHTYPE_DATA, TRUE);
      event_for (session, path, ZWATCHTYPE_CHILD, TRUE);
    }
  else if (type == ZOO_CHANGED_EVENT)
    {
      event_for (session, path, ZWATCHTYPE_DATA, FALSE);
    }
  else if (type == ZOO_CHILD_EVENT)
    {
      event_for (session, path, ZWATCHTYPE_CHILD, FALSE);
    }
}

void
curator_watches_connected (CuratorSession *session)
{
  g_autoptr (GList) entries = g_hash_table_get_values (session->watches);

  /* Setting and removing are only sent here; their answers come later. */
  for (GList *link = entries; link != NULL; link = link->next)
    {
      Entry *entry = link->data;
      if (entry->state == ENTRY_WANTED)
        {
          entry_arm (entry);
        }
      else if (entry->state == ENTRY_UNWANTED)
        {
          entry_remove (entry);
        }
    }
}

/* @locks client mutex required. Whoever has a watch of the entry finds it spent. */
static void
detach_users (Entry *entry)
{
  GQueue *const queues[] = { &entry->users, &entry->newcomers };

  for (gsize i = 0; i < G_N_ELEMENTS (queues); i++)
    {
      while (queues[i]->head != NULL)
        {
          CuratorWatch *watch = queues[i]->head->data;
          place (watch, NULL);
          watch->entry = NULL;
          if (watch->func == on_abandoned)
            {
              g_free (watch);
            }
        }
    }
}

void
curator_watches_died (CuratorSession *session)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, session->watches);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      detach_users (value);
    }
  g_hash_table_remove_all (session->watches);
}

void
curator_watches_leave (CuratorSession *session)
{
  g_autoptr (GList) entries = g_hash_table_get_values (session->watches);

  for (GList *link = entries; link != NULL; link = link->next)
    {
      detach_users (link->data);
      entry_unused (link->data);
    }
}
