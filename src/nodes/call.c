/* A read or write with retries. Mirrors RetryLoop.callWithRetry.
 *
 * Threads: any; every step runs under the client's mutex, like all operations.
 */
#include "nodes/call.h"

#include "base/guards.h"
#include "base/path.h"
#include "core/await.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "core/payload.h"
#include "core/zk_error.h"
#include "nodes/parents.h"
#include "session/connection_error.h"
#include "session/request.h"
#include "session/retry_loop.h"
#include "session/session.h"

typedef struct
{
  CuratorOp op;
  CuratorRetryLoop loop;
  CuratorCallKind kind;
  char *path;
  GBytes *bytes;
  int version;
  CuratorRequest *request CURATOR_GUARDED;
  CuratorParents *parents CURATOR_GUARDED;
  gboolean ambiguous CURATOR_GUARDED; /* a try may have succeeded without an answer */
} Call;

void
curator_call_result_free (CuratorCallResult *result)
{
  g_clear_pointer (&result->data, g_bytes_unref);
  g_clear_pointer (&result->children, g_ptr_array_unref);
  g_free (result);
}

static CuratorCallResult *
result_new (const CuratorClient *client, const CuratorZkReply *reply)
{
  CuratorCallResult *result = g_new0 (CuratorCallResult, 1);
  g_autoptr (GBytes) read =
      g_bytes_new (reply->data, reply->data_length > 0 ? (gsize) reply->data_length : 0);

  result->data = curator_payload_unpack (client, read);
  if (reply->stat != NULL)
    result->stat = *reply->stat;
  if (reply->children != NULL) {
    result->children = g_ptr_array_new_with_free_func (g_free);
    for (int i = 0; i < reply->children->count; i++)
      g_ptr_array_add (result->children, g_strdup (reply->children->data[i]));
  }
  return result;
}

static const char *
call_name (const Call *call)
{
  static const char *const names[] = { "reading", "listing", "writing", "creating", "deleting" };
  return names[call->kind];
}

static CURATOR_LOCKED void
call_fail (gpointer data, int rc)
{
  Call *call = data;
  curator_op_finish (&call->op, NULL,
                     curator_request_error (call->op.client, rc, call_name (call),
                                            curator_client_user_path (call->op.client, call->path),
                                            call->op.begun_us));
}

/* Nobody is waited for but the server. */
static CURATOR_LOCKED GError *
call_timed_out (CuratorOp *op)
{
  const Call *call = (const Call *) op;
  return curator_unanswered_error (op->client, call_name (call),
                                   curator_client_user_path (op->client, call->path), op->begun_us);
}

static CURATOR_LOCKED void
on_parents (int rc, gpointer data)
{
  Call *call = data;
  call->parents = NULL;
  if (rc == ZOK) {
    curator_retry_loop_begin (&call->loop);
  } else if (curator_zk_is_retryable (rc)) {
    curator_retry_loop_again (&call->loop, rc);
  } else {
    GError *missing = curator_parents_chroot_error (call->op.client, rc);
    if (missing != NULL)
      curator_op_finish (&call->op, NULL, missing);
    else
      call_fail (call, rc);
  }
}

static CURATOR_LOCKED void
on_reply (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Call *call = data;

  call->request = NULL;
  if (rc == ZOK) {
    curator_op_finish (&call->op, result_new (call->op.client, reply), NULL);
  } else if (curator_zk_is_retryable (rc)) {
    call->ambiguous = call->ambiguous || curator_zk_is_ambiguous (rc);
    curator_retry_loop_again (&call->loop, rc);
  } else if (rc == ZNONODE && call->kind == CURATOR_CALL_CREATE
             && curator_client_is_connected (call->op.client)) {
    g_autofree char *parent = curator_path_parent (call->path);
    call->parents = curator_parents_make (call->op.client->session, parent, on_parents, call);
  } else {
    call_fail (call, rc);
  }
}

static CURATOR_LOCKED void
call_send (gpointer data)
{
  Call *call = data;
  CuratorSession *session = call->op.client->session;

  switch (call->kind) {
  case CURATOR_CALL_GET:
    call->request = curator_request_get (session, call->path, FALSE, on_reply, call);
    break;
  case CURATOR_CALL_GET_CHILDREN:
    call->request = curator_request_get_children (session, call->path, FALSE, on_reply, call);
    break;
  case CURATOR_CALL_SET:
    call->request =
        curator_request_set (session, call->path, call->bytes, call->version, on_reply, call);
    break;
  case CURATOR_CALL_CREATE:
    call->request = curator_request_create (session, call->path, call->bytes, 0, on_reply, call);
    break;
  case CURATOR_CALL_REMOVE:
    call->request = curator_request_remove (session, call->path, on_reply, call);
    break;
  default:
    g_assert_not_reached ();
  }
}

static CURATOR_LOCKED void
call_cancel (CuratorOp *op, GError *reason)
{
  Call *call = (Call *) op;
  curator_retry_loop_stop (&call->loop);
  g_clear_pointer (&call->request, curator_request_forget);
  g_clear_pointer (&call->parents, curator_parents_forget);
  curator_op_finish (op, NULL, reason);
}

static void
call_finalize (CuratorOp *op)
{
  Call *call = (Call *) op;
  g_free (call->path);
  g_clear_pointer (&call->bytes, g_bytes_unref);
}

/* Takes bytes. */
static CURATOR_UNLOCKED Call *
call_start (CuratorClient *client, gint64 deadline_us, CuratorCallKind kind, const char *path,
            GBytes *bytes, int version, CuratorOpDone done, gpointer data)
{
  static const CuratorOpClass klass = { .cancel = call_cancel,
                                        .timed_out = call_timed_out,
                                        .finalize = call_finalize };
  Call *call = curator_op_alloc (sizeof *call, &klass, client, deadline_us, done, data);

  call->kind = kind;
  call->path = g_strdup (path);
  call->bytes = bytes;
  call->version = version;
  curator_client_lock (client);
  if (curator_op_begin (&call->op)) {
    curator_retry_loop_init (&call->loop, client, call_send, call_fail, call);
    curator_retry_loop_begin (&call->loop);
  }
  curator_client_unlock (client);
  return call;
}

CuratorOp *
curator_call_start (CuratorClient *client, gint64 deadline_us, CuratorCallKind kind,
                    const char *path, CuratorOpDone done, gpointer data)
{
  return &call_start (client, deadline_us, kind, path, NULL, 0, done, data)->op;
}

CuratorCallResult *
curator_call (const CuratorLimits *limits, CuratorCallKind kind, const char *path, GBytes *bytes,
              int version, gboolean *ambiguous, GError **error)
{
  CuratorClient *client = limits->client;
  CuratorAwait await;
  gpointer result = NULL;

  if (!curator_client_check_usable (client, error))
    return NULL;
  curator_await_init (&await, client);
  Call *call =
      call_start (client, limits->deadline_us, kind, path, curator_payload_pack (client, bytes),
                  version, curator_await_done, &await);
  curator_op_ref (&call->op);
  const gboolean succeeded =
      curator_await_op (&await, &call->op, limits->cancellable, &result, error);
  curator_not_shared (); /* the call has ended */
  if (ambiguous != NULL)
    *ambiguous = call->ambiguous;
  curator_op_unref (&call->op);
  return succeeded ? result : NULL;
}
