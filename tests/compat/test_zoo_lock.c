/* What programs may rely on that were written for ZooKeeper's zoo_lock.h, beside the situations of
 * probes.c. The words of its completions are judged as a program does that has nothing else: which
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

#define PATH      "/words/lock"
#define N_ROUNDS  400 /* unless the environment says more */
#define N_PLAYERS 6
#define N_BUSY    2
#define MOST_US   300 /* that a hold takes */

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
  if (data != NULL && g_atomic_pointer_get (&has_no_thread) == data) {
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
  zkr_lock_mutex_t mutex;
  pthread_mutex_t guard;
  pthread_cond_t changed;
  GString *heard;    /* the words */
  gboolean blocks;   /* the completion */
  gboolean releases; /* in it */
  gboolean ends;     /* the thread that runs it */
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
  g_string_append_c (party->heard, (char) ('0' + rc));
  pthread_cond_broadcast (&party->changed);
  while (party->blocks)
    pthread_cond_wait (&party->changed, &party->guard);
  const gboolean ends = party->ends;
  pthread_mutex_unlock (&party->guard);
  if (rc == 0 && party->releases)
    zkr_lock_unlock (&party->mutex);
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

static gsize
n_heard (Party *party)
{
  pthread_mutex_lock (&party->guard);
  const gsize n = party->heard->len;
  pthread_mutex_unlock (&party->guard);
  return n;
}

/* That it was told these words and no others. */
static void
assert_heard (Party *party, const char *words)
{
  (void) holds_within (n_heard (party) >= strlen (words), LONG_MS);
  pthread_mutex_lock (&party->guard);
  g_autofree char *heard = g_strdup (party->heard->str);
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
  zhandle_t *zh = zookeeper_init (address, on_event, LONG_SESSION_MS, NULL, NULL, 0);
  assert_non_null (zh);
  assert_soon (zoo_state (zh) == ZOO_CONNECTED_STATE);
  return zh;
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (zhandle_t, zookeeper_close)

static Party *
party_new (zhandle_t *zh, const char *path)
{
  Party *party = g_new0 (Party, 1);
  party->heard = g_string_new (NULL);
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
  g_string_free (party->heard, TRUE);
  g_free (party);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Party, party_free)

static gboolean
is_owner (Party *party)
{
  return zkr_lock_isowner (&party->mutex);
}

TEST (test_turns)
{
  g_autoptr (zhandle_t) zh = open_handle (fixture_server (fixture));
  g_autoptr (zhandle_t) other = open_handle (fixture_server (fixture));
  g_autoptr (Party) first = party_new (zh, PATH);
  g_autoptr (Party) second = party_new (other, PATH);
  assert_string_equal (zkr_lock_getpath (&first->mutex), PATH);
  assert_false (is_owner (first));
  assert_int_equal (zkr_lock_unlock (&first->mutex), ZSYSTEMERROR);

  assert_int_equal (zkr_lock_lock (&first->mutex), ZOK);
  assert_true (is_owner (first)); /* a lock that is free is held when the call returns */
  assert_int_equal (zkr_lock_lock (&first->mutex), ZOK);
  assert_int_equal (zkr_lock_lock (&second->mutex), ZOK);
  assert_false (is_owner (second));
  assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 2);
  /* What ZooKeeper's own test looks at. */
  assert_string_equal (first->mutex.id, first->mutex.ownerid);
  assert_string_equal (first->mutex.id, zkr_lock_getid (&second->mutex));
  assert_string_not_equal (second->mutex.id, second->mutex.ownerid);
  assert_int_equal (zkr_lock_lock_isowner (&second->mutex), 0);

  zkr_lock_mutex_t copy = first->mutex;
  assert_int_equal (zkr_lock_unlock (&copy), ZOK);
  assert_false (is_owner (first));
  assert_null (first->mutex.id);
  assert_heard (second, "0");
  assert_true (is_owner (second));
  assert_int_equal (zkr_lock_lock_isowner (&second->mutex), 1);
  assert_int_equal (zkr_lock_unlock (&second->mutex), ZOK);
  assert_heard (first, "01");
  assert_heard (second, "01");
  assert_children (fixture, PATH, 0, LONG_MS);
}

/* The mutex ends in each state: held, waiting, initialized again. */
TEST (test_ends)
{
  g_autoptr (zhandle_t) zh = open_handle (fixture_server (fixture));
  zhandle_t *closed = open_handle (fixture_server (fixture));
  g_autoptr (Party) first = party_new (zh, PATH);
  g_autoptr (Party) second = party_new (zh, PATH);
  g_autoptr (Party) third = party_new (closed, PATH);
  zkr_lock_lock (&first->mutex);
  zkr_lock_lock (&second->mutex);
  zkr_lock_lock (&third->mutex);
  assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 3);
  assert_int_equal (zkr_lock_destroy (&second->mutex), ZOK);
  assert_int_equal (zkr_lock_destroy (&second->mutex), ZOK);
  assert_children (fixture, PATH, 2, LONG_MS);
  assert_int_equal (zkr_lock_init (&first->mutex, zh, (char *) PATH, NULL), ZOK);
  assert_soon (is_owner (third));
  assert_false (is_owner (first));
  zookeeper_close (closed); /* with a lock that is held; zkr_lock_close_handle () */
  assert_children (fixture, PATH, 0, LONG_MS);
  assert_false (is_owner (third));
  assert_int_equal (zkr_lock_lock (&third->mutex), ZCLOSING);
  assert_null (strchr (second->heard->str, '0'));
}

TEST (test_arguments)
{
  g_autoptr (zhandle_t) zh = open_handle (fixture_server (fixture));
  zkr_lock_mutex_t mutex;
  assert_int_equal (zkr_lock_init (&mutex, NULL, (char *) PATH, NULL), ZBADARGUMENTS);
  assert_int_equal (zkr_lock_init (&mutex, zh, (char *) "relative", NULL), ZBADARGUMENTS);
  assert_int_equal (zkr_lock_lock (&mutex), ZBADARGUMENTS);
  assert_int_equal (zkr_lock_destroy (&mutex), ZOK);

  /* The nodes have the mutex' own permissions. */
  assert_int_equal (zkr_lock_init (&mutex, zh, (char *) "/words/read", &ZOO_READ_ACL_UNSAFE), ZOK);
  assert_int_equal (zkr_lock_lock (&mutex), ZNOAUTH);
  assert_false (zkr_lock_isowner (&mutex));
  zkr_lock_setcallback (&mutex, on_word);
  assert_true (zkr_lock_getcallback (&mutex) == on_word);
  zkr_lock_destroy (&mutex);
}

/* --- a completion that blocks ----------------------------------------------------------------- */

/* It keeps no other mutex of the handle: a free one is granted and told, one that waits is granted
 * in its turn, and one leaves its queue. */
TEST (test_nobody_waits_for_another_completion)
{
  g_autoptr (zhandle_t) zh = open_handle (fixture_server (fixture));
  g_autoptr (zhandle_t) other = open_handle (fixture_server (fixture));
  g_autoptr (Party) blocked = party_new (zh, "/words/blocked");
  g_autoptr (Party) rival = party_new (other, PATH);
  g_autoptr (Party) waiting = party_new (zh, PATH);
  g_autoptr (Party) leaving = party_new (zh, PATH);
  g_autoptr (Party) free_one = party_new (zh, "/words/free");
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
  assert_soon (is_owner (waiting));
  assert_heard (waiting, "0");

  set_blocks (blocked, FALSE);
}

/* Each of two mutexes is told of its loss, and of the loss last, whichever completion blocks. */
TEST (test_a_loss_is_the_last_word)
{
  g_autoptr (zhandle_t) zh = open_handle (fixture_proxy (fixture));
  g_autoptr (Party) blocked = party_new (zh, "/words/a");
  g_autoptr (Party) other = party_new (zh, "/words/b");
  set_blocks (blocked, TRUE);
  assert_int_equal (zkr_lock_lock (&blocked->mutex), ZOK);
  assert_heard (blocked, "0");
  assert_int_equal (zkr_lock_lock (&other->mutex), ZOK);
  fixture_expire (fixture);
  assert_soon (!is_owner (blocked));
  assert_soon (!is_owner (other));
  assert_heard (other, "01");
  assert_int_equal (zkr_lock_lock (&other->mutex), ZSESSIONEXPIRED);
  assert_int_equal (zkr_lock_unlock (&other->mutex), ZOK);
  assert_int_equal (zkr_lock_unlock (&other->mutex), ZSYSTEMERROR);
  assert_heard (other, "01");
  set_blocks (blocked, FALSE);
  assert_heard (blocked, "01");
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
  g_autoptr (zhandle_t) zh = open_handle (fixture_server (fixture));
  g_autoptr (Party) party = party_new (zh, "/words/unlocked");
  lock_untold (party);
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZOK);
  assert_heard (party, "01");
  g_atomic_pointer_set (&has_no_turn, NULL);
}

/* A lock that is lost before the mutex could be told of it is never told as acquired. */
TEST (test_no_lost_lock_is_told_as_acquired)
{
  g_autoptr (zhandle_t) zh = open_handle (fixture_proxy (fixture));
  g_autoptr (Party) party = party_new (zh, "/words/late");
  lock_untold (party);
  fixture_expire (fixture);
  assert_soon (!is_owner (party));
  g_atomic_pointer_set (&has_no_turn, NULL);
  assert_heard (party, "1");
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZOK);
  assert_heard (party, "1");
}

TEST (test_told_where_no_thread_is_left)
{
  g_autoptr (zhandle_t) zh = open_handle (fixture_server (fixture));
  g_autoptr (Party) party = party_new (zh, "/words/threadless");
  g_atomic_pointer_set (&has_no_thread, party->mutex.curator);
  assert_int_equal (zkr_lock_lock_isowner (&party->mutex), 1);
  assert_heard (party, "0");
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZOK);
  assert_heard (party, "01");
  g_atomic_pointer_set (&has_no_thread, NULL);
  assert_true (g_atomic_int_get (&n_refused) > 0);
}

/* --- the end of a hold ------------------------------------------------------------------------ */

static void *
unlock (void *data)
{
  Party *party = data;
  return zkr_lock_unlock (&party->mutex) == ZOK ? party : NULL;
}

/* The next one gets the lock when the completion has returned, also if it ends its thread, each
 * time. */
TEST (test_the_word_comes_before_the_release)
{
  g_autoptr (zhandle_t) zh = open_handle (fixture_server (fixture));
  for (int ends = 0; ends < 2; ends++) {
    g_autoptr (Party) party = party_new (zh, PATH);
    g_autoptr (Party) next = party_new (zh, PATH);
    pthread_t thread;
    void *result;
    party->ends = ends;
    assert_int_equal (zkr_lock_lock (&party->mutex), ZOK);
    assert_heard (party, "0");
    assert_int_equal (zkr_lock_lock (&next->mutex), ZOK);
    set_blocks (party, TRUE);
    assert_int_equal (pthread_create (&thread, NULL, unlock, party), 0);
    assert_heard (party, "01");
    assert_false (is_owner (party));
    assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 2);
    assert_heard (next, "");
    set_blocks (party, FALSE);
    assert_heard (next, "0");
    pthread_join (thread, &result);
    assert_true (result == (ends ? NULL : party));
    assert_int_equal (zkr_lock_unlock (&next->mutex), ZOK);
    assert_children (fixture, PATH, 0, LONG_MS);
  }
}

TEST (test_release_in_the_completion)
{
  g_autoptr (zhandle_t) zh = open_handle (fixture_server (fixture));
  g_autoptr (Party) party = party_new (zh, PATH);
  party->releases = TRUE;
  assert_int_equal (zkr_lock_lock (&party->mutex), ZOK);
  assert_heard (party, "01");
  assert_children (fixture, PATH, 0, LONG_MS);
}

TEST (test_close_is_told)
{
  zhandle_t *zh = open_handle (fixture_server (fixture));
  g_autoptr (Party) party = party_new (zh, "/words/closed");
  lock_untold (party);
  zookeeper_close (zh);
  assert_int_equal (n_heard (party), 2);
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
  while (!g_atomic_int_get (&is_over)) {
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
  for (; player->n_to_come > 0; player->n_to_come--) {
    const guint kind = g_rand_int (player->random) % 4;
    player->n_failed += zkr_lock_lock (&player->mutex) != ZOK;
    /* Given up at once; when it is held; when it was told. */
    while (
        kind > 0
        && !(kind == 1 ? zkr_lock_isowner (&player->mutex) : g_atomic_int_get (&player->has_lock)))
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
  for (guint i = 0; i < N_PLAYERS; i++) {
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
  for (guint i = 0; i < N_PLAYERS; i++) {
    assert_int_equal (players[i].n_failed, 0);
    zkr_lock_destroy (&players[i].mutex);
    g_rand_free (players[i].random);
  }
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++) {
    print_message ("%s: two were told %d times, too late %d times\n", paths[i],
                   observers[i].n_double, observers[i].n_late);
    assert_int_equal (observers[i].n_told, 0);
  }
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++) {
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
  return suite_run ("zoo lock", fixture_start_slow, fixture_stop);
}
