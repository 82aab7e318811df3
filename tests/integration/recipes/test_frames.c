/* The frame sweep: runs every scenario with the connection broken at each of its frames in turn,
 * before the request, before its answer (once, and twice in a row) and after its answer, until a
 * run ends before the fault. Afterwards the scenario must succeed on the same path, and no node and
 * no watch may be left.
 *
 * Several sweeps run side by side, each with a proxy, a peer and an observer of its own.
 *
 * With IS_SECURED the client logs in with DIGEST-MD5, so that all its frames pass the secure
 * channel, and each connection has frames of SASL that can be broken as well.
 */
#include "frames.h"

#if IS_SECURED
#include "integration/secured/secured.h"
#endif

#define N_WORKERS  6
#define MAX_FRAMES 80
#define SETTLE_MS  20000 /* no session expires meanwhile */

typedef struct
{
  const char *when;
  ProxyAction action;
  int times; /* in a row */
} Break;

static const Break breaks[] = {
#if !IS_SECURED
  { "before", PROXY_CUT_BEFORE, 1 },
  { "unanswered", PROXY_CUT_BEFORE_REPLY, 1 },
  { "after", PROXY_CUT_AFTER_REPLY, 1 },
#endif
  /* The second one can be a frame of SASL. */
  { "twice", PROXY_CUT_BEFORE_REPLY, 2 },
};

typedef struct
{
  int cases;
  gint64 slowest_ms; /* from the end of the scenario until all residue is gone */
  GString *faults;
} Result;

typedef struct
{
  const char *server;
  pthread_mutex_t mutex;
  gsize next;      /* the next job: scenario times kind of break */
  Result *results; /* one for each job, written by the thread that runs it */
} Sweep;

typedef struct
{
  Sweep *sweep;
  pthread_t thread;
  Proxy *proxy;
  RawZk *raw;
  CuratorClient *peer;
} Worker;

/* Nodes at or below the path that a session owns. */
static int
count_ephemerals (RawZk *raw, const char *path)
{
  g_auto (GStrv) names = raw_zk_children (raw, path);
  int sum = raw_zk_owner (raw, path) > 0 ? 1 : 0;
  for (char **name = names; name != NULL && *name != NULL; name++) {
    g_autofree char *child = g_strconcat (path, "/", *name, NULL);
    sum += count_ephemerals (raw, child);
  }
  return sum;
}

static void
check_residue (Worker *worker, FrameRun *run, Result *result)
{
  gint64 ended_ms = wait_now_ms ();
  if (!holds_within (count_ephemerals (worker->raw, run->path) == 0
                         && four_letter_watches_below (worker->sweep->server, run->path) == 0,
                     SETTLE_MS)
      && run->fault->len == 0) {
    g_string_printf (run->fault, "left are %d nodes and %d watches",
                     count_ephemerals (worker->raw, run->path),
                     four_letter_watches_below (worker->sweep->server, run->path));
  }
  result->slowest_ms = MAX (result->slowest_ms, wait_now_ms () - ended_ms);
}

/* FALSE when the scenario has fewer than k frames, or failed. */
static gboolean
break_at (Worker *worker, const FrameScenario *scenario, const Break *how, int k, Result *result)
{
  g_autofree char *path =
      g_strdup_printf ("/frames/%zd-%s-%d", scenario - frame_scenarios, how->when, k);
  g_autoptr (GString) fault = g_string_new (NULL);
  g_autoptr (CuratorClient) client = client_new (proxy_address (worker->proxy));
  FrameRun run = { scenario, client, worker->peer, worker->raw, path, fault };
  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  curator_client_set_connection_timeout (client, LONG_SESSION_MS);
#if IS_SECURED
  if (!curator_client_set_sasl_digest (client, SASL_USER, SASL_PASSWORD, NULL))
    g_string_append (fault, "no SASL");
#endif
  if (!curator_client_start (client, NULL)
      || !curator_client_block_until_connected (client, LONG_MS, NULL, NULL))
    g_string_append (fault, "no connection");
  proxy_arm (worker->proxy, PROXY_ANY_REQUEST, k, how->times, how->action);
  scenario->run (&run);
  gboolean fired = proxy_fired (worker->proxy) > 0;
  proxy_disarm (worker->proxy);
  check_residue (worker, &run, result);
  if (fault->len == 0) {
    scenario->run (&run);
    check_residue (worker, &run, result);
  }
  curator_client_close (client);
  if (fault->len > 0) {
    g_string_append_printf (result->faults, "%s, frame %d, %s: %s\n", scenario->name, k, how->when,
                            fault->str);
  }
  result->cases += fired ? 1 : 0;
  return fired && fault->len == 0;
}

static gboolean
take_job (Sweep *sweep, gsize *job)
{
  pthread_mutex_lock (&sweep->mutex);
  *job = sweep->next++;
  pthread_mutex_unlock (&sweep->mutex);
  return *job < n_frame_scenarios * G_N_ELEMENTS (breaks);
}

static void *
work (void *data)
{
  Worker *worker = data;
  gsize job;
  while (take_job (worker->sweep, &job)) {
    const FrameScenario *scenario = &frame_scenarios[job / G_N_ELEMENTS (breaks)];
    const Break *how = &breaks[job % G_N_ELEMENTS (breaks)];
    Result *result = &worker->sweep->results[job];
    int k = 1;
    while (k <= MAX_FRAMES && break_at (worker, scenario, how, k, result))
      k++;
    if (k > MAX_FRAMES)
      g_string_append_printf (result->faults, "%s has no end\n", scenario->name);
  }
  return NULL;
}

static void
worker_start (Worker *worker, Sweep *sweep)
{
  worker->sweep = sweep;
  worker->proxy = proxy_new (sweep->server);
  worker->raw = raw_zk_open (sweep->server);
  worker->peer = client_connect_for (sweep->server, LONG_SESSION_MS);
  assert_non_null (worker->proxy);
  assert_non_null (worker->raw);
  pthread_create (&worker->thread, NULL, work, worker);
}

static void
worker_join (Worker *worker)
{
  pthread_join (worker->thread, NULL);
  curator_client_unref (worker->peer);
  raw_zk_close (worker->raw);
  proxy_free (worker->proxy);
}

/* Returns the number of failed cases. */
static int
print_results (const Result *results)
{
  int sum = 0;
  int wrong = 0;
  gint64 slowest_ms = 0;
  print_message ("%-18s", "frames");
  for (gsize b = 0; b < G_N_ELEMENTS (breaks); b++)
    print_message (" %10s", breaks[b].when);
  for (gsize i = 0; i < n_frame_scenarios; i++) {
    const Result *of = &results[i * G_N_ELEMENTS (breaks)];
    print_message ("\n%-18s", frame_scenarios[i].name);
    for (gsize b = 0; b < G_N_ELEMENTS (breaks); b++) {
      print_message (" %10d", of[b].cases);
      sum += of[b].cases;
      slowest_ms = MAX (slowest_ms, of[b].slowest_ms);
      wrong += of[b].faults->len > 0 ? 1 : 0;
      print_error ("%s%s", of[b].faults->len > 0 ? "\n" : "", of[b].faults->str);
    }
  }
  print_message ("\n%d cases, %d wrong; nothing left after %" G_GINT64_FORMAT " ms at the latest\n",
                 sum, wrong, slowest_ms);
  return wrong;
}

TEST (test_p1_every_frame)
{
  const gsize n_jobs = n_frame_scenarios * G_N_ELEMENTS (breaks);
  g_autofree Result *results = g_new0 (Result, n_jobs);
  Sweep sweep = { fixture_server (fixture), PTHREAD_MUTEX_INITIALIZER, 0, results };
  Worker workers[N_WORKERS] = { 0 };
  for (gsize i = 0; i < n_jobs; i++)
    results[i].faults = g_string_new (NULL);
  for (int i = 0; i < N_WORKERS; i++)
    worker_start (&workers[i], &sweep);
  for (int i = 0; i < N_WORKERS; i++)
    worker_join (&workers[i]);
  int wrong = print_results (results);
  for (gsize i = 0; i < n_jobs; i++) {
    /* The shortest scenario, a re-entered mutex, has a create, a list and a delete. */
    assert_true (results[i].cases >= 3);
    g_string_free (results[i].faults, TRUE);
  }
  assert_int_equal (wrong, 0);
}

#if IS_SECURED
#define start secured_start_clear
#define stop  secured_stop_clear
#else
#define start fixture_start_calm
#define stop  fixture_stop
#endif

SUITE ("frames", start, stop)
