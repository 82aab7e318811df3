/* The ends of libzookeeper's handles: each cause of an end, and each moment at which a program may
 * close the client, with handles of ours and of the program's, many at a time. CURATOR_ENDS=n runs
 * n of them; scripts/zookeeper-asan runs many with a libzookeeper in which AddressSanitizer sees
 * each access to a freed handle. */
#include "core/client-record.h"
#include "core/monitor.h"
#include "integration/fixture.h"
#include "session/session.h"
#include "zk/zk_handle.h"

#include <curator/zookeeper.h>
#include <stdlib.h>
#include <string.h>

#define N_THREADS    12
#define DEFAULT_ENDS 48
#define RANDOM_US    3000
/* The longest that the server grants: nothing else ends a session, also on a busy machine. */
#define PATIENT_MS 10000
#define N_ERRORS   134

typedef enum
{
  BY_NOTHING,
  BY_EXPIRY,
  BY_REFUSAL /* of the credentials */
} Cause;

/* Who closes the client, and when. */
typedef enum
{
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
  { BY_NOTHING, AT_ANY_TIME }, { BY_NOTHING, IN_CONNECTED }, { BY_NOTHING, IN_ACQUIRED },
  { BY_NOTHING, IN_RELEASED }, { BY_EXPIRY, AFTER_LOSS },    { BY_EXPIRY, AT_ANY_TIME },
  { BY_EXPIRY, IN_LOST },      { BY_EXPIRY, IN_LEASE_LOST }, { BY_REFUSAL, AFTER_LOSS },
  { BY_REFUSAL, AT_ANY_TIME }, { BY_REFUSAL, IN_LOST },      { BY_REFUSAL, IN_LEASE_LOST },
};

typedef struct
{
  const char *server;
  Kind kind;
  gboolean is_adopted;
  CuratorClient *client;
  zhandle_t *zh; /* the program's */
  CuratorLease *lease;
  gint is_held; /* atomic, as all that follow */
  gint is_lost;
  gint is_closed; /* by a callback */
} End;

/* cmocka's assertions are for the test's own thread. */
static void
wait_for (End *end, gint *flag)
{
  if (!holds_within (g_atomic_int_get (flag) != 0, LONG_MS))
    {
      g_error ("cause %d, moment %d, %s handle: held %d, lost %d, closed %d", (int) end->kind.cause,
               (int) end->kind.moment, end->is_adopted ? "adopted" : "own", end->is_held,
               end->is_lost, end->is_closed);
    }
}

/* The handle is the program's again as soon as close returns, also in a callback. */
static void
close_all (End *end)
{
  curator_client_close (end->client);
  if (end->is_adopted)
    zookeeper_close (end->zh);
}

static void
reached (End *end, Moment moment)
{
  if (end->kind.moment == moment && g_atomic_int_get (&end->is_closed) == 0)
    {
      close_all (end);
      g_atomic_int_set (&end->is_closed, 1);
    }
}

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  End *end = data;

  if (state == CURATOR_CONNECTION_STATE_CONNECTED)
    {
      reached (end, IN_CONNECTED);
    }
  else if (state == CURATOR_CONNECTION_STATE_LOST)
    {
      g_atomic_int_set (&end->is_lost, 1);
      reached (end, IN_LOST);
    }
}

static void
on_lease (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  if (state == CURATOR_LEASE_LOST)
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
    return; /* closed before */
  end->lease = lease;
  curator_lease_add_listener (lease, on_lease, end, NULL);
  g_atomic_int_set (&end->is_held, 1);
  reached (end, IN_ACQUIRED);
  if (end->kind.moment == IN_RELEASED)
    curator_lease_release_then (lease, CURATOR_WAIT_DEFAULT, NULL, on_released, end);
}

static void
program_event (zhandle_t *zh, int type, int state, const char *path, void *data)
{
  End *end = data;
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
  end->zh = zookeeper_init2 (end->server, program_event, PATIENT_MS, NULL, end,
                             ZOO_NO_LOG_CLIENTENV, ignore_log);
  g_assert_nonnull (end->zh);
  g_assert_true (curator_client_set_zhandle (end->client, end->zh, &error));
}

static void
begin (End *end)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);

  end->client = end->is_adopted ? curator_client_new_for_zhandle (NULL, policy)
                                : curator_client_new (end->server, policy);
  curator_client_set_session_timeout (end->client, PATIENT_MS);
  curator_client_add_state_listener (end->client, on_state, end, NULL);
  if (end->is_adopted)
    open_handle (end);
  g_assert_true (curator_client_start (end->client, &error));
}

/* NULL: the session is closed already. */
static CURATOR_NOT_ANALYSED zhandle_t *
handle_of (End *end)
{
  if (end->is_adopted)
    return end->zh;
  const CuratorSession *session = end->client->session;
  return session != NULL && session->handle != NULL ? session->handle->zh : NULL;
}

static void
cause (End *end)
{
  clientid_t id;

  if (end->kind.cause == BY_NOTHING)
    return;
  curator_client_lock (end->client);
  zhandle_t *zh = handle_of (end);
  g_assert_nonnull (zh);
  id = *zoo_client_id (zh);
  if (end->kind.cause == BY_REFUSAL)
    zoo_add_auth (zh, "nobody-knows-it", "x", 1, NULL, NULL);
  curator_client_unlock (end->client);
  if (end->kind.cause == BY_EXPIRY)
    {
      g_assert_true (
          expire_session (end->server, id.client_id, (const guint8 *) id.passwd, LONG_MS));
    }
}

static void
run (End *end)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_strdup_printf ("/ends/%p", (void *) end);

  begin (end);
  g_autoptr (CuratorLock) lock = curator_mutex_new (end->client, path, &error);
  g_assert_nonnull (lock);
  curator_lock_acquire_then (lock, LONG_MS, NULL, on_acquired, end);
  if (end->kind.moment == AT_ANY_TIME || end->kind.moment == AFTER_LOSS)
    {
      wait_for (end, &end->is_held);
      cause (end);
      if (end->kind.moment == AFTER_LOSS)
        wait_for (end, &end->is_lost);
      else
        g_usleep ((gulong) g_random_int_range (0, RANDOM_US));
      close_all (end);
    }
  else
    {
      if (end->kind.cause != BY_NOTHING)
        {
          wait_for (end, &end->is_held);
          cause (end);
        }
      wait_for (end, &end->is_closed);
    }
  curator_client_close (end->client); /* waits for the callbacks */
  g_clear_pointer (&end->lease, curator_lease_unref);
}

typedef struct
{
  const char *server;
  gint next; /* atomic */
  gint n;
} Work;

static void *
work (void *data)
{
  Work *work = data;
  gint i;

  while ((i = g_atomic_int_add (&work->next, 1)) < work->n)
    {
      End end = { .server = work->server,
                  .kind = kinds[(guint) i / 2 % G_N_ELEMENTS (kinds)],
                  .is_adopted = i % 2 != 0 };
      run (&end);
      curator_client_unref (end.client);
    }
  return NULL;
}

TEST (test_every_end)
{
  const char *wanted = g_getenv ("CURATOR_ENDS");
  Work shared = { .server = fixture_server (fixture),
                  .n = wanted != NULL ? atoi (wanted) : DEFAULT_ENDS };
  pthread_t threads[N_THREADS];

  /* GLib keeps these texts under a lock of its own, which ThreadSanitizer does not see. */
  for (int number = 0; number < N_ERRORS; number++)
    assert_non_null (g_strerror (number));
  for (int i = 0; i < N_THREADS; i++)
    pthread_create (&threads[i], NULL, work, &shared);
  for (int i = 0; i < N_THREADS; i++)
    pthread_join (threads[i], NULL);
  print_message ("%d handles ended\n", shared.n);
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

SUITE ("handle ends", fixture_start, fixture_stop)
