/* Deletes nodes, each until it is gone.
 *
 * Mirrors FailedDeleteManager. Threads: any; guarded by the client's mutex. The retry policy does
 * not apply: a deletion is tried as soon as there is a connection, and again after pauses that grow
 * to one second, or to five while permissions are missing, which may be granted again.
 *
 * NOTES: several are deleted by one transaction where one caller wants that. The mutex is held from
 * the first member of such a batch to its send: no other request of the session comes between.
 */
#include "nodes/deletion-private.h"

#include "base/guards.h"
#include "base/path.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "core/stats-private.h"
#include "core/zk_error.h"
#include "session/session.h"
#include "session/stakes.h"

#include <string.h>

#define FIRST_PAUSE_US   (50 * 1000)
#define LAST_PAUSE_US    G_USEC_PER_SEC
#define REFUSED_PAUSE_US (5 * G_USEC_PER_SEC)
/* Of the paths of one transaction. A request of more than 1 MB would cost the connection. */
#define MAX_BATCH_BYTES (64 * 1024)

struct _CuratorDeletionBatch
{
  GQueue members CURATOR_GUARDED; /* CuratorDeletion, by its batch_link */
  gsize n_bytes CURATOR_GUARDED;
  CuratorRequest *request CURATOR_GUARDED;
};

struct _CuratorDeletions
{
  GQueue items CURATOR_GUARDED; /* searches by prefixes come first */
  guint n_idle CURATOR_GUARDED; /* of them */
  gboolean closed CURATOR_GUARDED;
  CuratorDeletionBatch *gathering CURATOR_GUARDED; /* takes the next deletes; or NULL */
};

static void deletion_try (CuratorDeletion *deletion) CURATOR_LOCKED;

CuratorDeletions *
curator_deletions_new (void)
{
  return g_new0 (CuratorDeletions, 1);
}

void
curator_deletions_free (CuratorDeletions *deletions)
{
  g_assert (deletions->items.length == 0);
  g_free (deletions);
}

guint
curator_deletions_pending (CuratorClient *client)
{
  return client->deletions->items.length - client->deletions->n_idle;
}

/* No other node ever has this name. */
static gboolean
is_unique (const CuratorDeletion *deletion)
{
  return deletion->listed == NULL && deletion->czxid == 0 && deletion->payload == NULL;
}

gboolean
curator_deletions_has (CuratorClient *client, const char *path, const struct Stat *stat,
                       GBytes *payload)
{
  for (GList *link = client->deletions->items.head; link != NULL; link = link->next) {
    const CuratorDeletion *deletion = link->data;
    const gboolean may_match =
        is_unique (deletion)
        || (deletion->listed == NULL && deletion->owner == stat->ephemeralOwner
            && (deletion->czxid == 0 || deletion->czxid == stat->czxid)
            && (deletion->payload == NULL || g_bytes_equal (deletion->payload, payload)));
    if (may_match && g_str_equal (deletion->path, path))
      return TRUE;
  }
  return FALSE;
}

gboolean
curator_deletions_has_path (CuratorClient *client, const char *path)
{
  for (GList *link = client->deletions->items.head; link != NULL; link = link->next) {
    const CuratorDeletion *deletion = link->data;
    if (is_unique (deletion) && g_str_equal (deletion->path, path))
      return TRUE;
  }
  return FALSE;
}

static CURATOR_LOCKED CuratorDeletion *
first_search (GList *link)
{
  CuratorDeletion *deletion = link != NULL ? link->data : NULL;
  return deletion != NULL && deletion->prefixes != NULL ? deletion : NULL;
}

CuratorDeletion *
curator_deletions_search (CuratorClient *client, const char *path)
{
  CuratorDeletion *search = first_search (client->deletions->items.head);
  while (search != NULL && !g_str_equal (search->path, path))
    search = first_search (search->link.next);
  return search;
}

static CURATOR_LOCKED void
set_idle (CuratorDeletion *search, gboolean is_idle)
{
  search->client->deletions->n_idle += (guint) is_idle - (guint) search->is_idle;
  search->is_idle = is_idle;
}

/* Takes error. */
static CURATOR_LOCKED void
end_release (CuratorDeletion *deletion, GError *error)
{
  curator_release_end (deletion->release, error);
  g_clear_pointer (&deletion->release, curator_op_unref);
}

void
curator_deletion_end (CuratorDeletion *deletion, GError *error)
{
  end_release (deletion, error);
  g_clear_pointer (&deletion->request, curator_request_forget);
  if (deletion->batch != NULL) {
    g_queue_unlink (&deletion->batch->members, &deletion->batch_link);
    if (deletion->batch->members.length == 0) {
      g_clear_pointer (&deletion->batch->request, curator_request_forget);
      g_free (deletion->batch);
    }
  }
  set_idle (deletion, FALSE);
  curator_timer_cancel (deletion->client, &deletion->pause);
  g_queue_unlink (&deletion->client->deletions->items, &deletion->link);
  g_clear_pointer (&deletion->prefixes, g_ptr_array_unref);
  g_clear_pointer (&deletion->payload, g_bytes_unref);
  g_free (deletion->sequential_name);
  g_free (deletion);
}

static CURATOR_LOCKED void
on_pause_end (gpointer data)
{
  CuratorDeletion *deletion = data;
  deletion->pause = NULL;
  set_idle (deletion, FALSE);
  deletion_try (deletion);
}

static CURATOR_LOCKED void
pause_for (CuratorDeletion *deletion, gint64 longest_us)
{
  deletion->pause_us = CLAMP (deletion->pause_us * 2, FIRST_PAUSE_US, longest_us);
  deletion->pause =
      curator_timer_after (deletion->client, deletion->pause_us, on_pause_end, deletion);
}

void
curator_deletion_retry_later (CuratorDeletion *deletion)
{
  pause_for (deletion, deletion->is_refused ? REFUSED_PAUSE_US : LAST_PAUSE_US);
}

void
curator_search_idle (CuratorDeletion *search)
{
  set_idle (search, TRUE);
  pause_for (search, G_MAXINT64);
}

void
curator_search_wake (CuratorDeletion *search)
{
  search->pause_us = 0;
  if (search->is_idle) {
    curator_timer_cancel (search->client, &search->pause);
    on_pause_end (search);
  }
}

/* Whoever was behind the deleted node must not wait for a late one. The turns of a semaphore have a
 * folder beside that of its leases. */
static CURATOR_LOCKED void
look_beside (const CuratorDeletion *deletion)
{
  CuratorDeletion *search = first_search (deletion->client->deletions->items.head);

  for (; search != NULL; search = first_search (search->link.next)) {
    const gsize length = (gsize) (strrchr (search->path, '/') + 1 - search->path);
    if (search->is_idle && search->pause_us > LAST_PAUSE_US
        && strncmp (deletion->path, search->path, length) == 0) {
      curator_timer_cancel (search->client, &search->pause);
      pause_for (search, LAST_PAUSE_US);
    }
  }
}

void
curator_deletion_refused (CuratorDeletion *deletion, int rc, GError *error)
{
  if (!deletion->is_refused)
    curator_warn ("cannot delete a node: %s", error->message);
  end_release (deletion, error);
  if (rc != ZNOAUTH) {
    curator_deletion_end (deletion, NULL);
    return;
  }
  deletion->is_refused = TRUE;
  curator_deletion_retry_later (deletion);
}

static CURATOR_LOCKED void
on_answer (CuratorDeletion *deletion, int rc)
{
  deletion->deleting = FALSE;
  if (rc == ZOK || rc == ZNONODE) {
    curator_count (deletion->client, CURATOR_COUNTER_NODES_REAPED, rc == ZOK ? 1 : 0);
    look_beside (deletion);
    curator_deletion_end (deletion, NULL);
  } else if (!curator_zk_is_refusal (rc)) {
    curator_deletion_retry_later (deletion);
  } else {
    const char *path = curator_client_user_path (deletion->client, deletion->path);
    curator_deletion_refused (deletion, rc, curator_error_from_zk_deletion (rc, FALSE, path));
  }
}

static CURATOR_LOCKED void
on_deleted (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorDeletion *deletion = data;
  deletion->request = NULL;
  on_answer (deletion, rc);
}

static CURATOR_LOCKED gboolean
is_ours (const CuratorDeletion *deletion, const CuratorZkReply *reply)
{
  CuratorSession *session = deletion->client->session;
  return reply->stat->ephemeralOwner == deletion->owner
         && (is_unique (deletion)
             || ((deletion->owner == 0 || deletion->owner == session->id)
                 && (deletion->czxid != 0
                         ? reply->stat->czxid == deletion->czxid
                         : !curator_session_has_stake (session, deletion->path)
                               && curator_reply_has_payload (reply, deletion->payload))));
}

/* TRUE if a delete of this path is in flight, after which the name may be another client's. */
static CURATOR_LOCKED gboolean
is_being_deleted (const CuratorDeletion *deletion)
{
  for (GList *link = deletion->client->deletions->items.head; link != NULL; link = link->next) {
    const CuratorDeletion *other = link->data;
    if (other->deleting && g_str_equal (other->path, deletion->path))
      return TRUE;
  }
  return FALSE;
}

/* Deletes the node if it is ours. Only this client could make room for another node between this
 * reply and the delete, and it sends one delete at a time. */
static CURATOR_LOCKED void
on_owner_known (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorDeletion *deletion = data;
  CuratorClient *client = deletion->client;

  deletion->request = NULL;
  if ((rc != ZOK && !curator_zk_is_refusal (rc)) || !curator_client_is_connected (client)
      || (rc == ZOK && is_being_deleted (deletion))) {
    curator_deletion_retry_later (deletion);
  } else if (rc == ZNOAUTH && (deletion->czxid != 0 || is_unique (deletion))
             && !deletion->by_exists) {
    deletion->by_exists = TRUE;
    deletion->request =
        curator_request_exists (client->session, deletion->path, FALSE, on_owner_known, deletion);
  } else if (rc == ZNOAUTH) {
    const char *path = curator_client_user_path (client, deletion->path);
    curator_deletion_refused (deletion, rc, curator_error_from_zk_deletion (rc, TRUE, path));
  } else if (rc == ZOK && is_ours (deletion, reply)) {
    deletion->deleting = TRUE;
    deletion->request =
        curator_request_remove (client->session, deletion->path, on_deleted, deletion);
  } else {
    curator_deletion_end (deletion, NULL);
  }
}

static CURATOR_LOCKED void
on_quorum_reached (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorDeletion *deletion = data;
  deletion->request = NULL;
  if ((rc != ZOK && !curator_zk_is_refusal (rc))
      || !curator_client_is_connected (deletion->client)) {
    curator_deletion_retry_later (deletion);
    return;
  }
  CuratorSession *session = deletion->client->session;
  deletion->request =
      deletion->listed != NULL
          ? curator_request_get_children (session, deletion->path, FALSE, deletion->listed,
                                          deletion)
          : curator_request_get (session, deletion->path, FALSE, on_owner_known, deletion);
}

/* Somebody may have put another node in the place of ours in the meantime. */
static CURATOR_LOCKED gboolean
must_be_checked (const CuratorDeletion *deletion)
{
  return !is_unique (deletion)
         || (deletion->owner != 0
             && (deletion->is_refused || deletion->owner != deletion->client->session->id));
}

static void
deletion_try (CuratorDeletion *deletion)
{
  CuratorClient *client = deletion->client;

  if (!curator_client_is_connected (client))
    return; /* tried again on the next connect */
  if (!must_be_checked (deletion)) {
    deletion->request =
        curator_request_remove (client->session, deletion->path, on_deleted, deletion);
  } else {
    /* A server that lags behind may not have the node yet, and a deposed leader answers even a
       * sync. A server that answers this check has all that the quorum has. */
    GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
    g_ptr_array_add (paths, deletion->listed != NULL ? g_strdup (deletion->path)
                                                     : curator_path_parent (deletion->path));
    deletion->request = curator_request_check (client->session, paths, on_quorum_reached, deletion);
  }
}

CuratorDeletion *
curator_deletion_new (CuratorClient *client, const char *path, gint64 owner, gint64 czxid)
{
  const gsize path_size = strlen (path) + 1;
  CuratorDeletion *deletion = g_malloc (sizeof *deletion + path_size);
  *deletion = (CuratorDeletion){ .link.data = deletion,
                                 .batch_link.data = deletion,
                                 .client = client,
                                 .owner = owner,
                                 .czxid = czxid };
  memcpy (deletion->path, path, path_size);
  g_queue_push_tail_link (&client->deletions->items, &deletion->link);
  return deletion;
}

CuratorDeletion *
curator_search_new (CuratorClient *client, const char *path, CuratorRequestDone listed)
{
  CuratorDeletion *search = curator_deletion_new (client, path, 0, 0);
  search->listed = listed;
  search->prefixes = g_ptr_array_new_with_free_func (g_free);
  g_queue_unlink (&client->deletions->items, &search->link);
  g_queue_push_head_link (&client->deletions->items, &search->link);
  return search;
}

void
curator_deletion_start (CuratorDeletion *deletion, CuratorOp *release)
{
  CuratorClient *client = deletion->client;
  CuratorDeletionBatch *batch = client->deletions->gathering;

  deletion->release = release != NULL ? curator_op_ref (release) : NULL;
  if (client->deletions->closed) {
    curator_deletion_end (deletion, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED,
                                                         "the client is closed"));
    return;
  }
  curator_release_begin (release, deletion->path);
  if (batch == NULL || !curator_client_is_connected (client) || must_be_checked (deletion)) {
    deletion_try (deletion);
    return;
  }
  deletion->batch = batch;
  g_queue_push_tail_link (&batch->members, &deletion->batch_link);
  batch->n_bytes += strlen (deletion->path) + CURATOR_STEP_BYTES;
}

void
curator_deletion_start_later (CuratorDeletion *deletion, gint64 pause_us)
{
  if (deletion->client->deletions->closed)
    curator_deletion_end (deletion, NULL);
  else
    deletion->pause = curator_timer_after (deletion->client, pause_us, on_pause_end, deletion);
}

void
curator_deletions_gather (CuratorClient *client)
{
  g_assert (client->deletions->gathering == NULL);
  client->deletions->gathering = g_new0 (CuratorDeletionBatch, 1);
}

/* alone: no transaction was sent, or a server has refused it. */
static CURATOR_LOCKED void
end_batch (CuratorDeletionBatch *batch, gboolean alone, int rc)
{
  GList *link;

  while ((link = g_queue_pop_head_link (&batch->members)) != NULL) {
    CuratorDeletion *member = link->data;
    member->batch = NULL;
    if (alone)
      deletion_try (member);
    else
      on_answer (member, rc);
  }
  g_free (batch);
}

static CURATOR_LOCKED void
on_all_deleted (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorDeletionBatch *batch = data;
  batch->request = NULL;
  end_batch (batch, rc != ZOK && curator_zk_is_refusal (rc), rc);
}

/* One node needs no transaction. */
void
curator_deletions_send_gathered (CuratorClient *client)
{
  CuratorDeletionBatch *batch = g_steal_pointer (&client->deletions->gathering);

  if (batch->members.length > 1 && curator_client_is_connected (client)
      && batch->n_bytes <= curator_request_room (client->session, MAX_BATCH_BYTES)) {
    GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
    for (GList *link = batch->members.head; link != NULL; link = link->next)
      g_ptr_array_add (paths, g_strdup (((CuratorDeletion *) link->data)->path));
    batch->request = curator_request_remove_all (client->session, paths, on_all_deleted, batch);
    return;
  }
  end_batch (batch, TRUE, ZOK);
}

void
curator_deletions_connected (CuratorClient *client)
{
  GList *next;
  for (GList *link = client->deletions->items.head; link != NULL; link = next) {
    CuratorDeletion *deletion = link->data;
    next = link->next;
    /* After a failure the pause still applies: the request may have cost the connection. */
    if (deletion->is_idle)
      curator_search_wake (deletion);
    else if (deletion->request == NULL && deletion->pause == NULL && deletion->batch == NULL)
      deletion_try (deletion);
  }
}

void
curator_deletions_close (CuratorClient *client)
{
  CuratorDeletions *deletions = client->deletions;

  deletions->closed = TRUE;
  while (deletions->items.head != NULL) {
    curator_deletion_end (
        deletions->items.head->data,
        g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED,
                             "the client was closed; the session's end deletes the node"));
  }
}
