/* The table of errors in docs/errors.md: every call in every state.
 *
 * Each state is made with a server and a proxy, and lasts while the calls are made, one after the
 * other, on a thread of its own. Nothing is judged by a clock: where servers answer, a call may
 * take all the time that it needs, and where they do not, its time only passes.
 */
#include "integration/fixture.h"

#include "cpp/error_table.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ERRORS_MD CURATOR_SOURCE_DIR "/docs/errors.md"
/* The time of a call that no server answers, and of one that asks once. */
#define SHORT_MS      100
#define CONNECTION_MS 1000

typedef enum
{
  NOT_STARTED,
  REFUSED,
  MUTE,
  NO_ADDRESS,
  CONNECTED,
  CONTENDED,
  SILENT,
  SUSPENDED,
  LOST,
  LOGIN_REFUSED,
  CLOSED,
  CHILD,
  N_STATES
} State;

typedef struct
{
  const char *title;
  gboolean connects; /* first, and then there are holds */
  gboolean answers;  /* servers still do */
  gboolean waits;    /* what waits without a limit does */
  ProxyMode cut;
  int cause; /* of #CURATOR_CONNECT_ERROR; -1: none that is waited for */
} Column;

static const Column columns[N_STATES] = {
  [NOT_STARTED] = { "not started", .cause = -1 },
  [REFUSED] = { "refused", .waits = TRUE, .cause = CURATOR_CONNECT_ERROR_CONNECT },
  [MUTE] = { "no answer yet", .waits = TRUE, .cause = CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT },
  [NO_ADDRESS] = { "no address", .waits = TRUE, .cause = CURATOR_CONNECT_ERROR_RESOLVE },
  [CONNECTED] = { "connected", .connects = TRUE, .answers = TRUE, .cause = -1 },
  [CONTENDED] = { "another ahead", .connects = TRUE, .answers = TRUE, .waits = TRUE, .cause = -1 },
  [SILENT] = { "silent", .connects = TRUE, .waits = TRUE, .cut = PROXY_HOLE, .cause = -1 },
  [SUSPENDED] = { "`SUSPENDED`", .connects = TRUE, .waits = TRUE, .cut = PROXY_REFUSE,
                  .cause = CURATOR_CONNECT_ERROR_CONNECT },
  [LOST] = { "`LOST`", .connects = TRUE, .waits = TRUE, .cut = PROXY_REFUSE,
             .cause = CURATOR_CONNECT_ERROR_CONNECT },
  [LOGIN_REFUSED] = { "login refused", .cause = -1 },
  [CLOSED] = { "closed", .connects = TRUE, .cause = -1 },
  [CHILD] = { "child of `fork ()`", .connects = TRUE, .cause = -1 },
};

/* Another client, which is ahead in every queue. */
typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
  CuratorSemaphore *semaphore;
  CuratorLeaderLatch *latch;
  CuratorLeaderSelector *selector;
  CuratorLease *leases[2];
} Rival;

/* A state, and its column of the table. */
typedef struct
{
  State state;
  const char *server;
  Proxy *proxy;
  Stage stage;
  Rival rival;
  char *cells[MAX_TABLE_ROWS];
  char *failure; /* the state could not be made */
} Scene;

/* --- the states --- */

static void
lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
      gpointer data)
{
  while (!g_cancellable_is_cancelled (cancellable))
    wait_ms (2);
}

/* Takes error. */
static gboolean
spoil (Scene *scene, const char *what, GError *error)
{
  scene->failure = g_strdup_printf ("%s: %s: %s", columns[scene->state].title, what,
                                    error != NULL ? error->message : "not in time");
  g_clear_error (&error);
  return FALSE;
}

static gboolean
make_objects (Scene *scene)
{
  Stage *stage = &scene->stage;
  CuratorClient *client = stage->client;
  g_autofree char *held = g_strconcat (stage->path, "-held", NULL);
  g_autofree char *semaphore = g_strconcat (stage->path, "-semaphore", NULL);
  g_autofree char *count = g_strconcat (stage->path, "-count", NULL);
  g_autofree char *latch = g_strconcat (stage->path, "-latch", NULL);
  g_autofree char *selector = g_strconcat (stage->path, "-selector", NULL);
  GError *error = NULL;

  stage->selector = curator_leader_selector_new (client, selector, lead, NULL, NULL, &error);
  const gboolean made =
      stage->selector != NULL
      && (stage->lock = curator_mutex_new (client, stage->path, &error)) != NULL
      && (stage->held = curator_mutex_new (client, held, &error)) != NULL
      && (stage->semaphore = curator_semaphore_new (client, semaphore, 1, &error)) != NULL
      && (stage->count = curator_shared_count_new (client, count, 0, &error)) != NULL
      && (stage->new_count = curator_shared_count_new (client, count, 0, &error)) != NULL
      && (stage->latch = curator_leader_latch_new (client, latch, NULL, &error)) != NULL;
  return made || spoil (scene, "its objects", error);
}

static gboolean
hold (Scene *scene)
{
  Stage *stage = &scene->stage;
  g_autofree char *path = g_strconcat (stage->path, "-lease", NULL);
  GError *error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (stage->client, path, &error);

  const gboolean is_held =
      lock != NULL && curator_client_block_until_connected (stage->client, LONG_MS, NULL, &error)
      && (stage->lease = curator_lock_acquire_lease (lock, LONG_MS, NULL, &error)) != NULL
      && curator_lock_acquire (stage->held, LONG_MS, NULL, &error)
      && curator_shared_count_start (stage->count, LONG_MS, NULL, &error);
  return is_held || spoil (scene, "its holds", error);
}

static CuratorClient *
make_client (Scene *scene, const char *address)
{
  const State state = scene->state;
  CuratorClient *client = client_new (address);

  /* Only one session is to end. */
  curator_client_set_session_timeout (client, state == LOST ? SESSION_MS : LONG_SESSION_MS);
  curator_client_set_connection_timeout (client, columns[state].answers ? LONG_MS : CONNECTION_MS);
  if (state == LOGIN_REFUSED)
    curator_client_add_auth (client, "nosuchscheme", "x", 1);
  return client;
}

static gboolean
contend (Scene *scene)
{
  Rival *rival = &scene->rival;
  g_autofree char *semaphore = g_strconcat (scene->stage.path, "-semaphore", NULL);
  g_autofree char *latch = g_strconcat (scene->stage.path, "-latch", NULL);
  g_autofree char *selector = g_strconcat (scene->stage.path, "-selector", NULL);
  GError *error = NULL;

  rival->client = make_client (scene, scene->server);
  const gboolean is_ahead =
      curator_client_start (rival->client, &error)
      && (rival->lock = curator_mutex_new (rival->client, scene->stage.path, &error)) != NULL
      && (rival->semaphore = curator_semaphore_new (rival->client, semaphore, 1, &error)) != NULL
      && (rival->latch = curator_leader_latch_new (rival->client, latch, NULL, &error)) != NULL
      && curator_leader_latch_start (rival->latch, &error)
      && curator_leader_latch_await (rival->latch, LONG_MS, NULL, &error)
      && (rival->selector =
              curator_leader_selector_new (rival->client, selector, lead, NULL, NULL, &error))
             != NULL
      && curator_leader_selector_start (rival->selector, &error)
      && curator_leader_selector_await (rival->selector, LONG_MS, NULL, &error)
      && (rival->leases[0] = curator_lock_acquire_lease (rival->lock, LONG_MS, NULL, &error))
             != NULL
      && (rival->leases[1] = curator_semaphore_acquire (rival->semaphore, LONG_MS, NULL, &error))
             != NULL;
  return is_ahead || spoil (scene, "its contender", error);
}

static gboolean
is_reached (gpointer data)
{
  const Scene *scene = data;
  const Stage *stage = &scene->stage;
  const int cause = columns[scene->state].cause;
  g_autoptr (GError) error = curator_client_dup_connection_error (stage->client);

  if (cause >= 0 && !g_error_matches (error, CURATOR_CONNECT_ERROR, cause))
    return FALSE;
  if (scene->state == LOGIN_REFUSED)
    return g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED);
  if (scene->state == LOST)
    {
      return curator_client_get_connection_state (stage->client) == CURATOR_CONNECTION_STATE_LOST
             && curator_lease_get_state (stage->lease) == CURATOR_LEASE_LOST;
    }
  return scene->state != SUSPENDED
         || curator_client_get_connection_state (stage->client)
                == CURATOR_CONNECTION_STATE_SUSPENDED;
}

static char *
address_of (Scene *scene)
{
  if (scene->state == REFUSED)
    return g_strdup ("127.0.0.1:1");
  if (scene->state == NO_ADDRESS)
    return g_strdup ("no-such-host.invalid:2181");
  scene->proxy = proxy_new (scene->server);
  if (scene->state == MUTE)
    proxy_set_mode (scene->proxy, PROXY_HOLE);
  return g_strdup (proxy_address (scene->proxy));
}

static gboolean
make_state (Scene *scene)
{
  const Column *column = &columns[scene->state];
  Stage *stage = &scene->stage;
  GError *error = NULL;

  stage->waits = column->waits;
  stage->answers = column->answers;
  stage->time_ms = column->answers && !column->waits ? LONG_MS : SHORT_MS;
  stage->path = g_strdup_printf ("/error-table/%d", scene->state);
  stage->servers = address_of (scene);
  stage->client = make_client (scene, stage->servers);
  if (!make_objects (scene) || scene->state == NOT_STARTED)
    return scene->failure == NULL;
  if (!curator_client_start (stage->client, &error))
    return spoil (scene, "its client", error);
  if ((column->connects && !hold (scene)) || (scene->state == CONTENDED && !contend (scene)))
    return FALSE;
  if (column->cut != PROXY_PASS)
    proxy_set_mode (scene->proxy, column->cut);
  if (scene->state == CLOSED)
    curator_client_close (stage->client);
  return wait_until (is_reached, scene, LONG_MS) || spoil (scene, "the state", NULL);
}

static void
leave_state (Scene *scene)
{
  Stage *stage = &scene->stage;
  Rival *rival = &scene->rival;

  if (scene->proxy != NULL)
    proxy_set_mode (scene->proxy, PROXY_PASS);
  for (gsize i = 0; i < G_N_ELEMENTS (rival->leases); i++)
    g_clear_pointer (&rival->leases[i], curator_lease_unref);
  g_clear_pointer (&rival->selector, curator_leader_selector_unref);
  g_clear_pointer (&rival->latch, curator_leader_latch_unref);
  g_clear_pointer (&rival->semaphore, curator_semaphore_unref);
  g_clear_pointer (&rival->lock, curator_lock_unref);
  g_clear_pointer (&rival->client, curator_client_unref);
  g_clear_pointer (&stage->selector, curator_leader_selector_unref);
  g_clear_pointer (&stage->latch, curator_leader_latch_unref);
  g_clear_pointer (&stage->new_count, curator_shared_count_unref);
  g_clear_pointer (&stage->count, curator_shared_count_unref);
  g_clear_pointer (&stage->semaphore, curator_semaphore_unref);
  g_clear_pointer (&stage->lease, curator_lease_unref);
  g_clear_pointer (&stage->held, curator_lock_unref);
  g_clear_pointer (&stage->lock, curator_lock_unref);
  g_clear_pointer (&stage->client, curator_client_unref);
  g_clear_pointer (&stage->servers, g_free);
  g_clear_pointer (&stage->path, g_free);
  proxy_free (scene->proxy);
}

/* --- the cells --- */

static const char *const codes[] = {
  [CURATOR_ERROR_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
  [CURATOR_ERROR_NOT_STARTED] = "NOT_STARTED",
  [CURATOR_ERROR_CLOSED] = "CLOSED",
  [CURATOR_ERROR_TIMED_OUT] = "TIMED_OUT",
  [CURATOR_ERROR_NOT_OWNER] = "NOT_OWNER",
  [CURATOR_ERROR_LOCK_LOST] = "LOCK_LOST",
  [CURATOR_ERROR_RELEASE_PENDING] = "RELEASE_PENDING",
  [CURATOR_ERROR_CONNECTION_LOST] = "CONNECTION_LOST",
  [CURATOR_ERROR_SESSION_EXPIRED] = "SESSION_EXPIRED",
  [CURATOR_ERROR_AUTH_FAILED] = "AUTH_FAILED",
  [CURATOR_ERROR_SEQUENCE_EXHAUSTED] = "SEQUENCE_EXHAUSTED",
  [CURATOR_ERROR_UNSUPPORTED] = "UNSUPPORTED",
  [CURATOR_ERROR_FORKED] = "FORKED",
  [CURATOR_ERROR_LIMIT_EXCEEDED] = "LIMIT_EXCEEDED",
  [CURATOR_ERROR_NO_ANSWER] = "NO_ANSWER",
  [CURATOR_ERROR_RESOURCES] = "RESOURCES",
  [CURATOR_ERROR_ALREADY_STARTED] = "ALREADY_STARTED",
};
static const char *const causes[] = {
  [CURATOR_CONNECT_ERROR_RESOLVE] = "RESOLVE",
  [CURATOR_CONNECT_ERROR_CONNECT] = "CONNECT",
  [CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT] = "HANDSHAKE_TIMED_OUT",
};

static char *
cell_of (gboolean succeeded, const GError *error)
{
  if (error == NULL)
    return g_strdup (succeeded ? "yes" : "false");
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return g_strdup ("`CANCELLED`");
  if (error->domain == CURATOR_ERROR && error->code < (int) G_N_ELEMENTS (codes))
    return g_strdup_printf ("`%s`", codes[error->code]);
  if (error->domain == CURATOR_CONNECT_ERROR && error->code < (int) G_N_ELEMENTS (causes))
    return g_strdup_printf ("`%s`", causes[error->code]);
  return g_strdup_printf ("%s %d", g_quark_to_string (error->domain), error->code);
}

/* Where servers answer they are given the time for it. */
static char *
call_row (Stage *stage, const TableRow *row)
{
  if (row->needs_hold && stage->lease == NULL)
    return g_strdup ("");
  for (;;)
    {
      g_autoptr (GError) error = NULL;
      const gboolean succeeded = row->call (stage, &error);
      if (!stage->answers || stage->time_ms >= LONG_MS
          || !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER))
        return cell_of (succeeded, error);
      stage->time_ms *= 4;
    }
}

static gpointer
play (gpointer data)
{
  Scene *scene = data;

  if (make_state (scene))
    for (guint i = 0; i < n_table_rows; i++)
      scene->cells[i] = call_row (&scene->stage, &table_rows[i]);
  leave_state (scene);
  return NULL;
}

/* In the child, which writes a line for each cell. */
static G_NORETURN void
play_in_child (Scene *scene, int out)
{
  for (guint i = 0; i < n_table_rows; i++)
    {
      g_autofree char *cell = call_row (&scene->stage, &table_rows[i]);
      dprintf (out, "%s\n", cell);
    }
  _exit (0);
}

static void
play_forked (Scene *scene)
{
  int ends[2];
  assert_int_equal (pipe (ends), 0);
  if (make_state (scene))
    {
      const pid_t child = fork ();
      assert_true (child >= 0);
      if (child == 0)
        play_in_child (scene, ends[1]);
      close (ends[1]);
      FILE *in = fdopen (ends[0], "r");
      char line[64];
      for (guint i = 0; fgets (line, sizeof line, in) != NULL && i < n_table_rows; i++)
        scene->cells[i] = g_strdup (g_strchomp (line));
      fclose (in);
      assert_int_equal (waitpid (child, NULL, 0), child);
    }
  leave_state (scene);
}

/* --- the table --- */

static char *
write_table (Scene *scenes)
{
  GString *table = g_string_new ("| |");

  for (guint state = 0; state < N_STATES; state++)
    g_string_append_printf (table, " %s |", columns[state].title);
  g_string_append (table, "\n|---|");
  for (guint state = 0; state < N_STATES; state++)
    g_string_append (table, "---|");
  g_string_append (table, "\n");
  for (guint row = 0; row < n_table_rows; row++)
    {
      g_string_append_printf (table, "| %s |", table_rows[row].name);
      for (guint state = 0; state < N_STATES; state++)
        {
          const char *cell = scenes[state].cells[row];
          g_string_append_printf (table, " %s |", cell != NULL ? cell : "?");
        }
      g_string_append (table, "\n");
    }
  return g_string_free (table, FALSE);
}

TEST (test_table)
{
  Scene scenes[N_STATES] = { 0 };
  GThread *threads[N_STATES] = { 0 };
  g_autofree char *page = NULL;

  for (guint state = 0; state < N_STATES; state++)
    scenes[state] = (Scene){ .state = state, .server = fixture_server (fixture) };
  /* A fork waits for look-ups, so it is first. */
  play_forked (&scenes[CHILD]);
  for (guint state = 0; state < CHILD; state++)
    threads[state] = g_thread_new (columns[state].title, play, &scenes[state]);
  for (guint state = 0; state < CHILD; state++)
    g_thread_join (threads[state]);
  for (guint state = 0; state < N_STATES; state++)
    if (scenes[state].failure != NULL)
      fail_msg ("%s", scenes[state].failure);
  g_autofree char *table = write_table (scenes);
  assert_true (g_file_get_contents (ERRORS_MD, &page, NULL, NULL));
  if (strstr (page, table) == NULL)
    {
      fputs (table, stdout); /* longer than the messages of cmocka */
      fflush (stdout);
      fail_msg ("docs/errors.md has another table");
    }
  for (guint state = 0; state < N_STATES; state++)
    for (guint row = 0; row < n_table_rows; row++)
      g_free (scenes[state].cells[row]);
}

SUITE ("error table", fixture_start_slow, fixture_stop)
