/* Ends of clients and threads at awkward moments: callbacks that close clients, and callbacks that
 * wait for the thread that closes, user functions that end their thread; and all of it at random.
 * Nothing hangs longer than the headers promise. */
#include "integration/taking.h"
#include "support/metronome.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The longest that close may take, as client.h says, and how soon it returns where no callback
 * blocks. */
#define CLOSE_MS       10000
#define QUICK_CLOSE_MS 6000
/* For a machine that is busy. */
#define SLACK_MS 4000

/* --- callbacks that close --------------------------------------------------------------------- */

typedef struct
{
  CuratorClient *other; /* which the callback closes */
  gint *n_inside;       /* atomic; callbacks that have begun */
  gint64 before_ms;
  gint took_ms; /* atomic; 0 until it is closed */
} Closer;

static void
close_other (Closer *closer)
{
  g_atomic_int_inc (closer->n_inside);
  (void) holds_within (g_atomic_int_get (closer->n_inside) >= 2, LONG_MS);
  closer->before_ms = wait_now_ms ();
  curator_client_close (closer->other);
  g_atomic_int_set (&closer->took_ms, (gint) (wait_now_ms () - closer->before_ms) + 1);
}

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer closer)
{
  if (state == CURATOR_CONNECTION_STATE_CONNECTED)
    close_other (closer);
}

static void
on_granted (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer closer)
{
  g_clear_pointer (&lease, curator_lease_unref);
  close_other (closer);
}

/* Each by a state listener, or by the callback of an acquire. */
static void
close_each_other (Fixture *fixture, gboolean by_first_state, gboolean by_second_state)
{
  const gboolean by_state[2] = { by_first_state, by_second_state };
  CuratorClient *clients[2];
  CuratorLock *locks[2];
  Closer closers[2] = { 0 };
  gint n_inside = 0;

  for (int i = 0; i < 2; i++)
    {
      clients[i] = client_new (fixture_server (fixture));
      locks[i] = mutex_new (clients[i], i == 0 ? "/ends/first" : "/ends/second");
    }
  for (int i = 0; i < 2; i++)
    {
      closers[i] = (Closer){ .other = clients[1 - i], .n_inside = &n_inside };
      if (by_state[i])
        curator_client_add_state_listener (clients[i], on_state, &closers[i], NULL);
      client_start (clients[i]);
      if (!by_state[i])
        curator_lock_acquire_then (locks[i], CURATOR_WAIT_FOREVER, NULL, on_granted, &closers[i]);
    }
  for (int i = 0; i < 2; i++)
    {
      assert_soon (g_atomic_int_get (&closers[i].took_ms) > 0);
      /* client.h: close. */
      assert_promised_ms (g_atomic_int_get (&closers[i].took_ms), QUICK_CLOSE_MS + SLACK_MS,
                          closers[i].before_ms);
    }
  for (int i = 0; i < 2; i++)
    curator_client_close (clients[i]);
  for (int i = 0; i < 2; i++)
    {
      curator_lock_unref (locks[i]);
      curator_client_unref (clients[i]);
    }
}

TEST (test_callbacks_close_each_other)
{
  close_each_other (fixture, TRUE, TRUE);
  close_each_other (fixture, TRUE, FALSE);
  close_each_other (fixture, FALSE, FALSE);
}

/* --- a callback that waits for the thread that closes ----------------------------------------- */

typedef struct
{
  pthread_mutex_t mutex;
  gint inside; /* atomic */
  gint left;   /* atomic */
} Wanting;

static void
want_mutex (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  Wanting *wanting = data;

  g_atomic_int_set (&wanting->inside, 1);
  pthread_mutex_lock (&wanting->mutex);
  pthread_mutex_unlock (&wanting->mutex);
  g_atomic_int_set (&wanting->left, 1);
}

TEST (test_callback_wants_a_mutex_of_the_closer)
{
  Wanting wanting = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  CuratorClient *client = client_new (fixture_server (fixture));

  pthread_mutex_lock (&wanting.mutex);
  curator_client_add_state_listener (client, want_mutex, &wanting, NULL);
  client_start (client);
  assert_counter (&wanting.inside, 1, LONG_MS);
  const gint64 before_ms = wait_now_ms ();
  curator_client_close (client);
  /* client.h: close, while a callback waits for this thread. */
  assert_promised_ms (wait_now_ms () - before_ms, CLOSE_MS + SLACK_MS, before_ms);
  assert_int_equal (g_atomic_int_get (&wanting.left), 0);
  pthread_mutex_unlock (&wanting.mutex);
  assert_counter (&wanting.left, 1, LONG_MS);
  curator_client_close (client);
  curator_client_unref (client);
}

/* --- threads that end in the user's functions ------------------------------------------------- */

typedef struct
{
  gboolean cancels; /* itself, instead of calling pthread_exit() */
  gint entered;     /* atomic */
  gint destroyed;   /* atomic */
} Quitter;

static void
note_destroyed (gpointer quitter)
{
  g_atomic_int_inc (&((Quitter *) quitter)->destroyed);
}

static void
quit (Quitter *quitter)
{
  g_atomic_int_inc (&quitter->entered);
  if (quitter->cancels)
    {
      pthread_cancel (pthread_self ());
      pthread_testcancel ();
    }
  else
    {
      pthread_exit (NULL);
    }
}

static void
lead_and_quit (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
               gpointer quitter)
{
  quit (quitter);
}

static void
quit_as_leader (Fixture *fixture, const char *path, gboolean cancels)
{
  Quitter quitter = { .cancels = cancels };
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  CuratorLeaderSelector *selector =
      curator_leader_selector_new (client, path, lead_and_quit, &quitter, note_destroyed, &error);

  assert_ok (selector != NULL, &error);
  curator_leader_selector_set_auto_requeue (selector, TRUE);
  assert_ok (curator_leader_selector_start (selector, &error), &error);
  assert_counter (&quitter.entered, 3, LONG_MS);
  curator_leader_selector_close (selector);
  curator_leader_selector_unref (selector);
  assert_counter (&quitter.destroyed, 1, LONG_MS);
  assert_no_residue (fixture, path, LONG_MS);
}

TEST (test_leader_ends_its_thread)
{
  quit_as_leader (fixture, "/ends/exit", FALSE);
  quit_as_leader (fixture, "/ends/cancel", TRUE);
}

static void
quit_on_state (CuratorClient *client, CuratorConnectionState state, gpointer quitter)
{
  quit (quitter);
}

static void
quit_on_grant (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer quitter)
{
  g_clear_pointer (&lease, curator_lease_unref);
  quit (quitter);
}

TEST (test_callback_ends_its_thread)
{
  Quitter states = { 0 };
  Quitter grants = { 0 };
  CuratorClient *client = client_new (fixture_server (fixture));

  curator_client_add_state_listener (client, quit_on_state, &states, note_destroyed);
  curator_client_add_state_listener (client, quit_on_state, &states, note_destroyed);
  client_start (client);
  CuratorLock *lock = mutex_new (client, "/ends/callback");
  for (int i = 0; i < 3; i++)
    curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, quit_on_grant, &grants);
  assert_counter (&grants.entered, 3, LONG_MS);
  assert_counter (&states.entered, 2, LONG_MS);
  const gint64 before_ms = wait_now_ms ();
  curator_client_close (client);
  /* client.h: close. */
  assert_promised_ms (wait_now_ms () - before_ms, QUICK_CLOSE_MS + SLACK_MS, before_ms);
  curator_lock_unref (lock);
  curator_client_unref (client);
  assert_counter (&states.destroyed, 2, LONG_MS);
}

/* --- a thread that is cancelled --------------------------------------------------------------- */

typedef struct
{
  CuratorLock *lock;
  gboolean acquired;
  gboolean released;
} Victim;

static void *
acquire_and_release (void *data)
{
  Victim *victim = data;

  victim->acquired = curator_lock_acquire (victim->lock, CURATOR_WAIT_FOREVER, NULL, NULL);
  victim->released = curator_lock_release (victim->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  pthread_testcancel ();
  return NULL;
}

/* No function of the library is a cancellation point. */
TEST (test_cancelled_thread_returns_first)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/ends/victim");
  g_autoptr (Taking) holder = taking_of_lock (lock);
  Victim victim = { .lock = lock };
  pthread_t thread;
  void *result;

  assert_int_equal (pthread_create (&thread, NULL, acquire_and_release, &victim), 0);
  assert_children (fixture, "/ends/victim", 2, LONG_MS);
  assert_int_equal (pthread_cancel (thread), 0);
  taking_give_back (holder);
  assert_int_equal (pthread_join (thread, &result), 0);
  assert_ptr_equal (result, PTHREAD_CANCELED);
  assert_true (victim.acquired);
  assert_true (victim.released);
  assert_no_residue (fixture, "/ends/victim", LONG_MS);
}

/* Of a thread that is to be cancelled, and ends at the first cancellation point. */
typedef struct
{
  CuratorClient *client;
  const char *last_call;
  guint n_failed;
  gboolean ended;
} CancelledLife;

/* A call of the library that succeeds. */
#define CALL(life, call) ((life)->last_call = #call, (life)->n_failed += (call) ? 0 : 1)
/* One that returns nothing. */
#define DO(life, call)                                                                             \
  do                                                                                               \
    {                                                                                              \
      (life)->last_call = #call;                                                                   \
      call;                                                                                        \
    }                                                                                              \
  while (0)

static void
live_with_locks (CancelledLife *life)
{
  CuratorClient *client = life->client;
  CuratorLock *lock = curator_mutex_new (client, "/ends/life/mutex", NULL);
  CuratorRwLock *rw_lock = curator_rw_lock_new (client, "/ends/life/rw", NULL, 0, NULL);
  CuratorLock *const members[] = { lock, curator_rw_lock_get_write_lock (rw_lock) };
  CuratorLock *multi_lock = curator_multi_lock_new (members, G_N_ELEMENTS (members));
  CuratorLease *lease;

  CALL (life, curator_lock_acquire (lock, LONG_MS, NULL, NULL));
  CALL (life, curator_lock_acquire (lock, LONG_MS, NULL, NULL));
  CALL (life, curator_lock_release (lock, LONG_MS, NULL, NULL));
  CALL (life, curator_lock_release (lock, LONG_MS, NULL, NULL));
  CALL (life, curator_lock_acquire (multi_lock, LONG_MS, NULL, NULL));
  CALL (life, !curator_lock_acquire (lock, 0, NULL, NULL)
                  || curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
  CALL (life, curator_lock_release (multi_lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
  CALL (life, (lease = curator_lock_acquire_lease (lock, LONG_MS, NULL, NULL)) != NULL);
  CALL (life, curator_lease_get_fd (lease) >= 0);
  CALL (life, curator_lease_get_cancellable (lease) != NULL);
  CALL (life, !curator_lock_acquire (lock, 20, NULL, NULL)); /* waits */
  CALL (life, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  DO (life, curator_lease_unref (lease));
  DO (life, curator_lock_unref (multi_lock));
  DO (life, curator_rw_lock_unref (rw_lock));
  DO (life, curator_lock_unref (lock));
}

static void
live_with_semaphores (CancelledLife *life)
{
  CuratorClient *client = life->client;
  CuratorSharedCount *count = curator_shared_count_new (client, "/ends/life/count", 2, NULL);
  CuratorSemaphore *semaphore =
      curator_semaphore_new_with_shared_count (client, "/ends/life/semaphore", count, NULL);
  GPtrArray *leases;

  CALL (life, curator_shared_count_start (count, LONG_MS, NULL, NULL));
  CALL (life, curator_shared_count_set (count, 3, LONG_MS, NULL, NULL));
  CALL (life, (leases = curator_semaphore_acquire_n (semaphore, 2, LONG_MS, NULL, NULL)) != NULL);
  CALL (life, curator_semaphore_return_all (semaphore, leases, LONG_MS, NULL, NULL));
  DO (life, g_ptr_array_unref (leases));
  DO (life, curator_shared_count_close (count));
  DO (life, curator_semaphore_unref (semaphore));
  DO (life, curator_shared_count_unref (count));
}

static void
lead_briefly (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
              gpointer user_data)
{
}

static void
live_with_elections (CancelledLife *life)
{
  CuratorClient *client = life->client;
  CuratorLeaderLatch *latch = curator_leader_latch_new (client, "/ends/life/latch", "id", NULL);
  CuratorLeaderSelector *selector =
      curator_leader_selector_new (client, "/ends/life/selector", lead_briefly, NULL, NULL, NULL);
  GPtrArray *participants;

  CALL (life, curator_leader_latch_start (latch, NULL));
  CALL (life, curator_leader_latch_await (latch, LONG_MS, NULL, NULL));
  CALL (life, (participants = curator_leader_latch_get_participants (latch, LONG_MS, NULL, NULL))
                  != NULL);
  DO (life, g_ptr_array_unref (participants));
  DO (life, curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_NOTIFY_LEADER));
  DO (life, curator_leader_latch_unref (latch));
  CALL (life, curator_leader_selector_start (selector, NULL));
  DO (life, curator_leader_selector_interrupt_leadership (selector));
  DO (life, curator_leader_selector_close (selector));
  DO (life, curator_leader_selector_unref (selector));
}

static void *
live_while_cancelled (void *data)
{
  CancelledLife *life = data;

  pthread_cancel (pthread_self ());
  CALL (life, curator_client_start (life->client, NULL));
  CALL (life, curator_client_block_until_connected (life->client, LONG_MS, NULL, NULL));
  live_with_locks (life);
  live_with_semaphores (life);
  live_with_elections (life);
  DO (life, curator_client_close (life->client));
  DO (life, curator_client_unref (life->client));
  life->ended = TRUE;
  pthread_testcancel ();
  return NULL;
}

TEST (test_whole_life_of_a_cancelled_thread)
{
  CancelledLife life = { .client = client_new (fixture_server (fixture)) };
  pthread_t thread;
  void *result;

  assert_int_equal (pthread_create (&thread, NULL, live_while_cancelled, &life), 0);
  assert_int_equal (pthread_join (thread, &result), 0);
  if (!life.ended || life.n_failed > 0)
    fail_msg ("%u calls failed; the last call: %s", life.n_failed, life.last_call);
  assert_ptr_equal (result, PTHREAD_CANCELED);
}

/* --- all of it at random ---------------------------------------------------------------------- */

#define N_CLIENTS 3
#define N_LOCKS   8
#define N_LEADERS 3
#define N_LATCHES 2
#define N_ACTORS  6
/* A call that waits is given so long. */
#define LONGEST_WAIT_MS 200
/* After which a round hangs: twice the longest close. */
#define HANG_MS 60000

typedef struct
{
  guint seed;
  pthread_mutex_t mutex; /* guards the pointers; an object is used with a reference of one's own */
  CuratorClient *clients[N_CLIENTS];
  CuratorLock *locks[N_LOCKS];
  CuratorLeaderSelector *leaders[N_LEADERS];
  CuratorLeaderLatch *latches[N_LATCHES];
  CuratorLease *lease; /* of the newest grant */
  GCancellable *cancellable;
  gint n_owed;     /* atomic; callbacks and destroy functions that have to come */
  gint longest_ms; /* atomic; of all calls */
  gint salt;       /* atomic */
  gint n_actions;  /* atomic */
} Round;

typedef struct
{
  Round *round;
  GRand *rand;
  pthread_t thread;
} Actor;

static void act (Round *round, GRand *rand, gboolean on_callback);

/* A reference of the caller's, or NULL. */
static gpointer
take (Round *round, gpointer *slot, gpointer (*ref) (gpointer object))
{
  pthread_mutex_lock (&round->mutex);
  gpointer object = *slot != NULL ? ref (*slot) : NULL;
  pthread_mutex_unlock (&round->mutex);
  return object;
}

static gpointer
steal (Round *round, gpointer *slot)
{
  pthread_mutex_lock (&round->mutex);
  gpointer object = g_steal_pointer (slot);
  pthread_mutex_unlock (&round->mutex);
  return object;
}

#define TAKE(round, field, Type, ref)                                                              \
  ((Type *) take ((round), (gpointer *) &(round)->field,                                           \
                  (gpointer (*) (gpointer)) (GCallback) (ref)))
#define STEAL(round, field, Type) ((Type *) steal ((round), (gpointer *) &(round)->field))

static void
note_call (Round *round, gint64 before_ms)
{
  const gint took_ms = (gint) (wait_now_ms () - before_ms);
  gint longest_ms = g_atomic_int_get (&round->longest_ms);

  while (took_ms > longest_ms
         && !g_atomic_int_compare_and_exchange (&round->longest_ms, longest_ms, took_ms))
    longest_ms = g_atomic_int_get (&round->longest_ms);
}

/* In a function of the user's, on whatever thread it runs. */
static void
act_in_callback (Round *round, gboolean may_exit)
{
  GRand *rand = g_rand_new_with_seed (round->seed + (guint) g_atomic_int_add (&round->salt, 1));
  const gboolean acts = g_rand_int_range (rand, 0, 3) == 0;
  const gboolean exits = may_exit && g_rand_int_range (rand, 0, 16) == 0;

  if (acts)
    act (round, rand, TRUE);
  g_rand_free (rand);
  g_atomic_int_add (&round->n_owed, -1);
  if (exits)
    pthread_exit (NULL);
}

static void
on_destroy (gpointer round)
{
  act_in_callback (round, FALSE);
}

static void
keep_lease (Round *round, CuratorLease *lease)
{
  pthread_mutex_lock (&round->mutex);
  CuratorLease *before = round->lease;
  round->lease = lease;
  pthread_mutex_unlock (&round->mutex);
  g_clear_pointer (&before, curator_lease_unref);
}

static void
note_grant (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Round *round = data;
  if (lease != NULL)
    keep_lease (round, lease);
  act_in_callback (round, TRUE);
}

/* The listeners are called any number of times; their destroy function once. */
static void
note_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  Round *round = data;
  g_atomic_int_inc (&round->n_owed);
  act_in_callback (round, TRUE);
}

static void
on_lease_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Round *round = data;
  g_atomic_int_inc (&round->n_owed);
  act_in_callback (round, TRUE);
}

static void
on_leadership (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
               gpointer data)
{
  Round *round = data;
  g_atomic_int_inc (&round->n_owed);
  act_in_callback (round, TRUE);
}

static void
on_latch (CuratorLeaderLatch *latch, gboolean is_leader, gpointer data)
{
  Round *round = data;
  g_atomic_int_inc (&round->n_owed);
  act_in_callback (round, TRUE);
}

static void
hold_lock (Round *round, GRand *rand)
{
  CuratorLock *lock =
      TAKE (round, locks[g_rand_int_range (rand, 0, N_LOCKS)], CuratorLock, curator_lock_ref);
  g_autoptr (GCancellable) cancellable = TAKE (round, cancellable, GCancellable, g_object_ref);
  const int depth = g_rand_int_range (rand, 1, 4);
  int entered = 0;

  if (lock == NULL)
    return;
  while (entered < depth
         && curator_lock_acquire (lock, g_rand_int_range (rand, 0, LONGEST_WAIT_MS), cancellable,
                                  NULL))
    entered++;
  for (; entered > 0; entered--)
    {
      if (g_rand_int_range (rand, 0, 8) == 0)
        break; /* it stays held until the end of this thread, the lock or the client */
      curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
    }
  curator_lock_unref (lock);
}

static void
acquire_later (Round *round, GRand *rand)
{
  CuratorLock *lock =
      TAKE (round, locks[g_rand_int_range (rand, 0, N_LOCKS)], CuratorLock, curator_lock_ref);
  g_autoptr (GCancellable) cancellable = TAKE (round, cancellable, GCancellable, g_object_ref);

  if (lock != NULL)
    {
      g_atomic_int_inc (&round->n_owed);
      curator_lock_acquire_then (lock, g_rand_int_range (rand, 0, 1000), cancellable, note_grant,
                                 round);
      curator_lock_unref (lock);
    }
}

static void
watch_lease (Round *round, GRand *rand)
{
  CuratorLease *lease = TAKE (round, lease, CuratorLease, curator_lease_ref);

  if (lease == NULL)
    return;
  if (g_rand_boolean (rand))
    curator_lease_add_listener (lease, on_lease_state, round, NULL);
  else
    curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
  curator_lease_unref (lease);
}

static void
close_client (Round *round, GRand *rand)
{
  CuratorClient *client = TAKE (round, clients[g_rand_int_range (rand, 0, N_CLIENTS)],
                                CuratorClient, curator_client_ref);

  if (client != NULL)
    {
      curator_client_close (client);
      curator_client_unref (client);
    }
}

static void
drop_something (Round *round, GRand *rand)
{
  CuratorLock *lock = STEAL (round, locks[g_rand_int_range (rand, 0, N_LOCKS)], CuratorLock);
  CuratorLease *lease = STEAL (round, lease, CuratorLease);

  g_clear_pointer (&lock, curator_lock_unref);
  g_clear_pointer (&lease, curator_lease_unref);
  if (g_rand_int_range (rand, 0, 4) == 0)
    {
      CuratorClient *client =
          STEAL (round, clients[g_rand_int_range (rand, 0, N_CLIENTS)], CuratorClient);
      g_clear_pointer (&client, curator_client_unref);
    }
}

static void
end_election (Round *round, GRand *rand)
{
  const int i = g_rand_int_range (rand, 0, N_LEADERS);
  const int k = g_rand_int_range (rand, 0, N_LATCHES);
  CuratorLeaderSelector *leader =
      TAKE (round, leaders[i], CuratorLeaderSelector, curator_leader_selector_ref);
  CuratorLeaderLatch *latch =
      TAKE (round, latches[k], CuratorLeaderLatch, curator_leader_latch_ref);

  if (leader != NULL && g_rand_boolean (rand))
    curator_leader_selector_close (leader);
  if (latch != NULL && g_rand_boolean (rand))
    {
      curator_leader_latch_close (latch, g_rand_boolean (rand)
                                             ? CURATOR_LEADER_LATCH_SILENT
                                             : CURATOR_LEADER_LATCH_NOTIFY_LEADER);
    }
  g_clear_pointer (&leader, curator_leader_selector_unref);
  g_clear_pointer (&latch, curator_leader_latch_unref);
  if (g_rand_boolean (rand))
    {
      leader = STEAL (round, leaders[i], CuratorLeaderSelector);
      latch = STEAL (round, latches[k], CuratorLeaderLatch);
      g_clear_pointer (&leader, curator_leader_selector_unref);
      g_clear_pointer (&latch, curator_leader_latch_unref);
    }
}

static void
await_latch (Round *round, GRand *rand)
{
  CuratorLeaderLatch *latch = TAKE (round, latches[g_rand_int_range (rand, 0, N_LATCHES)],
                                    CuratorLeaderLatch, curator_leader_latch_ref);

  if (latch != NULL)
    {
      G_GNUC_UNUSED const gboolean led = curator_leader_latch_await (
          latch, g_rand_int_range (rand, 0, LONGEST_WAIT_MS), NULL, NULL);
      curator_leader_latch_unref (latch);
    }
}

static void
cancel_all (Round *round)
{
  g_autoptr (GCancellable) next = g_cancellable_new ();

  pthread_mutex_lock (&round->mutex);
  GCancellable *cancellable = round->cancellable;
  round->cancellable = g_steal_pointer (&next);
  pthread_mutex_unlock (&round->mutex);
  g_cancellable_cancel (cancellable);
  g_object_unref (cancellable);
}

/* What waits is not called in a callback, as docs/threading.md asks for. */
static void
act (Round *round, GRand *rand, gboolean on_callback)
{
  const gint64 before_ms = wait_now_ms ();
  const int action = g_rand_int_range (rand, on_callback ? 40 : 0, 100);

  g_atomic_int_inc (&round->n_actions);
  if (action < 30)
    hold_lock (round, rand);
  else if (action < 40)
    await_latch (round, rand);
  else if (action < 65)
    acquire_later (round, rand);
  else if (action < 75)
    watch_lease (round, rand);
  else if (action < 85)
    cancel_all (round);
  else if (action < 90)
    end_election (round, rand);
  else if (action < 96)
    drop_something (round, rand);
  else
    close_client (round, rand);
  note_call (round, before_ms);
}

/* Ends by return, by pthread_exit(), or when it is cancelled. */
static void *
run_actor (void *data)
{
  Actor *actor = data;
  const int n = g_rand_int_range (actor->rand, 5, 60);

  for (int i = 0; i < n; i++)
    {
      pthread_testcancel ();
      act (actor->round, actor->rand, FALSE);
    }
  if (g_rand_boolean (actor->rand))
    pthread_exit (NULL);
  return NULL;
}

static void
make_elections (Round *round, int serial)
{
  g_autofree char *path = g_strdup_printf ("/ends/%d/election", serial);
  g_autofree char *latch_path = g_strdup_printf ("/ends/%d/latch", serial);

  for (int i = 0; i < N_LEADERS; i++)
    {
      round->n_owed++;
      round->leaders[i] = curator_leader_selector_new (round->clients[i % N_CLIENTS], path,
                                                       on_leadership, round, on_destroy, NULL);
      curator_leader_selector_set_auto_requeue (round->leaders[i], TRUE);
    }
  for (int i = 0; i < N_LATCHES; i++)
    {
      round->n_owed++;
      round->latches[i] =
          curator_leader_latch_new (round->clients[i % N_CLIENTS], latch_path, "", NULL);
      curator_leader_latch_add_listener (round->latches[i], on_latch, round, on_destroy);
    }
}

/* A callback may have ended them already. */
static void
start_elections (Round *round)
{
  for (int i = 0; i < N_LEADERS; i++)
    {
      g_autoptr (CuratorLeaderSelector) leader =
          TAKE (round, leaders[i], CuratorLeaderSelector, curator_leader_selector_ref);
      if (leader != NULL)
        G_GNUC_UNUSED const gboolean started = curator_leader_selector_start (leader, NULL);
    }
  for (int i = 0; i < N_LATCHES; i++)
    {
      g_autoptr (CuratorLeaderLatch) latch =
          TAKE (round, latches[i], CuratorLeaderLatch, curator_leader_latch_ref);
      if (latch != NULL)
        G_GNUC_UNUSED const gboolean started = curator_leader_latch_start (latch, NULL);
    }
}

/* Mutexes of each client, on two paths, and multi-locks across the clients. */
static void
make_locks (Round *round, int serial)
{
  for (int i = 0; i < N_LOCKS - 2; i++)
    {
      g_autofree char *path = g_strdup_printf ("/ends/%d/%d", serial, i / N_CLIENTS);
      round->locks[i] = mutex_new (round->clients[i % N_CLIENTS], path);
    }
  CuratorLock *const around[] = { round->locks[0], round->locks[4] };
  CuratorLock *const across[] = { round->locks[0], round->locks[1], round->locks[3] };
  round->locks[N_LOCKS - 2] = curator_multi_lock_new (around, G_N_ELEMENTS (around));
  round->locks[N_LOCKS - 1] = curator_multi_lock_new (across, G_N_ELEMENTS (across));
}

static void
round_start (Round *round, Fixture *fixture, int serial)
{
  pthread_mutex_init (&round->mutex, NULL);
  round->cancellable = g_cancellable_new ();
  for (int i = 0; i < N_CLIENTS; i++)
    {
      round->n_owed++;
      round->clients[i] = client_new (fixture_server (fixture));
      curator_client_add_state_listener (round->clients[i], note_state, round, on_destroy);
    }
  make_locks (round, serial);
  make_elections (round, serial);
  for (int i = 0; i < N_CLIENTS; i++)
    {
      g_autoptr (CuratorClient) client =
          TAKE (round, clients[i], CuratorClient, curator_client_ref);
      if (client != NULL)
        G_GNUC_UNUSED const gboolean started = curator_client_start (client, NULL);
    }
  start_elections (round);
}

static void
drop_all (Round *round)
{
  for (int i = 0; i < N_LOCKS; i++)
    {
      CuratorLock *lock = STEAL (round, locks[i], CuratorLock);
      g_clear_pointer (&lock, curator_lock_unref);
    }
  for (int i = 0; i < N_LEADERS; i++)
    {
      CuratorLeaderSelector *leader = STEAL (round, leaders[i], CuratorLeaderSelector);
      g_clear_pointer (&leader, curator_leader_selector_unref);
    }
  for (int i = 0; i < N_LATCHES; i++)
    {
      CuratorLeaderLatch *latch = STEAL (round, latches[i], CuratorLeaderLatch);
      g_clear_pointer (&latch, curator_leader_latch_unref);
    }
  CuratorLease *lease = STEAL (round, lease, CuratorLease);
  g_clear_pointer (&lease, curator_lease_unref);
  for (int i = 0; i < N_CLIENTS; i++)
    {
      CuratorClient *client = STEAL (round, clients[i], CuratorClient);
      if (client != NULL)
        {
          curator_client_close (client);
          curator_client_unref (client);
        }
    }
}

static gint seed_now; /* atomic; of the round that runs */

static void
on_hang (int signal_number)
{
  char text[64];
  const int length = snprintf (text, sizeof text, "CURATOR_TEST_SEED=%d hangs\n", seed_now);
  G_GNUC_UNUSED const ssize_t written = write (STDERR_FILENO, text, (size_t) length);
  abort ();
}

static int
play_round (Fixture *fixture, guint seed)
{
  static int serial;
  Round round = { .seed = seed };
  Actor actors[N_ACTORS];
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  serial++;
  g_atomic_int_set (&seed_now, (gint) seed);
  alarm (HANG_MS / 1000);
  const gint64 began_ms = wait_now_ms ();
  round_start (&round, fixture, serial);
  for (int i = 0; i < N_ACTORS; i++)
    {
      actors[i] = (Actor){ .round = &round, .rand = g_rand_new_with_seed (g_rand_int (rand)) };
      assert_int_equal (pthread_create (&actors[i].thread, NULL, run_actor, &actors[i]), 0);
    }
  wait_ms (g_rand_int_range (rand, 0, 300));
  pthread_cancel (actors[0].thread);
  for (int i = 0; i < N_ACTORS; i++)
    {
      assert_int_equal (pthread_join (actors[i].thread, NULL), 0);
      g_rand_free (actors[i].rand);
    }
  /* A callback may have put a lease back. */
  assert_soon ((drop_all (&round), g_atomic_int_get (&round.n_owed) == 0));
  /* client.h: close, the longest call of all. */
  assert_promised_ms (g_atomic_int_get (&round.longest_ms), CLOSE_MS + SLACK_MS, began_ms);
  alarm (0);
  g_object_unref (round.cancellable);
  pthread_mutex_destroy (&round.mutex);
  return round.longest_ms;
}

static guint
number_from (const char *variable, guint otherwise)
{
  const char *text = g_getenv (variable);
  return text != NULL ? (guint) g_ascii_strtoull (text, NULL, 10) : otherwise;
}

TEST (test_random_ends)
{
  const guint seed = number_from ("CURATOR_TEST_SEED", g_random_int () & G_MAXINT32);
  const guint n_rounds = number_from ("CURATOR_TEST_RUNS", 15);
  int longest_ms = 0;

  signal (SIGALRM, on_hang);
  print_message ("CURATOR_TEST_SEED=%u CURATOR_TEST_RUNS=%u\n", seed, n_rounds);
  for (guint i = 0; i < n_rounds; i++)
    {
      const int took_ms = play_round (fixture, (seed + i) & G_MAXINT32);
      longest_ms = MAX (longest_ms, took_ms);
    }
  print_message ("the longest call took %d ms\n", longest_ms);
}

PROMPT_SUITE ("ends", fixture_start, fixture_stop)
