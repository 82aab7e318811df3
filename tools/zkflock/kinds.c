/* Looks at the paths: locks of another kind, which would not exclude this one, nesting, and other counts of a semaphore. */
#include "kinds.h"

#include "base/kind.h"
#include "base/message.h"
#include "errands.h"

#include <curator/lock_internals.h>

#include <string.h>
#include <zookeeper/zookeeper.h>

/* What to do where that kind is in use. */
static const char *const remedies[] = {
  [KIND_MUTEX] = "leave out -s, -x and -N, or ",
  [KIND_READ_WRITE] = "use -x or -s, or ",
  [KIND_SEMAPHORE] = "use -N with its count, or ",
  [KIND_LATCH] = "",
  [KIND_KAZOO] = "",
  [KIND_OTHER] = "",
};

#define COUNTS_MS 1000 /* the look at the counts may keep the release waiting */

typedef struct
{
  const Options *options;
  CuratorClient *client;
  gboolean is_waiting;
  gboolean is_nested;           /* it waits for a hold that ends after it */
  guint n_leases;               /* nodes of a semaphore */
  CuratorInspection *semaphore; /* or NULL */
  GCancellable *cancellable;
  char *conflict;
  GError *error;
  KindsDone done;
  gpointer data;
} Look;

static void
look_free (Look *look)
{
  curator_client_unref (look->client);
  g_object_unref (look->cancellable);
  g_clear_pointer (&look->semaphore, curator_inspection_unref);
  g_free (look->conflict);
  g_clear_error (&look->error);
  g_free (look);
}

static Kind
kind_of_mode (Mode mode)
{
  return mode == MODE_MUTEX       ? KIND_MUTEX
         : mode == MODE_SEMAPHORE ? KIND_SEMAPHORE
                                  : KIND_READ_WRITE;
}

/* Every sequential node counts as a participant. data: becomes TRUE where a name says nothing. */
static const char *
skip_to_number (CuratorLockDriver *driver, const char *name, const char *lock_name, gpointer data)
{
  const gsize length = strlen (name);
  gboolean *is_unclear = data;

  *is_unclear = *is_unclear || kind_is_unclear (name);
  return length > KIND_DIGITS ? name + length - KIND_DIGITS : name;
}

/* The sequential nodes of a folder, of every kind; none if it cannot be read or does not exist. */
static char **
list (CuratorClient *client, const char *path, gboolean *is_unclear, GCancellable *cancellable,
      GError **error)
{
  static const CuratorLockDriverFuncs funcs = { .fix_for_sorting = skip_to_number };
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (&funcs, is_unclear, NULL);
  g_autoptr (CuratorLock) lock =
      curator_mutex_new_with_driver (client, path, "lock-", 1, driver, error);
  g_autoptr (GError) local = NULL;
  char **nodes =
      lock != NULL ? curator_lock_get_participant_nodes (lock, 0, cancellable, &local) : NULL;

  if (g_error_matches (local, CURATOR_ZK_ERROR, ZNOAUTH))
    return g_new0 (char *, 1);
  if (local != NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return nodes;
}

/* The lock of a zkflock around this one: its command would wait for itself. */
static gboolean
is_around (const Look *look, const char *node)
{
  const char *around = g_getenv ("CURATOR_LOCK_NODE");
  return look->is_waiting && look->options->wait_ms < 0 && g_strcmp0 (node, around) == 0
         && !(look->options->mode == MODE_READ && strstr (node, "__READ__") != NULL)
         && !(look->options->mode == MODE_SEMAPHORE && look->options->leases > 1);
}

typedef struct
{
  CuratorClient *client;
  char *folder;
  GCancellable *cancellable;
  char **nodes;        /* NULL with an error */
  gboolean is_unclear; /* a name says nothing */
  GError *error;
} Listing;

static gpointer
run_listing (gpointer data)
{
  Listing *listing = data;
  listing->nodes = list (listing->client, listing->folder, &listing->is_unclear,
                         listing->cancellable, &listing->error);
  return NULL;
}

static void
listing_clear (Listing *listing)
{
  g_free (listing->folder);
  g_strfreev (listing->nodes);
  g_clear_error (&listing->error);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Listing, listing_clear)

/* The kind of a node that is not own, or -1. */
static int
find_other (Look *look, char **nodes, Kind own)
{
  int other = -1;

  for (; *nodes != NULL && other < 0; nodes++)
    {
      Kind kind;
      look->is_nested = look->is_nested || is_around (look, *nodes);
      other = kind_of_node (*nodes, &kind) && kind != own ? (int) kind : -1;
    }
  return other;
}

/* Mutex nodes in "locks" may as well be of a mutex of that path. Whoever waits there finds leases. */
static int
find_leases (Look *look, char **nodes)
{
  for (; *nodes != NULL; nodes++)
    {
      Kind kind;
      look->is_nested = look->is_nested || is_around (look, *nodes);
      look->n_leases += kind_of_node (*nodes, &kind) && kind == KIND_SEMAPHORE;
    }
  return look->n_leases > 0 ? KIND_SEMAPHORE : -1;
}

/* The kind of a node that only its owner tells from an application's, or -1, perhaps with an error. */
static int
find_owned (Look *look, const char *path)
{
  g_autoptr (CuratorInspection) lock =
      curator_inspect (look->client, path, 0, look->cancellable, &look->error);
  const guint n = lock != NULL ? curator_inspection_get_n_participants (lock) : 0;

  for (guint i = 0; i < n; i++)
    {
      const CuratorParticipant *one = curator_inspection_get_participant (lock, i);
      if (curator_participant_get_kind (one) == CURATOR_PARTICIPANT_OTHER
          && kind_is_unclear (curator_participant_get_node_path (one)))
        {
          return KIND_OTHER;
        }
    }
  return -1;
}

static char *
describe (const Options *options, const char *path, Kind own, Kind other)
{
  g_autofree char *shown = curator_escape_name (path, -1);

  return g_strdup_printf ("%s%sused as %s, and this command asks for %s: they do not exclude each "
                          "other; %stake another path (--mixed runs it nevertheless)",
                          options->paths[1] != NULL ? shown : "it is ",
                          options->paths[1] != NULL ? " is " : "", kind_to_string (other),
                          kind_to_string (own), remedies[other]);
}

/* Reads both folders at the same time, unless the system has no threads left. */
static void
run_listings (Listing *first, Listing *second)
{
  GThread *thread = g_thread_try_new ("kinds", run_listing, second, NULL);

  run_listing (first);
  if (thread != NULL)
    g_thread_join (thread);
  else
    run_listing (second);
}

/* The conflict on one path, or NULL: perhaps with an error. */
static char *
look_at (Look *look, const char *path)
{
  const Kind own = kind_of_mode (look->options->mode);
  g_auto (Listing) nodes = { .client = look->client, .cancellable = look->cancellable };
  g_auto (Listing) leases = nodes;

  nodes.folder = g_strdup (path);
  leases.folder = g_strconcat (path, path[1] != '\0' ? "/" : "", "leases", NULL);
  run_listings (&nodes, &leases);
  if (nodes.nodes == NULL || leases.nodes == NULL)
    {
      GError **cause = nodes.nodes == NULL ? &nodes.error : &leases.error;
      g_propagate_error (&look->error, g_steal_pointer (cause));
      return NULL;
    }
  const int held = find_leases (look, leases.nodes);
  int other = find_other (look, nodes.nodes, own);
  other = other < 0 && own != KIND_SEMAPHORE ? held : other;
  if (other < 0 && nodes.is_unclear)
    other = find_owned (look, path);
  if (look->is_nested)
    return g_strdup ("this command runs under that lock already, and would wait for its own end");
  return other >= 0 ? describe (look->options, path, own, (Kind) other) : NULL;
}

static void
run_look (gpointer data)
{
  Look *look = data;

  for (char **path = look->options->paths;
       *path != NULL && look->conflict == NULL && look->error == NULL; path++)
    look->conflict = look_at (look, *path);
}

void
kinds_compare_counts (const Options *options, const CuratorInspection *lock)
{
  static gboolean is_told;
  guint least, greatest;

  if (is_told || options->mode != MODE_SEMAPHORE || !kind_find_counts (lock, &least, &greatest))
    return;
  const guint own = (guint) options->leases;
  const guint other = greatest != own ? greatest : least;
  is_told = other != own;
  if (is_told)
    {
      print_error (
          options->paths[0],
          "warning: others came to this semaphore with a count of %u, and this command with %u: "
          "as many hold it as the greatest allows; give all the same -N",
          other, own);
    }
}

static void
read_counts (gpointer data)
{
  Look *look = data;
  look->semaphore =
      curator_inspect (look->client, look->options->paths[0], COUNTS_MS, look->cancellable, NULL);
}

static void
on_counts_read (gpointer data)
{
  Look *look = data;

  if (look->semaphore != NULL && !g_cancellable_is_cancelled (look->cancellable))
    kinds_compare_counts (look->options, look->semaphore);
  look_free (look);
}

/* The counts of the others at a semaphore cost further reads, for which nobody waits. */
static void
on_looked (gpointer data)
{
  Look *look = data;
  const guint n_own = look->is_waiting ? 0 : 1;
  const gboolean has_others = look->options->mode == MODE_SEMAPHORE && look->n_leases > n_own
                              && look->conflict == NULL && look->error == NULL;

  if (!g_cancellable_is_cancelled (look->cancellable))
    {
      look->done (look->conflict, look->error, look->data);
      if (has_others)
        {
          errands_run (read_counts, on_counts_read, look);
          return;
        }
    }
  look_free (look);
}

void
kinds_look (const Options *options, CuratorClient *client, gboolean is_waiting,
            GCancellable *cancellable, KindsDone done, gpointer data)
{
  Look *look = g_new (Look, 1);

  *look = (Look){ .options = options,
                  .client = curator_client_ref (client),
                  .is_waiting = is_waiting,
                  .cancellable = g_object_ref (cancellable),
                  .done = done,
                  .data = data };
  errands_run (run_look, on_looked, look);
}
