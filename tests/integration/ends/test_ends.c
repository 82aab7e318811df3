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

/* Each by a state listener, or by the callback of an acquire; maybe before we see it connected. */
static void
close_each_other (Fixture *fixture, gboolean by_first_state, gboolean by_second_state)
{
  const gboolean by_state[2] = { by_first_state, by_second_state };
  CuratorClient *clients[2];
  CuratorLock *locks[2];
  Closer closers[2] = { 0 };
  gint n_inside = 0;
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 2; i++) {
    clients[i] = client_new (fixture_server (fixture));
    locks[i] = mutex_new (clients[i], i == 0 ? "/ends/first" : "/ends/second");
  }
  for (int i = 0; i < 2; i++) {
    closers[i] = (Closer){ .other = clients[1 - i], .n_inside = &n_inside };
    if (by_state[i])
      curator_client_add_state_listener (clients[i], on_state, &closers[i], NULL);
    assert_ok (curator_client_start (clients[i], &error), &error);
    if (!by_state[i])
      curator_lock_acquire_then (locks[i], CURATOR_WAIT_FOREVER, NULL, on_granted, &closers[i]);
  }
  for (int i = 0; i < 2; i++) {
    assert_soon (g_atomic_int_get (&closers[i].took_ms) > 0);
    /* client.h: close. */
    assert_promised_ms (g_atomic_int_get (&closers[i].took_ms), QUICK_CLOSE_MS + SLACK_MS,
                        closers[i].before_ms);
  }
  for (int i = 0; i < 2; i++)
    curator_client_close (clients[i]);
  for (int i = 0; i < 2; i++) {
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

/* --- leaders that end their thread, as other functions of the user's do at random --------------- */

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
  if (quitter->cancels) {
    pthread_cancel (pthread_self ());
    pthread_testcancel ();
  } else {
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

/* --- all of it at random ---------------------------------------------------------------------- */

#define N_CLIENTS      3
#define N_ACTORS       6
#define MOST_OF_A_TYPE 8
/* A call that waits is given so long. */
#define LONGEST_WAIT_MS 200
/* After which a round hangs: twice the longest close. */
#define HANG_MS 60000

typedef enum
{
  LOCK,
  LEADER,
  LATCH,
  LEASE, /* of the newest grant */
  CANCELLABLE,
  CLIENT,
  N_TYPES
} Type;

#define REF(ref) ((gpointer (*) (gpointer)) (GCallback) (ref))

static const struct
{
  int n;
  gpointer (*ref) (gpointer object);
  GDestroyNotify unref;
} types[N_TYPES] = {
  [LOCK] = { 8, REF (curator_lock_ref), (GDestroyNotify) curator_lock_unref },
  [LEADER] = { 3, REF (curator_leader_selector_ref),
               (GDestroyNotify) curator_leader_selector_unref },
  [LATCH] = { 2, REF (curator_leader_latch_ref), (GDestroyNotify) curator_leader_latch_unref },
  [LEASE] = { 1, REF (curator_lease_ref), (GDestroyNotify) curator_lease_unref },
  [CANCELLABLE] = { 1, REF (g_object_ref), g_object_unref },
  [CLIENT] = { N_CLIENTS, REF (curator_client_ref), (GDestroyNotify) curator_client_unref },
};

typedef struct
{
  guint seed;
  pthread_mutex_t mutex; /* guards the pointers; an object is used with a reference of one's own */
  gpointer objects[N_TYPES][MOST_OF_A_TYPE];
  gint n_owed;     /* atomic; callbacks and destroy functions that have to come */
  gint longest_ms; /* atomic; of all calls */
  gint salt;       /* atomic */
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
take (Round *round, Type type, int i)
{
  pthread_mutex_lock (&round->mutex);
  gpointer object = round->objects[type][i];
  if (object != NULL)
    types[type].ref (object);
  pthread_mutex_unlock (&round->mutex);
  return object;
}

static int
any (GRand *rand, Type type)
{
  return g_rand_int_range (rand, 0, types[type].n);
}

/* The round keeps this one instead. */
static void
put (Round *round, Type type, int i, gpointer object)
{
  pthread_mutex_lock (&round->mutex);
  gpointer before = round->objects[type][i];
  round->objects[type][i] = object;
  pthread_mutex_unlock (&round->mutex);
  g_clear_pointer (&before, types[type].unref);
}

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
note_grant (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  if (lease != NULL)
    put (data, LEASE, 0, lease);
  act_in_callback (data, TRUE);
}

/* The listeners are called any number of times; their destroy function once. */
static void
act_in_listener (Round *round)
{
  g_atomic_int_inc (&round->n_owed);
  act_in_callback (round, TRUE);
}

static void
note_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  act_in_listener (data);
}

static void
on_lease_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  act_in_listener (data);
}

static void
on_leadership (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
               gpointer data)
{
  act_in_listener (data);
}

static void
on_latch (CuratorLeaderLatch *latch, gboolean is_leader, gpointer data)
{
  act_in_listener (data);
}

static void
hold_lock (Round *round, GRand *rand)
{
  g_autoptr (CuratorLock) lock = take (round, LOCK, any (rand, LOCK));
  g_autoptr (GCancellable) cancellable = take (round, CANCELLABLE, 0);
  const int depth = g_rand_int_range (rand, 1, 4);
  int entered = 0;

  while (lock != NULL && entered < depth
         && curator_lock_acquire (lock, g_rand_int_range (rand, 0, LONGEST_WAIT_MS), cancellable,
                                  NULL))
    entered++;
  /* Or else it stays held until the end of this thread, the lock or the client. */
  for (; entered > 0 && g_rand_int_range (rand, 0, 8) != 0; entered--)
    curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
}

static void
acquire_later (Round *round, GRand *rand)
{
  g_autoptr (CuratorLock) lock = take (round, LOCK, any (rand, LOCK));
  g_autoptr (GCancellable) cancellable = take (round, CANCELLABLE, 0);

  if (lock == NULL)
    return;
  g_atomic_int_inc (&round->n_owed);
  curator_lock_acquire_then (lock, g_rand_int_range (rand, 0, 1000), cancellable, note_grant,
                             round);
}

static void
watch_lease (Round *round, GRand *rand)
{
  g_autoptr (CuratorLease) lease = take (round, LEASE, 0);

  if (lease == NULL)
    return;
  if (g_rand_boolean (rand))
    curator_lease_add_listener (lease, on_lease_state, round, NULL);
  else
    curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
}

static void
close_client (Round *round, GRand *rand)
{
  g_autoptr (CuratorClient) client = take (round, CLIENT, any (rand, CLIENT));

  if (client != NULL)
    curator_client_close (client);
}

static void
drop_something (Round *round, GRand *rand)
{
  put (round, LOCK, any (rand, LOCK), NULL);
  put (round, LEASE, 0, NULL);
  if (g_rand_int_range (rand, 0, 4) == 0)
    put (round, CLIENT, any (rand, CLIENT), NULL);
}

static void
end_election (Round *round, GRand *rand)
{
  const int i = any (rand, LEADER);
  const int k = any (rand, LATCH);
  CuratorLeaderSelector *leader = take (round, LEADER, i);
  CuratorLeaderLatch *latch = take (round, LATCH, k);

  if (leader != NULL && g_rand_boolean (rand))
    curator_leader_selector_close (leader);
  if (latch != NULL && g_rand_boolean (rand)) {
    curator_leader_latch_close (latch, g_rand_boolean (rand)
                                           ? CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT
                                           : CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
  }
  g_clear_pointer (&leader, curator_leader_selector_unref);
  g_clear_pointer (&latch, curator_leader_latch_unref);
  if (g_rand_boolean (rand)) {
    put (round, LEADER, i, NULL);
    put (round, LATCH, k, NULL);
  }
}

static void
await_latch (Round *round, GRand *rand)
{
  g_autoptr (CuratorLeaderLatch) latch = take (round, LATCH, any (rand, LATCH));

  if (latch != NULL) {
    G_GNUC_UNUSED const gboolean led =
        curator_leader_latch_await (latch, g_rand_int_range (rand, 0, LONGEST_WAIT_MS), NULL, NULL);
  }
}

static void
cancel_all (Round *round)
{
  g_autoptr (GCancellable) cancellable = take (round, CANCELLABLE, 0);

  put (round, CANCELLABLE, 0, g_cancellable_new ());
  g_cancellable_cancel (cancellable);
}

/* What waits is not called in a callback, as docs/threading.md asks for. */
static void
act (Round *round, GRand *rand, gboolean on_callback)
{
  const gint64 before_ms = wait_now_ms ();
  const int action = g_rand_int_range (rand, on_callback ? 40 : 0, 100);

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

  for (int i = 0; i < n; i++) {
    pthread_testcancel ();
    act (actor->round, actor->rand, FALSE);
  }
  if (g_rand_boolean (actor->rand))
    pthread_exit (NULL);
  return NULL;
}

static void
make_clients (Round *round, Fixture *fixture)
{
  for (int i = 0; i < types[CLIENT].n; i++) {
    CuratorClient *client = client_new (fixture_server (fixture));
    round->n_owed++;
    curator_client_add_state_listener (client, note_state, round, on_destroy);
    put (round, CLIENT, i, client);
  }
}

static void
make_elections (Round *round, int serial)
{
  CuratorClient *const *clients = (CuratorClient **) round->objects[CLIENT];
  g_autofree char *path = g_strdup_printf ("/ends/%d/election", serial);
  g_autofree char *latch_path = g_strdup_printf ("/ends/%d/latch", serial);

  for (int i = 0; i < types[LEADER].n; i++) {
    CuratorLeaderSelector *leader =
        curator_leader_selector_new (clients[i], path, on_leadership, round, on_destroy, NULL);
    round->n_owed++;
    curator_leader_selector_set_auto_requeue (leader, TRUE);
    put (round, LEADER, i, leader);
  }
  for (int i = 0; i < types[LATCH].n; i++) {
    CuratorLeaderLatch *latch = curator_leader_latch_new (clients[i], latch_path, "", NULL);
    round->n_owed++;
    curator_leader_latch_add_listener (latch, on_latch, round, on_destroy);
    put (round, LATCH, i, latch);
  }
}

/* Mutexes of each client, on two paths, and multi-locks across the clients. */
static void
make_locks (Round *round, int serial)
{
  CuratorLock *const *locks = (CuratorLock **) round->objects[LOCK];

  for (int i = 0; i < types[LOCK].n - 2; i++) {
    g_autofree char *path = g_strdup_printf ("/ends/%d/%d", serial, i / N_CLIENTS);
    put (round, LOCK, i, mutex_new (round->objects[CLIENT][i % N_CLIENTS], path));
  }
  CuratorLock *const around[] = { locks[0], locks[4] };
  CuratorLock *const across[] = { locks[0], locks[1], locks[3] };
  put (round, LOCK, 6, curator_multi_lock_new (around, G_N_ELEMENTS (around)));
  put (round, LOCK, 7, curator_multi_lock_new (across, G_N_ELEMENTS (across)));
}

/* A callback may have ended them already. */
static void
round_start (Round *round, Fixture *fixture, int serial)
{
  pthread_mutex_init (&round->mutex, NULL);
  put (round, CANCELLABLE, 0, g_cancellable_new ());
  make_clients (round, fixture);
  make_locks (round, serial);
  make_elections (round, serial);
  for (int i = 0; i < N_CLIENTS; i++) {
    g_autoptr (CuratorClient) client = take (round, CLIENT, i);
    if (client != NULL) {
      G_GNUC_UNUSED const gboolean started = curator_client_start (client, NULL);
    }
  }
  for (int i = 0; i < types[LEADER].n; i++) {
    g_autoptr (CuratorLeaderSelector) leader = take (round, LEADER, i);
    if (leader != NULL) {
      G_GNUC_UNUSED const gboolean started = curator_leader_selector_start (leader, NULL);
    }
  }
  for (int i = 0; i < types[LATCH].n; i++) {
    g_autoptr (CuratorLeaderLatch) latch = take (round, LATCH, i);
    if (latch != NULL) {
      G_GNUC_UNUSED const gboolean started = curator_leader_latch_start (latch, NULL);
    }
  }
}

/* The clients come last, and are closed: not all references are the round's. */
static void
drop_all (Round *round)
{
  for (Type type = 0; type < N_TYPES; type++) {
    for (int i = 0; i < types[type].n; i++) {
      g_autoptr (CuratorClient) client = type == CLIENT ? take (round, CLIENT, i) : NULL;
      if (client != NULL)
        curator_client_close (client);
      put (round, type, i, NULL);
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
  for (int i = 0; i < N_ACTORS; i++) {
    actors[i] = (Actor){ .round = &round, .rand = g_rand_new_with_seed (g_rand_int (rand)) };
    assert_int_equal (pthread_create (&actors[i].thread, NULL, run_actor, &actors[i]), 0);
  }
  wait_ms (g_rand_int_range (rand, 0, 300));
  pthread_cancel (actors[0].thread);
  for (int i = 0; i < N_ACTORS; i++) {
    assert_int_equal (pthread_join (actors[i].thread, NULL), 0);
    g_rand_free (actors[i].rand);
  }
  /* A callback may have put a lease back. */
  assert_soon ((drop_all (&round), g_atomic_int_get (&round.n_owed) == 0));
  /* client.h: close, the longest call of all. */
  assert_promised_ms (g_atomic_int_get (&round.longest_ms), CLOSE_MS + SLACK_MS, began_ms);
  alarm (0);
  drop_all (&round);
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
  for (guint i = 0; i < n_rounds; i++) {
    const int took_ms = play_round (fixture, (seed + i) & G_MAXINT32);
    longest_ms = MAX (longest_ms, took_ms);
  }
  print_message ("the longest call took %d ms\n", longest_ms);
}

PROMPT_SUITE ("ends", fixture_start, fixture_stop)
