/* Many asynchronous waiters for one lock in one session; and chains of acquires on many paths.
 *
 * Threads: results arrive on the client's callback thread, one at a time; the main thread waits.
 */
#include "peer.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  gint64 left;
} Latch;

static void
latch_init (Latch *latch, gint64 n)
{
  pthread_mutex_init (&latch->mutex, NULL);
  pthread_cond_init (&latch->changed, NULL);
  latch->left = n;
}

static void
latch_down (Latch *latch)
{
  pthread_mutex_lock (&latch->mutex);
  if (--latch->left == 0)
    pthread_cond_signal (&latch->changed);
  pthread_mutex_unlock (&latch->mutex);
}

/* Waits until the count is 0 and destroys the latch. */
static void
latch_finish (Latch *latch)
{
  pthread_mutex_lock (&latch->mutex);
  while (latch->left > 0)
    pthread_cond_wait (&latch->changed, &latch->mutex);
  pthread_mutex_unlock (&latch->mutex);
  pthread_cond_destroy (&latch->changed);
  pthread_mutex_destroy (&latch->mutex);
}

static gint64
resident_bytes (void)
{
  long pages = 0;
  FILE *file = fopen ("/proc/self/statm", "re");
  if (file == NULL || fscanf (file, "%*s %ld", &pages) != 1)
    peer_die ("/proc/self/statm", NULL);
  fclose (file);
  return pages * sysconf (_SC_PAGESIZE);
}

static gint64
size_behind (const char *text, const char *tag)
{
  const char *at = strstr (text, tag);
  const char *size = at != NULL ? strstr (at, "size=\"") : NULL;
  if (size == NULL)
    peer_die (tag, NULL);
  return g_ascii_strtoll (size + strlen ("size=\""), NULL, 10);
}

/* Bytes in use in the arenas of all threads: mallinfo2 () covers the main one only. */
static gint64
allocated_bytes (void)
{
  char *text = NULL;
  gsize length = 0;
  FILE *stream = open_memstream (&text, &length);
  if (stream == NULL || malloc_info (0, stream) != 0)
    peer_die ("malloc_info", NULL);
  fclose (stream);
  const char *last = g_strrstr (text, "</heap>");
  if (last == NULL)
    peer_die (text, NULL);
  const gint64 bytes = size_behind (last, "<system type=\"current\"")
                       + size_behind (last, "type=\"mmap\"") - size_behind (last, "type=\"fast\"")
                       - size_behind (last, "type=\"rest\"");
  free (text);
  return bytes;
}

enum
{
  GRANTED,
  RELEASED,
  N_LATCHES
};

static void
on_released (CuratorLease *lease, const GError *error, gpointer data)
{
  Latch *latches = data;
  if (error != NULL)
    peer_die ("a release", error);
  latch_down (&latches[RELEASED]);
}

static void
on_turn (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Latch *latches = data;
  if (lease == NULL)
    peer_die ("a waiter", error);
  curator_lease_release_then (lease, CURATOR_WAIT_DEFAULT, NULL, on_released, latches);
  curator_lease_unref (lease);
  latch_down (&latches[GRANTED]);
}

/* The baseline without a lock: the same number of creates and deletes. */
static void
drain_bare (const Request *request)
{
  const int n = (int) request_number (request, "n");
  Recipe recipe;
  recipe_init_asked (&recipe, request, 0);
  bare_queue (recipe.bare, (guint) n);
  peer_ready_steady ("n=%d", n);
  const gint64 began = peer_now_ns ();
  bare_drain (recipe.bare);
  peer_reply ("ops=%d ns=%" G_GINT64_FORMAT, n, peer_now_ns () - began);
  recipe_clear (&recipe);
}

/* waiters server= observe= path= n= [recipe=bare]: ready once n nodes queue; ok bytes= resident=
 * (at "go", for each waiter) granted_ns= ns= (from the release of the holder, which has a session
 * of its own, until the last of n has had the lock, and until the server has confirmed all
 * releases) */
void
verb_waiters (const Request *request)
{
  if (request_flag (request, "recipe")) {
    drain_bare (request);
    return;
  }
  const char *path = request_text (request, "path");
  const int n = (int) request_number (request, "n");
  Recipe holder;
  Recipe waiter;
  Latch latches[N_LATCHES];
  recipe_init (&holder, "mutex", peer_session (request, "server", 1), path, FALSE);
  recipe_init (&waiter, "mutex", peer_session (request, "server", 0), path, FALSE);
  for (int i = 0; i < N_LATCHES; i++)
    latch_init (&latches[i], n);
  recipe_acquire (&holder);

  const gint64 resident = resident_bytes ();
  const gint64 allocated = allocated_bytes ();
  for (int i = 0; i < n; i++)
    curator_lock_acquire_then (waiter.lock, CURATOR_WAIT_FOREVER, NULL, on_turn, latches);
  peer_await_queue (request, "mutex", n + 1);
  peer_ready_steady ("n=%d", n);
  const gint64 bytes = (allocated_bytes () - allocated) / n;
  const gint64 pages = (resident_bytes () - resident) / n;

  const gint64 began = peer_now_ns ();
  recipe_release (&holder);
  latch_finish (&latches[GRANTED]);
  const gint64 granted = peer_now_ns () - began;
  latch_finish (&latches[RELEASED]);
  peer_reply ("ops=%d ns=%" G_GINT64_FORMAT " granted_ns=%" G_GINT64_FORMAT
              " bytes=%" G_GINT64_FORMAT " resident=%" G_GINT64_FORMAT,
              n, peer_now_ns () - began, granted, bytes, pages);
  recipe_clear (&waiter);
  recipe_clear (&holder);
}

typedef struct
{
  CuratorLock *lock;
  const int *stop;
  gint64 *ops; /* touched by the callback thread only, until the latch is down */
  Latch *latch;
} Chain;

static void on_link (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data);

static void
on_link_released (CuratorLease *lease, const GError *error, gpointer data)
{
  Chain *chain = data;
  if (error != NULL)
    peer_die ("a release", error);
  if (g_atomic_int_get (chain->stop)) {
    latch_down (chain->latch);
    return;
  }
  (*chain->ops)++;
  curator_lock_acquire_then (chain->lock, CURATOR_WAIT_FOREVER, NULL, on_link, chain);
}

static void
on_link (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  if (lease == NULL)
    peer_die ("a chain", error);
  curator_lease_release_then (lease, CURATOR_WAIT_DEFAULT, NULL, on_link_released, data);
  curator_lease_unref (lease);
}

/* paths server= path= n= ms=: ok ops= ns=. One session; on each of n paths acquire, release, again.
 */
void
verb_paths (const Request *request)
{
  CuratorClient *client = peer_session (request, "server", 0);
  const int n = (int) request_number (request, "n");
  g_autofree Chain *chains = g_new0 (Chain, n);
  int stop = 0;
  gint64 ops = 0;
  Latch latch;
  latch_init (&latch, n);
  const gint64 began = peer_now_ns ();
  for (int i = 0; i < n; i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *path = g_strdup_printf ("%s-%d", request_text (request, "path"), i);
    CuratorLock *lock = curator_mutex_new (client, path, &error);
    if (lock == NULL)
      peer_die (path, error);
    chains[i] = (Chain){ lock, &stop, &ops, &latch };
    curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_link, &chains[i]);
  }
  g_usleep ((gulong) request_number (request, "ms") * 1000);
  g_atomic_int_set (&stop, 1);
  const gint64 ns = peer_now_ns () - began;
  latch_finish (&latch);
  peer_reply ("ops=%" G_GINT64_FORMAT " ns=%" G_GINT64_FORMAT, ops, ns);
  for (int i = 0; i < n; i++)
    curator_lock_unref (chains[i].lock);
}

/* idle server= path= n=: ok bytes= (allocated for a lock that was never acquired) */
void
verb_idle (const Request *request)
{
  CuratorClient *client = peer_session (request, "server", 0);
  const int n = (int) request_number (request, "n");
  g_autofree CuratorLock **locks = g_new0 (CuratorLock *, n);
  const gint64 before = allocated_bytes ();
  for (int i = 0; i < n; i++) {
    g_autofree char *path = g_strdup_printf ("%s-%d", request_text (request, "path"), i);
    locks[i] = curator_mutex_new (client, path, NULL);
  }
  const gint64 bytes = allocated_bytes () - before;
  for (int i = 0; i < n; i++)
    curator_lock_unref (locks[i]);
  peer_reply ("ops=%d bytes=%" G_GINT64_FORMAT, n, bytes / n);
}

/* reentrant server= path= ops=: ok ops= ns=. Re-enters and releases one level on top of a hold. */
void
verb_reentrant (const Request *request)
{
  const gint64 ops = request_number (request, "ops");
  Recipe recipe;
  recipe_init (&recipe, "mutex", peer_session (request, "server", 0),
               request_text (request, "path"), FALSE);
  recipe_acquire (&recipe);
  const gint64 began = peer_now_ns ();
  gboolean went_well = TRUE;
  for (gint64 i = 0; went_well && i < ops; i++) {
    went_well = curator_lock_acquire (recipe.lock, CURATOR_WAIT_FOREVER, NULL, NULL)
                && curator_lock_release (recipe.lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  }
  const gint64 ns = peer_now_ns () - began;
  if (!went_well)
    peer_die ("re-entry", NULL);
  recipe_release (&recipe);
  recipe_clear (&recipe);
  peer_reply ("ops=%" G_GINT64_FORMAT " ns=%" G_GINT64_FORMAT, ops, ns);
}
