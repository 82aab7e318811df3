/* Modes and actions of the proxy, with libzookeeper's asynchronous calls as the client. */
#include "raw_zk.h"
#include "support/proxy.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <string.h>

#include <zookeeper/zookeeper.h>

#define SESSION_MS      4000
#define LONG_SESSION_MS 40000 /* outlives any delay of the machine */

typedef struct
{
  ZkServer *server;
  RawZk *observer;
} Fixture;

#define SUITE_FIXTURE Fixture *fixture
#include "support/suite.h"

#define UNANSWERED 1

/* One asynchronous request: its code, or UNANSWERED. Atomic. */
typedef gint Answer;

static void
answered (int rc, const void *data)
{
  g_atomic_int_set ((Answer *) (gpointer) data, rc);
}

static void
answered_string (int rc, const char *value, const void *data)
{
  answered (rc, data);
}

static gboolean
has_answer (gpointer data)
{
  return g_atomic_int_get ((Answer *) data) != UNANSWERED;
}

static int
wait_answer (Answer *answer)
{
  assert_true (wait_until (has_answer, answer, 30000));
  return g_atomic_int_get (answer);
}

static void
on_event (zhandle_t *handle, int type, int state, const char *path, void *context)
{
}

static void
on_log (const char *message)
{
}

static gboolean
is_connected (gpointer data)
{
  return zoo_state (data) == ZOO_CONNECTED_STATE;
}

static gboolean
has_reconnected (gpointer data)
{
  return proxy_accepted (data) > 1;
}

static zhandle_t *
connect_through (Proxy *proxy, int session_ms)
{
  zhandle_t *handle = zookeeper_init2 (proxy_address (proxy), on_event, session_ms, NULL, NULL,
                                       ZOO_NO_LOG_CLIENTENV, on_log);
  assert_non_null (handle);
  assert_true (wait_until (is_connected, handle, 30000));
  return handle;
}

static void
create (zhandle_t *handle, const char *path, Answer *answer)
{
  assert_int_equal (zoo_acreate (handle, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT,
                                 answered_string, answer),
                    ZOK);
}

TEST (test_passes_and_counts)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy, LONG_SESSION_MS);
  Answer answers[3] = { UNANSWERED, UNANSWERED, UNANSWERED };
  create (handle, "/pass1", &answers[0]);
  create (handle, "/pass2", &answers[1]);
  assert_int_equal (zoo_adelete (handle, "/pass1", -1, answered, &answers[2]), ZOK);
  for (int i = 0; i < 3; i++)
    assert_int_equal (wait_answer (&answers[i]), ZOK);
  assert_int_equal (proxy_count (proxy, PROXY_CREATE), 2);
  assert_int_equal (proxy_count (proxy, PROXY_DELETE), 1);
  assert_int_equal (proxy_count (proxy, PROXY_ANY_REQUEST), 3);
  proxy_reset_counts (proxy);
  assert_int_equal (proxy_count (proxy, PROXY_ANY_REQUEST), 0);

  gint64 id = 0;
  guint8 password[16];
  assert_true (proxy_last_session (proxy, &id, password));
  assert_int_equal (id, zoo_client_id (handle)->client_id);
  assert_memory_equal (password, zoo_client_id (handle)->passwd, 16);
  assert_int_equal (proxy_connections (proxy), 1);
  proxy_cut (proxy);
  assert_true (wait_until (has_reconnected, proxy, 30000));
  zookeeper_close (handle);
}

/* What a mode or an action does to a request. */
TEST (test_modes_and_actions)
{
  static const struct
  {
    ProxyMode mode; /* PROXY_PASS: an action */
    ProxyAction action;
    gboolean executed;
    int rc; /* UNANSWERED: before it is healed */
  } cases[] = { { PROXY_HOLE, 0, FALSE, UNANSWERED },
                { PROXY_HOLE_TO_SERVER, 0, FALSE, UNANSWERED },
                { PROXY_HOLE_TO_CLIENT, 0, TRUE, UNANSWERED },
                { PROXY_PASS, PROXY_CUT_BEFORE, FALSE, ZCONNECTIONLOSS },
                { PROXY_PASS, PROXY_CUT_BEFORE_REPLY, TRUE, ZCONNECTIONLOSS },
                { PROXY_PASS, PROXY_CUT_AFTER_REPLY, TRUE, ZOK },
                { PROXY_PASS, PROXY_HOLE_BEFORE, FALSE, UNANSWERED },
                { PROXY_PASS, PROXY_HOLE_BEFORE_REPLY, TRUE, UNANSWERED },
                { PROXY_PASS, PROXY_HOLD_REQUEST, FALSE, UNANSWERED },
                { PROXY_PASS, PROXY_HOLD_REPLY, TRUE, UNANSWERED } };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
    zhandle_t *handle = connect_through (proxy, LONG_SESSION_MS);
    Answer first = UNANSWERED, answer = UNANSWERED;
    g_autofree char *before = g_strdup_printf ("/before%zu", i);
    g_autofree char *path = g_strdup_printf ("/case%zu", i);
    const gboolean acts = cases[i].mode == PROXY_PASS;
    if (acts)
      proxy_arm (proxy, PROXY_CREATE, 2, 1, cases[i].action);
    create (handle, before, &first);
    assert_int_equal (wait_answer (&first), ZOK);
    proxy_set_mode (proxy, cases[i].mode);
    create (handle, path, &answer);
    assert_true (!acts || proxy_wait_fired (proxy, 1, 30000));
    if (cases[i].rc == UNANSWERED)
      wait_ms (300);
    else
      wait_answer (&answer);
    assert_int_equal (g_atomic_int_get (&answer), cases[i].rc);
    assert_int_equal (raw_zk_exists (fixture->observer, path), cases[i].executed);
    if (cases[i].action >= PROXY_HOLD_REQUEST)
      proxy_let_go (proxy);
    else
      proxy_set_mode (proxy, PROXY_PASS);
    assert_int_equal (wait_answer (&answer), cases[i].rc == UNANSWERED ? ZOK : cases[i].rc);
    assert_int_equal (proxy_fired (proxy), acts ? 1 : 0);
    if (acts && cases[i].action <= PROXY_CUT_AFTER_REPLY)
      assert_true (wait_until (has_reconnected, proxy, 30000));
    zookeeper_close (handle);
  }
}

/* Twice in a row, then the call succeeds. */
TEST (test_an_action_twice)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy, LONG_SESSION_MS);
  proxy_arm (proxy, PROXY_CREATE, 1, 2, PROXY_CUT_BEFORE_REPLY);
  for (int i = 1; i <= 3; i++) {
    Answer answer = UNANSWERED;
    g_autofree char *path = g_strdup_printf ("/lost%d", i);
    assert_true (wait_until (is_connected, handle, 30000));
    create (handle, path, &answer);
    assert_int_equal (wait_answer (&answer), i <= 2 ? ZCONNECTIONLOSS : ZOK);
    assert_true (raw_zk_exists (fixture->observer, path));
  }
  assert_int_equal (proxy_fired (proxy), 2);
  zookeeper_close (handle);
}

/* A connection that its client abandoned inside a hole delivers nothing afterwards. */
TEST (test_hole_forgets_abandoned)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy, SESSION_MS);
  Answer answer = UNANSWERED;
  proxy_set_mode (proxy, PROXY_HOLE);
  create (handle, "/abandoned", &answer);
  int rc = wait_answer (&answer); /* two thirds of the session timeout */
  assert_true (rc == ZOPERATIONTIMEOUT || rc == ZCONNECTIONLOSS);
  proxy_set_mode (proxy, PROXY_PASS);
  /* On a machine that was late its session has expired meanwhile. */
  assert_true (holds_within (
      is_connected (handle) || zoo_state (handle) == ZOO_EXPIRED_SESSION_STATE, 30000));
  assert_false (raw_zk_exists (fixture->observer, "/abandoned"));
  zookeeper_close (handle);
}

static int
start_server (void **state)
{
  Fixture *fixture = g_new0 (Fixture, 1);
  fixture->server = zk_server_start (LONG_SESSION_MS / 20, NULL);
  fixture->observer =
      fixture->server != NULL ? raw_zk_open (zk_server_address (fixture->server)) : NULL;
  *state = fixture;
  return fixture->observer != NULL ? 0 : -1;
}

static int
stop_server (void **state)
{
  Fixture *fixture = *state;
  raw_zk_close (fixture->observer);
  zk_server_stop (fixture->server);
  g_free (fixture);
  return 0;
}

SUITE ("proxy", start_server, stop_server)
