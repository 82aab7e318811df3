/* Members of a multi-lock that are acquired together: all creates, then all lists.
 *
 * Mirrors the loops of InterProcessMultiLock.acquire and release, at the cost of one round trip
 * instead of one for each member. Threads: any; guarded by the mutex of the members' client.
 *
 * NOTES: each member has an attempt of its own, which waits in its queue like any other. The first
 * one that its first list does not grant is the cut: those behind it are withdrawn at once, so that
 * at rest a multi-lock holds the members before the cut and waits for that one, as if it had taken
 * them one after another. A withdrawn node has stood in other contenders' way for a round trip. So
 * a call without patience must not batch: two of them could refuse each other on free members.
 */
#include "multilock/batch.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "base/guards.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "lock/lease-private.h"
#include "lock/local_queue.h"
#include "session/session.h"

typedef enum
{
  ENTRY_RUNNING,
  ENTRY_HELD,
  ENTRY_ENDED
} EntryState;

typedef struct
{
  CuratorAttemptHook hook;
  CuratorBatch *batch;
  guint index;
  EntryState state CURATOR_GUARDED;
  CuratorOp *op CURATOR_GUARDED; /* while it is running and known */
  CuratorLease *lease CURATOR_GUARDED;
  GError *error CURATOR_GUARDED;
} Entry;

struct _CuratorBatch
{
  CuratorRefs refs;
  CuratorBatchSpec spec;
  CuratorClient *client;
  Entry *entries;
  guint cut CURATOR_GUARDED; /* index of the first one not granted by its first list; or n */
  guint n_running CURATOR_GUARDED;
  gboolean contender_was_shown CURATOR_GUARDED;
};

static void count_down (CuratorBatch *batch) CURATOR_UNLOCKED;

static CuratorLock *
member_of (CuratorBatch *batch, guint index)
{
  return g_ptr_array_index (batch->spec.members, batch->spec.first + index);
}

static CuratorBatch *
batch_ref (CuratorBatch *batch)
{
  curator_refs_inc (&batch->refs);
  return batch;
}

void
curator_batch_unref (CuratorBatch *batch)
{
  if (curator_refs_dec (&batch->refs)) {
    for (guint i = 0; i < batch->spec.n; i++) {
      g_clear_error (&batch->entries[i].error);
      g_clear_pointer (&batch->entries[i].lease, curator_lease_unref);
    }
    curator_client_memory_unref (batch->client);
    g_free (batch->entries);
    g_free (batch);
  }
}

CURATOR_DESTROY_FUNC (unref_lease, curator_lease_unref)

void
curator_batch_release (GPtrArray *members, guint n, guint64 owner, CuratorOp *whole)
{
  g_autoptr (GPtrArray) leases = g_ptr_array_new_with_free_func (unref_lease);

  curator_release_split (whole, n);
  for (guint i = n; i-- > 0;) {
    CuratorLock *member = g_ptr_array_index (members, i);
    if (member->klass->leave == NULL) {
      curator_leases_release (leases, whole);
      g_ptr_array_set_size (leases, 0);
      member->klass->release (member, owner, curator_release_part (whole, member->client));
      continue;
    }
    g_autoptr (GError) error = NULL;
    CuratorLease *lease = member->klass->leave (member, owner, &error);
    if (lease != NULL)
      g_ptr_array_insert (leases, 0, lease);
    else
      curator_release_part_ended (whole, error);
  }
  curator_leases_release (leases, whole);
}

/* bases: of the members before it that have to be created. */
static CURATOR_UNLOCKED gboolean
may_join (CuratorLock *member, CuratorClient *client, guint64 owner, GHashTable *bases)
{
  CuratorLockInternals *queue = member->internals;
  if (queue == NULL || member->client != client
      || !CURATOR_WITH_MUTEX (client, curator_lock_internals_is_exclusive (queue)))
    return FALSE;
  /* A hold of the owner's is entered again, without a node. */
  if (owner != 0 && member->klass->is_owned (member, owner))
    return TRUE;
  /* A path without an attempt or hold of this session, on which nobody was in front lately. */
  return CURATOR_WITH_MUTEX (
             client, curator_client_is_connected (client)
                         && !curator_local_queue_is_contended (client->session, queue->base))
         && g_hash_table_add (bases, queue->base);
}

guint
curator_batch_length (GPtrArray *members, guint first, guint64 owner)
{
  CURATOR_INSIDE_GATE;
  CuratorClient *client = ((CuratorLock *) g_ptr_array_index (members, first))->client;
  g_autoptr (GHashTable) bases = g_hash_table_new (g_str_hash, g_str_equal);
  guint n = 0;

  while (first + n < members->len
         && may_join (g_ptr_array_index (members, first + n), client, owner, bases))
    n++;
  return MAX (n, 1);
}

/* Those behind the cut that are held: a level of the owner's hold, or a lease. */
static CURATOR_UNLOCKED void
give_back (CuratorBatch *batch)
{
  CURATOR_INSIDE_GATE;
  g_autoptr (GPtrArray) leases = g_ptr_array_new_with_free_func (unref_lease);
  g_autoptr (GPtrArray) members = g_ptr_array_new ();

  curator_client_lock (batch->client);
  for (guint i = batch->cut + 1; i < batch->spec.n; i++) {
    Entry *entry = &batch->entries[i];
    if (entry->state == ENTRY_HELD) {
      entry->state = ENTRY_ENDED;
      g_ptr_array_add (members, member_of (batch, i));
    }
    if (entry->lease != NULL)
      g_ptr_array_insert (leases, 0, g_steal_pointer (&entry->lease));
  }
  curator_client_unlock (batch->client);
  if (batch->spec.owner != 0)
    curator_batch_release (members, members->len, batch->spec.owner, NULL);
  curator_leases_release (leases, NULL);
}

static CURATOR_UNLOCKED void
withdraw_behind_cut (gpointer data)
{
  CuratorBatch *batch = data;

  curator_client_lock (batch->client);
  curator_deletions_gather (batch->client);
  for (guint i = batch->cut + 1; i < batch->spec.n; i++)
    if (batch->entries[i].op != NULL)
      curator_lock_internals_withdraw (batch->entries[i].op);
  curator_deletions_send_gathered (batch->client);
  curator_client_unlock (batch->client);
  give_back (batch);
  count_down (batch);
}

/* What an attempt is doing must not be disturbed: others end when the mutex is released. The batch
 * is not done before, as its end lets the owner use its holds. */
static CURATOR_LOCKED void
set_cut (CuratorBatch *batch, guint index)
{
  if (index < batch->cut) {
    batch->cut = index;
    batch->n_running++;
    curator_client_after_unlock (batch->client, withdraw_behind_cut, batch_ref (batch));
  }
}

static CURATOR_LOCKED void
on_not_first (CuratorAttemptHook *hook)
{
  const Entry *entry = CURATOR_CONTAINER (hook, Entry, hook);
  set_cut (entry->batch, entry->index);
}

/* One thing less to wait for. The last one ends the batch. */
static void
count_down (CuratorBatch *batch)
{
  curator_client_lock (batch->client);
  const gboolean is_last = --batch->n_running == 0;
  const guint cut = batch->cut;
  const Entry *failed =
      cut < batch->spec.n && batch->entries[cut].state != ENTRY_HELD ? &batch->entries[cut] : NULL;
  const guint n_held = failed != NULL ? cut : MIN (cut + 1, batch->spec.n);
  const GError *error = failed != NULL ? failed->error : NULL;
  const gboolean was_shown = batch->contender_was_shown;
  curator_client_unlock (batch->client);
  if (is_last) {
    give_back (batch);
    batch->spec.done (batch, n_held, error, was_shown, batch->spec.data);
  }
  curator_batch_unref (batch);
}

/* Takes lease. */
static CURATOR_UNLOCKED void
end_entry (Entry *entry, CuratorLease *lease, const GError *error, gboolean was_shown)
{
  CuratorBatch *batch = entry->batch;

  curator_client_lock (batch->client);
  batch->contender_was_shown =
      batch->contender_was_shown || (was_shown && entry->index <= batch->cut);
  entry->state = error == NULL ? ENTRY_HELD : ENTRY_ENDED;
  entry->lease = lease;
  entry->error = error != NULL ? g_error_copy (error) : NULL;
  CuratorOp *op = g_steal_pointer (&entry->op);
  if (error != NULL)
    set_cut (batch, entry->index);
  curator_client_unlock (batch->client);
  g_clear_pointer (&op, curator_op_unref);
  give_back (batch);
  count_down (batch);
}

static CURATOR_UNLOCKED void
on_op_done (CuratorOp *op, gpointer result, const GError *error, gpointer data)
{
  end_entry (data, result, error, CURATOR_WITH_MUTEX (op->client, op->contender_was_shown));
}

static CURATOR_UNLOCKED void
start_entry (Entry *entry)
{
  CuratorBatch *batch = entry->batch;
  const CuratorBatchSpec *spec = &batch->spec;
  CuratorLock *member = member_of (batch, entry->index);
  const CuratorLockClass *klass = member->klass;
  g_autoptr (GError) lost = NULL;

  if (spec->owner != 0 && klass->reenter != NULL && klass->reenter (member, spec->owner, &lost)) {
    end_entry (entry, NULL, lost, FALSE);
    return;
  }
  entry->hook.not_first = on_not_first;
  const CuratorAttemptSpec attempt = { .deadline_us = spec->deadline_us,
                                       .once = spec->once,
                                       .batch_hook =
                                           spec->n > 1 && !spec->once ? &entry->hook : NULL,
                                       .done = on_op_done,
                                       .data = entry };
  CuratorOp *op = klass->acquire (member, spec->owner, &attempt);
  curator_client_lock (batch->client);
  curator_op_continue (op, spec->begun_us, spec->contender_was_shown);
  /* The entry may have ended already. */
  if (entry->state == ENTRY_RUNNING)
    entry->op = g_steal_pointer (&op);
  if (entry->op != NULL && entry->index > batch->cut)
    curator_lock_internals_withdraw (entry->op);
  curator_client_unlock (batch->client);
  g_clear_pointer (&op, curator_op_unref);
}

CuratorBatch *
curator_batch_start (const CuratorBatchSpec *spec)
{
  CuratorBatch *batch = g_new0 (CuratorBatch, 1);

  curator_refs_init (&batch->refs);
  batch->spec = *spec;
  batch->client = member_of (batch, 0)->client;
  curator_client_memory_ref (batch->client);
  batch->entries = g_new0 (Entry, spec->n);
  curator_client_lock (batch->client);
  batch->cut = spec->n;
  batch->n_running = 1;
  curator_client_unlock (batch->client);
  for (guint i = 0; i < spec->n; i++) {
    Entry *entry = &batch->entries[i];
    entry->batch = batch;
    entry->index = i;
    curator_client_lock (batch->client);
    const gboolean is_behind_cut = i > batch->cut;
    entry->state = is_behind_cut ? ENTRY_ENDED : ENTRY_RUNNING;
    batch->n_running += is_behind_cut ? 0 : 1;
    curator_client_unlock (batch->client);
    if (is_behind_cut)
      continue;
    batch_ref (batch);
    start_entry (entry);
  }
  curator_client_lock (batch->client);
  for (guint i = 0; spec->n > 1 && i < spec->n; i++)
    if (batch->entries[i].op != NULL)
      curator_lock_internals_list (batch->entries[i].op);
  curator_client_unlock (batch->client);
  count_down (batch_ref (batch));
  return batch;
}

CuratorLease *
curator_batch_steal_lease (CuratorBatch *batch, guint index)
{
  return CURATOR_WITH_MUTEX (batch->client, g_steal_pointer (&batch->entries[index].lease));
}

void
curator_batch_cancel (CuratorBatch *batch)
{
  CuratorOp *first = NULL;

  curator_client_lock (batch->client);
  for (guint i = 0; first == NULL && i < batch->spec.n; i++) {
    if (batch->entries[i].op != NULL) {
      first = curator_op_ref (batch->entries[i].op);
      set_cut (batch, i);
    }
  }
  curator_client_unlock (batch->client);
  if (first == NULL)
    return;
  curator_op_cancel (
      first, g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "the multi-lock was given up"));
  curator_op_unref (first);
}
