/* The support code against real servers: start, freeze, kill, restart, ensemble, four-letter words,
 * expiry, and the observer. */
#include "raw_zk.h"
#include "support/expire.h"
#include "support/four_letter.h"
#include "support/suite.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <string.h>

TEST (test_data_survives_restart)
{
  ZkServer *server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_non_null (server);
  RawZk *raw = raw_zk_open (zk_server_address (server));
  assert_non_null (raw);
  assert_int_equal (raw_zk_make_path (raw, "/a/b"), ZOK);
  raw_zk_close (raw);

  zk_server_freeze (server);
  assert_null (four_letter (zk_server_address (server), "ruok", 100));
  zk_server_thaw (server);
  assert_true (zk_server_wait_serving (server, 5000));

  g_autofree char *dir = g_strdup (zk_server_data_dir (server));
  assert_true (zk_server_restart (server));
  raw = raw_zk_open (zk_server_address (server));
  assert_non_null (raw);
  assert_true (raw_zk_exists (raw, "/a/b"));
  raw_zk_close (raw);
  zk_server_stop (server);
  assert_false (g_file_test (dir, G_FILE_TEST_EXISTS));
}

TEST (test_empty_containers_are_deleted)
{
  const char *const options[] = { "-Dznode.container.checkIntervalMs=50", NULL };
  g_autoptr (ZkServer) server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, options);
  g_autoptr (RawZk) raw = raw_zk_open (zk_server_address (server));
  assert_int_equal (raw_zk_create (raw, "/box", "", ZOO_CONTAINER, NULL), ZOK);
  assert_int_equal (raw_zk_create (raw, "/box/a", "", ZOO_PERSISTENT, NULL), ZOK);
  assert_int_equal (raw_zk_delete (raw, "/box/a"), ZOK);
  assert_true (raw_zk_wait_gone (raw, "/box", 5000));
}

/* An ephemeral node, its session, a watch and packets, read by four-letter words. */
TEST (test_four_letter_words)
{
  g_autoptr (ZkServer) server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  const char *address = zk_server_address (server);
  g_autoptr (RawZk) raw = raw_zk_open (address);
  g_autofree char *created = NULL;
  assert_int_equal (raw_zk_make_path (raw, "/q"), ZOK);
  assert_int_equal (raw_zk_create (raw, "/q/n-", "x", ZOO_EPHEMERAL_SEQUENTIAL, &created), ZOK);
  assert_string_equal (created, "/q/n-0000000000");
  assert_int_equal (raw_zk_owner (raw, created), raw_zk_session (raw));
  assert_int_equal (raw_zk_owner (raw, "/q"), 0);
  assert_int_equal (raw_zk_owner (raw, "/none"), -1);

  gint64 session = raw_zk_session (raw);
  FourLetterPackets packets;
  assert_true (four_letter_packets (address, session, &packets));
  assert_true (packets.received >= 3);
  assert_false (four_letter_packets (address, session + 1, &packets));
  assert_int_equal (four_letter_session_alive (address, session), 1);
  assert_int_equal (four_letter_session_alive (address, session + 1), 0);
  g_auto (GStrv) nodes = four_letter_ephemerals (address, session);
  assert_int_equal (g_strv_length (nodes), 1);
  assert_string_equal (nodes[0], created);
  assert_int_equal (four_letter_monitor (address, "zk_ephemerals_count"), 1);
  assert_int_equal (four_letter_monitor (address, "zk_no_such_key"), -1);

  assert_int_equal (four_letter_total_watches (address), 0);
  assert_int_equal (raw_zk_watch (raw, created), ZOK);
  assert_int_equal (four_letter_total_watches (address), 1);
  assert_int_equal (four_letter_watchers_of (address, created), 1);
  assert_int_equal (four_letter_watches_below (address, "/q"), 1);
  assert_int_equal (four_letter_watches_below (address, "/n"), 0);
  assert_int_equal (four_letter_watches_of_session (address, session), 1);
  assert_int_equal (four_letter_watches_of_session (address, session + 1), 0);
}

/* Names that a foreign client can create: libzookeeper refuses some, the server others. */
TEST (test_strange_names)
{
  g_autoptr (ZkServer) server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  const char *address = zk_server_address (server);
  g_autoptr (RawZk) raw = raw_zk_open (address);
  assert_int_equal (raw_zk_make_path (raw, "/q"), ZOK);
  assert_int_equal (raw_zk_create (raw, "/q/a\x01", "", ZOO_PERSISTENT, NULL), ZBADARGUMENTS);
  assert_int_equal (raw_zk_create_unchecked (address, "/q/a\x01", 5), ZBADARGUMENTS);
  assert_int_equal (raw_zk_create_unchecked (address, "/q/plain", 8), ZOK);
  assert_int_equal (raw_zk_create_unchecked (address, "/q/plain", 8), ZNODEEXISTS);
  /* The server decodes invalid UTF-8 to U+FFFD, and then refuses that. */
  int rc = raw_zk_create_unchecked (address, "/q/\xff\xfe", 5);
  assert_true (rc == ZBADARGUMENTS || rc == ZOK);
  print_message ("a name that is not UTF-8: %s\n", zerror (rc));
}

TEST (test_ensemble_fails_over)
{
  g_autoptr (ZkEnsemble) ensemble = zk_ensemble_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_non_null (ensemble);
  int leader = zk_ensemble_leader (ensemble);
  assert_true (leader >= 0);
  int follower = (leader + 1) % 3;
  zk_server_kill (zk_ensemble_server (ensemble, leader));
  assert_true (zk_server_wait_serving (zk_ensemble_server (ensemble, follower), 20000));
  RawZk *raw = raw_zk_open (zk_server_address (zk_ensemble_server (ensemble, follower)));
  assert_non_null (raw);
  assert_int_equal (raw_zk_make_path (raw, "/after"), ZOK);
  raw_zk_close (raw);
  assert_true (zk_server_relaunch (zk_ensemble_server (ensemble, leader)));
  assert_true (zk_server_wait_serving (zk_ensemble_server (ensemble, leader), 20000));
}

typedef struct
{
  const char *address;
  gint64 session;
} Listed;

static gboolean
is_not_listed (gpointer data)
{
  const Listed *listed = data;
  return four_letter_session_alive (listed->address, listed->session) == 0;
}

TEST (test_expire_through_proxy)
{
  g_autoptr (ZkServer) server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  const char *address = zk_server_address (server);
  g_autoptr (Proxy) proxy = proxy_new (address);
  assert_non_null (proxy);
  g_autoptr (RawZk) observer = raw_zk_open (address);
  for (int i = 0; i < 5; i++)
    {
      g_autoptr (RawZk) victim = raw_zk_open (proxy_address (proxy));
      gint64 session = 0;
      g_autofree char *path = g_strdup_printf ("/victim%d", i);
      assert_non_null (victim);
      assert_int_equal (raw_zk_create (victim, path, "", ZOO_EPHEMERAL, NULL), ZOK);
      assert_true (expire_last_session (proxy, address, &session));
      assert_int_equal (session, raw_zk_session (victim));
      assert_false (raw_zk_exists (observer, path));
      /* A ping at that very moment puts the session back on the server's list of those that may
       * expire, though not into being. It leaves that list after its timeout. */
      Listed listed = { address, session };
      assert_true (wait_until (is_not_listed, &listed, 60000));
    }
}

static char *said;

static void
hear (const char *text)
{
  char *before = said;
  said = g_strconcat (before != NULL ? before : "", text, NULL);
  g_free (before);
}

static gpointer
thaw_later (gpointer server)
{
  wait_ms (1500); /* some looks of the waiter */
  zk_server_thaw (server);
  return NULL;
}

/* A wait prints a log only if it was in vain. */
TEST (test_a_wait_that_succeeds_is_silent)
{
  ZkEnsemble *ensemble = zk_ensemble_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_non_null (ensemble);
  ZkServer *server = zk_ensemble_server (ensemble, (zk_ensemble_leader (ensemble) + 1) % 3);
  const GPrintFunc before = g_set_printerr_handler (hear);

  zk_server_freeze (server);
  GThread *thread = g_thread_new ("thaw", thaw_later, server);
  const gboolean whole = zk_ensemble_wait_whole (ensemble, 60000);
  g_thread_join (thread);
  g_autofree char *silence = g_steal_pointer (&said);
  zk_server_freeze (server);
  const gboolean in_vain = !zk_ensemble_wait_whole (ensemble, 300);
  g_set_printerr_handler (before);
  zk_ensemble_stop (ensemble);
  g_autofree char *log = g_steal_pointer (&said);
  assert_true (whole && in_vain);
  assert_null (silence);
  assert_non_null (strstr (log, "does not serve"));
}

static int
check_server (void **state)
{
  return zk_server_available () ? 0 : -1;
}

SUITE ("server", check_server, NULL)
