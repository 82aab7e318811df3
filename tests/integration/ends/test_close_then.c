/* A client that is closed without waiting: its end is told once, when curator_client_close() would
 * return, and not inside the call. With ADOPTED (test_close_then_adopted) the client is one on a
 * handle of the program's, which goes on. */
#define THREADED 1 /* declares the synchronous calls */
#include "integration/program.h"
#include "support/metronome.h"

#define AT_ONCE_MS  50
#define CLOSE_MS    6000
#define PATIENCE_MS 10000

#ifdef ADOPTED
#undef SUITE_SETUP
#define SUITE_SETUP open_program

static Program *program;

static int
open_program (void **state)
{
  program_close (program);
  const int failed = fixture_heal (state);
  program = program_open (fixture_server (*state));
  return failed;
}

static CuratorClient *
client_latent (Fixture *fixture)
{
  return program_client (program);
}

static void
program_end (void)
{
  g_clear_pointer (&program, program_close);
}

/* It may use its handle, and close it. */
static void
assert_program_goes_on (void)
{
  assert_int_equal (zoo_exists (program->zh, "/", 0, NULL), ZOK);
  program_end ();
}

#else
static CuratorClient *
client_latent (Fixture *fixture)
{
  return client_new (fixture_server (fixture));
}

static void
program_end (void)
{
}

static void
assert_program_goes_on (void)
{
}
#endif

static CuratorClient *
client_started (Fixture *fixture)
{
  CuratorClient *client = client_latent (fixture);
  client_start (client);
  return client;
}

typedef struct
{
  pthread_t thread; /* the callback's */
  gint times;       /* atomic */
} Told;

static void
on_closed (CuratorClient *client, gpointer data)
{
  Told *told = data;
  told->thread = pthread_self ();
  g_atomic_int_inc (&told->times);
}

/* Of one that is allocated: a failed test is over before it is told. */
static void
assert_told_elsewhere (Told *told)
{
  assert_soon (g_atomic_int_get (&told->times) > 0);
  assert_false (pthread_equal (told->thread, pthread_self ()));
  assert_int_equal (told->times, 1);
  g_free (told);
}

TEST (test_closed_when_it_is_told)
{
  Told *told = g_new0 (Told, 1);
  g_autoptr (CuratorClient) client = client_started (fixture);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/close-then/held");
  g_autoptr (CuratorLease) lease = lease_of (lock);

  curator_client_close_then (client, on_closed, told);
  assert_int_equal (curator_client_get_connection_state (client), CURATOR_CONNECTION_STATE_LOST);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
  assert_not_acquired (lock, 0, CURATOR_ERROR_CLOSED);
  assert_told_elsewhere (told);
  /* The server has deleted the node before. */
  assert_int_equal (raw_zk_count_children (fixture->raw, "/close-then/held"), 0);
  assert_program_goes_on ();
}

/* In the program's context, although the client is closed, and not before that is iterated. */
TEST (test_told_in_the_context)
{
  Told told = { 0 };
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (CuratorClient) client = client_latent (fixture);
  curator_client_set_callback_context (client, context);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/close-then/context");
  g_autoptr (CuratorLease) lease = lease_of (lock);
  assert_non_null (lease);

  curator_client_close_then (client, on_closed, &told);
  assert_children (fixture, "/close-then/context", 0, LONG_MS);
  assert_int_equal (told.times, 0);
  while (told.times == 0)
    g_main_context_iteration (context, TRUE);
  assert_true (pthread_equal (told.thread, pthread_self ()));
  assert_false (g_main_context_pending (context));
  assert_program_goes_on ();
}

/* Each call is told, whatever state the client is in. */
TEST (test_each_is_told)
{
  Told *told[] = { g_new0 (Told, 1), g_new0 (Told, 1), g_new0 (Told, 1), g_new0 (Told, 1) };
  g_autoptr (CuratorClient) latent = client_latent (fixture);
  curator_client_close_then (latent, on_closed, told[0]);
  assert_told_elsewhere (told[0]);

  g_autoptr (CuratorClient) client = client_started (fixture);
  curator_client_close_then (client, on_closed, told[1]);
  curator_client_close_then (client, on_closed, told[2]);
  assert_told_elsewhere (told[1]);
  assert_told_elsewhere (told[2]);
  curator_client_close (client);
  curator_client_close_then (client, on_closed, told[3]);
  assert_told_elsewhere (told[3]);
  assert_program_goes_on ();
}

/* A server that says nothing holds up neither the caller, nor for long the end. */
TEST (test_silent_server)
{
  Told *told = g_new0 (Told, 1);
  g_autoptr (CuratorClient) client = client_started (fixture);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/close-then/silent");
  g_autoptr (CuratorLease) lease = lease_of (lock);

  zk_server_freeze (fixture->server);
  curator_lease_release_then (lease, CURATOR_WAIT_FOREVER, NULL, NULL, NULL);
  const gint64 start = wait_now_ms ();
  curator_client_close_then (client, on_closed, told);
  const gint64 took = wait_now_ms () - start;
  const gboolean was_closed = holds_within (g_atomic_int_get (&told->times) > 0, LONG_MS);
  const gint64 ended = wait_now_ms () - start;
  program_end ();
  zk_server_thaw (fixture->server);
  assert_true (was_closed);
  /* client.h: returns at once. */
  assert_promised_ms (took, AT_ONCE_MS, start);
  /* client.h: within 6 s. */
  assert_promised_ms (ended, CLOSE_MS, start);
  assert_told_elsewhere (told);
}

/* --- beside a callback ------------------------------------------------------------------------ */

typedef struct
{
  Told *told;
  CuratorClient *client;
  gint has_come; /* atomic */
  gint may_go;   /* atomic */
  gint has_gone; /* atomic; 2: and then it was told */
} Blocker;

static void
block (CuratorLock *lock, char **nodes, const GError *error, gpointer data)
{
  Blocker *blocker = data;
  g_strfreev (nodes);
  g_atomic_int_set (&blocker->has_come, TRUE);
  while (!g_atomic_int_get (&blocker->may_go))
    wait_ms (1);
  g_atomic_int_set (&blocker->has_gone, TRUE);
}

static Blocker *
blocker_start (CuratorLock *lock)
{
  Blocker *blocker = g_new0 (Blocker, 1);
  blocker->told = g_new0 (Told, 1);
  curator_lock_get_participant_nodes_then (lock, LONG_MS, NULL, block, blocker);
  assert_soon (g_atomic_int_get (&blocker->has_come));
  return blocker;
}

static void
on_closed_after (CuratorClient *client, gpointer data)
{
  Blocker *blocker = data;
  g_atomic_int_compare_and_exchange (&blocker->has_gone, TRUE, 2);
  on_closed (client, blocker->told);
}

/* Not while a callback runs, and on another thread than that one's; for one that does not return it
 * waits for ten seconds. */
static void
tell_beside_callback (Fixture *fixture, gboolean hangs)
{
  g_autoptr (CuratorClient) client = client_started (fixture);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/close-then/blocked");
  Blocker *blocker = blocker_start (lock);
  Told *told = blocker->told;

  const gint64 start = wait_now_ms ();
  curator_client_close_then (client, on_closed_after, blocker);
  const gboolean was_told =
      holds_within (g_atomic_int_get (&told->times) > 0, hangs ? LONG_MS : 300);
  const gint64 took = wait_now_ms () - start;
  g_atomic_int_set (&blocker->may_go, TRUE);
  assert_int_equal (was_told, hangs);
  if (hangs) {
    assert_true (took >= PATIENCE_MS - 1);
    /* client.h: after 10 s at most. */
    assert_promised_ms (took, PATIENCE_MS + 1000, start);
  }
  assert_told_elsewhere (told);
  assert_soon (g_atomic_int_get (&blocker->has_gone) == (hangs ? TRUE : 2));
  assert_program_goes_on ();
  g_free (blocker);
}

TEST (test_told_after_callbacks)
{
  tell_beside_callback (fixture, FALSE);
}

TEST (test_told_beside_a_hanging_callback)
{
  tell_beside_callback (fixture, TRUE);
}

static void
close_in_callback (CuratorLock *lock, char **nodes, const GError *error, gpointer data)
{
  Blocker *blocker = data;
  g_strfreev (nodes);
  curator_client_close_then (blocker->client, on_closed_after, blocker);
  curator_client_unref (g_steal_pointer (&blocker->client));
  wait_ms (100);
  g_atomic_int_set (&blocker->has_gone, TRUE);
}

/* Asked for in a callback, which has to return first, and with the last reference. */
TEST (test_closed_by_a_callback)
{
  Blocker *blocker = g_new0 (Blocker, 1);
  blocker->told = g_new0 (Told, 1);
  blocker->client = client_started (fixture);
  CuratorLock *lock = mutex_new (blocker->client, "/close-then/callback");

  curator_lock_get_participant_nodes_then (lock, LONG_MS, NULL, close_in_callback, blocker);
  curator_lock_unref (lock);
  assert_told_elsewhere (blocker->told);
  assert_int_equal (blocker->has_gone, 2);
  assert_program_goes_on ();
  g_free (blocker);
}

PROMPT_SUITE ("close_then", fixture_start_calm, fixture_stop)
