/* The simulator itself: does it behave like ZooKeeper and libzookeeper-mt where the library relies
 * on it? Raw calls through the ops table, no client. One thread drives, actors where noted.
 */
#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TIMEOUT_MS 6000

/* --- a client of one handle that writes down what it is told ------------------------------- */

typedef struct
{
  SimWorld *world;
  SimProcess *process;
  CuratorZkOps *ops;
  CuratorZkHandle *handle;
  GString *log; /* one word for each thing told, in order */
  gint64 session;
  guint next;
} Peer;

typedef struct
{
  CuratorZkTicket ticket;
  Peer *peer;
  char name;
  gboolean done;
  int rc;
  char *path;
  char *data;
  char **children;
  struct Stat stat;
  int failed_index;
} Call;

static void
on_event (int type, int state, const char *path, gpointer context)
{
  Peer *peer = context;

  if (type == ZOO_SESSION_EVENT)
    {
      assert_string_equal (path, "");
      if (state == ZOO_CONNECTED_STATE)
        {
          peer->session = peer->ops->session_id (peer->ops, peer->handle);
        }
      g_string_append (peer->log, state == ZOO_CONNECTED_STATE         ? "UP "
                                  : state == ZOO_CONNECTING_STATE      ? "DOWN "
                                  : state == ZOO_EXPIRED_SESSION_STATE ? "EXPIRED "
                                                                       : "AUTH ");
      return;
    }
  g_string_append_printf (peer->log, "%s%s ",
                          type == ZOO_CREATED_EVENT   ? "created"
                          : type == ZOO_DELETED_EVENT ? "deleted"
                          : type == ZOO_CHANGED_EVENT ? "changed"
                                                      : "child",
                          path);
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
    {
      call->stat = *reply->stat;
    }
  if (reply->data_length >= 0)
    {
      call->data = g_strndup (reply->data, (gsize) reply->data_length);
    }
  if (reply->children != NULL)
    {
      call->children = g_new0 (char *, reply->children->count + 1);
      for (int i = 0; i < reply->children->count; i++)
        {
          call->children[i] = g_strdup (reply->children->data[i]);
        }
    }
  if (ticket->ops_free != NULL)
    {
      ticket->ops_free (ticket->ops_data);
    }
  g_string_append_printf (call->peer->log, "%c:%d ", call->name, rc);
}

static Call *
call_new (Peer *peer, char name)
{
  Call *call = g_new0 (Call, 1);

  call->peer = peer;
  call->name = name;
  call->ticket.completion = on_done;
  return call;
}

static void
call_free (Call *call)
{
  if (!call->done && call->ticket.ops_free != NULL)
    {
      call->ticket.ops_free (call->ticket.ops_data);
    }
  g_free (call->path);
  g_free (call->data);
  g_strfreev (call->children);
  g_free (call);
}

static void
expect_log (Peer *peer, const char *expected)
{
  assert_string_equal (peer->log->str, expected);
  g_string_truncate (peer->log, 0);
}

static void
settle (Peer *peer)
{
  assert_true (sim_world_run_for (peer->world, 100));
}

static void
peer_open (Peer *peer)
{
  peer->handle = peer->ops->open (peer->ops, "1.2.3.4:2181", TIMEOUT_MS, on_event, peer);
  assert_non_null (peer->handle);
}

static Peer *
peer_new (SimWorld *world, const char *name)
{
  Peer *peer = g_new0 (Peer, 1);

  peer->world = world;
  peer->process = sim_process_new (world, name);
  peer->ops = sim_process_ops (peer->process);
  peer->log = g_string_new (NULL);
  peer_open (peer);
  settle (peer);
  expect_log (peer, "UP ");
  return peer;
}

static void
peer_free (Peer *peer)
{
  if (peer->handle != NULL)
    {
      peer->ops->close (peer->ops, peer->handle);
    }
  g_string_free (peer->log, TRUE);
  g_free (peer);
}

static SimWorld *
world_new (guint32 seed, int n_servers)
{
  SimConfig config;

  sim_config_calm (&config);
  config.n_servers = n_servers;
  return sim_world_new (seed, &config);
}

static Call *
start_create (Peer *peer, char name, const char *path, int mode)
{
  Call *call = call_new (peer, name);
  int rc = peer->ops->create (peer->ops, peer->handle, path, "x", 1, &ZOO_OPEN_ACL_UNSAFE, mode,
                              &call->ticket);

  assert_int_equal (rc, ZOK);
  return call;
}

static Call *
start_read (Peer *peer, char name, SimOp op, const char *path, gboolean watch)
{
  Call *call = call_new (peer, name);
  CuratorZkOps *ops = peer->ops;
  int rc = op == SIM_OP_GET      ? ops->get (ops, peer->handle, path, watch, &call->ticket)
           : op == SIM_OP_EXISTS ? ops->exists (ops, peer->handle, path, watch, &call->ticket)
           : op == SIM_OP_SYNC   ? ops->sync (ops, peer->handle, path, &call->ticket)
                               : ops->get_children (ops, peer->handle, path, watch, &call->ticket);

  assert_int_equal (rc, ZOK);
  return call;
}

static Call *
start_remove (Peer *peer, char name, const char *path)
{
  Call *call = call_new (peer, name);

  assert_int_equal (peer->ops->remove (peer->ops, peer->handle, path, -1, &call->ticket), ZOK);
  return call;
}

static Call *
start_check (Peer *peer, char name, const char *path, const char *other)
{
  Call *call = call_new (peer, name);
  const char *paths[] = { path, other };

  assert_int_equal (
      peer->ops->check (peer->ops, peer->handle, paths, other == NULL ? 1 : 2, &call->ticket), ZOK);
  return call;
}

/* Waits for the completion. */
static int
finish (Call *call)
{
  int rc;

  for (int i = 0; i < 100 && !call->done; i++)
    {
      settle (call->peer);
    }
  assert_true (call->done);
  rc = call->rc;
  call_free (call);
  return rc;
}

/* --- order, modes, errors -------------------------------------------------------------------- */

static void
test_create_and_list_in_one_go (void **state)
{
  for (guint32 seed = 0; seed < 300; seed++)
    {
      SimWorld *world = world_new (seed, 3);
      Peer *a = peer_new (world, "A");
      Call *create;
      Call *list;

      sim_world_put (world, "/l", "", ZOO_CONTAINER);
      assert_int_equal (finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE)), ZOK);
      g_string_truncate (a->log, 0);
      create = start_create (a, 'c', "/l/n-", ZOO_EPHEMERAL_SEQUENTIAL);
      list = start_read (a, 'l', SIM_OP_CHILDREN, "/l", FALSE);
      settle (a);
      expect_log (a, "c:0 l:0 ");
      assert_string_equal (create->path, "/l/n-0000000000");
      assert_true (create->stat.ephemeralOwner == a->session);
      assert_string_equal (list->children[0], "n-0000000000");
      assert_null (list->children[1]);
      call_free (create);
      call_free (list);
      peer_free (a);
      sim_world_free (world);
    }
}

static void
test_modes_and_errors (void **state)
{
  SimWorld *world = world_new (1, 1);
  Peer *a = peer_new (world, "A");
  Call *call;

  assert_int_equal (finish (start_create (a, 'a', "/p", ZOO_CONTAINER)), ZOK);
  assert_int_equal (finish (start_create (a, 'a', "/p", ZOO_CONTAINER)), ZNODEEXISTS);
  assert_int_equal (finish (start_create (a, 'a', "/q/r", ZOO_PERSISTENT)), ZNONODE);
  assert_int_equal (finish (start_create (a, 'a', "/p/e", ZOO_EPHEMERAL)), ZOK);
  assert_int_equal (finish (start_create (a, 'a', "/p/e/f", ZOO_PERSISTENT)),
                    ZNOCHILDRENFOREPHEMERALS);
  assert_int_equal (finish (start_remove (a, 'r', "/p")), ZNOTEMPTY);
  assert_int_equal (finish (start_create (a, 'a', "/p/s-", ZOO_PERSISTENT_SEQUENTIAL)), ZOK);
  assert_true (sim_world_exists (world, "/p/s-0000000001"));
  assert_int_equal (finish (start_remove (a, 'r', "/p/s-0000000001")), ZOK);
  assert_int_equal (finish (start_remove (a, 'r', "/p/s-0000000001")), ZNONODE);

  call = start_read (a, 'g', SIM_OP_EXISTS, "/p", FALSE);
  settle (a);
  assert_int_equal (call->stat.cversion, 3);
  assert_int_equal (call->stat.numChildren, 1);
  assert_true (call->stat.ephemeralOwner == 0);
  call_free (call);

  call = call_new (a, 's');
  assert_int_equal (a->ops->set (a->ops, a->handle, "/p", "new", 3, 7, &call->ticket), ZOK);
  assert_int_equal (finish (call), ZBADVERSION);
  call = start_read (a, 'g', SIM_OP_GET, "/p", FALSE);
  settle (a);
  assert_string_equal (call->data, "x");
  call_free (call);

  call = call_new (a, 'b');
  assert_int_equal (a->ops->remove (a->ops, a->handle, "/p/", -1, &call->ticket), ZBADARGUMENTS);
  call_free (call);
  sim_world_set_noauth (world, "/p");
  assert_int_equal (finish (start_read (a, 'g', SIM_OP_GET, "/p/e", FALSE)), ZNOAUTH);
  assert_int_equal (finish (start_read (a, 'g', SIM_OP_EXISTS, "/p/e", FALSE)), ZOK);
  peer_free (a);
  sim_world_run_for (world, 100);
  assert_false (sim_world_exists (world, "/p/e"));
  sim_world_free (world);
}

static void
test_multi_of_checks (void **state)
{
  SimWorld *world = world_new (2, 3);
  Peer *a = peer_new (world, "A");
  Call *call;

  assert_int_equal (finish (start_create (a, 'a', "/a", ZOO_EPHEMERAL)), ZOK);
  assert_int_equal (finish (start_check (a, 'k', "/a", NULL)), ZOK);
  call = start_check (a, 'k', "/a", "/b");
  settle (a);
  assert_int_equal (call->rc, ZNONODE);
  assert_int_equal (call->failed_index, 1);
  call_free (call);
  peer_free (a);
  sim_world_free (world);
}

static void
test_reaper_resets_the_counter (void **state)
{
  SimWorld *world = world_new (3, 2);
  Peer *a = peer_new (world, "A");

  assert_int_equal (finish (start_create (a, 'a', "/p", ZOO_CONTAINER)), ZOK);
  sim_world_strike (world, SIM_FAULT_REAP, NULL, 0);
  assert_true (sim_world_exists (world, "/p"));
  assert_int_equal (finish (start_create (a, 'a', "/p/n", ZOO_EPHEMERAL_SEQUENTIAL)), ZOK);
  sim_world_strike (world, SIM_FAULT_REAP, NULL, 0);
  assert_int_equal (finish (start_remove (a, 'r', "/p/n0000000000")), ZOK);
  sim_world_strike (world, SIM_FAULT_REAP, NULL, 0);
  assert_false (sim_world_exists (world, "/p"));
  assert_int_equal (finish (start_create (a, 'a', "/p", ZOO_CONTAINER)), ZOK);
  assert_int_equal (finish (start_create (a, 'a', "/p/n", ZOO_EPHEMERAL_SEQUENTIAL)), ZOK);
  assert_true (sim_world_exists (world, "/p/n0000000000"));

  /* The counter sticks at its end. */
  sim_world_set_counter (world, "/p", G_MAXINT32);
  assert_int_equal (finish (start_create (a, 'a', "/p/n", ZOO_EPHEMERAL_SEQUENTIAL)), ZOK);
  assert_int_equal (finish (start_create (a, 'a', "/p/n", ZOO_EPHEMERAL_SEQUENTIAL)), ZNODEEXISTS);
  assert_int_equal (finish (start_create (a, 'a', "/p/m", ZOO_EPHEMERAL_SEQUENTIAL)), ZOK);
  assert_true (sim_world_exists (world, "/p/m2147483647"));
  peer_free (a);
  sim_world_free (world);
}

/* --- sessions ---------------------------------------------------------------------------------- */

static void
test_expiry (void **state)
{
  SimWorld *world = world_new (4, 3);
  Peer *a = peer_new (world, "A");
  Call *call;
  int rc;

  assert_int_equal (a->ops->session_timeout_ms (a->ops, a->handle), TIMEOUT_MS);
  assert_int_equal (finish (start_create (a, 'a', "/e", ZOO_EPHEMERAL)), ZOK);
  assert_int_equal (finish (start_create (a, 'b', "/p", ZOO_PERSISTENT)), ZOK);
  g_string_truncate (a->log, 0);

  /* Cut off for longer than the time-out: the client learns it only when it is back. */
  sim_world_strike (world, SIM_FAULT_OUTAGE, a->process, 12 * G_USEC_PER_SEC);
  sim_world_run_for (world, 5000);
  expect_log (a, "DOWN ");
  assert_true (sim_world_exists (world, "/e"));
  sim_world_run_for (world, 5000);
  assert_false (sim_world_exists (world, "/e"));
  assert_true (sim_world_exists (world, "/p"));
  expect_log (a, "");
  sim_world_run_for (world, 8000);
  expect_log (a, "EXPIRED ");

  call = call_new (a, 'z');
  rc = a->ops->remove (a->ops, a->handle, "/p", -1, &call->ticket);
  assert_int_equal (rc, ZINVALIDSTATE);
  call_free (call);
  peer_free (a);
  sim_world_free (world);
}

static void
test_expiry_fails_what_is_queued (void **state)
{
  guint n_lost = 0;

  for (guint32 seed = 0; seed < 60; seed++)
    {
      SimWorld *world = world_new (seed, 3);
      Peer *a = peer_new (world, "A");
      Call *queued;
      Call *late;
      int rc;

      sim_world_strike (world, SIM_FAULT_EXPIRE, a->process, 0);
      while (!strstr (a->log->str, "DOWN"))
        {
          sim_world_run_for (world, 0);
          if (!strstr (a->log->str, "DOWN"))
            {
              sim_world_run_for (world, 1);
            }
        }
      queued = strstr (a->log->str, "EXPIRED") ? NULL : start_remove (a, 'q', "/nothing");
      settle (a);
      assert_non_null (strstr (a->log->str, "DOWN EXPIRED "));
      if (queued != NULL && !queued->done)
        {
          n_lost++;
        }
      if (queued != NULL && queued->done)
        {
          assert_int_equal (queued->rc, ZSESSIONEXPIRED);
        }
      late = call_new (a, 'x');
      rc = a->ops->remove (a->ops, a->handle, "/nothing", -1, &late->ticket);
      assert_int_equal (rc, ZINVALIDSTATE);
      call_free (late);
      peer_free (a);
      if (queued != NULL)
        {
          call_free (queued);
        }
      sim_world_free (world);
    }
  /* Some completions never come. */
  assert_true (n_lost > 0 && n_lost < 60);
}

static void
test_close_ends_the_session (void **state)
{
  SimWorld *world = world_new (5, 3);
  Peer *a = peer_new (world, "A");
  Peer *b = peer_new (world, "B");

  assert_int_equal (finish (start_create (a, 'a', "/a", ZOO_EPHEMERAL)), ZOK);
  assert_int_equal (finish (start_create (b, 'b', "/b", ZOO_EPHEMERAL)), ZOK);
  peer_free (a);
  settle (b);
  assert_false (sim_world_exists (world, "/a"));

  /* Without a connection there is nobody to tell. */
  sim_world_strike (world, SIM_FAULT_OUTAGE, b->process, 60 * G_USEC_PER_SEC);
  b->ops->close (b->ops, b->handle);
  b->handle = NULL;
  sim_world_run_for (world, 1000);
  assert_true (sim_world_exists (world, "/b"));
  sim_world_run_for (world, 10000);
  assert_false (sim_world_exists (world, "/b"));
  peer_free (b);
  sim_world_free (world);
}

static void
test_close_loses_completions (void **state)
{
  guint n_done = 0;
  guint n_executed = 0;

  for (guint32 seed = 0; seed < 200; seed++)
    {
      SimWorld *world = world_new (seed, 3);
      Peer *a = peer_new (world, "A");
      Call *call = start_create (a, 'c', "/c", ZOO_PERSISTENT);

      a->ops->close (a->ops, a->handle);
      a->handle = NULL;
      if (call->done)
        {
          assert_int_equal (call->rc, ZCLOSING);
          n_done++;
        }
      sim_world_run_for (world, 1000);
      n_executed += sim_world_exists (world, "/c") ? 1 : 0;
      call_free (call);
      peer_free (a);
      sim_world_free (world);
    }
  assert_true (n_done > 20 && n_done < 180);
  assert_true (n_executed > 20);
}

static void
test_bad_auth (void **state)
{
  SimWorld *world = world_new (6, 3);
  Peer *a = peer_new (world, "A");

  a->ops->close (a->ops, a->handle);
  peer_open (a);
  a->ops->add_auth (a->ops, a->handle, "nonsense", "x", 1);
  settle (a);
  expect_log (a, "AUTH ");
  peer_free (a);
  sim_world_free (world);
}

/* --- cuts --------------------------------------------------------------------------------------- */

static void
test_cut_tells_then_fails_in_order (void **state)
{
  for (guint32 seed = 0; seed < 200; seed++)
    {
      SimWorld *world = world_new (seed, 3);
      Peer *a = peer_new (world, "A");
      Call *one = start_create (a, '1', "/one", ZOO_PERSISTENT);
      Call *two = start_create (a, '2', "/two", ZOO_PERSISTENT);
      Call *three;
      char *down;

      sim_world_run_for (world, 1);
      sim_world_strike (world, SIM_FAULT_DROP, a->process, 0);
      three = start_read (a, '3', SIM_OP_EXISTS, "/", FALSE);
      settle (a);
      assert_true (one->done && two->done && three->done);
      down = strstr (a->log->str, "DOWN ");
      assert_non_null (down);
      assert_ptr_equal (strstr (down, "UP 3:0"), strstr (a->log->str, "UP"));
      assert_true (strstr (a->log->str, "1:") < strstr (a->log->str, "2:"));
      assert_true (one->rc == ZOK || one->rc == ZCONNECTIONLOSS || one->rc == ZOPERATIONTIMEOUT);
      assert_true ((one->rc == ZOK) == (strstr (a->log->str, "1:") < down));
      call_free (one);
      call_free (two);
      call_free (three);
      peer_free (a);
      sim_world_free (world);
    }
}

static void
test_effect_after_the_cut (void **state)
{
  guint late = 0;
  guint never = 0;

  for (guint32 seed = 0; seed < 300; seed++)
    {
      SimWorld *world = world_new (seed, 3);
      Peer *a = peer_new (world, "A");
      Call *call = start_create (a, 'c', "/c", ZOO_PERSISTENT);

      sim_world_strike (world, SIM_FAULT_OUTAGE, a->process, G_USEC_PER_SEC);
      sim_world_run_for (world, 0);
      assert_true (call->done);
      assert_true (call->rc < 0);
      if (!sim_world_exists (world, "/c"))
        {
          sim_world_run_for (world, 500);
          late += sim_world_exists (world, "/c") ? 1 : 0;
          never += sim_world_exists (world, "/c") ? 0 : 1;
        }
      call_free (call);
      peer_free (a);
      sim_world_free (world);
    }
  assert_true (late > 10);
  assert_true (never > 10);
}

static void
test_scripts (void **state)
{
  SimWorld *world = world_new (7, 3);
  Peer *a = peer_new (world, "A");
  Call *call;
  int rc;

  sim_world_script (world, NULL, SIM_OP_CREATE, 1, ZCONNECTIONLOSS, SIM_BEFORE_EFFECT);
  sim_world_script (world, a->process, SIM_OP_CREATE, 2, ZOPERATIONTIMEOUT, SIM_AFTER_EFFECT);
  sim_world_script (world, a->process, SIM_OP_REMOVE, 1, ZSYSTEMERROR, SIM_AFTER_EFFECT);
  sim_world_script (world, a->process, SIM_OP_REMOVE, 2, ZSESSIONMOVED, SIM_BEFORE_EFFECT);
  sim_world_script (world, a->process, SIM_OP_REMOVE, 3, ZMARSHALLINGERROR, SIM_AT_SUBMIT);
  sim_world_script (world, a->process, SIM_OP_SYNC, 1, ZSESSIONEXPIRED, SIM_AFTER_EFFECT);
  assert_int_equal (finish (start_create (a, 'a', "/a", ZOO_PERSISTENT)), ZCONNECTIONLOSS);
  assert_false (sim_world_exists (world, "/a"));
  assert_int_equal (finish (start_create (a, 'a', "/a", ZOO_PERSISTENT)), ZOPERATIONTIMEOUT);
  assert_true (sim_world_exists (world, "/a"));
  assert_int_equal (finish (start_remove (a, 'r', "/a")), ZSYSTEMERROR);
  assert_false (sim_world_exists (world, "/a"));
  sim_world_put (world, "/a", "", ZOO_PERSISTENT);
  assert_int_equal (finish (start_remove (a, 'r', "/a")), ZSESSIONMOVED);
  assert_true (sim_world_exists (world, "/a"));
  call = call_new (a, 'r');
  rc = a->ops->remove (a->ops, a->handle, "/a", -1, &call->ticket);
  assert_int_equal (rc, ZMARSHALLINGERROR);
  call_free (call);
  assert_int_equal (sim_world_n_requests (world, NULL, SIM_OP_REMOVE), 3);
  assert_int_equal (finish (start_create (a, 'e', "/e", ZOO_EPHEMERAL)), ZOK);
  finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE));
  settle (a);
  assert_false (sim_world_exists (world, "/e"));
  assert_non_null (strstr (a->log->str, "EXPIRED "));
  peer_free (a);
  sim_world_free (world);
}

static void
test_silence (void **state)
{
  for (guint32 seed = 0; seed < 50; seed++)
    {
      SimWorld *world = world_new (seed, 3);
      Peer *a = peer_new (world, "A");
      Call *call;
      gint64 before;

      assert_int_equal (finish (start_create (a, 'a', "/e", ZOO_EPHEMERAL)), ZOK);
      g_string_truncate (a->log, 0);
      before = sim_world_now_us (world);
      sim_world_strike (world, SIM_FAULT_SILENT, a->process, 30 * G_USEC_PER_SEC);
      call = start_create (a, 'b', "/b", ZOO_PERSISTENT);
      sim_world_run_for (world, TIMEOUT_MS / 3 - 1);
      expect_log (a, "");
      sim_world_run_for (world, TIMEOUT_MS / 3 + 1);
      assert_true (g_str_has_prefix (a->log->str, "DOWN b:-7 "));
      assert_false (sim_world_exists (world, "/b"));
      assert_true (sim_world_now_us (world) - before < TIMEOUT_MS * 1000);
      call_free (call);
      peer_free (a);
      sim_world_free (world);
    }
}

static void
test_deafness_heals (void **state)
{
  SimWorld *world = world_new (8, 3);
  Peer *a = peer_new (world, "A");
  Call *call;

  sim_world_strike (world, SIM_FAULT_DEAF, a->process, 1500 * 1000);
  call = start_create (a, 'b', "/b", ZOO_PERSISTENT);
  sim_world_run_for (world, 1000);
  assert_true (sim_world_exists (world, "/b"));
  assert_false (call->done);
  sim_world_run_for (world, 1000);
  assert_int_equal (finish (call), ZOK);
  expect_log (a, "b:0 ");
  peer_free (a);
  sim_world_free (world);
}

static void
test_quiet_cut_and_duplicate (void **state)
{
  SimWorld *world = world_new (9, 3);
  Peer *a = peer_new (world, "A");

  sim_world_strike (world, SIM_FAULT_DUPLICATE, a->process, 0);
  settle (a);
  expect_log (a, "UP ");
  sim_world_strike (world, SIM_FAULT_DROP_QUIET, a->process, 0);
  settle (a);
  expect_log (a, "UP ");
  peer_free (a);
  sim_world_free (world);
}

/* --- watches -------------------------------------------------------------------------------------- */

static void
test_watch_comes_before_the_news (void **state)
{
  for (guint32 seed = 0; seed < 300; seed++)
    {
      SimWorld *world = world_new (seed, 3);
      Peer *a = peer_new (world, "A");
      Peer *b = peer_new (world, "B");
      char *deleted;
      char *list;

      finish (start_create (a, 'c', "/n", ZOO_PERSISTENT));
      finish (start_read (b, 's', SIM_OP_SYNC, "/", FALSE));
      assert_int_equal (finish (start_read (b, 'g', SIM_OP_GET, "/n", TRUE)), ZOK);
      g_string_truncate (b->log, 0);
      sim_world_delete (world, "/n");
      for (int i = 0; i < 4; i++)
        {
          int rc = finish (start_read (b, 'e', SIM_OP_EXISTS, "/n", FALSE));

          assert_true (rc == ZOK || rc == ZNONODE);
        }
      deleted = strstr (b->log->str, "deleted/n ");
      list = strstr (b->log->str, "e:-101 ");
      assert_non_null (deleted);
      assert_non_null (list);
      assert_true (deleted < list);
      peer_free (a);
      peer_free (b);
      sim_world_free (world);
    }
}

typedef struct
{
  const char *what;
  SimOp op;
  gboolean there_before;
  const char *expected;
} Away;

static void
while_away (SimWorld *world, const char *what)
{
  if (strstr (what, "delete"))
    {
      sim_world_delete (world, "/w/n");
    }
  if (strstr (what, "create"))
    {
      sim_world_put (world, "/w/n", "new", ZOO_PERSISTENT);
    }
  if (strstr (what, "set"))
    {
      sim_world_put (world, "/w/n", "changed", ZOO_PERSISTENT);
    }
  if (strstr (what, "vanish"))
    {
      sim_world_delete (world, "/w/n");
    }
}

/* The table of what a watch says after a reconnect, whichever server it is. */
static void
test_watches_over_a_reconnect (void **state)
{
  static const Away table[] = {
    { "delete", SIM_OP_GET, TRUE, "UP deleted/w/n " },
    { "delete", SIM_OP_EXISTS, TRUE, "UP deleted/w/n " },
    { "set", SIM_OP_GET, TRUE, "UP changed/w/n " },
    { "delete, create", SIM_OP_GET, TRUE, "UP changed/w/n " },
    { "create", SIM_OP_EXISTS, FALSE, "UP created/w/n " },
    { "create, vanish", SIM_OP_EXISTS, FALSE, "UP " },
    { "delete", SIM_OP_CHILDREN, TRUE, "UP child/w " },
    { "nothing", SIM_OP_GET, TRUE, "UP " },
  };

  for (guint i = 0; i < G_N_ELEMENTS (table) * 20; i++)
    {
      const Away *row = &table[i % G_N_ELEMENTS (table)];
      SimWorld *world = world_new (i, 3);
      Peer *a = peer_new (world, "A");
      guint expected_watches;

      sim_world_put (world, "/w", "", ZOO_PERSISTENT);
      if (row->there_before)
        {
          sim_world_put (world, "/w/n", "", ZOO_PERSISTENT);
        }
      finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE));
      finish (start_read (a, 'w', row->op, row->op == SIM_OP_CHILDREN ? "/w" : "/w/n", TRUE));
      assert_int_equal (sim_process_server_watches (a->process), 1);
      sim_world_strike (world, SIM_FAULT_OUTAGE, a->process, G_USEC_PER_SEC);
      sim_process_prefer_server (a->process, (int) (i / 3) % 3);
      sim_world_run_for (world, 10);
      assert_int_equal (sim_process_server_watches (a->process), 0);
      g_string_truncate (a->log, 0);
      while_away (world, row->what);
      sim_world_run_for (world, 6000);
      expected_watches = strcmp (row->expected, "UP ") == 0 ? 1 : 0;
      expect_log (a, row->expected);
      assert_int_equal (sim_process_server_watches (a->process), expected_watches);
      assert_int_equal (sim_process_client_watches (a->process), expected_watches);
      peer_free (a);
      sim_world_free (world);
    }
}

static void
test_watch_in_flight_is_not_set (void **state)
{
  SimWorld *world = world_new (10, 3);
  Peer *a = peer_new (world, "A");

  sim_world_put (world, "/n", "", ZOO_PERSISTENT);
  finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE));
  sim_world_script (world, NULL, SIM_OP_GET, 1, ZCONNECTIONLOSS, SIM_AFTER_EFFECT);
  assert_int_equal (finish (start_read (a, 'g', SIM_OP_GET, "/n", TRUE)), ZCONNECTIONLOSS);
  settle (a);
  sim_world_delete (world, "/n");
  settle (a);
  assert_null (strstr (a->log->str, "deleted"));
  assert_int_equal (sim_process_server_watches (a->process), 0);
  peer_free (a);
  sim_world_free (world);
}

static int
unwatch (Peer *peer, const char *path, ZooWatcherType type)
{
  Call *call = call_new (peer, 'u');
  int rc = peer->ops->remove_all_watches (peer->ops, peer->handle, path, type, &call->ticket);

  if (rc != ZOK)
    {
      call_free (call);
      return rc;
    }
  return finish (call);
}

static void
test_removing_watches (void **state)
{
  SimWorld *world = world_new (11, 3);
  Peer *a = peer_new (world, "A");
  Call *call;

  sim_world_put (world, "/n", "", ZOO_PERSISTENT);
  finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE));
  assert_int_equal (unwatch (a, "/n", ZWATCHTYPE_DATA), ZNOWATCHER);

  /* Not while the answer that sets the watch is on its way. */
  call = start_read (a, 'g', SIM_OP_GET, "/n", TRUE);
  assert_int_equal (unwatch (a, "/n", ZWATCHTYPE_DATA), ZNOWATCHER);
  finish (call);
  assert_int_equal (unwatch (a, "/n", ZWATCHTYPE_CHILD), ZNOWATCHER);
  assert_int_equal (sim_process_server_watches (a->process), 1);
  assert_int_equal (unwatch (a, "/n", ZWATCHTYPE_DATA), ZOK);
  assert_int_equal (sim_process_server_watches (a->process), 0);
  assert_int_equal (sim_process_client_watches (a->process), 0);
  g_string_truncate (a->log, 0);
  sim_world_delete (world, "/n");
  settle (a);
  expect_log (a, "");
  peer_free (a);
  sim_world_free (world);
}

/* --- servers that know less ------------------------------------------------------------------------ */

static void
test_lagging_server (void **state)
{
  SimWorld *world = world_new (12, 3);
  Peer *a = peer_new (world, "A");
  Call *sync;

  sim_process_prefer_server (a->process, 1);
  sim_world_strike (world, SIM_FAULT_DROP, a->process, 0);
  settle (a);
  assert_int_equal (sim_process_server (a->process), 1);
  sim_world_strike (world, SIM_FAULT_LAG, a->process, 2 * G_USEC_PER_SEC);
  sim_world_put (world, "/n", "", ZOO_PERSISTENT);
  assert_int_equal (finish (start_read (a, 'e', SIM_OP_EXISTS, "/n", FALSE)), ZNONODE);
  sync = start_read (a, 's', SIM_OP_SYNC, "/", FALSE);
  sim_world_run_for (world, 1000);
  assert_false (sync->done);
  assert_int_equal (finish (sync), ZOK);
  assert_int_equal (finish (start_read (a, 'e', SIM_OP_EXISTS, "/n", FALSE)), ZOK);
  peer_free (a);
  sim_world_free (world);
}

static void
test_never_back_in_time (void **state)
{
  SimWorld *world = world_new (13, 2);
  Peer *a = peer_new (world, "A");
  Peer *b = peer_new (world, "B");

  sim_process_prefer_server (a->process, 0);
  sim_process_prefer_server (b->process, 1);
  sim_world_strike (world, SIM_FAULT_DROP, a->process, 0);
  sim_world_strike (world, SIM_FAULT_DROP, b->process, 0);
  settle (a);
  assert_int_equal (sim_process_server (a->process), 0);
  assert_int_equal (sim_process_server (b->process), 1);
  sim_world_strike (world, SIM_FAULT_LAG, b->process, 60 * G_USEC_PER_SEC);
  assert_int_equal (finish (start_create (a, 'c', "/n", ZOO_PERSISTENT)), ZOK);
  sim_process_prefer_server (a->process, 1);
  sim_world_strike (world, SIM_FAULT_DROP, a->process, 0);
  settle (a);
  assert_int_equal (sim_process_server (a->process), 0);
  peer_free (a);
  peer_free (b);
  sim_world_free (world);
}

static void
expect_two_believers (SimFault fault, int sync_rc)
{
  SimWorld *world = world_new (14, 3);
  Peer *a = peer_new (world, "A");
  Call *check;
  Call *sync;

  assert_int_equal (finish (start_create (a, 'c', "/e", ZOO_EPHEMERAL)), ZOK);
  g_string_truncate (a->log, 0);
  sim_world_strike (world, fault, a->process, 30 * G_USEC_PER_SEC);
  sim_world_run_for (world, 9000);
  if (sim_process_server (a->process) >= 0)
    {
      assert_false (sim_world_exists (world, "/e"));
      expect_log (a, "");
      assert_int_equal (finish (start_read (a, 'e', SIM_OP_EXISTS, "/e", FALSE)), ZOK);
      sync = start_read (a, 's', SIM_OP_SYNC, "/", FALSE);
      settle (a);
      assert_int_equal (sync->done, sync_rc == ZOK);
      check = start_check (a, 'k', "/e", NULL);
      sim_world_run_for (world, 1000);
      assert_false (check->done);
      sim_world_run_for (world, 40000);
      assert_true (check->done && check->rc != ZOK);
      call_free (check);
      call_free (sync);
      assert_non_null (strstr (a->log->str, "EXPIRED"));
    }
  peer_free (a);
  sim_world_free (world);
}

/* A server without a quorum still shows a node whose session is over; only a check tells. */
static void
test_server_without_quorum (void **state)
{
  expect_two_believers (SIM_FAULT_CUT, ZCONNECTIONLOSS);
  expect_two_believers (SIM_FAULT_LIAR, ZOK);
}

/* --- clocks and processes --------------------------------------------------------------------------- */

static void
test_clocks (void **state)
{
  SimWorld *world = world_new (15, 3);
  Peer *a = peer_new (world, "A");
  gint64 monotonic = a->ops->monotonic_us (a->ops);
  gint64 boottime = a->ops->boottime_us (a->ops);

  sim_world_strike (world, SIM_FAULT_PAUSE, a->process, 2 * G_USEC_PER_SEC);
  sim_world_run_for (world, 3000);
  assert_true (a->ops->monotonic_us (a->ops) - monotonic == 3 * G_USEC_PER_SEC);
  sim_world_strike (world, SIM_FAULT_SUSPEND, a->process, 2 * G_USEC_PER_SEC);
  sim_world_run_for (world, 3000);
  assert_true (a->ops->monotonic_us (a->ops) - monotonic == 4 * G_USEC_PER_SEC);
  assert_true (a->ops->boottime_us (a->ops) - boottime == 6 * G_USEC_PER_SEC);
  peer_free (a);
  sim_world_free (world);
}

static void
test_paused_and_dead_processes_expire (void **state)
{
  for (guint32 seed = 0; seed < 20; seed++)
    {
      SimWorld *world = world_new (seed, 3);
      Peer *a = peer_new (world, "A");
      Peer *b = peer_new (world, "B");

      assert_int_equal (finish (start_create (a, 'c', "/a", ZOO_EPHEMERAL)), ZOK);
      assert_int_equal (finish (start_create (b, 'c', "/b", ZOO_EPHEMERAL)), ZOK);
      g_string_truncate (a->log, 0);
      g_string_truncate (b->log, 0);
      sim_world_strike (world, SIM_FAULT_PAUSE, a->process, 10 * G_USEC_PER_SEC);
      sim_process_crash (b->process);
      sim_world_run_for (world, 2000);
      assert_true (sim_world_exists (world, "/a") && sim_world_exists (world, "/b"));
      sim_world_run_for (world, 7900);
      assert_false (sim_world_exists (world, "/a") || sim_world_exists (world, "/b"));
      expect_log (a, "");
      sim_world_run_for (world, 8000);
      expect_log (a, "DOWN EXPIRED ");
      expect_log (b, "");
      sim_world_heal (world);
      settle (b);
      expect_log (b, "DOWN ");
      peer_free (a);
      peer_free (b);
      sim_world_free (world);
    }
}

/* --- actors -------------------------------------------------------------------------------------------- */

typedef struct
{
  SimWorld *world;
  SimProcess *process;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  int value;
  GString *log;
} Shared;

static void
wait_for_value (gpointer data)
{
  Shared *shared = data;
  CuratorZkOps *ops = sim_process_ops (shared->process);

  pthread_mutex_lock (&shared->mutex);
  while (shared->value < 3)
    {
      ops->wait (ops, &shared->cond, &shared->mutex);
    }
  g_string_append (shared->log, "seen ");
  pthread_mutex_unlock (&shared->mutex);
}

static void
raise_value (gpointer data)
{
  Shared *shared = data;
  CuratorZkOps *ops = sim_process_ops (shared->process);

  for (int i = 0; i < 3; i++)
    {
      sim_sleep_ms (shared->world, 500);
      pthread_mutex_lock (&shared->mutex);
      shared->value++;
      g_string_append_printf (shared->log, "%d ", shared->value);
      ops->wake (ops, &shared->cond);
      pthread_mutex_unlock (&shared->mutex);
    }
}

static void
test_actors_wait_and_wake (void **state)
{
  for (guint32 seed = 0; seed < 50; seed++)
    {
      SimWorld *world = world_new (seed, 1);
      Shared shared = { .world = world,
                        .mutex = PTHREAD_MUTEX_INITIALIZER,
                        .cond = PTHREAD_COND_INITIALIZER };
      gint64 before = sim_world_now_us (world);

      shared.log = g_string_new (NULL);
      shared.process = sim_process_new (world, "A");
      sim_actor_new (world, shared.process, "waiter", wait_for_value, &shared);
      sim_actor_new (world, shared.process, "raiser", raise_value, &shared);
      assert_true (sim_world_run (world));
      assert_string_equal (shared.log->str, "1 2 3 seen ");
      assert_true (sim_world_now_us (world) - before >= 1500 * 1000);
      assert_true (sim_world_now_us (world) - before < 1501 * 1000);
      g_string_free (shared.log, TRUE);
      sim_world_free (world);
    }
}

/* Requests, reads and waits in a random order, with every fault there is. */
typedef struct
{
  Peer *peer;
  int n;
} Worker;

static void
work (gpointer data)
{
  Worker *worker = data;
  Peer *peer = worker->peer;
  GPtrArray *calls = g_ptr_array_new_with_free_func ((GDestroyNotify) call_free);

  for (int i = 0; i < worker->n; i++)
    {
      Call *call = call_new (peer, (char) ('a' + i % 26));
      GRand *rand = sim_world_rand (peer->world);
      CuratorZkOps *ops = peer->ops;

      switch (g_rand_int_range (rand, 0, 6))
        {
        case 0:
          ops->create (ops, peer->handle, "/w/n-", "", 0, &ZOO_OPEN_ACL_UNSAFE,
                       ZOO_EPHEMERAL_SEQUENTIAL, &call->ticket);
          break;
        case 1:
          ops->get_children (ops, peer->handle, "/w", TRUE, &call->ticket);
          break;
        case 2:
          ops->exists (ops, peer->handle, "/w/n-0000000001", TRUE, &call->ticket);
          break;
        case 3:
          ops->remove (ops, peer->handle, "/w/n-0000000001", -1, &call->ticket);
          break;
        case 4:
          ops->sync (ops, peer->handle, "/", &call->ticket);
          break;
        default:
          ops->remove_all_watches (ops, peer->handle, "/w", ZWATCHTYPE_CHILD, &call->ticket);
          break;
        }
      g_ptr_array_add (calls, call);
      sim_sleep_us (peer->world, g_rand_int_range (rand, 0, 2000000));
    }
  peer->ops->close (peer->ops, peer->handle);
  peer->handle = NULL;
  g_ptr_array_unref (calls);
}

static guint64
run_stormy (guint32 seed)
{
  SimConfig config;
  SimWorld *world;
  Peer *peers[3];
  Worker workers[3];
  guint64 hash;

  sim_config_calm (&config);
  config.fault_every_us = 2 * G_USEC_PER_SEC;
  config.p_cut_before = config.p_cut_after = config.p_refuse = 0.02;
  config.p_connect_fails = 0.1;
  for (int i = 0; i < SIM_N_FAULTS; i++)
    {
      config.weights[i] = 1;
    }
  world = sim_world_new (seed, &config);
  sim_world_put (world, "/w", "", ZOO_CONTAINER);
  for (int i = 0; i < 3; i++)
    {
      char name[] = { (char) ('A' + i), '\0' };
      Peer *peer = peers[i] = g_new0 (Peer, 1);

      peer->world = world;
      peer->process = sim_process_new (world, name);
      peer->ops = sim_process_ops (peer->process);
      peer->log = g_string_new (NULL);
      peer_open (peer);
      workers[i] = (Worker){ peer, 30 };
      sim_actor_new (world, peer->process, name, work, &workers[i]);
    }
  assert_true (sim_world_run (world));
  sim_world_heal (world);
  assert_true (sim_world_run (world));
  assert_true (sim_world_run_for (world, 60 * 1000));
  for (int i = 0; i < 3; i++)
    {
      assert_int_equal (sim_process_open_handles (peers[i]->process), 0);
      g_string_free (peers[i]->log, TRUE);
      g_free (peers[i]);
    }
  hash = sim_world_trace_hash (world);
  sim_world_free (world);
  return hash;
}

static void
test_same_seed_same_schedule (void **state)
{
  guint64 previous = 0;

  for (guint32 seed = 0; seed < 200; seed++)
    {
      guint64 hash = run_stormy (seed);

      assert_true (hash != previous);
      if (seed % 4 == 0)
        {
          assert_true (hash == run_stormy (seed));
        }
      previous = hash;
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_create_and_list_in_one_go),
    cmocka_unit_test (test_modes_and_errors),
    cmocka_unit_test (test_multi_of_checks),
    cmocka_unit_test (test_reaper_resets_the_counter),
    cmocka_unit_test (test_expiry),
    cmocka_unit_test (test_expiry_fails_what_is_queued),
    cmocka_unit_test (test_close_ends_the_session),
    cmocka_unit_test (test_close_loses_completions),
    cmocka_unit_test (test_bad_auth),
    cmocka_unit_test (test_cut_tells_then_fails_in_order),
    cmocka_unit_test (test_effect_after_the_cut),
    cmocka_unit_test (test_scripts),
    cmocka_unit_test (test_silence),
    cmocka_unit_test (test_deafness_heals),
    cmocka_unit_test (test_quiet_cut_and_duplicate),
    cmocka_unit_test (test_watch_comes_before_the_news),
    cmocka_unit_test (test_watches_over_a_reconnect),
    cmocka_unit_test (test_watch_in_flight_is_not_set),
    cmocka_unit_test (test_removing_watches),
    cmocka_unit_test (test_lagging_server),
    cmocka_unit_test (test_never_back_in_time),
    cmocka_unit_test (test_server_without_quorum),
    cmocka_unit_test (test_clocks),
    cmocka_unit_test (test_paused_and_dead_processes_expire),
    cmocka_unit_test (test_actors_wait_and_wake),
    cmocka_unit_test (test_same_seed_same_schedule),
  };

  sim_pin_to_one_cpu ();
  return cmocka_run_group_tests (tests, NULL, NULL);
}
