/* A hold with a maximum ends although its holder hangs: LOST first, and then the next grant.
 * CURATOR_TEST_RUNS times, once by default. */
#include "integration/fixture.h"
#include "support/metronome.h"

#include <stdlib.h>

#define N_LOCKS     24
#define MAX_HOLD_MS 2000
#define GUARD_MS    1000 /* of a long session, see curator_lock_set_max_hold() */

static gint64 longest_ms; /* from a maximum to the next grant */

/* One lock, whose holder does nothing once it has it. */
typedef struct
{
  CuratorLock *mine;
  CuratorLock *next;
  CuratorLease *lease; /* of the holder */
  gint64 max_ms;
  gint64 held_from_ms; /* after the grant */
  gint64 ends_ms;      /* not before */
  gint64 lost_ms;      /* atomic, like the next: when it was told */
  gint64 granted_ms;
} Hang;

static void
on_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Hang *hang = data;
  if (state == CURATOR_LEASE_STATE_LOST)
    __atomic_store_n (&hang->lost_ms, wait_now_ms (), __ATOMIC_SEQ_CST);
}

static void
on_next (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Hang *hang = data;
  if (lease != NULL) {
    __atomic_store_n (&hang->granted_ms, wait_now_ms (), __ATOMIC_SEQ_CST);
    curator_lease_unref (lease);
  }
}

static void
hang_begin (Hang *hang, CuratorClient *holder, CuratorClient *waiter, guint i)
{
  g_autofree char *path = g_strdup_printf ("/max-hold/%u", i);

  hang->mine = mutex_new (holder, path);
  hang->next = mutex_new (waiter, path);
  hang->max_ms = i % 2 == 0 ? MAX_HOLD_MS : MAX_HOLD_MS - 50 * (gint64) i;
  curator_lock_set_max_hold (hang->mine, hang->max_ms);
  const gint64 called_ms = wait_now_ms ();
  hang->lease = lease_of (hang->mine);
  hang->held_from_ms = wait_now_ms ();
  hang->ends_ms = called_ms + hang->max_ms;
  curator_lease_add_listener (hang->lease, on_state, hang, NULL);
  curator_lock_acquire_then (hang->next, LONG_MS, NULL, on_next, hang);
}

/* Every third is extended once, one after the other. */
static void
extend_some (Hang *hangs)
{
  for (guint i = 0; i < N_LOCKS; i += 3) {
    const gint64 now = wait_now_ms ();
    if (curator_lease_extend (hangs[i].lease, MAX_HOLD_MS + 500, NULL))
      hangs[i].ends_ms = MAX (hangs[i].ends_ms, now + MAX_HOLD_MS + 500);
    wait_ms (100);
  }
}

static void
hang_finish (Hang *hang)
{
  assert_soon (__atomic_load_n (&hang->granted_ms, __ATOMIC_SEQ_CST) != 0
               && __atomic_load_n (&hang->lost_ms, __ATOMIC_SEQ_CST) != 0);
  assert_int_equal (curator_lease_get_state (hang->lease), CURATOR_LEASE_STATE_LOST);
  assert_int_equal (curator_lease_get_remaining_ms (hang->lease), 0);
  assert_true (hang->lost_ms >= hang->ends_ms);
  /* The hold is LOST before the next grant. */
  assert_promised_ms (hang->lost_ms - hang->granted_ms, 0, hang->ends_ms);
  assert_true (hang->granted_ms >= hang->ends_ms + GUARD_MS);
  /* The guard, and some time for the delete. */
  assert_promised_ms (hang->granted_ms - hang->ends_ms, GUARD_MS + 1600, hang->ends_ms);
  curator_lease_unref (hang->lease);
  curator_lock_unref (hang->mine);
  curator_lock_unref (hang->next);
  longest_ms = MAX (longest_ms, hang->granted_ms - hang->ends_ms);
}

static void
hang_all (CuratorClient *holder, CuratorClient *waiter)
{
  Hang hangs[N_LOCKS] = { 0 };

  for (guint i = 0; i < N_LOCKS; i++) {
    hang_begin (&hangs[i], holder, waiter, i);
    assert_in_range (curator_lease_get_remaining_ms (hangs[i].lease), 0, hangs[i].max_ms);
  }
  extend_some (hangs);
  for (guint i = 0; i < N_LOCKS; i++)
    hang_finish (&hangs[i]);
}

PAIR_TEST (test_next_grant_comes_after_the_loss)
{
  g_autoptr (CuratorLock) calm = mutex_new (client, "/max-hold/calm");
  g_autoptr (CuratorLease) other = lease_of (calm);
  const char *runs = g_getenv ("CURATOR_TEST_RUNS");
  const guint n = runs != NULL ? (guint) atoi (runs) : 1;

  for (guint i = 0; i < n; i++)
    hang_all (client, peer);
  print_message ("%u holders hung, each for at most %d ms\n", n * N_LOCKS, (int) longest_ms);
  /* The session and its other hold have gone on. */
  assert_int_equal (curator_lease_get_state (other), CURATOR_LEASE_STATE_HELD);
  guint64 counters[CURATOR_COUNTER_LOST_MAX_HOLD + 1];
  curator_client_get_counters (client, counters, G_N_ELEMENTS (counters));
  assert_int_equal (counters[CURATOR_COUNTER_LOST_MAX_HOLD], n * N_LOCKS);
  assert_int_equal (counters[CURATOR_COUNTER_SESSIONS], 1);
}

CLIENT_TEST (test_an_extended_hold_stays)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) mutex = mutex_new (client, "/max-hold/extended");

  curator_lock_set_max_hold (mutex, 5000);
  g_autoptr (CuratorLease) lease = lease_of (mutex);
  for (int i = 0; i < 20; i++) {
    assert_ok (curator_lease_extend (lease, 5000, &error), &error);
    wait_ms (300);
  }
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_HELD);
  /* Less time than it has changes nothing, and nothing comes back to life. */
  assert_ok (curator_lease_extend (lease, 5000, &error), &error);
  static const gint64 nothings[] = { 0, -1, -20, G_MININT64 };
  for (gsize i = 0; i < G_N_ELEMENTS (nothings); i++)
    assert_ok (curator_lease_extend (lease, nothings[i], &error), &error);
  assert_true (curator_lease_get_remaining_ms (lease) > 100);
  assert_soon (curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST);
  assert_false (curator_lease_extend (lease, 500, &error));
  assert_curator_error (&error, CURATOR_ERROR_LOCK_LOST);
}

CLIENT_TEST (test_a_lifted_maximum)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) mutex = mutex_new (client, "/max-hold/lifted");

  curator_lock_set_max_hold (mutex, 5000);
  g_autoptr (CuratorLease) lease = lease_of (mutex);
  assert_ok (curator_lease_extend (lease, CURATOR_WAIT_FOREVER, &error), &error);
  wait_ms (5500);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_HELD);
  assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  assert_false (curator_lease_extend (lease, 500, &error));
  assert_curator_error (&error, CURATOR_ERROR_LOCK_LOST);
  /* Without a maximum there is nothing to extend. */
  curator_lock_set_max_hold (mutex, CURATOR_WAIT_FOREVER);
  g_autoptr (CuratorLease) endless = lease_of (mutex);
  assert_ok (curator_lease_extend (endless, 1, &error), &error);
  wait_ms (100);
  assert_int_equal (curator_lease_get_state (endless), CURATOR_LEASE_STATE_HELD);
}

PROMPT_SUITE ("max hold", fixture_start_calm, fixture_stop)
