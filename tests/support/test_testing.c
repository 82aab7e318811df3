/* libcurator-testing as a user has it: the installed archive, by the functions of testing.h
 * only. */
#include "raw_zk.h"
#include "support/suite.h"
#include "support/waiting.h"

#include <curator/testing.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* cmocka.h needs these before it. */

static void *
start_server (void *unused)
{
  return curator_test_server_new (NULL);
}

static RawZk *
open_by (const char *address)
{
  RawZk *raw = raw_zk_open (address);
  assert_non_null (raw);
  return raw;
}

/* The kernel ends a child with the thread that started it, so the thread is gone when the server is
 * asked. */
TEST (server_outlives_thread)
{
  pthread_t thread;
  void *result = NULL;
  assert_int_equal (pthread_create (&thread, NULL, start_server, NULL), 0);
  assert_int_equal (pthread_join (thread, &result), 0);
  g_autoptr (CuratorTestServer) server = result;
  assert_non_null (server);
  RawZk *raw = open_by (curator_test_server_get_connect_string (server));
  assert_int_equal (raw_zk_create (raw, "/kept", "data", ZOO_PERSISTENT, NULL), ZOK);
  raw_zk_close (raw);

  g_autoptr (GError) error = NULL;
  curator_test_server_kill (server);
  assert_true (curator_test_server_restart (server, &error));
  raw = open_by (curator_test_server_get_connect_string (server));
  assert_true (raw_zk_exists (raw, "/kept"));
  raw_zk_close (raw);
}

static gboolean
is_expired (gpointer raw)
{
  return raw_zk_is_expired (raw);
}

static gboolean
is_connected (gpointer raw)
{
  return raw_zk_is_connected (raw);
}

static gboolean
is_disconnected (gpointer raw)
{
  return !raw_zk_is_connected (raw);
}

TEST (proxy_obeys)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorTestServer) server = curator_test_server_new (&error);
  assert_non_null (server);
  assert_null (curator_test_proxy_new ("zookeeper.example:2181", &error));
  assert_true (g_error_matches (error, CURATOR_TEST_ERROR, CURATOR_TEST_ERROR_FAILED));
  g_clear_error (&error);
  g_autoptr (CuratorTestProxy) proxy =
      curator_test_proxy_new (curator_test_server_get_connect_string (server), &error);
  assert_non_null (proxy);
  assert_false (curator_test_expire_session (proxy, 0, NULL));
  g_autoptr (RawZk) raw = open_by (curator_test_proxy_get_connect_string (proxy));

  curator_test_proxy_delay (proxy, 200, 0);
  const gint64 before = wait_now_ms ();
  assert_false (raw_zk_exists (raw, "/none"));
  assert_true (wait_now_ms () - before >= 200);

  curator_test_proxy_refuse (proxy);
  assert_true (wait_until (is_disconnected, raw, 60000));
  curator_test_proxy_restore (proxy);
  assert_true (wait_until (is_connected, raw, 60000));
  /* The owner may come back by the same session in the middle of it: that is tried again. */
  curator_test_proxy_stall (proxy);
  assert_true (curator_test_expire_session (proxy, raw_zk_session (raw), &error));
  assert_false (raw_zk_is_expired (raw));
  curator_test_proxy_restore (proxy);
  assert_true (wait_until (is_expired, raw, 60000));
}

TEST (cluster_survives_its_leader)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorTestCluster) cluster = curator_test_cluster_new (&error);
  assert_non_null (cluster);
  const int leader = curator_test_cluster_get_leader (cluster);
  assert_in_range (leader, 0, 2);
  curator_test_cluster_kill (cluster, leader);
  RawZk *raw = open_by (curator_test_cluster_get_connect_string (cluster));
  assert_int_equal (raw_zk_create (raw, "/a", "", ZOO_PERSISTENT, NULL), ZOK);
  assert_int_not_equal (curator_test_cluster_get_leader (cluster), leader);
  assert_true (curator_test_cluster_restart (cluster, leader, &error));
  assert_true (curator_test_cluster_wait (cluster, &error));
  raw_zk_close (raw);

  raw = open_by (curator_test_cluster_get_member (cluster, leader));
  raw_zk_close (raw);
}

/* Whatever a program's cleanup does in a child, the child ends and its parent's servers go on. */
static void
use_in_child (CuratorTestServer *server, CuratorTestProxy *proxy)
{
  g_autoptr (GError) error = NULL;
  alarm (30);
  if (curator_test_server_new (&error) != NULL
      || !g_error_matches (error, CURATOR_TEST_ERROR, CURATOR_TEST_ERROR_FAILED)
      || curator_test_server_restart (server, NULL) || curator_test_expire_session (proxy, 0, NULL))
    _exit (1);
  curator_test_server_kill (server);
  curator_test_proxy_cut (proxy);
  curator_test_proxy_free (proxy);
  curator_test_server_free (server);
  _exit (0);
}

TEST (child_of_fork_ends)
{
  g_autoptr (CuratorTestServer) server = curator_test_server_new (NULL);
  assert_non_null (server);
  g_autoptr (CuratorTestProxy) proxy =
      curator_test_proxy_new (curator_test_server_get_connect_string (server), NULL);
  g_autoptr (RawZk) raw = open_by (curator_test_proxy_get_connect_string (proxy));
  const pid_t child = fork ();
  if (child == 0) {
    g_log_set_always_fatal (G_LOG_LEVEL_ERROR);
    use_in_child (server, proxy);
  }
  int status = 0;
  assert_int_equal (waitpid (child, &status, 0), child);
  assert_int_equal (status, 0);
  assert_true (raw_zk_is_connected (raw));
  assert_false (raw_zk_exists (raw, "/none"));
}

TEST (missing_is_one_sentence)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_strdup (g_getenv ("PATH"));
  g_setenv ("PATH", "/nonexistent", TRUE);
  assert_null (curator_test_server_new (&error));
  assert_true (g_error_matches (error, CURATOR_TEST_ERROR, CURATOR_TEST_ERROR_MISSING));
  assert_non_null (strstr (error->message, "default-jre-headless"));
  g_clear_error (&error);
  g_setenv ("PATH", path, TRUE);

  g_autofree char *jars = g_strdup (g_getenv ("CURATOR_TEST_ZOOKEEPER_CLASSPATH"));
  g_setenv ("CURATOR_TEST_ZOOKEEPER_CLASSPATH", "/nonexistent/zookeeper.jar", TRUE);
  assert_null (curator_test_cluster_new (&error));
  assert_true (g_error_matches (error, CURATOR_TEST_ERROR, CURATOR_TEST_ERROR_MISSING));
  assert_non_null (strstr (error->message, "/nonexistent/zookeeper.jar"));
  if (jars != NULL)
    g_setenv ("CURATOR_TEST_ZOOKEEPER_CLASSPATH", jars, TRUE);
  else
    g_unsetenv ("CURATOR_TEST_ZOOKEEPER_CLASSPATH");
}

/* As a busy machine stops it, for longer than that. */
TEST (delay_of_the_machine_is_seen)
{
  const gint64 since_us = g_get_monotonic_time ();
  assert_in_range (curator_test_get_machine_delay_us (since_us), 0, 60 * G_USEC_PER_SEC);
  const pid_t self = getpid ();
  const pid_t child = fork ();
  if (child == 0) {
    kill (self, SIGSTOP);
    wait_ms (300);
    kill (self, SIGCONT);
    _exit (curator_test_get_machine_delay_us (since_us) == 0 ? 0 : 1);
  }
  int status = -1;
  assert_int_equal (waitpid (child, &status, 0), child);
  assert_int_equal (status, 0);
  assert_in_range (curator_test_get_machine_delay_us (since_us), 200 * 1000, 60 * G_USEC_PER_SEC);
}

SUITE ("testing", NULL, NULL)
