/* What sessions that wait cost a server: 50 sessions queue for one lock for two session timeouts,
 * and each transaction of theirs is counted.
 *
 * WAITING_SESSION_MS sets the session timeout, WAITING_TIMEOUTS how many pass.
 */
#include "integration/taking.h"

#define PATH       "/waiting/cost"
#define N_SESSIONS 50
#define N_FAR      (N_SESSIONS - 1)

typedef struct
{
  CuratorClient *client;
  Taking *taking;
  guint64 n_before;
} Session;

static gint64
setting (const char *name, gint64 otherwise)
{
  const char *text = g_getenv (name);
  return text != NULL ? g_ascii_strtoll (text, NULL, 10) : otherwise;
}

static gint64
session_ms (void)
{
  return setting ("WAITING_SESSION_MS", 10000);
}

static guint64
n_transactions (CuratorClient *client)
{
  guint64 values[CURATOR_COUNTER_CONFIRMATIONS + 1];
  curator_client_get_counters (client, values, G_N_ELEMENTS (values));
  assert_int_equal (values[CURATOR_COUNTER_SESSIONS], 1);
  return values[CURATOR_COUNTER_HEARTBEATS] + values[CURATOR_COUNTER_HEARTBEATS_MISSED]
         + values[CURATOR_COUNTER_CONFIRMATIONS];
}

static guint64
n_since (const Session *session)
{
  return n_transactions (session->client) - session->n_before;
}

/* Behind a node that no session owns: the first waits for that one. */
static void
sessions_start (Session *sessions, Fixture *fixture)
{
  assert_int_equal (raw_zk_make_path (fixture->raw, PATH), ZOK);
  assert_int_equal (
      raw_zk_create (fixture->raw, PATH "/_c_front-lock-", "", ZOO_PERSISTENT_SEQUENTIAL, NULL),
      ZOK);
  for (int i = 0; i < N_SESSIONS; i++) {
    Session *session = &sessions[i];
    session->client = client_new (fixture_server (fixture));
    curator_client_set_session_timeout (session->client, session_ms ());
    curator_client_set_server_tick (session->client, session_ms () / 20);
    client_start (session->client);
    g_autoptr (CuratorLock) lock = mutex_new (session->client, PATH);
    session->taking = taking_start_lock (lock, CURATOR_WAIT_FOREVER, NULL);
    assert_soon (four_letter_watches_of_session (fixture_server (fixture),
                                                 curator_client_get_session_id (session->client))
                 > 0);
  }
}

/* Begun before the counting, and answered in it, or the other way round. */
#define SLACK N_SESSIONS

TEST (test_transactions)
{
  Session sessions[N_SESSIONS] = { 0 };
  guint64 of_far = 0;

  sessions_start (sessions, fixture);
  for (guint i = 0; i < N_SESSIONS; i++)
    sessions[i].n_before = n_transactions (sessions[i].client);
  const gint64 zxid_before = four_letter_zxid (fixture_server (fixture));
  const gint64 begun_ms = wait_now_ms ();
  wait_ms ((int) (setting ("WAITING_TIMEOUTS", 2) * session_ms ()));
  const gint64 by_server = four_letter_zxid (fixture_server (fixture)) - zxid_before;
  for (guint i = 1; i < N_SESSIONS; i++)
    of_far += n_since (&sessions[i]);
  const guint64 of_near = n_since (&sessions[0]);
  const double n_timeouts = (double) (wait_now_ms () - begun_ms) / (double) session_ms ();
  print_message (
      "%d sessions, %.1f session timeouts of %d ms: in each %.2f transactions by those far back, "
      "%.2f by the next; the server counted %d, the clients %d\n",
      N_SESSIONS, n_timeouts, (int) session_ms (), (double) of_far / N_FAR / n_timeouts,
      (double) of_near / n_timeouts, (int) by_server, (int) (of_near + of_far));

  for (guint i = 0; i < N_SESSIONS; i++) {
    /* One at the beginning and one at the end. */
    assert_true ((double) n_since (&sessions[i]) <= (i == 0 ? 4 : 1) * n_timeouts + 1);
  }
  assert_true (of_far > 0 && of_near > 0 && zxid_before >= 0);
  assert_true ((double) of_far <= N_FAR * n_timeouts);
  assert_in_range (by_server + SLACK, of_near + of_far, of_near + of_far + 2 * SLACK);

  for (guint i = N_SESSIONS; i-- > 0;) {
    curator_client_close (sessions[i].client);
    taking_free (sessions[i].taking);
    curator_client_unref (sessions[i].client);
  }
}

static int
start (void **state)
{
  return fixture_start_for_sessions (state, (int) session_ms ());
}

int
main (void)
{
  g_set_prgname ("test_waiting_cost");
  return suite_run ("waiting cost", start, fixture_stop);
}
