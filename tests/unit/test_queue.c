/* The order of the queue: examples, and random cases against a slow oracle that follows Java's
 * code. */
#include "unit.h"

#include "lock/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UUID "_c_01234567-89ab-cdef-0123-456789abcdef-"

static const char *
lock_key (const char *name, gpointer user_data)
{
  return curator_queue_standard_key (name, user_data);
}

/* Of the read-write lock: behind __READ__, and of that what is behind __WRIT__. */
static const char *
read_write_key (const char *name, gpointer user_data)
{
  return curator_queue_standard_key (curator_queue_standard_key (name, "__READ__"), "__WRIT__");
}

static void
check_names (const CuratorQueue *queue, const char *const *expected)
{
  gsize n = g_strv_length ((char **) expected);

  assert_int_equal (queue->n_names, n);
  for (gsize i = 0; i < n; i++)
    {
      assert_string_equal (queue->names[i], expected[i]);
      assert_int_equal (curator_queue_index_of (queue, expected[i]), i);
    }
}

TEST (test_parse_number)
{
  static const struct
  {
    const char *key;
    gint64 number;
  } good[] = {
    { "0000000000", 0 },           { "0000000042", 42 },         { "2147483647", 2147483647 },
    { "-000000001", -1 },          { "-999999999", -999999999 }, { "-1000000000", -1000000000 },
    { "-2147483648", G_MININT32 },
  };
  static const char *const bad[] = { "",
                                     "0",
                                     "000000001",
                                     "00000000001",
                                     "2147483648",
                                     "9999999999",
                                     "-0000000001",
                                     "-2147483649",
                                     "-000000000",
                                     "-00000001",
                                     "-",
                                     "+000000001",
                                     " 000000001",
                                     "000000001 ",
                                     "0000000001x",
                                     "x0000000001",
                                     "00000x0001",
                                     "0x00000001",
                                     "\xd9\xa1/0000000",
                                     "0000000000000000000000000000000000000000000001" };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      gint64 number = 77;

      assert_true (curator_queue_parse_number (good[i].key, &number));
      assert_true (number == good[i].number);
      assert_true (curator_queue_parse_number (good[i].key, NULL));
    }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      gint64 number = 77;

      if (curator_queue_parse_number (bad[i], &number))
        fail_msg ("\"%s\" was accepted", bad[i]);
      assert_true (number == 77);
    }
}

TEST (test_p6_standard_key)
{
  assert_string_equal (curator_queue_standard_key (UUID "lock-0000000007", "lock-"), "0000000007");
  assert_string_equal (curator_queue_standard_key ("lock-lock-0000000007", "lock-"), "0000000007");
  assert_string_equal (curator_queue_standard_key ("lock-", "lock-"), "");
  assert_string_equal (curator_queue_standard_key ("other", "lock-"), "other");
  assert_string_equal (curator_queue_standard_key ("", "lock-"), "");
  assert_string_equal (curator_queue_standard_key ("x1", ""), "x1");
}

/* Names as Curator, an older Curator and go-zookeeper write them. */
TEST (test_p6_order_of_a_mutex)
{
  static const char *const children[] = {
    UUID "lock-0000000010",
    "_c_00000000-0000-4000-8000-000000000000-lock-0000000011",
    "lock-0000000009",
    "_c_0123456789abcdef0123456789abcdef-lock-0000000002",
  };
  static const char *const expected[] = {
    "_c_0123456789abcdef0123456789abcdef-lock-0000000002",
    "lock-0000000009",
    UUID "lock-0000000010",
    "_c_00000000-0000-4000-8000-000000000000-lock-0000000011",
    NULL,
  };
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, children, G_N_ELEMENTS (children), lock_key, (gpointer) "lock-");
  check_names (&queue, expected);
  assert_int_equal (queue.n_foreign, 0);
  assert_null (queue.first_foreign);
  assert_false (queue.irregular);
  assert_int_equal (curator_queue_index_of (&queue, "lock-0000000008"), -1);
}

/* Each of these blocks a Java mutex forever, or may. */
TEST (test_p8_foreign_children_are_left_out)
{
  static const char *const children[] = { "0",
                                          "lock-",
                                          "zlock-0",
                                          "0000000001",
                                          UUID "lock-0000000005",
                                          "aaa",
                                          "__lock__0000000001",
                                          "lock-0000000001x",
                                          "\xff\xfe-lock-1",
                                          "" };
  static const char *const expected[] = { UUID "lock-0000000005", NULL };
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, children, G_N_ELEMENTS (children), lock_key, (gpointer) "lock-");
  check_names (&queue, expected);
  assert_int_equal (queue.n_foreign, G_N_ELEMENTS (children) - 1);
  assert_ptr_equal (queue.first_foreign, children[0]);
  assert_false (queue.irregular);
}

TEST (test_p8_any_bytes_of_any_length)
{
  g_autofree char *long_name = g_strdup_printf ("%s%0290d%s", "_c_", 0, "-lock-0000000003");
  const char *children[] = { long_name, "\xff\xc3(\x01%n-lock-0000000002", "\xff\xfe" };
  const char *expected[] = { children[1], children[0], NULL };
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, children, G_N_ELEMENTS (children), lock_key, (gpointer) "lock-");
  check_names (&queue, expected);
  assert_int_equal (queue.n_foreign, 1);
  assert_ptr_equal (queue.first_foreign, children[2]);
}

TEST (test_empty)
{
  CuratorQueue queue;

  curator_queue_init (&queue, NULL, 0, lock_key, (gpointer) "lock-");
  assert_int_equal (queue.n_names, 0);
  assert_int_equal (curator_queue_index_of (&queue, "x"), -1);
  assert_false (queue.irregular);
  curator_queue_clear (&queue);
  curator_queue_clear (&queue);
}

static const char *
no_key (const char *name, gpointer user_data)
{
  return NULL;
}

TEST (test_a_driver_may_know_no_key)
{
  static const char *const children[] = { "lock-0000000001" };
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, children, 1, no_key, NULL);
  assert_int_equal (queue.n_names, 0);
  assert_int_equal (queue.n_foreign, 1);
}

static gboolean
is_irregular (const char *const *children, CuratorQueueKeyFunc key)
{
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, children, g_strv_length ((char **) children), key,
                      (gpointer) "lock-");
  assert_int_equal (queue.n_names, g_strv_length ((char **) children));
  return queue.irregular;
}

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST (test_p7_end_of_the_counter)
{
  G_STATIC_ASSERT (CURATOR_QUEUE_LAST_NUMBER == 2147418111);
  assert_false (is_irregular (NAMES ("lock-2147418111"), lock_key));
  assert_true (is_irregular (NAMES ("lock-2147418112"), lock_key));
  assert_true (is_irregular (NAMES ("lock-0000000001", "lock-2147483647"), lock_key));
  assert_true (is_irregular (NAMES ("lock--000000001"), lock_key));
  assert_true (is_irregular (NAMES ("lock-0000000001", "lock--2147483648"), lock_key));
}

TEST (test_ties)
{
  assert_true (is_irregular (NAMES ("a-lock-0000000001", "b-lock-0000000001"), lock_key));
  assert_true (is_irregular (NAMES ("a__WRIT__0000000001", "b__WRIT__0000000001"), read_write_key));
  /* A writer that became a reader, before and after it released the write lock; and one whose first
   * read node was left over when an answer was lost. */
  assert_false (
      is_irregular (NAMES ("a__READ__0000000001", "b__WRIT__0000000001"), read_write_key));
  assert_false (is_irregular (
      NAMES ("a__READ__0000000001", "b__READ__0000000001", "c__WRIT__0000000001"), read_write_key));
  assert_false (
      is_irregular (NAMES ("a__READ__0000000001", "b__READ__0000000001"), read_write_key));
  assert_true (is_irregular (
      NAMES ("a__WRIT__0000000001", "b__READ__0000000001", "c__WRIT__0000000001"), read_write_key));
}

/* A custom driver: any text before the last ten bytes. */
static const char *
tail_key (const char *name, gpointer user_data)
{
  return name + strlen (name) - MIN (strlen (name), 10);
}

TEST (test_ties_of_other_kinds)
{
  assert_true (is_irregular (NAMES ("a-mine-0000000001", "b__READ__0000000001"), tail_key));
  assert_true (is_irregular (NAMES ("a__WRIT__0000000001", "b-mine-0000000001"), tail_key));
  assert_false (is_irregular (NAMES ("a-mine-0000000001", "b__READ__0000000002"), tail_key));
}

TEST (test_p9_order_of_a_downgrade)
{
  static const char *const children[] = { "c__WRIT__0000000006", "a__READ__0000000005",
                                          "b__WRIT__0000000005" };
  static const char *const expected[] = { "b__WRIT__0000000005", "a__READ__0000000005",
                                          "c__WRIT__0000000006", NULL };
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, children, G_N_ELEMENTS (children), read_write_key, NULL);
  check_names (&queue, expected);
  assert_false (queue.irregular);
}

/* Java: "-" sorts before the digits, and negative numbers by their text. */
TEST (test_p7_order_of_negative_numbers)
{
  static const char *const children[] = {
    "lock-0000000000",  "lock--000000002", "lock--2147483648",
    "lock--1000000000", "lock--000000001", "lock--999999999"
  };
  static const char *const expected[] = { "lock--000000001",
                                          "lock--000000002",
                                          "lock--1000000000",
                                          "lock--2147483648",
                                          "lock--999999999",
                                          "lock-0000000000",
                                          NULL };
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, children, G_N_ELEMENTS (children), lock_key, (gpointer) "lock-");
  check_names (&queue, expected);
  assert_true (queue.irregular);
}

/* Who shares its number with whom, of those that Java and we need not order alike. */
TEST (test_only_the_nodes_with_such_a_number_have_no_place)
{
  static const char *const children[] = { "a-lock-0000000001", "b-lock-0000000002",
                                          "c-lock-0000000002", "d-lock-0000000003",
                                          "e-lock-2147483647", "f-lock--2147483648" };
  static const char *const twins[] = { NULL, NULL, "c-lock-0000000002", "b-lock-0000000002",
                                       NULL, NULL };
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, children, G_N_ELEMENTS (children), lock_key, (gpointer) "lock-");
  assert_string_equal (queue.names[0], children[5]);
  for (gsize i = 0; i < queue.n_names; i++)
    {
      const char *twin = curator_queue_twin_of (&queue, i);
      assert_int_equal (curator_queue_is_exhausted (&queue, i), i == 0 || i == 5);
      assert_int_equal (twin == NULL, twins[i] == NULL);
      if (twin != NULL)
        assert_string_equal (twin, twins[i]);
    }
}

/* The oracle: Java's result, computed the slow way. */

#define MAX_CHILDREN 16
#define MAX_NAME     96

typedef struct
{
  char name[MAX_NAME];
  const char *key; /* NULL: foreign */
} Child;

static const char *
oracle_key (const char *name, const char *lock_name)
{
  const char *found = NULL;

  for (const char *c = name; *c != '\0'; c++)
    found = strncmp (c, lock_name, strlen (lock_name)) == 0 ? c + strlen (lock_name) : found;
  return found;
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
oracle_is_read_write (const char *name, const char *kind)
{
  return g_str_has_prefix (name, kind);
}

typedef struct
{
  Child children[MAX_CHILDREN];
  gsize n;
  gboolean read_write;
} Case;

/* Names of a fixed form, so that the oracle can distinguish the kinds by their first letters: the
 * prefix of the lock name is "R", "W" or "L" and random letters without an underscore. */
static void
make_child (GRand *rand, Case *c, Child *child)
{
  static const char *const separators[] = { "__READ__", "__WRIT__" };
  static const char *const odd[] = {
    "0", "lock-", "zlock-0", "0000000001", "x", "\xff\xfe", "lock"
  };
  char number[16];
  int kind = g_rand_int_range (rand, 0, 2);

  if (g_rand_int_range (rand, 0, 12) == 0)
    {
      g_strlcpy (child->name, odd[g_rand_int_range (rand, 0, (gint32) G_N_ELEMENTS (odd))],
                 sizeof child->name);
      return;
    }
  switch (g_rand_int_range (rand, 0, 40))
    {
    case 0:
      g_snprintf (number, sizeof number, "%010d", (gint32) g_rand_int (rand));
      break;
    case 1:
      g_snprintf (number, sizeof number, "%d", g_rand_int_range (rand, 0, 100));
      break;
    case 2:
      g_snprintf (number, sizeof number, "%010d",
                  (gint32) (CURATOR_QUEUE_LAST_NUMBER + g_rand_int_range (rand, -2, 3)));
      break;
    default:
      g_snprintf (number, sizeof number, "%010d", g_rand_int_range (rand, 0, 60));
      break;
    }
  g_snprintf (child->name, sizeof child->name, "%c%x%s%s", c->read_write ? "RW"[kind] : 'L',
              g_rand_int (rand), c->read_write ? separators[kind] : "-lock-", number);
}

/* Whether two children may have the same number. */
static gboolean
oracle_tie_is_legal (const Case *c, const char *key)
{
  guint n_writers = 0;

  for (gsize i = 0; i < c->n; i++)
    {
      if (c->children[i].key != NULL && strcmp (c->children[i].key, key) == 0)
        {
          if (!c->read_write)
            return FALSE;
          n_writers += oracle_is_read_write (c->children[i].name, "W") ? 1 : 0;
        }
    }
  return n_writers <= 1;
}

static gsize
oracle_count (const Case *c, const char *key)
{
  gsize n = 0;

  for (gsize i = 0; i < c->n; i++)
    n += c->children[i].key != NULL && strcmp (c->children[i].key, key) == 0 ? 1 : 0;
  return n;
}

/* Fills the keys; returns the number of foreign children and whether a number is irregular. */
static gsize
oracle_judge (Case *c, gboolean *irregular)
{
  gsize n_foreign = 0;

  *irregular = FALSE;
  for (gsize i = 0; i < c->n; i++)
    {
      Child *child = &c->children[i];
      gint64 number = 0;

      child->key = c->read_write ? oracle_key (child->name, "__READ__") : NULL;
      child->key = child->key == NULL
                       ? oracle_key (child->name, c->read_write ? "__WRIT__" : "lock-")
                       : child->key;
      if (child->key == NULL || !oracle_is_number (child->key, &number))
        {
          child->key = NULL;
          n_foreign++;
        }
      else if (number < 0 || number > G_MAXINT32 - 65536)
        {
          *irregular = TRUE;
        }
    }
  for (gsize i = 0; i < c->n; i++)
    {
      const char *key = c->children[i].key;

      if (key != NULL && oracle_count (c, key) > 1 && !oracle_tie_is_legal (c, key))
        *irregular = TRUE;
    }
  return n_foreign;
}

/* No later entry has a smaller key, nor is a writer with the same key; every child occurs once. */
static void
check_order (const Case *c, const CuratorQueue *queue)
{
  for (gsize i = 0; i < c->n; i++)
    {
      gssize at = curator_queue_index_of (queue, c->children[i].name);

      assert_int_equal (at >= 0, c->children[i].key != NULL);
      for (gsize j = 0; at >= 0 && j < c->n; j++)
        {
          gssize other = curator_queue_index_of (queue, c->children[j].name);
          if (other < 0 || i == j)
            continue;
          int order = strcmp (c->children[i].key, c->children[j].key);
          assert_int_not_equal (at, other);
          assert_true (order == 0 || (order < 0) == (at < other));
          assert_true (order != 0 || !c->read_write || c->children[i].name[0] != 'W'
                       || c->children[j].name[0] != 'R' || at < other);
        }
    }
}

/* Only a node with such a number itself has no place. */
static void
check_places (const Case *c, const CuratorQueue *queue)
{
  for (gsize i = 0; i < c->n; i++)
    {
      const Child *child = &c->children[i];
      const gssize at = curator_queue_index_of (queue, child->name);
      gint64 number = 0;

      if (at < 0)
        continue;
      assert_true (oracle_is_number (child->key, &number));
      assert_int_equal (curator_queue_is_exhausted (queue, (gsize) at),
                        number < 0 || number > G_MAXINT32 - 65536);
      const char *twin = curator_queue_twin_of (queue, (gsize) at);
      assert_int_equal (twin != NULL, !curator_queue_is_exhausted (queue, (gsize) at)
                                          && oracle_count (c, child->key) > 1
                                          && !oracle_tie_is_legal (c, child->key));
      assert_true (twin == NULL
                   || (strcmp (twin, child->name) != 0 && g_str_has_suffix (twin, child->key)));
    }
}

static gboolean
has_twin (const Case *c, gsize i)
{
  for (gsize j = 0; j < i; j++)
    if (strcmp (c->children[i].name, c->children[j].name) == 0)
      return TRUE;
  return FALSE;
}

static void
make_case (GRand *rand, Case *c)
{
  c->read_write = g_rand_boolean (rand);
  c->n = (gsize) g_rand_int_range (rand, 0, MAX_CHILDREN + 1);
  for (gsize i = 0; i < c->n; i++)
    do
      {
        make_child (rand, c, &c->children[i]);
      }
    while (has_twin (c, i));
}

static void
shuffle (GRand *rand, const char **names, gsize n)
{
  for (gsize i = n; i > 1; i--)
    {
      gsize j = (gsize) g_rand_int_range (rand, 0, (gint32) i);
      const char *name = names[i - 1];

      names[i - 1] = names[j];
      names[j] = name;
    }
}

static void
check_case (GRand *rand, Case *c, guint *n_irregular)
{
  const char *names[MAX_CHILDREN + 1];
  gboolean irregular = FALSE;
  gsize n_foreign = oracle_judge (c, &irregular);
  CuratorQueueKeyFunc key = c->read_write ? read_write_key : lock_key;
  g_auto (CuratorQueue) queue = { 0 };
  g_auto (CuratorQueue) shuffled = { 0 };

  for (gsize i = 0; i < c->n; i++)
    names[i] = c->children[i].name;
  curator_queue_init (&queue, names, c->n, key, (gpointer) "lock-");
  assert_int_equal (queue.n_foreign, n_foreign);
  assert_int_equal (queue.n_names, c->n - n_foreign);
  assert_int_equal (queue.irregular, irregular);
  assert_int_equal (queue.first_foreign != NULL, n_foreign > 0);
  check_order (c, &queue);
  check_places (c, &queue);

  /* The server lists in any order; the result must not depend on it. */
  shuffle (rand, names, c->n);
  curator_queue_init (&shuffled, names, c->n, key, (gpointer) "lock-");
  for (gsize i = 0; i < queue.n_names; i++)
    assert_ptr_equal (queue.names[i], shuffled.names[i]);
  *n_irregular += irregular ? 1 : 0;
}

TEST (test_p6_random_against_the_oracle)
{
  g_autoptr (GRand) rand = unit_rand_new (__func__);
  guint n_irregular = 0;

  for (int i = 0; i < 100000; i++)
    {
      Case c;

      make_case (rand, &c);
      check_case (rand, &c, &n_irregular);
    }
  /* Both kinds of cases must occur. */
  assert_true (n_irregular > 10000 && n_irregular < 90000);
}

TEST (test_random_numbers)
{
  g_autoptr (GRand) rand = unit_rand_new (__func__);

  for (int i = 0; i < 1000000; i++)
    {
      gint32 expected = (gint32) g_rand_int (rand) >> g_rand_int_range (rand, 0, 31);
      gint64 number = 0;
      char key[16];

      g_snprintf (key, sizeof key, "%010d", expected);
      assert_true (curator_queue_parse_number (key, &number));
      assert_true (number == expected);
      /* Changes one byte: a number is valid only if it prints back to the same text. */
      key[g_rand_int_range (rand, 0, 10)] = "0123456789-+ x"[g_rand_int_range (rand, 0, 14)];
      gint64 changed = 0;
      assert_int_equal (curator_queue_parse_number (key, NULL), oracle_is_number (key, &changed));
    }
}

/* Every hand-off lists the whole queue, so sorting has to be quick; the bound is for slow
 * machines. */
TEST (test_p10_many_children)
{
  const gsize n = 5000;
  g_autoptr (GRand) rand = unit_rand_new (__func__);
  g_autofree const char **names = g_new0 (const char *, n);

  for (gsize i = 0; i < n; i++)
    names[i] = g_strdup_printf (UUID "lock-%010d", (int) i);
  shuffle (rand, names, n);
  gint64 start = g_get_monotonic_time ();
  for (int i = 0; i < 20; i++)
    {
      g_auto (CuratorQueue) queue = { 0 };
      gint64 number = -1;

      curator_queue_init (&queue, names, n, lock_key, (gpointer) "lock-");
      assert_int_equal (queue.n_names, n);
      assert_true (curator_queue_parse_number (strrchr (queue.names[4321], '-') + 1, &number));
      assert_true (number == 4321);
    }
  gint64 each_us = (g_get_monotonic_time () - start) / 20;
  print_message ("%" G_GSIZE_FORMAT " children: %" G_GINT64_FORMAT " us\n", n, each_us);
  assert_true (each_us < 200 * 1000);
  for (gsize i = 0; i < n; i++)
    g_free ((char *) names[i]);
}

/* A name without a number goes where Java's String.compareTo of the keys puts it. */
TEST (test_insert)
{
  static const char *const children[] = { "a-lock-0000000002", "b-lock-0000000001", NULL };
  static const char *const first[] = { "lock-", "b-lock-0000000001", "a-lock-0000000002", NULL };
  static const char *const middle[] = { "b-lock-0000000001", "lock-00000000015",
                                        "a-lock-0000000002", NULL };
  static const char *const last[] = { "b-lock-0000000001", "a-lock-0000000002", "node", NULL };
  static const char *const *const expected[] = { first, middle, last };
  static const char *const names[] = { "lock-", "lock-00000000015", "node" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_auto (CuratorQueue) queue = { 0 };
      g_auto (CuratorQueue) empty = { 0 };
      curator_queue_init (&queue, children, 2, lock_key, (gpointer) "lock-");
      curator_queue_insert (&queue, names[i], lock_key, (gpointer) "lock-");
      assert_int_equal (queue.n_names, 3);
      for (gsize k = 0; k < 3; k++)
        assert_string_equal (queue.names[k], expected[i][k]);
      assert_null (queue.names[3]);
      curator_queue_init (&empty, children, 0, lock_key, (gpointer) "lock-");
      curator_queue_insert (&empty, names[i], lock_key, (gpointer) "lock-");
      assert_int_equal (empty.n_names, 1);
      assert_string_equal (empty.names[0], names[i]);
    }
}

SUITE ("queue", NULL, NULL)
