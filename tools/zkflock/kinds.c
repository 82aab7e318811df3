/* Looks at the paths: locks of another kind, which would not exclude this one, nesting, and other
 * counts of a semaphore. */
#include "kinds.h"

#include "base/kind.h"
#include "base/message.h"

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
  char **around;      /* sessions of the zkflocks around this one, if it would wait for their end */
  gboolean is_nested; /* it waits for a hold of theirs */
  guint n_leases;     /* nodes of a semaphore */
  char **path;        /* that is looked at */
  int n_asked;        /* lists on their way; then both are there, or there is an error */
  char **nodes;       /* of the path */
  char **leases;      /* of its folder "leases" */
  gboolean is_unclear; /* a name of nodes says nothing */
  int other;           /* the kind that the names of nodes say, or -1 */
  GCancellable *cancellable;
  char *conflict;
  GError *error;
  KindsDone done;
  gpointer data;
} Look;

static guint n_looks; /* not at their end */

static void look_at_path (Look *look);

static void
look_free (Look *look)
{
  curator_client_unref (look->client);
  g_object_unref (look->cancellable);
  g_strfreev (look->around);
  g_strfreev (look->nodes);
  g_strfreev (look->leases);
  g_free (look->conflict);
  g_clear_error (&look->error);
  g_free (look);
  n_looks--;
}

static Kind
kind_of_mode (Mode mode)
{
  return mode == MODE_MUTEX       ? KIND_MUTEX
         : mode == MODE_SEMAPHORE ? KIND_SEMAPHORE
                                  : KIND_READ_WRITE;
}

/* Every sequential node counts as a participant. data: becomes TRUE where a name says nothing; or
 * NULL. */
static const char *
skip_to_number (CuratorLockDriver *driver, const char *name, const char *lock_name, gpointer data)
{
  const gsize length = strlen (name);
  gboolean *is_unclear = data;

  if (is_unclear != NULL)
    *is_unclear = *is_unclear || kind_is_unclear (name);
  return length > KIND_DIGITS ? name + length - KIND_DIGITS : name;
}

/* Asks for the sequential nodes of a folder, of every kind. */
static void
ask (Look *look, const char *path, gboolean *is_unclear,
     CuratorLockParticipantNodesCallback callback)
{
  static const CuratorLockDriverFuncs funcs = { .fix_for_sorting = skip_to_number };
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (&funcs, is_unclear, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock =
      curator_mutex_new_with_driver (look->client, path, "lock-", 1, driver, &error);

  if (lock != NULL)
    curator_lock_get_participant_nodes_then (lock, CURATOR_WAIT_DEFAULT, look->cancellable,
                                             callback, look);
  else
    callback (NULL, NULL, error, look);
}

/* The kind of a node that is not own, or -1. */
static int
find_other (char **nodes, Kind own)
{
  int other = -1;

  for (; *nodes != NULL && other < 0; nodes++) {
    Kind kind;
    other = kind_of_node (*nodes, &kind) && kind != own ? (int) kind : -1;
  }
  return other;
}

/* Mutex nodes in "locks" may as well be of a mutex of that path. Whoever waits there finds
 * leases. */
static int
find_leases (Look *look, char **nodes)
{
  for (; *nodes != NULL; nodes++) {
    Kind kind;
    look->n_leases += kind_of_node (*nodes, &kind) && kind == KIND_SEMAPHORE;
  }
  return look->n_leases > 0 ? KIND_SEMAPHORE : -1;
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
    print_error (
        options->paths[0],
        "warning: others came to this semaphore with a count of %u, and this command with %u: "
        "as many hold it as the greatest allows; give all the same -N",
        other, own);
}

static void
on_counts (CuratorClient *client, CuratorInspection *semaphore, const GError *error, gpointer data)
{
  Look *look = data;

  if (semaphore != NULL && !g_cancellable_is_cancelled (look->cancellable))
    kinds_compare_counts (look->options, semaphore);
  g_clear_pointer (&semaphore, curator_inspection_unref);
  look_free (look);
}

static void
finish (Look *look)
{
  const guint n_own = look->is_waiting ? 0 : 1;
  const gboolean has_others = look->options->mode == MODE_SEMAPHORE && look->n_leases > n_own
                              && look->conflict == NULL && look->error == NULL;
  const gboolean is_wanted = !g_cancellable_is_cancelled (look->cancellable);

  if (is_wanted)
    look->done (look->conflict, look->error, look->data);
  /* The counts of the others at a semaphore cost further reads, for which nobody waits. */
  if (is_wanted && has_others)
    curator_client_inspect_then (look->client, look->options->paths[0], COUNTS_MS,
                                 look->cancellable, on_counts, look);
  else
    look_free (look);
}

/* With the kind that was found on this path. */
static void
go_on (Look *look)
{
  const int other = look->other;
  const gboolean is_one_of_several = look->options->paths[1] != NULL;
  g_autofree char *shown = curator_escape_name (*look->path, -1);

  if (look->is_nested)
    look->conflict =
        g_strdup ("this command runs under that lock already, and would wait for its own end");
  else if (other >= 0)
    look->conflict =
        g_strdup_printf ("%s%sused as %s, and this command asks for %s: they do not exclude each "
                         "other; %stake another path (--mixed runs it nevertheless)",
                         is_one_of_several ? shown : "it is ", is_one_of_several ? " is " : "",
                         kind_to_string ((Kind) other),
                         kind_to_string (kind_of_mode (look->options->mode)), remedies[other]);
  look->path++;
  if (look->conflict == NULL && look->error == NULL && *look->path != NULL)
    look_at_path (look);
  else
    finish (look);
}

/* Its command would wait for itself. */
static gboolean
is_around (const Look *look, const CuratorParticipant *one)
{
  g_autofree char *session =
      g_strdup_printf ("0x%" G_GINT64_MODIFIER "x", curator_participant_get_session_id (one));
  return look->around != NULL && g_strv_contains ((const char *const *) look->around, session)
         && !(look->options->mode == MODE_READ
              && curator_participant_get_kind (one) == CURATOR_PARTICIPANT_KIND_READ);
}

/* Only its owner tells a node from one of an application's, and whether it is that of a zkflock
 * around this one. */
static void
on_owners (CuratorClient *client, CuratorInspection *lock, const GError *error, gpointer data)
{
  Look *look = data;
  const guint n = lock != NULL ? curator_inspection_get_n_participants (lock) : 0;

  for (guint i = 0; i < n; i++) {
    const CuratorParticipant *one = curator_inspection_get_participant (lock, i);
    look->is_nested = look->is_nested || is_around (look, one);
    if (look->other < 0 && curator_participant_get_kind (one) == CURATOR_PARTICIPANT_KIND_OTHER
        && kind_is_unclear (curator_participant_get_node_path (one)))
      look->other = KIND_OTHER;
  }
  look->error = error != NULL ? g_error_copy (error) : NULL;
  g_clear_pointer (&lock, curator_inspection_unref);
  go_on (look);
}

static void
on_both_lists (Look *look)
{
  const Kind own = kind_of_mode (look->options->mode);

  if (look->error != NULL) {
    go_on (look);
    return;
  }
  const int held = find_leases (look, look->leases);
  look->other = find_other (look->nodes, own);
  look->other = look->other < 0 && own != KIND_SEMAPHORE ? held : look->other;
  if (look->around != NULL || (look->other < 0 && look->is_unclear))
    curator_client_inspect_then (look->client, *look->path, CURATOR_WAIT_DEFAULT, look->cancellable,
                                 on_owners, look);
  else
    go_on (look);
}

/* A folder that cannot be read has no nodes. */
static void
take_list (Look *look, char ***list, char **nodes, const GError *error)
{
  g_strfreev (*list);
  *list = g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH) ? g_new0 (char *, 1) : nodes;
  if (*list == NULL && look->error == NULL)
    look->error = g_error_copy (error);
  if (--look->n_asked == 0)
    on_both_lists (look);
}

static void
on_nodes (CuratorLock *lock, char **nodes, const GError *error, gpointer data)
{
  take_list (data, &((Look *) data)->nodes, nodes, error);
}

static void
on_leases (CuratorLock *lock, char **nodes, const GError *error, gpointer data)
{
  take_list (data, &((Look *) data)->leases, nodes, error);
}

static void
look_at_path (Look *look)
{
  const char *path = *look->path;
  g_autofree char *leases = g_strconcat (path, path[1] != '\0' ? "/" : "", "leases", NULL);

  look->is_unclear = FALSE;
  look->other = -1;
  look->n_asked = 2;
  ask (look, path, &look->is_unclear, on_nodes);
  ask (look, leases, NULL, on_leases);
}

void
kinds_look (const Options *options, CuratorClient *client, gboolean is_waiting,
            GCancellable *cancellable, KindsDone done, gpointer data)
{
  Look *look = g_new (Look, 1);
  const char *around = g_getenv ("CURATOR_LOCK_SESSIONS");
  const gboolean may_be_nested = is_waiting && options->wait_ms == CURATOR_WAIT_FOREVER
                                 && !(options->mode == MODE_SEMAPHORE && options->leases > 1);

  *look = (Look){ .options = options,
                  .client = curator_client_ref (client),
                  .is_waiting = is_waiting,
                  .around = may_be_nested && around != NULL ? g_strsplit (around, " ", -1) : NULL,
                  .path = options->paths,
                  .cancellable = g_object_ref (cancellable),
                  .done = done,
                  .data = data };
  n_looks++;
  look_at_path (look);
}

gboolean
kinds_is_looking (void)
{
  return n_looks > 0;
}
