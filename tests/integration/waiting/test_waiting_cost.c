/* What sessions that wait cost a server: 50 sessions queue for one lock for two session timeouts,
 * and each transaction of theirs is counted.
 *
 * WAITING_SESSION_MS sets the session timeout, WAITING_TIMEOUTS how many pass.
 */
#include "integration/taking.h"

#include <string.h>

#define PATH       "/waiting/cost"
#define N_SESSIONS 50
#define N_FAR      (N_SESSIONS - 1)

typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
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
  return setting ("WAITING_SESSION_MS", 4000);
}

static guint64
counter (CuratorClient *client, CuratorCounter which)
{
  guint64 values[CURATOR_COUNTER_CONFIRMATIONS + 1];
  curator_client_get_counters (client, values, G_N_ELEMENTS (values));
  return values[which];
}

static guint64
n_transactions (CuratorClient *client)
{
  return counter (client, CURATOR_COUNTER_HEARTBEATS)
         + counter (client, CURATOR_COUNTER_HEARTBEATS_MISSED)
         + counter (client, CURATOR_COUNTER_CONFIRMATIONS);
}

static guint64
n_since (const Session *session)
{
  return n_transactions (session->client) - session->n_before;
}

/* Of the server. */
static gint64
zxid (Fixture *fixture)
{
  const gint64 last = four_letter_zxid (fixture_server (fixture));
  assert_true (last >= 0);
  return last;
}

static gboolean
all_wait (const Session *sessions)
{
  for (guint i = 0; i < N_SESSIONS; i++)
    {
      g_autofree char *text = curator_client_format_metrics (sessions[i].client);
      if (sessions[i].taking != NULL && strstr (text, "curator_waiters 1") == NULL)
        return FALSE;
    }
  return TRUE;
}

static void
session_wait (Session *session)
{
  session->taking = taking_start_lock (session->lock, CURATOR_WAIT_FOREVER, NULL);
}

/* Behind a node that no session owns: the first waits for that one. */
static void
sessions_start (Session *sessions, Fixture *fixture)
{
  for (guint i = 0; i < N_SESSIONS; i++)
    {
      Session *session = &sessions[i];
      session->client = client_new (fixture_server (fixture));
      curator_client_set_session_timeout (session->client, session_ms ());
      curator_client_set_server_tick (session->client, session_ms () / 20);
      client_start (session->client);
      session->lock = mutex_new (session->client, PATH);
    }
  assert_int_equal (raw_zk_make_path (fixture->raw, PATH), ZOK);
  assert_int_equal (
      raw_zk_create (fixture->raw, PATH "/_c_front-lock-", "", ZOO_PERSISTENT_SEQUENTIAL, NULL),
      ZOK);
  session_wait (&sessions[0]);
  assert_soon (all_wait (sessions));
  for (guint i = 1; i < N_SESSIONS; i++)
    session_wait (&sessions[i]);
  assert_soon (all_wait (sessions));
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
  const gint64 zxid_before = zxid (fixture);
  const gint64 begun_ms = wait_now_ms ();
  wait_ms ((int) (setting ("WAITING_TIMEOUTS", 2) * session_ms ()));
  const gint64 by_server = zxid (fixture) - zxid_before;
  for (guint i = 1; i < N_SESSIONS; i++)
    of_far += n_since (&sessions[i]);
  const guint64 of_near = n_since (&sessions[0]);
  const double n_timeouts = (double) (wait_now_ms () - begun_ms) / (double) session_ms ();
  print_message (
      "%d sessions, %.1f session timeouts of %d ms: in each %.2f transactions by those far back, "
      "%.2f by the next; the server counted %d, the clients %d\n",
      N_SESSIONS, n_timeouts, (int) session_ms (), (double) of_far / N_FAR / n_timeouts,
      (double) of_near / n_timeouts, (int) by_server, (int) (of_near + of_far));

  for (guint i = 0; i < N_SESSIONS; i++)
    {
      assert_int_equal (counter (sessions[i].client, CURATOR_COUNTER_SESSIONS), 1);
      /* One at the beginning and one at the end. */
      assert_true ((double) n_since (&sessions[i]) <= (i == 0 ? 4 : 1) * n_timeouts + 1);
    }
  assert_true (of_far > 0 && of_near > 0);
  assert_true ((double) of_far <= N_FAR * n_timeouts);
  assert_in_range (by_server + SLACK, of_near + of_far, of_near + of_far + 2 * SLACK);

  for (guint i = N_SESSIONS; i-- > 0;)
    {
      curator_client_close (sessions[i].client);
      taking_free (sessions[i].taking);
      curator_lock_unref (sessions[i].lock);
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
