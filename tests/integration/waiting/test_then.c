/* The calls that do not wait, each in every situation: the callback is called once, not inside the
 * call, on a thread of the library or in the program's context, also when the client is closed.
 * ends/test_release_bounds_then has the releases before a silent server, ends/test_close_then the
 * close. */
#include "integration/fixture.h"
#include "support/metronome.h"

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
} Scene;

typedef struct
{
  CuratorLease *lease; /* or a result that was freed */
  gboolean has_result;
  GError *error;
  pthread_t thread;
  gint times; /* atomic */
} Told;

static void
tell (Told *told, gboolean has_result, const GError *error)
{
  told->has_result = has_result;
  told->error = error != NULL ? g_error_copy (error) : NULL;
  told->thread = pthread_self ();
  g_atomic_int_inc (&told->times);
}

static void
on_lock (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer told)
{
  ((Told *) told)->lease = lease;
  tell (told, lease != NULL, error);
}

static void
on_one (CuratorSemaphore *semaphore, CuratorLease *lease, const GError *error, gpointer told)
{
  ((Told *) told)->lease = lease;
  tell (told, lease != NULL, error);
}

static void
on_leases (CuratorSemaphore *semaphore, GPtrArray *leases, const GError *error, gpointer told)
{
  const gboolean has_result = leases != NULL;
  g_clear_pointer (&leases, g_ptr_array_unref);
  tell (told, has_result, error);
}

static void
on_nodes (CuratorLock *lock, char **nodes, const GError *error, gpointer told)
{
  const gboolean has_result = nodes != NULL;
  g_strfreev (nodes);
  tell (told, has_result, error);
}

static void
on_inspected (CuratorClient *client, CuratorInspection *inspection, const GError *error,
              gpointer told)
{
  const gboolean has_result = inspection != NULL;
  g_clear_pointer (&inspection, curator_inspection_unref);
  tell (told, has_result, error);
}

static void
on_connected (CuratorClient *client, const GError *error, gpointer told)
{
  tell (told, error == NULL, error);
}

static void
acquire (Scene *scene, gint64 timeout_ms, GCancellable *cancellable, Told *told)
{
  curator_lock_acquire_then (scene->lock, timeout_ms, cancellable, on_lock, told);
}

static void
acquire_one (Scene *scene, gint64 timeout_ms, GCancellable *cancellable, Told *told)
{
  curator_semaphore_acquire_one_then (scene->semaphore, timeout_ms, cancellable, on_one, told);
}

static void
acquire_n (Scene *scene, gint64 timeout_ms, GCancellable *cancellable, Told *told)
{
  curator_semaphore_acquire_then (scene->semaphore, 2, timeout_ms, cancellable, on_leases, told);
}

static void
ask_nodes (Scene *scene, gint64 timeout_ms, GCancellable *cancellable, Told *told)
{
  curator_lock_get_participant_nodes_then (scene->lock, timeout_ms, cancellable, on_nodes, told);
}

static void
inspect (Scene *scene, gint64 timeout_ms, GCancellable *cancellable, Told *told)
{
  curator_client_inspect_then (scene->client, "/then/lock", timeout_ms, cancellable, on_inspected,
                               told);
}

static void
connect_to (Scene *scene, gint64 timeout_ms, GCancellable *cancellable, Told *told)
{
  curator_client_block_until_connected_then (scene->lonely, timeout_ms, cancellable, on_connected,
                                             told);
}

typedef void (*Call) (Scene *scene, gint64 timeout_ms, GCancellable *cancellable, Told *told);

static const Call calls[] = { acquire, acquire_one, acquire_n, ask_nodes, inspect, connect_to };
#define N_CALLS G_N_ELEMENTS (calls)

static CuratorClient *
start_client (Scene *scene, const char *address)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = client_new (address);
  curator_client_set_callback_context (client, scene->context);
  assert_ok (curator_client_start (client, &error), &error);
  return client;
}

static void
scene_enter (Scene *scene, Fixture *fixture)
{
  scene->fixture = fixture;
  scene->client = start_client (scene, fixture_server (fixture));
  scene->lonely = start_client (scene, fixture_proxy (fixture));
  assert_true (curator_client_block_until_connected (scene->client, LONG_MS, NULL, NULL));
  scene->lock = mutex_new (scene->client, "/then/lock");
  scene->semaphore = curator_semaphore_new (scene->client, "/then/semaphore", 3, NULL);
}

static void
scene_leave (Scene *scene)
{
  zk_server_thaw (scene->fixture->server);
  curator_client_close (scene->client);
  curator_client_close (scene->lonely);
  g_clear_pointer (&scene->lock, curator_lock_unref);
  g_clear_pointer (&scene->semaphore, curator_semaphore_unref);
  g_clear_pointer (&scene->client, curator_client_unref);
  g_clear_pointer (&scene->lonely, curator_client_unref);
  g_clear_pointer (&scene->context, g_main_context_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Scene, scene_leave)

/* No server is connected to by lonely, and none answers client. */
static void
silence (Scene *scene)
{
  curator_client_close (scene->lonely);
  curator_client_unref (scene->lonely);
  proxy_set_mode (scene->fixture->proxy, PROXY_REFUSE);
  scene->lonely = start_client (scene, fixture_proxy (scene->fixture));
  zk_server_freeze (scene->fixture->server);
}

static gboolean
was_told (Told *told)
{
  return g_atomic_int_get (&told->times) > 0;
}

/* Makes the call, which returns at once. A failed test is over before it is told. */
static Told *
begin (Scene *scene, guint i, gint64 timeout_ms, GCancellable *cancellable)
{
  Told *told = g_new0 (Told, 1);
  const gint64 start = wait_now_ms ();

  calls[i](scene, timeout_ms, cancellable, told);
  /* client.h and lock.h: returns at once. */
  assert_promised_ms (wait_now_ms () - start, AT_ONCE_MS, start);
  return told;
}

/* domain: 0 for success. */
static void
assert_told (Scene *scene, Told *told, GQuark domain, int code)
{
  while (scene->context != NULL && !was_told (told))
    g_main_context_iteration (scene->context, TRUE);
  assert_soon (was_told (told));
  assert_int_equal (pthread_equal (told->thread, pthread_self ()) != 0, scene->context != NULL);
  assert_int_equal (told->has_result, domain == 0);
  if (domain != 0)
    check_error (&told->error, domain, code, "the callback's", __FILE__, __LINE__);
  assert_null (told->error);
  if (told->lease != NULL)
    curator_lease_release (told->lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
  g_clear_pointer (&told->lease, curator_lease_unref);
  assert_int_equal (told->times, 1);
  g_free (told);
}

TEST (test_succeed)
{
  g_auto (Scene) scene = { NULL };
  scene_enter (&scene, fixture);

  for (guint i = 0; i < N_CALLS; i++)
    assert_told (&scene, begin (&scene, i, LONG_MS, NULL), 0, 0);
}

/* Not before the context is iterated. */
TEST (test_succeed_in_context)
{
  g_auto (Scene) scene = { .context = g_main_context_new () };
  scene_enter (&scene, fixture);

  for (guint i = 0; i < N_CALLS; i++)
    {
      Told *told = begin (&scene, i, LONG_MS, NULL);
      wait_ms (20);
      assert_false (was_told (told));
      assert_told (&scene, told, 0, 0);
    }
}

TEST (test_refused)
{
  for (int in_context = 0; in_context < 2; in_context++)
    {
      g_auto (Scene) scene = { .context = in_context ? g_main_context_new () : NULL };
      scene_enter (&scene, fixture);
      for (guint i = 0; i < N_CALLS; i++)
        {
          Told *told = begin (&scene, i, -3, NULL);
          assert_told (&scene, told, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT);
        }
      curator_client_close (scene.client);
      curator_client_close (scene.lonely);
      for (guint i = 0; i < N_CALLS; i++)
        {
          Told *told = begin (&scene, i, LONG_MS, NULL);
          assert_told (&scene, told, CURATOR_ERROR, CURATOR_ERROR_CLOSED);
        }
    }
}

TEST (test_not_started)
{
  Told told = { .times = 0 };
  g_autoptr (CuratorClient) latent = client_new (fixture_server (fixture));

  curator_client_block_until_connected_then (latent, LONG_MS, NULL, on_connected, &told);
  assert_soon (was_told (&told));
  assert_curator_error (&told.error, CURATOR_ERROR_NOT_STARTED);
}

TEST (test_cancelled)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_auto (Scene) scene = { NULL };
  scene_enter (&scene, fixture);
  silence (&scene);
  Told *told[N_CALLS];

  for (guint i = 0; i < N_CALLS; i++)
    told[i] = begin (&scene, i, CURATOR_WAIT_FOREVER, cancellable);
  wait_ms (20);
  for (guint i = 0; i < N_CALLS; i++)
    assert_false (was_told (told[i]));
  g_cancellable_cancel (cancellable);
  for (guint i = 0; i < N_CALLS; i++)
    assert_told (&scene, told[i], G_IO_ERROR, G_IO_ERROR_CANCELLED);
  /* Before the call, too. */
  for (guint i = 0; i < N_CALLS; i++)
    {
      assert_told (&scene, begin (&scene, i, CURATOR_WAIT_FOREVER, cancellable), G_IO_ERROR,
                   G_IO_ERROR_CANCELLED);
    }
}

TEST (test_silent_server)
{
  g_auto (Scene) scene = { NULL };
  scene_enter (&scene, fixture);
  silence (&scene);

  for (guint i = 0; i < N_CALLS; i++)
    {
      const gint64 start = wait_now_ms ();
      Told *told = begin (&scene, i, BOUND_MS, NULL);
      assert_soon (was_told (told));
      const gint64 took = wait_now_ms () - start;
      assert_true (took >= BOUND_MS - 1);
      /* types.h: milliseconds for the whole call. */
      assert_promised_ms (took, BOUND_MS + SESSION_MS, start);
      const int code = told->error != NULL ? told->error->code : 0;
      assert_true (code == CURATOR_ERROR_NO_ANSWER || code == CURATOR_ERROR_TIMED_OUT
                   || code == CURATOR_ERROR_CONNECTION_LOST);
      assert_told (&scene, told, CURATOR_ERROR, code);
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
  g_auto (Scene) scene = { NULL };
  scene_enter (&scene, fixture);
  silence (&scene);
  Told *told[N_CALLS];

  for (guint i = 0; i < N_CALLS; i++)
    told[i] = begin (&scene, i, CURATOR_WAIT_FOREVER, NULL);
  curator_client_close_then (scene.client, on_closed, &n_closed);
  curator_client_close_then (scene.lonely, on_closed, &n_closed);
  assert_soon (g_atomic_int_get (&n_closed) == 2);
  for (guint i = 0; i < N_CALLS; i++)
    assert_true (was_told (told[i]));
  for (guint i = 0; i < N_CALLS; i++)
    assert_told (&scene, told[i], CURATOR_ERROR, CURATOR_ERROR_CLOSED);
}

PROMPT_SUITE ("then", fixture_start_calm, fixture_stop)
