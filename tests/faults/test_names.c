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
#include "lab.h"
#include "security.h"

#include "support/four_letter.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <curator/curator.h>
#include <curator/zookeeper.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define N_MEMBERS 3
#define TICK_MS   200
#define HANG_MS   30000
#define NOBODY    "127.255.255.1"
#define PATIENCE  60000
#define N_HOLDERS 3
#define SOON_MS   45000 /* earlier than a name is looked up that nobody needs */

/* Of the session timeout: for so long the servers may be without a leader. */
#define NONE_SHARE 5

/* --- the resolver ----------------------------------------------------------------------------- */

typedef enum
{
  ANSWERS,
  ANSWERS_SEVERAL, /* also with addresses where nobody is */
  UNKNOWN,
  LIES, /* with an address where nobody is */
  HANGS
} Mode;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char *hosts[N_MEMBERS]; /* "127.x.y.n" of "zk-N.test" */
static Mode modes[N_MEMBERS];

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);

static int
ask (const char *const *numbers, const char *service, const struct addrinfo *hints,
     struct addrinfo **found)
{
  GetAddrInfo real = (GetAddrInfo) dlsym (RTLD_NEXT, "getaddrinfo");
  struct addrinfo **end = found;
  int failed = EAI_NONAME;

  *found = NULL;
  for (; *numbers != NULL; numbers++)
    {
      failed = real (*numbers, service, hints, end);
      for (; failed == 0 && *end != NULL; end = &(*end)->ai_next)
        {
        }
    }
  return *found != NULL ? 0 : failed;
}

/* The mode, once it is not HANGS any more, or after half a minute. */
static Mode
wait_mode (int member, char **host)
{
  struct timespec until;

  clock_gettime (CLOCK_REALTIME, &until);
  until.tv_sec += HANG_MS / 1000;
  pthread_mutex_lock (&mutex);
  while (modes[member] == HANGS && pthread_cond_timedwait (&changed, &mutex, &until) == 0)
    {
    }
  const Mode mode = modes[member];
  *host = g_strdup (hosts[member]);
  pthread_mutex_unlock (&mutex);
  return mode;
}

CURATOR_API
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  int member;

  if (node == NULL || (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)
      || sscanf (node, "zk-%d.test", &member) != 1)
    {
      const char *const itself[] = { node, NULL };
      return node != NULL ? ask (itself, service, hints, found) : EAI_NONAME;
    }
  g_autofree char *host = NULL;
  const Mode mode = wait_mode (member, &host);
  const char *const several[] = { NOBODY, host, "::1", NULL };
  const char *const one[] = { mode == LIES ? NOBODY : host, NULL };
  return mode == HANGS     ? EAI_AGAIN
         : mode == UNKNOWN ? EAI_NONAME
                           : ask (mode == ANSWERS_SEVERAL ? several : one, service, hints, found);
}

static void
set_mode (int member, Mode mode)
{
  pthread_mutex_lock (&mutex);
  modes[member] = mode;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&mutex);
}

static void
set_all_modes (Mode mode)
{
  for (int i = 0; i < N_MEMBERS; i++)
    set_mode (i, mode);
}

static void
set_host (int member, const char *address)
{
  pthread_mutex_lock (&mutex);
  g_free (hosts[member]);
  hosts[member] = g_strndup (address, strcspn (address, ":"));
  pthread_mutex_unlock (&mutex);
}

/* --- the holders ------------------------------------------------------------------------------ */

typedef struct
{
  const char *name;
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLease *lease;
  zhandle_t *zh;
  gint64 session;
  pthread_mutex_t mutex; /* of the rest */
  gint64 down_since_ms;  /* 0: connected */
  GArray *waits_ms;      /* gint64: for a connection, while a quorum served */
  guint n_told;          /* of these */
  gboolean lost;
} Holder;

typedef struct
{
  ZkEnsemble *ensemble;
  ZkEnsembleSetup setup;
  int session_ms;
  int pause_ms; /* for each member */
  pthread_t observer;
  pthread_barrier_t ready; /* the observer knows the ports */
  gint has_ended;          /* atomic */
  Holder holders[N_HOLDERS];
} Names;

/* --- the observer ----------------------------------------------------------------------------- */

/* Guarded by the mutex above. */
static gint64 serving_since_ms; /* a quorum with a leader; 0: none */
static gint64 none_since_ms;    /* 0: there is one */
static gint64 longest_none_ms;  /* without one, in the current roll */
static GString *told;           /* the lists of servers that were logged */

static gboolean
has_quorum (char **addresses)
{
  int n = 0;
  gboolean has_leader = FALSE;

  for (; *addresses != NULL; addresses++)
    {
      g_autofree char *answer = four_letter (*addresses, "srvr", 100);
      n += answer != NULL && strstr (answer, "Mode:") != NULL;
      has_leader |= answer != NULL && strstr (answer, "Mode: leader") != NULL;
    }
  return n > N_MEMBERS / 2 && has_leader;
}

/* Where the members are as their names have it, which is later than they serve. */
static char **
dup_addresses (const guint16 *ports)
{
  char **addresses = g_new0 (char *, N_MEMBERS + 1);

  pthread_mutex_lock (&mutex);
  for (int i = 0; i < N_MEMBERS; i++)
    addresses[i] = g_strdup_printf ("%s:%u", hosts[i], ports[i]);
  pthread_mutex_unlock (&mutex);
  return addresses;
}

static void *
observe (void *data)
{
  Names *names = data;
  guint16 ports[N_MEMBERS];
  gint64 last_ms = wait_now_ms ();

  for (int i = 0; i < N_MEMBERS; i++)
    {
      const char *address = zk_server_address (zk_ensemble_server (names->ensemble, i));
      ports[i] = (guint16) atoi (strchr (address, ':') + 1);
    }
  pthread_barrier_wait (&names->ready);
  while (!g_atomic_int_get (&names->has_ended))
    {
      g_auto (GStrv) addresses = dup_addresses (ports);
      const gboolean serves = has_quorum (addresses);
      const gint64 now_ms = wait_now_ms ();
      pthread_mutex_lock (&mutex);
      serving_since_ms = !serves ? 0 : serving_since_ms != 0 ? serving_since_ms : now_ms;
      none_since_ms = serves ? 0 : none_since_ms != 0 ? none_since_ms : last_ms;
      longest_none_ms = MAX (longest_none_ms, none_since_ms != 0 ? now_ms - none_since_ms : 0);
      last_ms = now_ms;
      pthread_mutex_unlock (&mutex);
      g_usleep (20000);
    }
  return NULL;
}

static gint64
served_since_ms (void)
{
  pthread_mutex_lock (&mutex);
  const gint64 since_ms = serving_since_ms;
  pthread_mutex_unlock (&mutex);
  return since_ms;
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
  for (gsize i = 0; i < n_fields; i++)
    {
      if (strcmp (fields[i].key, "MESSAGE") == 0
          && g_str_has_prefix (fields[i].value, "the servers are now at "))
        {
          pthread_mutex_lock (&mutex);
          g_string_append (told, fields[i].value);
          pthread_mutex_unlock (&mutex);
        }
    }
  return g_log_writer_default (level, fields, n_fields, data);
}

static gboolean
is_told (gpointer address)
{
  pthread_mutex_lock (&mutex);
  const gboolean is_told = strstr (told->str, address) != NULL;
  pthread_mutex_unlock (&mutex);
  return is_told;
}

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  Holder *holder = data;
  const gint64 now_ms = wait_now_ms ();
  const gint64 since_ms = served_since_ms ();

  pthread_mutex_lock (&holder->mutex);
  if (state == CURATOR_CONNECTION_STATE_SUSPENDED)
    {
      holder->down_since_ms = now_ms;
    }
  else if (state == CURATOR_CONNECTION_STATE_RECONNECTED && holder->down_since_ms != 0)
    {
      const gint64 wait_ms = since_ms != 0 ? now_ms - MAX (since_ms, holder->down_since_ms) : 0;
      g_array_append_val (holder->waits_ms, wait_ms);
      holder->down_since_ms = 0;
    }
  holder->lost |= state == CURATOR_CONNECTION_STATE_LOST;
  pthread_mutex_unlock (&holder->mutex);
}

static void
on_zk_event (zhandle_t *zh, int type, int state, const char *path, void *context)
{
  Holder *holder = context;
  pthread_mutex_lock (&holder->mutex);
  CuratorClient *client = holder->client;
  pthread_mutex_unlock (&holder->mutex);
  if (client != NULL)
    curator_client_forward_event (client, zh, type, state, path);
}

static char *
connect_string (Names *names, gboolean secure)
{
  GString *list = g_string_new (NULL);

  for (int i = 0; i < N_MEMBERS; i++)
    {
      ZkServer *server = zk_ensemble_server (names->ensemble, i);
      const char *address = secure ? zk_server_secure_address (server) : zk_server_address (server);
      g_string_append_printf (list, "%szk-%d.test%s", i > 0 ? "," : "", i, strchr (address, ':'));
    }
  return g_string_free (list, FALSE);
}

static void
hold (Names *names, Holder *holder, const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_strconcat ("/names/", name, NULL);

  holder->name = name;
  curator_client_set_session_timeout (holder->client, names->session_ms);
  curator_client_add_state_listener (holder->client, on_state, holder, NULL);
  if (!curator_client_start (holder->client, &error))
    fail_msg ("%s", error->message);
  holder->lock = curator_mutex_new (holder->client, path, &error);
  if (!curator_lock_acquire (holder->lock, PATIENCE, NULL, &error))
    fail_msg ("%s: %s", name, error->message);
  holder->lease = curator_lock_dup_lease (holder->lock);
  holder->session = curator_lease_get_session_id (holder->lease);
}

static void
init_holder (Holder *holder)
{
  pthread_mutex_init (&holder->mutex, NULL);
  holder->waits_ms = g_array_new (FALSE, FALSE, sizeof (gint64));
}

static void
hold_secured (Names *names, Holder *holder, const char *name)
{
  g_autofree char *ports = connect_string (names, TRUE);
  g_autofree char *secure = g_strdup_printf ("tls@%s@%s", security_folder (), ports);
  g_autoptr (GError) error = NULL;

  holder->client = security_client_new (secure, NULL);
  assert_true (curator_client_set_sasl_digest (holder->client, "alice",
                                               "correct horse battery staple", &error));
  hold (names, holder, name);
}

static void
hold_clear (Names *names, Holder *holder, const char *name)
{
  g_autofree char *clear = connect_string (names, FALSE);

  holder->client = curator_client_new (clear, NULL);
  hold (names, holder, name);
}

static void
hold_adopted (Names *names, Holder *holder, const char *name)
{
  g_autofree char *clear = connect_string (names, FALSE);

  holder->zh = zookeeper_init (clear, on_zk_event, names->session_ms, NULL, holder, 0);
  assert_non_null (holder->zh);
  CuratorClient *client = curator_client_new_for_zhandle (holder->zh, NULL);
  pthread_mutex_lock (&holder->mutex);
  holder->client = client;
  pthread_mutex_unlock (&holder->mutex);
  hold (names, holder, name);
}

static void
start_holder (Names *names, int i)
{
  static const struct
  {
    const char *name;
    void (*hold) (Names *names, Holder *holder, const char *name);
  } kinds[N_HOLDERS] = { { "clear", hold_clear },
                         { "secured", hold_secured },
                         { "adopted", hold_adopted } };

  init_holder (&names->holders[i]);
  kinds[i].hold (names, &names->holders[i], kinds[i].name);
}

static void
end_holder (Holder *holder)
{
  curator_lease_unref (holder->lease);
  curator_lock_unref (holder->lock);
  curator_client_close (holder->client);
  curator_client_unref (holder->client);
  if (holder->zh != NULL)
    zookeeper_close (holder->zh);
  g_array_unref (holder->waits_ms);
  pthread_mutex_destroy (&holder->mutex);
  *holder = (Holder){ 0 };
}

static gboolean
is_certain (gpointer data)
{
  const CuratorLeaseState state = curator_lease_get_state (data);
  return state == CURATOR_LEASE_HELD || state == CURATOR_LEASE_LOST;
}

static gboolean
has_lost (Holder *holder)
{
  assert_true (wait_until (is_certain, holder->lease, PATIENCE));
  pthread_mutex_lock (&holder->mutex);
  const gboolean lost = holder->lost;
  pthread_mutex_unlock (&holder->mutex);
  return lost || curator_lease_get_state (holder->lease) == CURATOR_LEASE_LOST;
}

static void
check_holder (Holder *holder, const char *when)
{
  assert_false (has_lost (holder));
  pthread_mutex_lock (&holder->mutex);
  g_autoptr (GString) waits = g_string_new (NULL);
  for (; holder->n_told < holder->waits_ms->len; holder->n_told++)
    {
      g_string_append_printf (waits, " %d",
                              (int) g_array_index (holder->waits_ms, gint64, holder->n_told));
    }
  pthread_mutex_unlock (&holder->mutex);
  print_message ("%s, %s: waited for a connection, in ms:%s\n", when, holder->name, waits->str);
  assert_true (curator_client_get_session_id (holder->client) == holder->session);
}

/* --- restarts --------------------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  Mode mode;
  gboolean moves;
  gboolean all_down; /* all names at once are of that mode; otherwise that of the restarting one */
  int n_checked;     /* holders: in clear, secured, adopted */
  int n_staying;     /* members at the end that do not restart */
  int late_ms;       /* the name changes so much later than the member is back */
} Kind;

static void
restart_member (Names *names, int i, const Kind *kind)
{
  ZkServer *server = zk_ensemble_server (names->ensemble, i);
  const gint64 until_ms = wait_now_ms () + names->pause_ms;

  if (kind->moves)
    zk_ensemble_move_member (names->ensemble, i, &names->setup);
  else
    zk_server_kill (server);
  zk_server_relaunch (server);
  assert_true (zk_server_wait_serving (server, PATIENCE));
  g_usleep ((gulong) kind->late_ms * 1000);
  set_host (i, zk_server_address (server));
  assert_true (zk_ensemble_wait_whole (names->ensemble, PATIENCE));
  while (wait_now_ms () < until_ms)
    g_usleep (10000);
}

/* A hold outlives its servers' absence for as long as its lease lasts. The servers of a busy
 * machine may need longer to elect a leader: then it may be lost. */
static void
roll (Names *names, const Kind *kind)
{
  take_longest_none_ms ();
  set_all_modes (kind->mode);
  for (int i = 0; i < N_MEMBERS - kind->n_staying; i++)
    restart_member (names, i, kind);
  const int none_ms = take_longest_none_ms ();
  print_message ("%s: for %d ms at the longest there was no quorum\n", kind->name, none_ms);
  for (int i = 0; i < kind->n_checked; i++)
    {
      if (none_ms > names->session_ms / NONE_SHARE && has_lost (&names->holders[i]))
        {
          print_message ("%s: too long to judge, it holds anew\n", names->holders[i].name);
          end_holder (&names->holders[i]);
          set_all_modes (ANSWERS);
          start_holder (names, i);
        }
      check_holder (&names->holders[i], kind->name);
    }
}

static const Kind moving = { "all members move", ANSWERS, .moves = TRUE, .n_checked = 3 };
static const Kind hanging = { "the resolver hangs", HANGS, .n_checked = 2 };

static const Kind others[] = {
  { "names with several addresses", ANSWERS_SEVERAL, .moves = TRUE, .n_checked = 2 },
  { "names that change late", ANSWERS, .moves = TRUE, .n_checked = 2, .late_ms = 1000 },
  { "names that have vanished", UNKNOWN, .n_checked = 2 },
  { "names of wrong hosts", LIES, .n_checked = 2 },
  { "members that do not move", ANSWERS, .n_checked = 2 },
};

static int
start (void **state)
{
  Names *names = g_new0 (Names, 1);
  const gboolean is_long = g_getenv ("CURATOR_TEST_NAMES_RUNS") != NULL;

  names->session_ms = is_long ? 10000 : 20000;
  names->pause_ms = is_long ? 6000 : 0;
  names->setup = (ZkEnsembleSetup){ .tick_ms = TICK_MS,
                                    .sync_limit = 20,
                                    .security = security_folder (),
                                    .max_session_ms = { 40000, 40000, 40000 } };
  names->ensemble = zk_ensemble_start_as (&names->setup);
  if (names->ensemble == NULL)
    return -1;
  for (int i = 0; i < N_MEMBERS; i++)
    set_host (i, zk_server_address (zk_ensemble_server (names->ensemble, i)));
  pthread_barrier_init (&names->ready, NULL, 2);
  pthread_create (&names->observer, NULL, observe, names);
  pthread_barrier_wait (&names->ready);
  for (int i = 0; i < N_HOLDERS; i++)
    start_holder (names, i);
  *state = names;
  return 0;
}

static int
stop (void **state)
{
  Names *names = *state;

  set_all_modes (ANSWERS);
  g_atomic_int_set (&names->has_ended, TRUE);
  pthread_join (names->observer, NULL);
  pthread_barrier_destroy (&names->ready);
  for (int i = 0; i < N_HOLDERS; i++)
    end_holder (&names->holders[i]);
  zk_ensemble_stop (names->ensemble);
  g_free (names);
  return 0;
}

static void
test_rolling_restart (void **state)
{
  roll (*state, &moving);
}

/* Both kinds of clients that look names up themselves. */
static void
wait_told (Names *names, int i)
{
  ZkServer *server = zk_ensemble_server (names->ensemble, i);
  assert_true (wait_until (is_told, (gpointer) zk_server_address (server), SOON_MS));
  assert_true (wait_until (is_told, (gpointer) zk_server_secure_address (server), SOON_MS));
}

/* The members have moved while nobody could say where to. */
static void
test_hanging_resolver (void **state)
{
  for (int i = 0; i < N_MEMBERS; i++)
    wait_told (*state, i);
  roll (*state, &hanging);
  set_all_modes (ANSWERS);
}

/* Kills each member in turn and starts it again only when the client was served by another one. */
static void
restart_served_elsewhere (Names *names, Holder *holder)
{
  g_autoptr (CuratorLock) other = curator_mutex_new (holder->client, "/names/other", NULL);

  for (int i = 0; i < N_MEMBERS; i++)
    {
      g_autoptr (GError) error = NULL;
      ZkServer *server = zk_ensemble_server (names->ensemble, i);
      zk_server_kill (server);
      if (!curator_lock_acquire (other, PATIENCE, NULL, &error)
          || !curator_lock_release (other, CURATOR_WAIT_DEFAULT, NULL, &error))
        fail_msg ("member %d is down: %s", i, error->message);
      zk_server_relaunch (server);
      assert_true (zk_ensemble_wait_whole (names->ensemble, PATIENCE));
    }
}

/* A client knows all servers from the start, not only those that it has tried. */
static void
test_new_client_and_hanging_resolver (void **state)
{
  Names *names = *state;
  Holder holder = { 0 };

  init_holder (&holder);
  hold_secured (names, &holder, "new");
  set_all_modes (HANGS);
  restart_served_elsewhere (names, &holder);
  check_holder (&holder, "the resolver hangs");
  set_all_modes (ANSWERS);
  end_holder (&holder);
}

static const Kind vanishing = { "names that were right once", UNKNOWN, .moves = TRUE,
                                .n_checked = 2, .n_staying = 1 };

/* Who is connected looks the names up, too: later only one member is where they said last. The
 * members find each other only if they move in turn. */
static void
test_names_that_were_right (void **state)
{
  Names *names = *state;

  roll (names, &moving);
  wait_told (names, N_MEMBERS - 1);
  roll (names, &vanishing);
  set_all_modes (ANSWERS);
}

static int
compare_waits (gconstpointer a, gconstpointer b)
{
  const gint64 one = *(const gint64 *) a;
  const gint64 other = *(const gint64 *) b;
  return (one > other) - (one < other);
}

static void
check_waits (Names *names, Holder *holder)
{
  pthread_mutex_lock (&holder->mutex);
  g_autoptr (GArray) sorted = g_array_copy (holder->waits_ms);
  pthread_mutex_unlock (&holder->mutex);
  assert_true (sorted->len > 0);
  g_array_sort (sorted, compare_waits);
  const gint64 median_ms = g_array_index (sorted, gint64, sorted->len / 2);
  print_message ("%s: %u reconnections, median %d ms, 9 of 10 within %d ms, longest %d ms\n",
                 holder->name, sorted->len, (int) median_ms,
                 (int) g_array_index (sorted, gint64, sorted->len * 9 / 10),
                 (int) g_array_index (sorted, gint64, sorted->len - 1));
  assert_true (median_ms < names->session_ms / 10);
}

static int
n_runs (void)
{
  const char *runs = g_getenv ("CURATOR_TEST_NAMES_RUNS");
  return runs != NULL ? atoi (runs) : 0;
}

static void
test_rolling_restarts (void **state)
{
  Names *names = *state;

  for (int run = 1; run < n_runs (); run++)
    {
      print_message ("run %d\n", run);
      roll (names, &moving);
    }
  for (int i = 0; n_runs () > 0 && i < 2; i++)
    check_waits (names, &names->holders[i]);
}

static void
test_other_runs (void **state)
{
  for (int run = 0; run < n_runs (); run++)
    {
      print_message ("run %d\n", run);
      for (guint i = 0; i < G_N_ELEMENTS (others); i++)
        {
          roll (*state, &others[i]);
          set_all_modes (ANSWERS);
        }
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_rolling_restart),
    cmocka_unit_test (test_rolling_restarts),
    cmocka_unit_test (test_names_that_were_right),
    cmocka_unit_test (test_hanging_resolver),
    cmocka_unit_test (test_new_client_and_hanging_resolver),
    cmocka_unit_test (test_other_runs),
  };
  told = g_string_new (NULL);
  g_log_set_writer_func (note_servers, NULL, NULL);
  return cmocka_run_group_tests (tests, start, stop);
}
