/* The engine's shortcuts, request by request, as seen by a proxy in front of a real server. What a
 * queue costs as a whole: bench_requests.
 *
 * A session's traffic is logged as words: "create list watch" for requests, "gone" for the event
 * that a node was deleted. Traffic that depends on time is left out: pings, heartbeats, and watches
 * of the session's own nodes, which a longer hold sets.
 */
#include "integration/taking.h"

#include <string.h>

typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
  Taking *taking;
  gint64 session;
  GString *wanted; /* words */
} Party;

static void
party_join (Fixture *fixture, Party *party, const char *path)
{
  party->client = client_connect_for (fixture_proxy (fixture), LONG_SESSION_MS);
  party->session = curator_client_get_session_id (party->client);
  party->lock = path != NULL ? mutex_new (party->client, path) : NULL;
  party->taking = NULL;
  party->wanted = g_string_new (NULL);
}

static void
party_leave (Party *party)
{
  g_clear_pointer (&party->taking, taking_free);
  g_clear_pointer (&party->lock, curator_lock_unref);
  curator_client_close (party->client);
  curator_client_unref (party->client);
  g_string_free (party->wanted, TRUE);
}

static void
party_want (Party *party, const char *words)
{
  g_string_append_printf (party->wanted, "%s ", words);
}

static const char *
word_of (const ProxyFrame *frame)
{
  switch (frame->type)
    {
    case PROXY_CREATE:
    case PROXY_CREATE2:
      return "create";
    case PROXY_DELETE:
      return "delete";
    case PROXY_GET_CHILDREN:
    case PROXY_GET_CHILDREN2:
      return frame->watch ? "watch-children" : "list";
    case PROXY_GET_DATA:
      return frame->watch ? "watch" : "read";
    case PROXY_EXISTS:
      return "exists";
    case PROXY_REMOVE_WATCHES:
      return "unwatch";
    case PROXY_EVENT:
      return frame->code == ZOO_DELETED_EVENT ? "gone" : "changed";
    default:
      return "other";
    }
}

/* In the order in which the proxy forwarded them. */
static char *
words_in (GPtrArray *log, gint64 session)
{
  g_autoptr (GHashTable) own = g_hash_table_new (g_str_hash, g_str_equal);
  GString *words = g_string_new (NULL);

  for (guint i = 0; i < log->len; i++)
    {
      const ProxyFrame *frame = g_ptr_array_index (log, i);
      const gboolean made = frame->is_reply && frame->path != NULL;
      if (frame->session == session && made)
        g_hash_table_add (own, frame->path);
      const gboolean about_own = frame->path != NULL && frame->type != PROXY_DELETE
                                 && g_hash_table_contains (own, frame->path);
      if (frame->session == session && !frame->is_reply && !about_own && frame->type != PROXY_PING
          && frame->type != PROXY_MULTI)
        g_string_append_printf (words, "%s ", word_of (frame));
    }
  return g_string_free (words, FALSE);
}

static char *
words_of (Fixture *fixture, gint64 session)
{
  g_autoptr (GPtrArray) log = proxy_log_copy (fixture->proxy);
  return words_in (log, session);
}

/* Whether every request is answered. */
static gboolean
log_is_answered (GPtrArray *log)
{
  int open = 0;
  for (guint i = 0; i < log->len; i++)
    {
      const ProxyFrame *frame = g_ptr_array_index (log, i);
      const gboolean counts =
          frame->type != PROXY_EVENT && frame->type != PROXY_PING && frame->type != PROXY_MULTI;
      open += !counts ? 0 : frame->is_reply ? -1 : 1;
    }
  return open == 0;
}

typedef struct
{
  Fixture *fixture;
  Party *parties;
  int n;
} Scene;

static gboolean
is_as_wanted (Scene *scene)
{
  /* One copy for all: a watch would be read again if a long queue took long. */
  g_autoptr (GPtrArray) log = proxy_log_copy (scene->fixture->proxy);
  for (int i = 0; i < scene->n; i++)
    {
      g_autofree char *words = words_in (log, scene->parties[i].session);
      if (!g_str_equal (words, scene->parties[i].wanted->str))
        return FALSE;
    }
  return log_is_answered (log);
}

/* The log must equal all expected words so far. */
static void
check_words (Scene *scene)
{
  if (!holds_within (is_as_wanted (scene), LONG_MS))
    {
      for (int i = 0; i < scene->n; i++)
        {
          g_autofree char *words = words_of (scene->fixture, scene->parties[i].session);
          print_error ("party %d: %s\n wanted: %s\n", i, words, scene->parties[i].wanted->str);
        }
      fail_msg ("the traffic differs");
    }
}

static void
party_take (Party *party)
{
  g_clear_pointer (&party->taking, taking_free);
  party->taking = taking_start_lock (party->lock, CURATOR_WAIT_FOREVER, NULL);
}

/* Creates the parents, which a second acquire would not do. */
static void
warm_up (CuratorLock *lock)
{
  assert_acquired (lock);
  assert_released (lock);
}

/* --- round trips --- */

/* The requests sent while the reply to the first is held back. */
static void
check_round_trip (Scene *scene, const char *words)
{
  party_want (scene->parties, words);
  g_autofree char *seen = NULL;
  if (!holds_within (
          (g_free (seen), g_str_equal (seen = words_of (scene->fixture, scene->parties->session),
                                       scene->parties->wanted->str)),
          LONG_MS))
    fail_msg ("%s, not %s", seen, scene->parties->wanted->str);
}

/* Six requests in three round trips: only the deciding replies are waited for. */
TEST (test_semaphore_in_three_round_trips)
{
  Party party;
  Scene scene = { fixture, &party, 1 };
  party_join (fixture, &party, NULL);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (party.client, "/shortcuts/semaphore", 2);
  Taking *first = taking_of (semaphore, 1);
  taking_give_back (first);
  taking_free (first);
  proxy_log_start (fixture->proxy);

  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLD_REPLY);
  Taking *taking = taking_start (semaphore, 1, CURATOR_WAIT_FOREVER, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  check_round_trip (&scene, "create list");

  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLD_REPLY);
  proxy_let_go (fixture->proxy);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  check_round_trip (&scene, "create list");

  /* The lease is granted before the release of the turn is confirmed. */
  proxy_arm (fixture->proxy, PROXY_DELETE, 1, 1, PROXY_HOLD_REPLY);
  proxy_let_go (fixture->proxy);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  taking_assert_granted (taking);
  check_round_trip (&scene, "delete");
  assert_int_equal (proxy_fired (fixture->proxy), 1);
  g_ptr_array_set_size (taking->leases, 0);
  check_round_trip (&scene, "delete");
  proxy_let_go (fixture->proxy);
  check_words (&scene);

  taking_free (taking);
  curator_semaphore_unref (g_steal_pointer (&semaphore));
  party_leave (&party);
  assert_no_residue (fixture, "/shortcuts/semaphore/locks", LONG_MS);
  assert_no_residue (fixture, "/shortcuts/semaphore/leases", LONG_MS);
}

/* --- queues --- */

/* A foreign node in between ends the line; the waiter behind it begins another. Its second watch is
 * on a node of its own session, which is left out here. */
TEST (test_foreign_node_between_neighbours)
{
  static const int order[] = { 0, 1, 1, 2, 1, 1 };
  static const char *const words[] = {
    "create list", "create list watch", "create", "create list watch watch", "create list watch",
    "create"
  };
  Party parties[3];
  Taking *takings[6];
  Scene scene = { fixture, parties, 3 };
  for (int i = 0; i < 3; i++)
    party_join (fixture, &parties[i], "/shortcuts/stranger");
  warm_up (parties[0].lock);
  proxy_log_start (fixture->proxy);
  for (int i = 0; i < 6; i++)
    {
      takings[i] = taking_start_lock (parties[order[i]].lock, CURATOR_WAIT_FOREVER, NULL);
      party_want (&parties[order[i]], words[i]);
      check_words (&scene);
    }
  for (int i = 0; i < 6; i++)
    {
      taking_assert_granted (takings[i]);
      taking_give_back (takings[i]);
      party_want (&parties[order[i]], "delete");
      if (i == 0)
        {
          party_want (&parties[1], "gone");
        }
      else if (i == 1)
        {
          party_want (&parties[2], "gone list");
        }
      else if (i == 2)
        {
          party_want (&parties[2], "gone");
          party_want (&parties[1], "list");
        }
      else if (i == 3)
        {
          party_want (&parties[1], "gone");
        }
      check_words (&scene);
      taking_free (takings[i]);
    }
  for (int i = 0; i < 3; i++)
    party_leave (&parties[i]);
  assert_no_residue (fixture, "/shortcuts/stranger", LONG_MS);
}

/* The node in front was deleted without having held the lock: its deletion proves nothing. A list
 * shows who is in front now. */
TEST (test_predecessor_gives_up)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Party parties[4];
  Scene scene = { fixture, parties, 4 };
  for (int i = 0; i < 4; i++)
    party_join (fixture, &parties[i], "/shortcuts/gives-up");
  warm_up (parties[0].lock);
  proxy_log_start (fixture->proxy);
  for (int i = 0; i < 4; i++)
    {
      parties[i].taking =
          taking_start_lock (parties[i].lock, CURATOR_WAIT_FOREVER, i == 2 ? cancellable : NULL);
      party_want (&parties[i], i == 0   ? "create list"
                               : i == 1 ? "create list watch"
                                        : "create list watch watch");
      check_words (&scene);
    }
  g_cancellable_cancel (cancellable);
  assert_true (taking_wait (parties[2].taking, LONG_MS));
  assert_error (&parties[2].taking->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  /* The waiter behind already watches the next in line, and now watches the holder too. */
  party_want (&parties[2], "unwatch unwatch delete");
  party_want (&parties[3], "gone list watch");
  check_words (&scene);
  assert_false (taking_has_returned (parties[3].taking));

  taking_give_back (parties[0].taking);
  party_want (&parties[0], "delete");
  party_want (&parties[1], "gone");
  party_want (&parties[3], "gone list");
  check_words (&scene);
  taking_assert_granted (parties[1].taking);
  assert_false (taking_has_returned (parties[3].taking));
  taking_give_back (parties[1].taking);
  taking_assert_granted (parties[3].taking);
  for (int i = 0; i < 4; i++)
    party_leave (&parties[i]);
  assert_no_residue (fixture, "/shortcuts/gives-up", LONG_MS);
}

/* --- readers and writers --- */

/* Readers of one session behind two writers: one watch, and one list when a writer goes. */
TEST (test_readers_share)
{
  enum
  {
    N = 12
  };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Party parties[3];
  CuratorRwLock *rw_locks[3];
  Taking *readers[N];
  Scene scene = { fixture, parties, 3 };
  for (int i = 0; i < 3; i++)
    {
      party_join (fixture, &parties[i], NULL);
      rw_locks[i] = rw_lock_new (parties[i].client, "/shortcuts/readers");
    }
  warm_up (curator_rw_lock_get_write_lock (rw_locks[0]));
  proxy_log_start (fixture->proxy);
  for (int i = 0; i < 2; i++)
    {
      parties[i].taking = taking_start_lock (curator_rw_lock_get_write_lock (rw_locks[i]),
                                             CURATOR_WAIT_FOREVER, i == 1 ? cancellable : NULL);
      party_want (&parties[i], i == 0 ? "create list" : "create list watch");
      check_words (&scene);
    }
  for (int i = 0; i < N; i++)
    {
      readers[i] = taking_start_lock (curator_rw_lock_get_read_lock (rw_locks[2]),
                                      CURATOR_WAIT_FOREVER, NULL);
      party_want (&parties[2], i == 0 ? "create list watch" : "create list");
      check_words (&scene);
    }
  assert_int_equal (four_letter_watches_of_session (fixture_server (fixture), parties[2].session),
                    1);
  g_cancellable_cancel (cancellable);
  party_want (&parties[1], "unwatch delete");
  party_want (&parties[2], "gone list watch");
  check_words (&scene);
  assert_int_equal (four_letter_watches_of_session (fixture_server (fixture), parties[2].session),
                    1);

  taking_give_back (parties[0].taking);
  party_want (&parties[0], "delete");
  party_want (&parties[2], "gone list");
  for (int i = 0; i < N; i++)
    taking_assert_granted (readers[i]);
  check_words (&scene);
  for (int i = 0; i < N; i++)
    {
      taking_give_back (readers[i]);
      taking_free (readers[i]);
      party_want (&parties[2], "delete");
    }
  check_words (&scene);
  for (int i = 0; i < 3; i++)
    {
      curator_rw_lock_unref (rw_locks[i]);
      party_leave (&parties[i]);
    }
  assert_no_residue (fixture, "/shortcuts/readers", LONG_MS);
}

/* The next writer's number follows the released one, but a reader with the released number is in
 * between. */
static void
check_downgrade (Fixture *fixture, const char *path, gboolean read_first)
{
  Party party;
  Scene scene = { fixture, &party, 1 };
  party_join (fixture, &party, NULL);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (party.client, path);
  CuratorLock *read = curator_rw_lock_get_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (rw_lock);
  warm_up (write);
  proxy_log_start (fixture->proxy);

  assert_acquired (write);
  party_want (&party, "create list");
  if (read_first)
    {
      assert_acquired (read);
      party_want (&party, "create");
    }
  g_autoptr (Taking) next = taking_start_lock (write, CURATOR_WAIT_FOREVER, NULL);
  /* The server's counter includes the reader, although our client chose its number. */
  party_want (&party, read_first ? "create list" : "create");
  check_words (&scene);
  if (!read_first)
    {
      assert_acquired (read);
      party_want (&party, "create");
    }
  check_words (&scene);
  assert_released (write);
  assert_children (fixture, path, 2, LONG_MS);
  taking_assert_waits (next);
  assert_released (read);
  taking_assert_granted (next);
  taking_give_back (next);
  curator_rw_lock_unref (g_steal_pointer (&rw_lock));
  party_leave (&party);
  assert_no_residue (fixture, path, LONG_MS);
}

TEST (test_next_writer_waits_for_the_reader_within)
{
  check_downgrade (fixture, "/shortcuts/downgrade/before", TRUE);
  check_downgrade (fixture, "/shortcuts/downgrade/after", FALSE);
}

/* --- tries --- */

/* While this session holds or waits, the answer is known: no request is sent. */
static void
check_try_behind_own_node (Fixture *fixture, const char *path, Party *party, CuratorLock *lock)
{
  Scene scene = { fixture, party, 1 };
  g_autoptr (GCancellable) gives_up = g_cancellable_new ();

  warm_up (lock);
  proxy_log_start (fixture->proxy);
  g_string_truncate (party->wanted, 0);
  Taking *holder = taking_start_lock (lock, CURATOR_WAIT_FOREVER, NULL);
  taking_assert_granted (holder);
  party_want (party, "create list");
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);
  check_words (&scene);

  Taking *waiter = taking_start_lock (lock, CURATOR_WAIT_FOREVER, gives_up);
  assert_children (fixture, path, 2, LONG_MS);
  party_want (party, "create");
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);
  check_words (&scene);

  g_cancellable_cancel (gives_up);
  assert_true (taking_wait (waiter, LONG_MS));
  taking_free (waiter);
  party_want (party, "delete");
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);
  check_words (&scene);

  taking_give_back (holder);
  taking_free (holder);
  party_want (party, "delete");
  g_autoptr (GError) error = NULL;
  assert_ok (curator_lock_acquire (lock, 0, NULL, &error), &error);
  party_want (party, "create list");
  assert_released (lock);
  party_want (party, "delete");
  check_words (&scene);
}

TEST (test_try_behind_own_node)
{
  Party party;
  party_join (fixture, &party, "/shortcuts/try/mutex");
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (party.client, "/shortcuts/try/rw");

  check_try_behind_own_node (fixture, "/shortcuts/try/mutex", &party, party.lock);
  check_try_behind_own_node (fixture, "/shortcuts/try/rw", &party,
                             curator_rw_lock_get_write_lock (rw_lock));
  party_leave (&party);
}

/* Readers share: a read lock is always asked for. A writer behind a reader of its session, too. */
TEST (test_try_of_readers)
{
  Party party;
  Scene scene = { fixture, &party, 1 };
  party_join (fixture, &party, NULL);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (party.client, "/shortcuts/try/readers");
  CuratorLock *read = curator_rw_lock_get_read_lock (rw_lock);
  g_autoptr (GError) error = NULL;

  warm_up (read);
  proxy_log_start (fixture->proxy);
  Taking *reader = taking_start_lock (read, CURATOR_WAIT_FOREVER, NULL);
  taking_assert_granted (reader);
  assert_ok (curator_lock_acquire (read, 0, NULL, &error), &error);
  party_want (&party, "create list create list");
  assert_released (read);
  party_want (&party, "delete");
  check_words (&scene);
  assert_not_acquired (curator_rw_lock_get_write_lock (rw_lock), 0, CURATOR_ERROR_TIMED_OUT);
  party_want (&party, "create list delete");
  check_words (&scene);
  taking_give_back (reader);
  taking_free (reader);
  curator_rw_lock_unref (g_steal_pointer (&rw_lock));
  party_leave (&party);
}

/* Behind another session: the answer comes with the list, not with the reply to the delete. */
TEST (test_try_behind_another_session)
{
  Party parties[2];
  Scene scene = { fixture, parties, 2 };
  party_join (fixture, &parties[0], "/shortcuts/try/theirs");
  party_join (fixture, &parties[1], "/shortcuts/try/theirs");
  warm_up (parties[1].lock);
  party_take (&parties[0]);
  taking_assert_granted (parties[0].taking);
  proxy_log_start (fixture->proxy);

  proxy_arm (fixture->proxy, PROXY_DELETE, 1, 1, PROXY_HOLD_REPLY);
  assert_not_acquired (parties[1].lock, 0, CURATOR_ERROR_TIMED_OUT);
  party_want (&parties[1], "create list delete");
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  proxy_let_go (fixture->proxy);
  check_words (&scene);
  assert_children (fixture, "/shortcuts/try/theirs", 1, LONG_MS);
  party_leave (&parties[1]);
  party_leave (&parties[0]);
  assert_no_residue (fixture, "/shortcuts/try/theirs", LONG_MS);
}

/* What the clock no longer vouches for is no reason to refuse: the servers are asked. */
TEST (test_try_behind_a_lost_hold)
{
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  curator_client_set_session_timeout (client, SESSION_MS);
  curator_client_set_connection_timeout (client, SESSION_MS / 2);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/shortcuts/try/lost");
  Taking *holder = taking_start_lock (lock, CURATOR_WAIT_FOREVER, NULL);
  taking_assert_granted (holder);
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);

  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_not_acquired (lock, 0, CURATOR_ERROR_CONNECTION_LOST);
  taking_free (holder);
  curator_client_close (client);
}

SUITE ("shortcuts", fixture_start_slow, fixture_stop)
