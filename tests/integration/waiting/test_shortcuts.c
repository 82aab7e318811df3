/* The engine's shortcuts, request by request, as seen by a proxy in front of a real server. What
 * those that wait send: bench_requests; what they watch: unit/test_front.
 *
 * A session's requests are logged as words: "create list delete". Traffic that depends on time is
 * left out: pings, heartbeats, and watches of the session's own nodes, which a longer hold sets.
 */
#include "integration/taking.h"

/* One session. */
typedef struct
{
  Fixture *fixture;
  CuratorClient *client;
  GString *wanted; /* words */
} Party;

static void
party_join (Party *party, Fixture *fixture)
{
  party->fixture = fixture;
  party->client = client_connect_for (fixture_proxy (fixture), LONG_SESSION_MS);
  party->wanted = g_string_new (NULL);
}

static void
party_leave (Party *party)
{
  curator_client_close (party->client);
  curator_client_unref (party->client);
  g_string_free (party->wanted, TRUE);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Party, party_leave)

static const char *
word_of (const ProxyFrame *frame)
{
  switch (frame->type) {
  case PROXY_CREATE:
  case PROXY_CREATE2:
    return "create";
  case PROXY_DELETE:
    return "delete";
  case PROXY_GET_CHILDREN:
  case PROXY_GET_CHILDREN2:
    return frame->watch ? "watch" : "list";
  default:
    return "other";
  }
}

/* In the order in which the proxy forwarded them. n_open: how many are not answered. */
static char *
words_of (Party *party, int *n_open)
{
  g_autoptr (GPtrArray) log = proxy_log_copy (party->fixture->proxy);
  g_autoptr (GHashTable) own = g_hash_table_new (g_str_hash, g_str_equal);
  GString *words = g_string_new (NULL);

  *n_open = 0;
  for (guint i = 0; i < log->len; i++) {
    const ProxyFrame *frame = g_ptr_array_index (log, i);
    if (frame->session != curator_client_get_session_id (party->client) || frame->type == PROXY_PING
        || frame->type == PROXY_MULTI)
      continue;
    if (frame->is_reply && frame->path != NULL)
      g_hash_table_add (own, frame->path);
    *n_open += frame->type == PROXY_EVENT ? 0 : frame->is_reply ? -1 : 1;
    const gboolean about_own = frame->path != NULL && frame->type != PROXY_DELETE
                               && g_hash_table_contains (own, frame->path);
    if (!frame->is_reply && !about_own)
      g_string_append_printf (words, "%s ", word_of (frame));
  }
  return g_string_free (words, FALSE);
}

/* These are the words since the last ones. Only while a reply is held back, a request is not
 * answered. */
static void
check_words (Party *party, const char *more)
{
  g_autofree char *words = NULL;
  int n_open = 0;

  g_string_append_printf (party->wanted, "%s ", more);
  if (!holds_within ((g_free (words), words = words_of (party, &n_open),
                      g_str_equal (words, party->wanted->str)
                          && (n_open == 0 || proxy_fired (party->fixture->proxy) > 0)),
                     LONG_MS))
    fail_msg ("%s, not %s; %d are not answered", words, party->wanted->str, n_open);
}

/* From here on; what creates the parents, which a second acquire does not do, comes before. */
static void
listen_from (Party *party, CuratorLock *lock)
{
  assert_acquired (lock);
  assert_released (lock);
  g_string_truncate (party->wanted, 0);
  proxy_log_start (party->fixture->proxy);
}

/* The next reply of that type is held back, and the one before goes on. */
static void
hold_reply (Fixture *fixture, int type)
{
  proxy_arm (fixture->proxy, type, 1, 1, PROXY_HOLD_REPLY);
  proxy_let_go (fixture->proxy);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
}

/* Six requests in three round trips: only the deciding replies are waited for. */
TEST (test_semaphore_in_three_round_trips)
{
  g_auto (Party) party = { NULL };
  party_join (&party, fixture);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (party.client, "/shortcuts/semaphore", 2);
  g_autoptr (Taking) first = taking_of (semaphore, 1);
  taking_give_back (first);
  proxy_log_start (fixture->proxy);

  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLD_REPLY);
  g_autoptr (Taking) taking = taking_start (semaphore, 1, CURATOR_WAIT_FOREVER, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  check_words (&party, "create list");
  hold_reply (fixture, PROXY_CREATE2);
  check_words (&party, "create list");
  /* The lease is granted before the release of the turn is confirmed. */
  hold_reply (fixture, PROXY_DELETE);
  taking_assert_granted (taking);
  check_words (&party, "delete");
  assert_int_equal (proxy_fired (fixture->proxy), 1);
  g_ptr_array_set_size (taking->leases, 0);
  check_words (&party, "delete");
  proxy_let_go (fixture->proxy);
  assert_no_residue (fixture, "/shortcuts/semaphore/locks", LONG_MS);
  assert_no_residue (fixture, "/shortcuts/semaphore/leases", LONG_MS);
}

/* --- tries --- */

/* While this session holds or waits, the answer is known: no request is sent. */
static void
check_try_behind_own_node (Party *party, CuratorLock *lock)
{
  g_autoptr (GCancellable) gives_up = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  listen_from (party, lock);
  g_autoptr (Taking) holder = taking_of_lock (lock);
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);
  check_words (party, "create list");

  g_autoptr (Taking) waiter = taking_start_lock (lock, CURATOR_WAIT_FOREVER, gives_up);
  check_words (party, "create");
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);
  g_cancellable_cancel (gives_up);
  assert_true (taking_wait (waiter, LONG_MS));
  check_words (party, "delete");
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);

  taking_give_back (holder);
  check_words (party, "delete");
  assert_ok (curator_lock_acquire (lock, 0, NULL, &error), &error);
  check_words (party, "create list");
  assert_released (lock);
  check_words (party, "delete");
}

TEST (test_try_behind_own_node)
{
  g_auto (Party) party = { NULL };
  party_join (&party, fixture);
  g_autoptr (CuratorLock) mutex = mutex_new (party.client, "/shortcuts/try/mutex");
  g_autoptr (CuratorLock) writer = writer_new (party.client, "/shortcuts/try/rw");

  check_try_behind_own_node (&party, mutex);
  check_try_behind_own_node (&party, writer);
}

/* Readers share: a read lock is always asked for. A writer behind a reader of its session, too. */
TEST (test_try_of_readers)
{
  g_autoptr (GError) error = NULL;
  g_auto (Party) party = { NULL };
  party_join (&party, fixture);
  g_autoptr (CuratorLock) read = reader_new (party.client, "/shortcuts/try/readers");
  g_autoptr (CuratorLock) write = writer_new (party.client, "/shortcuts/try/readers");

  listen_from (&party, read);
  G_GNUC_UNUSED g_autoptr (Taking) reader = taking_of_lock (read);
  assert_ok (curator_lock_acquire (read, 0, NULL, &error), &error);
  check_words (&party, "create list create list");
  assert_released (read);
  check_words (&party, "delete");
  assert_not_acquired (write, 0, CURATOR_ERROR_TIMED_OUT);
  check_words (&party, "create list delete");
}

/* Behind another session: the answer comes with the list, not with the reply to the delete. */
TEST (test_try_behind_another_session)
{
  const char *path = "/shortcuts/try/theirs";
  g_autoptr (CuratorClient) other = client_connect_for (fixture_server (fixture), LONG_SESSION_MS);
  g_autoptr (CuratorLock) theirs = mutex_new (other, path);
  g_auto (Party) party = { NULL };
  party_join (&party, fixture);
  g_autoptr (CuratorLock) lock = mutex_new (party.client, path);

  listen_from (&party, lock);
  g_autoptr (Taking) holder G_GNUC_UNUSED = taking_of_lock (theirs);
  proxy_arm (fixture->proxy, PROXY_DELETE, 1, 1, PROXY_HOLD_REPLY);
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  check_words (&party, "create list delete");
  proxy_let_go (fixture->proxy);
  assert_children (fixture, path, 1, LONG_MS);
}

/* What the clock no longer vouches for is no reason to refuse: the servers are asked. */
TEST (test_try_behind_a_lost_hold)
{
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  curator_client_set_session_timeout (client, 10000);
  curator_client_set_connection_timeout (client, SESSION_MS / 2);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/shortcuts/try/lost");
  g_autoptr (Taking) holder G_GNUC_UNUSED = taking_of_lock (lock);
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);

  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_not_acquired (lock, 0, CURATOR_ERROR_CONNECTION_LOST);
  curator_client_close (client);
}

SUITE ("shortcuts", fixture_start_slow, fixture_stop)
