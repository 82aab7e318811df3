/* What is in front of a node: every state, every event, and any order of them. The watches are the
 * test's.
 *
 * CURATOR_TEST_SEED=n repeats the random orders.
 */
#define SUITE_SETUP    set_up
#define SUITE_TEARDOWN tear_down
#include "lock/front.h"

#include "base/path.h"
#include "core/log.h"
#include "core/monitor.h"
#include "unit.h"

#include <stdlib.h>
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
  int n_allowed;      /* then one watch is refused; negative: none is */
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
  if (world.n_allowed >= 0 && world.n_allowed-- == 0) {
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
on_clear (CuratorFront *of)
{
  note ("CLEAR");
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
on_failed (CuratorFront *of, int rc)
{
  note ("FAILED(%d)", rc);
}

static const CuratorFrontClass klass = { on_clear, on_list, on_list_early, on_failed };

/* --- the test's side -------------------------------------------------------------------------- */

static int
set_up (void **state)
{
  memset (&world, 0, sizeof world);
  world.n_allowed = -1;
  world.log = g_string_new ("");
  world.watches = g_ptr_array_new ();
  own.path = (char *) BASE "/own";
  front = (CuratorFront){ .klass = &klass, .own = &own };
  return 0;
}

static int
tear_down (void **state)
{
  curator_front_stop (&front);
  assert_int_equal (world.watches->len, 0);
  g_ptr_array_unref (world.watches);
  g_string_free (world.log, TRUE);
  return 0;
}

static CuratorWatch *
watch_on (const char *leaf)
{
  for (guint i = 0; i < world.watches->len; i++) {
    CuratorWatch *watch = g_ptr_array_index (world.watches, i);
    if (watch->path != NULL && g_str_equal (curator_path_leaf (watch->path), leaf))
      return watch;
  }
  return NULL;
}

/* verb: of a scene. */
static void
tell (const char *verb, const char *leaf)
{
  static const char *const verbs[] = { [CURATOR_WATCH_ARMED] = "armed",
                                       [CURATOR_WATCH_CHANGED] = "changed",
                                       [CURATOR_WATCH_GONE] = "gone",
                                       [CURATOR_WATCH_FAILED] = "broken" };
  char *data[] = { (char *) "x", (char *) "y" };
  const struct String_vector children = { .count = 2, .data = data };
  const CuratorZkReply reply = { .children = &children };
  const gboolean is_listed = g_str_equal (verb, "listed");
  CuratorWatch *watch = watch_on (leaf);
  guint event = CURATOR_WATCH_ARMED;

  while (!is_listed && event < G_N_ELEMENTS (verbs) && !g_str_equal (verb, verbs[event]))
    event++;
  assert_true (watch != NULL && event < G_N_ELEMENTS (verbs));
  if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED)
    g_clear_pointer (&watch->path, g_free); /* it is spent */
  watch->func (watch, event, ZNOAUTH, is_listed ? &reply : NULL, watch->data);
}

/* --- scenes ----------------------------------------------------------------------------------- */

/* Commands, each with what the front asks for and tells then:
 *   wait [FIRST [SECOND]]    for the parent, or for nodes in front; last FIRST: nobody is before it
 *   neighbour                for a node that was next to it
 *   armed, changed, gone, broken LEAF     tells the watch of that node; listed: with two children
 *   own LEAF                 the watch turns out to be on a node of our session
 *   ours LEAF, staked LEAF   that node is of our session, or one that it waits with or holds
 *   refuse N                 one watch, after N
 *   is nothing, is neighbour what it waits for */
static const char *const scenes[] = {
  /* Far. */
  "wait b a: +b +a; armed b; own a; armed a; changed b; gone a: EARLY; gone b: LIST; is nothing",
  /* The second node is probably the next first one: its watch stays, and is not removed in
   * between. */
  "wait c b: +c +b; gone c: LIST; wait b a: +b -b +a; wait b a; wait b: -a; wait: +base -b",
  "wait b a: +b +a; broken a; wait b a: +a; gone b: LIST; gone a",
  "wait: +base; listed base: LIST(2); wait; armed base: LIST; gone base: LIST",
  "neighbour; is neighbour; wait b: +b",
  "wait b a: +b +a; broken b: -a FAILED(-102); refuse 0; wait b a: refused NO",
  /* Nothing fails without the second watch. */
  "refuse 1; wait b a: +b refused; gone b: LIST",
  "last a: +a; armed a; gone a: CLEAR",
  /* The end of a node of our session grants nothing. */
  "ours a; last a: +a; gone a: LIST",
  "staked a; last a: +a; gone a: LIST",
  "last a: +a; own a; armed a; gone a: LIST",
};

static void
wait_for (char *const *leaves, gboolean is_last)
{
  const CuratorFrontView view = { .first = leaves[0],
                                  .second = leaves[0] != NULL ? leaves[1] : NULL,
                                  .is_last = is_last };
  if (!curator_front_wait (&front, &view, CURATOR_WATCH_NEW))
    note ("NO");
}

static void
command (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  const char *verb = words[0];
  const char *leaf = words[1];

  if (g_str_equal (verb, "wait") || g_str_equal (verb, "last"))
    wait_for (words + 1, g_str_equal (verb, "last"));
  else if (g_str_equal (verb, "neighbour"))
    curator_front_wait_for_neighbour (&front);
  else if (g_str_equal (verb, "own"))
    watch_on (leaf)->is_own = TRUE;
  else if (g_str_equal (verb, "ours"))
    world.own = g_intern_string (leaf);
  else if (g_str_equal (verb, "staked"))
    world.staked = g_intern_string (leaf);
  else if (g_str_equal (verb, "refuse"))
    world.n_allowed = atoi (leaf);
  else if (g_str_equal (verb, "is"))
    assert_int_equal (front.state, g_str_equal (leaf, "nothing") ? CURATOR_FRONT_NOTHING
                                                                 : CURATOR_FRONT_NEIGHBOUR);
  else
    tell (verb, leaf);
}

TEST (test_scenes)
{
  for (gsize i = 0; i < G_N_ELEMENTS (scenes); i++) {
    g_auto (GStrv) steps = g_strsplit (scenes[i], "; ", -1);
    for (char **step = steps; *step != NULL; step++) {
      g_auto (GStrv) sides = g_strsplit (*step, ": ", 2);
      command (sides[0]);
      g_strchomp (world.log->str);
      if (g_strcmp0 (world.log->str, sides[1] != NULL ? sides[1] : "") != 0)
        fail_msg ("%s: %s: %s", scenes[i], sides[0], world.log->str);
      g_string_truncate (world.log, 0);
    }
    tear_down (NULL);
    set_up (NULL);
  }
}

/* --- any order -------------------------------------------------------------------------------- */

/* A queue in front of our node, of which a list shows the nodes that are left. */
typedef struct
{
  GPtrArray *left; /* leaf names, in order */
  gboolean is_clear;
} Queue;

static void
show (Queue *queue)
{
  const guint n = queue->left->len;
  const CuratorFrontView view = { .first = g_ptr_array_index (queue->left, n - 1),
                                  .second = n >= 2 ? g_ptr_array_index (queue->left, n - 2) : NULL,
                                  .is_last = n == 1 };
  assert_true (curator_front_wait (&front, &view, CURATOR_WATCH_NEW));
}

/* Does what the front has asked for since the last call. */
static void
obey (Queue *queue)
{
  const gboolean is_clear = strstr (world.log->str, "CLEAR") != NULL;
  const gboolean lists =
      strstr (world.log->str, "LIST") != NULL || strstr (world.log->str, "EARLY") != NULL;
  g_string_truncate (world.log, 0);
  if (is_clear) {
    assert_int_equal (queue->left->len, 0);
    queue->is_clear = TRUE;
  } else if (lists && queue->left->len == 0) {
    queue->is_clear = TRUE; /* the list is the grant */
    curator_front_stop (&front);
  } else if (lists) {
    show (queue);
    g_string_truncate (world.log, 0);
  }
}

/* A node ends: its watch, if there is one now or later, tells. */
static void
step (Queue *queue, GRand *rand, GPtrArray *ended)
{
  if (g_rand_boolean (rand) && queue->left->len > 0) {
    const guint i = (guint) g_rand_int_range (rand, 0, (gint32) queue->left->len);
    g_ptr_array_add (ended, g_ptr_array_steal_index (queue->left, i));
  } else if (ended->len > 0) {
    const guint i = (guint) g_rand_int_range (rand, 0, (gint32) ended->len);
    const char *leaf = g_ptr_array_index (ended, i);
    if (watch_on (leaf) != NULL)
      tell ("gone", leaf);
  }
}

/* Whatever ends in whatever order, and however late its watch tells: never clear while a node is
 * left, and clear at last. */
TEST (test_any_order)
{
  g_autoptr (GRand) rand = unit_rand_new ("test_any_order");

  for (int round = 0; round < 5000; round++) {
    Queue queue = { .left = g_ptr_array_new_with_free_func (g_free) };
    g_autoptr (GPtrArray) ended = g_ptr_array_new_with_free_func (g_free);
    const int n = g_rand_int_range (rand, 1, 10);
    for (int i = 0; i < n; i++)
      g_ptr_array_add (queue.left, g_strdup_printf ("n%d", i));
    show (&queue);
    g_string_truncate (world.log, 0);
    int steps = 0;
    for (; !queue.is_clear && steps < 10000; steps++) {
      step (&queue, rand, ended);
      obey (&queue);
    }
    assert_true (queue.is_clear);
    curator_front_stop (&front);
    g_ptr_array_unref (queue.left);
  }
}

SUITE ("front", NULL, NULL)
