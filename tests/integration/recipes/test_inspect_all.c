/* Every lock of a tree, inspected again and again: what has changed is seen, and only that is read.
 * Questions about one lock that nobody waits for. */
#include "integration/fixture.h"

#include <string.h>

#define UUID "_c_00000000-0000-4000-8000-000000000000-"

static void
plant (Fixture *fixture, const char *path, const char *name)
{
  g_autofree char *node = g_strdup_printf ("%s/" UUID "%s", path, name);
  raw_zk_make_path (fixture->raw, path);
  assert_int_equal (raw_zk_create (fixture->raw, node, "label", ZOO_PERSISTENT_SEQUENTIAL, NULL),
                    0);
}

static GPtrArray *
look_at (CuratorClient *client, const char *path, GPtrArray *previous)
{
  g_autoptr (GError) error = NULL;
  gboolean complete = FALSE;
  GPtrArray *all = curator_client_inspect_all (client, path, previous, &complete,
                                               CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (all != NULL, &error);
  assert_true (complete);
  return all;
}

static GPtrArray *
look (CuratorClient *client, GPtrArray *previous)
{
  return look_at (client, "/all", previous);
}

/* The requests that the server has received from the client. */
static gint64
count_requests (Fixture *fixture, CuratorClient *client)
{
  FourLetterPackets packets;
  assert_true (four_letter_packets (fixture_server (fixture),
                                    curator_client_get_session_id (client), &packets));
  return packets.received;
}

/* The lock at that index is that one, read again or not. */
static void
assert_lock (GPtrArray *all, GPtrArray *previous, guint i, const char *path, guint n_waiting,
             gboolean is_same)
{
  const CuratorInspection *lock = g_ptr_array_index (all, i);

  assert_string_equal (curator_inspection_get_path (lock), path);
  assert_int_equal (curator_inspection_get_n_waiting (lock), n_waiting);
  assert_int_equal (g_ptr_array_find (previous, lock, NULL), is_same);
}

CLIENT_TEST (only_changes_are_read)
{
  plant (fixture, "/all/mutex", "lock-");
  plant (fixture, "/all/deep/rw", "__WRIT__");
  plant (fixture, "/all/sem/leases", "lease-");
  g_autoptr (GPtrArray) first = look (client, NULL);
  assert_int_equal (first->len, 3);
  g_autoptr (GPtrArray) second = look (client, first);
  assert_lock (second, first, 0, "/all/deep/rw", 0, TRUE);
  assert_lock (second, first, 1, "/all/mutex", 0, TRUE);
  assert_lock (second, first, 2, "/all/sem", 0, TRUE);

  /* A waiter, a turn of a semaphore, a new lock, and one that is gone. */
  plant (fixture, "/all/mutex", "lock-");
  plant (fixture, "/all/sem/locks", "lock-");
  plant (fixture, "/all/new", "lock-");
  raw_zk_delete_tree (fixture->raw, "/all/deep");
  g_autoptr (GPtrArray) third = look (client, second);
  assert_int_equal (third->len, 3);
  assert_lock (third, second, 0, "/all/mutex", 1, FALSE);
  assert_lock (third, second, 1, "/all/new", 0, FALSE);
  assert_lock (third, second, 2, "/all/sem", 1, FALSE);
  g_autoptr (GPtrArray) fourth = look (client, third);
  assert_lock (fourth, third, 0, "/all/mutex", 1, TRUE);
  assert_lock (fourth, third, 2, "/all/sem", 1, TRUE);
}

/* Fifty participants cost nothing while none of them changes. */
CLIENT_TEST (one_request_for_each_path)
{
  raw_zk_make_path (fixture->raw, "/crowd/lock");
  assert_int_equal (raw_zk_create_many (fixture->raw, "/crowd/lock", UUID "lock-", 50), 0);
  g_autoptr (GPtrArray) first = look_at (client, "/crowd", NULL);
  const gint64 before = count_requests (fixture, client);
  g_autoptr (GPtrArray) second = look_at (client, "/crowd", first);
  const gint64 after = count_requests (fixture, client);
  assert_ptr_equal (g_ptr_array_index (second, 0), g_ptr_array_index (first, 0));
  /* Two paths; pings may come in between. */
  assert_in_range (after - before, 2, 10);
}

/* Looks until one costs a request or two: pings and confirmations of watches may come in
 * between. */
static GPtrArray *
look_until_quiet (Fixture *fixture, CuratorClient *client, GPtrArray *previous)
{
  for (int i = 0; i < 20; i++) {
    const gint64 before = count_requests (fixture, client);
    GPtrArray *next = look (client, previous);
    g_ptr_array_unref (previous);
    previous = next;
    if (count_requests (fixture, client) - before <= 3)
      return previous;
    wait_ms (50);
  }
  fail_msg ("looks at an unchanged tree cost a request for each path");
  return previous;
}

/* Each deletes what is at the first path, plants a node at the second, deletes what is at the third
 * and makes it as an empty lock. */
static const struct
{
  const char *deleted;
  const char *planted; /* the round comes in at a %d */
  const char *name;
  const char *emptied;
} changes[] = {
  { NULL, "/all/mutex-1", "lock-", NULL },
  { NULL, "/all/sem/locks", "lock-", NULL },
  { NULL, "/all/sem/leases", "lease-", NULL },
  { NULL, "/all/fresh-%d/deep/down", "lock-", NULL },
  { "/all/mutex-2", "/all/mutex-2/inner", "lock-", NULL },
  { NULL, "/all/rw", "__READ__", NULL },
  { "/all/sem", "/all/sem/leases", "lease-", NULL },
  { NULL, "/all/free", "lock-", "/all/free" },
};

static void
change (Fixture *fixture, int kind, int round)
{
  g_auto (GStrv) parts = g_strsplit (changes[kind].planted, "%d", 2);
  g_autofree char *number = g_strdup_printf ("%d", round);
  g_autofree char *path = g_strjoinv (number, parts);

  if (changes[kind].deleted != NULL)
    raw_zk_delete_tree (fixture->raw, changes[kind].deleted);
  plant (fixture, path, changes[kind].name);
  if (changes[kind].emptied != NULL) {
    raw_zk_delete_tree (fixture->raw, changes[kind].emptied);
    raw_zk_make_path (fixture->raw, changes[kind].emptied);
  }
}

/* The paths and the participants of all locks. */
static char *
summary_of (GPtrArray *all)
{
  GString *summary = g_string_new (NULL);

  for (guint i = 0; i < all->len; i++) {
    CuratorInspection *lock = g_ptr_array_index (all, i);
    g_string_append_printf (summary, "%s %u %u\n", curator_inspection_get_path (lock),
                            curator_inspection_get_n_holders (lock),
                            curator_inspection_get_n_waiting (lock));
  }
  return g_string_free (summary, FALSE);
}

/* Watches stand for requests, but every change is seen by the next look, whatever it is and however
 * many come between two looks. */
PAIR_TEST (quiet_paths_are_watched)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  raw_zk_delete_tree (fixture->raw, "/all");
  plant (fixture, "/all/mutex-1", "lock-");
  plant (fixture, "/all/mutex-2", "lock-");
  plant (fixture, "/all/sem/leases", "lease-");
  raw_zk_make_path (fixture->raw, "/all/rw");
  raw_zk_make_path (fixture->raw, "/all/free");
  GPtrArray *seen = look (client, NULL);
  for (int round = 0; round < 48; round++) {
    const int n = round < 8 ? 1 : g_rand_int_range (rand, 1, 4);
    if (round % 3 == 0)
      seen = look_until_quiet (fixture, client, seen);
    for (int i = 0; i < n; i++)
      change (fixture, round < 8 ? round : g_rand_int_range (rand, 0, 8), round);
    GPtrArray *next = look (client, seen);
    g_autoptr (GPtrArray) truth = look (peer, NULL);
    g_autofree char *expected = summary_of (truth);
    g_autofree char *found = summary_of (next);
    assert_string_equal (found, expected);
    g_ptr_array_unref (seen);
    seen = next;
  }
  seen = look_until_quiet (fixture, client, seen);
  g_ptr_array_unref (seen);
}

/* A look that watches stand for still notices that there is no server, and what changed
 * meanwhile. */
CLIENT_TEST (a_server_restarts)
{
  g_autoptr (GError) error = NULL;

  raw_zk_delete_tree (fixture->raw, "/all");
  plant (fixture, "/all/mutex-1", "lock-");
  plant (fixture, "/all/mutex-2", "lock-");
  plant (fixture, "/all/mutex-3", "lock-");
  GPtrArray *seen = look_until_quiet (fixture, client, look (client, NULL));
  zk_server_kill (fixture->server);
  assert_null (curator_client_inspect_all (client, "/all", seen, NULL, SESSION_MS, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_CONNECTION_LOST);
  assert_true (zk_server_relaunch (fixture->server));
  assert_soon (raw_zk_is_connected (fixture->raw));
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  plant (fixture, "/all/mutex-1", "lock-");
  g_autoptr (GPtrArray) again = look (client, seen);
  assert_int_equal (curator_inspection_get_n_waiting (g_ptr_array_index (again, 0)), 1);
  g_ptr_array_unref (seen);
}

CLIENT_TEST (the_age_grows)
{
  plant (fixture, "/aging", "lock-");
  g_autoptr (GPtrArray) all = look_at (client, "/aging", NULL);
  const CuratorParticipant *one =
      curator_inspection_get_participant (g_ptr_array_index (all, 0), 0);
  const gint64 age = curator_participant_get_age_ms (one);

  wait_ms (30);
  assert_true (curator_participant_get_age_ms (one) > age);
}

/* The node of a session stays, and so does a later node of the same path. */
CLIENT_TEST (only_the_ownerless_is_deleted)
{
  const char *persistent = "/reap/" UUID "lock-0000000000";
  const char *live = "/reap/" UUID "lock-0000000001";
  g_autoptr (GError) error = NULL;
  raw_zk_make_path (fixture->raw, "/reap");
  raw_zk_create (fixture->raw, persistent, NULL, ZOO_PERSISTENT, NULL);
  raw_zk_create (fixture->raw, live, NULL, ZOO_EPHEMERAL, NULL);
  g_autoptr (CuratorInspection) lock =
      curator_client_inspect (client, "/reap", CURATOR_WAIT_DEFAULT, NULL, NULL);
  const CuratorParticipant *first = curator_inspection_get_participant (lock, 0);
  const CuratorParticipant *second = curator_inspection_get_participant (lock, 1);

  assert_false (
      curator_client_delete_ownerless (client, second, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_true (raw_zk_exists (fixture->raw, live));
  raw_zk_delete (fixture->raw, persistent);
  raw_zk_create (fixture->raw, persistent, NULL, ZOO_EPHEMERAL, NULL);
  assert_ok (curator_client_delete_ownerless (client, first, CURATOR_WAIT_DEFAULT, NULL, &error),
             &error);
  assert_true (raw_zk_exists (fixture->raw, persistent));
  raw_zk_delete (fixture->raw, persistent);
  assert_ok (curator_client_delete_ownerless (client, first, CURATOR_WAIT_DEFAULT, NULL, &error),
             &error);

  raw_zk_create (fixture->raw, persistent, NULL, ZOO_PERSISTENT, NULL);
  g_autoptr (CuratorInspection) again =
      curator_client_inspect (client, "/reap", CURATOR_WAIT_DEFAULT, NULL, NULL);
  assert_ok (curator_client_delete_ownerless (client, curator_inspection_get_participant (again, 0),
                                              CURATOR_WAIT_DEFAULT, NULL, &error),
             &error);
  assert_false (raw_zk_exists (fixture->raw, persistent));
  assert_true (raw_zk_exists (fixture->raw, live));
}

/* What the callbacks of some _then calls are to get. */
typedef struct
{
  guint n; /* participants, unless it is an error */
  GQuark domain;
  int code;
  GThread *thread; /* where they run, or NULL */
  gint n_right;    /* atomic, like the next */
  gint n_wrong;
} Answers;

static void
note_answer (Answers *answers, gboolean has_result, guint n, const GError *error)
{
  const gboolean is_expected =
      answers->domain == 0 ? has_result && error == NULL && n == answers->n
                           : !has_result && g_error_matches (error, answers->domain, answers->code);
  const gboolean is_there = answers->thread == NULL || answers->thread == g_thread_self ();

  g_atomic_int_inc (is_expected && is_there ? &answers->n_right : &answers->n_wrong);
}

/* GLib hands a callback over out of ThreadSanitizer's sight: each of these asks for something that
 * takes the client's mutex. */
static void
on_inspected (CuratorClient *client, CuratorInspection *inspection, const GError *error,
              gpointer answers)
{
  const guint n = inspection != NULL ? curator_inspection_get_n_participants (inspection) : 0;
  curator_client_get_connection_state (client);
  note_answer (answers, inspection != NULL, n, error);
  g_clear_pointer (&inspection, curator_inspection_unref);
}

static void
on_nodes (CuratorLock *lock, char **nodes, const GError *error, gpointer answers)
{
  curator_lock_is_acquired_in_this_process (lock);
  note_answer (answers, nodes != NULL, nodes != NULL ? g_strv_length (nodes) : 0, error);
  g_strfreev (nodes);
}

/* Two questions; the program keeps nothing of them. */
static void
ask (CuratorClient *client, const char *path, GCancellable *cancellable, Answers *answers)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, path);

  curator_client_inspect_then (client, path, CURATOR_WAIT_FOREVER, cancellable, on_inspected,
                               answers);
  curator_lock_get_participant_nodes_then (lock, CURATOR_WAIT_FOREVER, cancellable, on_nodes,
                                           answers);
}

static gboolean
has_answers (Answers *answers, int n, GMainContext *context)
{
  while (context != NULL && g_main_context_iteration (context, FALSE))
    ;
  return g_atomic_int_get (&answers->n_right) + g_atomic_int_get (&answers->n_wrong) >= n;
}

static void
assert_answered (Answers *answers, int n, GMainContext *context)
{
  assert_soon (has_answers (answers, n, context));
  assert_int_equal (g_atomic_int_get (&answers->n_wrong), 0);
  assert_int_equal (g_atomic_int_get (&answers->n_right), n);
}

static void
ask_of_all_kinds (Fixture *fixture, GMainContext *context)
{
  static char scheme[] = "world";
  static char anyone[] = "anyone";
  struct ACL entry = { .perms = ZOO_PERM_ADMIN, .id = { scheme, anyone } };
  const struct ACL_vector unreadable = { 1, &entry };
  GThread *thread = context != NULL ? g_thread_self () : NULL;
  Answers three = { .n = 3, .thread = thread };
  Answers nobody = { .n = 0, .thread = thread };
  Answers refused = { .domain = CURATOR_ZK_ERROR, .code = ZNOAUTH, .thread = thread };
  Answers cancelled = { .domain = G_IO_ERROR, .code = G_IO_ERROR_CANCELLED, .thread = thread };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));

  if (context != NULL)
    curator_client_set_callback_context (client, context);
  client_start (client);
  raw_zk_make_path (fixture->raw, "/asked/secret");
  assert_int_equal (raw_zk_set_acl (fixture->raw, "/asked/secret", &unreadable), ZOK);
  for (int i = 0; i < 50; i++) {
    ask (client, "/asked/lock", NULL, &three);
    ask (client, "/asked/nobody", cancellable, &nobody);
    ask (client, "/asked/secret", NULL, &refused);
  }
  assert_answered (&three, 100, context);
  assert_answered (&nobody, 100, context);
  assert_answered (&refused, 100, context);
  g_cancellable_cancel (cancellable);
  ask (client, "/asked/lock", cancellable, &cancelled);
  assert_answered (&cancelled, 2, context);
}

TEST (questions_that_nobody_waits_for)
{
  g_autoptr (GMainContext) context = g_main_context_new ();

  for (int i = 0; i < 3; i++)
    plant (fixture, "/asked/lock", "lock-");
  ask_of_all_kinds (fixture, NULL);
  ask_of_all_kinds (fixture, context);
}

/* In a silence: cancelled, and closed. */
TEST (questions_without_an_answer)
{
  Answers cancelled = { .domain = G_IO_ERROR, .code = G_IO_ERROR_CANCELLED };
  Answers closed = { .domain = CURATOR_ERROR, .code = CURATOR_ERROR_CLOSED };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));

  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  ask (client, "/asked/lock", cancellable, &cancelled);
  ask (client, "/asked/lock", NULL, &closed);
  wait_ms (100);
  assert_int_equal (g_atomic_int_get (&cancelled.n_right) + g_atomic_int_get (&closed.n_right), 0);
  g_cancellable_cancel (cancellable);
  assert_answered (&cancelled, 2, NULL);
  curator_client_close (client);
  assert_answered (&closed, 2, NULL);
}

SUITE ("inspect all", fixture_start_calm, fixture_stop)
