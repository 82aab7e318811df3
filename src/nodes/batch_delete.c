/* Nodes that are deleted together, by one transaction.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex, which is held from the
 * first member to the send: no other request of the session comes between.
 */
#include "nodes/batch_delete.h"

#include "core/zk_error.h"
#include "session/session.h"

#include <string.h>

/* Of the paths of one transaction. A request of more than 1 MB would cost the connection. */
#define MAX_BATCH_BYTES (64 * 1024)

struct _CuratorBatchDelete
{
  GPtrArray *members CURATOR_GUARDED; /* CuratorBatchedNode; NULL for one that has left */
  guint n_members CURATOR_GUARDED;
  gsize n_bytes CURATOR_GUARDED;
  CuratorRequest *request CURATOR_GUARDED;
};

CuratorBatchDelete *
curator_batch_delete_new (void)
{
  CuratorBatchDelete *batch = g_new0 (CuratorBatchDelete, 1);
  batch->members = g_ptr_array_new ();
  return batch;
}

static CURATOR_LOCKED void
batch_free (CuratorBatchDelete *batch)
{
  g_clear_pointer (&batch->request, curator_request_forget);
  g_ptr_array_unref (batch->members);
  g_free (batch);
}

void
curator_batch_delete_add (CuratorBatchDelete *batch, CuratorBatchedNode *member)
{
  g_ptr_array_add (batch->members, member);
  member->batch = batch;
  batch->n_members++;
  batch->n_bytes += strlen (member->path) + CURATOR_STEP_BYTES;
}

/* NULL if it has left already. */
static CURATOR_LOCKED CuratorBatchedNode *
take_out (CuratorBatchDelete *batch, guint index)
{
  CuratorBatchedNode *member = g_ptr_array_index (batch->members, index);
  if (member != NULL) {
    g_ptr_array_index (batch->members, index) = NULL;
    member->batch = NULL;
    batch->n_members--;
  }
  return member;
}

void
curator_batch_delete_leave (CuratorBatchedNode *member)
{
  CuratorBatchDelete *batch = member->batch;
  guint index;

  if (batch != NULL && g_ptr_array_find (batch->members, member, &index)) {
    take_out (batch, index);
    if (batch->n_members == 0)
      batch_free (batch);
  }
}

static CURATOR_LOCKED void
on_all_deleted (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorBatchDelete *batch = data;

  batch->request = NULL;
  for (guint i = 0; i < batch->members->len; i++) {
    CuratorBatchedNode *member = take_out (batch, i);
    if (member != NULL && rc != ZOK && curator_zk_is_refusal (rc))
      member->alone (member);
    else if (member != NULL)
      member->answered (member, rc);
  }
  batch_free (batch);
}

/* One node needs no transaction. */
void
curator_batch_delete_send (CuratorBatchDelete *batch, CuratorClient *client)
{
  if (batch->n_members > 1 && curator_client_is_connected (client)
      && batch->n_bytes <= curator_request_room (client->session, MAX_BATCH_BYTES)) {
    GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
    for (guint i = 0; i < batch->members->len; i++) {
      const CuratorBatchedNode *member = g_ptr_array_index (batch->members, i);
      g_ptr_array_add (paths, g_strdup (member->path));
    }
    batch->request = curator_request_remove_all (client->session, paths, on_all_deleted, batch);
    return;
  }
  for (guint i = 0; i < batch->members->len; i++) {
    CuratorBatchedNode *member = take_out (batch, i);
    member->alone (member);
  }
  batch_free (batch);
}
