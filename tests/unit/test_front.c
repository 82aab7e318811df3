/* What is in front of a node: every state, every event, and any order of them. Watches, requests and timers are the test's.
 *
 * CURATOR_TEST_SEED=n repeats the random orders.
 */
#include "lock/front.h"

#include "base/path.h"
#include "core/log.h"
#include "core/monitor.h"
#include "session/heartbeat.h"
#include "unit.h"

#include <string.h>

#ifdef __clang__
/* Nothing is shared: there is one thread. */
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

#define BASE "/base"

/* --- what a front asks for -------------------------------------------------------------------- */

struct _CuratorWatch
{
  char *path;
  CuratorWatchFunc func;
  gpointer data;
  gboolean is_own;
};

static struct
{
  GString *log;       /* what was asked for and told, in order */
  GPtrArray *watches; /* CuratorWatch */
  const char *own;    /* the leaf name of a node of the session; or NULL */
  const char *staked; /* of one that it waits with or holds; or NULL */
  int n_refused;      /* so many watches are refused, after the next n_allowed */
  int n_allowed;
  CuratorRequestDone look;
  CuratorTimer *timer;
  CuratorWork on_timer;
  gint64 pause_us;
  gboolean is_near;
} world;

static CuratorSession session;
static CuratorClient client;
static CuratorLockInternals internals = { .base = (char *) BASE, .client = &client };
static CuratorNodeRequest request;
static CuratorOwnNode own = { .internals = &internals, .request = &request, .session = &session };
static CuratorFront front;

static void G_GNUC_PRINTF (1, 2) note (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_string_append_vprintf (world.log, format, arguments);
  g_string_append_c (world.log, ' ');
  va_end (arguments);
}

CuratorWatch *
curator_watch_add (CuratorSession *on, const char *path, ZooWatcherType type, CuratorWatchNeed need,
                   CuratorWatchFunc func, gpointer data)
{
  assert_ptr_equal (on, &session);
  assert_int_equal (type, g_str_equal (path, BASE) ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA);
  if (world.n_refused > 0 && world.n_allowed-- <= 0)
    {
      world.n_refused--;
      note ("refused");
      return NULL;
    }
  CuratorWatch *watch = g_new0 (CuratorWatch, 1);
  watch->path = g_strdup (path);
  watch->func = func;
  watch->data = data;
  watch->is_own = world.own != NULL && g_str_equal (curator_path_leaf (path), world.own);
  g_ptr_array_add (world.watches, watch);
  note ("+%s", curator_path_leaf (path));
  return watch;
}

static void
forget_watch (CuratorWatch *watch)
{
  assert_true (g_ptr_array_remove (world.watches, watch));
  g_free (watch->path);
  g_free (watch);
}

void
curator_watch_release (CuratorWatch *watch)
{
  if (watch->path != NULL)
    note ("-%s", curator_path_leaf (watch->path));
  forget_watch (watch);
}

const char *
curator_watch_get_path (const CuratorWatch *watch)
{
  return watch->path;
}

gboolean
curator_watch_is_own (const CuratorWatch *watch)
{
  return watch->is_own;
}

gboolean
curator_session_has_stake (CuratorSession *on, const char *path)
{
  return world.staked != NULL && g_str_equal (curator_path_leaf (path), world.staked);
}

CuratorRequest *
curator_request_exists (CuratorSession *on, const char *path, gboolean watch,
                        CuratorRequestDone done, gpointer data)
{
  assert_string_equal (path, own.path);
  assert_null (world.look);
  note ("look");
  world.look = done;
  return (CuratorRequest *) &world;
}

void
curator_request_forget (CuratorRequest *look)
{
  assert_non_null (world.look);
  world.look = NULL;
}

CuratorTimer *
curator_timer_after (CuratorClient *of, gint64 delay_us, CuratorWork func, gpointer data)
{
  assert_null (world.timer);
  assert_true (delay_us > 0);
  world.pause_us = delay_us;
  world.on_timer = func;
  world.timer = (CuratorTimer *) &world;
  note ("pause");
  return world.timer;
}

void
curator_timer_cancel (CuratorClient *of, CuratorTimer **timer)
{
  if (*timer != NULL)
    {
      *timer = world.timer = NULL;
      note ("no-pause");
    }
}

void
curator_stake_set_near (CuratorStake *stake, gboolean near)
{
  assert_ptr_equal (stake, &own.stake);
  world.is_near = near;
}

void
curator_known_node_free (CuratorKnownNode *known)
{
  g_free (known->leaf);
  g_free (known);
}

/* Each other change of state is logged. */
gboolean
curator_log_debug_is_on (void)
{
  static int n;
  return n++ % 2 == 0;
}

void
curator_log (GLogLevelFlags level, const char *format, ...)
{
  assert_int_equal (level, G_LOG_LEVEL_DEBUG);
}

/* --- what it tells ---------------------------------------------------------------------------- */

static void
on_clear (CuratorFront *of, gboolean is_seen)
{
  note (is_seen ? "CLEAR" : "UNSEEN");
}

static void
on_list (CuratorFront *of, const struct String_vector *children)
{
  note (children != NULL ? "LIST(%d)" : "LIST", children != NULL ? children->count : 0);
}

static void
on_list_early (CuratorFront *of)
{
  note ("EARLY");
}

static void
on_waits (CuratorFront *of)
{
  note ("WAITS");
}

static void
on_own_gone (CuratorFront *of)
{
  note ("OWN-GONE");
}

static void
on_failed (CuratorFront *of, int rc)
{
  note ("FAILED(%d)", rc);
}

static const CuratorFrontClass klass = { on_clear, on_list,     on_list_early,
                                         on_waits, on_own_gone, on_failed };

/* --- the test's side -------------------------------------------------------------------------- */

#define OWN_NUMBER 100

static int
set_up (void **state)
{
  memset (&world, 0, sizeof world);
  world.log = g_string_new ("");
  world.watches = g_ptr_array_new ();
  memset (&front, 0, sizeof front);
  own.path = (char *) BASE "/own";
  own.in_flight = NULL;
  own.stake.czxid = 7;
  curator_front_init (&front, &klass, &own);
  return 0;
}

static int
tear_down (void **state)
{
  curator_front_stop (&front);
  assert_int_equal (world.watches->len, 0);
  assert_null (world.timer);
  assert_null (world.look);
  g_ptr_array_unref (world.watches);
  g_string_free (world.log, TRUE);
  return 0;
}

/* What was logged since the last call. */
static void
expect (const char *words)
{
  assert_string_equal (g_strchomp (world.log->str), words);
  g_string_truncate (world.log, 0);
}

static CuratorWatch *
watch_on (const char *leaf)
{
  for (guint i = 0; i < world.watches->len; i++)
    {
      CuratorWatch *watch = g_ptr_array_index (world.watches, i);
      if (watch->path != NULL && g_str_equal (curator_path_leaf (watch->path), leaf))
        return watch;
    }
  return NULL;
}

static void
tell (const char *leaf, CuratorWatchEvent event, const CuratorZkReply *reply)
{
  CuratorWatch *watch = watch_on (leaf);
  assert_non_null (watch);
  if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED)
    {
      g_clear_pointer (&watch->path, g_free); /* it is spent */
    }
  watch->func (watch, event, ZNOAUTH, reply, watch->data);
}

static void
gone (const char *leaf)
{
  tell (leaf, CURATOR_WATCH_GONE, NULL);
}

static void
broken (const char *leaf)
{
  tell (leaf, CURATOR_WATCH_FAILED, NULL);
}

static void
armed (const char *leaf)
{
  tell (leaf, CURATOR_WATCH_ARMED, NULL);
}

static void
answer_look (int rc, gint64 czxid)
{
  const struct Stat stat = { .czxid = czxid };
  const CuratorZkReply reply = { .stat = &stat };
  CuratorRequestDone done = world.look;
  assert_non_null (done);
  world.look = NULL;
  done (rc, &reply, 0, &front);
}

static void
wait_for (CuratorFrontView view)
{
  assert_true (curator_front_wait (&front, &view, CURATOR_WATCH_NEW));
}

static GPtrArray *
names (const char *words)
{
  GPtrArray *array = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) split = g_strsplit (words, " ", -1);
  for (guint i = 0; split[i] != NULL; i++)
    g_ptr_array_add (array, g_strdup (split[i]));
  return array;
}

/* rest: words; or NULL. */
static void
wait_for_few (const char *rest)
{
  wait_for ((CuratorFrontView){
      .first = "b", .second = "a", .rest = rest != NULL ? names (rest) : NULL, .is_all = TRUE });
  assert_int_equal (front.state, CURATOR_FRONT_FEW);
  expect ("+b +a");
}

/* --- far, the parent, a neighbour ------------------------------------------------------------- */

static void
test_far (void **state)
{
  wait_for ((CuratorFrontView){ .first = "b", .second = "a" });
  expect ("+b +a");
  armed ("b");
  watch_on ("a")->is_own = TRUE;
  armed ("a");
  tell ("b", CURATOR_WATCH_CHANGED, NULL);
  expect ("");
  gone ("a");
  expect ("EARLY");
  gone ("b");
  expect ("LIST");
  assert_int_equal (front.state, CURATOR_FRONT_NOTHING);
}

/* The second node is probably the next first one: its watch stays, and is not removed in between. */
static void
test_watches_are_kept (void **state)
{
  wait_for ((CuratorFrontView){ .first = "c", .second = "b" });
  expect ("+c +b");
  gone ("c");
  expect ("LIST");
  wait_for ((CuratorFrontView){ .first = "b", .second = "a" });
  expect ("+b -b +a");
  wait_for ((CuratorFrontView){ .first = "b", .second = "a" });
  expect ("");
  wait_for ((CuratorFrontView){ .first = "b" });
  expect ("-a");
  wait_for ((CuratorFrontView){ .first = NULL });
  expect ("+base -b");
}

static void
test_further_watch_fails (void **state)
{
  wait_for ((CuratorFrontView){ .first = "b", .second = "a" });
  broken ("a");
  expect ("+b +a");
  wait_for ((CuratorFrontView){ .first = "b", .second = "a" });
  gone ("b");
  expect ("+a LIST");
  gone ("a");
  expect ("");
}

static void
test_parent (void **state)
{
  char *data[] = { (char *) "x", (char *) "y" };
  const struct String_vector children = { .count = 2, .data = data };
  const CuratorZkReply reply = { .children = &children };

  wait_for ((CuratorFrontView){ .first = NULL });
  expect ("+base");
  tell ("base", CURATOR_WATCH_ARMED, &reply);
  expect ("LIST(2)");
  wait_for ((CuratorFrontView){ .first = NULL });
  armed ("base");
  expect ("LIST");
  gone ("base");
  expect ("LIST");
}

static void
test_neighbour (void **state)
{
  curator_front_wait_for_neighbour (&front);
  assert_int_equal (front.state, CURATOR_FRONT_NEIGHBOUR);
  wait_for ((CuratorFrontView){ .first = "b" });
  expect ("+b");
}

static void
test_first_watch_fails (void **state)
{
  wait_for_few (NULL);
  broken ("b");
  expect ("-a FAILED(-102)");
  world.n_refused = 1;
  const CuratorFrontView view = { .first = "b", .rest = names ("a") };
  assert_false (curator_front_wait (&front, &view, CURATOR_WATCH_NEW));
  expect ("refused");
}

/* --- the last one ----------------------------------------------------------------------------- */

static void
test_last (void **state)
{
  wait_for ((CuratorFrontView){ .first = "a", .is_last = TRUE });
  armed ("a");
  gone ("a");
  expect ("+a CLEAR");
}

/* The end of a node of our session grants nothing. */
static void
test_last_is_ours (void **state)
{
  world.own = "a";
  wait_for ((CuratorFrontView){ .first = "a", .is_last = TRUE });
  gone ("a");
  expect ("+a LIST");
  world.own = NULL;
  world.staked = "a";
  wait_for ((CuratorFrontView){ .first = "a", .is_last = TRUE });
  gone ("a");
  expect ("+a LIST");
  world.staked = NULL;
  wait_for ((CuratorFrontView){ .first = "a", .is_last = TRUE });
  watch_on ("a")->is_own = TRUE;
  armed ("a");
  gone ("a");
  expect ("+a LIST");
}

/* Our own node does not exist yet: its create is in flight, and goes on. */
static void
test_create_goes_on (void **state)
{
  own.path = NULL;
  own.in_flight = (CuratorRequest *) &world;
  wait_for ((CuratorFrontView){ .first = "a" });
  curator_front_stop (&front);
  assert_non_null (own.in_flight);
  expect ("+a -a");
}

/* --- few -------------------------------------------------------------------------------------- */

static void
test_few_by_any_end (void **state)
{
  wait_for_few (NULL);
  armed ("a");
  gone ("a");
  expect ("look");
  assert_true (world.is_near);
  gone ("b");
  expect ("");
  assert_int_equal (front.state, CURATOR_FRONT_UNSEEN);
  answer_look (ZOK, 7);
  expect ("CLEAR");
  wait_for_few (NULL);
  gone ("b");
  answer_look (ZOK, 7);
  gone ("a");
  expect ("look CLEAR");
}

static void
test_rest_is_watched_at_the_first_end (void **state)
{
  wait_for_few ("x y");
  gone ("b");
  expect ("+x +y look");
  gone ("a");
  gone ("y");
  answer_look (ZOK, 7);
  expect ("");
  gone ("x");
  expect ("CLEAR");
  wait_for_few ("x");
  gone ("a");
  gone ("b");
  answer_look (ZOK, 7);
  gone ("x");
  expect ("+x look CLEAR");
}

/* Both may end before any answer: our own node is read with them. A read that was answered before one of them has
 * ended proves nothing. */
static void
test_long_queue (void **state)
{
  const CuratorFrontView two = { .first = "b", .second = "a", .is_all = TRUE, .is_long = TRUE };

  wait_for (two);
  expect ("+b +a look");
  gone ("b");
  gone ("a");
  expect ("");
  answer_look (ZOK, 7);
  expect ("CLEAR");
  wait_for (two);
  answer_look (ZOK, 7);
  gone ("b");
  expect ("+b +a look look");
  wait_for ((CuratorFrontView){
      .first = "c", .second = "b", .rest = names ("a"), .is_all = TRUE, .is_long = TRUE });
  assert_null (world.look);
}

static void
test_own_node (void **state)
{
  static const struct
  {
    int rc;
    gint64 czxid;
    const char *told;
  } cases[] = { { ZOK, 7, "look CLEAR" },
                { ZOK, 8, "look OWN-GONE" },
                { ZNONODE, 0, "look OWN-GONE" },
                { ZCONNECTIONLOSS, 0, "look UNSEEN" } };

  for (gsize i = 0; i < 2 * G_N_ELEMENTS (cases); i++)
    {
      const gboolean is_late = i % 2 == 1;
      wait_for_few (NULL);
      gone ("b");
      if (is_late)
        gone ("a");
      answer_look (cases[i / 2].rc, cases[i / 2].czxid);
      if (!is_late && !g_str_has_suffix (world.log->str, "GONE "))
        gone ("a");
      curator_front_stop (&front);
      g_string_truncate (world.log, strlen (cases[i / 2].told));
      expect (cases[i / 2].told);
    }
}

/* One of the few is our session's, or cannot be watched: then others may be in front. */
static void
test_few_becomes_far (void **state)
{
  static const char *const ours[] = { "a", "b" };

  for (gsize i = 0; i < 4; i++)
    {
      *(i < 2 ? &world.own : &world.staked) = ours[i % 2];
      wait_for ((CuratorFrontView){ .first = "b", .second = "a", .is_all = TRUE });
      assert_int_equal (front.state, CURATOR_FRONT_FAR);
      world.own = world.staked = NULL;
      curator_front_stop (&front);
    }
  for (gsize i = 0; i < 2; i++)
    {
      g_string_truncate (world.log, 0);
      wait_for_few (NULL);
      watch_on (ours[i])->is_own = TRUE;
      armed (ours[i]);
      assert_int_equal (front.state, CURATOR_FRONT_FAR);
      curator_front_stop (&front);
    }
  g_string_truncate (world.log, 0);
  wait_for_few (NULL);
  broken ("a");
  assert_int_equal (front.state, CURATOR_FRONT_FAR);
  gone ("b");
  expect ("LIST");
  world.n_refused = world.n_allowed = 1;
  wait_for ((CuratorFrontView){ .first = "b", .second = "a", .is_all = TRUE });
  expect ("+b refused");
  assert_int_equal (front.state, CURATOR_FRONT_FAR);
}

static void
test_rest_becomes_far (void **state)
{
  world.staked = "x";
  wait_for_few ("x y");
  gone ("b");
  expect ("+x look");
  assert_int_equal (front.state, CURATOR_FRONT_FAR);
  gone ("x");
  expect ("EARLY");
  gone ("a");
  expect ("LIST");
  world.staked = NULL;
  wait_for_few ("x y");
  world.n_refused = 1;
  gone ("b");
  expect ("refused look");
  assert_int_equal (front.state, CURATOR_FRONT_FAR);
}

/* --- coming back ------------------------------------------------------------------------------ */

#define TURN_US 1000

/* A node with that number, of a queue in which a turn takes TURN_US, and an answer no time. */
static CuratorKnownNode *
known_node (gint64 number, gint64 reply_us)
{
  CuratorKnownNode *known = g_new0 (CuratorKnownNode, 1);
  known->leaf = g_strdup ("k");
  known->number = number;
  known->guess = (CuratorReturnGuess){ .left_us = TURN_US, .reply_us = reply_us };
  return known;
}

static void
come_back (gint64 number)
{
  assert_true (curator_front_return (&front, known_node (number, 0)));
  expect ("+k");
}

static void
test_return (void **state)
{
  for (int i = 0; i < 2; i++)
    {
      come_back (OWN_NUMBER - 2);
      if (i == 0)
        {
          armed ("k");
          assert_true (curator_front_place (&front, OWN_NUMBER));
        }
      else
        {
          assert_true (curator_front_place (&front, OWN_NUMBER));
          armed ("k");
        }
      expect ("WAITS");
      assert_false (world.is_near);
      armed ("k");
      expect ("");
      gone ("k");
      expect ("LIST");
    }
}

static void
test_return_pauses (void **state)
{
  const gint64 reply_us = 100;

  for (int i = 0; i < 3; i++)
    {
      assert_true (curator_front_return (&front, known_node (OWN_NUMBER - 3, reply_us)));
      assert_true (curator_front_place (&front, OWN_NUMBER));
      armed ("k");
      gone ("k");
      expect ("+k WAITS pause");
      assert_int_equal (world.pause_us, reply_us);
      if (i == 0)
        {
          world.timer = NULL;
          world.on_timer (&front);
          expect ("LIST");
        }
      else if (i == 1)
        {
          wait_for ((CuratorFrontView){ .first = "b" });
          expect ("no-pause +b");
        }
      else
        {
          curator_front_stop (&front);
          expect ("no-pause");
        }
      curator_front_stop (&front);
      g_string_truncate (world.log, 0);
    }
}

/* Nothing in front of it is known: a node with a higher number may wait for ours. */
static void
test_known_node_is_of_no_use (void **state)
{
  static const gint64 numbers[] = { OWN_NUMBER, OWN_NUMBER + 1, OWN_NUMBER - 17 };

  for (gsize i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      come_back (numbers[i]);
      armed ("k");
      assert_false (curator_front_place (&front, OWN_NUMBER));
      expect ("-k");
    }
  come_back (OWN_NUMBER - 1);
  assert_false (curator_front_place (&front, -1));
  expect ("-k");
  assert_false (curator_front_place (&front, OWN_NUMBER));
  world.n_refused = 1;
  assert_false (curator_front_return (&front, known_node (OWN_NUMBER - 1, 0)));
  expect ("refused");
}

static void
test_known_node_ends_early (void **state)
{
  for (int i = 0; i < 2; i++)
    {
      void (*const end) (const char *leaf) = i == 0 ? gone : broken;
      come_back (OWN_NUMBER - 2);
      end ("k");
      assert_false (curator_front_place (&front, OWN_NUMBER));
      expect ("");
      come_back (OWN_NUMBER - 2);
      armed ("k");
      end ("k");
      assert_false (curator_front_place (&front, OWN_NUMBER));
      expect ("");
      come_back (OWN_NUMBER - 2);
      assert_true (curator_front_place (&front, OWN_NUMBER));
      end ("k");
      expect ("LIST");
    }
  come_back (OWN_NUMBER - 2);
  assert_true (curator_front_place (&front, OWN_NUMBER));
  armed ("k");
  broken ("k");
  expect ("WAITS FAILED(-102)");
  come_back (OWN_NUMBER - 2);
  curator_front_wait_for_neighbour (&front);
  expect ("-k");
}

/* --- any order -------------------------------------------------------------------------------- */

/* A queue in front of our node, of which a list shows the nodes that are left. */
typedef struct
{
  GPtrArray *left; /* leaf names, in order */
  gboolean is_listing;
  gboolean is_clear;
} Queue;

static void
show (Queue *queue)
{
  const guint n = queue->left->len;
  const guint most = g_str_has_prefix (g_ptr_array_index (queue->left, n - 1), "long") ? 6 : 2;
  const gboolean is_all = n >= 2 && n <= most;
  g_autoptr (GPtrArray) rest = is_all && n > 2 ? g_ptr_array_new_with_free_func (g_free) : NULL;

  for (guint i = 0; rest != NULL && i < n - 2; i++)
    g_ptr_array_add (rest, g_strdup (g_ptr_array_index (queue->left, i)));
  wait_for ((CuratorFrontView){ .first = g_ptr_array_index (queue->left, n - 1),
                                .second = n >= 2 ? g_ptr_array_index (queue->left, n - 2) : NULL,
                                .rest = g_steal_pointer (&rest),
                                .is_all = is_all,
                                .is_last = n == 1,
                                .is_long = most > 2 });
}

/* Does what the front has asked for since the last call. */
static void
obey (Queue *queue)
{
  const gboolean is_clear = strstr (world.log->str, "CLEAR") != NULL;
  const gboolean lists =
      strstr (world.log->str, "LIST") != NULL || strstr (world.log->str, "EARLY") != NULL;
  g_string_truncate (world.log, 0);
  if (is_clear)
    {
      assert_int_equal (queue->left->len, 0);
      queue->is_clear = TRUE;
    }
  else if (lists && queue->left->len == 0)
    {
      queue->is_clear = TRUE; /* the list is the grant */
      curator_front_stop (&front);
    }
  else if (lists)
    {
      show (queue);
      g_string_truncate (world.log, 0);
    }
}

/* A node ends: its watch, if there is one now or later, tells. Or an answer comes. */
static void
step (Queue *queue, GRand *rand, GPtrArray *ended)
{
  const guint choice = (guint) g_rand_int_range (rand, 0, 3);
  if (choice == 0 && world.look != NULL)
    {
      answer_look (ZOK, 7);
    }
  else if (choice == 1 && queue->left->len > 0)
    {
      const guint i = (guint) g_rand_int_range (rand, 0, (gint32) queue->left->len);
      g_ptr_array_add (ended, g_ptr_array_steal_index (queue->left, i));
    }
  else if (ended->len > 0)
    {
      const guint i = (guint) g_rand_int_range (rand, 0, (gint32) ended->len);
      const char *leaf = g_ptr_array_index (ended, i);
      if (watch_on (leaf) != NULL)
        gone (leaf);
    }
}

/* Whatever ends in whatever order, and however late its watch tells: never clear while a node is left, and clear at
 * last. */
static void
test_any_order (void **state)
{
  g_autoptr (GRand) rand = unit_rand_new ("test_any_order");

  for (int round = 0; round < 5000; round++)
    {
      const gboolean is_long = g_rand_boolean (rand);
      Queue queue = { .left = g_ptr_array_new_with_free_func (g_free) };
      g_autoptr (GPtrArray) ended = g_ptr_array_new_with_free_func (g_free);
      const int n = g_rand_int_range (rand, 1, 10);
      for (int i = 0; i < n; i++)
        g_ptr_array_add (queue.left, g_strdup_printf ("%s%d", is_long ? "long" : "short", i));
      show (&queue);
      g_string_truncate (world.log, 0);
      int steps = 0;
      for (; !queue.is_clear && steps < 10000; steps++)
        {
          step (&queue, rand, ended);
          obey (&queue);
        }
      assert_true (queue.is_clear);
      curator_front_stop (&front);
      g_ptr_array_unref (queue.left);
    }
}

#define front_test(function) cmocka_unit_test_setup_teardown (function, set_up, tear_down)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    front_test (test_far),
    front_test (test_watches_are_kept),
    front_test (test_further_watch_fails),
    front_test (test_parent),
    front_test (test_neighbour),
    front_test (test_first_watch_fails),
    front_test (test_last),
    front_test (test_last_is_ours),
    front_test (test_create_goes_on),
    front_test (test_few_by_any_end),
    front_test (test_rest_is_watched_at_the_first_end),
    front_test (test_long_queue),
    front_test (test_own_node),
    front_test (test_few_becomes_far),
    front_test (test_rest_becomes_far),
    front_test (test_return),
    front_test (test_return_pauses),
    front_test (test_known_node_is_of_no_use),
    front_test (test_known_node_ends_early),
    front_test (test_any_order),
  };
  return cmocka_run_group_tests (tests, NULL, NULL);
}
