/* The words of zoo_lock.h's completions, judged as a program does that has nothing else: which
 * mutex was told "acquired" last.
 *
 * CURATOR_TEST_RUNS: how many rounds; CURATOR_TEST_SEED.
 */
#include "fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zoo_lock.h>

#define PATH       "/words/lock"
#define N_ROUNDS   400 /* unless the environment says more */
#define N_PLAYERS  6
#define N_BUSY     2
#define MOST_US    300 /* that a hold takes */
#define MOST_HEARD 8

/* --- threads that cannot be started, or do not get a processor -------------------------------- */

typedef void *(*Run) (void *data);
typedef int (*CreateThread) (pthread_t *thread, const pthread_attr_t *attributes, Run run,
                             void *data);

typedef struct
{
  Run run;
  void *data;
} Start;

static gpointer has_no_thread; /* atomic; a mutex that gets none for its completion */
static gint n_refused;         /* atomic */
static gpointer has_no_turn;   /* atomic; a mutex whose threads do not begin */
static gint n_kept;            /* atomic */

static void *
begin_later (void *data)
{
  const Start start = *(Start *) data;
  g_free (data);
  while (g_atomic_pointer_get (&has_no_turn) == start.data)
    g_usleep (1000);
  return start.run (start.data);
}

/* In place of the C library's. */
int
pthread_create (pthread_t *thread, const pthread_attr_t *attributes, Run run, void *data)
{
  const CreateThread real = (CreateThread) dlsym (RTLD_NEXT, "pthread_create");
  if (data != NULL && g_atomic_pointer_get (&has_no_thread) == data)
    {
      g_atomic_int_inc (&n_refused);
      return EAGAIN;
    }
  if (data == NULL || g_atomic_pointer_get (&has_no_turn) != data)
    return real (thread, attributes, run, data);
  Start *start = g_new (Start, 1);
  *start = (Start){ run, data };
  g_atomic_int_inc (&n_kept);
  return real (thread, attributes, begin_later, start);
}

/* --- a program with one mutex ----------------------------------------------------------------- */

typedef struct
{
  zhandle_t *zh;
  zkr_lock_mutex_t mutex;
  pthread_mutex_t guard;
  pthread_cond_t changed;
  int heard[MOST_HEARD]; /* the words, for as long as there is room */
  guint n_heard;
  gboolean blocks; /* the completion */
  gboolean ends;   /* the thread that runs it */
} Party;

static void
on_event (zhandle_t *zh, int type, int state, const char *path, void *context)
{
}

static void
on_word (int rc, void *data)
{
  Party *party = data;
  pthread_mutex_lock (&party->guard);
  if (party->n_heard < MOST_HEARD)
    party->heard[party->n_heard] = rc;
  party->n_heard++;
  pthread_cond_broadcast (&party->changed);
  while (party->blocks)
    pthread_cond_wait (&party->changed, &party->guard);
  const gboolean ends = party->ends;
  pthread_mutex_unlock (&party->guard);
  if (ends)
    pthread_exit (NULL);
}

static void
set_blocks (Party *party, gboolean blocks)
{
  pthread_mutex_lock (&party->guard);
  party->blocks = blocks;
  pthread_cond_broadcast (&party->changed);
  pthread_mutex_unlock (&party->guard);
}

typedef struct
{
  Party *party;
  guint n;
} Awaited;

static gboolean
has_heard (gpointer data)
{
  const Awaited *awaited = data;
  pthread_mutex_lock (&awaited->party->guard);
  const gboolean has = awaited->party->n_heard >= awaited->n;
  pthread_mutex_unlock (&awaited->party->guard);
  return has;
}

/* That it was told these words and no others. */
static void
assert_heard (Party *party, const char *words)
{
  Awaited awaited = { party, (guint) strlen (words) };
  char heard[MOST_HEARD + 1] = "";
  if (!wait_until (has_heard, &awaited, LONG_MS))
    print_error ("%u words\n", party->n_heard);
  pthread_mutex_lock (&party->guard);
  for (guint i = 0; i < MIN (party->n_heard, MOST_HEARD); i++)
    heard[i] = (char) ('0' + party->heard[i]);
  pthread_mutex_unlock (&party->guard);
  assert_string_equal (heard, words);
}

static guint
number_from (const char *name, guint otherwise)
{
  const char *text = g_getenv (name);
  return text != NULL ? (guint) strtoul (text, NULL, 10) : otherwise;
}

static zhandle_t *
open_handle (const char *address)
{
  zhandle_t *zh = zookeeper_init (address, on_event, SESSION_MS, NULL, NULL, 0);
  assert_non_null (zh);
  assert_soon (zoo_state (zh) == ZOO_CONNECTED_STATE);
  return zh;
}

static Party *
party_new (zhandle_t *zh, const char *path)
{
  Party *party = g_new0 (Party, 1);
  party->zh = zh;
  pthread_mutex_init (&party->guard, NULL);
  pthread_cond_init (&party->changed, NULL);
  assert_int_equal (
      zkr_lock_init_cb (&party->mutex, zh, (char *) path, &ZOO_OPEN_ACL_UNSAFE, on_word, party),
      ZOK);
  return party;
}

static void
party_free (Party *party)
{
  zkr_lock_destroy (&party->mutex);
  pthread_cond_destroy (&party->changed);
  pthread_mutex_destroy (&party->guard);
  g_free (party);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Party, party_free)

static gboolean
is_owner (gpointer data)
{
  Party *party = data;
  return zkr_lock_isowner (&party->mutex);
}

/* --- a completion that blocks ----------------------------------------------------------------- */

/* It keeps no other mutex of the handle: a free one is granted and told, one that waits is granted
 * in its turn, and one leaves its queue. */
TEST (test_nobody_waits_for_another_completion)
{
  zhandle_t *zh = open_handle (fixture_server (fixture));
  zhandle_t *other = open_handle (fixture_server (fixture));
  Party *blocked = party_new (zh, "/words/blocked");
  Party *rival = party_new (other, PATH);
  Party *waiting = party_new (zh, PATH);
  Party *leaving = party_new (zh, PATH);
  Party *free_one = party_new (zh, "/words/free");
  set_blocks (blocked, TRUE);
  assert_int_equal (zkr_lock_lock (&blocked->mutex), ZOK);
  assert_heard (blocked, "0");
  assert_int_equal (zkr_lock_lock (&rival->mutex), ZOK);
  assert_heard (rival, "0");

  assert_int_equal (zkr_lock_lock_isowner (&free_one->mutex), 1);
  assert_heard (free_one, "0");
  assert_int_equal (zkr_lock_unlock (&free_one->mutex), ZOK);
  assert_heard (free_one, "01");
  assert_int_equal (zkr_lock_lock (&waiting->mutex), ZOK);
  assert_int_equal (zkr_lock_lock (&leaving->mutex), ZOK);
  assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 3);
  assert_int_equal (zkr_lock_unlock (&leaving->mutex), ZOK);
  assert_heard (leaving, "1");
  assert_children (fixture, PATH, 2, LONG_MS);
  assert_int_equal (zkr_lock_unlock (&rival->mutex), ZOK);
  assert_true (wait_until (is_owner, waiting, LONG_MS));
  assert_heard (waiting, "0");

  set_blocks (blocked, FALSE);
  party_free (leaving);
  party_free (free_one);
  party_free (waiting);
  party_free (rival);
  party_free (blocked);
  zookeeper_close (zh);
  zookeeper_close (other);
}

/* Each of two mutexes is told of its loss, and of the loss last, whichever completion blocks. */
TEST (test_a_loss_is_the_last_word)
{
  zhandle_t *zh = open_handle (fixture_proxy (fixture));
  Party *parties[] = { party_new (zh, "/words/a"), party_new (zh, "/words/b") };
  set_blocks (parties[0], TRUE);
  assert_int_equal (zkr_lock_lock (&parties[0]->mutex), ZOK);
  assert_heard (parties[0], "0");
  assert_int_equal (zkr_lock_lock (&parties[1]->mutex), ZOK);
  fixture_expire (fixture);
  assert_soon (!is_owner (parties[0]));
  assert_soon (!is_owner (parties[1]));
  assert_heard (parties[1], "01");
  assert_int_equal (zkr_lock_unlock (&parties[1]->mutex), ZOK);
  assert_heard (parties[1], "01");
  set_blocks (parties[0], FALSE);
  assert_heard (parties[0], "01");
  party_free (parties[0]);
  party_free (parties[1]);
  zookeeper_close (zh);
}

/* --- a thread that does not get a processor --------------------------------------------------- */

/* Locks, and the thread that tells of it does not begin before it may. */
static void
lock_untold (Party *party)
{
  g_atomic_int_set (&n_kept, 0);
  g_atomic_pointer_set (&has_no_turn, party->mutex.curator);
  assert_int_equal (zkr_lock_lock_isowner (&party->mutex), 1);
  assert_soon (g_atomic_int_get (&n_kept) > 0);
  assert_heard (party, "");
}

TEST (test_unlock_tells_in_order)
{
  zhandle_t *zh = open_handle (fixture_server (fixture));
  Party *party = party_new (zh, "/words/unlocked");
  lock_untold (party);
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZOK);
  assert_heard (party, "01");
  g_atomic_pointer_set (&has_no_turn, NULL);
  party_free (party);
  zookeeper_close (zh);
}

/* A lock that is lost before the mutex could be told of it is never told as acquired. */
TEST (test_no_lost_lock_is_told_as_acquired)
{
  zhandle_t *zh = open_handle (fixture_proxy (fixture));
  Party *party = party_new (zh, "/words/late");
  lock_untold (party);
  fixture_expire (fixture);
  assert_soon (!is_owner (party));
  g_atomic_pointer_set (&has_no_turn, NULL);
  assert_heard (party, "1");
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZOK);
  assert_heard (party, "1");
  party_free (party);
  zookeeper_close (zh);
}

TEST (test_told_where_no_thread_is_left)
{
  zhandle_t *zh = open_handle (fixture_server (fixture));
  Party *party = party_new (zh, "/words/threadless");
  g_atomic_pointer_set (&has_no_thread, party->mutex.curator);
  assert_int_equal (zkr_lock_lock_isowner (&party->mutex), 1);
  assert_heard (party, "0");
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZOK);
  assert_heard (party, "01");
  g_atomic_pointer_set (&has_no_thread, NULL);
  assert_true (g_atomic_int_get (&n_refused) > 0);
  party_free (party);
  zookeeper_close (zh);
}

/* --- the end of a hold ------------------------------------------------------------------------ */

static void *
unlock (void *data)
{
  Party *party = data;
  return zkr_lock_unlock (&party->mutex) == ZOK ? party : NULL;
}

/* The next one gets the lock when the completion has returned, also if it ends its thread. */
TEST (test_the_word_comes_before_the_release)
{
  zhandle_t *zh = open_handle (fixture_server (fixture));
  for (int ends = 0; ends < 2; ends++)
    {
      Party *party = party_new (zh, PATH);
      Party *next = party_new (zh, PATH);
      pthread_t thread;
      void *result;
      assert_int_equal (zkr_lock_lock (&party->mutex), ZOK);
      assert_heard (party, "0");
      assert_int_equal (zkr_lock_lock (&next->mutex), ZOK);
      set_blocks (party, TRUE);
      party->ends = ends;
      assert_int_equal (pthread_create (&thread, NULL, unlock, party), 0);
      assert_heard (party, "01");
      assert_false (is_owner (party));
      assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 2);
      assert_heard (next, "");
      set_blocks (party, FALSE);
      assert_heard (next, "0");
      pthread_join (thread, &result);
      assert_true (result == (ends ? NULL : party));
      party_free (party);
      party_free (next);
      assert_children (fixture, PATH, 0, LONG_MS);
    }
  zookeeper_close (zh);
}

TEST (test_close_is_told)
{
  zhandle_t *zh = open_handle (fixture_server (fixture));
  g_autoptr (Party) party = party_new (zh, "/words/closed");
  lock_untold (party);
  zookeeper_close (zh);
  assert_int_equal (party->n_heard, 2);
  assert_heard (party, "01");
  g_atomic_pointer_set (&has_no_turn, NULL);
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZOK);
  assert_int_equal (zkr_lock_lock (&party->mutex), ZCLOSING);
  assert_heard (party, "01");
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* A path, and what was said about it. */
typedef struct
{
  gint n_told;   /* atomic; mutexes that were told "acquired" last */
  gint n_double; /* atomic */
  gint n_late;   /* atomic; "acquired" was the last word when unlock had returned */
} Observer;

typedef struct
{
  Observer *observer;
  zkr_lock_mutex_t mutex;
  GRand *random;
  gint has_lock;   /* atomic; as far as it was told */
  guint n_to_come; /* rounds */
  guint n_failed;
} Player;

static gint is_over; /* atomic */

static void *
be_busy (void *data)
{
  while (!g_atomic_int_get (&is_over))
    {
    }
  return NULL;
}

static void
on_judged_word (int rc, void *data)
{
  Player *player = data;
  if (rc == 0 && g_atomic_int_add (&player->observer->n_told, 1) > 0)
    g_atomic_int_inc (&player->observer->n_double);
  if (rc != 0 && g_atomic_int_get (&player->has_lock))
    g_atomic_int_add (&player->observer->n_told, -1);
  g_atomic_int_set (&player->has_lock, rc == 0);
}

static void *
play (void *data)
{
  Player *player = data;
  for (; player->n_to_come > 0; player->n_to_come--)
    {
      const guint kind = g_rand_int (player->random) % 4;
      player->n_failed += zkr_lock_lock (&player->mutex) != ZOK;
      /* Given up at once; when it is held; when it was told. */
      while (kind > 0
             && !(kind == 1 ? zkr_lock_isowner (&player->mutex)
                            : g_atomic_int_get (&player->has_lock)))
        g_usleep (50);
      if (kind == 3)
        g_usleep (g_rand_int (player->random) % MOST_US);
      player->n_failed += zkr_lock_unlock (&player->mutex) != ZOK;
      if (g_atomic_int_get (&player->has_lock))
        g_atomic_int_inc (&player->observer->n_late);
    }
  return NULL;
}

/* Six mutexes of two handles: four on one path, the others alone. */
TEST (test_never_two_that_were_told)
{
  const guint n_rounds = number_from ("CURATOR_TEST_RUNS", N_ROUNDS);
  const guint seed = number_from ("CURATOR_TEST_SEED", g_random_int ());
  static const char *const paths[] = { "/words/rounds", "/words/alone", "/words/too" };
  static const guint path_of[N_PLAYERS] = { 0, 0, 0, 0, 1, 2 };
  Observer observers[G_N_ELEMENTS (paths)] = { 0 };
  Player players[N_PLAYERS] = { 0 };
  pthread_t busy[N_BUSY];
  pthread_t threads[N_PLAYERS];
  zhandle_t *handles[] = { open_handle (fixture_server (fixture)),
                           open_handle (fixture_server (fixture)) };
  print_message ("CURATOR_TEST_SEED=%u CURATOR_TEST_RUNS=%u\n", seed, n_rounds);
  for (guint i = 0; i < N_BUSY; i++)
    assert_int_equal (pthread_create (&busy[i], NULL, be_busy, NULL), 0);
  for (guint i = 0; i < N_PLAYERS; i++)
    {
      players[i].observer = &observers[path_of[i]];
      players[i].random = g_rand_new_with_seed (seed + i);
      players[i].n_to_come = (n_rounds + i) / N_PLAYERS;
      assert_int_equal (zkr_lock_init_cb (&players[i].mutex, handles[i % 2],
                                          (char *) paths[path_of[i]], &ZOO_OPEN_ACL_UNSAFE,
                                          on_judged_word, &players[i]),
                        ZOK);
    }
  for (guint i = 0; i < N_PLAYERS; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, play, &players[i]), 0);
  for (guint i = 0; i < N_PLAYERS; i++)
    pthread_join (threads[i], NULL);
  g_atomic_int_set (&is_over, TRUE);
  for (guint i = 0; i < N_BUSY; i++)
    pthread_join (busy[i], NULL);
  for (guint i = 0; i < N_PLAYERS; i++)
    {
      assert_int_equal (players[i].n_failed, 0);
      zkr_lock_destroy (&players[i].mutex);
      g_rand_free (players[i].random);
    }
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      print_message ("%s: two were told %d times, too late %d times\n", paths[i],
                     observers[i].n_double, observers[i].n_late);
      assert_int_equal (observers[i].n_told, 0);
    }
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      assert_int_equal (observers[i].n_double, 0);
      assert_int_equal (observers[i].n_late, 0);
    }
  zookeeper_close (handles[0]);
  zookeeper_close (handles[1]);
}

int
main (void)
{
  zoo_set_debug_level (ZOO_LOG_LEVEL_WARN);
  return suite_run ("zoo lock words", fixture_start, fixture_stop);
}
