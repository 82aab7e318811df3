/* Many waiters: the nodes they watch, the waiters that a release wakes, and residue of those that
 * give up. */
#include "integration/fixture.h"

#include <malloc.h>
#include <string.h>

#define N_WAITERS 50
/* A session that waits sends something that often at most. */
#define PING_MS (LONG_SESSION_MS / 6)

typedef struct
{
  CuratorClient *clients[N_WAITERS + 1]; /* the first one holds */
  Contender *contenders[N_WAITERS + 1];
  FourLetterPackets before[N_WAITERS + 1];
  char **names;
} Queue;

static void
queue_up (Fixture *fixture, Queue *queue, const char *path)
{
  for (int i = 0; i <= N_WAITERS; i++)
    {
      queue->clients[i] = client_new (fixture_server (fixture));
      /* Long enough that pings do not blur the packet counts. */
      curator_client_set_session_timeout (queue->clients[i], LONG_SESSION_MS);
      client_start (queue->clients[i]);
      g_autoptr (CuratorLock) lock = mutex_new (queue->clients[i], path);
      queue->contenders[i] = contender_start (lock, 60000, NULL);
      assert_children (fixture, path, i + 1, LONG_MS);
    }
  assert_true (contender_wait (queue->contenders[0], LONG_MS));
  queue->names = raw_zk_children (fixture->raw, path);
}

static void
queue_dissolve (Queue *queue)
{
  for (int i = 0; i <= N_WAITERS; i++)
    {
      contender_free (queue->contenders[i]);
      curator_client_unref (queue->clients[i]);
    }
  g_strfreev (queue->names);
}

static int
index_of (char **names, const char *path)
{
  const char *name = strrchr (path, '/') + 1;
  for (int i = 0; names[i] != NULL; i++)
    {
      if (strcmp (names[i], name) == 0)
        return i;
    }
  return -1;
}

/* Position p watches only positions p - 1 and p - 2, and its own node once it holds. */
static void
check_watches (Fixture *fixture, Queue *queue, int position)
{
  gint64 session = curator_client_get_session_id (queue->clients[position]);
  g_auto (GStrv) paths = four_letter_paths_of_session (fixture_server (fixture), session);
  gboolean watches_next = FALSE;
  assert_non_null (paths);
  assert_true (g_strv_length (paths) <= 2);
  for (char **path = paths; *path != NULL; path++)
    {
      int target = index_of (queue->names, *path);
      gboolean own = target == position && position == 0;
      assert_true (own || (target < position && target >= position - 2));
      watches_next = watches_next || target == position - 1;
    }
  assert_true (watches_next || position == 0);
}

static FourLetterPackets
packets_of (Fixture *fixture, Queue *queue, int position)
{
  FourLetterPackets packets;
  gint64 session = curator_client_get_session_id (queue->clients[position]);
  assert_true (four_letter_packets (fixture_server (fixture), session, &packets));
  return packets;
}

TEST (test_release_wakes_only_the_next)
{
  const char *path = "/waiters/herd";
  Queue queue = { 0 };
  queue_up (fixture, &queue, path);
  assert_soon (four_letter_watches_below (fixture_server (fixture), path) >= N_WAITERS);
  const gint64 before_ms = wait_now_ms ();
  for (int i = 0; i <= N_WAITERS; i++)
    {
      check_watches (fixture, &queue, i);
      queue.before[i] = packets_of (fixture, &queue, i);
    }
  contender_tell_release (queue.contenders[0]);
  assert_true (contender_wait (queue.contenders[1], 2000));
  assert_true (queue.contenders[1]->acquired);
  wait_ms (100);
  /* A wake-up is an event and at least one request; other sessions may send at most a ping. The
   * second in line may have a watch on the deleted node, because it watches two. */
  for (int i = 3; i <= N_WAITERS; i++)
    {
      FourLetterPackets now = packets_of (fixture, &queue, i);
      const gint64 n_pings = 1 + (wait_now_ms () - before_ms) / PING_MS;
      assert_true (now.received - queue.before[i].received <= n_pings);
      assert_true (now.sent - queue.before[i].sent <= n_pings);
      assert_false (contender_has_returned (queue.contenders[i]));
    }
  for (int i = 1; i <= N_WAITERS; i++)
    {
      assert_true (contender_wait (queue.contenders[i], LONG_MS));
      assert_true (queue.contenders[i]->acquired);
      assert_true (queue.contenders[i]->token > queue.contenders[i - 1]->token);
      contender_tell_release (queue.contenders[i]);
    }
  queue_dissolve (&queue);
  assert_no_residue (fixture, path, 3000);
}

/* One client, one session: its waiters share watches, and each still gets its turn. */
TEST (test_waiters_of_one_client)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/waiters/one");
  Contender *contenders[N_WAITERS];
  for (int i = 0; i < N_WAITERS; i++)
    {
      contenders[i] = contender_start (lock, 60000, NULL);
      assert_children (fixture, "/waiters/one", i + 1, LONG_MS);
    }
  assert_true (four_letter_watches_below (fixture_server (fixture), "/waiters/one")
               <= 2 * N_WAITERS);
  for (int i = 0; i < N_WAITERS; i++)
    {
      contender_assert_granted (contenders[i]);
      contender_free (contenders[i]);
    }
  assert_no_residue (fixture, "/waiters/one", 3000);
}

static gboolean
is_at_rest (gpointer data)
{
  gsize *seen = data;
  const gsize before = *seen;
  wait_ms (100);
  *seen = mallinfo2 ().uordblks;
  return *seen == before;
}

/* Waits until the client's threads have freed their last objects. */
static gsize
heap_at_rest (void)
{
  gsize seen = 0;
  assert_true (wait_until (is_at_rest, &seen, LONG_MS));
  return seen;
}

/* Holds the lock while the others come and go. */
static CuratorClient *
connect_patient (Fixture *fixture)
{
  CuratorClient *client = client_connect_for (fixture_server (fixture), 10000);
  return client;
}

typedef struct
{
  Fixture *fixture;
  CuratorClient *client;
  const char *path;
} Leftover;

static gboolean
nothing_left (gpointer data)
{
  Leftover *left = data;
  gint64 session = curator_client_get_session_id (left->client);
  return raw_zk_count_children (left->fixture->raw, left->path) == 1
         && four_letter_watches_of_session (fixture_server (left->fixture), session) == 0;
}

static void
acquire_five_thousand (Leftover *left, void (*acquire) (gpointer data), gpointer data)
{
  for (int i = 0; i < 5; i++)
    {
      acquire (data); /* a thousand */
      assert_true (wait_until (nothing_left, left, LONG_MS));
    }
}

/* Tables and pools reach their size with the first acquires, or a little later if many were in
 * flight, and then keep it. A leak of a single byte per acquire shows in every further five
 * thousand. (malloc's per-thread caches would blur that: ctest disables them.) */
static void
check_thousands (Leftover *left, void (*acquire) (gpointer data), gpointer data)
{
  gssize growth = G_MAXSSIZE;
  acquire_five_thousand (left, acquire, data);
  for (int i = 0; growth >= 5000 && i < 4; i++)
    {
      const gsize before = heap_at_rest ();
      acquire_five_thousand (left, acquire, data);
      growth = (gssize) heap_at_rest () - (gssize) before;
      print_message ("heap growth over 5,000 acquires: %zd bytes\n", growth);
    }
  assert_true (growth < 5000);
}

typedef struct
{
  CuratorLock *lock;
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
    {
      outcomes->timed_out++;
    }
  else
    {
      outcomes->other++;
    }
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
acquire_in_batches (Outcomes *outcomes, gboolean cancel)
{
  for (int i = 0; i < 20; i++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      int wanted = n_outcomes (outcomes) + 50;
      for (int j = 0; j < 50; j++)
        {
          curator_lock_acquire_then (outcomes->lock, cancel ? CURATOR_WAIT_FOREVER : 1 + j % 8,
                                     cancellable, count_outcome, outcomes);
        }
      if (cancel)
        {
          wait_ms (i % 5);
          g_cancellable_cancel (cancellable);
        }
      assert_soon (n_outcomes (outcomes) >= wanted);
    }
}

static void
time_out_in_batches (gpointer outcomes)
{
  acquire_in_batches (outcomes, FALSE);
}

static void
cancel_in_batches (gpointer outcomes)
{
  acquire_in_batches (outcomes, TRUE);
}

static Outcomes
give_up_ten_thousand_times (Fixture *fixture, const char *path, void (*acquire) (gpointer data))
{
  g_autoptr (CuratorClient) holding = connect_patient (fixture);
  g_autoptr (CuratorClient) waiting = connect_patient (fixture);
  g_autoptr (CuratorLock) held = mutex_new (holding, path);
  g_autoptr (CuratorLock) lock = mutex_new (waiting, path);
  g_autoptr (Contender) holder = contender_start (held, LONG_MS, NULL);
  Outcomes outcomes = { .lock = lock, .mutex = PTHREAD_MUTEX_INITIALIZER };
  assert_true (contender_wait (holder, LONG_MS));
  Leftover left = { fixture, waiting, path };
  check_thousands (&left, acquire, &outcomes);
  return outcomes;
}

TEST (test_p13_timed_out_leave_nothing)
{
  Outcomes outcomes = give_up_ten_thousand_times (fixture, "/waiters/late", time_out_in_batches);
  assert_true (outcomes.timed_out >= 10000);
  assert_int_equal (outcomes.cancelled + outcomes.other, 0);
}

TEST (test_p13_cancelled_leave_nothing)
{
  Outcomes outcomes = give_up_ten_thousand_times (fixture, "/waiters/off", cancel_in_batches);
  assert_true (outcomes.cancelled >= 10000);
  assert_int_equal (outcomes.timed_out + outcomes.other, 0);
}

SUITE ("waiters", fixture_start_slow, fixture_stop)
