/* All servers of a living ensemble are replaced, one by one and then all at once, by a
 * reconfiguration, while clients hold locks. Nobody loses anything.
 *
 * One client follows the configuration. The others are told of each new list: in clear text, and
 * through TLS with SASL. "cons" of the servers, or the kernel, says which of them a session is
 * connected to.
 */
#define SUITE_FIXTURE Ensemble *ensemble
#include "lab.h"
#include "security.h"

#include "support/four_letter.h"
#include "support/net.h"
#include "support/raw_zk.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <arpa/inet.h>
#include <curator/curator.h>
#include <string.h>

#define N_MEMBERS  3
#define N_HOLDERS  3
#define TICK_MS    200
#define SESSION_MS 20000
#define PATIENCE   60000

typedef enum
{
  FOLLOWS,
  IS_TOLD,
  IS_TOLD_SECURED
} Way;

typedef struct
{
  Way way;
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLease *lease;
  gint64 session;
  gint lost; /* atomic */
} Holder;

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
  Holder holders[N_HOLDERS];
} Ensemble;

/* --- the ensemble ----------------------------------------------------------------------------- */

static char *
join_addresses (Ensemble *ensemble, gboolean secure)
{
  g_autoptr (GString) list = g_string_new (NULL);

  for (int i = 0; i < N_MEMBERS; i++)
    {
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

typedef struct
{
  RawZk *raw;
  const char *joining;
  const char *leaving;
  int rc;
} Reconfig;

/* It is refused until the joining servers have caught up, and while another one is under way. */
static gboolean
try_reconfig (gpointer data)
{
  Reconfig *reconfig = data;
  reconfig->rc = raw_zk_reconfig (reconfig->raw, reconfig->joining, reconfig->leaving);
  return reconfig->rc == ZOK;
}

static void
reconfigure (Ensemble *ensemble, const char *joining, const char *leaving)
{
  g_autoptr (RawZk) raw = raw_zk_open (zk_server_address (ensemble->members[0].server));
  assert_non_null (raw);
  Reconfig reconfig = { raw, joining, leaving, ZOK };
  if (!wait_until (try_reconfig, &reconfig, PATIENCE))
    fail_msg ("reconfig: %s", zerror (reconfig.rc));
}

/* --- the holders ------------------------------------------------------------------------------ */

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  Holder *holder = data;
  if (state == CURATOR_CONNECTION_STATE_LOST)
    g_atomic_int_set (&holder->lost, TRUE);
}

static CuratorClient *
new_client (Ensemble *ensemble, Way way)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *list = join_addresses (ensemble, way == IS_TOLD_SECURED);
  if (way != IS_TOLD_SECURED)
    {
      CuratorClient *client = curator_client_new (list, NULL);
      curator_client_set_follow_configuration (client, way == FOLLOWS);
      return client;
    }
  g_autofree char *secure = g_strdup_printf ("tls@%s@%s", security_folder (), list);
  CuratorClient *client = security_client_new (secure, NULL);
  assert_true (
      curator_client_set_sasl_digest (client, "alice", "correct horse battery staple", &error));
  return client;
}

static void
start_holder (Ensemble *ensemble, Holder *holder, Way way)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_strdup_printf ("/replaced/%d", way);

  holder->way = way;
  holder->client = new_client (ensemble, way);
  curator_client_set_session_timeout (holder->client, SESSION_MS);
  curator_client_add_state_listener (holder->client, on_state, holder, NULL);
  if (!curator_client_start (holder->client, &error))
    fail_msg ("%s", error->message);
  holder->lock = curator_mutex_new (holder->client, path, &error);
  if (!curator_lock_acquire (holder->lock, PATIENCE, NULL, &error))
    fail_msg ("%s", error->message);
  holder->lease = curator_lock_dup_lease (holder->lock);
  holder->session = curator_lease_get_session_id (holder->lease);
}

static void
end_holder (Holder *holder)
{
  curator_lease_unref (holder->lease);
  curator_lock_unref (holder->lock);
  curator_client_close (holder->client);
  curator_client_unref (holder->client);
}

static gboolean
is_held (gpointer data)
{
  return curator_lease_get_state (data) == CURATOR_LEASE_HELD;
}

static void
check_holder (Holder *holder, const char *when)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) other = curator_mutex_new (holder->client, "/replaced/other", NULL);

  if (!curator_lock_acquire (other, PATIENCE, NULL, &error)
      || !curator_lock_release (other, CURATOR_WAIT_DEFAULT, NULL, &error))
    fail_msg ("%s, holder %d: %s", when, holder->way, error->message);
  assert_true (wait_until (is_held, holder->lease, PATIENCE));
  assert_false (g_atomic_int_get (&holder->lost));
  assert_true (curator_client_get_session_id (holder->client) == holder->session);
}

typedef struct
{
  Ensemble *ensemble;
  Holder *holder;
} Served;

/* A line of "cons" is "… sid=0x10001ba5c4e0001,…". */
static gboolean
shows_session (ZkServer *server, gint64 session)
{
  g_autofree char *wanted = g_strdup_printf ("sid=0x%" G_GINT64_MODIFIER "x,", session);
  g_autofree char *connections = four_letter (zk_server_address (server), "cons", 500);
  return connections != NULL && strstr (connections, wanted) != NULL;
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
is_served_by_member (gpointer data)
{
  const Served *served = data;
  gboolean is_served = FALSE;

  for (int i = 0; !is_served && i < N_MEMBERS; i++)
    {
      ZkServer *server = served->ensemble->members[i].server;
      is_served = served->holder->way == IS_TOLD_SECURED
                      ? is_connected_to (zk_server_secure_address (server))
                      : shows_session (server, served->holder->session);
    }
  return is_served;
}

/* The members are others now: those that are told are told. All are at one of these before the old
 * ones end. */
static void
let_holders_move (Ensemble *ensemble)
{
  for (int i = 0; i < N_HOLDERS; i++)
    {
      Holder *holder = &ensemble->holders[i];
      Served served = { ensemble, holder };
      g_autoptr (GError) error = NULL;
      g_autofree char *list = join_addresses (ensemble, holder->way == IS_TOLD_SECURED);
      if (holder->way != FOLLOWS && !curator_client_update_servers (holder->client, list, &error))
        fail_msg ("%s", error->message);
      if (!wait_until (is_served_by_member, &served, PATIENCE))
        fail_msg ("holder %d is at no member of %s", holder->way, list);
    }
}

static void
check_holders (Ensemble *ensemble, const char *when)
{
  for (int i = 0; i < N_HOLDERS; i++)
    check_holder (&ensemble->holders[i], when);
}

/* --- tests ------------------------------------------------------------------------------------ */

TEST (test_one_by_one)
{
  for (int i = 0; i < N_MEMBERS; i++)
    {
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

  for (int i = 0; i < N_MEMBERS; i++)
    {
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

/* Refused, and nothing has changed: the client is served as before. */
TEST (test_bad_lists)
{
  static const char *const bad[] = { "",          "a:0",     ":1",   "a,b c",   "127.0.0.1:1/app",
                                     "tls://a:1", "ssl://a", "a:1,", "a,,b",    "::1:2181",
                                     "a b",       "a:x",     "/",    "a:65536", "10.1" };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      assert_false (
          curator_client_update_servers (ensemble->holders[IS_TOLD].client, bad[i], &error));
      assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT)
                   || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED));
    }
  check_holders (ensemble, "bad lists");
}

static int
start (void **state)
{
  static const char *const options[] = { "-Dzookeeper.skipACL=yes", NULL };
  Ensemble *ensemble = g_new0 (Ensemble, 1);

  ensemble->setup = (ZkEnsembleSetup){ .tick_ms = TICK_MS,
                                       .sync_limit = 20,
                                       .security = security_folder (),
                                       .java_options = options,
                                       .reconfig = TRUE,
                                       .max_session_ms = { 40000, 40000, 40000 } };
  ensemble->ensemble = zk_server_available () ? zk_ensemble_start_as (&ensemble->setup) : NULL;
  if (ensemble->ensemble == NULL)
    return -1;
  ensemble->last_id = N_MEMBERS;
  for (int i = 0; i < N_MEMBERS; i++)
    {
      ensemble->members[i] = (Member){ .server = zk_ensemble_server (ensemble->ensemble, i),
                                       .id = i + 1,
                                       .line = zk_ensemble_member_line (ensemble->ensemble, i) };
    }
  for (int i = 0; i < N_HOLDERS; i++)
    start_holder (ensemble, &ensemble->holders[i], (Way) i);
  *state = ensemble;
  return 0;
}

static int
stop (void **state)
{
  Ensemble *ensemble = *state;

  for (int i = 0; i < N_HOLDERS; i++)
    end_holder (&ensemble->holders[i]);
  for (int i = 0; i < N_MEMBERS; i++)
    end_member (&ensemble->members[i]);
  zk_ensemble_stop (ensemble->ensemble);
  g_free (ensemble);
  return 0;
}

SUITE ("replaced servers", start, stop)
