/* When callbacks run: never inside the call, never after curator_client_close (), and whatever a
 * handler of the program's cancellable does. No server is needed: the calls wait for a connection.
 * Without threads: unit/test_shortage. */
#include "unit.h"

#include "curator/curator.h"
#include "support/metronome.h"
#include "support/waiting.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* No server listens there. */
#define NOWHERE "127.0.0.1:1"
#define PATH    "/callbacks"
#define LONG_MS 40000

typedef CuratorLock *(*KindNew) (CuratorClient *client, const char *path);

static CuratorLock *
mutex (CuratorClient *client, const char *path)
{
  return curator_mutex_new (client, path, NULL);
}

static CuratorLock *
fixed_node (CuratorClient *client, const char *path)
{
  return curator_fixed_node_lock_new (client, path, NULL);
}

static CuratorLock *
semaphore_mutex (CuratorClient *client, const char *path)
{
  return curator_semaphore_mutex_new (client, path, NULL);
}

static CuratorLock *
several (CuratorClient *client, const char *path)
{
  const char *const paths[] = { path, PATH "-b", NULL };
  return curator_multi_lock_new_for_paths (client, paths, NULL);
}

static const KindNew kinds[] = { mutex, fixed_node, semaphore_mutex, several };

static CuratorClient *
client_new (GMainContext *context)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
  CuratorClient *client = curator_client_new (NOWHERE, policy);
  curator_client_set_callback_context (client, context);
  return client;
}

static CuratorClient *
client_started (GMainContext *context)
{
  CuratorClient *client = client_new (context);
  assert_true (curator_client_start (client, NULL));
  return client;
}

/* --- a handler of the cancellable --------------------------------------------------------------- */

typedef enum
{
  CLOSES,
  JOINS, /* or waits for the callback */
  DROPS, /* all references */
  CANCELS_ANOTHER,
  N_ACTIONS
} Action;

typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
  GCancellable *cancellable;
  GCancellable *another;
  Action action;
  gboolean waits;
  pthread_t thread;
  gint tid;         /* atomic; of the thread that waits */
  gint told;        /* atomic; of the two calls */
  gint n_cancelled; /* atomic */
  gint is_over;     /* atomic: g_cancellable_cancel () has returned */
} Scene;

static void
tell (Scene *scene, const GError *error)
{
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    g_atomic_int_inc (&scene->n_cancelled);
  g_atomic_int_inc (&scene->told);
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  tell (data, error);
}

static void *
acquire (void *data)
{
  Scene *scene = data;
  g_autoptr (CuratorLock) lock = curator_lock_ref (scene->lock);
  g_autoptr (GError) error = NULL;

  g_atomic_int_set (&scene->tid, gettid ());
  if (!curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, scene->cancellable, &error))
    tell (scene, error);
  return NULL;
}

static gboolean
is_asleep (gint tid)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/task/%d/stat", tid);
  g_autofree char *text = NULL;
  return tid != 0 && g_file_get_contents (path, &text, NULL, NULL) && strstr (text, ") S ") != NULL;
}

static void
on_cancelled (GCancellable *cancellable, gpointer data)
{
  Scene *scene = data;
  switch (scene->action) {
  case CLOSES:
    curator_client_close (scene->client);
    break;
  case JOINS:
    if (scene->waits)
      pthread_join (scene->thread, NULL);
    else
      holds_within (g_atomic_int_get (&scene->told) > 0, LONG_MS);
    break;
  case DROPS:
    g_clear_pointer (&scene->lock, curator_lock_unref);
    g_clear_pointer (&scene->client, curator_client_unref);
    break;
  case CANCELS_ANOTHER:
  case N_ACTIONS:
  default:
    g_cancellable_cancel (scene->another);
  }
}

static void *
cancel (void *data)
{
  Scene *scene = data;
  g_cancellable_cancel (scene->cancellable);
  g_atomic_int_set (&scene->is_over, TRUE);
  return NULL;
}

static gint64
cancel_and_wait (Scene *scene, const char *what)
{
  const gint64 start = wait_now_ms ();
  pthread_t canceller;

  assert_int_equal (pthread_create (&canceller, NULL, cancel, scene), 0);
  if (!holds_within (g_atomic_int_get (&scene->is_over), LONG_MS))
    fail_msg ("%s: g_cancellable_cancel () has not returned", what);
  const gint64 took = wait_now_ms () - start;
  pthread_join (canceller, NULL);
  return took;
}

static void
scene_play (KindNew kind, Action action, gboolean waits, gboolean handler_comes_first)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GCancellable) another = g_cancellable_new ();
  Scene *scene = g_new0 (Scene, 1);
  *scene = (Scene){ .client = client_started (NULL),
                    .cancellable = cancellable,
                    .another = another,
                    .action = action,
                    .waits = waits };
  g_autofree char *what =
      g_strdup_printf ("action %d, %s, %s", (int) action, waits ? "waiting" : "_then",
                       handler_comes_first ? "first" : "last");

  scene->lock = kind (scene->client, PATH);
  curator_lock_acquire_then (scene->lock, CURATOR_WAIT_FOREVER, another, on_acquired, scene);
  if (handler_comes_first)
    g_signal_connect (cancellable, "cancelled", G_CALLBACK (on_cancelled), scene);
  if (waits) {
    assert_int_equal (pthread_create (&scene->thread, NULL, acquire, scene), 0);
    assert_true (holds_within (is_asleep (g_atomic_int_get (&scene->tid)), LONG_MS));
  } else {
    curator_lock_acquire_then (scene->lock, CURATOR_WAIT_FOREVER, cancellable, on_acquired, scene);
  }
  if (!handler_comes_first)
    g_signal_connect (cancellable, "cancelled", G_CALLBACK (on_cancelled), scene);
  const gint64 start = wait_now_ms ();
  const gint64 took = cancel_and_wait (scene, what);
  /* client.h: close returns within 6 s. */
  assert_promised_ms (took, 6000, start);
  if (waits && action != JOINS)
    pthread_join (scene->thread, NULL);
  g_cancellable_cancel (another);
  assert_true (holds_within (g_atomic_int_get (&scene->told) == 2, LONG_MS));
  assert_true (g_atomic_int_get (&scene->n_cancelled) >= (action == CLOSES ? 1 : 2));
  g_clear_pointer (&scene->lock, curator_lock_unref);
  g_clear_pointer (&scene->client, curator_client_unref);
  g_signal_handlers_disconnect_by_data (cancellable, scene);
  g_free (scene);
}

/* It finds its call cancelled, also if it was connected before the call was made. */
TEST (test_handlers_of_a_cancellable)
{
  for (gsize kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    for (int action = 0; action < N_ACTIONS; action++)
      for (int order = 0; order < 4; order++)
        scene_play (kinds[kind], (Action) action, (order & 1) != 0, (order & 2) != 0);
}

/* --- after close -------------------------------------------------------------------------------- */

typedef enum
{
  LOOP,     /* another thread runs a loop */
  TURNS,    /* another thread iterates the context, and leaves it each time */
  OWNER,    /* the context's thread closes, in a function of the program's */
  NOBODY,   /* the loop has ended */
  LAST_REF, /* as LOOP, by dropping the last reference; a call that waits has one */
  N_PLACES
} Place;

#define N_CALLS 3

typedef struct
{
  Place place;
  GMainContext *context;
  CuratorClient *client;
  CuratorLock *lock;
  gint n_busy;    /* atomic; turns of the program's own source */
  gint must_end;  /* atomic; the loop's thread */
  gint is_closed; /* atomic */
  gint n_told;    /* atomic */
  gint n_late;    /* atomic */
} Round;

static void
note_callback (Round *round)
{
  if (g_atomic_int_get (&round->is_closed))
    g_atomic_int_inc (&round->n_late);
}

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  note_callback (data);
}

static void
on_answer (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Round *round = data;
  note_callback (round);
  g_atomic_int_inc (&round->n_told);
}

static void
close_round (Round *round)
{
  if (round->place != LAST_REF)
    curator_client_close (round->client);
  g_clear_pointer (&round->lock, curator_lock_unref);
  g_clear_pointer (&round->client, curator_client_unref);
  g_atomic_int_set (&round->is_closed, TRUE);
}

/* The context is never at rest, and each turn takes a while. */
static gboolean
be_busy (gpointer data)
{
  Round *round = data;
  g_usleep (300);
  if (g_atomic_int_add (&round->n_busy, 1) == 10 && round->place == OWNER)
    close_round (round);
  return G_SOURCE_CONTINUE;
}

static void *
run_context (void *data)
{
  Round *round = data;
  if (round->place == TURNS) {
    while (!g_atomic_int_get (&round->must_end))
      g_main_context_iteration (round->context, TRUE);
    return NULL;
  }
  g_assert (g_main_context_acquire (round->context));
  while (!g_atomic_int_get (&round->must_end))
    g_main_context_iteration (round->context, TRUE);
  g_main_context_release (round->context);
  return NULL;
}

static void
wait_for_turns (Round *round, gint n)
{
  const gint before = g_atomic_int_get (&round->n_busy);
  assert_true (holds_within (g_atomic_int_get (&round->n_busy) >= before + n, LONG_MS));
}

static void
play_round (Place place)
{
  Round round = { .place = place, .context = g_main_context_new () };
  round.client = client_new (round.context);
  round.lock = mutex (round.client, PATH);
  curator_client_add_state_listener (round.client, on_state, &round, NULL);
  assert_true (curator_client_start (round.client, NULL));
  const int n_calls = place == LAST_REF ? 0 : N_CALLS;
  for (int i = 0; i < n_calls; i++)
    curator_lock_acquire_then (round.lock, CURATOR_WAIT_FOREVER, NULL, on_answer, &round);
  GSource *busy = g_idle_source_new ();
  g_source_set_priority (busy, G_PRIORITY_DEFAULT);
  g_source_set_callback (busy, be_busy, &round, NULL);
  g_source_attach (busy, round.context);
  pthread_t thread;

  assert_int_equal (pthread_create (&thread, NULL, run_context, &round), 0);
  wait_for_turns (&round, 3);
  if (place == NOBODY) {
    g_atomic_int_set (&round.must_end, TRUE);
    pthread_join (thread, NULL);
  }
  if (place != OWNER)
    close_round (&round);
  assert_true (holds_within (g_atomic_int_get (&round.is_closed), LONG_MS));
  const gint n_told = g_atomic_int_get (&round.n_told);
  if (place == NOBODY) {
    for (int i = 0; i < 20; i++)
      g_main_context_iteration (round.context, FALSE);
  } else {
    wait_for_turns (&round, 20);
    g_atomic_int_set (&round.must_end, TRUE);
    pthread_join (thread, NULL);
  }
  g_source_destroy (busy);
  g_source_unref (busy);
  assert_int_equal (n_told, n_calls);
  assert_int_equal (round.n_told, n_calls);
  assert_int_equal (round.n_late, 0);
  assert_false (g_main_context_pending (round.context));
  g_main_context_unref (round.context);
}

/* Whoever has the context, and however busy it is. */
TEST (test_none_after_close)
{
  for (int n = 0; n < 50; n++)
    for (int place = 0; place < N_PLACES; place++)
      play_round ((Place) place);
}

static void
close_in_callback (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Round *round = data;
  g_atomic_int_inc (&round->n_told);
  curator_client_close (round->client);
}

/* A callback that closes waits for no other: they come after it. */
TEST (test_closed_by_a_callback_of_the_context)
{
  Round round = { .context = g_main_context_new () };
  g_autoptr (CuratorClient) client = client_started (round.context);
  g_autoptr (CuratorLock) lock = mutex (client, PATH);

  round.client = client;
  curator_lock_acquire_then (lock, 1, NULL, close_in_callback, &round);
  curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_answer, &round);
  const gint64 start = wait_now_ms ();
  while (round.n_told < 2)
    g_main_context_iteration (round.context, TRUE);
  /* client.h: within 6 s. */
  assert_promised_ms (wait_now_ms () - start, 6000, start);
  g_main_context_unref (round.context);
}

/* --- in the child of a fork --------------------------------------------------------------------- */

static _Thread_local gboolean is_inside; /* a call of the program's */
static gint n_inside;                    /* atomic; callbacks */
static gint n_answers;                   /* atomic */
static gint n_others;                    /* atomic; not FORKED */

static void
note_answer (const GError *error, gboolean is_expected)
{
  if (is_inside)
    g_atomic_int_inc (&n_inside);
  if (!is_expected)
    g_atomic_int_inc (&n_others);
  g_atomic_int_inc (&n_answers);
}

static gboolean
is_forked (const GError *error)
{
  return g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_FORKED);
}

static void
note_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  note_answer (error, is_forked (error));
}

static void
note_nodes (CuratorLock *lock, char **nodes, const GError *error, gpointer data)
{
  note_answer (error, is_forked (error));
}

static void
note_connected (CuratorClient *client, const GError *error, gpointer data)
{
  note_answer (error, is_forked (error));
}

static void
note_closed (CuratorClient *client, gpointer data)
{
  note_answer (NULL, TRUE);
}

static gboolean
all_are_told_later (CuratorClient *client, CuratorLock *lock)
{
  is_inside = TRUE;
  curator_lock_acquire_then (lock, 0, NULL, note_acquired, NULL);
  curator_lock_get_participant_nodes_then (lock, 0, NULL, note_nodes, NULL);
  curator_client_block_until_connected_then (client, 0, NULL, note_connected, NULL);
  curator_client_close_then (client, note_closed, NULL);
  is_inside = FALSE;
  return holds_within (g_atomic_int_get (&n_answers) == 4, LONG_MS)
         && g_atomic_int_get (&n_inside) == 0 && g_atomic_int_get (&n_others) == 0;
}

static void
fork_with (GMainContext *context, gboolean starts)
{
  g_autoptr (CuratorClient) client = starts ? client_started (context) : client_new (context);
  g_autoptr (CuratorLock) lock = mutex (client, PATH);
  int status;

  const pid_t pid = fork ();
  if (pid == 0)
    _exit (all_are_told_later (client, lock) ? 0 : 1);
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_true (WIFEXITED (status));
  assert_int_equal (WEXITSTATUS (status), 0);
  curator_client_close (client);
}

TEST (test_told_outside_the_call_in_a_child)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  for (int n = 0; n < 20; n++)
    fork_with ((n & 1) != 0 ? context : NULL, (n & 2) != 0);
}

int
main (void)
{
  g_log_set_writer_func (unit_swallow_warnings, NULL, NULL);
  metronome_start ();
  return suite_run ("callbacks", NULL, NULL);
}
