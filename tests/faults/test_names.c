/* Servers that move: a holder keeps its session and its lock while all members of the ensemble
 * restart one after the other, whatever their names resolve to meanwhile.
 *
 * Three holders at once: in clear text, through TLS with SASL, and on a handle of the program's.
 * The names are those of a resolver of the test's own, in place of the C library's.
 *
 * CURATOR_TEST_NAMES_RUNS=20: so many runs of everything, with a session timeout of 10 s and six
 * seconds for each member. Then half of the reconnections must take less than a tenth of the
 * session timeout: the time from when a quorum serves, or later the connection is lost, to the
 * state listener. Whether one serves is asked every 20 ms.
 */
#define SUITE_FIXTURE Names *names
#include "kept.h"
#include "resolver.h"
#include "shared.h"

#include "support/four_letter.h"
#include "support/net.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <curator/zookeeper.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define N_MEMBERS 3
#define TICK_MS   200
#define PATIENCE  60000
#define SOON_MS   45000 /* earlier than a name is looked up that nobody needs */

/* Of the session timeout: for so long the servers may be without a leader. */
#define NONE_SHARE 5

typedef enum
{
  CLEAR,
  SECURED,
  ADOPTED,
  N_HOLDERS
} Way;

typedef struct
{
  Kept kept;
  zhandle_t *zh;
  CuratorClient *adopter; /* this and the rest is guarded by the mutex below */
  gint64 down_since_ms;   /* 0: connected */
  GArray *waits_ms;       /* gint64: for a connection, while a quorum served */
  guint n_told;           /* of these */
} Holder;

typedef struct
{
  ZkEnsemble *ensemble;
  ZkEnsembleSetup setup;
  int session_ms;
  int pause_ms; /* for each member */
  int n_runs;
  guint16 ports[N_MEMBERS];
  pthread_t observer;
  gint has_ended; /* atomic */
  Holder holders[N_HOLDERS];
} Names;

static ResolverNames resolver;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static gint64 serving_since_ms; /* a quorum with a leader; 0: none */
static gint64 none_since_ms;    /* 0: there is one */
static gint64 longest_none_ms;  /* without one, in the current roll */
static GString *told;           /* the lists of servers that were logged */

static ZkServer *
member (const Names *names, int i)
{
  return zk_ensemble_server (names->ensemble, i);
}

static void
set_host (const Names *names, int i)
{
  shared_set (&resolver.hosts[i], resolver_host (zk_server_address (member (names, i))));
}

/* --- the observer ----------------------------------------------------------------------------- */

/* Where the members are as their names have it, which is later than they serve. */
static gboolean
has_quorum (const Names *names)
{
  int n = 0;
  gboolean has_leader = FALSE;

  for (int i = 0; i < N_MEMBERS; i++) {
    const guint32 host = g_ntohl (shared_get (&resolver.hosts[i]));
    g_autofree char *address = g_strdup_printf ("%u.%u.%u.%u:%u", host >> 24, host >> 16 & 255,
                                                host >> 8 & 255, host & 255, names->ports[i]);
    g_autofree char *answer = four_letter (address, "srvr", 100);
    n += answer != NULL && strstr (answer, "Mode:") != NULL;
    has_leader |= answer != NULL && strstr (answer, "Mode: leader") != NULL;
  }
  return n > N_MEMBERS / 2 && has_leader;
}

static void *
observe (void *data)
{
  Names *names = data;
  gint64 last_ms = wait_now_ms ();

  while (!g_atomic_int_get (&names->has_ended)) {
    const gboolean serves = has_quorum (names);
    const gint64 now_ms = wait_now_ms ();
    pthread_mutex_lock (&mutex);
    serving_since_ms = !serves ? 0 : serving_since_ms != 0 ? serving_since_ms : now_ms;
    none_since_ms = serves ? 0 : none_since_ms != 0 ? none_since_ms : last_ms;
    longest_none_ms = MAX (longest_none_ms, none_since_ms != 0 ? now_ms - none_since_ms : 0);
    last_ms = now_ms;
    pthread_mutex_unlock (&mutex);
    wait_ms (20);
  }
  return NULL;
}

static int
take_longest_none_ms (void)
{
  pthread_mutex_lock (&mutex);
  const int ms = (int) longest_none_ms;
  longest_none_ms = 0;
  pthread_mutex_unlock (&mutex);
  return ms;
}

/* Which addresses a client has is only logged. */
static GLogWriterOutput
note_servers (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  pthread_mutex_lock (&mutex);
  for (gsize i = 0; i < n_fields; i++)
    if (strcmp (fields[i].key, "MESSAGE") == 0
        && g_str_has_prefix (fields[i].value, "the servers are now at "))
      g_string_append (told, fields[i].value);
  pthread_mutex_unlock (&mutex);
  return g_log_writer_default (level, fields, n_fields, data);
}

static gboolean
is_told (const char *address)
{
  pthread_mutex_lock (&mutex);
  const gboolean is_told = strstr (told->str, address) != NULL;
  pthread_mutex_unlock (&mutex);
  return is_told;
}

/* Both kinds of clients that look names up themselves. */
static void
wait_told (const Names *names, int i)
{
  assert_true (holds_within (is_told (zk_server_address (member (names, i))), SOON_MS));
  assert_true (holds_within (is_told (zk_server_secure_address (member (names, i))), SOON_MS));
}

/* --- the holders ------------------------------------------------------------------------------ */

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  Holder *holder = data;
  const gint64 now_ms = wait_now_ms ();

  pthread_mutex_lock (&mutex);
  if (state == CURATOR_CONNECTION_STATE_SUSPENDED) {
    holder->down_since_ms = now_ms;
  } else if (state == CURATOR_CONNECTION_STATE_RECONNECTED && holder->down_since_ms != 0) {
    const gint64 since_ms = MAX (serving_since_ms, holder->down_since_ms);
    const gint64 waited_ms = serving_since_ms != 0 ? now_ms - since_ms : 0;
    g_array_append_val (holder->waits_ms, waited_ms);
    holder->down_since_ms = 0;
  }
  pthread_mutex_unlock (&mutex);
}

static void
on_zk_event (zhandle_t *zh, int type, int state, const char *path, void *context)
{
  pthread_mutex_lock (&mutex);
  CuratorClient *client = ((Holder *) context)->adopter;
  pthread_mutex_unlock (&mutex);
  if (client != NULL)
    curator_client_forward_event (client, zh, type, state, path);
}

static char *
connect_string (Names *names, gboolean secure)
{
  GString *list = g_string_new (secure ? "tls+sasl@" : NULL);

  if (secure)
    g_string_append_printf (list, "%s@", security_folder ());
  for (int i = 0; i < N_MEMBERS; i++) {
    const char *address = secure ? zk_server_secure_address (member (names, i))
                                 : zk_server_address (member (names, i));
    g_string_append_printf (list, "%szk-%d.test%s", i > 0 ? "," : "", i, strchr (address, ':'));
  }
  return g_string_free (list, FALSE);
}

static void
start_holder (Names *names, Holder *holder, Way way, const char *name)
{
  g_autofree char *list = connect_string (names, way == SECURED);
  CuratorClient *client = NULL;

  *holder = (Holder){ .waits_ms = g_array_new (FALSE, FALSE, sizeof (gint64)) };
  if (way == ADOPTED) {
    holder->zh = zookeeper_init (list, on_zk_event, names->session_ms, NULL, holder, 0);
    assert_non_null (holder->zh);
    client = curator_client_new_for_zhandle (holder->zh, NULL);
    pthread_mutex_lock (&mutex);
    holder->adopter = client;
    pthread_mutex_unlock (&mutex);
  } else {
    client = security_client_new (list, NULL);
  }
  curator_client_add_state_listener (client, on_state, holder, NULL);
  kept_begin (&holder->kept, name, client, names->session_ms);
}

static void
start_usual_holder (Names *names, Way way)
{
  static const char *const ways[N_HOLDERS] = { "clear", "secured", "adopted" };
  start_holder (names, &names->holders[way], way, ways[way]);
}

static void
end_holder (Holder *holder)
{
  kept_end (&holder->kept);
  if (holder->zh != NULL)
    zookeeper_close (holder->zh);
  g_array_unref (holder->waits_ms);
}

static void
check_holder (Holder *holder, const char *when)
{
  g_autoptr (GString) waits = g_string_new (NULL);

  kept_check (&holder->kept);
  pthread_mutex_lock (&mutex);
  for (; holder->n_told < holder->waits_ms->len; holder->n_told++) {
    g_string_append_printf (waits, " %d",
                            (int) g_array_index (holder->waits_ms, gint64, holder->n_told));
  }
  pthread_mutex_unlock (&mutex);
  print_message ("%s, %s: waited for a connection, in ms:%s\n", when, holder->kept.name,
                 waits->str);
}

/* --- restarts --------------------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  ResolverMode mode;
  gboolean moves;
  int n_checked; /* holders: in clear, secured, adopted */
  int n_staying; /* members at the end that do not restart */
  int late_ms;   /* the name changes so much later than the member is back */
} Kind;

static void
restart_member (Names *names, int i, const Kind *kind)
{
  const gint64 until_ms = wait_now_ms () + names->pause_ms;

  if (kind->moves)
    zk_ensemble_move_member (names->ensemble, i, &names->setup);
  else
    zk_server_kill (member (names, i));
  zk_server_relaunch (member (names, i));
  assert_true (zk_server_wait_serving (member (names, i), PATIENCE));
  wait_ms (kind->late_ms);
  set_host (names, i);
  assert_true (zk_ensemble_wait_whole (names->ensemble, PATIENCE));
  wait_ms ((int) MAX (until_ms - wait_now_ms (), 0));
}

/* A hold outlives its servers' absence for as long as its lease lasts. The servers of a busy
 * machine may need longer to elect a leader: then it may be lost. */
static void
roll (Names *names, const Kind *kind)
{
  take_longest_none_ms ();
  shared_set (&resolver.mode, kind->mode);
  for (int i = 0; i < N_MEMBERS - kind->n_staying; i++)
    restart_member (names, i, kind);
  const int none_ms = take_longest_none_ms ();
  print_message ("%s: for %d ms at the longest there was no quorum\n", kind->name, none_ms);
  for (int i = 0; i < kind->n_checked; i++) {
    Holder *holder = &names->holders[i];
    if (none_ms > names->session_ms / NONE_SHARE && kept_is_lost (&holder->kept)) {
      print_message ("%s: too long to judge, it holds anew\n", holder->kept.name);
      end_holder (holder);
      shared_set (&resolver.mode, RESOLVER_RIGHT);
      start_usual_holder (names, (Way) i);
    }
    check_holder (holder, kind->name);
  }
  shared_set (&resolver.mode, RESOLVER_RIGHT);
}

static const Kind moving = { "all members move", RESOLVER_RIGHT, TRUE, 3 };

TEST (test_rolling_restart)
{
  roll (names, &moving);
}

static int
compare_waits (gconstpointer a, gconstpointer b)
{
  const gint64 one = *(const gint64 *) a;
  const gint64 other = *(const gint64 *) b;
  return (one > other) - (one < other);
}

static void
check_waits (const Names *names, const Holder *holder)
{
  pthread_mutex_lock (&mutex);
  g_autoptr (GArray) sorted = g_array_copy (holder->waits_ms);
  pthread_mutex_unlock (&mutex);
  assert_true (sorted->len > 0);
  g_array_sort (sorted, compare_waits);
  const gint64 median_ms = g_array_index (sorted, gint64, sorted->len / 2);
  print_message ("%s: %u reconnections, median %d ms, 9 of 10 within %d ms, longest %d ms\n",
                 holder->kept.name, sorted->len, (int) median_ms,
                 (int) g_array_index (sorted, gint64, sorted->len * 9 / 10),
                 (int) g_array_index (sorted, gint64, sorted->len - 1));
  assert_true (median_ms < names->session_ms / 10);
}

TEST (test_rolling_restarts)
{
  for (int run = 1; run < names->n_runs; run++)
    roll (names, &moving);
  for (Way way = CLEAR; names->n_runs > 0 && way <= SECURED; way++)
    check_waits (names, &names->holders[way]);
}

/* Who is connected looks the names up, too: later only one member is where they said last. The
 * members find each other only if they move in turn. */
TEST (test_names_that_were_right)
{
  roll (names, &moving);
  wait_told (names, N_MEMBERS - 1);
  roll (names, &(Kind){ "names that were right once", RESOLVER_UNKNOWN, TRUE, 2, .n_staying = 1 });
}

/* The members have moved while nobody could say where to. */
TEST (test_hanging_resolver)
{
  for (int i = 0; i < N_MEMBERS; i++)
    wait_told (names, i);
  roll (names, &(Kind){ "the resolver hangs", RESOLVER_HANGS, .n_checked = 2 });
}

/* A client knows all servers from the start, not only those that it has tried: each member is
 * killed in turn, and started again only when the client was served by another one. */
TEST (test_new_client_and_hanging_resolver)
{
  Holder holder;

  start_holder (names, &holder, SECURED, "new");
  shared_set (&resolver.mode, RESOLVER_HANGS);
  for (int i = 0; i < N_MEMBERS; i++) {
    zk_server_kill (member (names, i));
    kept_acquire_other (&holder.kept, "a member is down");
    zk_server_relaunch (member (names, i));
    assert_true (zk_ensemble_wait_whole (names->ensemble, PATIENCE));
  }
  check_holder (&holder, "the resolver hangs");
  shared_set (&resolver.mode, RESOLVER_RIGHT);
  end_holder (&holder);
}

/* Last: the holder on a handle of the program's may not survive these. */
TEST (test_other_runs)
{
  static const Kind kinds[] = {
    { "names with several addresses", RESOLVER_SEVERAL, TRUE, 2 },
    { "names that change late", RESOLVER_RIGHT, TRUE, 2, .late_ms = 1000 },
    { "names that have vanished", RESOLVER_UNKNOWN, FALSE, 2 },
    { "names of wrong hosts", RESOLVER_WRONG, FALSE, 2 },
    { "members that do not move", RESOLVER_RIGHT, FALSE, 2 },
  };
  for (int run = 0; run < names->n_runs; run++)
    for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
      roll (names, &kinds[i]);
}

static int
start (void **state)
{
  Names *names = g_new0 (Names, 1);
  const char *runs = g_getenv ("CURATOR_TEST_NAMES_RUNS");

  told = g_string_new (NULL);
  g_log_set_writer_func (note_servers, NULL, NULL);
  resolver.wrong = resolver_host (RESOLVER_NOBODY ":1");
  resolver_begin (&resolver);
  names->n_runs = runs != NULL ? atoi (runs) : 0;
  names->session_ms = runs != NULL ? 10000 : 20000;
  names->pause_ms = runs != NULL ? 6000 : 0;
  names->setup = (ZkEnsembleSetup){ .tick_ms = TICK_MS,
                                    .sync_limit = 20,
                                    .security = security_folder (),
                                    .max_session_ms = { 40000, 40000, 40000 } };
  names->ensemble = zk_ensemble_start_as (&names->setup);
  if (names->ensemble == NULL)
    return -1;
  for (int i = 0; i < N_MEMBERS; i++) {
    const char *address = zk_server_address (member (names, i));
    names->ports[i] = (guint16) atoi (strchr (address, ':') + 1);
    set_host (names, i);
  }
  pthread_create (&names->observer, NULL, observe, names);
  for (int i = 0; i < N_HOLDERS; i++)
    start_usual_holder (names, (Way) i);
  *state = names;
  return 0;
}

static int
stop (void **state)
{
  Names *names = *state;

  shared_set (&resolver.mode, RESOLVER_RIGHT);
  g_atomic_int_set (&names->has_ended, TRUE);
  pthread_join (names->observer, NULL);
  for (int i = 0; i < N_HOLDERS; i++)
    end_holder (&names->holders[i]);
  zk_ensemble_stop (names->ensemble);
  g_free (names);
  return 0;
}

SUITE ("names", start, stop)
