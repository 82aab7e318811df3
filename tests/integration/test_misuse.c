/* Bad arguments, and foreign names among the lock nodes. */
#include "fixture.h"

#include <string.h>

static void
test_bad_paths (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autofree char *long_path = g_strnfill (5000, 'a');
  long_path[0] = '/';
  const char *const paths[] = { "",
                                "a",
                                "/a/",
                                "//a",
                                "/a//b",
                                "/",
                                "/a/../b",
                                "/a/./b",
                                "/..",
                                "/a\x01",
                                "/a\x7f",
                                "/\xff\xfe",
                                "/a\xed\xa0\x80",
                                "/zookeeper/quota",
                                long_path };
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorLock) lock = curator_mutex_new (client, paths[i], &error);
      if (lock != NULL)
        fail_msg ("path %zu should have been refused", i);
      assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
    }
}

static void
test_bad_connect_strings (void **state)
{
  static const char *const strings[] = { "",
                                         ",",
                                         ":2181",
                                         "127.0.0.1:0",
                                         "127.0.0.1:70000",
                                         "127.0.0.1:-1",
                                         "127.0.0.1:x",
                                         "127.0.0.1:2181/a/",
                                         "127.0.0.1:2181//a",
                                         "127.0.0.1:2181/a/../b",
                                         "[::1:2181" };
  for (gsize i = 0; i < G_N_ELEMENTS (strings); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorClient) client = client_new (strings[i]);
      if (curator_client_start (client, &error))
        fail_msg ("connect string \"%s\" should have been refused", strings[i]);
      assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
    }
}

static void
test_bad_settings (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  static const char *const namespaces[] = { "a//b", "..", "a/../b", "a\x01" };
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  for (gsize i = 0; i < G_N_ELEMENTS (namespaces); i++)
    {
      assert_false (curator_client_set_namespace (client, namespaces[i], &error));
      assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
    }
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/misuse/timeout");
  assert_false (curator_lock_acquire (lock, -2, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_null (curator_mutex_new_with_driver (client, "/misuse/x", "a/b", 1, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_null (curator_mutex_new_with_driver (client, "/misuse/x", "lock-", 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
}

/* Credentials of a scheme that the server does not know: the handle fails, and every call and
 * listener gets the error. */
static void
test_p5_refused_credentials (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_add_auth (client, "nosuchscheme", "x", 1);
  assert_ok (curator_client_start (client, &error), &error);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/misuse/auth");
  g_autoptr (Contender) contender = contender_start (lock, CURATOR_WAIT_FOREVER, NULL);
  assert_true (contender_wait (contender, LONG_MS));
  assert_false (contender->acquired);
  assert_curator_error (&contender->error, CURATOR_ERROR_AUTH_FAILED);
  assert_false (curator_lock_acquire (lock, 1000, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_AUTH_FAILED);
  assert_false (curator_client_block_until_connected (client, 1000, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_AUTH_FAILED);
  assert_no_residue (fixture, "/misuse/auth", SESSION_MS + 2000);
}

typedef gboolean (*CallFunc) (CuratorClient *client, GError **error);

static gboolean
call_mutex (CuratorClient *client, GError **error)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/refused/mutex", NULL);
  return curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, error);
}

static gboolean
call_try (CuratorClient *client, GError **error)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/refused/try", NULL);
  return curator_lock_acquire (lock, 0, NULL, error);
}

static gboolean
call_inspect (CuratorClient *client, GError **error)
{
  g_autoptr (CuratorInspection) lock = curator_inspect (client, "/refused/look", 0, NULL, error);
  return lock != NULL;
}

static gboolean
call_inspect_all (CuratorClient *client, GError **error)
{
  g_autoptr (GPtrArray) all = curator_inspect_all (client, "/", NULL, NULL, 0, NULL, error);
  return all != NULL;
}

static gboolean
call_find_locks (CuratorClient *client, GError **error)
{
  gboolean complete;
  g_auto (GStrv) paths = curator_find_locks (client, "/", 0, &complete, 0, NULL, error);
  return paths != NULL;
}

static gboolean
call_participants (CuratorClient *client, GError **error)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/refused/look", NULL);
  g_auto (GStrv) nodes = curator_lock_get_participant_nodes (lock, 0, NULL, error);
  return nodes != NULL;
}

static gboolean
call_revoke (CuratorClient *client, GError **error)
{
  return curator_attempt_revoke (client, "/refused/look/node", 0, NULL, error);
}

static const struct
{
  const char *name;
  CallFunc run;
} calls[] = {
  { "acquire", call_mutex },         { "try", call_try },
  { "inspect", call_inspect },       { "inspect all", call_inspect_all },
  { "find locks", call_find_locks }, { "participants", call_participants },
  { "attempt revoke", call_revoke },
};

typedef struct
{
  CuratorClient *client;
  CallFunc run;
  gboolean succeeded;
  GError *error;
} Caller;

static gpointer
call (gpointer data)
{
  Caller *caller = data;
  caller->succeeded = caller->run (caller->client, &caller->error);
  return NULL;
}

/* The requests of every kind of call are under way when the server refuses. No call takes that for an
 * answer about a node, and none says that a lock is free. */
static void
test_refused_under_way (void **state)
{
  Fixture *fixture = *state;
  Caller callers[G_N_ELEMENTS (calls)] = { 0 };
  GThread *threads[G_N_ELEMENTS (calls)];
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));

  curator_client_add_auth (client, "nosuchscheme", "x", 1);
  proxy_arm (fixture->proxy, PROXY_AUTH, 1, 1, PROXY_HOLD_REQUEST);
  assert_ok (curator_client_start (client, &error), &error);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      callers[i] = (Caller){ .client = client, .run = calls[i].run };
      threads[i] = g_thread_new (calls[i].name, call, &callers[i]);
    }
  wait_ms (200);
  proxy_let_go (fixture->proxy);
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      g_thread_join (threads[i]);
      if (callers[i].succeeded)
        fail_msg ("%s succeeds", calls[i].name);
      print_message ("%s: %s\n", calls[i].name, callers[i].error->message);
      assert_curator_error (&callers[i].error, CURATOR_ERROR_AUTH_FAILED);
    }
  proxy_disarm (fixture->proxy);
  assert_no_residue (fixture, "/refused/mutex", SESSION_MS + 2000);
}

/* Foreign children are no contenders: they neither block nor crash, and they stay. */
static void
test_p8_foreign_children (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autofree char *very_long = g_strnfill (300, 'x');
  const char *const names[] = { "0",
                                "zzz",
                                "lock-",
                                "zlock-0",
                                "-",
                                "%n%s%n",
                                very_long,
                                "__WRIT__",
                                "lock--0000000001",
                                "lock-00000000x1",
                                "\xc3\xa4\xe2\x82\xac",
                                "_c_not-a-uuid-lock-",
                                "_c_" };
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/misuse/foreign");
  raw_zk_make_path (fixture->raw, "/misuse/foreign");
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_strconcat ("/misuse/foreign/", names[i], NULL);
      assert_int_equal (raw_zk_create (fixture->raw, path, "x", ZOO_PERSISTENT, NULL), ZOK);
    }
  /* Control characters and invalid UTF-8 cannot be tested: the server refuses them. */
  static const char *const refused[] = { "/misuse/foreign/\x1b[2J", "/misuse/foreign/\n",
                                         "/misuse/foreign/\xff\xfe" };
  for (gsize i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      assert_int_equal (
          raw_zk_create_unchecked (fixture_server (fixture), refused[i], strlen (refused[i])),
          ZBADARGUMENTS);
    }

  assert_ok (curator_lock_acquire (lock, 5000, NULL, &error), &error);
  g_autoptr (Contender) second = contender_start (lock, LONG_MS, NULL);
  assert_children (fixture, "/misuse/foreign", (int) G_N_ELEMENTS (names) + 2, LONG_MS);
  g_auto (GStrv) participants = curator_lock_get_participant_nodes (lock, 0, NULL, &error);
  assert_ok (participants != NULL, &error);
  assert_int_equal (g_strv_length (participants), 2);
  assert_ok (curator_lock_release (lock, 0, NULL, &error), &error);
  assert_true (contender_wait (second, 5000));
  assert_true (second->acquired);
  contender_join (second);
  assert_children (fixture, "/misuse/foreign", (int) G_N_ELEMENTS (names), 3000);
}

/* Well-formed nodes of other programs do count, with any prefix before the lock's name. */
static void
test_nodes_of_other_clients (void **state)
{
  Fixture *fixture = *state;
  static const char *const prefixes[] = { "lock-", "_c_0123456789abcdef0123456789abcdef-lock-",
                                          "_c_01234567-89ab-4def-8123-456789abcdef-lock-" };
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/misuse/others");
  raw_zk_make_path (fixture->raw, "/misuse/others");
  for (gsize i = 0; i < G_N_ELEMENTS (prefixes); i++)
    {
      g_autofree char *path = g_strconcat ("/misuse/others/", prefixes[i], NULL);
      g_autofree char *created = NULL;
      assert_int_equal (raw_zk_create (fixture->raw, path, "", ZOO_EPHEMERAL_SEQUENTIAL, &created),
                        ZOK);
      g_autoptr (Contender) waiter = contender_start (lock, LONG_MS, NULL);
      assert_children (fixture, "/misuse/others", 2, LONG_MS);
      wait_ms (100);
      assert_false (contender_has_returned (waiter));
      assert_int_equal (raw_zk_delete (fixture->raw, created), ZOK);
      assert_true (contender_wait (waiter, 5000));
      assert_true (waiter->acquired);
    }
}

/* A lock of each kind, and where its queue is. The numbers are those of nodes that the server counts. */
typedef struct
{
  const char *queue; /* below the lock's path */
  const char *name;  /* of the queue's nodes */
  CuratorLock *(*lock) (CuratorClient *client, const char *path);
} Numbered;

static CuratorLock *
writer_of (CuratorClient *client, const char *path)
{
  g_autoptr (CuratorRwLock) lock = curator_rw_lock_new (client, path, NULL, 0, NULL);
  return curator_lock_ref (curator_rw_lock_write_lock (lock));
}

static CuratorLock *
semaphore_mutex_of (CuratorClient *client, const char *path)
{
  return curator_semaphore_mutex_new (client, path, NULL);
}

static CuratorLock *
mutex_of (CuratorClient *client, const char *path)
{
  return mutex_new (client, path);
}

static const Numbered numbered[] = { { "", "lock-", mutex_of },
                                     { "", "__WRIT__", writer_of },
                                     { "/locks", "lock-", semaphore_mutex_of } };

/* Where a node of that number is, which anybody can create, beside contenders of the next numbers. */
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
} forged[] = { { "-2147483648", AHEAD }, { "-000000001", AHEAD }, { "0000000000", AHEAD },
               { "0000000002", TIED },   { "0000000009", BEHIND }, { "2147418112", BEHIND },
               { "2147483647", BEHIND } };

/* Another node has the number of the contender: its message says so, and speaks of no end of a counter. */
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

/* The path's first node has the number 0 and is gone, the forged one is the second: the contenders of the
 * test get 2 and more. */
static void
beside_a_forged_node (Fixture *fixture, CuratorClient *client, guint kind, guint i, int mode)
{
  g_autofree char *base = g_strdup_printf ("/misuse/forged/%u-%u-%d", kind, i, mode);
  g_autofree char *queue = g_strconcat (base, numbered[kind].queue, NULL);
  g_autofree char *name = g_strconcat ("_c_01234567-89ab-4def-8123-456789abcdef-",
                                       numbered[kind].name, forged[i].number, NULL);
  g_autofree char *path = g_strconcat (queue, "/", name, NULL);
  g_autoptr (CuratorLock) lock = numbered[kind].lock (client, base);
  g_autoptr (GError) error = NULL;

  print_message ("%s (%s)\n", path, mode == ZOO_EPHEMERAL ? "ephemeral" : "persistent");
  raw_zk_make_path (fixture->raw, queue);
  assert_ok (curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);
  assert_ok (curator_lock_release (lock, 0, NULL, &error), &error);
  assert_children (fixture, queue, 0, LONG_MS);
  assert_int_equal (raw_zk_create (fixture->raw, path, "", mode, NULL), ZOK);
  if (forged[i].place == TIED)
    {
      g_autoptr (Contender) tied = contender_start (lock, LONG_MS, NULL);
      assert_is_tied (tied, name);
      assert_children (fixture, queue, 1, LONG_MS);
    }
  g_autoptr (Contender) next = contender_start (lock, LONG_MS, NULL);
  if (forged[i].place != BEHIND)
    {
      assert_children (fixture, queue, 2, LONG_MS);
      assert_false (contender_has_returned (next));
      assert_int_equal (raw_zk_delete (fixture->raw, path), ZOK);
    }
  assert_true (contender_wait (next, LONG_MS));
  assert_true (next->acquired);
  g_autoptr (Contender) last = contender_start (lock, LONG_MS, NULL);
  contender_join (next);
  assert_true (contender_wait (last, LONG_MS));
  assert_true (last->acquired);
  contender_join (last);
  if (forged[i].place == BEHIND)
    assert_int_equal (raw_zk_delete (fixture->raw, path), ZOK);
}

/* A number that the counter of the path did not give takes no lock from anybody, and is not taken for
 * the counter's end. */
static void
test_p7_forged_numbers (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));

  for (guint kind = 0; kind < G_N_ELEMENTS (numbered); kind++)
    for (guint i = 0; i < G_N_ELEMENTS (forged); i++)
      {
        beside_a_forged_node (fixture, client, kind, i, ZOO_PERSISTENT);
        beside_a_forged_node (fixture, client, kind, i, ZOO_EPHEMERAL);
      }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_bad_paths),
    heal_and_test (test_bad_connect_strings),
    heal_and_test (test_bad_settings),
    heal_and_test (test_p5_refused_credentials),
    heal_and_test (test_refused_under_way),
    heal_and_test (test_p8_foreign_children),
    heal_and_test (test_nodes_of_other_clients),
    heal_and_test (test_p7_forged_numbers),
  };
  return cmocka_run_group_tests_name ("misuse", tests, fixture_start, fixture_stop);
}
