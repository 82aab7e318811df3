/* doctor's first answer: whether the servers of the connect string are one ensemble at all. */
#include "cli.h"

#include <string.h>

#define ask_doctor(hosts, code)                                                                    \
  cli_output ((code), NULL, CLI_WORDS (ZKFLOCK, "doctor", "-Z", (hosts), "--session-timeout", "10"))

static void
assert_content (const char *hosts)
{
  g_autofree char *text = ask_doctor (hosts, 0);
  assert_string_equal (text, "");
}

TEST (standalone_servers_are_no_ensemble)
{
  ZkServer *servers[3];
  g_autoptr (GString) hosts = g_string_new (NULL);

  for (int i = 0; i < 3; i++) {
    servers[i] = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
    assert_non_null (servers[i]);
    g_string_append_printf (hosts, "%s%s", i > 0 ? "," : "", zk_server_address (servers[i]));
    assert_content (zk_server_address (servers[i]));
  }
  g_autofree char *text = ask_doctor (hosts->str, 1);
  for (int i = 1; i < 3; i++)
    cli_shows (text, "problem: %s: it is standalone", zk_server_address (servers[i]));
  /* The same server twice is one. */
  g_autofree char *twice =
      g_strdup_printf ("%s,%s", zk_server_address (servers[0]), zk_server_address (servers[0]));
  assert_content (twice);
  for (int i = 0; i < 3; i++)
    zk_server_stop (servers[i]);
}

TEST (servers_of_different_ensembles)
{
  g_autoptr (ZkEnsemble) one = zk_ensemble_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  ZkServer *alone = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_true (one != NULL && alone != NULL);
  const char *members = zk_ensemble_connect_string (one);

  assert_content (members);
  g_autofree char *behind = g_strdup_printf ("%s,%s", members, zk_server_address (alone));
  g_autofree char *before = g_strdup_printf ("%s,%s", zk_server_address (alone), members);
  g_autofree char *text = ask_doctor (behind, 1);
  cli_shows (text, "problem: %s: it is standalone, and no member of", zk_server_address (alone));
  g_autofree char *other = ask_doctor (before, 1);
  cli_shows (other, "no member of the ensemble of %s:", zk_server_address (alone));
  zk_server_stop (alone);
  g_autoptr (ZkEnsemble) two = zk_ensemble_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_non_null (two);
  g_autofree char *both = g_strdup_printf ("%s,%s", members, zk_ensemble_connect_string (two));
  g_autofree char *leaders = ask_doctor (both, 1);
  for (int i = 0; i < 3; i++)
    cli_shows (leaders, "problem: %s: it is a ", zk_server_address (zk_ensemble_server (two, i)));
}

/* As servers are by default: no word but srvr. Followers differ in what they have in
 * /zookeeper/config only. */
TEST (servers_that_allow_srvr_only)
{
  const ZkEnsembleSetup setup = { .tick_ms = ZK_SERVER_DEFAULT_TICK_MS,
                                  .sync_limit = 5,
                                  .config = "4lw.commands.whitelist=srvr\n" };
  ZkEnsemble *ensembles[2];
  const char *followers[2];

  for (int i = 0; i < 2; i++) {
    ensembles[i] = zk_ensemble_start_as (&setup);
    assert_non_null (ensembles[i]);
    const int leader = zk_ensemble_leader (ensembles[i]);
    assert_in_range (leader, 0, 2);
    followers[i] = zk_server_address (zk_ensemble_server (ensembles[i], (leader + 1) % 3));
    g_autofree char *whole = ask_doctor (zk_ensemble_connect_string (ensembles[i]), 0);
    assert_null (strstr (whole, "members that vote"));
    g_autofree char *part = ask_doctor (followers[i], 0);
    assert_non_null (strstr (part, "3 members that vote, the connect string 1 servers"));
  }
  g_autofree char *both = g_strdup_printf ("%s,%s", followers[0], followers[1]);
  g_autofree char *text = ask_doctor (both, 1);
  cli_shows (text, "problem: %s: it is a follower, and no member of the ensemble of %s",
             followers[1], followers[0]);
  for (int i = 0; i < 2; i++)
    zk_ensemble_stop (ensembles[i]);
}

/* The server's JVM has another time than this machine. */
TEST (a_clock_that_is_wrong)
{
  static const struct
  {
    const char *ahead_s;
    const char *text; /* NULL: content */
  } clocks[] = { { "0", NULL },
                 { "3600", "s ahead of that of this machine" },
                 { "-3600", "s behind that of this machine" } };

  for (gsize i = 0; i < G_N_ELEMENTS (clocks); i++) {
    g_setenv ("LD_PRELOAD", OTHER_CLOCK, TRUE);
    g_setenv ("OTHER_CLOCK_AHEAD", clocks[i].ahead_s, TRUE);
    g_autoptr (ZkServer) server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
    g_unsetenv ("LD_PRELOAD");
    g_unsetenv ("OTHER_CLOCK_AHEAD");
    assert_non_null (server);
    if (clocks[i].text == NULL) {
      assert_content (zk_server_address (server));
      continue;
    }
    g_autofree char *text = ask_doctor (zk_server_address (server), 1);
    assert_true (g_str_has_prefix (text, "warning: "));
    cli_shows (text, "%s", clocks[i].text);
  }
}

/* A fourth server, which has no vote. */
TEST (an_observer_is_told)
{
  static const char *const options[] = { "-Dzookeeper.skipACL=yes", NULL };
  const ZkEnsembleSetup setup = {
    .tick_ms = ZK_SERVER_DEFAULT_TICK_MS, .sync_limit = 5, .java_options = options, .reconfig = TRUE
  };
  g_autoptr (ZkEnsemble) ensemble = zk_ensemble_start_as (&setup);
  g_autoptr (GString) lines = g_string_new (NULL);
  g_autofree char *line = NULL;

  assert_non_null (ensemble);
  for (int i = 0; i < 3; i++) {
    g_autofree char *member = zk_ensemble_member_line (ensemble, i);
    g_string_append_printf (lines, "%s%s", i > 0 ? "\n" : "", member);
  }
  g_autoptr (ZkServer) fourth = zk_server_start_joiner (4, lines->str, &setup, &line);
  assert_non_null (fourth);
  g_auto (GStrv) parts = g_strsplit (line, ":participant", 2);
  g_autofree char *joining = g_strjoinv (":observer", parts);
  g_autoptr (RawZk) raw = raw_zk_open (zk_server_address (zk_ensemble_server (ensemble, 0)));
  /* It is refused until the joining server has caught up. */
  assert_soon (raw_zk_reconfig (raw, joining, NULL) == ZOK);
  g_autofree char *hosts =
      g_strdup_printf ("%s,%s", zk_ensemble_connect_string (ensemble), zk_server_address (fourth));
  g_autofree char *text = ask_doctor (hosts, 1);
  cli_shows (text, "warning: %s: it is an observer", zk_server_address (fourth));
  assert_null (strstr (text, "problem: "));
}

TEST (connections_of_an_address_run_out)
{
  const ZkServerSetup setup = { .tick_ms = ZK_SERVER_DEFAULT_TICK_MS,
                                .config = "maxClientCnxns=5\n" };
  g_autoptr (ZkServer) server = zk_server_start_as (&setup);
  RawZk *raw[3];

  assert_non_null (server);
  for (gsize i = 0; i < G_N_ELEMENTS (raw); i++)
    raw[i] = raw_zk_open (zk_server_address (server));
  g_autofree char *text = ask_doctor (zk_server_address (server), 1);
  assert_non_null (strstr (text, "4 of the 5 connections"));
  for (gsize i = 0; i < G_N_ELEMENTS (raw); i++)
    raw_zk_close (raw[i]);
}

SUITE ("doctor", NULL, NULL)
