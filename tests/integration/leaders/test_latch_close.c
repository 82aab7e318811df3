/* A latch that is closed leaves the queue after its listeners have returned, and no later than the
 * connection timeout allows. The servers' own order of transactions decides: a listener's last act
 * is a write of a session of its own. CURATOR_TEST_HAND_OVERS times, 1,000 by default. */
#include "latches.h"

#include <stdlib.h>

#define PATH        "/close/latch"
#define WRITTEN     "/close/written"
#define PATIENCE_MS 700 /* connection timeout, where a listener is not to be waited for */

/* A leadership, as its listener ends it. */
typedef struct
{
  RawZk *raw; /* the listener's */
  CuratorLeaderLatch *latch;
  CuratorLeaderLatch *next; /* waits behind it */
  gboolean closes_itself;   /* as soon as it leads */
  gint64 written;           /* atomic: the transaction of the last write; 0: none yet */
  gint n_early;             /* atomic: the next one led already */
} Term;

static void
on_term (CuratorLeaderLatch *latch, gboolean is_leader, gpointer data)
{
  Term *term = data;
  struct Stat stat = { 0 };

  if (is_leader) {
    if (term->closes_itself)
      curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
    return;
  }
  if (g_random_int_range (0, 4) == 0)
    wait_ms (g_random_int_range (0, 5));
  if (curator_leader_latch_has_leadership (term->next))
    g_atomic_int_inc (&term->n_early);
  if (raw_zk_set (term->raw, WRITTEN, "the end") == ZOK
      && raw_zk_stat (term->raw, WRITTEN, &stat) == ZOK)
    __atomic_store_n (&term->written, stat.mzxid, __ATOMIC_SEQ_CST);
}

static CuratorLeaderLatch *
queue (CuratorClient *client, CuratorLeaderLatchListener listener, gpointer data)
{
  g_autoptr (GError) error = NULL;
  CuratorLeaderLatch *latch = curator_leader_latch_new (client, PATH, NULL, &error);

  assert_ok (latch != NULL, &error);
  if (listener != NULL)
    curator_leader_latch_add_listener (latch, listener, data, NULL);
  assert_ok (curator_leader_latch_start (latch, &error), &error);
  return latch;
}

static void
await (CuratorLeaderLatch *latch)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_leader_latch_await (latch, LONG_MS, NULL, &error), &error);
}

/* The newest change of the queue, in which one is left, is that the node of the term went. Within
 * one session the next one leads as soon as its deletion was sent. */
static void
assert_left_after_its_listener (Fixture *fixture, Term *term)
{
  const gint64 written = __atomic_load_n (&term->written, __ATOMIC_SEQ_CST);
  struct Stat stat;

  assert_children (fixture, PATH, 1, LONG_MS);
  assert_int_equal (raw_zk_stat (fixture->raw, PATH, &stat), ZOK);
  if (written == 0 || written >= stat.pzxid || g_atomic_int_get (&term->n_early) > 0) {
    fail_msg ("the listener wrote in 0x%" G_GINT64_MODIFIER
              "x, and the node went in 0x%" G_GINT64_MODIFIER "x; %d led before",
              written, stat.pzxid, g_atomic_int_get (&term->n_early));
  }
}

/* In turn, each when the other one is closed. */
static void
hand_over (Fixture *fixture, CuratorClient *const clients[2], int n)
{
  Term terms[2] = { { .raw = raw_zk_open (fixture_server (fixture)) },
                    { .raw = raw_zk_open (fixture_server (fixture)) } };

  assert_int_equal (raw_zk_make_path (fixture->raw, WRITTEN), ZOK);
  terms[0].latch = queue (clients[0], on_term, &terms[0]);
  await (terms[0].latch);
  for (int i = 0; i < n; i++) {
    Term *term = &terms[i % 2];
    Term *next = &terms[1 - i % 2];
    next->written = 0;
    next->latch = queue (clients[1 - i % 2], on_term, next);
    assert_children (fixture, PATH, 2, LONG_MS);
    term->next = next->latch;
    curator_leader_latch_close (term->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
    assert_false (curator_leader_latch_has_leadership (term->latch));
    /* Who drops it at once is in no greater hurry. */
    if (i % 3 == 0)
      g_clear_pointer (&term->latch, curator_leader_latch_unref);
    await (next->latch);
    assert_left_after_its_listener (fixture, term);
    g_clear_pointer (&term->latch, curator_leader_latch_unref);
  }
  for (int i = 0; i < 2; i++) {
    g_clear_pointer (&terms[i].latch, curator_leader_latch_unref);
    raw_zk_close (terms[i].raw);
  }
  assert_no_residue (fixture, PATH, LONG_MS);
}

PAIR_TEST (test_hand_overs)
{
  const char *wanted = g_getenv ("CURATOR_TEST_HAND_OVERS");

  hand_over (fixture, (CuratorClient *const[]){ client, peer },
             wanted != NULL ? atoi (wanted) : 1000);
}

static gpointer
run_loop (gpointer loop)
{
  g_main_loop_run (loop);
  return NULL;
}

static CuratorClient *
client_in_context (Fixture *fixture, GMainContext *context, gint64 patience_ms)
{
  CuratorClient *client = client_new (fixture_server (fixture));
  curator_client_set_callback_context (client, context);
  curator_client_set_connection_timeout (client, patience_ms);
  client_start (client);
  return client;
}

/* The same with listeners in a main context. */
TEST (test_hand_overs_in_a_context)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GMainLoop) loop = g_main_loop_new (context, FALSE);
  g_autoptr (CuratorClient) one = client_in_context (fixture, context, LONG_MS);
  g_autoptr (CuratorClient) other = client_in_context (fixture, context, LONG_MS);
  GThread *thread = g_thread_new ("loop", run_loop, loop);

  hand_over (fixture, (CuratorClient *const[]){ one, other }, 50);
  g_main_loop_quit (loop);
  g_thread_join (thread);
}

/* A listener closes the latch as soon as it leads. */
CLIENT_TEST (test_closed_by_its_listener)
{
  for (int i = 0; i < 20; i++) {
    Term term = { .raw = raw_zk_open (fixture_server (fixture)), .closes_itself = TRUE };
    g_autoptr (CuratorLeaderLatch) first = queue (client, NULL, NULL);
    await (first);
    term.latch = queue (client, on_term, &term);
    assert_children (fixture, PATH, 2, LONG_MS);
    g_autoptr (CuratorLeaderLatch) last = queue (client, NULL, NULL);
    assert_children (fixture, PATH, 3, LONG_MS);
    term.next = last;
    curator_leader_latch_close (first, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
    await (last);
    assert_left_after_its_listener (fixture, &term);
    curator_leader_latch_unref (term.latch);
    raw_zk_close (term.raw);
  }
}

/* A listener that blocks. */
typedef struct
{
  gint is_open; /* atomic, like the rest */
  gint n_entered;
  gint n_left;
} Gate;

static void
block (CuratorLeaderLatch *latch, gboolean is_leader, gpointer data)
{
  Gate *gate = data;

  if (is_leader)
    return;
  g_atomic_int_inc (&gate->n_entered);
  while (!g_atomic_int_get (&gate->is_open))
    wait_ms (1);
  g_atomic_int_inc (&gate->n_left);
}

/* It does not keep the next candidate waiting for ever, and the closer not at all. */
TEST (test_listener_that_blocks)
{
  Gate gate = { 0 };
  g_autoptr (CuratorClient) client = client_in_context (fixture, NULL, PATIENCE_MS);
  g_autoptr (CuratorClient) other = client_connect (fixture_server (fixture));
  CuratorLeaderLatch *latch = queue (client, block, &gate);
  await (latch);
  g_autoptr (CuratorLeaderLatch) next = queue (other, NULL, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  const gint64 called_ms = wait_now_ms ();
  curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
  assert_false (curator_leader_latch_has_leadership (latch));
  assert_null (curator_leader_latch_dup_lease (latch));
  assert_soon (g_atomic_int_get (&gate.n_entered) == 1);
  curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  curator_leader_latch_unref (latch);
  await (next);
  assert_true (wait_now_ms () - called_ms >= PATIENCE_MS);
  assert_int_equal (g_atomic_int_get (&gate.n_entered), 1);
  assert_int_equal (g_atomic_int_get (&gate.n_left), 0);
  g_atomic_int_set (&gate.is_open, TRUE);
  curator_client_close (client);
  assert_int_equal (g_atomic_int_get (&gate.n_left), 1);
}

/* Nor does a context that nobody iterates, or that is gone. */
TEST (test_context_that_nobody_iterates)
{
  g_autoptr (CuratorClient) other = client_connect (fixture_server (fixture));

  for (int is_gone = 0; is_gone < 2; is_gone++) {
    Gate gate = { 0 };
    g_autoptr (GMainContext) context = g_main_context_new ();
    g_autoptr (CuratorClient) client = client_in_context (fixture, context, PATIENCE_MS);
    g_autoptr (CuratorLeaderLatch) latch = queue (client, block, &gate);
    await (latch);
    g_autoptr (CuratorLeaderLatch) next = queue (other, NULL, NULL);
    assert_children (fixture, PATH, 2, LONG_MS);
    const gint64 called_ms = wait_now_ms ();
    curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
    if (is_gone) {
      g_clear_pointer (&client, curator_client_unref); /* the latch has a reference */
      g_clear_pointer (&latch, curator_leader_latch_unref);
    }
    await (next);
    assert_true (wait_now_ms () - called_ms >= PATIENCE_MS);
    assert_int_equal (g_atomic_int_get (&gate.n_entered), 0);
    g_atomic_int_set (&gate.is_open, TRUE);
    curator_leader_latch_close (next, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
    assert_children (fixture, PATH, 0, LONG_MS);
    while (!is_gone && g_main_context_iteration (context, FALSE))
      ;
  }
}

static gpointer
close_client (gpointer client)
{
  curator_client_close (client);
  return NULL;
}

/* While a listener runs, the node, the lease or the session ends otherwise. */
TEST (test_ends_meanwhile)
{
  for (int way = 0; way < 3; way++) {
    g_autoptr (GError) error = NULL;
    Gate gate = { 0 };
    g_autoptr (CuratorClient) client = client_in_context (fixture, NULL, LONG_SESSION_MS);
    g_autoptr (CuratorClient) other = client_connect (fixture_server (fixture));
    CuratorLeaderLatch *latch = queue (client, block, &gate);
    await (latch);
    g_autoptr (CuratorLease) lease = curator_leader_latch_dup_lease (latch);
    g_autoptr (CuratorLeaderLatch) next = queue (other, NULL, NULL);
    assert_children (fixture, PATH, 2, LONG_MS);
    curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
    assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_HELD);
    assert_soon (g_atomic_int_get (&gate.n_entered) == 1);
    assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 2);
    if (way == 0)
      assert_int_equal (raw_zk_delete (fixture->raw, curator_lease_get_node_path (lease)), ZOK);
    else if (way == 1)
      assert_ok (curator_lease_release (lease, LONG_MS, NULL, &error), &error);
    if (way == 2) {
      GThread *closing = g_thread_new ("close", close_client, client);
      await (next);
      g_atomic_int_set (&gate.is_open, TRUE);
      g_thread_join (closing);
    }
    await (next);
    g_atomic_int_set (&gate.is_open, TRUE);
    curator_leader_latch_unref (latch);
    curator_client_close (client);
    assert_int_equal (g_atomic_int_get (&gate.n_left), 1);
    curator_leader_latch_close (next, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
    assert_children (fixture, PATH, 0, LONG_MS);
  }
}

SUITE ("latch_close", fixture_start_calm, fixture_stop)
