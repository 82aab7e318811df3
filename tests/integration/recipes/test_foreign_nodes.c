/* Nodes that other programs made, by their own rules or with a number that no counter gave. */
#include "integration/fixture.h"

#include <string.h>

/* Well-formed nodes of other programs do count, with any prefix before the lock's name. */
CLIENT_TEST (test_nodes_of_other_clients)
{
  static const char *const prefixes[] = { "lock-", "_c_0123456789abcdef0123456789abcdef-lock-",
                                          "_c_01234567-89ab-4def-8123-456789abcdef-lock-" };
  g_autoptr (CuratorLock) lock = mutex_new (client, "/foreign/others");
  raw_zk_make_path (fixture->raw, "/foreign/others");
  for (gsize i = 0; i < G_N_ELEMENTS (prefixes); i++) {
    g_autofree char *path = g_strconcat ("/foreign/others/", prefixes[i], NULL);
    g_autofree char *created = NULL;
    assert_int_equal (raw_zk_create (fixture->raw, path, "", ZOO_EPHEMERAL_SEQUENTIAL, &created),
                      ZOK);
    g_autoptr (Contender) waiter = contender_start (lock, LONG_MS, NULL);
    assert_children (fixture, "/foreign/others", 2, LONG_MS);
    wait_ms (100);
    assert_false (contender_has_returned (waiter));
    assert_int_equal (raw_zk_delete (fixture->raw, created), ZOK);
    contender_assert_granted (waiter);
  }
}

/* A lock of each kind, and where its queue is. The numbers are those of nodes that the server
 * counts. */
typedef struct
{
  const char *queue; /* below the lock's path */
  const char *name;  /* of the queue's nodes */
  KindNew lock;
} Numbered;

static const Numbered numbered[] = { { "", "lock-", mutex_new },
                                     { "", "__WRIT__", writer_new },
                                     { "/locks", "lock-", semaphore_mutex_new } };

/* Where a node of that number is, which anybody can create, beside contenders of the next
 * numbers. */
typedef enum
{
  AHEAD, /* of all */
  TIED,  /* with the next contender, which gets no place, and ahead of those after it */
  BEHIND
} Place;

static const struct
{
  const char *number;
  Place place;
} forged[] = { { "-2147483648", AHEAD }, { "-000000001", AHEAD },  { "0000000000", AHEAD },
               { "0000000002", TIED },   { "0000000009", BEHIND }, { "2147418112", BEHIND },
               { "2147483647", BEHIND } };

/* Another node has the number of the contender: its message says so, and speaks of no end of a
 * counter. */
static void
assert_is_tied (Contender *contender, const char *twin)
{
  assert_true (contender_wait (contender, LONG_MS));
  contender_join (contender);
  assert_false (contender->acquired);
  print_message ("tied: %s\n", contender->error->message);
  assert_non_null (strstr (contender->error->message, twin));
  assert_null (strstr (contender->error->message, "exhausted"));
  assert_curator_error (&contender->error, CURATOR_ERROR_SEQUENCE_EXHAUSTED);
}

/* The path's first node has the number 0 and is gone, the forged one is the second: the contenders
 * of the test get 2 and more. */
static void
beside_a_forged_node (Fixture *fixture, CuratorClient *client, guint kind, guint i, int mode)
{
  g_autofree char *base = g_strdup_printf ("/foreign/forged/%u-%u-%d", kind, i, mode);
  g_autofree char *queue = g_strconcat (base, numbered[kind].queue, NULL);
  g_autofree char *name = g_strconcat ("_c_01234567-89ab-4def-8123-456789abcdef-",
                                       numbered[kind].name, forged[i].number, NULL);
  g_autofree char *path = g_strconcat (queue, "/", name, NULL);
  g_autoptr (CuratorLock) lock = numbered[kind].lock (client, base);

  print_message ("%s (%s)\n", path, mode == ZOO_EPHEMERAL ? "ephemeral" : "persistent");
  raw_zk_make_path (fixture->raw, queue);
  assert_acquired (lock);
  assert_released (lock);
  assert_children (fixture, queue, 0, LONG_MS);
  assert_int_equal (raw_zk_create (fixture->raw, path, "", mode, NULL), ZOK);
  if (forged[i].place == TIED) {
    g_autoptr (Contender) tied = contender_start (lock, LONG_MS, NULL);
    assert_is_tied (tied, name);
    assert_children (fixture, queue, 1, LONG_MS);
  }
  g_autoptr (Contender) next = contender_start (lock, LONG_MS, NULL);
  if (forged[i].place != BEHIND) {
    assert_children (fixture, queue, 2, LONG_MS);
    assert_false (contender_has_returned (next));
    assert_int_equal (raw_zk_delete (fixture->raw, path), ZOK);
  }
  contender_assert_granted (next);
  g_autoptr (Contender) last = contender_start (lock, LONG_MS, NULL);
  contender_join (next);
  contender_assert_granted (last);
  contender_join (last);
  if (forged[i].place == BEHIND)
    assert_int_equal (raw_zk_delete (fixture->raw, path), ZOK);
}

/* A number that the counter of the path did not give takes no lock from anybody, and is not taken
 * for the counter's end. */
CLIENT_TEST (test_p7_forged_numbers)
{
  for (guint kind = 0; kind < G_N_ELEMENTS (numbered); kind++)
    for (guint i = 0; i < G_N_ELEMENTS (forged); i++) {
      beside_a_forged_node (fixture, client, kind, i, ZOO_PERSISTENT);
      beside_a_forged_node (fixture, client, kind, i, ZOO_EPHEMERAL);
    }
}

SUITE ("foreign nodes", fixture_start_calm, fixture_stop)
