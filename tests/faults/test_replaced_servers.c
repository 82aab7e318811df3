/* All servers of a living ensemble are replaced, one by one and then all at once, by a
 * reconfiguration, while clients hold locks. Nobody loses anything.
 *
 * One client follows the configuration. The others are told of each new list: in clear text, and
 * through TLS with SASL. "cons" of the servers, or the kernel, says which of them a session is
 * connected to.
 */
#define SUITE_FIXTURE Ensemble *ensemble
#include "kept.h"

#include "support/four_letter.h"
#include "support/net.h"
#include "support/raw_zk.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <arpa/inet.h>
#include <string.h>

#define N_MEMBERS  3
#define TICK_MS    200
#define SESSION_MS 40000
#define PATIENCE   60000

typedef enum
{
  FOLLOWS,
  IS_TOLD,
  IS_TOLD_SECURED,
  N_HOLDERS
} Way;

/* A server of the test's own is owned; the first three are those of an ensemble. */
typedef struct
{
  ZkServer *server;
  gboolean is_owned;
  int id;
  char *line;
} Member;

typedef struct
{
  ZkEnsembleSetup setup;
  ZkEnsemble *ensemble;
  Member members[N_MEMBERS];
  int last_id;
  Kept holders[N_HOLDERS]; /* one of each way */
} Ensemble;

/* --- the ensemble ----------------------------------------------------------------------------- */

static char *
join_addresses (Ensemble *ensemble, gboolean secure)
{
  g_autoptr (GString) list = g_string_new (NULL);

  for (int i = 0; i < N_MEMBERS; i++) {
    ZkServer *server = ensemble->members[i].server;
    g_string_append_printf (list, "%s%s", i > 0 ? "," : "",
                            secure ? zk_server_secure_address (server)
                                   : zk_server_address (server));
  }
  return g_strdup (list->str);
}

static Member
start_joiner (Ensemble *ensemble)
{
  g_autofree char *lines = g_strdup_printf ("%s\n%s\n%s", ensemble->members[0].line,
                                            ensemble->members[1].line, ensemble->members[2].line);
  Member member = { .is_owned = TRUE, .id = ++ensemble->last_id };

  member.server = zk_server_start_joiner (member.id, lines, &ensemble->setup, &member.line);
  assert_non_null (member.server);
  return member;
}

static void
end_member (Member *member)
{
  if (member->is_owned)
    zk_server_stop (member->server);
  else
    zk_server_kill (member->server);
  g_free (member->line);
}

/* It is refused until the joining servers have caught up, and while another one is under way. */
static void
reconfigure (Ensemble *ensemble, const char *joining, const char *leaving)
{
  g_autoptr (RawZk) raw = raw_zk_open (zk_server_address (ensemble->members[0].server));
  assert_non_null (raw);
  assert_true (holds_within (raw_zk_reconfig (raw, joining, leaving) == ZOK, PATIENCE));
}

/* --- the holders ------------------------------------------------------------------------------ */

static void
start_holder (Ensemble *ensemble, Way way)
{
  static const char *const names[N_HOLDERS] = { "follows", "told", "secured" };
  g_autofree char *list = join_addresses (ensemble, FALSE);
  g_autofree char *where =
      security_connect_string (list, way == IS_TOLD_SECURED ? SECURITY_BOTH : SECURITY_NONE);
  CuratorClient *client = security_client_new (where, NULL);
  curator_client_set_follow_configuration (client, way == FOLLOWS);
  kept_begin (&ensemble->holders[way], names[way], client, SESSION_MS);
}

/* "cons" knows nothing of connections through TLS; the kernel does. Nobody else has one. */
static gboolean
is_connected_to (const char *address)
{
  struct sockaddr_in name;
  g_autofree char *table = NULL;

  assert_true (net_parse (address, &name));
  assert_true (g_file_get_contents ("/proc/net/tcp", &table, NULL, NULL));
  g_autofree char *established =
      g_strdup_printf (" %08X:%04X 01 ", name.sin_addr.s_addr, ntohs (name.sin_port));
  return strstr (table, established) != NULL;
}

static gboolean
is_served_by_member (const Ensemble *ensemble, Way way)
{
  for (int i = 0; i < N_MEMBERS; i++) {
    ZkServer *server = ensemble->members[i].server;
    if (way == IS_TOLD_SECURED
            ? is_connected_to (zk_server_secure_address (server))
            : four_letter_packets (zk_server_address (server), ensemble->holders[way].session,
                                   &(FourLetterPackets){ 0 }))
      return TRUE;
  }
  return FALSE;
}

/* The members are others now: those that are told are told. All are at one of these before the old
 * ones end. */
static void
let_holders_move (Ensemble *ensemble)
{
  for (Way way = FOLLOWS; way < N_HOLDERS; way++) {
    const Kept *holder = &ensemble->holders[way];
    g_autoptr (GError) error = NULL;
    g_autofree char *list = join_addresses (ensemble, way == IS_TOLD_SECURED);
    if (way != FOLLOWS && !curator_client_update_servers (holder->client, list, &error))
      fail_msg ("%s", error->message);
    if (!holds_within (is_served_by_member (ensemble, way), PATIENCE))
      fail_msg ("holder %s is at no member of %s", holder->name, list);
  }
}

static void
check_holders (const Ensemble *ensemble, const char *when)
{
  for (int i = 0; i < N_HOLDERS; i++) {
    kept_acquire_other (&ensemble->holders[i], when);
    kept_check (&ensemble->holders[i]);
  }
}

/* --- tests ------------------------------------------------------------------------------------ */

TEST (test_one_by_one)
{
  for (int i = 0; i < N_MEMBERS; i++) {
    Member old = ensemble->members[i];
    g_autofree char *leaving = g_strdup_printf ("%d", old.id);
    Member joiner = start_joiner (ensemble);
    reconfigure (ensemble, joiner.line, NULL);
    ensemble->members[i] = joiner;
    reconfigure (ensemble, NULL, leaving);
    let_holders_move (ensemble);
    end_member (&old);
    check_holders (ensemble, "one by one");
  }
}

TEST (test_all_at_once)
{
  Member joiners[N_MEMBERS];
  Member old[N_MEMBERS];

  for (int i = 0; i < N_MEMBERS; i++) {
    old[i] = ensemble->members[i];
    joiners[i] = start_joiner (ensemble);
  }
  g_autofree char *joining =
      g_strjoin (",", joiners[0].line, joiners[1].line, joiners[2].line, NULL);
  g_autofree char *leaving = g_strdup_printf ("%d,%d,%d", old[0].id, old[1].id, old[2].id);
  reconfigure (ensemble, joining, leaving);
  memcpy (ensemble->members, joiners, sizeof joiners);
  let_holders_move (ensemble);
  for (int i = 0; i < N_MEMBERS; i++)
    end_member (&old[i]);
  check_holders (ensemble, "all at once");
}

static int
start (void **state)
{
  static const char *const options[] = { "-Dzookeeper.skipACL=yes", NULL };
  Ensemble *ensemble = g_new0 (Ensemble, 1);

  ensemble->setup = (ZkEnsembleSetup){ .tick_ms = TICK_MS,
                                       .sync_limit = 60,
                                       .security = security_folder (),
                                       .java_options = options,
                                       .reconfig = TRUE,
                                       .max_session_ms = { 80000, 80000, 80000 } };
  ensemble->ensemble = zk_server_available () ? zk_ensemble_start_as (&ensemble->setup) : NULL;
  if (ensemble->ensemble == NULL)
    return -1;
  ensemble->last_id = N_MEMBERS;
  for (int i = 0; i < N_MEMBERS; i++) {
    ensemble->members[i] = (Member){ .server = zk_ensemble_server (ensemble->ensemble, i),
                                     .id = i + 1,
                                     .line = zk_ensemble_member_line (ensemble->ensemble, i) };
  }
  for (int i = 0; i < N_HOLDERS; i++)
    start_holder (ensemble, (Way) i);
  *state = ensemble;
  return 0;
}

static int
stop (void **state)
{
  Ensemble *ensemble = *state;

  for (int i = 0; i < N_HOLDERS; i++)
    kept_end (&ensemble->holders[i]);
  for (int i = 0; i < N_MEMBERS; i++)
    end_member (&ensemble->members[i]);
  zk_ensemble_stop (ensemble->ensemble);
  g_free (ensemble);
  return 0;
}

SUITE ("replaced servers", start, stop)
