/* Waiting for a selector or a latch to lead, a selector's lease for other threads, listeners of a
 * latch that come late; and a leader that is cut off: its cancellable is cancelled, and it no
 * longer says that it leads, before the next candidate leads. */
#include "latches.h"
#include "leading.h"
#include "support/metronome.h"

#include <string.h>

#define PATH              "/await/election"
#define LONGER_SESSION_MS 10000

/* Of either recipe. */
typedef struct
{
  Leading *leading; /* one of both is NULL */
  Latch *latch;
} Candidate;

static Candidate
candidate_new (CuratorClient *client, const char *path, gboolean is_latch)
{
  return (Candidate){ is_latch ? NULL : leading_new (client, path, NULL, NULL),
                      is_latch ? latch_new (client, path, NULL) : NULL };
}

static void
candidate_start (Candidate *candidate)
{
  if (candidate->latch != NULL)
    latch_start (candidate->latch);
  else
    leading_start (candidate->leading);
}

static void
candidate_close (Candidate *candidate)
{
  if (candidate->latch != NULL)
    curator_leader_latch_close (candidate->latch->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  else
    curator_leader_selector_close (candidate->leading->selector);
}

static void
candidate_clear (Candidate *candidate)
{
  g_clear_pointer (&candidate->latch, latch_free);
  g_clear_pointer (&candidate->leading, leading_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Candidate, candidate_clear)

static gboolean
candidate_await (Candidate *candidate, gint64 ms, GCancellable *cancellable, GError **error)
{
  return candidate->latch != NULL
             ? curator_leader_latch_await (candidate->latch->latch, ms, cancellable, error)
             : curator_leader_selector_await (candidate->leading->selector, ms, cancellable, error);
}

/* Ends a wait a moment later. */
typedef struct
{
  Candidate *candidate; /* one of them is to be ended */
  CuratorClient *client;
  GCancellable *cancellable;
} Ending;

static gpointer
end_later (gpointer data)
{
  Ending *ending = data;
  wait_ms (50);
  if (ending->candidate != NULL)
    candidate_close (ending->candidate);
  if (ending->client != NULL)
    curator_client_close (ending->client);
  g_cancellable_cancel (ending->cancellable);
  return NULL;
}

static void
assert_awaits_in_vain (Candidate *candidate, gint64 timeout_ms, Ending ending, GQuark domain,
                       int code)
{
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("end", end_later, &ending);
  assert_false (candidate_await (candidate, timeout_ms, ending.cancellable, &error));
  g_thread_join (thread);
  assert_error (&error, domain, code);
  g_autoptr (CuratorLease) lease =
      candidate->latch != NULL ? curator_leader_latch_dup_lease (candidate->latch->latch)
                               : curator_leader_selector_dup_lease (candidate->leading->selector);
  assert_null (lease);
}

#define NO_ENDING ((Ending){ NULL, NULL, NULL })

/* A server has shown the other one. */
static gboolean
is_known_to_be_behind (Candidate *candidate)
{
  g_autoptr (GError) error = NULL;
  assert_false (candidate_await (candidate, 0, NULL, &error));
  return g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT);
}

/* Every end of a wait that is in vain. */
CLIENT_TEST (test_in_vain)
{
  for (int is_latch = 0; is_latch < 2; is_latch++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    g_autoptr (CuratorClient) other = client_connect (fixture_server (fixture));
    g_auto (Candidate) leader = candidate_new (client, PATH, is_latch);
    candidate_start (&leader);
    assert_ok (candidate_await (&leader, LONG_MS, NULL, &error), &error);
    g_auto (Candidate) waiting = candidate_new (client, PATH, is_latch);
    assert_awaits_in_vain (&waiting, LONG_MS, NO_ENDING, CURATOR_ERROR, CURATOR_ERROR_NOT_STARTED);
    candidate_start (&waiting);
    assert_soon (is_known_to_be_behind (&waiting));
    assert_awaits_in_vain (&waiting, 50, NO_ENDING, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT);
    assert_awaits_in_vain (&waiting, CURATOR_WAIT_FOREVER, (Ending){ .cancellable = cancellable },
                           G_IO_ERROR, G_IO_ERROR_CANCELLED);
    assert_awaits_in_vain (&waiting, CURATOR_WAIT_FOREVER, (Ending){ .candidate = &waiting },
                           CURATOR_ERROR, CURATOR_ERROR_CLOSED);
    assert_awaits_in_vain (&waiting, 0, NO_ENDING, CURATOR_ERROR, CURATOR_ERROR_CLOSED);
    g_auto (Candidate) last = candidate_new (other, PATH, is_latch);
    candidate_start (&last);
    assert_awaits_in_vain (&last, CURATOR_WAIT_FOREVER, (Ending){ .client = other }, CURATOR_ERROR,
                           CURATOR_ERROR_CLOSED);
  }
}

static void
assert_awaits (Leading *leading, gint64 timeout_ms)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_leader_selector_await (leading->selector, timeout_ms, NULL, &error), &error);
}

/* The lease is the function's own, for each term anew. */
CLIENT_TEST (test_terms)
{
  g_autoptr (Leading) leading = leading_start_new (client, PATH, NULL, NULL);
  guint64 token = 0;

  for (int term = 1; term <= 3; term++) {
    assert_awaits (leading, LONG_MS);
    assert_awaits (leading, 0);
    leading_assert_entered (leading, term);
    g_autoptr (CuratorLease) lease = curator_leader_selector_dup_lease (leading->selector);
    assert_ptr_equal (lease, leading->lease);
    assert_true (curator_lease_get_fencing_token (lease) > token);
    token = curator_lease_get_fencing_token (lease);
    g_atomic_int_set (&leading->told, TRUE);
    assert_soon (curator_leader_selector_requeue (leading->selector));
    assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_RELEASED);
  }
}

/* Why it could not queue is the error. */
static gboolean
await_names_the_cause (Candidate *candidate, const char *cause)
{
  g_autoptr (GError) error = NULL;
  assert_false (candidate_await (candidate, 50, NULL, &error));
  return g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH)
         && strstr (error->message, cause) != NULL;
}

static void
on_unhandled_error (CuratorClient *client, const GError *error, gpointer n_told)
{
  if (g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH)
      && strstr (error->message, "the ACL does not grant CREATE") != NULL
      && strstr (error->message, "/forbidden/") != NULL)
    g_atomic_int_inc ((gint *) n_told);
}

/* TestLeaderAcls.testAclErrorWithLeader: a candidate that may not create its node says so, and
 * leads as soon as it may. */
CLIENT_TEST (test_forbidden_path)
{
  for (int is_latch = 0; is_latch < 2; is_latch++) {
    const char *path = is_latch ? "/forbidden/latch" : "/forbidden/selector";
    gint n_told = 0;
    g_autoptr (GError) error = NULL;
    assert_int_equal (raw_zk_make_path (fixture->raw, path), ZOK);
    assert_int_equal (raw_zk_set_world_acl (fixture->raw, path, ZOO_PERM_READ | ZOO_PERM_ADMIN),
                      ZOK);
    const guint id =
        curator_client_add_connection_error_listener (client, on_unhandled_error, &n_told, NULL);
    g_auto (Candidate) candidate = candidate_new (client, path, is_latch);
    candidate_start (&candidate);
    if (!is_latch) {
      /* Each attempt ends by itself. */
      assert_soon (curator_leader_selector_requeue (candidate.leading->selector));
      curator_leader_selector_set_auto_requeue (candidate.leading->selector, TRUE);
      (void) curator_leader_selector_requeue (candidate.leading->selector);
    }
    assert_soon (await_names_the_cause (&candidate,
                                        is_latch ? path : "the leader selector could not queue"));
    assert_soon (g_atomic_int_get (&n_told) >= 1);
    curator_client_remove_connection_error_listener (client, id);
    assert_int_equal (raw_zk_set_world_acl (fixture->raw, path, ZOO_PERM_ALL), ZOK);
    assert_ok (candidate_await (&candidate, LONG_MS, NULL, &error), &error);
  }
}

static void
note_change (CuratorLeaderLatch *latch, gboolean is_leader, gpointer changes)
{
  /* On one thread; read after it has ended. */
  g_string_append_c (changes, is_leader ? '+' : '-');
}

/* Who comes while the latch leads hears that, once, and nobody else hears it again. */
PROXY_TEST (test_late_listeners)
{
  g_autoptr (Latch) latch = latch_new (client, PATH, NULL);
  GString *heard[5];
  for (gsize i = 0; i < G_N_ELEMENTS (heard); i++)
    heard[i] = g_string_new (NULL);

  curator_leader_latch_add_listener (latch->latch, note_change, heard[0], NULL);
  latch_start (latch);
  latch_assert_leads (latch);
  curator_leader_latch_add_listener (latch->latch, note_change, heard[1], NULL);
  latch_assert_heard (latch, "+");
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  latch_assert_heard (latch, "+-");
  curator_leader_latch_add_listener (latch->latch, note_change, heard[2], NULL);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  latch_assert_heard (latch, "+-+");
  curator_leader_latch_add_listener (latch->latch, note_change, heard[3], NULL);
  curator_leader_latch_close (latch->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
  curator_leader_latch_add_listener (latch->latch, note_change, heard[4], NULL);
  latch_assert_heard (latch, "+-+-");
  curator_client_close (client); /* has joined the thread */
  static const char *const wanted[] = { "+-+-", "+-+-", "+-", "+-", "" };
  for (gsize i = 0; i < G_N_ELEMENTS (heard); i++) {
    assert_string_equal (heard[i]->str, wanted[i]);
    g_string_free (heard[i], TRUE);
  }
}

/* --- a leader that is cut off ----------------------------------------------------------------- */

typedef struct
{
  Candidate candidate;
  GThread *thread;
  gint64 when_ns; /* the beginning of the last look at which it led, or the end of the first */
} Watched;

static gboolean
candidate_leads (const Candidate *candidate)
{
  return candidate->latch != NULL ? latch_leads (candidate->latch)
                                  : leading_leads (candidate->leading);
}

static gpointer
watch_the_end (gpointer data)
{
  Watched *watched = data;
  for (gint64 now_ns; (now_ns = wait_now_ns ()) > 0 && candidate_leads (&watched->candidate);
       watched->when_ns = now_ns)
    g_usleep (500);
  return NULL;
}

static gpointer
watch_the_beginning (gpointer data)
{
  Watched *watched = data;
  while (!candidate_leads (&watched->candidate))
    g_usleep (200);
  watched->when_ns = wait_now_ns ();
  return NULL;
}

static void
note_time (GCancellable *cancellable, gpointer when_ns)
{
  __atomic_store_n ((gint64 *) when_ns, wait_now_ns (), __ATOMIC_SEQ_CST);
}

static void
print_margin (const char *what, gint64 cut_ns, gint64 end_ns, gint64 next_ns)
{
  print_message ("%-24s ended %+6d ms, next leader %+6d ms, margin %d ms\n", what,
                 (int) ((end_ns - cut_ns) / 1000000), (int) ((next_ns - cut_ns) / 1000000),
                 (int) ((next_ns - end_ns) / 1000000));
  assert_true (end_ns > cut_ns);
  /* curator/leader.h: before the next candidate leads. */
  assert_promised_ms ((end_ns - next_ns + 999999) / 1000000, 0, cut_ns / 1000000);
}

static const struct
{
  const char *name;
  gboolean is_latch;
  gboolean until_lost;
} elections[] = { { "selector", FALSE, FALSE },
                  { "selector, until lost", FALSE, TRUE },
                  { "latch", TRUE, FALSE },
                  { "latch, until lost", TRUE, TRUE } };
#define N_ELECTIONS G_N_ELEMENTS (elections)

/* TestLeaderSelector.testErrorPolicies, testServerDying. Both recipes by both rules at once: four
 * elections, each with a leader that is cut off. */
TEST (test_cut_off)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) cut = client_connect_for (fixture_proxy (fixture), LONGER_SESSION_MS);
  g_autoptr (CuratorClient) direct =
      client_connect_for (fixture_server (fixture), LONGER_SESSION_MS);
  Watched leaders[N_ELECTIONS] = { 0 };
  Watched next[N_ELECTIONS] = { 0 };
  gint64 cancelled_ns[N_ELECTIONS] = { 0 };

  for (gsize i = 0; i < N_ELECTIONS; i++) {
    g_autofree char *path = g_strdup_printf ("/cut-off/%zu", i);
    Candidate leader = candidate_new (cut, path, elections[i].is_latch);
    leaders[i].candidate = leader;
    next[i].candidate = candidate_new (direct, path, elections[i].is_latch);
    if (elections[i].is_latch)
      curator_leader_latch_set_until_lost (leader.latch->latch, elections[i].until_lost);
    else
      curator_leader_selector_set_until_lost (leader.leading->selector, elections[i].until_lost);
    candidate_start (&leader);
    assert_ok (candidate_await (&leader, LONG_MS, NULL, &error), &error);
    candidate_start (&next[i].candidate);
    assert_children (fixture, path, 2, LONG_MS);
    if (elections[i].is_latch)
      continue;
    leading_assert_entered (leader.leading, 1);
    g_cancellable_connect (leader.leading->cancellable, G_CALLBACK (note_time), &cancelled_ns[i],
                           NULL);
  }
  const gint64 cut_ns = wait_now_ns ();
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  for (gsize i = 0; i < N_ELECTIONS; i++) {
    leaders[i].thread = g_thread_new ("end", watch_the_end, &leaders[i]);
    next[i].thread = g_thread_new ("next", watch_the_beginning, &next[i]);
  }
  for (gsize i = 0; i < N_ELECTIONS; i++) {
    g_thread_join (leaders[i].thread);
    g_thread_join (next[i].thread);
    print_margin (elections[i].name, cut_ns, leaders[i].when_ns, next[i].when_ns);
    assert_true (leaders[i].when_ns < next[i].when_ns);
    if (elections[i].is_latch)
      continue;
    leading_assert_left (leaders[i].candidate.leading, 1);
    assert_soon (__atomic_load_n (&cancelled_ns[i], __ATOMIC_SEQ_CST) != 0);
    print_margin ("its cancellable", cut_ns, cancelled_ns[i], next[i].when_ns);
    /* Until lost: not before the lease is. */
    assert_false (elections[i].until_lost && leaders[i].candidate.leading->held_at_cancellation);
  }
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  for (gsize i = 0; i < N_ELECTIONS; i++) {
    candidate_clear (&leaders[i].candidate);
    candidate_clear (&next[i].candidate);
  }
}

PROMPT_SUITE ("leader_await", fixture_start_calm, fixture_stop)
