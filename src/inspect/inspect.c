/* Inspects one lock path: lists, sorts and reads its nodes, and finds the holders. Deletes nodes that
 * no session owns.
 *
 * Mirrors getParticipantNodes(), with more detail. Threads: any; each answer is taken under the
 * client's mutex.
 */
#include "curator/inspect.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "base/path.h"
#include "base/tag.h"
#include "core/await.h"
#include "core/namespace.h"
#include "core/zk_error.h"
#include "inspect/fetch.h"
#include "inspect/grammar.h"
#include "inspect/inspection-private.h"
#include "nodes/call.h"

#include <string.h>

/* A folder of lock nodes. A semaphore has two. */
typedef struct
{
  char *path;          /* full */
  GPtrArray *children; /* a reference; NULL if it does not exist */
  gint64 next_number;
  CuratorParticipantKind kind; /* of its nodes; READ for those of a read-write lock */
  CuratorQueue queue;
} Folder;

enum
{
  TOP,
  LEASES,
  TURNS,
  N_FOLDERS
};

typedef struct
{
  enum
  {
    READ_CHILDREN,
    READ_FOLDER,
    READ_NODES,
    READ_OTHERS /* the last one */
  } what;
  int folder;
} Step;

static const Step queue_steps[] = {
  { READ_CHILDREN, TOP },
  { READ_FOLDER, TOP },
  { READ_NODES, TOP },
  { READ_OTHERS, TOP },
};

/* Instead of the nodes of the top. Turns are read after leases: a contender without a turn has its
 * leases by then. */
static const Step semaphore_steps[] = {
  { READ_CHILDREN, LEASES }, { READ_FOLDER, LEASES }, { READ_CHILDREN, TURNS },
  { READ_FOLDER, TURNS },    { READ_NODES, LEASES },  { READ_NODES, TURNS },
  { READ_OTHERS, TOP },
};

typedef struct
{
  CuratorClient *client; /* the operation's */
  CuratorInspection *inspection;
  Folder folders[N_FOLDERS];
  GPtrArray *odd; /* full paths of foreign nodes that may queue; NULL once they are being read */
  const Step *step;
} Reading;

static void
reading_free (gpointer data)
{
  Reading *reading = data;

  for (int i = 0; i < N_FOLDERS; i++) {
    Folder *folder = &reading->folders[i];
    g_free (folder->path);
    g_clear_pointer (&folder->children, g_ptr_array_unref);
    curator_queue_clear (&folder->queue);
  }
  g_clear_pointer (&reading->odd, g_ptr_array_unref);
  g_clear_pointer (&reading->inspection, curator_inspection_unref);
  g_free (reading);
}

static void
add_foreign (Reading *reading, const Folder *folder, const char *name)
{
  g_ptr_array_add (reading->inspection->foreign, g_strdup (name));
  if (curator_grammar_may_queue (name))
    g_ptr_array_add (reading->odd, curator_path_join (folder->path, name));
}

/* Sorts the lock nodes of a folder. Returns their full paths. */
static GPtrArray *
sort_nodes (Reading *reading, Folder *folder)
{
  CuratorInspection *inspection = reading->inspection;
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);

  if (folder->children == NULL)
    return paths;
  curator_queue_init (&folder->queue, (const char *const *) folder->children->pdata,
                      folder->children->len, curator_grammar_key, GINT_TO_POINTER (folder->kind));
  inspection->digest += curator_grammar_digest (folder->children);
  inspection->next_number = MAX (inspection->next_number, folder->next_number);
  for (guint i = 0; i < folder->children->len; i++) {
    const char *name = g_ptr_array_index (folder->children, i);
    if (!curator_grammar_is_node (name, folder->kind))
      add_foreign (reading, folder, name);
  }
  for (gsize i = 0; i < folder->queue.n_names; i++)
    g_ptr_array_add (paths, curator_path_join (folder->path, folder->queue.names[i]));
  return paths;
}

static CuratorParticipantKind
kind_of_node (CuratorParticipantKind kind, const char *name)
{
  return kind == CURATOR_PARTICIPANT_KIND_READ
                 && curator_queue_standard_key (name, CURATOR_WRITE_NAME) != name
             ? CURATOR_PARTICIPANT_KIND_WRITE
             : kind;
}

/* Adds the lock nodes of a folder in order, without those deleted since it was listed; or, without a
 * folder, the nodes of other programs that are somebody's. Whether one of these holds is not
 * known. */
static void
add_nodes (const Reading *reading, const Folder *folder, const GPtrArray *paths, GArray *read)
{
  for (guint i = 0; i < read->len; i++) {
    const CuratorFetched *fetched = &g_array_index (read, CuratorFetched, i);
    if (folder != NULL ? fetched->rc == ZNONODE : !curator_fetched_is_owned (fetched))
      continue;
    const char *path = curator_client_user_path (reading->client, g_ptr_array_index (paths, i));
    const gboolean is_readable = fetched->rc == ZOK;
    CuratorParticipant *one = g_new (CuratorParticipant, 1);
    *one = (CuratorParticipant){
      .tag = CURATOR_TAG_PARTICIPANT,
      .kind = folder != NULL ? kind_of_node (folder->kind, folder->queue.names[i])
                             : CURATOR_PARTICIPANT_KIND_OTHER,
      .node_path = g_strdup (path),
      .number = folder != NULL ? folder->queue.numbers[i] : curator_grammar_number_of (path),
      .is_readable = is_readable,
      .session_id = is_readable ? fetched->stat.ephemeralOwner : 0,
      .ctime_ms = is_readable ? fetched->stat.ctime : 0,
      .czxid = is_readable ? fetched->stat.czxid : 0,
      .data = fetched->data != NULL ? g_bytes_ref (fetched->data) : g_bytes_new_static ("", 0),
    };
    g_ptr_array_add (reading->inspection->participants, one);
  }
}

/* A writer holds if it is first. A reader holds if no writer is before it, except a first writer
 * with the same number: that is the same owner. */
static void
mark_queue_holders (CuratorInspection *inspection)
{
  const GPtrArray *all = inspection->participants;
  gboolean writer_waits = FALSE;

  for (guint i = 0; i < all->len; i++) {
    const CuratorParticipant *first = g_ptr_array_index (all, 0);
    CuratorParticipant *one = g_ptr_array_index (all, i);
    one->is_holder =
        i == 0
        || (one->kind == CURATOR_PARTICIPANT_KIND_READ && !writer_waits
            && (first->kind != CURATOR_PARTICIPANT_KIND_WRITE || first->number == one->number));
    one->position = one->is_holder ? 0 : ++inspection->n_waiting;
    inspection->n_holders += one->is_holder;
    writer_waits = writer_waits || (i > 0 && one->kind == CURATOR_PARTICIPANT_KIND_WRITE);
  }
}

/* Pending leases go behind the holders. */
static int
compare_held (gconstpointer a, gconstpointer b)
{
  const CuratorParticipant *left = *(const CuratorParticipant *const *) a;
  const CuratorParticipant *right = *(const CuratorParticipant *const *) b;
  return (int) left->position - (int) right->position;
}

/* The first in the queue has the turn: it creates its leases and keeps the turn until they are
 * granted. So a lease of its session that is newer than its turn is not granted yet. */
static void
mark_semaphore_holders (CuratorInspection *inspection)
{
  GPtrArray *all = inspection->participants;
  const CuratorParticipant *first = NULL;

  for (guint i = all->len; i-- > 0;) {
    const CuratorParticipant *one = g_ptr_array_index (all, i);
    first = one->kind == CURATOR_PARTICIPANT_KIND_TURN ? one : first;
  }
  for (guint i = 0; i < all->len; i++) {
    CuratorParticipant *one = g_ptr_array_index (all, i);
    if (one->kind == CURATOR_PARTICIPANT_KIND_TURN) {
      one->position = ++inspection->n_waiting;
      continue;
    }
    one->is_holder =
        first == NULL || one->session_id != first->session_id || one->czxid < first->czxid;
    one->position = one->is_holder ? 0 : 1;
    inspection->n_holders += one->is_holder;
  }
  g_ptr_array_sort (all, compare_held);
}

/* The folder has been read: the recipe is known. */
static void
begin_nodes (Reading *reading)
{
  static const CuratorParticipantKind kinds[] = {
    [CURATOR_LOCK_KIND_MUTEX] = CURATOR_PARTICIPANT_KIND_MUTEX, /* and of none */
    [CURATOR_LOCK_KIND_READ_WRITE] = CURATOR_PARTICIPANT_KIND_READ,
    [CURATOR_LOCK_KIND_LEADER_LATCH] = CURATOR_PARTICIPANT_KIND_LATCH,
  };
  CuratorInspection *inspection = reading->inspection;
  Folder *top = &reading->folders[TOP];
  const GPtrArray *children = top->children;

  if (children == NULL)
    return;
  inspection->kind = curator_grammar_kind ((const char *const *) children->pdata, children->len);
  if (inspection->kind != CURATOR_LOCK_KIND_SEMAPHORE) {
    top->kind = kinds[inspection->kind];
    return;
  }
  reading->folders[LEASES] = (Folder){ .path = curator_path_join (top->path, CURATOR_LEASES_NAME),
                                       .kind = CURATOR_PARTICIPANT_KIND_LEASE };
  reading->folders[TURNS] = (Folder){ .path = curator_path_join (top->path, CURATOR_TURNS_NAME),
                                      .kind = CURATOR_PARTICIPANT_KIND_TURN };
  inspection->digest = curator_grammar_digest (children);
  for (guint i = 0; i < children->len; i++) {
    const char *name = g_ptr_array_index (children, i);
    if (strcmp (name, CURATOR_LEASES_NAME) != 0 && strcmp (name, CURATOR_TURNS_NAME) != 0)
      add_foreign (reading, top, name);
  }
  reading->step = semaphore_steps;
}

static int
compare_odd (gconstpointer a, gconstpointer b)
{
  const gint64 left = curator_grammar_number_of (*(const char *const *) a);
  const gint64 right = curator_grammar_number_of (*(const char *const *) b);
  return left != right ? (left < right ? -1 : 1) : curator_compare_strings (a, b);
}

static gboolean
take_folder (Reading *reading, const Step *step, const CuratorFetched *fetched, GError **error)
{
  Folder *folder = &reading->folders[step->folder];

  if (fetched->rc != ZOK && fetched->rc != ZNONODE) {
    const char *path = curator_client_user_path (reading->client, folder->path);
    g_propagate_error (error, curator_error_from_zk (fetched->rc, "inspecting", path));
    return FALSE;
  }
  if (fetched->rc != ZOK)
    g_clear_pointer (&folder->children, g_ptr_array_unref);
  else if (step->what == READ_CHILDREN)
    folder->children = g_ptr_array_ref (fetched->children);
  else
    /* A sequential node gets the number of creates so far. The cversion in a Stat counts deletes
     * too: it is 2 x creates - children, in 32 bits. */
    folder->next_number =
        ((guint32) fetched->stat.cversion + (guint32) fetched->stat.numChildren) / 2;
  if (step->what == READ_FOLDER && step->folder == TOP)
    begin_nodes (reading);
  return TRUE;
}

static GPtrArray *
paths_of_step (Reading *reading)
{
  CuratorInspection *inspection = reading->inspection;
  Folder *folder = &reading->folders[reading->step->folder];

  if (reading->step->what == READ_NODES)
    return sort_nodes (reading, folder);
  if (reading->step->what == READ_OTHERS) {
    if (inspection->kind == CURATOR_LOCK_KIND_SEMAPHORE)
      mark_semaphore_holders (inspection);
    else
      mark_queue_holders (inspection);
    g_ptr_array_sort (reading->odd, compare_odd);
    return g_steal_pointer (&reading->odd);
  }
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (paths, g_strdup (folder->path));
  return paths;
}

/* Takes what was read in the present step, and goes on to the next one. */
static GPtrArray *
next_step (CuratorFetchPlan *plan, GArray *read, gpointer *result, GError **error)
{
  Reading *reading = plan->reading;
  CuratorInspection *inspection = reading->inspection;
  const Step *step = reading->step++;

  if (step->what == READ_OTHERS) {
    add_nodes (reading, NULL, plan->paths, read);
    if (inspection->kind == CURATOR_LOCK_KIND_NONE && inspection->participants->len > 0)
      inspection->kind = CURATOR_LOCK_KIND_OTHER;
    g_ptr_array_add (inspection->foreign, NULL);
    *result = g_steal_pointer (&reading->inspection);
    return NULL;
  }
  if (step->what == READ_NODES)
    add_nodes (reading, &reading->folders[step->folder], plan->paths, read);
  else if (!take_folder (reading, step, &g_array_index (read, CuratorFetched, 0), error))
    return NULL;
  plan->kind = reading->step->what == READ_CHILDREN ? CURATOR_FETCH_CHILDREN : CURATOR_FETCH_DATA;
  return paths_of_step (reading);
}

static void
free_participant (gpointer data)
{
  CuratorParticipant *participant = data;
  g_free (participant->node_path);
  g_clear_pointer (&participant->data, g_bytes_unref);
  curator_tag_clear (participant);
  g_free (participant);
}

static CURATOR_UNLOCKED CuratorOp *
start (CuratorClient *client, const char *path, gint64 deadline_us, CuratorOpDone done,
       gpointer data)
{
  CURATOR_INSIDE_GATE;
  CuratorInspection *inspection = g_new (CuratorInspection, 1);
  Reading *reading = g_new (Reading, 1);

  *inspection = (CuratorInspection){
    .tag = CURATOR_TAG_INSPECTION,
    .path = g_strdup (path),
    .participants = g_ptr_array_new_with_free_func (free_participant),
    .foreign = g_ptr_array_new_with_free_func (g_free),
  };
  curator_refs_init (&inspection->refs);
  *reading = (Reading){
    .client = client,
    .inspection = inspection,
    .folders[TOP].path = curator_client_full_path (client, path),
    .odd = g_ptr_array_new_with_free_func (g_free),
    .step = queue_steps,
  };
  const CuratorFetchPlan plan = { CURATOR_FETCH_CHILDREN, paths_of_step (reading), next_step,
                                  reading, reading_free };
  return curator_fetch_start (client, deadline_us, &plan, done, data);
}

CuratorInspection *
curator_inspect_within (const CuratorLimits *limits, const char *path, GError **error)
{
  CuratorAwait await;
  gpointer inspection = NULL;

  curator_await_init (&await, limits->client);
  CuratorOp *op = start (limits->client, path, limits->deadline_us, curator_await_done, &await);
  return curator_await_op (&await, op, limits->cancellable, &inspection, error) ? inspection : NULL;
}

CuratorInspection *
curator_client_inspect (CuratorClient *client, const char *path, gint64 timeout_ms,
                        GCancellable *cancellable, GError **error)
{
  CURATOR_INSIDE_GATE;
  CuratorLimits limits;

  CURATOR_CHECK_WAITING (CURATOR_IS_CLIENT (client), cancellable, error, NULL);
  return curator_path_validate (path, error)
                 && curator_limits_init (&limits, client, timeout_ms, cancellable, error)
             ? curator_inspect_within (&limits, path, error)
             : NULL;
}

CURATOR_DESTROY_FUNC (unref_client, curator_client_unref)

static void
deliver (GCallback callback, gpointer client, gpointer inspection, const GError *error,
         gpointer user_data)
{
  ((CuratorInspectCallback) callback) (client, inspection, error, user_data);
}

void
curator_client_inspect_then (CuratorClient *client, const char *path, gint64 timeout_ms,
                             GCancellable *cancellable, CuratorInspectCallback callback,
                             gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && callback != NULL);
  g_return_if_fail (curator_is_cancellable (cancellable));
  CuratorAsync *async = curator_async_new (client, curator_client_ref (client), unref_client,
                                           deliver, G_CALLBACK (callback), user_data);
  GError *error = NULL;
  CuratorOp *op = NULL;

  if (curator_path_validate (path, &error) && curator_check_call (client, cancellable, &error))
    op = start (client, path, curator_client_deadline (client, timeout_ms), curator_async_done,
                async);
  curator_async_started (async, op, cancellable, error);
}

/* Curator has no counterpart. */
gboolean
curator_client_delete_ownerless (CuratorClient *client, const CuratorParticipant *participant,
                                 gint64 timeout_ms, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), FALSE);
  CURATOR_CHECK_WAITING (CURATOR_IS_PARTICIPANT (participant), cancellable, error, FALSE);
  if (!participant->is_readable || participant->session_id != 0)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "%s: %s", participant->node_path,
                           participant->is_readable ? "a session owns it"
                                                    : "its owner is not known");
  CuratorLimits limits;
  if (!curator_limits_init (&limits, client, timeout_ms, cancellable, error))
    return FALSE;
  char *path = curator_client_full_path (client, participant->node_path);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (paths, path);
  g_autoptr (GArray) read = curator_fetch (&limits, CURATOR_FETCH_DATA, paths, error);
  if (read == NULL)
    return FALSE;
  const CuratorFetched *now = &g_array_index (read, CuratorFetched, 0);
  /* Otherwise it is not the node that was inspected; a later one may have an owner. */
  if (now->rc != ZOK || now->stat.ephemeralOwner != 0 || now->stat.czxid != participant->czxid)
    return TRUE;
  g_autoptr (GError) local = NULL;
  g_autoptr (CuratorCallResult) result =
      curator_call (&limits, CURATOR_CALL_REMOVE, path, NULL, -1, NULL, &local);
  if (result == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZNONODE)) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  return TRUE;
}
