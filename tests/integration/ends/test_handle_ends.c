/* The ends of clients and of libzookeeper's handles: each cause of an end, and each moment at which
 * a program may close the client or drop it, with handles of ours and of the program's, many at a
 * time. Nothing is left in this process or on the server. CURATOR_ENDS=n runs n of them;
 * scripts/zookeeper-asan runs many with a libzookeeper in which AddressSanitizer sees each access to
 * a freed handle. */
#include "core/client-record.h"
#include "core/monitor.h"
#include "integration/taking.h"
#include "session/session.h"
#include "zk/zk_handle.h"

#include <curator/zookeeper.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define N_THREADS    12
#define DEFAULT_ENDS 204
#define RANDOM_US    3000
#define N_WAITERS    16
#define N_STORMS     10
/* Nothing else ends a session, also on a busy machine. */
#define PATIENT_MS 10000
#define N_ERRORS   134

typedef enum
{
  BY_NOTHING,
  BY_CUT,    /* the client connects again */
  BY_OUTAGE, /* it cannot */
  BY_EXPIRY,
  BY_REFUSAL /* of the credentials */
} Cause;

/* Who ends the client, and when. */
typedef enum
{
  AT_START,     /* another thread, before, during or after the first connection */
  IN_WAIT,      /* another thread, while many acquires wait */
  AFTER_LOSS,   /* another thread, as soon as it knows */
  AT_ANY_TIME,  /* another thread, while the session ends */
  IN_CONNECTED, /* callbacks */
  IN_LOST,
  IN_LEASE_LOST,
  IN_ACQUIRED,
  IN_RELEASED
} Moment;

typedef struct
{
  Cause cause;
  Moment moment;
} Kind;

static const Kind kinds[] = {
  { BY_NOTHING, AT_START },     { BY_NOTHING, IN_WAIT },       { BY_OUTAGE, IN_WAIT },
  { BY_NOTHING, AT_ANY_TIME },  { BY_NOTHING, IN_CONNECTED },  { BY_NOTHING, IN_ACQUIRED },
  { BY_NOTHING, IN_RELEASED },  { BY_CUT, AT_ANY_TIME },       { BY_OUTAGE, AT_ANY_TIME },
  { BY_EXPIRY, AFTER_LOSS },    { BY_EXPIRY, AT_ANY_TIME },    { BY_EXPIRY, IN_LOST },
  { BY_EXPIRY, IN_LEASE_LOST }, { BY_REFUSAL, AFTER_LOSS },    { BY_REFUSAL, AT_ANY_TIME },
  { BY_REFUSAL, IN_LOST },      { BY_REFUSAL, IN_LEASE_LOST },
};

/* How it ends. */
typedef enum
{
  CLOSED,
  CLOSED_ADOPTED, /* on a handle of the program's */
  DROPPED,        /* by the last reference; those that wait have references of their own */
  N_WAYS
} Way;

typedef struct
{
  const char *server;
  Proxy *proxy; /* between the client and the server */
  Kind kind;
  Way way;
  CuratorClient *client;
  zhandle_t *zh; /* the program's */
  CuratorLease *lease;
  gint is_held; /* atomic, as all that follow */
  gint is_lost;
  gint is_ended; /* by a callback */
  gint is_over;  /* no callback comes any more */
  gint n_told;   /* of those that wait */
} End;

/* cmocka's assertions are for the test's own thread. */
static void
wait_for (End *end, gint *counter, gint n)
{
  if (!holds_within (g_atomic_int_get (counter) >= n, LONG_MS)) {
    g_error ("cause %d, moment %d, way %d: held %d, lost %d, ended %d, over %d, %d told",
             (int) end->kind.cause, (int) end->kind.moment, (int) end->way, end->is_held,
             end->is_lost, end->is_ended, end->is_over, end->n_told);
  }
}

/* The handle is the program's again as soon as close returns, also in a callback. */
static void
end_client (End *end)
{
  if (end->way == DROPPED && end->kind.moment != IN_WAIT) {
    g_clear_pointer (&end->lease, curator_lease_unref);
    curator_client_unref (g_steal_pointer (&end->client));
    return;
  }
  curator_client_close (end->client);
  if (end->way == CLOSED_ADOPTED) {
    /* No pause inside the call while the session lives, or ends: libzookeeper may fail then. */
    if (end->kind.moment != IN_LEASE_LOST && g_atomic_int_get (&end->is_lost) == 0)
      zoo_set_context (end->zh, NULL);
    zookeeper_close (end->zh);
  }
  g_assert_true (end->lease == NULL
                 || curator_lease_get_state (end->lease) != CURATOR_LEASE_STATE_HELD);
}

static void
reached (End *end, Moment moment)
{
  if (end->kind.moment == moment && g_atomic_int_get (&end->is_ended) == 0) {
    end_client (end);
    g_atomic_int_set (&end->is_ended, 1);
  }
}

static void
note_over (gpointer end)
{
  g_atomic_int_set (&((End *) end)->is_over, 1);
}

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  End *end = data;

  if (state == CURATOR_CONNECTION_STATE_CONNECTED) {
    reached (end, IN_CONNECTED);
  } else if (state == CURATOR_CONNECTION_STATE_LOST) {
    g_atomic_int_set (&end->is_lost, 1);
    reached (end, IN_LOST);
  }
}

static void
on_lease (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  if (state == CURATOR_LEASE_STATE_LOST)
    reached (data, IN_LEASE_LOST);
}

static void
on_released (CuratorLease *lease, const GError *error, gpointer data)
{
  reached (data, IN_RELEASED);
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  End *end = data;

  if (lease == NULL)
    return; /* ended before */
  if (end->kind.moment == IN_CONNECTED) {
    curator_lease_unref (lease); /* it may be ending now */
    return;
  }
  end->lease = lease;
  curator_lease_add_listener (lease, on_lease, end, NULL);
  g_atomic_int_set (&end->is_held, 1);
  if (end->kind.moment == IN_RELEASED)
    curator_lease_release_then (lease, CURATOR_WAIT_DEFAULT, NULL, on_released, end);
  reached (end, IN_ACQUIRED);
}

static void
on_told (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  g_assert_error (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED);
  g_atomic_int_inc (&((End *) data)->n_told);
}

static void
program_event (zhandle_t *zh, int type, int state, const char *path, void *data)
{
  End *end = data;
  if (end != NULL)
    curator_client_forward_event (end->client, zh, type, state, path);
}

static void
ignore_log (const char *message)
{
}

static void
open_handle (End *end)
{
  g_autoptr (GError) error = NULL;
  end->zh = zookeeper_init2 (proxy_address (end->proxy), program_event, PATIENT_MS, NULL, end,
                             ZOO_NO_LOG_CLIENTENV, ignore_log);
  g_assert_nonnull (end->zh);
  g_assert_true (curator_client_set_zhandle (end->client, end->zh, &error));
}

static void
make_client (End *end)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);

  end->client = end->way == CLOSED_ADOPTED
                    ? curator_client_new_for_zhandle (NULL, policy)
                    : curator_client_new (proxy_address (end->proxy), policy);
  curator_client_set_session_timeout (end->client, PATIENT_MS);
  curator_client_set_connection_timeout (end->client, SESSION_MS);
  curator_client_add_state_listener (end->client, on_state, end, note_over);
  if (end->way == CLOSED_ADOPTED)
    open_handle (end);
}

/* NULL: the session is closed already. */
static CURATOR_NOT_ANALYSED zhandle_t *
handle_of (End *end)
{
  if (end->way == CLOSED_ADOPTED)
    return end->zh;
  const CuratorSession *session = end->client->session;
  return session != NULL && session->handle != NULL ? session->handle->zh : NULL;
}

static void
cause (End *end)
{
  clientid_t id;

  if (end->kind.cause == BY_CUT)
    proxy_cut (end->proxy);
  else if (end->kind.cause == BY_OUTAGE)
    proxy_set_mode (end->proxy, PROXY_REFUSE);
  if (end->kind.cause < BY_EXPIRY)
    return;
  CuratorClient *client = curator_client_ref (end->client); /* which a callback may drop */
  curator_client_lock (client);
  zhandle_t *zh = handle_of (end);
  g_assert_nonnull (zh);
  id = *zoo_client_id (zh);
  if (end->kind.cause == BY_REFUSAL)
    zoo_add_auth (zh, "nobody-knows-it", "x", 1, NULL, NULL);
  curator_client_unlock (client);
  curator_client_unref (client);
  if (end->kind.cause == BY_EXPIRY) {
    g_assert_true (expire_session (end->server, id.client_id, (const guint8 *) id.passwd, LONG_MS));
  }
}

#define HELD_PATH "/ends/held" /* by somebody else */

static void
run (End *end)
{
  const Moment moment = end->kind.moment;
  const gboolean is_by_callback = moment >= IN_CONNECTED;
  g_autofree char *path = g_strdup_printf ("/ends/%p", (void *) end);

  make_client (end);
  g_autoptr (GError) error = NULL;
  CuratorClient *client = curator_client_ref (end->client);
  CuratorLock *lock = curator_mutex_new (client, moment == IN_WAIT ? HELD_PATH : path, NULL);
  g_assert_true (curator_client_start (client, &error));
  if (moment != IN_WAIT && moment != AT_START)
    curator_lock_acquire_then (lock, LONG_MS, NULL, on_acquired, end);
  for (int i = 0; moment == IN_WAIT && i < N_WAITERS; i++)
    curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_told, end);
  curator_lock_unref (lock);
  curator_client_unref (client);
  if (moment == IN_WAIT)
    g_usleep ((gulong) g_random_int_range (0, RANDOM_US));
  else if (end->kind.cause != BY_NOTHING || moment == AT_ANY_TIME)
    wait_for (end, &end->is_held, 1);
  cause (end);
  if (moment == AFTER_LOSS)
    wait_for (end, &end->is_lost, 1);
  else if (!is_by_callback)
    g_usleep ((gulong) g_random_int_range (0, RANDOM_US));
  if (is_by_callback)
    wait_for (end, &end->is_ended, 1);
  else
    end_client (end);
  g_clear_pointer (&end->lease, curator_lease_unref);
  g_clear_pointer (&end->client, curator_client_unref);
  wait_for (end, &end->is_over, 1);
  if (moment == IN_WAIT)
    wait_for (end, &end->n_told, N_WAITERS);
  proxy_set_mode (end->proxy, PROXY_PASS);
}

typedef struct
{
  const char *server;
  gint next; /* atomic */
  gint n;
  End *ends;
} Work;

static void *
work (void *data)
{
  Work *work = data;
  Proxy *proxy = proxy_new (work->server);
  gint i;

  while ((i = g_atomic_int_add (&work->next, 1)) < work->n) {
    work->ends[i] = (End){ .server = work->server,
                           .proxy = proxy,
                           .kind = kinds[(guint) i / N_WAYS % G_N_ELEMENTS (kinds)],
                           .way = (Way) (i % N_WAYS) };
    run (&work->ends[i]);
  }
  proxy_free (proxy);
  return NULL;
}

/* --- what is left ----------------------------------------------------------------------------- */

static int
count_entries (const char *path)
{
  int n = 0;
  DIR *dir = opendir (path);
  assert_non_null (dir);
  while (readdir (dir) != NULL)
    n++;
  closedir (dir);
  return n;
}

typedef struct
{
  int threads;
  int fds;
} Usage;

static Usage
usage_now (void)
{
  return (Usage){ count_entries ("/proc/self/task"), count_entries ("/proc/self/fd") };
}

/* A client that ended without a network leaves its session to the server. */
static void
assert_nothing_is_left (Fixture *fixture, Usage before)
{
  g_auto (GStrv) names = raw_zk_children (fixture->raw, "/ends");
  Usage now;

  if (!holds_within ((now = usage_now (), now.threads <= before.threads && now.fds <= before.fds),
                     LONG_MS)) {
    fail_msg ("%d threads of %d and %d descriptors of %d are left", now.threads, before.threads,
              now.fds, before.fds);
  }
  for (char **name = names; *name != NULL; name++) {
    g_autofree char *path = g_strconcat ("/ends/", *name, NULL);
    assert_no_residue (fixture, path, PATIENT_MS + LONG_MS);
  }
}

TEST (test_p35_every_end)
{
  const char *wanted = g_getenv ("CURATOR_ENDS");
  Work shared = { .server = fixture_server (fixture),
                  .n = wanted != NULL ? atoi (wanted) : DEFAULT_ENDS };
  G_GNUC_UNUSED g_autofree End *ends = shared.ends = g_new0 (End, shared.n);
  pthread_t threads[N_THREADS];
  g_autoptr (CuratorClient) peer = client_connect_for (fixture_server (fixture), LONG_SESSION_MS);
  g_autoptr (CuratorLock) lock = mutex_new (peer, HELD_PATH);
  CuratorLease *held = lease_of (lock);

  /* GLib keeps these texts under a lock of its own, which ThreadSanitizer does not see. */
  for (int number = 0; number < N_ERRORS; number++)
    assert_non_null (g_strerror (number));
  const Usage before = usage_now ();
  for (int i = 0; i < N_THREADS; i++)
    pthread_create (&threads[i], NULL, work, &shared);
  for (int i = 0; i < N_THREADS; i++)
    pthread_join (threads[i], NULL);
  print_message ("%d clients ended\n", shared.n);
  assert_int_equal (curator_lease_get_state (held), CURATOR_LEASE_STATE_HELD);
  curator_lease_unref (held);
  assert_nothing_is_left (fixture, before);
}

typedef struct
{
  CuratorZkOps ops; /* first */
  gint may_rest;    /* atomic */
} Restless;

static gint64
rests_when_told (CuratorZkOps *ops, CuratorZkHandle *handle)
{
  const gboolean may_rest = g_atomic_int_get (&((Restless *) ops)->may_rest) != 0;
  return may_rest ? curator_zk_ops_real ()->rest_us (ops, handle) : 1000;
}

/* The first one's handle does not rest until the second one is connected. */
TEST (test_the_next_session_does_not_wait)
{
  static Restless restless;
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);

  restless.ops = *curator_zk_ops_real ();
  restless.ops.rest_us = rests_when_told;
  g_autoptr (CuratorClient) client =
      curator_client_new_with_ops (fixture_server (fixture), policy, &restless.ops);
  client_start (client);
  End end = { .server = fixture_server (fixture), .kind.cause = BY_EXPIRY, .client = client };
  cause (&end);
  assert_soon (CURATOR_WITH_MUTEX (client, client->sessions_open == 2
                                               && curator_client_is_connected (client)));
  g_atomic_int_set (&restless.may_rest, 1);
  curator_client_close (client);
}

/* Waiters come and go, each with a watch, while the connection breaks repeatedly: every break sends
 * a session event to every watcher. The client is destroyed in the middle. */
TEST (test_p15_destroy_in_a_storm)
{
  const Usage before = usage_now ();
  CuratorClient *peer = client_connect_for (fixture_server (fixture), LONG_SESSION_MS);
  for (int storm = 0; storm < N_STORMS; storm++) {
    Taking *holders[N_WAITERS];
    Taking *takings[2 * N_WAITERS];
    CuratorClient *client = client_connect (fixture_proxy (fixture));
    for (int i = 0; i < N_WAITERS; i++) {
      g_autofree char *path = g_strdup_printf ("/ends/storm-%d-%d", storm, i);
      g_autoptr (CuratorLock) theirs = mutex_new (peer, path);
      g_autoptr (CuratorLock) lock = mutex_new (client, path);
      holders[i] = taking_of_lock (theirs);
      takings[2 * i] = taking_start_lock (lock, i * 10, NULL);
      takings[2 * i + 1] = taking_start_lock (lock, CURATOR_WAIT_FOREVER, NULL);
    }
    for (int i = 0; i < N_WAITERS; i++) {
      proxy_cut (fixture->proxy);
      g_usleep ((gulong) g_random_int_range (0, 20000));
      taking_give_back (holders[i]);
    }
    curator_client_close (client);
    for (int i = 0; i < N_WAITERS; i++) {
      taking_free (holders[i]);
      taking_free (takings[2 * i]);
      taking_free (takings[2 * i + 1]);
    }
    curator_client_unref (client);
  }
  curator_client_unref (peer);
  assert_nothing_is_left (fixture, before);
}

SUITE ("handle ends", fixture_start_slow, fixture_stop)
