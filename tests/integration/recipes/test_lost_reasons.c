/* Each reason for which a hold is LOST, made to happen to every kind of hold at once. */
#include "integration/fixture.h"

#include <string.h>

#define MAX_HOLD_MS 5000
#define CLOCK_MS    15000 /* a session in which a busy machine can begin all holds */

typedef struct
{
  CuratorLease *lease;
  gint told; /* atomic: the reason, as its listener found it when it heard of LOST */
} Hold;

/* What holds one of each kind. */
typedef struct
{
  CuratorClient *client;
  GPtrArray *locks;
  GPtrArray *holds; /* Hold; those of locks come first */
  CuratorSemaphore *semaphore;
  CuratorLeaderLatch *latch;
  CuratorLeaderSelector *selector;
} Holder;

static void
on_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  if (state == CURATOR_LEASE_STATE_LOST)
    g_atomic_int_set (&((Hold *) data)->told, curator_lease_get_lost_reason (lease));
}

static void
add_hold (Holder *holder, CuratorLease *lease)
{
  Hold *hold = g_new0 (Hold, 1);
  assert_non_null (lease);
  hold->lease = lease;
  assert_int_equal (curator_lease_get_lost_reason (lease), CURATOR_LOST_REASON_NONE);
  curator_lease_add_listener (lease, on_state, hold, NULL);
  g_ptr_array_add (holder->holds, hold);
}

static Holder
hold_locks (CuratorClient *client, gint64 max_hold_ms)
{
  static const KindNew kinds[] = { mutex_new,  fixed_node_new, semaphore_mutex_new,
                                   reader_new, writer_new,     multi_lock_new };
  Holder holder = { .client = client,
                    .locks = g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lock_unref),
                    .holds = g_ptr_array_new () };
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autofree char *path = g_strdup_printf ("/lost/%zu/node", i);
    CuratorLock *lock = kinds[i](holder.client, path);
    g_ptr_array_add (holder.locks, lock);
    curator_lock_set_max_hold (lock, max_hold_ms);
    add_hold (&holder, lease_of (lock));
  }
  return holder;
}

static void
lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
      gpointer data)
{
  /* Not by a descriptor: ThreadSanitizer does not see GLib's lock of it. */
  while (!g_cancellable_is_cancelled (cancellable))
    wait_ms (1);
}

static void
hold_the_rest (Holder *holder)
{
  g_autoptr (GError) error = NULL;

  holder->semaphore = curator_semaphore_new (holder->client, "/lost/semaphore", 3, &error);
  add_hold (holder, curator_semaphore_acquire (holder->semaphore, LONG_MS, NULL, &error));
  holder->latch = curator_leader_latch_new (holder->client, "/lost/latch", NULL, &error);
  assert_ok (curator_leader_latch_start (holder->latch, &error), &error);
  assert_ok (curator_leader_latch_await (holder->latch, LONG_MS, NULL, &error), &error);
  add_hold (holder, curator_leader_latch_dup_lease (holder->latch));
  holder->selector =
      curator_leader_selector_new (holder->client, "/lost/selector", lead, NULL, NULL, &error);
  curator_leader_selector_set_until_lost (holder->selector, TRUE);
  assert_ok (curator_leader_selector_start (holder->selector, &error), &error);
  assert_ok (curator_leader_selector_await (holder->selector, LONG_MS, NULL, &error), &error);
  add_hold (holder, curator_leader_selector_dup_lease (holder->selector));
}

static void
holder_clear (Holder *holder)
{
  curator_client_close (holder->client); /* no listener runs from now on */
  for (guint i = 0; i < holder->holds->len; i++) {
    Hold *hold = holder->holds->pdata[i];
    curator_lease_unref (hold->lease);
    g_free (hold);
  }
  g_ptr_array_unref (holder->holds);
  g_ptr_array_unref (holder->locks);
  g_clear_pointer (&holder->semaphore, curator_semaphore_unref);
  g_clear_pointer (&holder->latch, curator_leader_latch_unref);
  g_clear_pointer (&holder->selector, curator_leader_selector_unref);
  curator_client_unref (holder->client);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Holder, holder_clear)

/* The counter of holds that were lost for that reason. */
static guint64
n_lost (CuratorClient *client, CuratorLostReason reason)
{
  static const CuratorCounter counters[] = {
    [CURATOR_LOST_REASON_SESSION] = CURATOR_COUNTER_LOST_SESSION,
    [CURATOR_LOST_REASON_CLOCK] = CURATOR_COUNTER_LOST_CLOCK,
    [CURATOR_LOST_REASON_DELETED] = CURATOR_COUNTER_LOST_DELETED,
    [CURATOR_LOST_REASON_CLOSED] = CURATOR_COUNTER_LOST_CLOSED,
    [CURATOR_LOST_REASON_MAX_HOLD] = CURATOR_COUNTER_LOST_MAX_HOLD,
  };
  guint64 values[CURATOR_COUNTER_LOST_MAX_HOLD + 1];
  curator_client_get_counters (client, values, G_N_ELEMENTS (values));
  return values[counters[reason]];
}

/* Each is lost, for that reason, and its listener had found the same. All are counted once; a
 * multi-lock is two, of which one node is deleted. */
static void
assert_lost (Holder *holder, CuratorLostReason reason)
{
  for (guint i = 0; i < holder->holds->len; i++) {
    Hold *hold = holder->holds->pdata[i];
    assert_soon (curator_lease_get_state (hold->lease) == CURATOR_LEASE_STATE_LOST);
    if (curator_lease_get_lost_reason (hold->lease) != reason)
      fail_msg ("hold %u: %s", i,
                curator_lost_reason_to_string (curator_lease_get_lost_reason (hold->lease)));
    assert_soon (g_atomic_int_get (&hold->told) == (gint) reason);
  }
  const guint n = holder->holds->len + (reason == CURATOR_LOST_REASON_DELETED ? 0 : 1);
  for (CuratorLostReason any = CURATOR_LOST_REASON_SESSION; any <= CURATOR_LOST_REASON_MAX_HOLD;
       any++)
    assert_soon (n_lost (holder->client, any) == (any == reason ? n : 0));
}

static Holder
hold_all (CuratorClient *client)
{
  Holder holder = hold_locks (client, CURATOR_WAIT_FOREVER);
  hold_the_rest (&holder);
  return holder;
}

TEST (test_session)
{
  g_auto (Holder) holder = hold_all (client_connect (fixture_proxy (fixture)));
  fixture_expire (fixture);
  assert_lost (&holder, CURATOR_LOST_REASON_SESSION);
}

TEST (test_clock)
{
  g_auto (Holder) holder = hold_all (client_connect_for (fixture_proxy (fixture), CLOCK_MS));
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_lost (&holder, CURATOR_LOST_REASON_CLOCK);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
}

/* Who asks for the reason may be the first to see that the time is over. */
TEST (test_clock_seen_by_the_getter)
{
  g_auto (Holder) holder =
      hold_locks (client_connect_for (fixture_proxy (fixture), CLOCK_MS), CURATOR_WAIT_FOREVER);
  CuratorLease *lease = ((Hold *) holder.holds->pdata[0])->lease;
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_soon (curator_lease_get_lost_reason (lease) != CURATOR_LOST_REASON_NONE);
  assert_int_equal (curator_lease_get_lost_reason (lease), CURATOR_LOST_REASON_CLOCK);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
}

TEST (test_deleted)
{
  g_auto (Holder) holder = hold_all (client_connect (fixture_server (fixture)));
  for (guint i = 0; i < holder.holds->len; i++) {
    const Hold *hold = holder.holds->pdata[i];
    assert_int_equal (raw_zk_delete (fixture->raw, curator_lease_get_node_path (hold->lease)), ZOK);
  }
  assert_lost (&holder, CURATOR_LOST_REASON_DELETED);
}

TEST (test_closed)
{
  g_auto (Holder) holder = hold_all (client_connect (fixture_server (fixture)));
  curator_client_close (holder.client);
  assert_lost (&holder, CURATOR_LOST_REASON_CLOSED);
}

TEST (test_max_hold)
{
  g_auto (Holder) holder = hold_locks (client_connect (fixture_server (fixture)), MAX_HOLD_MS);
  assert_lost (&holder, CURATOR_LOST_REASON_MAX_HOLD);
}

/* A hold that was released is not lost later, and one that is lost has the same reason for ever. */
TEST (test_the_first_end_counts)
{
  g_autoptr (GError) error = NULL;
  g_auto (Holder) holder =
      hold_locks (client_connect (fixture_server (fixture)), CURATOR_WAIT_FOREVER);
  for (guint i = 0; i < holder.holds->len; i++) {
    CuratorLease *lease = ((Hold *) holder.holds->pdata[i])->lease;
    if (i % 2 == 0)
      assert_ok (curator_lease_release (lease, LONG_MS, NULL, &error), &error);
    else
      raw_zk_delete (fixture->raw, curator_lease_get_node_path (lease));
    assert_soon (curator_lease_get_state (lease) >= CURATOR_LEASE_STATE_LOST);
  }
  curator_client_close (holder.client);
  for (guint i = 0; i < holder.holds->len; i++)
    assert_int_equal (curator_lease_get_lost_reason (((Hold *) holder.holds->pdata[i])->lease),
                      i % 2 == 0 ? CURATOR_LOST_REASON_NONE : CURATOR_LOST_REASON_DELETED);
}

/* A multi-lock of two clients is lost for the reason of the member that was lost first. */
TEST (test_first_member)
{
  for (int last = 0; last < 2; last++) {
    g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
    g_autoptr (CuratorClient) closing = client_connect (fixture_server (fixture));
    g_autoptr (CuratorLock) stays = mutex_new (client, "/members/stays");
    g_autoptr (CuratorLock) closes = mutex_new (closing, "/members/closes");
    CuratorLock *const locks[] = { last == 0 ? stays : closes, last == 0 ? closes : stays };
    g_autoptr (CuratorLock) both = curator_multi_lock_new (locks, 2);
    g_autoptr (CuratorLease) lease = lease_of (both);
    curator_client_close (closing);
    assert_soon (curator_lease_get_lost_reason (lease) == CURATOR_LOST_REASON_CLOSED);
    g_auto (GStrv) nodes = raw_zk_children (fixture->raw, "/members/stays");
    g_autofree char *node = g_strdup_printf ("/members/stays/%s", nodes[0]);
    assert_int_equal (raw_zk_delete (fixture->raw, node), ZOK);
    assert_soon (n_lost (client, CURATOR_LOST_REASON_DELETED) == 1);
    assert_int_equal (curator_lease_get_lost_reason (lease), CURATOR_LOST_REASON_CLOSED);
  }
}

TEST (test_names)
{
  static const char *const names[] = {
    "NONE", "SESSION", "CLOCK", "DELETED", "CLOSED", "MAX_HOLD"
  };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    assert_string_equal (curator_lost_reason_to_string ((CuratorLostReason) i), names[i]);
  assert_string_equal (curator_lost_reason_to_string ((CuratorLostReason) 6), "UNKNOWN");
}

SUITE ("lost_reasons", fixture_start_calm, fixture_stop)
