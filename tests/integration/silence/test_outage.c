/* An outage is never reported as contention or the reverse, and no call waits longer than it may: a
 * table of all operations that wait against every reason why they do. The same operations of
 * clients that a server does not serve are told so, once. */
#include "core/client-record.h"
#include "core/monitor.h"
#include "integration/taking.h"
#include "support/net.h"

#include <string.h>
#include <unistd.h>

#define CALL_MS       300
#define CONNECT_MS    500
#define CONTENTION_MS 4000  /* time for a busy machine to answer a few requests */
#define SLACK_MS      60000 /* a busy machine; without a bound the calls would wait forever */

static CuratorClient *
impatient_client (const char *address)
{
  CuratorRetryPolicy *forever = curator_retry_policy_new_forever (50);
  CuratorClient *client = curator_client_new (address, forever);
  curator_retry_policy_unref (forever);
  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  curator_client_set_connection_timeout (client, CONNECT_MS);
  return client;
}

static void
start (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_client_start (client, &error), &error);
}

/* Whose session outlives the test. */
static CuratorClient *
holder_connect (Fixture *fixture)
{
  CuratorClient *client = client_new (fixture_server (fixture));
  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  curator_client_set_connection_timeout (client, LONG_MS);
  client_start (client);
  return client;
}

typedef struct
{
  const char *name;
  const char *path;
  KindNew create;
  KindNew block; /* what excludes it */
} Recipe;

static const Recipe recipes[] = {
  { "mutex", "/outage/mutex", mutex_new, mutex_new },
  { "semaphore mutex", "/outage/semaphore", semaphore_mutex_new, semaphore_mutex_new },
  { "fixed node", "/outage/fixed", fixed_node_new, fixed_node_new },
  { "write lock", "/outage/rw", writer_new, writer_new },
  { "read lock", "/outage/rw", reader_new, writer_new },
  { "multi-lock", "/outage/mutex", multi_lock_new, mutex_new },
};

/* The ways to acquire, with one error for each failure. */

static gboolean
way_thread (CuratorLock *lock, gint64 ms, GCancellable *cancellable, GError **error)
{
  return curator_lock_acquire (lock, ms, cancellable, error);
}

static gboolean
way_lease (CuratorLock *lock, gint64 ms, GCancellable *cancellable, GError **error)
{
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (lock, ms, cancellable, error);
  return lease != NULL;
}

static gboolean
way_then (CuratorLock *lock, gint64 ms, GCancellable *cancellable, GError **error)
{
  g_autoptr (Taking) taking = taking_start_lock (lock, ms, cancellable);
  while (!taking_wait (taking, LONG_MS))
    ;
  if (taking->error != NULL)
    g_propagate_error (error, g_steal_pointer (&taking->error));
  return taking->leases != NULL;
}

typedef gboolean (*Way) (CuratorLock *lock, gint64 ms, GCancellable *cancellable, GError **error);

static const Way ways[] = { way_thread, way_lease, way_then };

/* The calls that wait for a server. */

typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLease *lease;
  CuratorSemaphore *semaphore;
  CuratorSharedCount *count;
  CuratorLeaderSelector *selector;
  CuratorLeaderLatch *latch;
} World;

typedef gboolean (*Waiting) (World *world, gint64 timeout_ms, GCancellable *cancellable,
                             GError **error);

static gboolean
free_strings (char **strings)
{
  const gboolean found = strings != NULL;
  g_strfreev (strings);
  return found;
}

static gboolean
call_semaphore (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  g_autoptr (CuratorLease) lease =
      curator_semaphore_acquire (world->semaphore, ms, cancellable, error);
  return lease != NULL;
}

/* It may be started already. */
static gboolean
call_latch (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  G_GNUC_UNUSED const gboolean is_first = curator_leader_latch_start (world->latch, NULL);
  return curator_leader_latch_await (world->latch, ms, cancellable, error);
}

static gboolean
call_participants (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  return free_strings (curator_lock_get_participant_nodes (world->lock, ms, cancellable, error));
}

static gboolean
call_semaphore_participants (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  return free_strings (
      curator_semaphore_get_participant_nodes (world->semaphore, ms, cancellable, error));
}

static gboolean
call_lease_data (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  g_autoptr (GBytes) data = curator_lease_get_data (world->lease, ms, cancellable, error);
  return data != NULL;
}

static gboolean
call_revoke (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  const char *path = "/outage/no/such/node";
  return curator_client_attempt_revoke (world->client, path, ms, cancellable, error);
}

static gboolean
call_count_start (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (world->client, "/outage/new-count", 1, NULL);
  return curator_shared_count_start (count, ms, cancellable, error);
}

static gboolean
call_count_set (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  return curator_shared_count_set (world->count, 2, ms, cancellable, error);
}

static gboolean
call_count_try_set (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  gint32 version = 0;
  curator_shared_count_get_versioned (world->count, NULL, &version);
  return curator_shared_count_try_set (world->count, version, 3, NULL, ms, cancellable, error);
}

static gboolean
call_inspect (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  g_autoptr (CuratorInspection) inspection =
      curator_client_inspect (world->client, "/outage/mutex", ms, cancellable, error);
  return inspection != NULL;
}

static gboolean
call_find_locks (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  return free_strings (
      curator_client_find_locks (world->client, "/outage", 0, NULL, ms, cancellable, error));
}

static gboolean
free_participants (GPtrArray *participants)
{
  const gboolean succeeded = participants != NULL;
  g_clear_pointer (&participants, g_ptr_array_unref);
  return succeeded;
}

static gboolean
call_inspect_all (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  return free_participants (
      curator_client_inspect_all (world->client, "/outage", NULL, NULL, ms, cancellable, error));
}

static gboolean
call_selector_participants (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  return free_participants (
      curator_leader_selector_get_participants (world->selector, ms, cancellable, error));
}

static gboolean
call_latch_participants (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  return free_participants (
      curator_leader_latch_get_participants (world->latch, ms, cancellable, error));
}

static gboolean
call_selector_leader (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  g_autoptr (CuratorLeaderParticipant) leader =
      curator_leader_selector_get_leader (world->selector, ms, cancellable, error);
  return leader != NULL || *error == NULL;
}

static gboolean
call_latch_leader (World *world, gint64 ms, GCancellable *cancellable, GError **error)
{
  g_autoptr (CuratorLeaderParticipant) leader =
      curator_leader_latch_get_leader (world->latch, ms, cancellable, error);
  return leader != NULL || *error == NULL;
}

/* What a call needs, besides a client. */
typedef enum
{
  NOTHING,
  A_LOCK, /* which it waits for */
  A_SERVER
} Need;

static const struct
{
  const char *name;
  Waiting call;
  Need needs;
} calls[] = {
  { "a semaphore", call_semaphore, A_LOCK },
  { "a latch", call_latch, A_LOCK },
  { "participants", call_participants },
  { "participants of a semaphore", call_semaphore_participants },
  { "data of a lease", call_lease_data, A_SERVER },
  { "revoke", call_revoke },
  { "start of a count", call_count_start },
  { "set of a count", call_count_set, A_SERVER },
  { "try_set of a count", call_count_try_set, A_SERVER },
  { "inspect", call_inspect },
  { "find_locks", call_find_locks },
  { "inspect_all", call_inspect_all },
  { "participants of a selector", call_selector_participants },
  { "participants of a latch", call_latch_participants },
  { "leader of selectors", call_selector_leader },
  { "leader of latches", call_latch_leader },
};

/* One cell of the table: an operation with a timeout, on a thread of its own. */
typedef struct
{
  World *world;
  CuratorLock *lock; /* to acquire in that way, or NULL */
  const char *name;
  Way way;
  Waiting call;
  gint64 ms;
  GCancellable *cancellable; /* cancelled while it waits, or NULL */
  GThread *thread;
  gboolean succeeded;
  GError *error;
  gint64 took_ms;
} Cell;

static gpointer
run_cell (gpointer data)
{
  Cell *cell = data;
  const gint64 since = wait_now_ms ();

  cell->succeeded = cell->lock != NULL
                        ? cell->way (cell->lock, cell->ms, cell->cancellable, &cell->error)
                        : cell->call (cell->world, cell->ms, cell->cancellable, &cell->error);
  cell->took_ms = wait_now_ms () - since;
  return NULL;
}

static void
add_cell (GPtrArray *cells, const Cell *cell, gboolean cancelled)
{
  Cell *added = g_new (Cell, 1);
  *added = *cell;
  added->cancellable = cancelled ? g_cancellable_new () : NULL;
  added->thread = g_thread_new (cell->name, run_cell, added);
  g_ptr_array_add (cells, added);
}

static void
free_cell (gpointer data)
{
  Cell *cell = data;
  g_thread_join (cell->thread);
  g_clear_pointer (&cell->lock, curator_lock_unref);
  g_clear_object (&cell->cancellable);
  g_clear_error (&cell->error);
  g_free (cell);
}

static void
add_acquires (GPtrArray *cells, World *world, gint64 ms, gboolean cancelled)
{
  for (gsize r = 0; r < G_N_ELEMENTS (recipes); r++)
    {
      for (gsize w = 0; w < G_N_ELEMENTS (ways); w++)
        {
          const Cell cell = { .lock = recipes[r].create (world->client, recipes[r].path),
                              .name = recipes[r].name,
                              .way = ways[w],
                              .ms = ms };
          assert_non_null (cell.lock);
          add_cell (cells, &cell, cancelled);
        }
    }
}

static void
add_calls (GPtrArray *cells, World *world, gint64 ms, gboolean cancelled)
{
  for (gsize c = 0; c < G_N_ELEMENTS (calls); c++)
    {
      const Cell cell = { .world = world, .name = calls[c].name, .call = calls[c].call, .ms = ms };
      /* A lease and a started count need a server first. */
      if (calls[c].needs == NOTHING || (calls[c].needs == A_SERVER && world->lease != NULL))
        add_cell (cells, &cell, cancelled);
    }
}

/* A column of the table: what all errors say, and what the acquires' say. */
typedef struct
{
  const char *name;
  CuratorError code;
  const char *cause;
} Column;

static gboolean
is_as_expected (const Cell *cell, const Column *column)
{
  if (cell->cancellable != NULL)
    return g_error_matches (cell->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  return g_error_matches (cell->error, CURATOR_ERROR, (int) column->code)
         && strstr (cell->error->message, column->cause) != NULL
         && strstr (cell->error->message, " ms") != NULL
         && strstr (cell->error->message, cell->lock != NULL ? "acquiring /outage/" : "/outage")
                != NULL;
}

static void
check_cells (GPtrArray *cells, const Column *column, gint64 within_ms)
{
  for (guint i = 0; i < cells->len; i++)
    {
      const Cell *cell = g_ptr_array_index (cells, i);
      g_thread_join (g_thread_ref (cell->thread));
      if (cell->succeeded || !is_as_expected (cell, column) || cell->took_ms > within_ms)
        {
          fail_msg ("%s, %s, timeout %d: %s, code %d, after %d ms", column->name, cell->name,
                    (int) cell->ms, cell->error != NULL ? cell->error->message : "succeeded",
                    cell->error != NULL ? cell->error->code : -1, (int) cell->took_ms);
        }
    }
}

/* All operations at once, with each kind of limit. */
static void
check_outage (World *world, const Column *column)
{
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func (free_cell);

  add_acquires (cells, world, 0, FALSE);
  add_acquires (cells, world, CURATOR_WAIT_DEFAULT, FALSE);
  add_acquires (cells, world, CALL_MS, FALSE);
  add_acquires (cells, world, CURATOR_WAIT_FOREVER, TRUE);
  add_calls (cells, world, 0, FALSE);
  add_calls (cells, world, CURATOR_WAIT_DEFAULT, FALSE);
  add_calls (cells, world, CALL_MS, FALSE);
  add_calls (cells, world, CURATOR_WAIT_FOREVER, TRUE);
  wait_ms (50);
  for (guint i = 0; i < cells->len; i++)
    {
      Cell *cell = g_ptr_array_index (cells, i);
      if (cell->cancellable != NULL)
        g_cancellable_cancel (cell->cancellable);
    }
  check_cells (cells, column, CONNECT_MS + SLACK_MS);
}

static void
never_lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
            gpointer user_data)
{
}

/* Takes the client. */
static void
world_open (World *world, CuratorClient *client)
{
  world->client = client;
  world->lock = curator_mutex_new (world->client, "/outage/bounded", NULL);
  world->semaphore = curator_semaphore_new (world->client, "/outage/bounded-semaphore", 2, NULL);
  world->count = curator_shared_count_new (world->client, "/outage/count", 1, NULL);
  world->selector =
      curator_leader_selector_new (world->client, "/outage/selector", never_lead, NULL, NULL, NULL);
  world->latch = curator_leader_latch_new (world->client, "/outage/latch", NULL, NULL);
  start (world->client);
}

static void
world_connect (World *world, const char *address)
{
  g_autoptr (GError) error = NULL;
  world_open (world, impatient_client (address));
  assert_ok (curator_client_block_until_connected (world->client, LONG_MS, NULL, &error), &error);
  assert_ok (curator_shared_count_start (world->count, LONG_MS, NULL, &error), &error);
  world->lease = lease_of (world->lock);
}

static void
world_close (World *world)
{
  curator_client_close (world->client);
  g_clear_pointer (&world->lease, curator_lease_unref);
  curator_lock_unref (world->lock);
  curator_semaphore_unref (world->semaphore);
  curator_shared_count_unref (world->count);
  curator_leader_selector_unref (world->selector);
  curator_leader_latch_unref (world->latch);
  curator_client_unref (world->client);
}

static gboolean
has_cause (CuratorClient *client, const char *text)
{
  g_autoptr (GError) error = curator_client_dup_connection_error (client);
  return error != NULL && strstr (error->message, text) != NULL;
}

/* The error of the client has this code and cause, and then so have the operations'. */
static void
check_cause (World *world, CuratorConnectError code, const Column *column)
{
  assert_soon (has_cause (world->client, column->cause));
  g_autoptr (GError) error = curator_client_dup_connection_error (world->client);
  assert_error (&error, CURATOR_CONNECT_ERROR, (int) code);
  check_outage (world, column);
}

static void
check_unreachable (const char *address, CuratorConnectError code, const Column *column)
{
  World world = { 0 };
  world_open (&world, impatient_client (address));
  check_cause (&world, code, column);
  world_close (&world);
}

TEST (test_refused)
{
  const Column column = { "refused", CURATOR_ERROR_CONNECTION_LOST,
                          "(127.0.0.1:1: Connection refused)" };
  check_unreachable ("127.0.0.1:1", CURATOR_CONNECT_ERROR_CONNECT, &column);
}

/* Refused is the same cause, whatever the address is written like. */
TEST (test_refused_at_every_spelling)
{
  static const char *const hosts[] = { "127.0.0.1", "localhost", "[::1]", "[0:0:0:0:0:0:0:1]",
                                       "[::ffff:127.0.0.1]" };

  for (gsize i = 0; i < G_N_ELEMENTS (hosts); i++)
    {
      g_autofree char *address = g_strdup_printf ("%s:1", hosts[i]);
      g_autoptr (CuratorClient) client = impatient_client (address);
      start (client);
      assert_soon (has_cause (client, ":1: Connection refused"));
      g_autoptr (GError) error = curator_client_dup_connection_error (client);
      assert_error (&error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT);
      curator_client_close (client);
    }
}

TEST (test_unresolvable)
{
  const Column column = { "unresolvable", CURATOR_ERROR_CONNECTION_LOST,
                          "(no-such-host.invalid:2181: " };
  check_unreachable ("no-such-host.invalid:2181", CURATOR_CONNECT_ERROR_RESOLVE, &column);
}

/* Accepts connections in its backlog and sends nothing. */
static int
listen_on (char **address)
{
  struct sockaddr_in name;
  assert_true (net_parse ("127.0.0.1:0", &name));
  const int fd = net_listen (&name);
  assert_true (fd >= 0);
  *address = g_strdup_printf ("127.0.0.1:%u", ntohs (name.sin_port));
  return fd;
}

TEST (test_silent)
{
  g_autofree char *address = NULL;
  const int fd = listen_on (&address);
  const Column column = { "silent", CURATOR_ERROR_CONNECTION_LOST, ": no answer)" };
  check_unreachable (address, CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT, &column);
  close (fd);
}

typedef struct FakeServer
{
  void (*serve) (struct FakeServer *server, int fd); /* a connection, which is closed then */
  int listener;
  char *address;
  gint stop; /* atomic */
  GThread *thread;
} FakeServer;

static gpointer
run_fake (gpointer data)
{
  FakeServer *server = data;
  while (!g_atomic_int_get (&server->stop))
    {
      const int fd = accept (server->listener, NULL, NULL);
      if (fd >= 0)
        {
          server->serve (server, fd);
          close (fd);
        }
      wait_ms (5);
    }
  return NULL;
}

static void
fake_start (FakeServer *server)
{
  server->listener = listen_on (&server->address);
  server->thread = g_thread_new ("fake server", run_fake, server);
}

static void
fake_tell_stop (FakeServer *server)
{
  g_atomic_int_set (&server->stop, TRUE);
}

/* Its clients are closed. */
static void
fake_stop (FakeServer *server)
{
  shutdown (server->listener, SHUT_RDWR);
  g_thread_join (server->thread);
  close (server->listener);
  g_free (server->address);
}

/* A server without a quorum closes each connection when the client asks for a session. One with
 * unread bytes would be reset instead. */
static void
read_request (FakeServer *server, int fd)
{
  guint8 size[4];
  guint8 request[256];
  if (net_read (fd, size, sizeof size, LONG_MS) == sizeof size)
    {
      const gsize length = (gsize) net_get_int32 (size);
      (void) !net_read (fd, request, MIN (length, sizeof request), LONG_MS);
    }
}

TEST (test_no_quorum)
{
  FakeServer server = { .serve = read_request };
  fake_start (&server);
  const Column column = { "no quorum", CURATOR_ERROR_CONNECTION_LOST,
                          ": the server closed the connection)" };
  World world = { 0 };
  world_open (&world, impatient_client (server.address));
  check_cause (&world, CURATOR_CONNECT_ERROR_CONNECT, &column);
  fake_tell_stop (&server);
  world_close (&world);
  fake_stop (&server);
}

/* Connections that break, or fall silent, while there is a session. */
TEST (test_cut_off)
{
  const Column refused = { "cut off", CURATOR_ERROR_CONNECTION_LOST, "Connection refused" };
  const Column silent = { "fallen silent", CURATOR_ERROR_NO_ANSWER,
                          "connected, but no answer within" };
  World world = { 0 };
  world_connect (&world, fixture_proxy (fixture));
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  check_outage (&world, &silent);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  check_cause (&world, CURATOR_CONNECT_ERROR_CONNECT, &refused);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  /* The server must learn of the close, which frees what the world holds. */
  assert_true (curator_client_block_until_connected (world.client, LONG_MS, NULL, NULL));
  world_close (&world);
}

/* Another holder is in front of every lock. Calls that need no lock are not in its way. */
TEST (test_contention)
{
  const Column column = { "contention", CURATOR_ERROR_TIMED_OUT, "another contender is in front" };
  g_autoptr (CuratorClient) holder = holder_connect (fixture);
  g_autoptr (GPtrArray) held =
      g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func (free_cell);
  World world = { 0 };

  for (gsize r = 0; r < G_N_ELEMENTS (recipes); r++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorLock) lock = recipes[r].block (holder, recipes[r].path);
      CuratorLease *lease = curator_lock_acquire_lease (lock, 0, NULL, &error);
      /* Two recipes are excluded by the same hold. */
      if (lease != NULL)
        g_ptr_array_add (held, lease);
    }
  assert_int_equal (held->len, 4);
  world_connect (&world, fixture_server (fixture));
  for (gsize c = 0; c < G_N_ELEMENTS (calls); c++)
    {
      g_autoptr (GError) error = NULL;
      assert_ok (calls[c].call (&world, LONG_MS, NULL, &error), &error);
    }
  add_acquires (cells, &world, CONTENTION_MS, FALSE);
  check_cells (cells, &column, CONTENTION_MS + SLACK_MS);
  g_ptr_array_set_size (cells, 0);
  world_close (&world);

  /* A single try takes as long as the server does, up to the connection timeout. */
  world.lease = NULL;
  world.client = holder_connect (fixture);
  add_acquires (cells, &world, 0, FALSE);
  check_cells (cells, &column, SLACK_MS);
  g_ptr_array_set_size (cells, 0);
  curator_client_unref (world.client);
  g_ptr_array_set_size (held, 0);
  curator_client_close (holder);
}

static CuratorError
cut_while_waiting (Fixture *fixture, gboolean behind, char **message)
{
  g_autoptr (CuratorClient) client = impatient_client (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/outage/cut");
  client_start (client);
  if (!behind)
    proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE_REPLY);
  Contender *waiter = contender_start (lock, behind ? CONTENTION_MS : CALL_MS, NULL);
  if (behind)
    assert_children (fixture, "/outage/cut", 2, LONG_MS);
  assert_true (contender_wait (waiter, LONG_MS));
  contender_join (waiter);
  *message = g_strdup (waiter->error->message);
  const CuratorError code = (CuratorError) waiter->error->code;
  contender_free (waiter);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  curator_client_close (client);
  return code;
}

/* The same lock is held in both cases: what counts is whether a server has shown it. */
TEST (test_unknown_contention)
{
  g_autoptr (CuratorClient) holder = holder_connect (fixture);
  g_autoptr (CuratorLock) lock = mutex_new (holder, "/outage/cut");
  g_autoptr (CuratorLease) lease G_GNUC_UNUSED = lease_of (lock);
  g_autofree char *seen = NULL;
  g_autofree char *unseen = NULL;
  assert_int_equal (cut_while_waiting (fixture, TRUE, &seen), CURATOR_ERROR_TIMED_OUT);
  assert_non_null (strstr (seen, "/outage/cut: not granted within "));
  assert_int_equal (cut_while_waiting (fixture, FALSE, &unseen), CURATOR_ERROR_NO_ANSWER);
  assert_non_null (strstr (unseen, "acquiring /outage/cut: "));
  curator_client_close (holder);
}

static gpointer
open_up (gpointer data)
{
  Fixture *fixture = data;

  wait_ms (100);
  proxy_arm (fixture->proxy, PROXY_ANY_REQUEST, 1, 1, PROXY_HOLE_BEFORE);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  return NULL;
}

/* The connection comes while the call waits, and nothing is answered on it. */
TEST (test_late_connection)
{
  g_autoptr (CuratorClient) client = impatient_client (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/outage/late");
  g_autoptr (GError) error = NULL;

  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  start (client);
  GThread *thread = g_thread_new ("open", open_up, fixture);
  assert_false (curator_lock_acquire (lock, CONTENTION_MS, NULL, &error));
  g_thread_join (thread);
  assert_int_equal (proxy_fired (fixture->proxy), 1);
  if (strstr (error->message, " ms: connected for the last ") == NULL)
    fail_msg ("%s", error->message);
  assert_curator_error (&error, CURATOR_ERROR_NO_ANSWER);
}

static void
on_connection_error (CuratorClient *client, const GError *error, gpointer n_refused)
{
  if (g_error_matches (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT)
      && strstr (error->message, "Connection refused") != NULL)
    g_atomic_int_inc ((gint *) n_refused);
}

TEST (test_error_listener)
{
  gint n_refused = 0;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = impatient_client (fixture_proxy (fixture));
  g_autoptr (GError) latent = curator_client_dup_connection_error (client);
  assert_curator_error (&latent, CURATOR_ERROR_NOT_STARTED);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  const guint id =
      curator_client_add_connection_error_listener (client, on_connection_error, &n_refused, NULL);
  assert_int_not_equal (id, 0);
  start (client);
  assert_soon (g_atomic_int_get (&n_refused) > 0);
  g_autoptr (GError) refused = curator_client_dup_connection_error (client);
  assert_non_null (strstr (refused->message, fixture_proxy (fixture)));
  assert_error (&refused, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT);

  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  assert_null (curator_client_dup_connection_error (client));

  /* A second outage is told again, also with the same cause. */
  const gint n_before = g_atomic_int_get (&n_refused);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_soon (g_atomic_int_get (&n_refused) > n_before);
  curator_client_remove_connection_error_listener (client, id);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  curator_client_close (client);
  g_autoptr (GError) closed = curator_client_dup_connection_error (client);
  assert_curator_error (&closed, CURATOR_ERROR_CLOSED);
}

/* CREATE without DELETE: the release says so, and leaves the node to the end of the session. */
TEST (test_delete_is_not_allowed)
{
  static char scheme[] = "world";
  static char anyone[] = "anyone";
  struct ACL entry = { .perms = ZOO_PERM_READ | ZOO_PERM_CREATE, .id = { scheme, anyone } };
  const struct ACL_vector acl = { 1, &entry };
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/outage/acl");
  g_autoptr (GError) error = NULL;
  assert_acquired (lock);
  assert_released (lock);
  assert_int_equal (raw_zk_set_acl (fixture->raw, "/outage/acl", &acl), ZOK);
  assert_acquired (lock);
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_non_null (strstr (error->message, "DELETE"));
  assert_non_null (strstr (error->message, "/outage/acl/"));
  assert_error (&error, CURATOR_ZK_ERROR, ZNOAUTH);
  /* The server answers, and shows that node in front. */
  assert_false (curator_lock_acquire (lock, CONTENTION_MS, NULL, &error));
  assert_non_null (strstr (error->message, "a node that this client gave up is in front"));
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
  curator_client_close (client);
}

/* A server of 3.4: it accepts sessions, answers pings, and refuses every other request as it
 * refuses the ones it does not know. */
static gboolean
send_frame (int fd, GByteArray *body)
{
  g_autoptr (GByteArray) frame = g_byte_array_new ();
  net_put_buffer (frame, body->data, (gint32) body->len);
  return write (fd, frame->data, frame->len) == (gssize) frame->len;
}

static gboolean
answer (int fd, gboolean connected, const guint8 *request)
{
  static const guint8 password[16] = { 1 };
  g_autoptr (GByteArray) reply = g_byte_array_new ();
  const gint32 xid = net_get_int32 (request);
  if (!connected)
    {
      net_put_int32 (reply, 0);
      net_put_int32 (reply, 10000);
      net_put_int64 (reply, 0x1234);
      net_put_buffer (reply, password, sizeof password);
      return send_frame (fd, reply);
    }
  net_put_int32 (reply, xid);
  net_put_int64 (reply, 1);
  net_put_int32 (reply, xid == -2 ? ZOK : ZUNIMPLEMENTED);
  return send_frame (fd, reply) && xid == -2;
}

static void
serve (FakeServer *server, int fd)
{
  guint8 head[4];
  guint8 body[4096];
  gboolean connected = FALSE;
  gboolean goes_on = TRUE;
  while (goes_on && !g_atomic_int_get (&server->stop)
         && net_read (fd, head, sizeof head, LONG_MS) == sizeof head)
    {
      const gsize length = (gsize) net_get_int32 (head);
      goes_on = length <= sizeof body && net_read (fd, body, length, LONG_MS) == length
                && answer (fd, connected, body);
      connected = TRUE;
    }
}

TEST (test_server_of_3_4)
{
  FakeServer server = { .serve = serve };
  fake_start (&server);
  g_autoptr (CuratorClient) client = client_new (server.address);
  g_autoptr (GError) error = NULL;
  start (client);
  for (gsize r = 0; r < G_N_ELEMENTS (recipes); r++)
    {
      g_autoptr (CuratorLock) lock = recipes[r].create (client, recipes[r].path);
      assert_false (curator_lock_acquire (lock, LONG_MS, NULL, &error));
      assert_non_null (strstr (error->message, "3.5"));
      assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
    }
  fake_tell_stop (&server);
  curator_client_close (client);
  fake_stop (&server);
}

/* --- clients that a server does not serve ----------------------------------------------------- */

#define PROVIDER                                                                                   \
  "-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
#define ENFORCED "-Dzookeeper.enforce.auth.enabled=true"

/* The settings of servers. */
static const struct
{
  const char *name;
  const char *options[4];
  gboolean takes_digest;
} servers[] = {
  { "enforce.auth.schemes=sasl",
    { ENFORCED, PROVIDER, "-Dzookeeper.enforce.auth.schemes=sasl" },
    FALSE },
  { "enforce.auth.schemes=digest", { ENFORCED, "-Dzookeeper.enforce.auth.schemes=digest" }, TRUE },
  { "sessionRequireClientSASLAuth",
    { "-Dzookeeper.sessionRequireClientSASLAuth=true", PROVIDER },
    FALSE },
};

/* All operations, by a number: first the acquires. */
#define N_QUESTIONS (G_N_ELEMENTS (recipes) + G_N_ELEMENTS (calls))

static const char *
name_of (gsize question)
{
  return question < G_N_ELEMENTS (recipes) ? recipes[question].name
                                           : calls[question - G_N_ELEMENTS (recipes)].name;
}

static gboolean
can_ask (gsize question)
{
  return question < G_N_ELEMENTS (recipes)
         || calls[question - G_N_ELEMENTS (recipes)].needs != A_SERVER;
}

static gboolean
ask (World *world, gsize question, GError **error)
{
  if (question >= G_N_ELEMENTS (recipes))
    return calls[question - G_N_ELEMENTS (recipes)].call (world, LONG_MS, NULL, error);
  g_autoptr (CuratorLock) lock = recipes[question].create (world->client, recipes[question].path);
  return way_lease (lock, LONG_MS, NULL, error);
}

typedef struct
{
  World *world;
  gsize question;
  GThread *thread;
  gboolean succeeded;
  GError *error;
} Caller;

static gpointer
run_caller (gpointer data)
{
  Caller *caller = data;
  caller->succeeded = ask (caller->world, caller->question, &caller->error);
  return NULL;
}

/* libzookeeper may have connected again before its handle is closed. */
static gboolean
has_no_handle (CuratorClient *client)
{
  curator_client_lock (client);
  const gboolean has_none = client->sessions_open == 0;
  curator_client_unlock (client);
  return has_none;
}

static gboolean
is_told (const GError *error, Proxy *proxy)
{
  return g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED)
         && strstr (error->message, proxy_address (proxy)) != NULL
         && strstr (error->message, "requires clients to authenticate") != NULL
         && strstr (error->message, "enforce.auth.schemes") != NULL;
}

/* The server's side is seen by the proxy: it has no connection any more, and gets none. */
static void
check_refused (Proxy *proxy, gsize question)
{
  g_autoptr (GError) first = NULL;
  World world = { 0 };

  world_open (&world, client_new (proxy_address (proxy)));
  assert_true (curator_client_block_until_connected (world.client, LONG_MS, NULL, NULL));
  assert_false (ask (&world, question, &first));
  if (!is_told (first, proxy))
    print_error ("%s: %s\n", name_of (question), first->message);
  assert_true (is_told (first, proxy));
  assert_soon (has_no_handle (world.client));
  const int accepted = proxy_accepted (proxy);
  for (gsize i = 0; i < N_QUESTIONS; i++)
    {
      g_autoptr (GError) error = NULL;
      if (!can_ask (i))
        continue;
      assert_false (ask (&world, i, &error));
      assert_true (is_told (error, proxy));
    }
  g_autoptr (GError) error = curator_client_dup_connection_error (world.client);
  assert_true (is_told (error, proxy));
  assert_int_equal (proxy_accepted (proxy), accepted);
  world_close (&world);
}

static void
check_digest (Proxy *proxy, gboolean is_taken)
{
  g_autoptr (CuratorClient) client = client_new (proxy_address (proxy));
  g_autoptr (GError) error = NULL;

  curator_client_add_auth (client, "digest", "joe:apple", 9);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/auth/digest");
  assert_int_equal (way_lease (lock, LONG_MS, NULL, &error), is_taken);
  assert_int_equal (error != NULL && is_told (error, proxy), !is_taken);
  curator_client_close (client);
}

TEST (test_every_first_question)
{
  for (gsize i = 0; i < G_N_ELEMENTS (servers); i++)
    {
      ZkServer *server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, servers[i].options);
      assert_non_null (server);
      Proxy *proxy = proxy_new (zk_server_address (server));
      print_message ("%s\n", servers[i].name);
      for (gsize question = 0; question < N_QUESTIONS; question++)
        if (can_ask (question))
          check_refused (proxy, question);
      check_digest (proxy, servers[i].takes_digest);
      proxy_free (proxy);
      zk_server_stop (server);
    }
}

/* Credentials of a scheme that the server does not know: the handle fails, and every call and
 * listener gets the error. */
TEST (test_p5_refused_credentials)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_add_auth (client, "nosuchscheme", "x", 1);
  assert_ok (curator_client_start (client, &error), &error);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/auth/refused");
  g_autoptr (Contender) contender = contender_start (lock, CURATOR_WAIT_FOREVER, NULL);
  assert_true (contender_wait (contender, LONG_MS));
  assert_false (contender->acquired);
  assert_curator_error (&contender->error, CURATOR_ERROR_AUTH_FAILED);
  assert_not_acquired (lock, 1000, CURATOR_ERROR_AUTH_FAILED);
  assert_false (curator_client_block_until_connected (client, 1000, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_AUTH_FAILED);
  assert_no_residue (fixture, "/auth/refused", LONG_MS);
}

/* The requests of every kind of call are under way when the server refuses. No call takes that for
 * an answer about a node, and none says that a lock is free. */
TEST (test_refused_under_way)
{
  Caller callers[N_QUESTIONS] = { 0 };
  World world = { 0 };
  g_autoptr (GError) error = NULL;
  CuratorClient *client = client_new (fixture_proxy (fixture));

  curator_client_add_auth (client, "nosuchscheme", "x", 1);
  proxy_arm (fixture->proxy, PROXY_AUTH, 1, 1, PROXY_HOLD_REQUEST);
  world_open (&world, client);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  for (gsize i = 0; i < N_QUESTIONS; i++)
    {
      callers[i] = (Caller){ .world = &world, .question = i };
      callers[i].thread = can_ask (i) ? g_thread_new ("ask", run_caller, &callers[i]) : NULL;
    }
  wait_ms (200);
  proxy_let_go (fixture->proxy);
  for (gsize i = 0; i < N_QUESTIONS; i++)
    {
      if (callers[i].thread == NULL)
        continue;
      g_thread_join (callers[i].thread);
      if (callers[i].succeeded)
        fail_msg ("%s succeeds", name_of (i));
      print_message ("%s: %s\n", name_of (i), callers[i].error->message);
      assert_curator_error (&callers[i].error, CURATOR_ERROR_AUTH_FAILED);
    }
  proxy_disarm (fixture->proxy);
  world_close (&world);
  assert_no_residue (fixture, "/outage/mutex", LONG_MS);
}

SUITE ("outage", fixture_start_slow, fixture_stop)
