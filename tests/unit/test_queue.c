/* The order of the queue: random cases against a slow oracle that follows Java's code. */
#include "unit.h"

#include "inspect/grammar.h"
#include "lock/queue.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CHILDREN 16
#define MAX_NAME     96

typedef enum
{
  MUTEX,
  READ_WRITE,
  CUSTOM, /* a driver of the user's */
  N_KINDS
} Kind;

typedef struct
{
  char name[MAX_NAME]; /* of a reader or a writer: begins with R or W */
  const char *key;     /* NULL: foreign */
  gint64 number;
} Child;

typedef struct
{
  Child children[MAX_CHILDREN];
  gsize n;
  Kind kind;
} Case;

/* Any text before the last ten bytes. */
static const char *
tail_key (const char *name, gpointer user_data)
{
  const gsize length = strlen (name);
  return length > 10 ? name + length - 10 : NULL;
}

static const CuratorQueueKeyFunc key_funcs[N_KINDS] = { curator_grammar_key, curator_grammar_key,
                                                        tail_key };

static gpointer
key_data (Kind kind)
{
  return GINT_TO_POINTER (kind == READ_WRITE ? CURATOR_PARTICIPANT_KIND_READ
                                             : CURATOR_PARTICIPANT_KIND_MUTEX);
}

/* --- the oracle: Java's result, computed the slow way ----------------------------------------- */

static const char *
behind_last (const char *name, const char *word)
{
  const char *found = g_strrstr (name, word);
  return found != NULL ? found + strlen (word) : NULL;
}

static const char *
oracle_key (const char *name, Kind kind)
{
  if (kind == CUSTOM)
    return tail_key (name, NULL);
  const char *key = behind_last (name, kind == MUTEX ? "lock-" : "__READ__");
  return key == NULL && kind == READ_WRITE ? behind_last (name, "__WRIT__") : key;
}

static gboolean
oracle_is_number (const char *key, gint64 *number)
{
  char again[32];

  *number = strtoll (key, NULL, 10);
  g_snprintf (again, sizeof again, "%010d", (gint32) CLAMP (*number, G_MININT32, G_MAXINT32));
  return strcmp (key, again) == 0;
}

static gboolean
oracle_is_exhausted (const Child *child)
{
  return child->number < 0 || child->number > G_MAXINT32 - 65536;
}

/* Only a writer and its downgraded readers may have the same number. */
static gboolean
oracle_has_twin (const Case *c, const Child *child)
{
  guint n = 0;
  guint n_writers = 0;

  for (gsize i = 0; i < c->n; i++)
    if (c->children[i].key != NULL && strcmp (c->children[i].key, child->key) == 0) {
      const char letter = *c->children[i].name;
      n++;
      n_writers += letter == 'R' ? 0 : letter == 'W' ? 1 : 2;
    }
  return n > 1 && n_writers > 1;
}

/* Fills the keys; returns the number of foreign children and whether a number is irregular. */
static gsize
oracle_judge (Case *c, gboolean *irregular)
{
  gsize n_foreign = 0;

  *irregular = FALSE;
  for (gsize i = 0; i < c->n; i++) {
    Child *child = &c->children[i];
    child->key = oracle_key (child->name, c->kind);
    if (child->key == NULL || !oracle_is_number (child->key, &child->number)) {
      child->key = NULL;
      n_foreign++;
    }
  }
  for (gsize i = 0; i < c->n; i++) {
    const Child *child = &c->children[i];
    if (child->key != NULL && (oracle_is_exhausted (child) || oracle_has_twin (c, child)))
      *irregular = TRUE;
  }
  return n_foreign;
}

/* --- cases ------------------------------------------------------------------------------------ */

/* Names as Curator, its older versions and other libraries write them, and of strangers: each of
 * these blocks a Java mutex forever, or may. i: no two children have the same name. */
static void
make_child (GRand *rand, Kind kind, gsize i, Child *child)
{
  static const char *const separators[] = { "-lock-", "__READ__", "__WRIT__" };
  static const char *const prefixes[] = { "",         "_c_01234567-89ab-cdef-0123-456789abcdef-",
                                          "-lock-",   "_c_0123456789abcdef0123456789abcdef-",
                                          "__READ__", "\xff\xc3(\x01%n" };
  static const char *const odd[MAX_CHILDREN] = {
    "",        "0",     "lock-", "zlock-0", "0000000001", "__lock__0000000001", "lock-0000000001x",
    "x",       "a",     "lock",  "aaa",     "\xff\xfe",   "\xff\xfe-lock-1",    "__READ__",
    "lock--1", "lock-x"
  };
  char number[16];
  const int type = kind == MUTEX        ? 0
                   : kind == READ_WRITE ? g_rand_int_range (rand, 1, 3)
                                        : g_rand_int_range (rand, 0, 3);

  if (g_rand_int_range (rand, 0, 12) == 0) {
    g_strlcpy (child->name, odd[i], MAX_NAME);
    return;
  }
  const int how = g_rand_int_range (rand, 0, 40);
  g_snprintf (number, sizeof number, how == 0 ? "%d" : "%010d",
              how == 1   ? (gint32) g_rand_int (rand)
              : how == 2 ? (gint32) CURATOR_QUEUE_LAST_NUMBER + g_rand_int_range (rand, -2, 3)
                         : g_rand_int_range (rand, 0, 60));
  g_snprintf (child->name, MAX_NAME, "%c%s%x%s%s", "LRW"[type],
              prefixes[g_rand_int_range (rand, 0, G_N_ELEMENTS (prefixes))],
              g_rand_int (rand) << 4 | (guint) i, separators[type], number);
}

static void
make_case (GRand *rand, Case *c)
{
  c->kind = g_rand_int_range (rand, 0, N_KINDS);
  c->n = (gsize) g_rand_int_range (rand, 0, MAX_CHILDREN + 1);
  for (gsize i = 0; i < c->n; i++)
    make_child (rand, c->kind, i, &c->children[i]);
}

static void
shuffle (GRand *rand, const char **names, gsize n)
{
  for (gsize i = n; i > 1; i--) {
    gsize j = (gsize) g_rand_int_range (rand, 0, (gint32) i);
    const char *name = names[i - 1];

    names[i - 1] = names[j];
    names[j] = name;
  }
}

/* --- what must be true ------------------------------------------------------------------------ */

/* No later entry has a smaller key, nor is a writer with the same key. */
static void
check_order (const Case *c, const CuratorQueue *queue, const Child *child, gssize at)
{
  for (gsize i = 0; i < c->n; i++) {
    const Child *other = &c->children[i];
    const gssize other_at = curator_queue_index_of (queue, other->name);
    if (other_at < 0 || other == child)
      continue;
    const int order = strcmp (child->key, other->key);
    assert_int_not_equal (at, other_at);
    assert_true (order == 0 || (order < 0) == (at < other_at));
    assert_true (order != 0 || *child->name != 'W' || *other->name != 'R' || at < other_at);
  }
}

/* Every child occurs once, and only a node with such a number itself has no place. */
static void
check_places (const Case *c, const CuratorQueue *queue)
{
  for (gsize i = 0; i < c->n; i++) {
    const Child *child = &c->children[i];
    const gssize at = curator_queue_index_of (queue, child->name);

    assert_int_equal (at >= 0, child->key != NULL);
    if (at < 0)
      continue;
    check_order (c, queue, child, at);
    const char *twin = curator_queue_twin_of (queue, (gsize) at);
    assert_int_equal (curator_queue_is_exhausted (queue, (gsize) at), oracle_is_exhausted (child));
    assert_int_equal (twin != NULL, !oracle_is_exhausted (child) && oracle_has_twin (c, child));
    assert_true (twin == NULL
                 || (strcmp (twin, child->name) != 0 && g_str_has_suffix (twin, child->key)));
  }
}

/* A name without a number goes where Java's String.compareTo of the keys puts it. */
static void
check_insert (CuratorQueue *queue, Kind kind, const char *name)
{
  const gsize n = queue->n_names;
  const CuratorQueueKeyFunc key = key_funcs[kind];
  const gpointer data = key_data (kind);
  const char *own = key (name, data) != NULL ? key (name, data) : name;
  gsize at = 0;

  curator_queue_insert (queue, name, key, data);
  assert_int_equal (queue->n_names, n + 1);
  assert_null (queue->names[n + 1]);
  while (queue->names[at] != name)
    at++;
  assert_true (at == 0 || strcmp (key (queue->names[at - 1], data), own) <= 0);
  assert_true (at == n || strcmp (key (queue->names[at + 1], data), own) > 0);
}

static void
check_case (GRand *rand, Case *c, guint *n_irregular)
{
  static const char *const inserted[] = { "lock-", "lock-00000000015", "node" };
  const char *names[MAX_CHILDREN + 1];
  gboolean irregular = FALSE;
  const gsize n_foreign = oracle_judge (c, &irregular);
  const CuratorQueueKeyFunc key = key_funcs[c->kind];
  g_auto (CuratorQueue) queue = { 0 };
  g_auto (CuratorQueue) shuffled = { 0 };

  for (gsize i = 0; i < c->n; i++)
    names[i] = c->children[i].name;
  curator_queue_init (&queue, names, c->n, key, key_data (c->kind));
  assert_int_equal (queue.n_foreign, n_foreign);
  assert_int_equal (queue.n_names, c->n - n_foreign);
  assert_int_equal (queue.irregular, irregular);
  assert_int_equal (queue.first_foreign != NULL, n_foreign > 0);
  assert_int_equal (curator_queue_index_of (&queue, "lock-0000000099"), -1);
  check_places (c, &queue);

  /* The server lists in any order; the result must not depend on it. */
  shuffle (rand, names, c->n);
  curator_queue_init (&shuffled, names, c->n, key, key_data (c->kind));
  for (gsize i = 0; i < queue.n_names; i++)
    assert_ptr_equal (queue.names[i], shuffled.names[i]);
  check_insert (&queue, c->kind, inserted[g_rand_int_range (rand, 0, G_N_ELEMENTS (inserted))]);
  curator_queue_clear (&queue);
  *n_irregular += irregular ? 1 : 0;
}

TEST (test_p6_random_against_the_oracle)
{
  g_autoptr (GRand) rand = unit_rand_new (__func__);
  guint n_irregular = 0;

  for (int i = 0; i < 100000; i++) {
    Case c;

    make_case (rand, &c);
    check_case (rand, &c, &n_irregular);
  }
  /* Both kinds of cases must occur. */
  assert_true (n_irregular > 10000 && n_irregular < 90000);
}

/* A number is valid only if it prints back to the same text, also with a byte changed, left out or
 * added, or cut short. */
TEST (test_random_numbers)
{
  g_autoptr (GRand) rand = unit_rand_new (__func__);

  for (int i = 0; i < 1000000; i++) {
    const gint64 value = (gint64) (gint32) g_rand_int (rand) * 4 >> g_rand_int_range (rand, 0, 33);
    gint64 number = 77;
    gint64 expected;
    char key[32];

    g_snprintf (key, sizeof key, "%010" G_GINT64_FORMAT, value);
    const gsize length = strlen (key);
    const gsize at = (gsize) g_rand_int_range (rand, 0, (gint32) length);
    const int how = g_rand_int_range (rand, 0, 5);
    if (how == 1)
      memmove (key + at, key + at + 1, length - at);
    else if (how == 2)
      memmove (key + at + 1, key + at, length - at + 1);
    if (how == 2 || how == 3)
      key[at] = "0123456789-+ x"[g_rand_int_range (rand, 0, 14)];
    else if (how == 4)
      key[at] = '\0';
    const gboolean is_number = oracle_is_number (key, &expected);
    assert_int_equal (curator_queue_parse_number (key, &number), is_number);
    assert_int_equal (curator_queue_parse_number (key, NULL), is_number);
    assert_true (number == (is_number ? expected : 77));
  }
}

SUITE ("queue", NULL, NULL)
