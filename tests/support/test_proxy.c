/* Every mode and action of the proxy, with libzookeeper's asynchronous calls as the client. */
#include "raw_zk.h"
#include "support/proxy.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <pthread.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#define SESSION_MS 4000

typedef struct
{
  ZkServer *server;
  RawZk *observer;
} Fixture;

#define SUITE_FIXTURE Fixture *fixture
#include "support/suite.h"

/* One asynchronous request: rc stays 1 until it has completed. */
typedef struct
{
  pthread_mutex_t mutex;
  int rc;
} Answer;

#define ANSWER_INIT                                                                                \
  {                                                                                                \
    PTHREAD_MUTEX_INITIALIZER, 1                                                                   \
  }

static void
answered (int rc, const void *data)
{
  Answer *answer = (Answer *) (gpointer) data;
  pthread_mutex_lock (&answer->mutex);
  answer->rc = rc;
  pthread_mutex_unlock (&answer->mutex);
}

static void
answered_string (int rc, const char *value, const void *data)
{
  answered (rc, data);
}

static int
answer_rc (Answer *answer)
{
  pthread_mutex_lock (&answer->mutex);
  int rc = answer->rc;
  pthread_mutex_unlock (&answer->mutex);
  return rc;
}

static gboolean
has_answer (gpointer data)
{
  return answer_rc (data) != 1;
}

static int
wait_answer (Answer *answer)
{
  assert_true (wait_until (has_answer, answer, 30000));
  return answer_rc (answer);
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

static zhandle_t *
connect_through (Proxy *proxy)
{
  zhandle_t *handle = zookeeper_init2 (proxy_address (proxy), on_event, SESSION_MS, NULL, NULL,
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
  zhandle_t *handle = connect_through (proxy);
  Answer answers[3] = { ANSWER_INIT, ANSWER_INIT, ANSWER_INIT };
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
  zookeeper_close (handle);
}

TEST (test_cut_before)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy);
  Answer first = ANSWER_INIT, second = ANSWER_INIT;
  proxy_arm (proxy, PROXY_CREATE, 2, 1, PROXY_CUT_BEFORE);
  create (handle, "/before1", &first);
  assert_int_equal (wait_answer (&first), ZOK);
  create (handle, "/before2", &second);
  assert_int_equal (wait_answer (&second), ZCONNECTIONLOSS);
  assert_int_equal (proxy_fired (proxy), 1);
  assert_false (raw_zk_exists (fixture->observer, "/before2"));
  assert_true (wait_until (is_connected, handle, 30000));
  zookeeper_close (handle);
}

/* The server executes the request and the reply is lost; twice in a row, then the call succeeds. */
TEST (test_cut_before_reply)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy);
  proxy_arm (proxy, PROXY_CREATE, 1, 2, PROXY_CUT_BEFORE_REPLY);
  for (int i = 1; i <= 3; i++)
    {
      Answer answer = ANSWER_INIT;
      g_autofree char *path = g_strdup_printf ("/lost%d", i);
      assert_true (wait_until (is_connected, handle, 30000));
      create (handle, path, &answer);
      assert_int_equal (wait_answer (&answer), i <= 2 ? ZCONNECTIONLOSS : ZOK);
      assert_true (raw_zk_exists (fixture->observer, path));
    }
  assert_int_equal (proxy_fired (proxy), 2);
  zookeeper_close (handle);
}

TEST (test_cut_after_reply)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy);
  Answer answer = ANSWER_INIT;
  proxy_arm (proxy, PROXY_CREATE, 1, 1, PROXY_CUT_AFTER_REPLY);
  int accepted = proxy_accepted (proxy);
  create (handle, "/after", &answer);
  assert_int_equal (wait_answer (&answer), ZOK);
  assert_true (proxy_wait_fired (proxy, 1, 30000));
  assert_true (wait_until (is_connected, handle, 30000));
  /* The state is still CONNECTED while the cut is unnoticed: send a request. */
  Answer again = ANSWER_INIT;
  create (handle, "/after2", &again);
  wait_answer (&again);
  assert_true (proxy_accepted (proxy) > accepted);
  zookeeper_close (handle);
}

TEST (test_holes)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy);
  static const struct
  {
    ProxyMode mode;
    gboolean executed;
  } cases[] = { { PROXY_HOLE, FALSE },
                { PROXY_HOLE_TO_SERVER, FALSE },
                { PROXY_HOLE_TO_CLIENT, TRUE } };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Answer answer = ANSWER_INIT;
      g_autofree char *path = g_strdup_printf ("/hole%zu", i);
      proxy_set_mode (proxy, cases[i].mode);
      create (handle, path, &answer);
      wait_ms (300);
      assert_int_equal (answer_rc (&answer), 1);
      assert_int_equal (raw_zk_exists (fixture->observer, path), cases[i].executed);
      proxy_set_mode (proxy, PROXY_PASS);
      assert_int_equal (wait_answer (&answer), ZOK);
    }
  zookeeper_close (handle);
}

/* A connection that its client abandoned inside a hole delivers nothing afterwards. */
TEST (test_hole_forgets_abandoned)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy);
  Answer answer = ANSWER_INIT;
  proxy_set_mode (proxy, PROXY_HOLE);
  create (handle, "/abandoned", &answer);
  int rc = wait_answer (&answer); /* two thirds of the session timeout */
  assert_true (rc == ZOPERATIONTIMEOUT || rc == ZCONNECTIONLOSS);
  proxy_set_mode (proxy, PROXY_PASS);
  assert_true (wait_until (is_connected, handle, 30000));
  assert_false (raw_zk_exists (fixture->observer, "/abandoned"));
  zookeeper_close (handle);
}

TEST (test_rule_makes_hole)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy);
  static const struct
  {
    ProxyAction action;
    gboolean executed;
    gboolean let_go; /* healed by proxy_let_go() rather than by the mode */
  } cases[] = { { PROXY_HOLE_BEFORE, FALSE, FALSE },
                { PROXY_HOLE_BEFORE_REPLY, TRUE, FALSE },
                { PROXY_HOLD_REQUEST, FALSE, TRUE },
                { PROXY_HOLD_REPLY, TRUE, TRUE } };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Answer answer = ANSWER_INIT;
      g_autofree char *path = g_strdup_printf ("/rule%zu", i);
      proxy_arm (proxy, PROXY_CREATE, 1, 1, cases[i].action);
      create (handle, path, &answer);
      assert_true (proxy_wait_fired (proxy, 1, 30000));
      wait_ms (50);
      assert_int_equal (answer_rc (&answer), 1);
      assert_int_equal (raw_zk_exists (fixture->observer, path), cases[i].executed);
      if (cases[i].let_go)
        proxy_let_go (proxy);
      else
        proxy_set_mode (proxy, PROXY_PASS);
      assert_int_equal (wait_answer (&answer), ZOK);
      assert_int_equal (proxy_fired (proxy), 1);
    }
  zookeeper_close (handle);
}

TEST (test_refuse_cut_delay)
{
  g_autoptr (Proxy) proxy = proxy_new (zk_server_address (fixture->server));
  zhandle_t *handle = connect_through (proxy);
  Answer refused = ANSWER_INIT, slow = ANSWER_INIT;
  proxy_set_mode (proxy, PROXY_REFUSE);
  assert_int_equal (proxy_connections (proxy), 0);
  create (handle, "/refused", &refused);
  assert_int_equal (wait_answer (&refused), ZCONNECTIONLOSS);
  proxy_set_mode (proxy, PROXY_PASS);
  assert_true (wait_until (is_connected, handle, 30000));
  proxy_cut (proxy);
  assert_int_equal (proxy_connections (proxy), 0);
  wait_ms (50);
  assert_true (wait_until (is_connected, handle, 30000));

  proxy_set_delay (proxy, 100, 150);
  gint64 before = wait_now_ms ();
  create (handle, "/slow", &slow);
  assert_int_equal (wait_answer (&slow), ZOK);
  assert_true (wait_now_ms () - before >= 250);
  zookeeper_close (handle);
}

static int
start_server (void **state)
{
  Fixture *fixture = g_new0 (Fixture, 1);
  fixture->server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
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
