/* Waiting for a selector to lead, its lease for other threads, and listeners of a latch that come
 * late. Waiting for a latch: test_leaders. */
#include "latches.h"
#include "leading.h"

#include <string.h>

#define PATH "/await/election"

static gpointer
cancel_later (gpointer cancellable)
{
  wait_ms (50);
  g_cancellable_cancel (cancellable);
  return NULL;
}

static gpointer
close_later (gpointer selector)
{
  wait_ms (50);
  curator_leader_selector_close (selector);
  return NULL;
}

static gpointer
close_client_later (gpointer client)
{
  wait_ms (50);
  curator_client_close (client);
  return NULL;
}

static void
assert_awaits_in_vain (Leading *leading, gint64 timeout_ms, CuratorError code)
{
  g_autoptr (GError) error = NULL;
  assert_false (curator_leader_selector_await (leading->selector, timeout_ms, NULL, &error));
  assert_curator_error (&error, code);
  assert_null (curator_leader_selector_dup_lease (leading->selector));
}

static void
assert_awaits (Leading *leading, gint64 timeout_ms)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_leader_selector_await (leading->selector, timeout_ms, NULL, &error), &error);
}

/* A server has shown the other one. */
static gboolean
is_known_to_be_behind (gpointer leading)
{
  CuratorLeaderSelector *selector = ((Leading *) leading)->selector;
  g_autoptr (GError) error = NULL;
  assert_false (curator_leader_selector_await (selector, 0, NULL, &error));
  return g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT);
}

/* Every end of a wait that is in vain. */
TEST (test_in_vain)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) other = client_connect (fixture_server (fixture));
  g_autoptr (Leading) leader = leading_start_new (client, PATH, NULL, NULL);
  leading_assert_entered (leader, 1);
  g_autoptr (Leading) waiting = leading_new (client, PATH, NULL, NULL);
  assert_awaits_in_vain (waiting, LONG_MS, CURATOR_ERROR_NOT_STARTED);
  leading_start (waiting);
  assert_true (wait_until (is_known_to_be_behind, waiting, LONG_MS));
  assert_awaits_in_vain (waiting, 50, CURATOR_ERROR_TIMED_OUT);
  GThread *thread = g_thread_new ("cancel", cancel_later, cancellable);
  assert_false (
      curator_leader_selector_await (waiting->selector, CURATOR_WAIT_FOREVER, cancellable, &error));
  assert_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_thread_join (thread);
  thread = g_thread_new ("close", close_later, waiting->selector);
  assert_awaits_in_vain (waiting, CURATOR_WAIT_FOREVER, CURATOR_ERROR_CLOSED);
  g_thread_join (thread);
  assert_awaits_in_vain (waiting, 0, CURATOR_ERROR_CLOSED);
  g_autoptr (Leading) last = leading_start_new (other, PATH, NULL, NULL);
  thread = g_thread_new ("close-client", close_client_later, other);
  assert_awaits_in_vain (last, CURATOR_WAIT_FOREVER, CURATOR_ERROR_CLOSED);
  g_thread_join (thread);
}

/* The lease is the function's own, for each term anew. */
TEST (test_terms)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (Leading) leading = leading_start_new (client, PATH, NULL, NULL);
  guint64 token = 0;

  for (int term = 1; term <= 3; term++)
    {
      assert_awaits (leading, LONG_MS);
      assert_awaits (leading, 0);
      leading_assert_entered (leading, term);
      g_autoptr (CuratorLease) lease = curator_leader_selector_dup_lease (leading->selector);
      assert_ptr_equal (lease, leading_lease (leading));
      assert_true (curator_lease_get_fencing_token (lease) > token);
      token = curator_lease_get_fencing_token (lease);
      leading_tell_return (leading);
      assert_soon (curator_leader_selector_requeue (leading->selector));
      assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_RELEASED);
    }
}

/* Whoever waits is woken by the grant. */
TEST (test_woken)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) other = client_connect (fixture_server (fixture));
  Leading *first = leading_start_new (client, PATH, NULL, NULL);
  assert_awaits (first, LONG_MS);
  g_autoptr (Leading) second = leading_start_new (other, PATH, NULL, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  leading_tell_return (first);
  assert_awaits (second, CURATOR_WAIT_FOREVER);
  assert_true (curator_leader_selector_has_leadership (second->selector));
  leading_free (first);
}

/* Why it could not queue is the error. */
TEST (test_cause)
{
  static const char path[] = "/await/forbidden";
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));

  assert_int_equal (raw_zk_make_path (fixture->raw, path), ZOK);
  assert_int_equal (raw_zk_set_world_acl (fixture->raw, path, ZOO_PERM_READ | ZOO_PERM_ADMIN), ZOK);
  g_autoptr (Leading) leading = leading_new (client, path, NULL, NULL);
  curator_leader_selector_set_auto_requeue (leading->selector, TRUE);
  leading_start (leading);
  do
    {
      g_clear_error (&error);
      assert_false (curator_leader_selector_await (leading->selector, 50, NULL, &error));
    }
  while (!g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH));
  assert_non_null (strstr (error->message, "the leader selector could not queue"));
  assert_int_equal (raw_zk_set_world_acl (fixture->raw, path, ZOO_PERM_ALL), ZOK);
  assert_awaits (leading, LONG_MS);
}

static void
note_change (CuratorLeaderLatch *latch, gboolean is_leader, gpointer changes)
{
  /* On one thread; read after it has ended. */
  g_string_append_c (changes, is_leader ? '+' : '-');
}

/* Who comes while the latch leads hears that, once, and nobody else hears it again. */
TEST (test_late_listeners)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (Latch) latch = latch_new (client, PATH, NULL);
  GString *heard[5];
  for (gsize i = 0; i < G_N_ELEMENTS (heard); i++)
    heard[i] = g_string_new (NULL);

  curator_leader_latch_add_listener (latch->latch, note_change, heard[0], NULL);
  latch_start (latch);
  latch_assert_leads (latch);
  curator_leader_latch_add_listener (latch->latch, note_change, heard[1], NULL);
  latch_assert_heard (latch, "+");
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  latch_assert_heard (latch, "+-");
  curator_leader_latch_add_listener (latch->latch, note_change, heard[2], NULL);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  latch_assert_heard (latch, "+-+");
  curator_leader_latch_add_listener (latch->latch, note_change, heard[3], NULL);
  curator_leader_latch_close (latch->latch, CURATOR_LEADER_LATCH_NOTIFY_LEADER);
  curator_leader_latch_add_listener (latch->latch, note_change, heard[4], NULL);
  latch_assert_heard (latch, "+-+-");
  curator_client_close (client); /* has joined the thread */
  static const char *const wanted[] = { "+-+-", "+-+-", "+-", "+-", "" };
  for (gsize i = 0; i < G_N_ELEMENTS (heard); i++)
    {
      assert_string_equal (heard[i]->str, wanted[i]);
      g_string_free (heard[i], TRUE);
    }
}

SUITE ("leader_await", fixture_start, fixture_stop)
