/* Clients destroyed in every state, many times, with nothing left in this process or on the server.
 * Sanitizers check memory meanwhile. */
#include "integration/taking.h"
#include "support/held_lease.h"

#include <dirent.h>

#define N_WORKERS  4
#define N_EACH     50 /* per state and worker: 1,000 in all */
#define N_WAITERS  16
#define N_STORMS   10
#define PATIENT_MS 10000

typedef enum
{
  IDLE,
  HELD,
  AWAITED,
  IN_CALLBACK,
  RECONNECTING,
  N_STATES
} State;

typedef struct
{
  const char *server;
  Proxy *proxy;
  CuratorClient *peer;
  CuratorLock *held; /* by the peer, so that others wait */
  const char *path;
  pthread_t thread;
  int number;
  int round;
  int done[N_STATES];
  char *fault; /* the first one; cmocka's assertions work on the main thread only */
} Worker;

#define require(worker, condition)                                                                 \
  do                                                                                               \
    {                                                                                              \
      if (!(condition))                                                                            \
        {                                                                                          \
          if ((worker)->fault == NULL)                                                             \
            (worker)->fault = g_strdup_printf ("line %d: %s", __LINE__, #condition);               \
          return;                                                                                  \
        }                                                                                          \
    }                                                                                              \
  while (0)

static CuratorClient *
start (Worker *worker, const char *address)
{
  CuratorClient *client = client_new (address);
  curator_client_set_session_timeout (client, PATIENT_MS);
  G_GNUC_UNUSED const gboolean started = curator_client_start (client, NULL);
  return client;
}

static gboolean
is_connected (CuratorClient *client)
{
  return curator_client_block_until_connected (client, LONG_MS, NULL, NULL);
}

/* Every second client is closed explicitly, the others by their last reference. */
static void
destroy (Worker *worker, CuratorClient *client)
{
  if (worker->round % 2 == 0)
    curator_client_close (client);
  curator_client_unref (client);
}

/* Before, during and after its first connection. */
static void
destroy_idle (Worker *worker)
{
  CuratorClient *client = start (worker, worker->server);
  g_autoptr (CuratorLock) lock G_GNUC_UNUSED = curator_mutex_new (client, "/destroy/idle", NULL);
  if (worker->round % 3 == 0)
    require (worker, is_connected (client));
  else if (worker->round % 3 == 1)
    g_usleep ((gulong) g_random_int_range (0, 3000));
  destroy (worker, client);
}

static void
destroy_held (Worker *worker)
{
  CuratorClient *client = start (worker, worker->server);
  g_autofree char *path = g_strdup_printf ("/destroy/own-%d", worker->number);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, path, NULL);
  g_autoptr (CuratorLease) lease = NULL;
  if (worker->round % 3 == 0)
    {
      require (worker, curator_lock_acquire (lock, LONG_MS, NULL, NULL));
      lease = curator_lock_dup_lease (lock);
    }
  else
    {
      lease = curator_lock_acquire_lease (lock, LONG_MS, NULL, NULL);
      require (worker, lease != NULL);
    }
  destroy (worker, client);
  require (worker, worker->round % 2 != 0 || curator_lease_get_state (lease) == CURATOR_LEASE_LOST);
}

static gboolean
all_are_told (Taking *const *takings)
{
  gboolean all = TRUE;
  for (int i = 0; i < N_WAITERS; i++)
    {
      all = all && taking_wait (takings[i], LONG_MS)
            && g_error_matches (takings[i]->error, CURATOR_ERROR, CURATOR_ERROR_CLOSED)
            && takings[i]->times == 1;
    }
  return all;
}

static void
destroy_awaited (Worker *worker)
{
  CuratorClient *client = start (worker, worker->server);
  CuratorLock *lock = curator_mutex_new (client, worker->path, NULL);
  Taking *takings[N_WAITERS];
  for (int i = 0; i < N_WAITERS; i++)
    takings[i] = taking_start_lock (lock, CURATOR_WAIT_FOREVER, NULL);
  g_usleep ((gulong) g_random_int_range (0, 10000));
  /* A waiter keeps a reference to its lock, and so to its client: only close ends it. */
  curator_client_close (client);
  curator_lock_unref (lock);
  curator_client_unref (client);
  gboolean told = all_are_told (takings);
  for (int i = 0; i < N_WAITERS; i++)
    taking_free (takings[i]);
  require (worker, told);
}

typedef struct
{
  CuratorClient *client;
  int done;
} Closer;

static void
note_done (gpointer data)
{
  g_atomic_int_set (&((Closer *) data)->done, 1);
}

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer user_data)
{
  if (state == CURATOR_CONNECTION_STATE_CONNECTED)
    {
      curator_client_close (client);
      curator_client_unref (client);
    }
}

static void
on_lease (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Closer *closer = user_data;
  g_clear_pointer (&lease, curator_lease_unref);
  curator_client_unref (closer->client);
  note_done (closer);
}

static void
destroy_in_callback (Worker *worker)
{
  Closer closer = { client_new (worker->server), 0 };
  if (worker->round % 2 == 0)
    {
      curator_client_add_state_listener (closer.client, on_state, &closer, note_done);
      G_GNUC_UNUSED const gboolean started = curator_client_start (closer.client, NULL);
    }
  else
    {
      G_GNUC_UNUSED const gboolean started = curator_client_start (closer.client, NULL);
      g_autoptr (CuratorLock) lock = curator_mutex_new (closer.client, worker->path, NULL);
      /* Held by another client, or not decided yet. */
      curator_lock_acquire_then (lock, worker->round % 20, NULL, on_lease, &closer);
    }
  require (worker, holds_within (g_atomic_int_get (&closer.done) != 0, LONG_MS));
}

static void
destroy_reconnecting (Worker *worker)
{
  CuratorClient *client = start (worker, proxy_address (worker->proxy));
  /* A path of its own, so that no client waits for the expiry of the remaining session. */
  g_autofree char *path = g_strdup_printf ("/destroy/cut-%d-%d", worker->number, worker->round);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, path, NULL);
  require (worker, is_connected (client));
  g_autoptr (CuratorLease) lease G_GNUC_UNUSED =
      worker->round % 2 == 0 ? curator_lock_acquire_lease (lock, LONG_MS, NULL, NULL) : NULL;
  gboolean refuse = worker->round % 4 == 1;
  if (refuse)
    proxy_set_mode (worker->proxy, PROXY_REFUSE);
  else
    proxy_cut (worker->proxy);
  g_usleep ((gulong) g_random_int_range (0, 3000));
  curator_client_close (client);
  curator_client_unref (client);
  if (refuse)
    proxy_set_mode (worker->proxy, PROXY_PASS);
}

static void *
work (void *data)
{
  static void (*const destroyers[N_STATES]) (Worker
                                             * worker) = { [IDLE] = destroy_idle,
                                                           [HELD] = destroy_held,
                                                           [AWAITED] = destroy_awaited,
                                                           [IN_CALLBACK] = destroy_in_callback,
                                                           [RECONNECTING] = destroy_reconnecting };
  Worker *worker = data;
  for (worker->round = 0; worker->round < N_EACH && worker->fault == NULL; worker->round++)
    {
      for (int state = 0; state < N_STATES && worker->fault == NULL; state++)
        {
          destroyers[state](worker);
          worker->done[state]++;
        }
    }
  return NULL;
}

static int
count_entries (const char *path)
{
  int n = 0;
  DIR *dir = opendir (path);
  assert_non_null (dir);
  while (readdir (dir) != NULL)
    n++;
  closedir (dir);
  return n;
}

typedef struct
{
  int threads;
  int fds;
} Usage;

static Usage
usage_now (void)
{
  return (Usage){ count_entries ("/proc/self/task"), count_entries ("/proc/self/fd") };
}

static void
assert_usage_is_back (Usage before)
{
  Usage now;
  if (!holds_within ((now = usage_now (), now.threads <= before.threads && now.fds <= before.fds),
                     LONG_MS))
    {
      fail_msg ("%d threads of %d and %d descriptors of %d are left", now.threads, before.threads,
                now.fds, before.fds);
    }
}

/* A client that was destroyed without a network leaves its session to the server. */
static void
assert_server_is_clean (Fixture *fixture)
{
  g_auto (GStrv) names = raw_zk_children (fixture->raw, "/destroy");
  assert_non_null (names);
  for (char **name = names; *name != NULL; name++)
    {
      g_autofree char *path = g_strconcat ("/destroy/", *name, NULL);
      assert_no_residue (fixture, path, PATIENT_MS + LONG_MS);
    }
}

TEST (test_p35_destroy_in_every_state)
{
  Worker workers[N_WORKERS] = { 0 };
  CuratorClient *peer = start (&workers[0], fixture_server (fixture));
  CuratorLock *held = mutex_new (peer, "/destroy/held");
  assert_acquired (held);
  const Usage before = usage_now ();
  int destroyed = 0;
  for (int i = 0; i < N_WORKERS; i++)
    {
      workers[i] = (Worker){ .server = fixture_server (fixture),
                             .proxy = proxy_new (fixture_server (fixture)),
                             .path = "/destroy/held",
                             .number = i };
      assert_non_null (workers[i].proxy);
      pthread_create (&workers[i].thread, NULL, work, &workers[i]);
    }
  for (int i = 0; i < N_WORKERS; i++)
    {
      pthread_join (workers[i].thread, NULL);
      proxy_free (workers[i].proxy);
      for (int s = 0; s < N_STATES; s++)
        destroyed += workers[i].done[s];
    }
  for (int i = 0; i < N_WORKERS; i++)
    if (workers[i].fault != NULL)
      fail_msg ("%s", workers[i].fault);
  print_message ("%d clients destroyed\n", destroyed);
  assert_int_equal (destroyed, N_WORKERS * N_EACH * N_STATES);
  assert_usage_is_back (before);
  assert_int_equal (curator_lease_get_state (held_lease (held)), CURATOR_LEASE_HELD);
  assert_released (held);
  curator_lock_unref (held);
  curator_client_unref (peer);
  assert_server_is_clean (fixture);
}

/* Waiters come and go, each with a watch, while the connection breaks repeatedly: every break sends
 * a session event to every watcher. The client is destroyed in the middle. */
TEST (test_p15_destroy_in_a_storm)
{
  const Usage before = usage_now ();
  CuratorClient *peer = client_connect (fixture_server (fixture));
  for (int storm = 0; storm < N_STORMS; storm++)
    {
      Taking *holders[N_WAITERS];
      Taking *takings[2 * N_WAITERS];
      CuratorClient *client = client_connect (fixture_proxy (fixture));
      for (int i = 0; i < N_WAITERS; i++)
        {
          g_autofree char *path = g_strdup_printf ("/destroy/storm-%d-%d", storm, i);
          g_autoptr (CuratorLock) theirs = mutex_new (peer, path);
          g_autoptr (CuratorLock) lock = mutex_new (client, path);
          holders[i] = taking_of_lock (theirs);
          takings[2 * i] = taking_start_lock (lock, i * 10, NULL);
          takings[2 * i + 1] = taking_start_lock (lock, CURATOR_WAIT_FOREVER, NULL);
        }
      for (int i = 0; i < N_WAITERS; i++)
        {
          proxy_cut (fixture->proxy);
          g_usleep ((gulong) g_random_int_range (0, 20000));
          taking_give_back (holders[i]);
        }
      curator_client_close (client);
      for (int i = 0; i < N_WAITERS; i++)
        {
          taking_free (holders[i]);
          taking_free (takings[2 * i]);
          taking_free (takings[2 * i + 1]);
        }
      curator_client_unref (client);
    }
  curator_client_unref (peer);
  assert_usage_is_back (before);
  assert_server_is_clean (fixture);
}

SUITE ("destroy", fixture_start, fixture_stop)
