/* Ten thousand waiters that give up leave no watch, no node and no memory. */
#include "integration/fixture.h"

#include <malloc.h>

/* Waits until the client's threads have freed their last objects. */
static gsize
heap_at_rest (void)
{
  gsize seen = 0;
  gsize before;
  do
    {
      before = seen;
      wait_ms (100);
      seen = mallinfo2 ().uordblks;
    }
  while (seen != before);
  return seen;
}

typedef struct
{
  Fixture *fixture;
  const char *path;
  CuratorClient *client;
  CuratorLock *lock;
  gboolean cancels;
  pthread_mutex_t mutex;
  int cancelled;
  int timed_out;
  int other;
} Outcomes;

static void
count_outcome (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Outcomes *outcomes = user_data;
  pthread_mutex_lock (&outcomes->mutex);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    outcomes->cancelled++;
  /* A deadline of some milliseconds may pass before the server has shown who is in front. */
  else if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
           || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER))
    outcomes->timed_out++;
  else
    outcomes->other++;
  pthread_mutex_unlock (&outcomes->mutex);
  g_clear_pointer (&lease, curator_lease_unref);
}

static int
n_outcomes (Outcomes *outcomes)
{
  pthread_mutex_lock (&outcomes->mutex);
  int n = outcomes->cancelled + outcomes->timed_out + outcomes->other;
  pthread_mutex_unlock (&outcomes->mutex);
  return n;
}

/* Batches of fifty; those that are not cancelled time out, at another moment each. */
static void
acquire_in_batches (Outcomes *outcomes)
{
  for (int i = 0; i < 20; i++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      int wanted = n_outcomes (outcomes) + 50;
      for (int j = 0; j < 50; j++)
        {
          curator_lock_acquire_then (outcomes->lock,
                                     outcomes->cancels ? CURATOR_WAIT_FOREVER : 1 + j % 8,
                                     cancellable, count_outcome, outcomes);
        }
      if (outcomes->cancels)
        {
          wait_ms (i % 5);
          g_cancellable_cancel (cancellable);
        }
      assert_soon (n_outcomes (outcomes) >= wanted);
    }
}

static void
acquire_five_thousand (Outcomes *outcomes)
{
  const gint64 session = curator_client_get_session_id (outcomes->client);
  for (int i = 0; i < 5; i++)
    {
      acquire_in_batches (outcomes);
      assert_children (outcomes->fixture, outcomes->path, 1, LONG_MS);
      assert_soon (four_letter_watches_of_session (fixture_server (outcomes->fixture), session)
                   == 0);
    }
}

/* Tables and pools reach their size with the first acquires, or a little later if many were in
 * flight, and then keep it. A leak of a single byte per acquire shows in every further five
 * thousand. (malloc's per-thread caches would blur that: ctest disables them.) */
static void
check_thousands (Outcomes *outcomes)
{
  gssize growth = G_MAXSSIZE;
  acquire_five_thousand (outcomes);
  for (int i = 0; growth >= 5000 && i < 4; i++)
    {
      const gsize before = heap_at_rest ();
      acquire_five_thousand (outcomes);
      growth = (gssize) heap_at_rest () - (gssize) before;
      print_message ("heap growth over 5,000 acquires: %zd bytes\n", growth);
    }
  assert_true (growth < 5000);
}

static Outcomes
give_up_ten_thousand_times (Fixture *fixture, const char *path, gboolean cancels)
{
  g_autoptr (CuratorClient) holding = client_connect_for (fixture_server (fixture), 10000);
  g_autoptr (CuratorClient) waiting = client_connect_for (fixture_server (fixture), 10000);
  g_autoptr (CuratorLock) held = mutex_new (holding, path);
  g_autoptr (CuratorLock) lock = mutex_new (waiting, path);
  g_autoptr (Contender) holder G_GNUC_UNUSED = contender_of (held);
  Outcomes outcomes = { fixture, path, waiting, lock, cancels, PTHREAD_MUTEX_INITIALIZER, 0, 0, 0 };
  check_thousands (&outcomes);
  return outcomes;
}

TEST (test_p13_timed_out_leave_nothing)
{
  Outcomes outcomes = give_up_ten_thousand_times (fixture, "/waiters/late", FALSE);
  assert_true (outcomes.timed_out >= 10000);
  assert_int_equal (outcomes.cancelled + outcomes.other, 0);
}

TEST (test_p13_cancelled_leave_nothing)
{
  Outcomes outcomes = give_up_ten_thousand_times (fixture, "/waiters/off", TRUE);
  assert_true (outcomes.cancelled >= 10000);
  assert_int_equal (outcomes.timed_out + outcomes.other, 0);
}

SUITE ("waiters", fixture_start_slow, fixture_stop)
