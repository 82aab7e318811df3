/* The requests of a session, in flight or waiting to be sent.
 *
 * Mirrors OperationAndData. Threads: any sends a request; its completion runs on libzookeeper's
 * completion thread or on the thread that ends the session. Guarded by the client's mutex.
 */
#include "session/request.h"

#include "base/guards.h"
#include "base/threads.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/stats-private.h"
#include "core/zk_error.h"
#include "session/lease_clock.h"

#include <string.h>

/* More than 65,536 requests while the library's thread is stalled overflow its wake-up pipe and
 * cost the connection. A few thousand keep any link busy. */
#define MAX_IN_FLIGHT 4096
/* Every server takes what is shorter. */
#define LONG_REQUEST 1024

typedef enum
{
  REQUEST_GET,
  REQUEST_EXISTS,
  REQUEST_GET_CHILDREN,
  REQUEST_CREATE, /* from here to REMOVE_ALL: a quorum commits it */
  REQUEST_SET,
  REQUEST_REMOVE,
  REQUEST_CHECK,
  REQUEST_REMOVE_ALL,
  REQUEST_REMOVE_WATCHES
} RequestKind;

struct _CuratorRequest
{
  CuratorZkTicket ticket; /* first: a completion's ticket is the request */
  CuratorSession *session;
  GList link; /* in session->in_flight or session->backlog */
  RequestKind kind;
  const char *path; /* behind the request, in the same block */
  GBytes *bytes;
  GPtrArray *paths;
  int number; /* create: mode; set: version; remove_watches: type; reads: whether to watch */
  gint64 sent_us CURATOR_GUARDED;
  CuratorRequestDone done;
  gpointer user_data;
  gboolean settled CURATOR_GUARDED;
  CuratorTimer *failure CURATOR_GUARDED; /* the library refused it: this timer reports failure_rc */
  int failure_rc CURATOR_GUARDED;
};

static void after_answer (CuratorSession *session) CURATOR_LOCKED;

static CURATOR_LOCKED void
request_free (CuratorRequest *request)
{
  curator_timer_cancel (request->session->client, &request->failure);
  if (request->ticket.ops_free != NULL)
    request->ticket.ops_free (request->ticket.ops_data);
  g_clear_pointer (&request->bytes, g_bytes_unref);
  g_clear_pointer (&request->paths, g_ptr_array_unref);
  g_free (request);
}

/* Of a transaction of several paths; others cannot be shorter than they are, and count as 0. */
static gsize
length_of (const CuratorRequest *request)
{
  const guint n = request->paths != NULL && request->paths->len > 1 ? request->paths->len : 0;
  gsize length = 0;

  for (guint i = 0; i < n; i++)
    length += strlen (g_ptr_array_index (request->paths, i)) + CURATOR_STEP_BYTES;
  return length;
}

gsize
curator_request_room (const CuratorSession *session, gsize usual)
{
  return session->room.most_bytes > 0 ? MIN (session->room.most_bytes, usual) : usual;
}

/* A server closes the connection at a request that is longer than its jute.maxbuffer. So when two
 * connections in a row are lost with a long one, the next ones are shorter. */
void
curator_request_note_loss (CuratorSession *session)
{
  /* The library's list of watches is the first request of each connection. */
  const gsize watched = session->watched_bytes;
  const gboolean is_in_doubt =
      !session->room.has_answered && watched <= curator_request_room (session, watched);
  gsize longest = is_in_doubt ? watched : 0;

  for (GList *link = session->in_flight.head; link != NULL; link = link->next)
    longest = MAX (longest, length_of (link->data));
  if (longest >= LONG_REQUEST && session->room.long_was_lost)
    session->room.most_bytes = curator_request_room (session, longest) / 2;
  session->room.long_was_lost = longest >= LONG_REQUEST;
}

static CURATOR_LOCKED void
settle (CuratorRequest *request, int rc, const CuratorZkReply *reply)
{
  static const CuratorZkReply nothing = { .data_length = -1, .failed_index = -1 };

  if (request->settled)
    return;
  request->settled = TRUE;
  /* Other codes may come from the library or from the end of the session. */
  if (rc == ZOK || rc == ZNONODE || rc == ZNODEEXISTS || rc == ZNOAUTH) {
    CuratorSession *session = request->session;
    const gint64 now = curator_locked_reread_us (session->client);
    curator_lease_clock_note_answer (session, request->sent_us, now);
    curator_count_duration (session->client, CURATOR_DURATION_ROUND_TRIP, now - request->sent_us);
    session->room.has_answered = TRUE;
    session->room.long_was_lost = session->room.long_was_lost && length_of (request) < LONG_REQUEST;
    if (rc == ZOK && request->kind >= REQUEST_CREATE && request->kind <= REQUEST_REMOVE_ALL)
      curator_lease_clock_note_proof (session, request->sent_us, now);
  }
  if (request->done != NULL)
    request->done (rc, reply != NULL ? reply : &nothing, request->sent_us, request->user_data);
}

/* Runs on libzookeeper's completion thread, or in the simulator. */
static CURATOR_UNLOCKED void
on_completion (int rc, const CuratorZkReply *reply, CuratorZkTicket *ticket)
{
  CuratorRequest *request = (CuratorRequest *) ticket;
  CuratorSession *session = request->session;
  CuratorClient *client = session->client;
  const CuratorThreadRole before = curator_thread_change_role (client, TRUE);

  curator_client_lock (client);
  if (curator_zk_is_auth_failure (rc))
    session->refused (session, rc); /* settles all requests */
  g_queue_unlink (&session->in_flight, &request->link);
  settle (request, rc, reply);
  request_free (request);
  after_answer (session);
  curator_client_unlock (client);
  curator_thread_change_role (before.client, before.is_ours);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_failure (gpointer data)
{
  CuratorRequest *request = data;
  CuratorSession *session = request->session;
  request->failure = NULL;
  g_queue_unlink (&session->in_flight, &request->link);
  settle (request, request->failure_rc, NULL);
  request_free (request);
  after_answer (session);
}

/* What the library says. */
static CURATOR_LOCKED int
send_to_library (CuratorRequest *request)
{
  CuratorSession *session = request->session;
  CuratorZkOps *ops = session->client->ops;
  CuratorZkHandle *handle = session->handle;
  CuratorZkTicket *ticket = &request->ticket;
  gsize length = 0;
  const char *data = request->bytes != NULL ? g_bytes_get_data (request->bytes, &length) : NULL;

  g_queue_push_tail_link (&session->in_flight, &request->link);
  request->sent_us = curator_locked_boottime_us (session->client);
  session->asked_us = request->sent_us;
  if (handle == NULL || session->state == CURATOR_SESSION_DEAD)
    return ZCONNECTIONLOSS;
  curator_count (session->client, CURATOR_COUNTER_REQUESTS, 1);
  switch (request->kind) {
  case REQUEST_CREATE:
    return ops->create (ops, handle, request->path, data != NULL ? data : "", (int) length,
                        &session->client->settings.acl, request->number, ticket);
  case REQUEST_REMOVE:
    return ops->remove (ops, handle, request->path, -1, ticket);
  case REQUEST_GET:
    return ops->get (ops, handle, request->path, request->number, ticket);
  case REQUEST_EXISTS:
    return ops->exists (ops, handle, request->path, request->number, ticket);
  case REQUEST_GET_CHILDREN:
    return ops->get_children (ops, handle, request->path, request->number, ticket);
  case REQUEST_SET:
    return ops->set (ops, handle, request->path, data != NULL ? data : "", (int) length,
                     request->number, ticket);
  case REQUEST_CHECK:
    return ops->check (ops, handle, (const char *const *) request->paths->pdata,
                       (int) request->paths->len, ticket);
  case REQUEST_REMOVE_ALL:
    return ops->remove_all (ops, handle, (const char *const *) request->paths->pdata,
                            (int) request->paths->len, ticket);
  case REQUEST_REMOVE_WATCHES:
    return ops->remove_all_watches (ops, handle, request->path, (ZooWatcherType) request->number,
                                    ticket);
  default:
    g_assert_not_reached ();
  }
}

/* If nothing was sent, the handle has expired or is closing, and its event will follow. */
static CURATOR_LOCKED void
fail_unless_sent (CuratorRequest *request, int rc)
{
  if (rc == ZOK)
    return;
  request->failure_rc = rc == ZINVALIDSTATE || rc == ZMARSHALLINGERROR ? ZCONNECTIONLOSS : rc;
  request->failure = curator_timer_after (request->session->client, 0, on_failure, request);
}

static CURATOR_LOCKED void
send_backlog (CuratorSession *session)
{
  while (session->in_flight.length < MAX_IN_FLIGHT && session->backlog.length > 0) {
    CuratorRequest *next = g_queue_pop_head_link (&session->backlog)->data;
    fail_unless_sent (next, send_to_library (next));
  }
}

static void
after_answer (CuratorSession *session)
{
  if (session->state != CURATOR_SESSION_DEAD)
    send_backlog (session);
  if (session->drained != NULL && session->in_flight.length == 0)
    session->drained (session);
}

/* path is copied, or NULL; paths: transfer full. */
static CURATOR_LOCKED CuratorRequest *
submit (CuratorSession *session, RequestKind kind, const char *path, GBytes *bytes,
        GPtrArray *paths, int number, CuratorRequestDone done, gpointer user_data)
{
  const gsize path_size = path != NULL ? strlen (path) + 1 : 0;
  CuratorRequest *request = g_malloc (sizeof *request + path_size);

  *request = (CuratorRequest){ .ticket.completion = on_completion,
                               .session = session,
                               .link.data = request,
                               .kind = kind,
                               .bytes = bytes != NULL ? g_bytes_ref (bytes) : NULL,
                               .paths = paths,
                               .number = number,
                               .done = done,
                               .user_data = user_data };
  if (path != NULL)
    request->path = memcpy (request + 1, path, path_size);
  if (session->collects || session->in_flight.length >= MAX_IN_FLIGHT)
    g_queue_push_tail_link (&session->backlog, &request->link);
  else
    fail_unless_sent (request, send_to_library (request));
  return request;
}

void
curator_request_collect (CuratorSession *session)
{
  session->collects = TRUE;
}

void
curator_request_send (CuratorSession *session)
{
  session->collects = FALSE;
  send_backlog (session);
}

CuratorRequest *
curator_request_create (CuratorSession *session, const char *path, GBytes *data, int mode,
                        CuratorRequestDone done, gpointer user_data)
{
  return submit (session, REQUEST_CREATE, path, data, NULL, mode, done, user_data);
}

CuratorRequest *
curator_request_remove (CuratorSession *session, const char *path, CuratorRequestDone done,
                        gpointer user_data)
{
  return submit (session, REQUEST_REMOVE, path, NULL, NULL, 0, done, user_data);
}

CuratorRequest *
curator_request_get (CuratorSession *session, const char *path, gboolean watch,
                     CuratorRequestDone done, gpointer user_data)
{
  return submit (session, REQUEST_GET, path, NULL, NULL, watch, done, user_data);
}

CuratorRequest *
curator_request_exists (CuratorSession *session, const char *path, gboolean watch,
                        CuratorRequestDone done, gpointer user_data)
{
  return submit (session, REQUEST_EXISTS, path, NULL, NULL, watch, done, user_data);
}

CuratorRequest *
curator_request_get_children (CuratorSession *session, const char *path, gboolean watch,
                              CuratorRequestDone done, gpointer user_data)
{
  return submit (session, REQUEST_GET_CHILDREN, path, NULL, NULL, watch, done, user_data);
}

CuratorRequest *
curator_request_set (CuratorSession *session, const char *path, GBytes *data, int version,
                     CuratorRequestDone done, gpointer user_data)
{
  return submit (session, REQUEST_SET, path, data, NULL, version, done, user_data);
}

CuratorRequest *
curator_request_check (CuratorSession *session, GPtrArray *paths, CuratorRequestDone done,
                       gpointer user_data)
{
  return submit (session, REQUEST_CHECK, NULL, NULL, paths, 0, done, user_data);
}

CuratorRequest *
curator_request_remove_all (CuratorSession *session, GPtrArray *paths, CuratorRequestDone done,
                            gpointer user_data)
{
  return submit (session, REQUEST_REMOVE_ALL, NULL, NULL, paths, 0, done, user_data);
}

CuratorRequest *
curator_request_remove_watches (CuratorSession *session, const char *path, ZooWatcherType type,
                                CuratorRequestDone done, gpointer user_data)
{
  return submit (session, REQUEST_REMOVE_WATCHES, path, NULL, NULL, (int) type, done, user_data);
}

void
curator_request_forget (CuratorRequest *request)
{
  request->done = NULL;
}

void
curator_request_redirect (CuratorRequest *request, CuratorRequestDone done, gpointer user_data)
{
  request->done = done;
  request->user_data = user_data;
}

gboolean
curator_reply_has_payload (const CuratorZkReply *reply, GBytes *payload)
{
  g_autoptr (GBytes) data = g_bytes_new_static (reply->data, (gsize) MAX (reply->data_length, 0));
  return g_bytes_equal (data, payload);
}

void
curator_request_settle_all (CuratorSession *session, int rc)
{
  GQueue *const queues[] = { &session->in_flight, &session->backlog };

  for (gsize i = 0; i < G_N_ELEMENTS (queues); i++)
    for (GList *link = queues[i]->head; link != NULL; link = link->next)
      settle (link->data, rc, NULL);
}

void
curator_request_free_all (CuratorSession *session)
{
  GList *link;
  while ((link = g_queue_pop_head_link (&session->in_flight)) != NULL
         || (link = g_queue_pop_head_link (&session->backlog)) != NULL)
    request_free (link->data);
}
