/* Reads batches of nodes as one operation, with retries.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex. A
 * bounded number of requests is in flight. After a retryable failure, the reads without a reply are
 * sent again as the retry policy allows.
 */
#include "inspect/fetch.h"

#include "core/await.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "core/payload.h"
#include "core/zk_error.h"
#include "session/connection_error.h"
#include "session/request.h"
#include "session/retry_loop.h"

#define MAX_IN_FLIGHT 200

typedef struct _Fetch Fetch;

typedef struct
{
  Fetch *fetch;
  CuratorRequest *request;
  gboolean answered;
} Slot;

struct _Fetch
{
  CuratorOp op;
  CuratorRetryLoop loop;
  CuratorFetchPlan plan CURATOR_GUARDED; /* kind and paths: of this batch */
  GArray *results CURATOR_GUARDED;       /* CuratorFetched */
  Slot *slots CURATOR_GUARDED;
  guint next CURATOR_GUARDED; /* index of the next path to read in this try */
  guint in_flight CURATOR_GUARDED;
  int failure CURATOR_GUARDED; /* of this try: ZOK, or no answer of a server */
};

static void
clear_fetched (gpointer data)
{
  CuratorFetched *fetched = data;
  g_clear_pointer (&fetched->data, g_bytes_unref);
  g_clear_pointer (&fetched->children, g_ptr_array_unref);
}

static void send_more (Fetch *fetch) CURATOR_LOCKED;

GPtrArray *
curator_copy_names (const struct String_vector *names)
{
  GPtrArray *copy = g_ptr_array_new_with_free_func (g_free);
  for (int i = 0; names != NULL && i < names->count; i++)
    g_ptr_array_add (copy, g_strdup (names->data[i]));
  return copy;
}

static CURATOR_LOCKED void
take_reply (const Fetch *fetch, CuratorFetched *fetched, int rc, const CuratorZkReply *reply)
{
  fetched->rc = rc;
  if (rc != ZOK)
    return;
  if (fetch->plan.kind == CURATOR_FETCH_CHILDREN) {
    fetched->children = curator_copy_names (reply->children);
    return;
  }
  fetched->stat = *reply->stat;
  if (fetch->plan.kind == CURATOR_FETCH_DATA) {
    g_autoptr (GBytes) read =
        g_bytes_new (reply->data, reply->data_length > 0 ? (gsize) reply->data_length : 0);
    fetched->data = curator_payload_unpack (fetch->op.client, read);
  }
}

static CURATOR_LOCKED void
on_reply (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Slot *slot = data;
  Fetch *fetch = slot->fetch;
  const gsize index = (gsize) (slot - fetch->slots);

  slot->request = NULL;
  fetch->in_flight--;
  if (!curator_zk_is_answer (rc)) {
    fetch->failure = rc;
  } else {
    slot->answered = TRUE;
    take_reply (fetch, &g_array_index (fetch->results, CuratorFetched, index), rc, reply);
  }
  send_more (fetch);
}

static CURATOR_LOCKED void
fetch_give_up (gpointer data, int rc)
{
  Fetch *fetch = data;
  const char *path = g_ptr_array_index (fetch->plan.paths, 0);
  curator_op_finish (&fetch->op, NULL,
                     curator_request_error (fetch->op.client, rc, "reading",
                                            curator_client_user_path (fetch->op.client, path),
                                            fetch->op.begun_us));
}

static CURATOR_LOCKED void
fetch_go (gpointer data)
{
  Fetch *fetch = data;
  fetch->failure = ZOK;
  fetch->next = 0;
  send_more (fetch);
}

/* A batch may plan the next one. NOLINTBEGIN(misc-no-recursion) */
static CURATOR_LOCKED void
begin_batch (Fetch *fetch)
{
  const guint n = fetch->plan.paths->len;

  fetch->results = g_array_sized_new (FALSE, TRUE, sizeof (CuratorFetched), n);
  g_array_set_clear_func (fetch->results, clear_fetched);
  g_array_set_size (fetch->results, n);
  fetch->slots = g_new0 (Slot, n);
  for (guint i = 0; i < n; i++)
    fetch->slots[i].fetch = fetch;
  if (n > 0)
    curator_retry_loop_begin (&fetch->loop);
  else
    send_more (fetch);
}

static void
clear_batch (Fetch *fetch)
{
  curator_not_shared ();
  g_clear_pointer (&fetch->plan.paths, g_ptr_array_unref);
  g_clear_pointer (&fetch->results, g_array_unref);
  g_clear_pointer (&fetch->slots, g_free);
}

static CURATOR_LOCKED void
end_batch (Fetch *fetch)
{
  CuratorFetchPlan *plan = &fetch->plan;
  gpointer result = NULL;
  GError *error = NULL;

  if (plan->next == NULL) {
    curator_op_finish (&fetch->op, g_steal_pointer (&fetch->results), NULL);
    return;
  }
  GPtrArray *next = plan->next (plan, fetch->results, &result, &error);
  clear_batch (fetch);
  plan->paths = next;
  if (next != NULL)
    begin_batch (fetch);
  else
    curator_op_finish (&fetch->op, result, error);
}

static CURATOR_LOCKED void
send_more (Fetch *fetch)
{
  static CuratorRequest *(*const reads[]) (CuratorSession *, const char *, gboolean,
                                           CuratorRequestDone, gpointer) = {
    [CURATOR_FETCH_STAT] = curator_request_exists,
    [CURATOR_FETCH_DATA] = curator_request_get,
    [CURATOR_FETCH_CHILDREN] = curator_request_get_children,
  };
  while (fetch->failure == ZOK && fetch->in_flight < MAX_IN_FLIGHT
         && fetch->next < fetch->plan.paths->len) {
    const char *path = g_ptr_array_index (fetch->plan.paths, fetch->next);
    Slot *slot = &fetch->slots[fetch->next++];
    if (slot->answered)
      continue;
    fetch->in_flight++;
    slot->request = reads[fetch->plan.kind](fetch->op.client->session, path, FALSE, on_reply, slot);
  }
  if (fetch->in_flight > 0)
    return;
  if (curator_zk_is_retryable (fetch->failure)) {
    curator_retry_loop_again (&fetch->loop, fetch->failure);
  } else if (fetch->failure != ZOK) {
    curator_retry_loop_stop (&fetch->loop);
    fetch_give_up (fetch, fetch->failure);
  } else {
    /* Every path was sent, in this try or one before, and answered. */
    curator_retry_loop_stop (&fetch->loop);
    end_batch (fetch);
  }
}
/* NOLINTEND(misc-no-recursion) */

/* Nobody is waited for but the server. */
static CURATOR_LOCKED GError *
fetch_timed_out (CuratorOp *op)
{
  const char *path = g_ptr_array_index (((Fetch *) op)->plan.paths, 0);
  return curator_unanswered_error (op->client, "reading",
                                   curator_client_user_path (op->client, path), op->begun_us);
}

static CURATOR_LOCKED void
fetch_cancel (CuratorOp *op, GError *reason)
{
  Fetch *fetch = (Fetch *) op;

  curator_retry_loop_stop (&fetch->loop);
  for (guint i = 0; i < fetch->plan.paths->len; i++)
    g_clear_pointer (&fetch->slots[i].request, curator_request_forget);
  curator_op_finish (op, NULL, reason);
}

static void
fetch_finalize (CuratorOp *op)
{
  Fetch *fetch = (Fetch *) op;

  curator_not_shared ();
  clear_batch (fetch);
  g_clear_pointer (&fetch->plan.reading, fetch->plan.free_reading);
}

/* The server shows containers and nodes with a time to live as owned by sessions that cannot be. */
gboolean
curator_fetched_is_owned (const CuratorFetched *fetched)
{
  const gint64 owner = fetched->stat.ephemeralOwner;
  return fetched->rc == ZOK ? owner != 0 && owner != G_MININT64 && (guint64) owner >> 56 != 0xff
                            : fetched->rc != ZNONODE;
}

CuratorOp *
curator_fetch_start (CuratorClient *client, gint64 deadline_us, const CuratorFetchPlan *plan,
                     CuratorOpDone done, gpointer data)
{
  static const CuratorOpClass klass = { .cancel = fetch_cancel,
                                        .timed_out = fetch_timed_out,
                                        .finalize = fetch_finalize };
  Fetch *fetch = curator_op_alloc (sizeof *fetch, &klass, client, deadline_us, done, data);

  curator_client_lock (client);
  fetch->plan = *plan;
  curator_retry_loop_init (&fetch->loop, client, fetch_go, fetch_give_up, fetch);
  if (curator_op_begin (&fetch->op))
    begin_batch (fetch);
  curator_client_unlock (client);
  return &fetch->op;
}

GArray *
curator_fetch (const CuratorLimits *limits, CuratorFetchKind kind, GPtrArray *paths, GError **error)
{
  CuratorAwait await;
  gpointer result = NULL;

  if (!curator_client_check_usable (limits->client, error))
    return NULL;
  curator_await_init (&await, limits->client);
  const CuratorFetchPlan plan = { .kind = kind, .paths = g_ptr_array_ref (paths) };
  CuratorOp *op =
      curator_fetch_start (limits->client, limits->deadline_us, &plan, curator_await_done, &await);
  return curator_await_op (&await, op, limits->cancellable, &result, error) ? result : NULL;
}
