/* Clients that a server does not serve, because they have not authenticated, or with what it does
 * not know: whatever they ask, they are told so, once, and do not come back. */
#include "integration/taking.h"

#include "core/client-record.h"
#include "core/monitor.h"

#include <string.h>

#define PROVIDER                                                                                   \
  "-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
#define ENFORCED "-Dzookeeper.enforce.auth.enabled=true"

/* The settings of servers. */
static const struct
{
  const char *name;
  const char *options[4];
  gboolean takes_digest;
} servers[] = {
  { "enforce.auth.schemes=sasl",
    { ENFORCED, PROVIDER, "-Dzookeeper.enforce.auth.schemes=sasl" },
    FALSE },
  { "enforce.auth.schemes=digest", { ENFORCED, "-Dzookeeper.enforce.auth.schemes=digest" }, TRUE },
  { "sessionRequireClientSASLAuth",
    { "-Dzookeeper.sessionRequireClientSASLAuth=true", PROVIDER },
    FALSE },
};

/* What is asked first: TRUE if it was done. */

static gboolean
acquire (CuratorLock *lock, GError **error)
{
  g_autoptr (CuratorLock) owned = lock;
  g_autoptr (CuratorLease) lease =
      owned != NULL ? curator_lock_acquire_lease (owned, LONG_MS, NULL, error) : NULL;
  return lease != NULL;
}

static gboolean
ask_mutex (CuratorClient *client, GError **error)
{
  return acquire (mutex_new (client, "/auth/mutex"), error);
}

static gboolean
ask_semaphore_mutex (CuratorClient *client, GError **error)
{
  return acquire (semaphore_mutex_new (client, "/auth/semaphore-mutex"), error);
}

static gboolean
ask_fixed_node (CuratorClient *client, GError **error)
{
  return acquire (fixed_node_new (client, "/auth/fixed"), error);
}

static gboolean
ask_multi_lock (CuratorClient *client, GError **error)
{
  return acquire (multi_lock_new (client, "/auth/a"), error);
}

static gboolean
ask_semaphore (CuratorClient *client, GError **error)
{
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/auth/semaphore", 1);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, LONG_MS, NULL, error);
  return lease != NULL;
}

static gboolean
ask_count (CuratorClient *client, GError **error)
{
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (client, "/auth/count", 1, error);
  return count != NULL && curator_shared_count_start (count, LONG_MS, NULL, error);
}

static gboolean
ask_latch (CuratorClient *client, GError **error)
{
  g_autoptr (CuratorLeaderLatch) latch =
      curator_leader_latch_new (client, "/auth/latch", NULL, error);
  return latch != NULL && curator_leader_latch_start (latch, error)
         && curator_leader_latch_await (latch, LONG_MS, NULL, error);
}

static gboolean
ask_for_locks (CuratorClient *client, GError **error)
{
  g_auto (GStrv) found = curator_client_find_locks (client, "/", 1, NULL, LONG_MS, NULL, error);
  return found != NULL;
}

static gboolean
ask_for_a_lock (CuratorClient *client, GError **error)
{
  g_autoptr (CuratorInspection) found =
      curator_client_inspect (client, "/auth", LONG_MS, NULL, error);
  return found != NULL;
}

static gboolean
ask_for_all (CuratorClient *client, GError **error)
{
  g_autoptr (GPtrArray) all =
      curator_client_inspect_all (client, "/", NULL, NULL, LONG_MS, NULL, error);
  return all != NULL;
}

static gboolean
ask_for_participants (CuratorClient *client, GError **error)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/auth/look", NULL);
  g_auto (GStrv) nodes = curator_lock_get_participant_nodes (lock, LONG_MS, NULL, error);
  return nodes != NULL;
}

static gboolean
ask_to_revoke (CuratorClient *client, GError **error)
{
  return curator_client_attempt_revoke (client, "/auth/look/node", LONG_MS, NULL, error);
}

static const struct
{
  const char *name;
  gboolean (*ask) (CuratorClient *client, GError **error);
} questions[] = {
  { "mutex", ask_mutex },
  { "semaphore mutex", ask_semaphore_mutex },
  { "fixed node", ask_fixed_node },
  { "multi-lock", ask_multi_lock },
  { "semaphore", ask_semaphore },
  { "count", ask_count },
  { "latch", ask_latch },
  { "find locks", ask_for_locks },
  { "inspect", ask_for_a_lock },
  { "inspect all", ask_for_all },
  { "participants", ask_for_participants },
  { "revoke", ask_to_revoke },
};

/* libzookeeper may have connected again before its handle is closed. */
static gboolean
has_no_handle (gpointer client)
{
  curator_client_lock (client);
  const gboolean has_none = ((CuratorClient *) client)->sessions_open == 0;
  curator_client_unlock (client);
  return has_none;
}

static gboolean
is_told (const GError *error, Proxy *proxy)
{
  return g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED)
         && strstr (error->message, proxy_address (proxy)) != NULL
         && strstr (error->message, "requires clients to authenticate") != NULL
         && strstr (error->message, "enforce.auth.schemes") != NULL;
}

/* The server's side is seen by the proxy: it has no connection any more, and gets none. */
static void
check_refused (Proxy *proxy, gsize question)
{
  g_autoptr (CuratorClient) client = client_connect (proxy_address (proxy));
  g_autoptr (GError) first = NULL;

  assert_false (questions[question].ask (client, &first));
  if (!is_told (first, proxy))
    print_error ("%s: %s\n", questions[question].name, first->message);
  assert_true (is_told (first, proxy));
  assert_true (wait_until (has_no_handle, client, LONG_MS));
  const int accepted = proxy_accepted (proxy);
  for (gsize i = 0; i < G_N_ELEMENTS (questions); i++)
    {
      g_autoptr (GError) error = NULL;
      assert_false (questions[i].ask (client, &error));
      assert_true (is_told (error, proxy));
    }
  g_autoptr (GError) error = curator_client_dup_connection_error (client);
  assert_true (is_told (error, proxy));
  assert_int_equal (proxy_accepted (proxy), accepted);
  curator_client_close (client);
}

static void
check_digest (Proxy *proxy, gboolean is_taken)
{
  g_autoptr (CuratorClient) client = client_new (proxy_address (proxy));
  g_autoptr (GError) error = NULL;

  curator_client_add_auth (client, "digest", "joe:apple", 9);
  client_start (client);
  assert_int_equal (ask_mutex (client, &error), is_taken);
  assert_int_equal (error != NULL && is_told (error, proxy), !is_taken);
  curator_client_close (client);
}

TEST (test_every_first_question)
{
  for (gsize i = 0; i < G_N_ELEMENTS (servers); i++)
    {
      ZkServer *server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, servers[i].options);
      assert_non_null (server);
      Proxy *proxy = proxy_new (zk_server_address (server));
      print_message ("%s\n", servers[i].name);
      for (gsize question = 0; question < G_N_ELEMENTS (questions); question++)
        check_refused (proxy, question);
      check_digest (proxy, servers[i].takes_digest);
      proxy_free (proxy);
      zk_server_stop (server);
    }
}

/* --- credentials of a scheme that the server does not know ------------------------------------ */

/* Credentials of a scheme that the server does not know: the handle fails, and every call and
 * listener gets the error. */
TEST (test_p5_refused_credentials)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_add_auth (client, "nosuchscheme", "x", 1);
  assert_ok (curator_client_start (client, &error), &error);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/auth/refused");
  g_autoptr (Contender) contender = contender_start (lock, CURATOR_WAIT_FOREVER, NULL);
  assert_true (contender_wait (contender, LONG_MS));
  assert_false (contender->acquired);
  assert_curator_error (&contender->error, CURATOR_ERROR_AUTH_FAILED);
  assert_not_acquired (lock, 1000, CURATOR_ERROR_AUTH_FAILED);
  assert_false (curator_client_block_until_connected (client, 1000, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_AUTH_FAILED);
  assert_no_residue (fixture, "/auth/refused", SESSION_MS + 2000);
}

typedef struct
{
  CuratorClient *client;
  gsize question;
  gboolean succeeded;
  GError *error;
} Caller;

static gpointer
call (gpointer data)
{
  Caller *caller = data;
  caller->succeeded = questions[caller->question].ask (caller->client, &caller->error);
  return NULL;
}

/* The requests of every kind of call are under way when the server refuses. No call takes that for
 * an answer about a node, and none says that a lock is free. */
TEST (test_refused_under_way)
{
  Caller callers[G_N_ELEMENTS (questions)] = { 0 };
  GThread *threads[G_N_ELEMENTS (questions)];
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));

  curator_client_add_auth (client, "nosuchscheme", "x", 1);
  proxy_arm (fixture->proxy, PROXY_AUTH, 1, 1, PROXY_HOLD_REQUEST);
  assert_ok (curator_client_start (client, &error), &error);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  for (gsize i = 0; i < G_N_ELEMENTS (questions); i++)
    {
      callers[i] = (Caller){ .client = client, .question = i };
      threads[i] = g_thread_new (questions[i].name, call, &callers[i]);
    }
  wait_ms (200);
  proxy_let_go (fixture->proxy);
  for (gsize i = 0; i < G_N_ELEMENTS (questions); i++)
    {
      g_thread_join (threads[i]);
      if (callers[i].succeeded)
        fail_msg ("%s succeeds", questions[i].name);
      print_message ("%s: %s\n", questions[i].name, callers[i].error->message);
      assert_curator_error (&callers[i].error, CURATOR_ERROR_AUTH_FAILED);
    }
  proxy_disarm (fixture->proxy);
  assert_no_residue (fixture, "/auth/mutex", SESSION_MS + 2000);
}

SUITE ("auth_required", fixture_start, fixture_stop)
