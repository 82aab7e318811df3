/* InterProcessReadWriteLock: one queue of readers and writers.
 *
 * Mirrors InterProcessReadWriteLock of Curator 5.5 and later. Threads: any; the two sides are
 * mutexes of their own kinds and guarded by the client's mutex.
 *
 * NOTES: both kinds of nodes are numbered together. A writer is granted when no node is in front, a
 * reader when no writer is. A reader watches the nearest writer in front instead of the first: the
 * grants are the same and it wakes once. A thread that holds the write lock reads under a node with
 * its writer's number, so that queued writers stay behind when the write lock is released.
 */
#include "curator/rwlock.h"

#include "base/fork_gate.h"
#include "base/tag.h"
#include "core/client-record.h"
#include "core/payload.h"
#include "lock/lease-private.h"
#include "lock/queue.h"
#include "lock/wire.h"
#include "mutex/mutex-private.h"

#include <string.h>

struct _CuratorRwLock
{
  CuratorTag tag;
  CuratorRefs refs; /* of the pair and of either side */
  CuratorLock *read;
  CuratorLock *write;
};

static const char *
rw_fix_for_sorting (CuratorLockDriver *driver, const char *name, const char *lock_name,
                    gpointer user_data)
{
  const char *key = curator_queue_standard_key (name, CURATOR_READ_NAME);
  return key != name ? key : curator_queue_standard_key (name, CURATOR_WRITE_NAME);
}

static void
read_predicate (CuratorQueue *order, gsize index, int max_leases, CuratorPredicateResults *results)
{
  const gssize nearest_writer = curator_queue_writer_before (order, index);
  results->gets_the_lock = nearest_writer < 0;
  results->path_to_watch = nearest_writer < 0 ? NULL : order->names[nearest_writer];
}

/* Readers hold together, up to the first writer. */
static gboolean
rw_holds (CuratorQueue *order, gsize index)
{
  return index == 0
         || (strstr (order->names[index], CURATOR_READ_NAME) != NULL
             && curator_queue_writer_before (order, index) < 0);
}

/* A writer reads at once, under its own number; not if its write hold is lost. */
static CuratorNodeRequest *
new_read_request (CuratorLock *read, guint64 owner, GError **error)
{
  CuratorLock *write = read->pair->write;
  g_autoptr (CuratorLease) write_hold = owner != 0 ? write->klass->dup_lease (write, owner) : NULL;

  if (write_hold == NULL)
    return curator_node_request_new (CURATOR_READ_NAME);
  if (curator_lease_get_state (write_hold) >= CURATOR_LEASE_STATE_LOST) {
    g_propagate_error (error,
                       curator_lease_over_error (write_hold, "the write hold of this thread"));
    return NULL;
  }
  const char *digits =
      curator_queue_standard_key (curator_lease_get_node_name (write_hold), CURATOR_WRITE_NAME);
  g_autofree char *name = g_strconcat (CURATOR_READ_NAME, digits, NULL);
  CuratorNodeRequest *request = curator_node_request_new (name);
  curator_node_request_set_mode (request, CURATOR_CREATE_MODE_EPHEMERAL);
  request->required_hold = g_steal_pointer (&write_hold);
  return request;
}

/* A reader that wants to write would wait for its own read node forever. */
static CuratorNodeRequest *
new_write_request (CuratorLock *write, guint64 owner, GError **error)
{
  CuratorLock *read = write->pair->read;
  g_autoptr (CuratorLease) read_hold = owner != 0 ? read->klass->dup_lease (read, owner) : NULL;

  if (read_hold != NULL) {
    g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED,
                         "this thread holds the read lock and would wait for itself: "
                         "a read lock cannot be upgraded");
    return NULL;
  }
  return curator_node_request_new (CURATOR_WRITE_NAME);
}

static void
free_pair (CuratorLock *side)
{
  CuratorRwLock *rw_lock = side->pair;
  curator_lock_destroy (rw_lock->read);
  curator_lock_destroy (rw_lock->write);
  curator_tag_clear (rw_lock);
  g_free (rw_lock);
}

static CuratorLock *
side_new (CuratorRwLock *pair, CuratorClient *client, const char *path, gboolean writes,
          GBytes *data)
{
  CuratorLockDriver *driver =
      curator_lock_driver_new_builtin (writes ? curator_standard_predicate : read_predicate);
  driver->funcs.fix_for_sorting = rw_fix_for_sorting;
  /* Only a writer's own read node, with its number, can come between it and the next. */
  driver->neighbours_succeed = writes;
  driver->holds = rw_holds;
  CuratorLockInternals *internals = curator_lock_internals_new (
      client, path, path, writes ? CURATOR_WRITE_NAME : CURATOR_READ_NAME, 1, driver);
  internals->shares_queue = TRUE;
  internals->data = data != NULL ? g_bytes_ref (data) : NULL;
  CuratorLock *lock =
      curator_mutex_new_of_kind (writes ? "write lock" : "read lock",
                                 writes ? new_write_request : new_read_request, internals);
  lock->refs = &pair->refs;
  lock->pair = pair;
  lock->free = free_pair;
  return lock;
}

static gboolean
check_arguments (CuratorClient *client, const char *path, const void *data, gsize length,
                 GError **error)
{
  if (!curator_lock_check_path (client, path, error))
    return FALSE;
  if (strstr (path, CURATOR_READ_NAME) != NULL || strstr (path, CURATOR_WRITE_NAME) != NULL)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the path of a read-write lock must not contain " CURATOR_READ_NAME
                           " or " CURATOR_WRITE_NAME);
  if (data == NULL && length > 0)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "a payload of %" G_GSIZE_FORMAT " bytes that is NULL", length);
  return curator_check_payload (length, error);
}

CuratorRwLock *
curator_rw_lock_new (CuratorClient *client, const char *path, const void *data, gsize length,
                     GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client), error, NULL);
  CURATOR_INSIDE_GATE;
  if (!check_arguments (client, path, data, length, error))
    return NULL;
  g_autoptr (GBytes) payload = data != NULL ? g_bytes_new (data, length) : NULL;
  CuratorRwLock *rw_lock = g_new0 (CuratorRwLock, 1);
  rw_lock->tag = CURATOR_TAG_RW_LOCK;
  curator_refs_init (&rw_lock->refs);
  rw_lock->read = side_new (rw_lock, client, path, FALSE, payload);
  rw_lock->write = side_new (rw_lock, client, path, TRUE, payload);
  return rw_lock;
}

CURATOR_GETTER (CuratorLock *, curator_rw_lock_get_read_lock, CuratorRwLock, RW_LOCK, read, NULL)
CURATOR_GETTER (CuratorLock *, curator_rw_lock_get_write_lock, CuratorRwLock, RW_LOCK, write, NULL)
CURATOR_REF_FUNC (curator_rw_lock_ref, CuratorRwLock, RW_LOCK)

void
curator_rw_lock_unref (CuratorRwLock *rw_lock)
{
  g_return_if_fail (CURATOR_IS_RW_LOCK (rw_lock));
  curator_lock_unref (rw_lock->read);
}
