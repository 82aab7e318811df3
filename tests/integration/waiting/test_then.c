/* The calls that do not wait, where no server answers: they return at once, and the callback tells in
 * time, or when the client is closed. That it is called once, and where: arguments/test_user_code; in
 * every other situation: arguments/test_adversary and test_extremes. Releases:
 * ends/test_release_bounds_then; the close: ends/test_close_then. */
#include "extremes.h"
#include "support/metronome.h"

#include <string.h>

#define AT_ONCE_MS 50
#define BOUND_MS   300

typedef struct
{
  Fixture *fixture;
  GMainContext *context; /* or NULL */
  CuratorClient *client;
  CuratorLock *lock;
  CuratorSemaphore *semaphore;
  CuratorClient *lonely;
} Ground;

static CuratorClient *
start_client (Ground *ground, const char *address)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = client_new (address);
  curator_client_set_callback_context (client, ground->context);
  assert_ok (curator_client_start (client, &error), &error);
  return client;
}

static void
ground_enter (Ground *ground, Fixture *fixture)
{
  ground->fixture = fixture;
  ground->client = start_client (ground, fixture_server (fixture));
  ground->lonely = start_client (ground, fixture_proxy (fixture));
  assert_true (curator_client_block_until_connected (ground->client, LONG_MS, NULL, NULL));
  ground->lock = mutex_new (ground->client, "/then/lock");
  ground->semaphore = curator_semaphore_new (ground->client, "/then/semaphore", 3, NULL);
}

static void
ground_leave (Ground *ground)
{
  zk_server_thaw (ground->fixture->server);
  curator_client_close (ground->client);
  curator_client_close (ground->lonely);
  g_clear_pointer (&ground->lock, curator_lock_unref);
  g_clear_pointer (&ground->semaphore, curator_semaphore_unref);
  g_clear_pointer (&ground->client, curator_client_unref);
  g_clear_pointer (&ground->lonely, curator_client_unref);
  g_clear_pointer (&ground->context, g_main_context_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Ground, ground_leave)

/* No server is connected to by lonely, and none answers client. */
static void
silence (Ground *ground)
{
  curator_client_close (ground->lonely);
  curator_client_unref (ground->lonely);
  proxy_set_mode (ground->fixture->proxy, PROXY_REFUSE);
  ground->lonely = start_client (ground, fixture_proxy (ground->fixture));
  zk_server_freeze (ground->fixture->server);
}

typedef struct
{
  Stage stage;
  Outcome outcome;
} Told;

static const Extreme *calls[16];
static guint n_calls;

static gboolean
was_told (Told *told)
{
  return g_atomic_int_get (&told->outcome.answered) > 0;
}

/* Makes the call, which returns at once. A failed test is over before it is told. */
static Told *
begin (Ground *ground, guint i, gint64 timeout_ms)
{
  const gboolean connects = strstr (calls[i]->function, "connected") != NULL;
  Told *told = g_new0 (Told, 1);
  told->stage = (Stage){ .value = timeout_ms,
                         .client = connects ? ground->lonely : ground->client,
                         .lock = ground->lock,
                         .semaphore = ground->semaphore };
  const gint64 start = wait_now_ms ();
  calls[i]->run (&told->stage, &told->outcome);
  /* client.h and lock.h: returns at once. */
  assert_promised_ms (wait_now_ms () - start, AT_ONCE_MS, start);
  assert_false (ground->context != NULL && was_told (told));
  return told;
}

static void
assert_told (Ground *ground, Told *told, CuratorError code)
{
  while (ground->context != NULL && !was_told (told))
    g_main_context_iteration (ground->context, TRUE);
  assert_soon (was_told (told));
  assert_curator_error (&told->outcome.error, code);
  assert_int_equal (told->outcome.answered, 1);
  g_free (told);
}

/* Not before the context is iterated, although the answer is known. */
TEST (test_refused_in_context)
{
  g_auto (Ground) ground = { .context = g_main_context_new () };
  ground_enter (&ground, fixture);

  curator_client_close (ground.client);
  curator_client_close (ground.lonely);
  for (guint i = 0; i < n_calls; i++)
    assert_told (&ground, begin (&ground, i, LONG_MS), CURATOR_ERROR_CLOSED);
}

TEST (test_silent_server)
{
  g_auto (Ground) ground = { NULL };
  ground_enter (&ground, fixture);
  silence (&ground);

  for (guint i = 0; i < n_calls; i++) {
    const gint64 start = wait_now_ms ();
    Told *told = begin (&ground, i, BOUND_MS);
    assert_soon (was_told (told));
    const gint64 took = wait_now_ms () - start;
    assert_true (took >= BOUND_MS - 1);
    /* types.h: milliseconds for the whole call. */
    assert_promised_ms (took, BOUND_MS + SESSION_MS, start);
    const int code = told->outcome.error != NULL ? told->outcome.error->code : 0;
    assert_true (code == CURATOR_ERROR_NO_ANSWER || code == CURATOR_ERROR_TIMED_OUT
                 || code == CURATOR_ERROR_CONNECTION_LOST);
    assert_told (&ground, told, code);
  }
}

static void
on_closed (CuratorClient *client, gpointer n_closed)
{
  g_atomic_int_inc ((gint *) n_closed);
}

/* Whoever waits is told before the end of the client is. */
TEST (test_closed_meanwhile)
{
  static gint n_closed;
  g_auto (Ground) ground = { NULL };
  ground_enter (&ground, fixture);
  silence (&ground);
  Told *told[G_N_ELEMENTS (calls)];

  for (guint i = 0; i < n_calls; i++)
    told[i] = begin (&ground, i, CURATOR_WAIT_FOREVER);
  curator_client_close_then (ground.client, on_closed, &n_closed);
  curator_client_close_then (ground.lonely, on_closed, &n_closed);
  assert_soon (g_atomic_int_get (&n_closed) == 2);
  for (guint i = 0; i < n_calls; i++)
    assert_true (was_told (told[i]));
  for (guint i = 0; i < n_calls; i++)
    assert_told (&ground, told[i], CURATOR_ERROR_CLOSED);
}

static int
start (void **state)
{
  for (guint i = 0; i < n_extremes; i++)
    if (extremes[i].is_then && extremes[i].rule == RULE_WAIT)
      calls[n_calls++] = &extremes[i];
  return fixture_start_calm (state);
}

PROMPT_SUITE ("then", start, fixture_stop)
