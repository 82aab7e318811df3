/* The operation of a release: of one node, or of several parts.
 *
 * Mirrors nothing: Curator's releases wait in place. Threads: any; guarded by the client's mutex.
 * Parts may be of other clients: the whole is told after their mutex was released.
 */
#include "nodes/release.h"

#include "core/client-record.h"
#include "core/monitor.h"
#include "core/namespace.h"

typedef struct
{
  CuratorOp op;
  gint64 timeout_ms;
  const char *path CURATOR_GUARDED;
  guint n_parts CURATOR_GUARDED;   /* that have not ended */
  GError *failure CURATOR_GUARDED; /* domain and code of the first one, all messages */
} Release;

static CURATOR_LOCKED void
release_cancel (CuratorOp *op, GError *reason)
{
  g_prefix_error (&reason, "the release goes on: ");
  curator_op_finish (op, NULL, reason);
}

static CURATOR_LOCKED GError *
release_timed_out (CuratorOp *op)
{
  return g_error_new (CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING,
                      "the server has not confirmed the deletion of %s yet",
                      curator_client_user_path (op->client, ((Release *) op)->path));
}

static void
release_finalize (CuratorOp *op)
{
  curator_not_shared ();
  g_clear_error (&((Release *) op)->failure);
}

CuratorOp *
curator_release_new (CuratorClient *client, gint64 timeout_ms, CuratorOpDone done, gpointer data)
{
  static const CuratorOpClass klass = { .cancel = release_cancel,
                                        .timed_out = release_timed_out,
                                        .finalize = release_finalize };
  Release *release = curator_op_alloc (sizeof *release, &klass, client, G_MAXINT64, done, data);
  release->timeout_ms = timeout_ms;
  return &release->op;
}

void
curator_release_begin (CuratorOp *op, const char *path)
{
  Release *release = (Release *) op;

  if (op != NULL && !op->finished) {
    op->deadline_us = curator_client_deadline (op->client, release->timeout_ms);
    release->path = path;
    curator_op_start_deadline (op);
  }
}

void
curator_release_end (CuratorOp *release, GError *error)
{
  if (release != NULL && !release->finished)
    curator_op_finish (release, NULL, error);
  else
    g_clear_error (&error);
}

void
curator_release_split (CuratorOp *whole, guint n)
{
  if (whole == NULL)
    return;
  curator_client_lock (whole->client);
  ((Release *) whole)->n_parts = n;
  if (n == 0)
    curator_release_end (whole, NULL);
  curator_client_unlock (whole->client);
}

void
curator_release_part_ended (CuratorOp *op, const GError *error)
{
  Release *whole = (Release *) op;

  if (op == NULL)
    return;
  curator_client_lock (op->client);
  if (error != NULL && whole->failure == NULL) {
    whole->failure = g_error_copy (error);
  } else if (error != NULL) {
    g_autofree char *before = whole->failure->message;
    whole->failure->message = g_strconcat (before, "; ", error->message, NULL);
  }
  if (--whole->n_parts == 0)
    curator_release_end (op, g_steal_pointer (&whole->failure));
  curator_client_unlock (op->client);
}

static CURATOR_UNLOCKED void
on_part_done (CuratorOp *part, gpointer result, const GError *error, gpointer whole)
{
  curator_release_part_ended (whole, error);
  curator_op_unref (whole);
}

CuratorOp *
curator_release_part (CuratorOp *whole, CuratorClient *client)
{
  if (whole == NULL)
    return NULL;
  CuratorOp *part = curator_release_new (client, ((Release *) whole)->timeout_ms, on_part_done,
                                         curator_op_ref (whole));
  curator_op_unref (part);
  return part;
}
