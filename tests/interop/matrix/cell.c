#include "cell.h"

#include "support/held_lease.h"

#include <stdlib.h>
#include <string.h>

const char *const cell_pairs[CELL_PAIRS][2] = { { "mutex", "mutex" },
                                                { "semmutex", "semmutex" },
                                                { "semaphore:1", "semaphore:1" },
                                                { "read", "write" },
                                                { "write", "read" } };

char *
cell_wrong (Cell *cell, const char *what, const GError *error)
{
  g_autofree char *output = cell->peer != NULL ? peer_output (cell->peer) : g_strdup ("none");
  return g_strdup_printf ("not so: %s%s%s; the peer: %s", what, error != NULL ? ": " : "",
                          error != NULL ? error->message : "", output);
}

CuratorClient *
cell_client_new (const char *servers, int session_ms, gboolean compression)
{
  CuratorClient *client = curator_client_new (servers, NULL);
  curator_client_set_session_timeout (client, session_ms);
  curator_client_set_server_tick (client, CELL_TICK_MS);
  curator_client_set_compression (client, compression);
  return client;
}

CuratorClient *
cell_client_start (CuratorClient *client)
{
  if (!curator_client_start (client, NULL)
      || !curator_client_block_until_connected (client, LONG_MS, NULL, NULL)) {
    curator_client_close (client);
    g_clear_pointer (&client, curator_client_unref);
  }
  return client;
}

CuratorClient *
cell_connect (const char *servers, int session_ms, gboolean compression)
{
  return cell_client_start (cell_client_new (servers, session_ms, compression));
}

gboolean
cell_open (Cell *cell, int session_ms, int peer_session_ms)
{
  cell->client = cell_connect (cell->servers, session_ms, cell->compression);
  cell->raw = raw_zk_open (cell->servers);
  cell->peer = peer_start_java (cell->servers, peer_session_ms, cell->compression);
  return cell->client != NULL && cell->raw != NULL && cell->peer != NULL;
}

void
cell_close (Cell *cell)
{
  g_clear_pointer (&cell->peer, peer_free);
  g_clear_pointer (&cell->raw, raw_zk_close);
  if (cell->client != NULL)
    curator_client_close (cell->client);
  g_clear_pointer (&cell->client, curator_client_unref);
}

static CuratorLock *
new_lock (CuratorClient *client, const char *recipe, const char *path, GError **error)
{
  if (strcmp (recipe, "mutex") == 0)
    return curator_mutex_new (client, path, error);
  if (strcmp (recipe, "semmutex") == 0)
    return curator_semaphore_mutex_new (client, path, error);
  g_autoptr (CuratorRwLock) rw_lock = curator_rw_lock_new (client, path, NULL, 0, error);
  return curator_lock_ref (strcmp (recipe, "read") == 0 ? curator_rw_lock_get_read_lock (rw_lock)
                                                        : curator_rw_lock_get_write_lock (rw_lock));
}

/* 0: no semaphore. */
static int
permits_of (const char *recipe)
{
  return g_str_has_prefix (recipe, "semaphore:") ? atoi (recipe + strlen ("semaphore:")) : 0;
}

CuratorLease *
cell_take (CuratorClient *client, const char *recipe, const char *path, gint64 timeout_ms,
           GError **error)
{
  if (permits_of (recipe) > 0) {
    g_autoptr (CuratorSemaphore) semaphore =
        curator_semaphore_new (client, path, permits_of (recipe), error);
    return curator_semaphore_acquire (semaphore, timeout_ms, NULL, error);
  }
  g_autoptr (CuratorLock) lock = new_lock (client, recipe, path, error);
  return curator_lock_acquire_lease (lock, timeout_ms, NULL, error);
}

static void *
take (void *data)
{
  Taker *taker = data;
  taker->lease = cell_take (taker->client, taker->recipe, taker->path, LONG_MS, &taker->error);
  g_atomic_int_set (&taker->returned, TRUE);
  return NULL;
}

Taker *
taker_start (CuratorClient *client, const char *recipe, const char *path)
{
  Taker *taker = g_new0 (Taker, 1);
  taker->client = client;
  taker->recipe = recipe;
  taker->path = g_strdup (path);
  pthread_create (&taker->thread, NULL, take, taker);
  return taker;
}

void
taker_free (Taker *taker)
{
  pthread_join (taker->thread, NULL);
  if (taker->lease != NULL) {
    curator_lease_release (taker->lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
    curator_lease_unref (taker->lease);
  }
  g_clear_error (&taker->error);
  g_free (taker->path);
  g_free (taker);
}

gboolean
taker_is_granted (Taker *taker)
{
  return holds_within (g_atomic_int_get (&taker->returned), LONG_MS) && taker->lease != NULL;
}

/* Below the node where the contenders of a recipe queue. */
static gboolean
queue_has (Cell *cell, const char *recipe, const char *path, int n)
{
  g_autofree char *queue =
      g_strconcat (path, g_str_has_prefix (recipe, "sem") ? "/leases" : "", NULL);
  return raw_zk_wait_children (cell->raw, queue, n, LONG_MS);
}

char *
cell_contend (Cell *cell, const char *recipe)
{
  const char *const options[] = { "-Dcompression=yes", NULL };
  g_autofree char *name = g_strdelimit (g_strdup (recipe), ":/", '-');
  g_autofree char *path = g_strdup_printf ("/contest%s/%s", cell->compression ? "-gzip" : "", name);
  g_autoptr (GArray) events = NULL;
  const ContestPlan plan = { .connect_string = cell->servers,
                             .java_options = cell->compression ? options : NULL,
                             .java_class = "MatrixPeer",
                             .path = path,
                             .c_recipe = recipe,
                             .java_recipe = strcmp (recipe, "downgrade") == 0 ? "write" : recipe,
                             .threads = 4,
                             .acquisitions = cell->acquisitions,
                             .hold_ms = 1,
                             .limit = permits_of (recipe) };
  if (cell->compression)
    g_setenv (CONTEST_COMPRESSION, "yes", TRUE);
  else
    g_unsetenv (CONTEST_COMPRESSION);
  return contest_run (&plan, &events);
}

/* A waiter in Java whose time ends, then one that is granted; and the reverse. */
char *
cell_time_out (Cell *cell, const char *holder, const char *waiter)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *name = g_strdelimit (g_strconcat (holder, "-", waiter, NULL), ":", '-');
  g_autofree char *path = g_strconcat ("/timed/", name, NULL);
  g_autoptr (CuratorLease) held = cell_take (cell->client, holder, path, LONG_MS, &error);
  CELL_CHECK (held != NULL, error);
  peer_tell (cell->peer, "acquire t-%s %s %s %d", name, waiter, path, REFUSAL_MS);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "TIMED_OUT t-%s", name), NULL);
  CELL_CHECK (queue_has (cell, holder, path, 1), NULL);
  peer_tell (cell->peer, "acquire g-%s %s %s %d", name, waiter, path, LONG_MS);
  CELL_CHECK (queue_has (cell, holder, path, 2), NULL);
  g_autofree char *granted = g_strconcat ("ACQUIRED g-", name, NULL);
  CELL_CHECK (!peer_has (cell->peer, granted), NULL);
  CELL_CHECK (curator_lease_release (held, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "%s", granted), NULL);

  g_autoptr (CuratorLease) none = cell_take (cell->client, holder, path, REFUSAL_MS, &error);
  CELL_CHECK (none == NULL && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT),
              error);
  CELL_CHECK (queue_has (cell, holder, path, 1), NULL);
  g_autoptr (Taker) taker = taker_start (cell->client, holder, path);
  CELL_CHECK (queue_has (cell, holder, path, 2), NULL);
  CELL_CHECK (!g_atomic_int_get (&taker->returned), NULL);
  peer_tell (cell->peer, "release g-%s", name);
  CELL_CHECK (taker_is_granted (taker), taker->error);
  return NULL;
}

/* One JVM holds a lock of every kind and is killed: the waiters in C get them all, not before. */
char *
cell_kill_java (Cell *cell)
{
  g_autoptr (Peer) victim = peer_start_java (cell->servers, KILLED_MS, cell->compression);
  g_autoptr (GPtrArray) takers = g_ptr_array_new_with_free_func ((GDestroyNotify) taker_free);
  CELL_CHECK (victim != NULL, NULL);
  for (int i = 0; i < CELL_PAIRS; i++) {
    g_autofree char *path = g_strdup_printf ("/kill-java/%d", i);
    peer_tell (victim, "acquire h%d %s %s -1", i, cell_pairs[i][0], path);
    CELL_CHECK (peer_expect (victim, LONG_MS, "ACQUIRED h%d", i), NULL);
    g_ptr_array_add (takers, taker_start (cell->client, cell_pairs[i][1], path));
    CELL_CHECK (queue_has (cell, cell_pairs[i][0], path, 2), NULL);
  }
  for (guint i = 0; i < takers->len; i++)
    CELL_CHECK (!g_atomic_int_get (&((Taker *) g_ptr_array_index (takers, i))->returned), NULL);
  peer_kill (victim);
  for (guint i = 0; i < takers->len; i++) {
    Taker *taker = g_ptr_array_index (takers, i);
    CELL_CHECK (taker_is_granted (taker), taker->error);
  }
  return NULL;
}

/* The same with a process in C, and waiters in Java. */
char *
cell_kill_c (Cell *cell)
{
  GPtrArray *argv = g_ptr_array_new_with_free_func (g_free);
  contest_add (argv, "%s", cell->program);
  contest_add (argv, "hold");
  contest_add (argv, "%s", cell->servers);
  contest_add (argv, "/kill-c");
  g_autoptr (Peer) victim = peer_start (argv, NULL, NULL);
  CELL_CHECK (victim != NULL && peer_expect (victim, LONG_MS, "HOLDING"), NULL);
  for (int i = 0; i < CELL_PAIRS; i++) {
    g_autofree char *path = g_strdup_printf ("/kill-c/%d", i);
    peer_tell (cell->peer, "acquire k%d %s %s -1", i, cell_pairs[i][1], path);
    CELL_CHECK (queue_has (cell, cell_pairs[i][0], path, 2), NULL);
  }
  CELL_CHECK (!peer_has (cell->peer, "ACQUIRED k0"), NULL);
  peer_kill (victim);
  for (int i = 0; i < CELL_PAIRS; i++) {
    CELL_CHECK (peer_expect (cell->peer, LONG_MS, "ACQUIRED k%d", i), NULL);
    peer_tell (cell->peer, "release k%d", i);
  }
  return NULL;
}

/* A writer in C becomes a reader while a writer in Java waits: it goes on waiting. */
char *
cell_downgrade_in_c (Cell *cell)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorRwLock) rw_lock =
      curator_rw_lock_new (cell->client, "/downgrade/c", NULL, 0, &error);
  CuratorLock *write = curator_rw_lock_get_write_lock (rw_lock);
  CuratorLock *read = curator_rw_lock_get_read_lock (rw_lock);
  CELL_CHECK (curator_lock_acquire (write, LONG_MS, NULL, &error), error);
  peer_tell (cell->peer, "acquire dw write /downgrade/c -1");
  CELL_CHECK (queue_has (cell, "write", "/downgrade/c", 2), NULL);
  CELL_CHECK (curator_lock_acquire (read, LONG_MS, NULL, &error), error);
  CELL_CHECK (curator_lock_release (write, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (!peer_expect (cell->peer, QUIET_MS, "ACQUIRED dw"), NULL);
  CELL_CHECK (curator_lock_release (read, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "ACQUIRED dw"), NULL);
  peer_tell (cell->peer, "release dw");
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "RELEASED dw"), NULL);
  return NULL;
}

/* The reverse. Before 5.5.0 Java's reader queues behind the writer, who is let in beside it. */
char *
cell_downgrade_in_java (Cell *cell)
{
  peer_tell (cell->peer, "acquire dj write /downgrade/java -1");
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "ACQUIRED dj"), NULL);
  g_autoptr (Taker) taker = taker_start (cell->client, "write", "/downgrade/java");
  CELL_CHECK (queue_has (cell, "write", "/downgrade/java", 2), NULL);
  peer_tell (cell->peer, "downgrade dj");
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "DOWNGRADED dj"), NULL);
  const gboolean overtaken = holds_within (g_atomic_int_get (&taker->returned), QUIET_MS);
  peer_tell (cell->peer, "release dj");
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "RELEASED dj"), NULL);
  CELL_CHECK (taker_is_granted (taker), taker->error);
  CELL_CHECK (overtaken == cell->downgrade_is_overtaken, NULL);
  return NULL;
}

static void
on_asked (CuratorLock *lock, gpointer user_data)
{
  g_atomic_int_inc ((int *) user_data);
}

/* C asks a holder in Java, and Java a holder in C. */
char *
cell_revoke (Cell *cell, const char *recipe)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path =
      g_strdup_printf ("/revoke%s/%s", cell->compression ? "-gzip" : "", recipe);
  g_autoptr (CuratorLock) lock = new_lock (cell->client, recipe, path, &error);
  int asked = 0;
  peer_tell (cell->peer, "revocable r-%s %s %s", recipe, recipe, path);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "ACQUIRED r-%s", recipe), NULL);
  g_auto (GStrv) nodes =
      curator_lock_get_participant_nodes (lock, CURATOR_WAIT_DEFAULT, NULL, &error);
  CELL_CHECK (nodes != NULL && g_strv_length (nodes) == 1, error);
  CELL_CHECK (
      curator_client_attempt_revoke (cell->client, nodes[0], CURATOR_WAIT_DEFAULT, NULL, &error),
      error);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "ASKED r-%s", recipe), NULL);
  peer_tell (cell->peer, "release r-%s", recipe);

  CELL_CHECK (curator_lock_make_revocable (lock, on_asked, &asked, NULL, &error), error);
  CELL_CHECK (curator_lock_acquire (lock, LONG_MS, NULL, &error), error);
  peer_tell (cell->peer, "revoke %s", curator_lease_get_node_path (held_lease (lock)));
  CELL_CHECK (holds_within (g_atomic_int_get (&asked) > 0, LONG_MS), NULL);
  CELL_CHECK (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (g_atomic_int_get (&asked) == 1, NULL);
  return NULL;
}

static void
on_lease_asked (CuratorSemaphore *semaphore, CuratorLease *lease, gpointer user_data)
{
  g_atomic_int_inc ((int *) user_data);
}

char *
cell_revoke_lease (Cell *cell)
{
  g_autoptr (GError) error = NULL;
  int asked = 0;
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new (cell->client, "/revoked/semaphore", 2, &error);
  CELL_CHECK (curator_semaphore_make_revocable (semaphore, on_lease_asked, &asked, NULL, &error),
              error);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
  CELL_CHECK (lease != NULL, error);
  peer_tell (cell->peer, "revoke %s", curator_lease_get_node_path (lease));
  CELL_CHECK (holds_within (g_atomic_int_get (&asked) > 0, LONG_MS), NULL);
  CELL_CHECK (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (g_atomic_int_get (&asked) == 1, NULL);
  return NULL;
}

char *
cell_revoke_packed (Cell *cell)
{
  g_autoptr (GError) error = NULL;
  int asked = 0;
  g_autoptr (CuratorClient) client = cell_client_new (cell->servers, SESSION_MS, TRUE);
  curator_client_set_default_data (client, "label", 5);
  client = cell_client_start (client);
  CELL_CHECK (client != NULL, NULL);
  g_autoptr (CuratorLock) labelled = curator_mutex_new (client, "/packed/labelled", &error);
  CELL_CHECK (curator_lock_acquire (labelled, LONG_MS, NULL, &error), error);
  peer_tell (cell->peer, "read %s", curator_lease_get_node_path (held_lease (labelled)));
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "READ label"), NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/packed/revocable", &error);
  CELL_CHECK (curator_lock_make_revocable (lock, on_asked, &asked, NULL, &error), error);
  CELL_CHECK (curator_lock_acquire (lock, LONG_MS, NULL, &error), error);
  peer_tell (cell->peer, "revoke-packed %s", curator_lease_get_node_path (held_lease (lock)));
  CELL_CHECK (holds_within (g_atomic_int_get (&asked) > 0, LONG_MS), NULL);
  CELL_CHECK (curator_lock_release (labelled, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  curator_client_close (client);
  return NULL;
}

/* Each follows what the other writes, the seed included. */
char *
cell_count (Cell *cell)
{
  g_autoptr (GError) error = NULL;
  const char *path = cell->compression ? "/count-gzip" : "/count";
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (cell->client, path, 3, &error);
  CELL_CHECK (curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  peer_tell (cell->peer, "count %s 5", path);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "COUNT 3"), NULL);
  CELL_CHECK (curator_shared_count_set (count, -7, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "CHANGED -7"), NULL);
  peer_tell (cell->peer, "set 11");
  CELL_CHECK (holds_within (curator_shared_count_get (count) == 11, LONG_MS), NULL);
  curator_shared_count_close (count);
  return NULL;
}
