/* The support code against real servers: start, freeze, restart, four-letter words, and the
 * observer. What programs have of it, too: test_testing. */
#include "raw_zk.h"
#include "support/four_letter.h"
#include "support/suite.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <string.h>

TEST (test_stop_removes_the_data)
{
  ZkServer *server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_non_null (server);
  g_autofree char *dir = g_strdup (zk_server_data_dir (server));
  assert_true (g_file_test (dir, G_FILE_TEST_EXISTS));
  zk_server_stop (server);
  assert_false (g_file_test (dir, G_FILE_TEST_EXISTS));
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
