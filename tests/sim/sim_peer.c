#include "sim_peer.h"

static void
on_event (int type, int state, const char *path, gpointer context)
{
  Peer *peer = context;
  int timeout_ms;

  if (type == ZOO_SESSION_EVENT) {
    assert_string_equal (path, "");
    if (state == ZOO_CONNECTED_STATE)
      peer->session = peer->ops->session_id (peer->ops, peer->handle, &timeout_ms);
    g_string_append (peer->log, state == ZOO_CONNECTED_STATE         ? "UP "
                                : state == ZOO_CONNECTING_STATE      ? "DOWN "
                                : state == ZOO_EXPIRED_SESSION_STATE ? "EXPIRED "
                                                                     : "AUTH ");
    return;
  }
  g_string_append_printf (peer->log, "%s%s ", sim_type_name (type), path);
}

static void
on_done (int rc, const CuratorZkReply *reply, CuratorZkTicket *ticket)
{
  Call *call = (Call *) ticket;

  assert_false (call->done);
  call->done = TRUE;
  call->rc = rc;
  call->path = g_strdup (reply->path);
  call->failed_index = reply->failed_index;
  if (reply->stat != NULL)
    call->stat = *reply->stat;
  if (reply->data_length >= 0)
    call->data = g_strndup (reply->data, (gsize) reply->data_length);
  if (reply->children != NULL) {
    call->children = g_new0 (char *, reply->children->count + 1);
    for (int i = 0; i < reply->children->count; i++)
      call->children[i] = g_strdup (reply->children->data[i]);
  }
  if (ticket->ops_free != NULL)
    ticket->ops_free (ticket->ops_data);
  g_string_append_printf (call->peer->log, "%c:%d ", call->name, rc);
}

Call *
call_new (Peer *peer, char name)
{
  Call *call = g_new0 (Call, 1);

  call->peer = peer;
  call->name = name;
  call->ticket.completion = on_done;
  return call;
}

void
call_free (Call *call)
{
  if (!call->done && call->ticket.ops_free != NULL)
    call->ticket.ops_free (call->ticket.ops_data);
  g_free (call->path);
  g_free (call->data);
  g_strfreev (call->children);
  g_free (call);
}

void
expect_log (Peer *peer, const char *expected)
{
  assert_string_equal (peer->log->str, expected);
  g_string_truncate (peer->log, 0);
}

void
settle (Peer *peer)
{
  assert_true (sim_world_run_for (peer->world, 100));
}

void
peer_open (Peer *peer)
{
  peer->handle = peer->ops->open (peer->ops, "1.2.3.4:2181", TIMEOUT_MS, on_event, peer);
  assert_non_null (peer->handle);
}

/* Completions come until it returns. */
void
peer_close (Peer *peer)
{
  peer->ops->close (peer->ops, peer->handle);
  peer->handle = NULL;
}

Peer *
peer_new (SimWorld *world, const char *name)
{
  Peer *peer = g_new0 (Peer, 1);

  peer->world = world;
  peer->process = sim_process_new (world, name);
  peer->ops = &peer->process->ops;
  peer->log = g_string_new (NULL);
  peer_open (peer);
  settle (peer);
  expect_log (peer, "UP ");
  return peer;
}

Peer *
peer_new_alone (guint32 seed, int n_servers)
{
  Peer *peer = peer_new (sim_world_new_calm (seed, n_servers), "A");

  peer->owned = peer->world;
  return peer;
}

void
peer_free (Peer *peer)
{
  if (peer->handle != NULL)
    peer_close (peer);
  g_string_free (peer->log, TRUE);
  g_clear_pointer (&peer->owned, sim_world_free);
  g_free (peer);
}

Call *
start_create (Peer *peer, char name, const char *path, int mode)
{
  Call *call = call_new (peer, name);
  int rc = peer->ops->create (peer->ops, peer->handle, path, "x", 1, &ZOO_OPEN_ACL_UNSAFE, mode,
                              &call->ticket);

  assert_int_equal (rc, ZOK);
  return call;
}

Call *
start_read (Peer *peer, char name, SimOp op, const char *path, gboolean watch)
{
  Call *call = call_new (peer, name);
  CuratorZkOps *ops = peer->ops;
  int rc = op == SIM_OP_GET      ? ops->get (ops, peer->handle, path, watch, &call->ticket)
           : op == SIM_OP_EXISTS ? ops->exists (ops, peer->handle, path, watch, &call->ticket)
           : op == SIM_OP_SYNC   ? sim_ops_sync (peer->handle, path, &call->ticket)
                               : ops->get_children (ops, peer->handle, path, watch, &call->ticket);

  assert_int_equal (rc, ZOK);
  return call;
}

Call *
start_remove (Peer *peer, char name, const char *path)
{
  Call *call = call_new (peer, name);

  assert_int_equal (peer->ops->remove (peer->ops, peer->handle, path, -1, &call->ticket), ZOK);
  return call;
}

Call *
start_check (Peer *peer, char name, const char *path, const char *other)
{
  Call *call = call_new (peer, name);
  const char *paths[] = { path, other };

  assert_int_equal (
      peer->ops->check (peer->ops, peer->handle, paths, other == NULL ? 1 : 2, &call->ticket), ZOK);
  return call;
}

int
finish (Call *call)
{
  for (int i = 0; i < 100 && !call->done; i++)
    settle (call->peer);
  assert_true (call->done);
  int rc = call->rc;
  call_free (call);
  return rc;
}
