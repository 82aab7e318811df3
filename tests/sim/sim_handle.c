/* libzookeeper-mt between the wire and its callbacks.
 *
 * `pending` holds accepted requests without a completion, `inbox` what the delivery thread will
 * deliver, in order. The library's state (which watches are set, the last zxid) changes on arrival,
 * which may be before delivery. Runs with the baton.
 */
#include "sim-private.h"

#include <string.h>

SimRequest *
sim_request_new (SimOp op, const char *path)
{
  SimRequest *request = g_new0 (SimRequest, 1);

  request->refs = 1;
  request->op = op;
  request->path = g_ref_string_new (path == NULL ? "" : path);
  request->failed_index = -1;
  return request;
}

SimRequest *
sim_request_ref (SimRequest *request)
{
  request->refs++;
  return request;
}

void
sim_request_unref (SimRequest *request)
{
  if (--request->refs > 0)
    return;
  g_clear_pointer (&request->path, g_ref_string_release);
  g_clear_pointer (&request->data, g_bytes_unref);
  g_clear_pointer (&request->paths, g_strfreev);
  g_clear_pointer (&request->reply_path, g_ref_string_release);
  g_clear_pointer (&request->reply_data, g_bytes_unref);
  g_clear_pointer (&request->children, g_ptr_array_unref);
  g_free (request);
}

SimItem *
sim_item_new (SimItemKind kind)
{
  SimItem *item = g_new0 (SimItem, 1);

  item->kind = kind;
  return item;
}

void
sim_item_free (SimItem *item)
{
  g_clear_pointer (&item->request, sim_request_unref);
  g_clear_pointer (&item->path, g_ref_string_release);
  g_free (item);
}

static void
watch_free (gpointer data)
{
  SimWatch *watch = data;

  g_ref_string_release (watch->path);
  g_free (watch);
}

CuratorZkHandle *
sim_handle_new (SimProcess *process, gint64 timeout_us, CuratorZkWatcher watcher, gpointer context)
{
  CuratorZkHandle *handle = g_new0 (CuratorZkHandle, 1);
  SimWorld *world = process->world;

  handle->world = world;
  handle->process = process;
  handle->id = world->next_id++;
  handle->watcher = watcher;
  handle->context = context;
  handle->timeout_us = timeout_us;
  handle->watches = g_ptr_array_new_with_free_func (watch_free);
  handle->attempt_at = world->now + sim_rand_us (world, world->config.latency_max_us);
  handle->gives_up_at = SIM_NEVER;
  handle->inbox_last = world->now;
  g_ptr_array_add (world->handles, handle);
  return handle;
}

/* Tickets that were never completed still belong to the caller. */
void
sim_handle_free (CuratorZkHandle *handle)
{
  if (handle->process->killed == handle->session)
    handle->process->killed = NULL;
  g_queue_clear_full (&handle->pending, (GDestroyNotify) sim_request_unref);
  g_queue_clear_full (&handle->inbox, (GDestroyNotify) sim_item_free);
  g_ptr_array_unref (handle->watches);
  g_free (handle);
}

/* --- watches known to the library ------------------------------------------------------------- */

SimWatch *
sim_handle_watch (CuratorZkHandle *handle, const char *path)
{
  for (guint i = 0; i < handle->watches->len; i++) {
    SimWatch *watch = handle->watches->pdata[i];

    if (strcmp (watch->path, path) == 0)
      return watch;
  }
  return NULL;
}

static void
add_watch (CuratorZkHandle *handle, char *path, guint kind)
{
  SimWatch *watch = sim_handle_watch (handle, path);

  if (watch == NULL) {
    watch = g_new0 (SimWatch, 1);
    watch->path = g_ref_string_acquire (path);
    g_ptr_array_add (handle->watches, watch);
  }
  watch->kinds |= kind;
}

guint
sim_handle_take_watch (CuratorZkHandle *handle, const char *path, guint kinds)
{
  SimWatch *watch = sim_handle_watch (handle, path);
  guint found = watch == NULL ? 0 : watch->kinds & kinds;

  if (found != 0) {
    watch->kinds &= ~found;
    if (watch->kinds == 0)
      g_ptr_array_remove (handle->watches, watch);
  }
  return found;
}

static guint
kinds_of_event (int type)
{
  if (type == ZOO_CHILD_EVENT)
    return SIM_WATCH_CHILD;
  if (type == ZOO_DELETED_EVENT)
    return SIM_WATCH_DATA | SIM_WATCH_EXIST | SIM_WATCH_CHILD;
  return SIM_WATCH_DATA | SIM_WATCH_EXIST;
}

static void
note_watch (CuratorZkHandle *handle, SimRequest *request, int rc)
{
  if (request->op == SIM_OP_UNWATCH && rc == ZOK) {
    sim_handle_take_watch (handle, request->path,
                           request->number == ZWATCHTYPE_CHILD ? SIM_WATCH_CHILD
                                                               : SIM_WATCH_DATA | SIM_WATCH_EXIST);
  } else if (request->watch && rc == ZOK) {
    add_watch (handle, request->path,
               request->op == SIM_OP_CHILDREN ? SIM_WATCH_CHILD : SIM_WATCH_DATA);
  } else if (request->watch && rc == ZNONODE && request->op == SIM_OP_EXISTS) {
    add_watch (handle, request->path, SIM_WATCH_EXIST);
  }
}

static void
arrive (CuratorZkHandle *handle, SimItem *item)
{
  if (item->arrived)
    return;
  item->arrived = TRUE;
  handle->last_zxid = MAX (handle->last_zxid, item->zxid);
  if (item->kind == SIM_ITEM_WATCH)
    item->unwanted = sim_handle_take_watch (handle, item->path, kinds_of_event (item->type)) == 0;
  else if (item->kind == SIM_ITEM_REPLY)
    note_watch (handle, item->request, item->rc);
}

/* --- the inbox -------------------------------------------------------------------------------- */

void
sim_handle_put (CuratorZkHandle *handle, SimItem *item)
{
  if (item->kind == SIM_ITEM_REPLY) {
    if (item->request->stage >= SIM_STAGE_ANSWERED) {
      sim_item_free (item);
      return;
    }
    item->request->stage = SIM_STAGE_ANSWERED;
  }
  item->arrives_at = MAX (item->arrives_at, handle->inbox_last);
  handle->inbox_last = item->arrives_at;
  g_queue_push_tail (&handle->inbox, item);
}

void
sim_handle_put_session (CuratorZkHandle *handle, int state, gint64 delay_us)
{
  SimItem *item = sim_item_new (SIM_ITEM_SESSION);

  item->type = ZOO_SESSION_EVENT;
  item->state = state;
  item->path = g_ref_string_new ("");
  item->arrives_at = handle->world->now + delay_us;
  sim_handle_put (handle, item);
}

void
sim_handle_lose_unarrived (CuratorZkHandle *handle)
{
  GList *next;

  for (GList *l = handle->inbox.head; l != NULL; l = next) {
    SimItem *item = l->data;

    next = l->next;
    if (item->arrives_at <= handle->world->now || item->kind == SIM_ITEM_SESSION) {
      item->arrives_at = MIN (item->arrives_at, handle->world->now);
      arrive (handle, item);
      continue;
    }
    if (item->request != NULL)
      item->request->stage = SIM_STAGE_SENT;
    sim_item_free (item);
    g_queue_delete_link (&handle->inbox, l);
  }
  handle->inbox_last = handle->world->now;
}

void
sim_handle_fail_pending (CuratorZkHandle *handle, int rc, gboolean queued_only, guint lose)
{
  guint n = 0;
  GList *next;

  for (GList *l = handle->pending.head; l != NULL; l = l->next)
    n += ((SimRequest *) l->data)->stage < SIM_STAGE_ANSWERED ? 1 : 0;
  for (GList *l = handle->pending.head; l != NULL; l = next) {
    SimRequest *request = l->data;

    next = l->next;
    if (request->stage >= SIM_STAGE_ANSWERED || (queued_only && request->stage == SIM_STAGE_SENT))
      continue;
    if (n-- <= lose) {
      sim_trace (handle->world, "%s/%d: #%u is lost", handle->process->name, handle->id,
                 request->serial);
      request->stage = SIM_STAGE_DONE;
      g_queue_delete_link (&handle->pending, l);
      sim_request_unref (request);
      continue;
    }
    SimItem *item = sim_item_new (SIM_ITEM_REPLY);
    item->request = sim_request_ref (request);
    item->rc = rc;
    item->arrives_at = handle->world->now;
    sim_handle_put (handle, item);
  }
}

void
sim_handle_die (CuratorZkHandle *handle, int state, int rc)
{
  SimWorld *world = handle->world;

  sim_trace (world, "%s/%d: dead (%d)", handle->process->name, handle->id, rc);
  sim_net_abandon (world, handle);
  handle->state = SIM_HANDLE_DEAD;
  handle->attempt_at = SIM_NEVER;
  sim_handle_put_session (handle, state, 0);
  sim_handle_fail_pending (handle, rc, FALSE, sim_chance (world, 0.2) ? 1 : 0);
  sim_cond_wake (world, handle);
}

/* --- delivery --------------------------------------------------------------------------------- */

static void
complete (SimProcess *process, CuratorZkTicket *ticket, SimRequest *request, int rc)
{
  CuratorZkReply reply = { .data_length = -1, .failed_index = -1 };
  struct String_vector children = { 0, NULL };

  if (rc == ZOK) {
    reply.path = request->reply_path;
    reply.stat = request->has_stat ? &request->stat : NULL;
    if (request->reply_data != NULL) {
      gsize length;

      reply.data = g_bytes_get_data (request->reply_data, &length);
      reply.data = reply.data == NULL ? "" : reply.data;
      reply.data_length = (int) length;
    }
    if (request->children != NULL) {
      children.count = (gint32) request->children->len;
      children.data = (char **) request->children->pdata;
      reply.children = &children;
    }
  } else {
    reply.failed_index = request->failed_index;
  }
  process->n_answers += rc == ZOK || rc == ZNONODE || rc == ZNODEEXISTS ? 1 : 0;
  ticket->completion (rc, &reply, ticket);
}

static void
deliver_reply (CuratorZkHandle *handle, SimItem *item)
{
  SimRequest *request = item->request;
  CuratorZkTicket *ticket = g_steal_pointer (&request->ticket);

  request->stage = SIM_STAGE_DONE;
  if (g_queue_remove (&handle->pending, request))
    sim_request_unref (request);
  if (request->op == SIM_OP_CLOSE) {
    handle->close_done = TRUE;
    sim_cond_wake (handle->world, handle);
  }
  if (ticket != NULL && !handle->mute) {
    sim_trace (handle->world, "%s/%d: #%u %s returns %d", handle->process->name, handle->id,
               request->serial, sim_op_name (request->op), item->rc);
    complete (handle->process, ticket, request, item->rc);
  }
}

static void
deliver_event (CuratorZkHandle *handle, SimItem *item)
{
  if (item->kind == SIM_ITEM_SESSION) {
    sim_trace (handle->world, "%s/%d: event state %d", handle->process->name, handle->id,
               item->state);
    if (item->state == ZOO_CONNECTED_STATE) {
      /* Another server may still count by the shortest that was granted. */
      handle->session->timeout_us = MIN (handle->session->timeout_us, handle->timeout_us);
    }
    /* Events of the time before may still come. */
    handle->dead_told = handle->dead_told
                        || (handle->state == SIM_HANDLE_DEAD && item->state != ZOO_CONNECTING_STATE
                            && item->state != ZOO_CONNECTED_STATE);
    if (handle->dead_told && handle->process->killed == handle->session)
      handle->process->killed = NULL;
  } else {
    sim_trace (handle->world, "%s/%d: event %s %s%s", handle->process->name, handle->id,
               sim_type_name (item->type), item->path, item->unwanted ? ", unwanted" : "");
  }
  if (item->kind == SIM_ITEM_WATCH
      && sim_process_loses_event (handle->process, SIM_LOST_IN_LIBRARY))
    return;
  if (!item->unwanted && !handle->mute)
    handle->watcher (item->type, item->state, item->path, handle->context);
}

void
sim_handle_deliver (CuratorZkHandle *handle)
{
  SimItem *item = g_queue_pop_head (&handle->inbox);

  arrive (handle, item);
  handle->delivering = TRUE;
  if (item->kind == SIM_ITEM_REPLY)
    deliver_reply (handle, item);
  else
    deliver_event (handle, item);
  handle->delivering = FALSE;
  sim_item_free (item);
  if (handle->closing && g_queue_is_empty (&handle->inbox))
    sim_cond_wake (handle->world, handle);
}
