/* Sets one server-side watch per path and type, and shares it among its users.
 *
 * Mirrors WatcherRemovalManager. Threads: any; guarded by the client's mutex. The library never
 * gets a user as its context, so an event that arrives after a user's release cannot reach it.
 *
 * NOTES: in case an event is lost, at a server, on the way or in the library, a watched node is
 * read again from time to time, which also sets the watch again. Servers with the fix for
 * CVE-2024-23944 send no event about a node that we may not read, and those with ZOOKEEPER-2590 set
 * no watch on it: such a node is read often, until there is none.
 */
#include "session/watches-private.h"

#include "base/path.h"
#include "core/log.h"
#include "core/zk_error.h"
#include "session/request.h"

#include <string.h>

/* On reconnect the library sends all watched paths in one packet. A server refuses more than 1 MiB,
 * unless it is told to refuse less: see curator_watches_disconnected (). */
#define MAX_WATCHED_BYTES    (512 * 1024)
#define RETRY_US             (100 * 1000)
#define MAX_REREAD_US        (30 * G_USEC_PER_SEC)
#define UNREADABLE_REREAD_US (400 * 1000)

static void reread_later (CuratorWatchEntry *entry) CURATOR_LOCKED;

static gsize
watched_bytes (const char *path)
{
  return strlen (path) + 4;
}

static CURATOR_LOCKED void
stop_rereading (CuratorWatchEntry *entry)
{
  curator_timer_cancel (entry->session->client, &entry->reread_timer);
  g_clear_pointer (&entry->request, curator_request_forget);
}

void
curator_watch_entry_detach (CuratorWatchEntry *entry)
{
  GQueue *const queues[] = { &entry->users, &entry->newcomers };

  for (gsize i = 0; i < G_N_ELEMENTS (queues); i++) {
    while (queues[i]->head != NULL) {
      CuratorWatch *watch = queues[i]->head->data;
      curator_watch_place (watch, NULL);
      watch->entry = NULL;
      if (watch->abandoned)
        g_free (watch);
    }
  }
}

void
curator_watch_entry_free (gpointer data)
{
  CuratorWatchEntry *entry = data;
  entry->session->watched_bytes -= watched_bytes (entry->key.path);
  curator_watch_entry_detach (entry);
  stop_rereading (entry);
  curator_timer_cancel (entry->session->client, &entry->newcomers_timer);
  curator_timer_cancel (entry->session->client, &entry->retry_timer);
  g_free (entry->key.path);
  g_free (entry);
}

/* Of the users those whose watch that event spends. */
static CURATOR_LOCKED void
take_spent (CuratorWatchEntry *entry, CuratorWatchEvent event, GQueue *spent)
{
  GQueue users = G_QUEUE_INIT;

  curator_watches_move (&entry->users, &users, entry);
  curator_watches_move (&entry->newcomers, &users, entry);
  while (users.head != NULL) {
    CuratorWatch *watch = users.head->data;
    const gboolean stays = event == CURATOR_WATCH_GONE && watch->follows;
    curator_watch_place (watch, stays ? &entry->users : spent);
    watch->entry = stays ? entry : NULL;
  }
}

/* A callback may release or add any watch. So each is taken from the head, and a release unlinks it
 * there. */
static CURATOR_LOCKED void
notify_spent (GQueue *spent, CuratorWatchEvent event, int rc)
{
  while (spent->head != NULL) {
    CuratorWatch *watch = spent->head->data;
    curator_watch_place (watch, NULL);
    watch->func (watch, event, rc, NULL, watch->data);
  }
}

void
curator_watch_entry_end (CuratorWatchEntry *entry, gboolean is_set, CuratorWatchEvent event, int rc)
{
  GQueue spent = G_QUEUE_INIT;

  take_spent (entry, event, &spent);
  if (curator_watch_entry_has_users (entry)) {
    entry->is_absent = TRUE;
    entry->by_exists = FALSE;
    entry->maybe_set = is_set || entry->request != NULL;
    curator_watch_entry_arm (entry);
  } else if (is_set) {
    curator_watch_entry_remove (entry);
  } else if (entry->request != NULL) {
    entry->state = ENTRY_ARMING;
  } else {
    g_hash_table_remove (entry->session->watches, &entry->key);
  }
  notify_spent (&spent, event, rc);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_retry_due (gpointer data)
{
  CuratorWatchEntry *entry = data;
  entry->retry_timer = NULL;
  if (entry->state == ENTRY_WANTED)
    curator_watch_entry_arm (entry);
  else if (entry->state == ENTRY_UNWANTED)
    curator_watch_entry_remove (entry);
}

static CURATOR_LOCKED void
on_removed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorWatchEntry *entry = data;
  entry->request = NULL;
  if (curator_zk_is_retryable (rc)) {
    /* The library may still have the watch and would set it again on reconnect. */
    entry->maybe_set = TRUE;
    entry->state = curator_watch_entry_has_users (entry) ? ENTRY_WANTED : ENTRY_UNWANTED;
    /* A server has refused. After a lost connection the next connect retries, too. */
    if (entry->retry_timer == NULL)
      entry->retry_timer =
          curator_timer_after (entry->session->client, RETRY_US, on_retry_due, entry);
    return;
  }
  entry->maybe_set = FALSE;
  if (curator_watch_entry_has_users (entry)) {
    curator_watch_entry_arm (entry);
    return;
  }
  g_hash_table_remove (entry->session->watches, &entry->key);
}

void
curator_watch_entry_remove (CuratorWatchEntry *entry)
{
  stop_rereading (entry);
  entry->state = ENTRY_UNWANTED;
  if (curator_watch_entry_is_connected (entry)) {
    entry->state = ENTRY_REMOVING;
    entry->request = curator_request_remove_watches (entry->session, entry->key.path,
                                                     entry->key.type, on_removed, entry);
  }
}

void
curator_watch_entry_end_unused (CuratorWatchEntry *entry)
{
  /* A read in flight may set the watch again. Its reply calls this function. */
  if (curator_watch_entry_has_users (entry)
      || (entry->state == ENTRY_ARMED && entry->request != NULL))
    return;
  if (entry->state == ENTRY_ARMED)
    curator_watch_entry_remove (entry);
  else if (entry->state == ENTRY_WANTED && entry->maybe_set)
    entry->state = ENTRY_UNWANTED;
  else if (entry->state == ENTRY_WANTED)
    g_hash_table_remove (entry->session->watches, &entry->key);
}

void
curator_watch_entry_forget (CuratorWatchEntry *entry)
{
  CuratorSession *session = entry->session;
  CuratorZkOps *ops = session->client->ops;

  ops->forget_watches (ops, session->handle, entry->key.path, entry->key.type);
  entry->maybe_set = FALSE;
  if (entry->state == ENTRY_ARMED) {
    stop_rereading (entry);
    entry->state = ENTRY_WANTED;
  }
  curator_watch_entry_end_unused (entry);
}

/* Notifies the watches in queue, and keeps them as users of the entry. */
static CURATOR_LOCKED void
notify_users (CuratorWatchEntry *entry, GQueue *queue, CuratorWatchEvent event,
              const CuratorZkReply *reply)
{
  entry->notifying = TRUE;
  while (queue->head != NULL) {
    CuratorWatch *watch = queue->head->data;
    curator_watch_place (watch, &entry->users);
    watch->func (watch, event, ZOK, reply, watch->data);
  }
  entry->notifying = FALSE;
  curator_watch_entry_end_unused (entry);
}

/* reply is NULL if the server says no more than that the node exists: it may be of this session. */
static CURATOR_LOCKED void
entry_armed (CuratorWatchEntry *entry, const CuratorZkReply *reply)
{
  GQueue users = G_QUEUE_INIT;

  entry->state = ENTRY_ARMED;
  entry->is_own =
      reply == NULL || (reply->stat != NULL && reply->stat->ephemeralOwner == entry->session->id);
  reread_later (entry);
  curator_watches_move (&entry->users, &users, entry);
  curator_watches_move (&entry->newcomers, &users, entry);
  notify_users (entry, &users, CURATOR_WATCH_ARMED, reply);
}

/* The server will tell when the node is made. */
static CURATOR_LOCKED void
entry_waits (CuratorWatchEntry *entry)
{
  GQueue spent = G_QUEUE_INIT;
  GQueue users = G_QUEUE_INIT;

  entry->state = ENTRY_ARMED;
  entry->is_own = FALSE;
  reread_later (entry);
  take_spent (entry, CURATOR_WATCH_GONE, &spent);
  curator_watches_move (&entry->users, &users, entry);
  notify_users (entry, &users, CURATOR_WATCH_ABSENT, NULL);
  notify_spent (&spent, CURATOR_WATCH_GONE, ZNONODE);
}

static CURATOR_LOCKED void
on_armed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorWatchEntry *entry = data;
  entry->request = NULL;
  if (entry->is_absent && rc == ZNONODE) {
    entry_waits (entry);
  } else if (entry->is_absent && (rc == ZOK || rc == ZNOAUTH)) {
    entry->is_absent = FALSE;
    entry->maybe_set = TRUE;
    curator_watch_entry_arm (entry);
  } else if (rc == ZOK) {
    entry_armed (entry, reply);
  } else if (rc == ZNOAUTH && entry->key.type == ZWATCHTYPE_DATA && !entry->by_exists) {
    entry->by_exists = TRUE;
    curator_watch_entry_arm (entry);
  } else if (rc == ZNOAUTH && entry->by_exists) {
    /* The server asks for READ here, too, and has set no watch. A missing node needs no
       * permission. */
    entry_armed (entry, NULL);
  } else if (curator_zk_is_retryable (rc) && !curator_watch_entry_is_connected (entry)
             && curator_watch_entry_has_users (entry)) {
    entry->state = ENTRY_WANTED;
  } else if (rc == ZNONODE) {
    /* A failed read sets no watch, but exists does: for the creation of the missing node. An earlier
     * watch went with its node. */
    curator_watch_entry_end (entry, entry->by_exists, CURATOR_WATCH_GONE, rc);
  } else {
    curator_watch_entry_end (entry, entry->maybe_set, CURATOR_WATCH_FAILED, rc);
  }
}

/* The read that sets the watch. */
static CURATOR_LOCKED void
send_read (CuratorWatchEntry *entry, CuratorRequestDone done)
{
  CuratorSession *session = entry->session;
  const char *path = entry->key.path;

  if (entry->key.type == ZWATCHTYPE_CHILD)
    entry->request = curator_request_get_children (session, path, TRUE, done, entry);
  else if (entry->by_exists || entry->is_absent)
    entry->request = curator_request_exists (session, path, TRUE, done, entry);
  else
    entry->request = curator_request_get (session, path, TRUE, done, entry);
}

void
curator_watch_entry_arm (CuratorWatchEntry *entry)
{
  stop_rereading (entry);
  entry->state = ENTRY_WANTED;
  if (curator_watch_entry_is_connected (entry)) {
    entry->state = ENTRY_ARMING;
    send_read (entry, on_armed);
  }
}

/* After an error other than ZNONODE the watch is still set. */
static CURATOR_LOCKED void
on_reread (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorWatchEntry *entry = data;
  if (rc == ZNONODE && !entry->by_exists && !entry->is_absent && entry->state == ENTRY_ARMED) {
    /* A server sends the event of a deletion before the reply of a later read. */
    g_autofree char *shown = curator_path_escape (entry->key.path);
    curator_info ("%s is gone, but its watch event never came", shown);
  }
  if (rc == ZOK || rc == ZNONODE || entry->state == ENTRY_ARMING) {
    on_armed (rc, reply, sent_us, entry);
    return;
  }
  entry->request = NULL;
  reread_later (entry);
  curator_watch_entry_end_unused (entry);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_reread_due (gpointer data)
{
  CuratorWatchEntry *entry = data;
  entry->reread_timer = NULL;
  if (curator_watch_entry_is_connected (entry))
    send_read (entry, on_reread);
  else
    reread_later (entry);
}

/* The pause varies by half of the period, so that thousands do not read at once. */
static CURATOR_LOCKED void
reread_later (CuratorWatchEntry *entry)
{
  CuratorSession *session = entry->session;
  const gint64 usual = MIN ((gint64) session->timeout_ms * 1000, MAX_REREAD_US);
  const gint64 period = entry->by_exists ? MIN (usual, UNREADABLE_REREAD_US) : usual;
  const guint64 mixed =
      ((guint64) session->id + ++session->n_rereads) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  const gint64 pause = period + (gint64) (mixed >> 40) % (period / 2 + 1);

  entry->reread_timer = curator_timer_after (session->client, pause, on_reread_due, entry);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_newcomers_due (gpointer data)
{
  CuratorWatchEntry *entry = data;
  GQueue newcomers = G_QUEUE_INIT;

  entry->newcomers_timer = NULL;
  if (entry->state != ENTRY_ARMED)
    return;
  curator_watches_move (&entry->newcomers, &newcomers, entry);
  notify_users (entry, &newcomers, CURATOR_WATCH_ARMED, NULL);
}

static CURATOR_LOCKED CuratorWatchEntry *
entry_new (CuratorSession *session, const char *path, ZooWatcherType type, CuratorWatchNeed need)
{
  static const gsize limits[] = { [CURATOR_WATCH_OPTIONAL] = MAX_WATCHED_BYTES / 2,
                                  [CURATOR_WATCH_NEW] = MAX_WATCHED_BYTES / 8 * 7,
                                  [CURATOR_WATCH_NEEDED] = MAX_WATCHED_BYTES };

  if (session->watched_bytes + watched_bytes (path) > limits[need])
    return NULL;
  CuratorWatchEntry *entry = g_new (CuratorWatchEntry, 1);
  *entry = (CuratorWatchEntry){ .key = { g_strdup (path), type }, .session = session };
  session->watched_bytes += watched_bytes (path);
  g_hash_table_insert (session->watches, &entry->key, entry);
  curator_watch_entry_arm (entry);
  return entry;
}

CuratorWatch *
curator_watch_add (CuratorSession *session, const char *path, ZooWatcherType type,
                   CuratorWatchNeed need, CuratorWatchFunc func, gpointer data)
{
  const CuratorWatchKey key = { (char *) path, type };
  CuratorWatchEntry *entry = g_hash_table_lookup (session->watches, &key);

  if (entry == NULL && (entry = entry_new (session, path, type, need)) == NULL)
    return NULL;
  CuratorWatch *watch = g_new (CuratorWatch, 1);
  *watch = (CuratorWatch){ .entry = entry, .func = func, .data = data };
  if (entry->state == ENTRY_UNWANTED) {
    entry->maybe_set = TRUE;
    curator_watch_entry_arm (entry);
  }
  const gboolean is_armed = entry->state == ENTRY_ARMED && !entry->is_absent;
  curator_watch_place (watch, is_armed ? &entry->newcomers : &entry->users);
  if (entry->is_absent)
    curator_watch_reread (watch);
  if (is_armed && entry->newcomers_timer == NULL)
    entry->newcomers_timer = curator_timer_after (session->client, 0, on_newcomers_due, entry);
  return watch;
}

CuratorWatch *
curator_watch_follow (CuratorSession *session, const char *path, CuratorWatchNeed need,
                      CuratorWatchFunc func, gpointer data)
{
  CuratorWatch *watch = curator_watch_add (session, path, ZWATCHTYPE_DATA, need, func, data);

  if (watch != NULL) {
    watch->follows = TRUE;
    curator_watch_reread (watch);
  }
  return watch;
}

void
curator_watch_reread (CuratorWatch *watch)
{
  CuratorWatchEntry *entry = watch->entry;

  /* In every other state a read is due or in flight. */
  if (entry != NULL && entry->state == ENTRY_ARMED && entry->request == NULL) {
    curator_timer_cancel (entry->session->client, &entry->reread_timer);
    on_reread_due (entry);
  }
}

void
curator_watch_release (CuratorWatch *watch)
{
  CuratorWatchEntry *entry = watch->entry;

  curator_watch_place (watch, NULL);
  g_free (watch);
  if (entry != NULL && !entry->notifying)
    curator_watch_entry_end_unused (entry);
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

static CURATOR_LOCKED void
on_abandoned (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
              gpointer data)
{
  if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED)
    curator_watch_release (watch);
}

void
curator_watch_abandon (CuratorWatch *watch)
{
  if (watch->entry == NULL) {
    curator_watch_release (watch);
    return;
  }
  watch->func = on_abandoned;
  watch->abandoned = TRUE;
}

void
curator_watch_entry_changed (CuratorWatchEntry *entry)
{
  GQueue users = G_QUEUE_INIT;

  entry->state = ENTRY_WANTED;
  entry->is_absent = FALSE;
  entry->maybe_set = entry->request != NULL; /* a read that may set it, and is not waited for */
  curator_watches_move (&entry->users, &users, entry);
  curator_watches_move (&entry->newcomers, &users, entry);
  curator_watch_entry_arm (entry);
  notify_users (entry, &users, CURATOR_WATCH_CHANGED, NULL);
}
