#include "chaos_servers.h"

#include "support/four_letter.h"
#include "support/raw_zk.h"
#include "support/waiting.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define SERVE_MS 60000

/* Of "super:chaos", as DigestAuthenticationProvider makes it. */
#define SUPER_USER   "super:chaos"
#define SUPER_DIGEST "super:1tm2VJ8QGIDIgyMX71meWABJeAM="

/* The reply to a reconnect may be lost, so that a client never hears of a shorter timeout. Three
 * quarters of the one that it believes are more than a hold lasts after the newest proof
 * (docs/locks-and-sessions.md). */
#define SHORTENED_MS (CHAOS_LONGEST_SESSION_MS * 3 / 4)

/* A client asks a server for the timeout that its session has: without lower limits that would only
 * become shorter. */
static const struct
{
  int min_ms;
  int max_ms;
} sessions[] = { { 1000, SHORTENED_MS },
                 { CHAOS_LONGEST_SESSION_MS, 20000 },
                 { SHORTENED_MS, SHORTENED_MS },
                 { 1000, CHAOS_LONGEST_SESSION_MS } };

static gboolean
become_root_of_namespace (void)
{
  g_autofree char *users = g_strdup_printf ("0 %d 1", (int) getuid ());
  g_autofree char *groups = g_strdup_printf ("0 %d 1", (int) getgid ());
  return unshare (CLONE_NEWUSER | CLONE_NEWNS) == 0 && chaos_write ("/proc/self/setgroups", "deny")
         && chaos_write ("/proc/self/uid_map", users) && chaos_write ("/proc/self/gid_map", groups);
}

gboolean
chaos_servers_may_mount (void)
{
  return (unshare (CLONE_NEWNS) == 0 || become_root_of_namespace ())
         && mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void
limit_sessions (ZkEnsembleSetup *setup, int member, int choice)
{
  setup->min_session_ms[member] = sessions[choice].min_ms;
  setup->max_session_ms[member] = sessions[choice].max_ms;
}

gboolean
chaos_servers_start (ChaosScene *scene)
{
  static const char *const options[] = {
    "-Dzookeeper.enforceQuota=true",
    "-Dzookeeper.DigestAuthenticationProvider.superDigest=" SUPER_DIGEST, NULL
  };
  const ChaosKinds *kinds = &scene->kinds;
  const gboolean early = g_rand_boolean (scene->rand);
  const gboolean unequal = g_rand_boolean (scene->rand);
  const gboolean direct = scene->n_ensembles++ % 3 == 1;
  const gboolean linked = chaos_kinds_has (kinds, CHAOS_KIND_SERVERS);
  memset (&scene->setup, 0, sizeof scene->setup);
  g_hash_table_remove_all (scene->timeouts); /* other servers have other sessions of these names */
  scene->setup.tick_ms = CHAOS_TICK_MS;
  scene->setup.sync_limit = early ? 4 : 20;
  scene->setup.java_options = options;
  scene->setup.security = scene->security;
  scene->setup.own_disks = chaos_kinds_has (kinds, CHAOS_KIND_DISK);
  /* Links cannot be named in a list of servers that all members share. */
  scene->setup.reconfig = chaos_kinds_has (kinds, CHAOS_KIND_RECONFIG) && (direct || !linked);
  scene->setup.by_links = !scene->setup.reconfig;
  scene->unequal = chaos_kinds_has (kinds, CHAOS_KIND_SESSIONS) && (unequal || !linked);
  for (int i = 0; i < 3 && scene->unequal; i++)
    limit_sessions (&scene->setup, i, i);
  scene->ensemble = zk_server_available () ? zk_ensemble_start_as (&scene->setup) : NULL;
  return scene->ensemble != NULL;
}

/* --- another configuration -------------------------------------------------------------------- */

gboolean
chaos_servers_roll (ChaosScene *scene)
{
  static const int ticks[] = { 200, 250, 400, CHAOS_TICK_MS };
  const int first = g_rand_int_range (scene->rand, 0, 3);
  const int sync_ms = scene->setup.sync_limit * scene->setup.tick_ms;
  gboolean whole = TRUE;
  ZkEnsembleSetup setup = scene->setup;
  setup.tick_ms = ticks[g_rand_int_range (scene->rand, 0, G_N_ELEMENTS (ticks))];
  setup.sync_limit = sync_ms / setup.tick_ms;
  for (int n = 0; n < 3; n++) {
    const int i = (first + n) % 3;
    limit_sessions (&setup, i, g_rand_int_range (scene->rand, 0, G_N_ELEMENTS (sessions)));
    whole = whole && zk_ensemble_change_member (scene->ensemble, i, &setup)
            && zk_server_wait_serving (zk_ensemble_server (scene->ensemble, i), SERVE_MS);
    scene->kinds.took_effect[CHAOS_KIND_ROLLING] += whole;
    wait_ms (g_rand_int_range (scene->rand, 0, 500));
  }
  scene->setup = setup;
  scene->unequal = TRUE;
  return whole;
}

/* One line of "cons": "… sid=0x10001ba5c4e0001, … to=4000, …". */
static void
note_session (ChaosScene *scene, const char *line)
{
  const char *session = strstr (line, "sid=0x");
  const char *timeout = strstr (line, ",to=");
  if (session == NULL || timeout == NULL)
    return;
  g_autofree char *key = g_strndup (session, strcspn (session, ","));
  const int now_ms = atoi (timeout + strlen (",to="));
  const int before_ms = GPOINTER_TO_INT (g_hash_table_lookup (scene->timeouts, key));
  scene->shortened += before_ms != 0 && now_ms < before_ms;
  scene->lengthened += before_ms != 0 && now_ms > before_ms;
  scene->kinds.took_effect[CHAOS_KIND_SESSIONS] += before_ms != 0 && now_ms != before_ms;
  g_hash_table_replace (scene->timeouts, g_steal_pointer (&key), GINT_TO_POINTER (now_ms));
}

void
chaos_servers_note_sessions (ChaosScene *scene)
{
  for (int i = 0; i < 3 && scene->unequal; i++) {
    g_autofree char *text =
        four_letter (zk_server_address (zk_ensemble_server (scene->ensemble, i)), "cons", 500);
    g_auto (GStrv) lines = text != NULL ? g_strsplit (text, "\n", -1) : NULL;
    for (char **line = lines; line != NULL && *line != NULL; line++)
      note_session (scene, *line);
  }
}

/* --- another list of servers ------------------------------------------------------------------ */

/* It is refused while another one, or an election, is under way. */
static gboolean
reconfigure (RawZk *raw, const char *joining, const char *leaving)
{
  int rc = ZOK;
  return holds_within ((rc = raw_zk_reconfig (raw, joining, leaving)) == ZOK || rc == ZBADARGUMENTS,
                       SERVE_MS)
         && rc == ZOK;
}

gboolean
chaos_servers_reconfig (ChaosScene *scene)
{
  const int leader = zk_ensemble_leader (scene->ensemble);
  const int member = (leader + g_rand_int_range (scene->rand, 1, 3)) % 3;
  const int away_ms = g_rand_int_range (scene->rand, 500, 5000);
  g_autofree char *number = g_strdup_printf ("%d", member + 1);
  g_autofree char *line = zk_ensemble_member_line (scene->ensemble, member);
  RawZk *raw = leader >= 0
                   ? raw_zk_open (zk_server_address (zk_ensemble_server (scene->ensemble, leader)))
                   : NULL;
  if (raw == NULL)
    return FALSE;
  raw_zk_add_auth (raw, "digest", SUPER_USER);
  const gboolean left = reconfigure (raw, NULL, number);
  wait_ms (away_ms);
  const gboolean joined = reconfigure (raw, line, NULL);
  raw_zk_close (raw);
  scene->kinds.took_effect[CHAOS_KIND_RECONFIG] += left && joined;
  return joined;
}

/* --- a full disk ------------------------------------------------------------------------------ */

/* A server that does not come up with what the full disk has left begins without data. */
gboolean
chaos_servers_free_disk (ChaosScene *scene, int member)
{
  ZkServer *server = zk_ensemble_server (scene->ensemble, member);
  scene->kinds.took_effect[CHAOS_KIND_DISK] += four_letter_zxid (zk_server_address (server)) < 0;
  zk_server_kill (server);
  if (!zk_server_free_disk (server) || !zk_server_relaunch (server))
    return FALSE;
  if (zk_server_wait_serving (server, SERVE_MS / 3))
    return TRUE;
  g_print ("chaos: server %d does not start with the data that a full disk has left\n", member);
  zk_server_wipe (server);
  return zk_server_relaunch (server) && zk_server_wait_serving (server, SERVE_MS);
}
