/* An outage is never reported as contention or the reverse, and no call waits longer than it may: all
 * operations that wait, as extreme_headers finds them, against every reason why they do. The same
 * operations of clients that a server does not serve are told so, once. */
#include "core/client-record.h"
#include "core/monitor.h"
#include "extremes.h"
#include "support/net.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define CALL_MS       300
#define CONNECT_MS    500
#define CONTENTION_MS 10000 /* time for a busy machine to answer a few requests */
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
  curator_client_set_connection_timeout (client, LONG_MS);
  client_start (client);
  return client;
}

typedef struct
{
  const char *path;
  KindNew create;
  KindNew block; /* what excludes it */
} Recipe;

static const Recipe recipes[] = {
  { "/outage/mutex", mutex_new, mutex_new },
  { "/outage/semaphore", semaphore_mutex_new, semaphore_mutex_new },
  { "/outage/fixed", fixed_node_new, fixed_node_new },
  { "/outage/rw", writer_new, writer_new },
  { "/outage/rw", reader_new, writer_new },
  { "/outage/mutex", multi_lock_new, mutex_new },
};

/* A call that waits, of each recipe if it acquires. */
typedef struct
{
  const Extreme *extreme;
  const Recipe *recipe;
} Operation;

static Operation operations[64];
static guint n_operations;

/* In a name of a function. */
static gboolean
has_any (const char *function, const char *const *parts)
{
  for (; *parts != NULL; parts++)
    if (strstr (function, *parts) != NULL)
      return TRUE;
  return FALSE;
}

/* Those that wait for what no server knows, or need what only a server can give, are not here. */
static void
find_operations (void)
{
  static const char *const others[] = { "_connected", "_delete_ownerless", "_selector_await",
                                        NULL };

  for (guint i = 0; i < n_extremes; i++) {
    const gboolean acquires = g_str_has_prefix (extremes[i].function, "curator_lock_acquire");
    const gsize n = acquires ? G_N_ELEMENTS (recipes) : 1;
    if (extremes[i].rule != RULE_WAIT || has_any (extremes[i].function, others))
      continue;
    for (gsize r = 0; r < n; r++) {
      g_assert (n_operations < G_N_ELEMENTS (operations));
      operations[n_operations++] = (Operation){ &extremes[i], acquires ? &recipes[r] : NULL };
    }
  }
}

/* Which it waits for. */
static gboolean
needs_lock (const Operation *operation)
{
  static const char *const parts[] = { "_semaphore_acquire", "_latch_await", NULL };
  return has_any (operation->extreme->function, parts);
}

/* A lease, or a count that is started. */
static gboolean
needs_server (const Operation *operation)
{
  static const char *const parts[] = { "_get_data", "_count_set", "_count_try_set", NULL };
  return has_any (operation->extreme->function, parts);
}

static gboolean
starts_count (const Operation *operation)
{
  return strstr (operation->extreme->function, "_count_start") != NULL;
}

/* One cell of the table: an operation with a timeout, on a thread of its own. */
typedef struct
{
  const Operation *operation;
  Stage stage;
  Outcome outcome;
  gboolean is_cancelled; /* while it waits */
  GThread *thread;
  gint64 took_ms;
} Cell;

static gpointer
run_cell (gpointer data)
{
  Cell *cell = data;
  const Extreme *extreme = cell->operation->extreme;
  const gint64 since = wait_now_ms ();

  if (strstr (extreme->function, "_latch_await") != NULL) {
    G_GNUC_UNUSED const gboolean is_first = curator_leader_latch_start (cell->stage.latch, NULL);
  }
  extreme->run (&cell->stage, &cell->outcome);
  extreme_await (extreme, &cell->outcome);
  cell->took_ms = wait_now_ms () - since;
  return NULL;
}

static Cell *
cell_start (const Stage *world, const Operation *operation, gint64 ms, gboolean is_cancelled)
{
  Cell *cell = g_new0 (Cell, 1);

  cell->operation = operation;
  cell->is_cancelled = is_cancelled;
  cell->stage = *world;
  cell->stage.value = ms;
  cell->stage.cancellable = g_cancellable_new ();
  if (operation->recipe != NULL)
    cell->stage.lock = operation->recipe->create (world->client, operation->recipe->path);
  if (starts_count (operation))
    cell->stage.count = curator_shared_count_new (world->client, "/outage/new-count", 1, NULL);
  cell->thread = g_thread_new ("cell", run_cell, cell);
  return cell;
}

static void
cell_end (Cell *cell)
{
  g_clear_pointer (&cell->thread, g_thread_join);
}

static void
cell_free (Cell *cell)
{
  cell_end (cell);
  if (cell->outcome.drop != NULL)
    g_clear_pointer (&cell->outcome.result, cell->outcome.drop);
  g_clear_error (&cell->outcome.error);
  if (cell->operation->recipe != NULL)
    curator_lock_unref (cell->stage.lock);
  if (starts_count (cell->operation))
    curator_shared_count_unref (cell->stage.count);
  g_object_unref (cell->stage.cancellable);
  g_free (cell);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Cell, cell_free)

static GPtrArray *
cells_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) cell_free);
}

/* With a lease, all of them; else those that need no server first. */
static void
add_cells (GPtrArray *cells, const Stage *world, gint64 ms, gboolean is_cancelled)
{
  for (guint i = 0; i < n_operations; i++)
    if (!needs_lock (&operations[i]) && (world->lease != NULL || !needs_server (&operations[i])))
      g_ptr_array_add (cells, cell_start (world, &operations[i], ms, is_cancelled));
}

static void
add_acquires (GPtrArray *cells, const Stage *world, gint64 ms)
{
  for (guint i = 0; i < n_operations; i++)
    if (operations[i].recipe != NULL)
      g_ptr_array_add (cells, cell_start (world, &operations[i], ms, FALSE));
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
  const GError *error = cell->outcome.error;
  const char *about = cell->operation->recipe != NULL ? "acquiring /outage/" : "/outage";

  if (cell->is_cancelled)
    return g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  return g_error_matches (error, CURATOR_ERROR, (int) column->code)
         && strstr (error->message, column->cause) != NULL && strstr (error->message, " ms") != NULL
         && strstr (error->message, about) != NULL;
}

static void
check_cells (GPtrArray *cells, const Column *column, gint64 within_ms)
{
  for (guint i = 0; i < cells->len; i++) {
    Cell *cell = g_ptr_array_index (cells, i);
    cell_end (cell);
    const GError *error = cell->outcome.error;
    if (!is_as_expected (cell, column) || cell->took_ms > within_ms) {
      fail_msg ("%s, %s (), timeout %d: %s, code %d, after %d ms", column->name,
                cell->operation->extreme->function, (int) cell->stage.value,
                error != NULL ? error->message : "succeeded", error != NULL ? error->code : -1,
                (int) cell->took_ms);
    }
  }
}

/* All operations at once, with each kind of limit. */
static void
check_outage (const Stage *world, const Column *column)
{
  g_autoptr (GPtrArray) cells = cells_new ();

  add_cells (cells, world, 0, FALSE);
  add_cells (cells, world, CURATOR_WAIT_DEFAULT, FALSE);
  add_cells (cells, world, CALL_MS, FALSE);
  add_cells (cells, world, CURATOR_WAIT_FOREVER, TRUE);
  wait_ms (50);
  for (guint i = 0; i < cells->len; i++) {
    Cell *cell = g_ptr_array_index (cells, i);
    if (cell->is_cancelled)
      g_cancellable_cancel (cell->stage.cancellable);
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
world_open (Stage *world, CuratorClient *client)
{
  world->client = client;
  world->node = "/outage/no/such/node";
  world->lock = curator_mutex_new (world->client, "/outage/bounded", NULL);
  world->semaphore = curator_semaphore_new (world->client, "/outage/bounded-semaphore", 2, NULL);
  world->count = curator_shared_count_new (world->client, "/outage/count", 1, NULL);
  world->selector =
      curator_leader_selector_new (world->client, "/outage/selector", never_lead, NULL, NULL, NULL);
  world->latch = curator_leader_latch_new (world->client, "/outage/latch", NULL, NULL);
  start (world->client);
}

static void
world_connect (Stage *world, const char *address)
{
  g_autoptr (GError) error = NULL;
  world_open (world, impatient_client (address));
  assert_ok (curator_client_block_until_connected (world->client, LONG_MS, NULL, &error), &error);
  assert_ok (curator_shared_count_start (world->count, LONG_MS, NULL, &error), &error);
  curator_shared_count_get_versioned (world->count, NULL, &world->version);
  world->lease = lease_of (world->lock);
}

static void
world_close (Stage *world)
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
check_cause (Stage *world, CuratorConnectError code, const Column *column)
{
  assert_soon (has_cause (world->client, column->cause));
  g_autoptr (GError) error = curator_client_dup_connection_error (world->client);
  assert_error (&error, CURATOR_CONNECT_ERROR, (int) code);
  wait_ms (2); /* until then an outage has no length */
  check_outage (world, column);
}

static void
check_unreachable (const char *address, CuratorConnectError code, const Column *column)
{
  Stage world = { 0 };
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

  for (gsize i = 0; i < G_N_ELEMENTS (hosts); i++) {
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
  const struct Greeting *greeting;                   /* for it, as the next */
  GRand *rand;
  gint n_accepted; /* atomic */
  int listener;
  char *address;
  gint stop; /* atomic */
  GThread *thread;
} FakeServer;

static gpointer
run_fake (gpointer data)
{
  FakeServer *server = data;
  struct pollfd listening = { .fd = server->listener, .events = POLLIN };
  while (!g_atomic_int_get (&server->stop)) {
    const int fd = poll (&listening, 1, 50) > 0 ? accept (server->listener, NULL, NULL) : -1;
    if (fd >= 0) {
      g_atomic_int_inc (&server->n_accepted);
      server->serve (server, fd);
      close (fd);
    }
  }
  return NULL;
}

static void
fake_start (FakeServer *server)
{
  server->listener = listen_on (&server->address);
  server->thread = g_thread_new ("fake server", run_fake, server);
}

/* Its clients are closed. */
static void
fake_stop (FakeServer *server)
{
  g_atomic_int_set (&server->stop, TRUE);
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
  if (net_read (fd, size, sizeof size, LONG_MS) == sizeof size) {
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
  Stage world = { 0 };
  world_open (&world, impatient_client (server.address));
  check_cause (&world, CURATOR_CONNECT_ERROR_CONNECT, &column);
  world_close (&world);
  fake_stop (&server);
}

/* Connections that break, or fall silent, while there is a session. */
TEST (test_cut_off)
{
  const Column refused = { "cut off", CURATOR_ERROR_CONNECTION_LOST, "Connection refused" };
  const Column silent = { "fallen silent", CURATOR_ERROR_NO_ANSWER,
                          "connected, but no answer within" };
  Stage world = { 0 };
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
  g_autoptr (GPtrArray) cells = cells_new ();
  Stage world = { 0 };

  for (gsize r = 0; r < G_N_ELEMENTS (recipes); r++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorLock) lock = recipes[r].block (holder, recipes[r].path);
    CuratorLease *lease = curator_lock_acquire_lease (lock, 0, NULL, &error);
    /* Two recipes are excluded by the same hold. */
    if (lease != NULL)
      g_ptr_array_add (held, lease);
  }
  assert_int_equal (held->len, 4);
  world_connect (&world, fixture_server (fixture));
  for (guint i = 0; i < n_operations; i++) {
    if (operations[i].recipe != NULL)
      continue;
    g_autoptr (Cell) cell = cell_start (&world, &operations[i], LONG_MS, FALSE);
    cell_end (cell);
    assert_ok (cell->outcome.error == NULL, &cell->outcome.error);
    /* The version is that of the last set. */
    curator_shared_count_get_versioned (world.count, NULL, &world.version);
  }
  add_acquires (cells, &world, CONTENTION_MS);
  check_cells (cells, &column, CONTENTION_MS + SLACK_MS);
  g_ptr_array_set_size (cells, 0);
  world_close (&world);

  /* A single try takes as long as the server does, up to the connection timeout. */
  world.lease = NULL;
  world.client = holder_connect (fixture);
  add_acquires (cells, &world, 0);
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

static void
take_answer (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer outcome)
{
  extreme_answer (outcome, lease, (GDestroyNotify) curator_lease_unref, error);
}

/* The connection comes while the call waits, and nothing is answered on it. */
TEST (test_late_connection)
{
  g_autoptr (CuratorClient) client = impatient_client (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/outage/late");
  Outcome outcome = { 0 };

  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  start (client);
  curator_lock_acquire_then (lock, CONTENTION_MS, NULL, take_answer, &outcome);
  wait_ms (100);
  proxy_arm (fixture->proxy, PROXY_ANY_REQUEST, 1, 1, PROXY_HOLE_BEFORE);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_soon (g_atomic_int_get (&outcome.answered) > 0);
  assert_int_equal (proxy_fired (fixture->proxy), 1);
  if (strstr (outcome.error->message, " ms: connected for the last ") == NULL)
    fail_msg ("%s", outcome.error->message);
  assert_curator_error (&outcome.error, CURATOR_ERROR_NO_ANSWER);
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
  if (!connected) {
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
         && net_read (fd, head, sizeof head, LONG_MS) == sizeof head) {
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
  for (gsize r = 0; r < G_N_ELEMENTS (recipes); r++) {
    g_autoptr (CuratorLock) lock = recipes[r].create (client, recipes[r].path);
    assert_false (curator_lock_acquire (lock, LONG_MS, NULL, &error));
    assert_non_null (strstr (error->message, "3.5"));
    assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
  }
  curator_client_close (client);
  fake_stop (&server);
}

/* --- sessions that end at once ---------------------------------------------------------------- */

#define TIME_MS 1000
/* In that time. libzookeeper alone connects more than 20,000 times. */
#define MOST_CONNECTIONS  8000
#define LEAST_CONNECTIONS 3
/* A greeting, without the length before it. */
#define GREETING_BYTES 37

typedef struct Greeting
{
  const char *name;
  gint32 timeout_ms;
  gint64 id;
  gboolean is_noise; /* all other bytes are random */
  guint8 is_read_only;
} Greeting;

/* Protocol version, timeout, session id, password, read only. */
static GByteArray *
make_greeting (FakeServer *server)
{
  const Greeting *kind = server->greeting;
  GByteArray *greeting = g_byte_array_new ();

  net_put_int32 (greeting, GREETING_BYTES);
  net_put_int32 (greeting, kind->is_noise ? (gint32) g_rand_int (server->rand) : 0);
  net_put_int32 (greeting, kind->timeout_ms);
  net_put_int64 (greeting, kind->id);
  while (greeting->len < 4 + GREETING_BYTES) {
    const guint8 byte = (guint8) (kind->is_noise ? g_rand_int_range (server->rand, 0, 256) : 0);
    g_byte_array_append (greeting, &byte, 1);
  }
  greeting->data[4 + GREETING_BYTES - 1] |= kind->is_read_only;
  return greeting;
}

static void
greet (FakeServer *server, int fd)
{
  g_autoptr (GByteArray) greeting = make_greeting (server);
  guint8 request[4];

  net_read (fd, request, sizeof request, TIME_MS);
  send (fd, greeting->data, greeting->len, MSG_NOSIGNAL);
  /* It reads the greeting before it sees the end. */
  shutdown (fd, SHUT_WR);
  while (recv (fd, request, sizeof request, 0) > 0) {
  }
}

/* Whoever answers on a server's port grants no session, no timeout, or what nobody has asked for: the
 * client asks again, but not as fast as it can. */
TEST (test_sessions_that_end_at_once)
{
  static const Greeting kinds[] = {
    { "no session and no timeout", 0, 0, FALSE },
    { "no timeout", 0, 1, FALSE },
    { "a negative timeout", -1, 0, FALSE },
    { "the least timeout", G_MININT32, 1, FALSE },
    { "a session that can only read", 4000, 1, FALSE, 1 },
    { "the same without a timeout", -1, 1, FALSE, 1 },
    { "a negative timeout in noise", -1, 1, TRUE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autoptr (GRand) rand = g_rand_new_with_seed (1);
    FakeServer server = { .serve = greet, .greeting = &kinds[i], .rand = rand };
    fake_start (&server);
    g_autoptr (CuratorClient) client = client_new (server.address);
    start (client);
    wait_ms (TIME_MS);
    assert_soon (g_atomic_int_get (&server.n_accepted) >= LEAST_CONNECTIONS);
    const int n = g_atomic_int_get (&server.n_accepted);
    curator_client_close (client);
    fake_stop (&server);
    print_message ("%s: %d connections in %d ms\n", kinds[i].name, n, TIME_MS);
    assert_in_range (n, LEAST_CONNECTIONS, MOST_CONNECTIONS);
  }
}

/* --- what the log says: the cause, soon, and not again and again ------------------------------ */

static struct
{
  gint n; /* atomic */
  char *first;
} warnings;

static GLogWriterOutput
count_warnings (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  for (gsize i = 0; i < n_fields; i++) {
    const char *text = fields[i].value;
    if ((level & G_LOG_LEVEL_WARNING) != 0 && strcmp (fields[i].key, "MESSAGE") == 0
        && g_atomic_int_add (&warnings.n, 1) == 0)
      warnings.first = g_strdup (text);
  }
  return G_LOG_WRITER_HANDLED;
}

static gboolean
has_lost_three (CuratorClient *client)
{
  guint64 values[CURATOR_COUNTER_SESSIONS + 1];
  curator_client_get_counters (client, values, G_N_ELEMENTS (values));
  return values[CURATOR_COUNTER_SESSIONS] > 3;
}

TEST (test_one_warning)
{
  static const char *const servers[] = { "127.0.0.1:1", "no-such-host.invalid:2181" };

  for (gsize i = 0; i < G_N_ELEMENTS (servers); i++) {
    g_autoptr (CuratorClient) client = client_new (servers[i]);
    g_autoptr (GError) error = NULL;

    curator_client_set_session_timeout (client, 1000);
    curator_client_set_connection_timeout (client, CONNECT_MS);
    g_clear_pointer (&warnings.first, g_free);
    g_atomic_int_set (&warnings.n, 0);
    start (client);
    assert_soon (g_atomic_int_get (&warnings.n) > 0);
    assert_soon (has_lost_three (client));
    assert_int_equal (g_atomic_int_get (&warnings.n), 1);
    assert_non_null (strstr (warnings.first, servers[i]));
    g_autoptr (CuratorLock) lock = mutex_new (client, "/outage/warnings");
    assert_false (curator_lock_acquire (lock, 0, NULL, &error));
    assert_null (strstr (error->message, "for 0 ms"));
  }
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

static void
assert_is_told (const Stage *world, const Operation *operation, Proxy *proxy)
{
  g_autoptr (Cell) cell = cell_start (world, operation, LONG_MS, FALSE);
  cell_end (cell);
  if (!is_told (cell->outcome.error, proxy)) {
    fail_msg ("%s (): %s", operation->extreme->function,
              cell->outcome.error != NULL ? cell->outcome.error->message : "succeeded");
  }
}

/* The server's side is seen by the proxy: it has no connection any more, and gets none. */
static void
check_refused (Proxy *proxy, const Operation *first)
{
  Stage world = { 0 };

  world_open (&world, client_new (proxy_address (proxy)));
  assert_true (curator_client_block_until_connected (world.client, LONG_MS, NULL, NULL));
  assert_is_told (&world, first, proxy);
  assert_soon (has_no_handle (world.client));
  const int accepted = proxy_accepted (proxy);
  for (guint i = 0; i < n_operations; i++)
    if (!needs_server (&operations[i]))
      assert_is_told (&world, &operations[i], proxy);
  g_autoptr (GError) error = curator_client_dup_connection_error (world.client);
  assert_true (is_told (error, proxy));
  /* One that the handle began before its end may be accepted later. */
  assert_in_range (proxy_accepted (proxy), accepted, accepted + 1);
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
  assert_int_equal (curator_lock_acquire (lock, LONG_MS, NULL, &error), is_taken);
  assert_int_equal (error != NULL && is_told (error, proxy), !is_taken);
  curator_client_close (client);
}

TEST (test_every_first_question)
{
  for (gsize i = 0; i < G_N_ELEMENTS (servers); i++) {
    ZkServer *server = zk_server_start (LONG_SESSION_MS / 20, servers[i].options);
    assert_non_null (server);
    Proxy *proxy = proxy_new (zk_server_address (server));
    print_message ("%s\n", servers[i].name);
    for (guint k = 0; k < n_operations; k++)
      if (!needs_server (&operations[k]))
        check_refused (proxy, &operations[k]);
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
  assert_not_acquired (lock, LONG_MS, CURATOR_ERROR_AUTH_FAILED);
  assert_false (curator_client_block_until_connected (client, LONG_MS, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_AUTH_FAILED);
  assert_no_residue (fixture, "/auth/refused", LONG_MS);
}

/* The requests of every kind of call are under way when the server refuses. No call takes that for
 * an answer about a node, and none says that a lock is free. */
TEST (test_refused_under_way)
{
  g_autoptr (GPtrArray) cells = cells_new ();
  Stage world = { 0 };
  g_autoptr (GError) error = NULL;
  CuratorClient *client = client_new (fixture_proxy (fixture));

  curator_client_add_auth (client, "nosuchscheme", "x", 1);
  proxy_arm (fixture->proxy, PROXY_AUTH, 1, 1, PROXY_HOLD_REQUEST);
  world_open (&world, client);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  for (guint i = 0; i < n_operations; i++)
    if (!needs_server (&operations[i]))
      g_ptr_array_add (cells, cell_start (&world, &operations[i], LONG_MS, FALSE));
  wait_ms (200);
  proxy_let_go (fixture->proxy);
  for (guint i = 0; i < cells->len; i++) {
    Cell *cell = g_ptr_array_index (cells, i);
    cell_end (cell);
    if (cell->outcome.error == NULL)
      fail_msg ("%s () succeeds", cell->operation->extreme->function);
    assert_curator_error (&cell->outcome.error, CURATOR_ERROR_AUTH_FAILED);
  }
  g_ptr_array_set_size (cells, 0);
  proxy_disarm (fixture->proxy);
  world_close (&world);
  assert_no_residue (fixture, "/outage/mutex", LONG_MS);
}

int
main (void)
{
  g_log_set_writer_func (count_warnings, NULL, NULL);
  extreme_base = "/outage";
  find_operations ();
  return suite_run ("outage", fixture_start_calm, fixture_stop);
}
