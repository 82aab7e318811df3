/* The ops table for the program's own ZooKeeper handle: program and client share one session.
 *
 * Mirrors a ZookeeperFactory that returns an existing handle. Threads: any sends requests, with the
 * client's mutex; replies and watch events run on libzookeeper's completion thread, session events
 * on the thread that forwards them. The client's mutex guards which handle the program has, the
 * mutex of this file everything else; no other lock is taken under it.
 *
 * NOTES: closing here leaves the handle open, so replies and events may come long afterwards. So
 * the library never gets a pointer to the client's memory: it gets a Call of this file, which drops
 * its caller at close, and as the context of a watch an id. Session events reach watches too, but
 * only the forwarded ones count.
 */
#include "base/container.h"
#include "base/fork_gate.h"
#include "base/tag.h"
#include "client/session_servers.h"
#include "client/session_states.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "curator/zookeeper.h"
#include "session/session.h"
#include "zk/zk_handle.h"

#include <errno.h>

typedef struct
{
  CuratorZkOps ops; /* first: the client's table */
  zhandle_t *zh;    /* the program's handle, or NULL */
} Adopted;

typedef struct
{
  CuratorZkHandle base; /* first: the session's handle */
  Adopted *adopted;
  CuratorZkTicket probe;
  gsize id;               /* never reused */
  GQueue calls;           /* Call */
  guint delivering;       /* close waits until it is 0 */
  gboolean has_connected; /* the session got a CONNECTED */
  gboolean is_over;       /* expired or refused */
} Handle;

typedef struct
{
  CuratorZkTicket ticket;  /* first: the ticket that the library gets */
  CuratorZkTicket *caller; /* NULL once the handle is closed */
  Handle *handle;
  GList link; /* in handle->calls or in orphans */
} Call;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_cond_t delivered = PTHREAD_COND_INITIALIZER;
static GHashTable *handles; /* id -> Handle; there is none before the first id */
static GQueue orphans;      /* Call whose handle is closed */
static gsize last_id;

static void
lock_handles (void)
{
  pthread_mutex_lock (&mutex);
}

static void
unlock_handles (void)
{
  pthread_mutex_unlock (&mutex);
}

/* The child of a fork may adopt handles of its own. Who waited is not there. */
static void
unlock_in_child (void)
{
  pthread_cond_init (&delivered, NULL);
  pthread_mutex_unlock (&mutex);
}

static void
begin (void)
{
  curator_gate_at_fork (lock_handles, unlock_handles, unlock_in_child);
  handles = g_hash_table_new (NULL, NULL);
}

static void
end_delivery (Handle *handle)
{
  curator_zk_rest_leave (&handle->base.rest);
  pthread_mutex_lock (&mutex);
  if (--handle->delivering == 0)
    pthread_cond_broadcast (&delivered);
  pthread_mutex_unlock (&mutex);
}

static void
deliver_event (gsize id, int type, int state, const char *path)
{
  pthread_mutex_lock (&mutex);
  Handle *handle = g_hash_table_lookup (handles, GSIZE_TO_POINTER (id));
  if (handle != NULL) {
    handle->delivering++;
    handle->has_connected |= type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE;
    handle->is_over |= type == ZOO_SESSION_EVENT && state < 0;
    curator_zk_rest_enter (&handle->base.rest);
  }
  pthread_mutex_unlock (&mutex);
  if (handle != NULL) {
    handle->base.watcher (type, state, path, handle->base.context);
    end_delivery (handle);
  }
}

/* Runs on libzookeeper's completion thread. */
static void
on_watch_event (zhandle_t *zh, int type, int state, const char *path, void *context)
{
  if (type != ZOO_SESSION_EVENT && type != ZOO_NOTWATCHING_EVENT)
    deliver_event (GPOINTER_TO_SIZE (context), type, state, path);
}

static void
call_free (Call *call)
{
  if (call->ticket.ops_free != NULL)
    call->ticket.ops_free (call->ticket.ops_data);
  g_free (call);
}

/* Runs on libzookeeper's completion thread. */
static void
on_answer (int rc, const CuratorZkReply *reply, CuratorZkTicket *ticket)
{
  Call *call = (Call *) ticket;

  pthread_mutex_lock (&mutex);
  CuratorZkTicket *caller = call->caller;
  Handle *handle = call->handle;
  g_queue_unlink (caller != NULL ? &handle->calls : &orphans, &call->link);
  if (caller != NULL) {
    handle->delivering++;
    curator_zk_rest_enter (&handle->base.rest);
  }
  pthread_mutex_unlock (&mutex);
  if (caller != NULL) {
    caller->completion (rc, reply, caller);
    end_delivery (handle);
  }
  call_free (call);
}

static CURATOR_LOCKED CuratorZkTicket *
call_new (CuratorZkHandle *base, CuratorZkTicket *caller)
{
  Handle *handle = (Handle *) base;
  Call *call = g_new0 (Call, 1);

  call->ticket.completion = on_answer;
  call->caller = caller;
  call->handle = handle;
  call->link.data = call;
  pthread_mutex_lock (&mutex);
  g_queue_push_tail_link (&handle->calls, &call->link);
  pthread_mutex_unlock (&mutex);
  return &call->ticket;
}

static CURATOR_LOCKED void
call_refused (CuratorZkHandle *base, CuratorZkTicket *ticket)
{
  Handle *handle = (Handle *) base;
  Call *call = (Call *) ticket;

  pthread_mutex_lock (&mutex);
  g_queue_unlink (&handle->calls, &call->link);
  pthread_mutex_unlock (&mutex);
  call_free (call);
}

/* Runs on libzookeeper's completion thread. A handle that was connected before sends no CONNECTED
 * event: a server's reply to the probe stands for it. */
static void
on_probed (int rc, const CuratorZkReply *reply, CuratorZkTicket *ticket)
{
  Handle *handle = CURATOR_CONTAINER (ticket, Handle, probe);

  pthread_mutex_lock (&mutex);
  const gboolean has_connected = handle->has_connected;
  pthread_mutex_unlock (&mutex);
  if (!has_connected && (rc == ZOK || rc == ZNONODE || rc == ZNOAUTH))
    deliver_event (handle->id, ZOO_SESSION_EVENT, ZOO_CONNECTED_STATE, "");
}

static CuratorZkHandle *
adopted_open (CuratorZkOps *ops, const char *hosts, int session_timeout_ms,
              CuratorZkWatcher watcher, gpointer context)
{
  Adopted *adopted = (Adopted *) ops;

  errno = ENOTCONN;
  if (adopted->zh == NULL)
    return NULL;
  Handle *handle = g_new0 (Handle, 1);
  handle->base.zh = adopted->zh;
  handle->base.watcher = watcher;
  handle->base.context = context;
  handle->base.watch = on_watch_event;
  handle->base.begin = call_new;
  handle->base.refused = call_refused;
  handle->probe.completion = on_probed;
  pthread_once (&once, begin);
  pthread_mutex_lock (&mutex);
  handle->id = ++last_id;
  handle->base.watch_context = GSIZE_TO_POINTER (handle->id);
  g_hash_table_insert (handles, GSIZE_TO_POINTER (handle->id), handle);
  pthread_mutex_unlock (&mutex);
  if (ops->exists (ops, &handle->base, "/", FALSE, &handle->probe) != ZOK) {
    ops->close (ops, &handle->base);
    errno = ENOTCONN;
    return NULL;
  }
  return &handle->base;
}

/* The program may call zookeeper_close() next. */
static gint64
adopted_rest_us (CuratorZkOps *ops, CuratorZkHandle *base)
{
  Handle *handle = (Handle *) base;

  pthread_mutex_lock (&mutex);
  const gboolean is_over = handle->is_over;
  pthread_mutex_unlock (&mutex);
  return is_over ? curator_zk_rest_left_us (&base->rest) : 0;
}

/* Called without the client's mutex, unless nothing can have been delivered yet. */
static void
adopted_close (CuratorZkOps *ops, CuratorZkHandle *base)
{
  Handle *handle = (Handle *) base;
  GList *link;

  pthread_mutex_lock (&mutex);
  g_hash_table_remove (handles, GSIZE_TO_POINTER (handle->id));
  while ((link = g_queue_pop_head_link (&handle->calls)) != NULL) {
    Call *call = link->data;
    call->caller = NULL;
    call->handle = NULL;
    g_queue_push_tail_link (&orphans, link);
  }
  while (handle->delivering > 0)
    curator_gate_cond_wait (&delivered, &mutex, NULL);
  pthread_mutex_unlock (&mutex);
  g_free (handle);
}

static void
adopted_free (CuratorZkOps *ops)
{
  g_free (ops);
}

CuratorClient *
curator_client_new_for_zhandle (zhandle_t *zh, CuratorRetryPolicy *retry_policy)
{
  g_return_val_if_fail (retry_policy == NULL || CURATOR_IS_RETRY_POLICY (retry_policy), NULL);
  g_return_val_if_fail (curator_is_foreign (zh), NULL);
  Adopted *adopted = g_new (Adopted, 1);

  *adopted = (Adopted){ .ops = *curator_zk_ops_real (), .zh = zh };
  adopted->ops.open = adopted_open;
  adopted->ops.rest_us = adopted_rest_us;
  adopted->ops.close = adopted_close;
  adopted->ops.bound_silence = NULL;
  adopted->ops.end_attempt = NULL; /* the socket and the list of servers are the program's */
  adopted->ops.set_servers = NULL;
  adopted->ops.is_shared = TRUE;
  adopted->ops.free = adopted_free;
  return curator_client_new_with_ops ("the program's ZooKeeper handle", retry_policy,
                                      &adopted->ops);
}

void
curator_client_forward_event (CuratorClient *client, zhandle_t *zh, int type, int state,
                              const char *path)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && client->ops->is_shared);
  g_return_if_fail (curator_is_foreign (zh));
  gsize id = 0;

  if (type != ZOO_SESSION_EVENT || !curator_client_check_forked (client, NULL))
    return;
  curator_client_lock (client);
  Adopted *adopted = (Adopted *) client->ops;
  if (zh != NULL && zh == adopted->zh) {
    const gboolean is_over = state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
    adopted->zh = is_over ? NULL : zh;
    if (client->session != NULL && client->session->handle != NULL)
      id = ((Handle *) client->session->handle)->id;
  }
  curator_client_unlock (client);
  if (id != 0)
    deliver_event (id, type, state, path);
}

gboolean
curator_client_set_zhandle (CuratorClient *client, zhandle_t *zh, GError **error)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), FALSE);
  CURATOR_CHECK_CALL (curator_is_foreign (zh), error, FALSE);
  Adopted *adopted = (Adopted *) client->ops;

  if (!curator_client_check_forked (client, error))
    return FALSE;
  if (!client->ops->is_shared)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the client does not use the program's ZooKeeper handle");
  curator_client_lock (client);
  const gboolean can_adopt =
      client->life != CURATOR_LIFE_STOPPED && client->refused.auth_failure == 0;
  if (client->life == CURATOR_LIFE_STOPPED)
    g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED, "the client is closed");
  else if (!can_adopt)
    g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED,
                         "the server refused the authentication of an earlier handle");
  if (can_adopt && zh != adopted->zh) {
    CuratorSession *session = client->session;
    adopted->zh = zh;
    if (session != NULL && session->handle != NULL)
      curator_session_die (session, ZSESSIONEXPIRED);
    /* A pause is for the handle before. */
    curator_session_servers_hurry (client);
  }
  curator_client_unlock (client);
  return can_adopt;
}
