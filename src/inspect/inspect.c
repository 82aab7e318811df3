/* Inspects one lock path: lists, sorts and reads its nodes, and finds the holders.
 *
 * Mirrors getParticipantNodes(), with more detail. Threads: any; takes the client's mutex only to
 * read nodes.
 */
#include "curator/inspect.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "base/path.h"
#include "base/tag.h"
#include "core/namespace.h"
#include "core/zk_error.h"
#include "inspect/fetch.h"
#include "inspect/grammar.h"
#include "inspect/inspect-private.h"
#include "inspect/inspection-private.h"

#include <string.h>

/* A folder of lock nodes. A semaphore has two. */
typedef struct
{
  char *path; /* full */
  gboolean exists;
  GPtrArray *children; /* a reference; NULL if it does not exist */
  gint64 next_number;
} Folder;

static void
folder_clear (Folder *folder)
{
  g_free (folder->path);
  g_clear_pointer (&folder->children, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Folder, folder_clear)

static gboolean
check_rc (int rc, const CuratorLimits *limits, const char *path, GError **error)
{
  if (rc == ZOK || rc == ZNONODE)
    return TRUE;
  g_propagate_error (error, curator_error_from_zk (
                                rc, "inspecting", curator_client_user_path (limits->client, path)));
  return FALSE;
}

/* A sequential node gets the number of creates so far. The cversion in a Stat counts deletes too:
 * it is 2 x creates - children, in 32 bits. */
static gint64
next_number_of (const struct Stat *stat)
{
  return (gint64) (((guint32) stat->cversion + (guint32) stat->numChildren) / 2);
}

static gboolean
folder_read (Folder *folder, const CuratorLimits *limits, GError **error)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();
  g_ptr_array_add (paths, folder->path);
  g_autoptr (GArray) listed = curator_fetch (limits, CURATOR_FETCH_CHILDREN, paths, error);
  g_autoptr (GArray) read =
      listed != NULL ? curator_fetch (limits, CURATOR_FETCH_DATA, paths, error) : NULL;

  if (read == NULL)
    return FALSE;
  const CuratorFetched *children = &g_array_index (listed, CuratorFetched, 0);
  const CuratorFetched *data = &g_array_index (read, CuratorFetched, 0);
  if (!check_rc (children->rc, limits, folder->path, error)
      || !check_rc (data->rc, limits, folder->path, error))
    {
      return FALSE;
    }
  folder->exists = children->rc == ZOK && data->rc == ZOK;
  if (folder->exists)
    {
      folder->children = g_ptr_array_ref (children->children);
      folder->next_number = next_number_of (&data->stat);
    }
  return TRUE;
}

static void
add_foreign_name (CuratorInspection *inspection, const Folder *folder, const char *name)
{
  g_ptr_array_add (inspection->foreign, g_strdup (name));
  if (curator_grammar_may_queue (name))
    g_ptr_array_add (inspection->odd, curator_path_join (folder->path, name));
}

static void
add_foreign (CuratorInspection *inspection, const Folder *folder, const CuratorQueue *queue)
{
  g_autoptr (GHashTable) ours = g_hash_table_new (NULL, NULL);

  for (gsize i = 0; i < queue->n_names; i++)
    g_hash_table_add (ours, queue->names[i]);
  for (guint i = 0; i < folder->children->len; i++)
    {
      const char *name = g_ptr_array_index (folder->children, i);
      if (!g_hash_table_contains (ours, name))
        add_foreign_name (inspection, folder, name);
    }
}

static void
fill_participant (CuratorParticipant *participant, const CuratorFetched *fetched)
{
  participant->is_readable = fetched->rc == ZOK;
  participant->data =
      fetched->data != NULL ? g_bytes_ref (fetched->data) : g_bytes_new_static ("", 0);
  if (participant->is_readable)
    {
      participant->session_id = fetched->stat.ephemeralOwner;
      participant->czxid = fetched->stat.czxid;
      participant->ctime_ms = fetched->stat.ctime;
    }
}

static CuratorParticipantKind
kind_of_node (CuratorParticipantKind kind, const char *name)
{
  const gboolean is_rw = kind == CURATOR_PARTICIPANT_READ || kind == CURATOR_PARTICIPANT_WRITE;
  if (!is_rw)
    return kind;
  return curator_grammar_is_writer (name) ? CURATOR_PARTICIPANT_WRITE : CURATOR_PARTICIPANT_READ;
}

/* Adds the lock nodes of a folder in order, without those deleted since it was listed. */
static gboolean
add_nodes (CuratorInspection *inspection, const CuratorLimits *limits, const Folder *folder,
           CuratorQueueKeyFunc key, CuratorParticipantKind kind, GError **error)
{
  g_auto (CuratorQueue) queue = { 0 };
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  if (!folder->exists)
    return TRUE;
  curator_queue_init (&queue, (const char *const *) folder->children->pdata, folder->children->len,
                      key, NULL);
  inspection->digest += curator_grammar_digest (folder->children);
  inspection->is_exhausted =
      inspection->is_exhausted || folder->next_number > CURATOR_QUEUE_LAST_NUMBER;
  inspection->next_number = MAX (inspection->next_number, folder->next_number);
  add_foreign (inspection, folder, &queue);
  for (gsize i = 0; i < queue.n_names; i++)
    g_ptr_array_add (paths, curator_path_join (folder->path, queue.names[i]));
  g_autoptr (GArray) nodes = curator_fetch (limits, CURATOR_FETCH_DATA, paths, error);
  if (nodes == NULL)
    return FALSE;
  for (guint i = 0; i < nodes->len; i++)
    {
      const CuratorFetched *fetched = &g_array_index (nodes, CuratorFetched, i);
      if (fetched->rc == ZNONODE)
        continue;
      CuratorParticipant *participant =
          curator_inspection_add (inspection, kind_of_node (kind, queue.names[i]));
      participant->node_path =
          g_strdup (curator_client_user_path (limits->client, g_ptr_array_index (paths, i)));
      curator_queue_parse_number (key (queue.names[i], NULL), &participant->number);
      fill_participant (participant, fetched);
    }
  return TRUE;
}

/* A writer holds if it is first. A reader holds if no writer is before it, except a first writer
 * with the same number: that is the same owner. */
static gboolean
holds_by_order (const CuratorInspection *inspection, guint i)
{
  const CuratorParticipant *one = g_ptr_array_index (inspection->participants, i);

  if (i == 0 || one->kind != CURATOR_PARTICIPANT_READ)
    return i == 0;
  for (guint k = 0; k < i; k++)
    {
      const CuratorParticipant *other = g_ptr_array_index (inspection->participants, k);
      if (other->kind == CURATOR_PARTICIPANT_WRITE && (k > 0 || other->number != one->number))
        return FALSE;
    }
  return TRUE;
}

static void
mark_queue_holders (CuratorInspection *inspection)
{
  for (guint i = 0; i < inspection->participants->len; i++)
    {
      CuratorParticipant *participant = g_ptr_array_index (inspection->participants, i);
      participant->is_holder = holds_by_order (inspection, i);
      participant->position = participant->is_holder ? 0 : ++inspection->n_waiting;
      inspection->n_holders += participant->is_holder;
    }
}

static const CuratorParticipant *
first_turn (const CuratorInspection *inspection)
{
  for (guint i = 0; i < inspection->participants->len; i++)
    {
      const CuratorParticipant *participant = g_ptr_array_index (inspection->participants, i);
      if (participant->kind == CURATOR_PARTICIPANT_TURN)
        return participant;
    }
  return NULL;
}

/* The first in the queue has the turn: it creates its leases and keeps the turn until they are
 * granted. So a lease of its session that is newer than its turn is not granted yet. */
static void
mark_semaphore_holders (CuratorInspection *inspection)
{
  const CuratorParticipant *first = first_turn (inspection);

  for (guint i = 0; i < inspection->participants->len; i++)
    {
      CuratorParticipant *one = g_ptr_array_index (inspection->participants, i);
      if (one->kind == CURATOR_PARTICIPANT_TURN)
        {
          one->position = ++inspection->n_waiting;
          continue;
        }
      one->is_holder =
          first == NULL || one->session_id != first->session_id || one->czxid < first->czxid;
      one->position = one->is_holder ? 0 : 1;
      inspection->n_holders += one->is_holder;
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

static gboolean
inspect_semaphore (CuratorInspection *inspection, const CuratorLimits *limits, const Folder *top,
                   GError **error)
{
  g_auto (Folder) leases = { .path = curator_path_join (top->path, CURATOR_LEASES_NAME) };
  g_auto (Folder) turns = { .path = curator_path_join (top->path, CURATOR_TURNS_NAME) };

  inspection->digest = curator_grammar_digest (top->children);
  for (guint i = 0; i < top->children->len; i++)
    {
      const char *name = g_ptr_array_index (top->children, i);
      if (strcmp (name, CURATOR_LEASES_NAME) != 0 && strcmp (name, CURATOR_TURNS_NAME) != 0)
        add_foreign_name (inspection, top, name);
    }
  /* Turns are read after leases: a contender without a turn has its leases by then. */
  if (!folder_read (&leases, limits, error) || !folder_read (&turns, limits, error)
      || !add_nodes (inspection, limits, &leases, curator_grammar_lease_key,
                     CURATOR_PARTICIPANT_LEASE, error)
      || !add_nodes (inspection, limits, &turns, curator_grammar_mutex_key,
                     CURATOR_PARTICIPANT_TURN, error))
    {
      return FALSE;
    }
  mark_semaphore_holders (inspection);
  g_ptr_array_sort (inspection->participants, compare_held);
  return TRUE;
}

static gboolean
inspect_queue (CuratorInspection *inspection, const CuratorLimits *limits, const Folder *top,
               GError **error)
{
  const gboolean is_rw = inspection->kind == CURATOR_LOCK_KIND_READ_WRITE;
  const gboolean is_latch = inspection->kind == CURATOR_LOCK_KIND_LEADER_LATCH;

  if (!add_nodes (inspection, limits, top,
                  is_rw      ? curator_grammar_rw_key
                  : is_latch ? curator_grammar_latch_key
                             : curator_grammar_mutex_key,
                  is_rw      ? CURATOR_PARTICIPANT_READ
                  : is_latch ? CURATOR_PARTICIPANT_LATCH
                             : CURATOR_PARTICIPANT_MUTEX,
                  error))
    {
      return FALSE;
    }
  mark_queue_holders (inspection);
  return TRUE;
}

static int
compare_odd (gconstpointer a, gconstpointer b)
{
  const gint64 left = curator_grammar_number_of (*(const char *const *) a);
  const gint64 right = curator_grammar_number_of (*(const char *const *) b);
  return left != right ? (left < right ? -1 : 1) : curator_compare_strings (a, b);
}

/* Adds the nodes of other programs that are somebody's. Whether one of them holds is not known. */
static gboolean
add_others (CuratorInspection *inspection, const CuratorLimits *limits, GError **error)
{
  g_autoptr (GPtrArray) odd = g_steal_pointer (&inspection->odd);
  g_ptr_array_sort (odd, compare_odd);
  g_autoptr (GArray) nodes = curator_fetch (limits, CURATOR_FETCH_DATA, odd, error);

  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    {
      const CuratorFetched *fetched = &g_array_index (nodes, CuratorFetched, i);
      if (!curator_fetched_is_owned (fetched))
        continue;
      const char *path = g_ptr_array_index (odd, i);
      CuratorParticipant *other = curator_inspection_add (inspection, CURATOR_PARTICIPANT_OTHER);
      other->node_path = g_strdup (curator_client_user_path (limits->client, path));
      other->number = curator_grammar_number_of (path);
      fill_participant (other, fetched);
    }
  if (inspection->kind == CURATOR_LOCK_KIND_NONE && inspection->participants->len > 0)
    inspection->kind = CURATOR_LOCK_KIND_OTHER;
  return nodes != NULL;
}

CuratorInspection *
curator_inspect_within (const CuratorLimits *limits, const char *path, GError **error)
{
  g_auto (Folder) top = { .path = curator_client_full_path (limits->client, path) };

  if (!folder_read (&top, limits, error))
    return NULL;
  g_autoptr (CuratorInspection) inspection = curator_inspection_new (path);
  inspection->kind = top.exists ? curator_grammar_kind ((const char *const *) top.children->pdata,
                                                        top.children->len)
                                : CURATOR_LOCK_KIND_NONE;
  const gboolean is_semaphore = inspection->kind == CURATOR_LOCK_KIND_SEMAPHORE;
  if (!(is_semaphore ? inspect_semaphore (inspection, limits, &top, error)
                     : inspect_queue (inspection, limits, &top, error))
      || !add_others (inspection, limits, error))
    {
      return NULL;
    }
  g_ptr_array_add (inspection->foreign, NULL);
  return g_steal_pointer (&inspection);
}

CuratorInspection *
curator_inspect (CuratorClient *client, const char *path, gint64 timeout_ms,
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
