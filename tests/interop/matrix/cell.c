#include "cell.h"

#include "support/checker.h"
#include "support/held_lease.h"
#include "support/process.h"
#include "support/waiting.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

static const char *const kinds[] = { "mutex", "semmutex", "semaphore:1", "read", "write" };

char *
cell_wrong (Cell *cell, const char *what, const GError *error)
{
  g_autofree char *output = cell->peer != NULL ? java_peer_output (cell->peer) : g_strdup ("none");
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
      || !curator_client_block_until_connected (client, LONG_MS, NULL, NULL))
    {
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

char *
cell_queue (const char *recipe, const char *path)
{
  return g_strconcat (path, g_str_has_prefix (recipe, "sem") ? "/leases" : "", NULL);
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

CuratorLease *
cell_take (CuratorClient *client, const char *recipe, const char *path, gint64 timeout_ms,
           GError **error)
{
  if (g_str_has_prefix (recipe, "semaphore:"))
    {
      g_autoptr (CuratorSemaphore) semaphore =
          curator_semaphore_new (client, path, atoi (recipe + strlen ("semaphore:")), error);
      return curator_semaphore_acquire (semaphore, timeout_ms, NULL, error);
    }
  g_autoptr (CuratorLock) lock = new_lock (client, recipe, path, error);
  return curator_lock_acquire_lease (lock, timeout_ms, NULL, error);
}

typedef struct
{
  CuratorClient *client;
  const char *recipe;
  char *path;
  pthread_t thread;
  gboolean returned; /* atomic */
  CuratorLease *lease;
  GError *error;
} Taker;

static void *
take (void *data)
{
  Taker *taker = data;
  taker->lease = cell_take (taker->client, taker->recipe, taker->path, LONG_MS, &taker->error);
  g_atomic_int_set (&taker->returned, TRUE);
  return NULL;
}

static Taker *
taker_start (CuratorClient *client, const char *recipe, const char *path)
{
  Taker *taker = g_new0 (Taker, 1);
  taker->client = client;
  taker->recipe = recipe;
  taker->path = g_strdup (path);
  pthread_create (&taker->thread, NULL, take, taker);
  return taker;
}

static void
taker_free (Taker *taker)
{
  pthread_join (taker->thread, NULL);
  if (taker->lease != NULL)
    {
      curator_lease_release (taker->lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
      curator_lease_unref (taker->lease);
    }
  g_clear_error (&taker->error);
  g_free (taker->path);
  g_free (taker);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Taker, taker_free)

static gboolean
has_returned (gpointer data)
{
  return g_atomic_int_get (&((Taker *) data)->returned);
}

static gboolean
taker_is_granted (Taker *taker)
{
  return wait_until (has_returned, taker, LONG_MS) && taker->lease != NULL;
}

static gboolean
queue_has (Cell *cell, const char *recipe, const char *path, int n)
{
  g_autofree char *queue = cell_queue (recipe, path);
  return (n == 0 && raw_zk_count_children (cell->raw, queue) <= 0)
         || raw_zk_wait_children (cell->raw, queue, n, LONG_MS);
}

/* The read node of a writer is created after those of the writers that wait, so its token is
 * higher. */
static gboolean
is_token_of_a_reader (const GArray *events, const CheckViolation *violation)
{
  return violation->kind == CHECK_TOKEN_NOT_RISING
         && g_array_index (events, RecordEvent, violation->first).kind == RECORD_READ;
}

static char *
judge (const ContestPlan *plan, int wanted, gboolean with_downgrades)
{
  const CheckerRules rules = { .residue_ms = 1000 };
  g_autoptr (GArray) events = contest_run (plan, 240000);
  if (events == NULL)
    return g_strdup ("a process failed");
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  for (guint i = 0; i < violations->len; i++)
    {
      const CheckViolation *violation = g_ptr_array_index (violations, i);
      if (!with_downgrades || !is_token_of_a_reader (events, violation))
        return g_strdup (violation->text);
    }
  const int grants = contest_grants (events, 0);
  return grants == wanted ? NULL : g_strdup_printf ("%d grants of %d", grants, wanted);
}

static char *
contend (Cell *cell, const char *c_recipe, const char *java_recipe, int limit,
         gboolean with_downgrades)
{
  const int each = cell->acquisitions;
  const char *const options[] = { "-Dcompression=yes", NULL };
  const ContestProcess processes[] = { { c_recipe, FALSE, THREADS, each },
                                       { c_recipe, FALSE, THREADS, each },
                                       { java_recipe, TRUE, THREADS, each },
                                       { NULL, FALSE, 0, 0 } };
  g_autofree char *name = g_strdelimit (g_strdup (c_recipe), ":/", '-');
  g_autofree char *path = g_strdup_printf ("/contest%s/%s", cell->compression ? "-gzip" : "", name);
  const ContestPlan plan = { .connect_string = cell->servers,
                             .java_options = cell->compression ? options : NULL,
                             .java_class = "MatrixPeer",
                             .path = path,
                             .processes = processes,
                             .hold_ms = 1,
                             .limit = limit };
  if (cell->compression)
    g_setenv (CONTEST_COMPRESSION, "yes", TRUE);
  else
    g_unsetenv (CONTEST_COMPRESSION);
  return judge (&plan, (with_downgrades ? 5 : 3) * THREADS * each, with_downgrades);
}

char *
cell_contend (Cell *cell, const char *recipe)
{
  const int limit =
      g_str_has_prefix (recipe, "semaphore:") ? atoi (recipe + strlen ("semaphore:")) : 1;
  return contend (cell, recipe, recipe, limit, FALSE);
}

char *
cell_downgrade_contest (Cell *cell)
{
  return contend (cell, "downgrade", "write", 1, TRUE);
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
  java_peer_tell (cell->peer, "acquire t-%s %s %s %d", name, waiter, path, REFUSAL_MS);
  g_autofree char *refused = g_strconcat ("TIMED_OUT t-", name, NULL);
  CELL_CHECK (java_peer_expect (cell->peer, refused, LONG_MS), NULL);
  CELL_CHECK (queue_has (cell, holder, path, 1), NULL);
  java_peer_tell (cell->peer, "acquire g-%s %s %s %d", name, waiter, path, LONG_MS);
  CELL_CHECK (queue_has (cell, holder, path, 2), NULL);
  g_autofree char *granted = g_strconcat ("ACQUIRED g-", name, NULL);
  CELL_CHECK (!java_peer_has (cell->peer, granted), NULL);
  CELL_CHECK (curator_lease_release (held, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (java_peer_expect (cell->peer, granted, LONG_MS), NULL);

  g_autoptr (CuratorLease) none = cell_take (cell->client, holder, path, REFUSAL_MS, &error);
  CELL_CHECK (none == NULL && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT),
              error);
  CELL_CHECK (queue_has (cell, holder, path, 1), NULL);
  g_autoptr (Taker) taker = taker_start (cell->client, holder, path);
  CELL_CHECK (queue_has (cell, holder, path, 2), NULL);
  CELL_CHECK (!has_returned (taker), NULL);
  java_peer_tell (cell->peer, "release g-%s", name);
  CELL_CHECK (taker_is_granted (taker), taker->error);
  return NULL;
}

/* One JVM holds a lock of every kind and is killed: the waiters in C get them all, not before. */
char *
cell_kill_java (Cell *cell)
{
  g_autoptr (JavaPeer) victim = java_peer_start (cell->servers, KILLED_MS, cell->compression);
  g_autoptr (GPtrArray) takers = g_ptr_array_new_with_free_func ((GDestroyNotify) taker_free);
  CELL_CHECK (victim != NULL, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autofree char *path = g_strdup_printf ("/kill-java/%" G_GSIZE_FORMAT, i);
      java_peer_tell (victim, "acquire h%d %s %s -1", (int) i, kinds[i], path);
      g_autofree char *held = g_strdup_printf ("ACQUIRED h%d", (int) i);
      CELL_CHECK (java_peer_expect (victim, held, LONG_MS), NULL);
      const char *waits = strcmp (kinds[i], "read") == 0 ? "write" : kinds[i];
      g_ptr_array_add (takers, taker_start (cell->client, waits, path));
      CELL_CHECK (queue_has (cell, kinds[i], path, 2), NULL);
    }
  for (guint i = 0; i < takers->len; i++)
    CELL_CHECK (!has_returned (g_ptr_array_index (takers, i)), NULL);
  java_peer_kill (victim);
  for (guint i = 0; i < takers->len; i++)
    {
      Taker *taker = g_ptr_array_index (takers, i);
      CELL_CHECK (taker_is_granted (taker), taker->error);
    }
  return NULL;
}

static gboolean
file_has_line (gpointer path)
{
  g_autofree char *text = NULL;
  return g_file_get_contents (path, &text, NULL, NULL) && strchr (text, '\n') != NULL;
}

/* The same with a process in C, PROGRAM hold SERVERS PATH, and waiters in Java. */
char *
cell_kill_c (Cell *cell, const char *program)
{
  g_autofree char *output = NULL;
  const int fd = g_file_open_tmp ("curator-matrix-XXXXXX", &output, NULL);
  CELL_CHECK (fd >= 0, NULL);
  g_close (fd, NULL);
  const char *const argv[] = { program, "hold", cell->servers, "/kill-c", NULL };
  const pid_t victim = process_spawn ((char *const *) argv, output);
  const gboolean holds = wait_until (file_has_line, output, LONG_MS);
  g_unlink (output);
  CELL_CHECK (victim > 0 && holds, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autofree char *path = g_strdup_printf ("/kill-c/%" G_GSIZE_FORMAT, i);
      const char *waits = strcmp (kinds[i], "read") == 0 ? "write" : kinds[i];
      java_peer_tell (cell->peer, "acquire k%d %s %s -1", (int) i, waits, path);
      CELL_CHECK (queue_has (cell, kinds[i], path, 2), NULL);
    }
  CELL_CHECK (!java_peer_has (cell->peer, "ACQUIRED k0"), NULL);
  process_kill (victim);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autofree char *granted = g_strdup_printf ("ACQUIRED k%d", (int) i);
      CELL_CHECK (java_peer_expect (cell->peer, granted, LONG_MS), NULL);
      java_peer_tell (cell->peer, "release k%d", (int) i);
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
  java_peer_tell (cell->peer, "acquire dw write /downgrade/c -1");
  CELL_CHECK (queue_has (cell, "write", "/downgrade/c", 2), NULL);
  CELL_CHECK (curator_lock_acquire (read, LONG_MS, NULL, &error), error);
  CELL_CHECK (curator_lock_release (write, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (!java_peer_expect (cell->peer, "ACQUIRED dw", QUIET_MS), NULL);
  CELL_CHECK (curator_lock_release (read, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (java_peer_expect (cell->peer, "ACQUIRED dw", LONG_MS), NULL);
  java_peer_tell (cell->peer, "release dw");
  CELL_CHECK (java_peer_expect (cell->peer, "RELEASED dw", LONG_MS), NULL);
  return NULL;
}

/* The reverse. Before 5.5.0 Java's reader queues behind the writer, who is let in beside it. */
char *
cell_downgrade_in_java (Cell *cell)
{
  java_peer_tell (cell->peer, "acquire dj write /downgrade/java -1");
  CELL_CHECK (java_peer_expect (cell->peer, "ACQUIRED dj", LONG_MS), NULL);
  g_autoptr (Taker) taker = taker_start (cell->client, "write", "/downgrade/java");
  CELL_CHECK (queue_has (cell, "write", "/downgrade/java", 2), NULL);
  java_peer_tell (cell->peer, "downgrade dj");
  CELL_CHECK (java_peer_expect (cell->peer, "DOWNGRADED dj", LONG_MS), NULL);
  const gboolean overtaken = wait_until (has_returned, taker, QUIET_MS);
  java_peer_tell (cell->peer, "release dj");
  CELL_CHECK (java_peer_expect (cell->peer, "RELEASED dj", LONG_MS), NULL);
  CELL_CHECK (taker_is_granted (taker), taker->error);
  CELL_CHECK (overtaken == cell->downgrade_is_overtaken, NULL);
  return NULL;
}

static void
on_asked (CuratorLock *lock, gpointer user_data)
{
  g_atomic_int_inc ((int *) user_data);
}

static gboolean
is_positive (gpointer counter)
{
  return g_atomic_int_get ((int *) counter) > 0;
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
  java_peer_tell (cell->peer, "revocable r-%s %s %s", recipe, recipe, path);
  g_autofree char *held = g_strconcat ("ACQUIRED r-", recipe, NULL);
  CELL_CHECK (java_peer_expect (cell->peer, held, LONG_MS), NULL);
  g_auto (GStrv) nodes =
      curator_lock_get_participant_nodes (lock, CURATOR_WAIT_DEFAULT, NULL, &error);
  CELL_CHECK (nodes != NULL && g_strv_length (nodes) == 1, error);
  CELL_CHECK (
      curator_client_attempt_revoke (cell->client, nodes[0], CURATOR_WAIT_DEFAULT, NULL, &error),
      error);
  g_autofree char *heard = g_strconcat ("ASKED r-", recipe, NULL);
  CELL_CHECK (java_peer_expect (cell->peer, heard, LONG_MS), NULL);
  java_peer_tell (cell->peer, "release r-%s", recipe);

  CELL_CHECK (curator_lock_make_revocable (lock, on_asked, &asked, NULL, &error), error);
  CELL_CHECK (curator_lock_acquire (lock, LONG_MS, NULL, &error), error);
  const char *node = curator_lease_get_node_path (held_lease (lock));
  java_peer_tell (cell->peer, "revoke %s", node);
  CELL_CHECK (wait_until (is_positive, &asked, LONG_MS), NULL);
  CELL_CHECK (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  return NULL;
}

typedef struct
{
  CuratorSharedCount *count;
  gint32 value;
} Wanted;

static gboolean
has_value (gpointer data)
{
  Wanted *wanted = data;
  return curator_shared_count_get (wanted->count) == wanted->value;
}

/* Each follows what the other writes, the seed included. */
char *
cell_count (Cell *cell)
{
  g_autoptr (GError) error = NULL;
  const char *path = cell->compression ? "/count-gzip" : "/count";
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (cell->client, path, 3, &error);
  CELL_CHECK (curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  java_peer_tell (cell->peer, "count %s 5", path);
  CELL_CHECK (java_peer_expect (cell->peer, "COUNT 3", LONG_MS), NULL);
  CELL_CHECK (curator_shared_count_set (count, -7, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (java_peer_expect (cell->peer, "CHANGED -7", LONG_MS), NULL);
  java_peer_tell (cell->peer, "set 11");
  Wanted wanted = { count, 11 };
  CELL_CHECK (wait_until (has_value, &wanted, LONG_MS), NULL);
  curator_shared_count_close (count);
  return NULL;
}
