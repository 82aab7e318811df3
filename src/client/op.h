/* One asynchronous operation: started, perhaps cancelled, done exactly once.
 *
 * Every acquire is one; a recipe's is made of those of its parts. The blocking calls start one and
 * wait (curator_await_*), the asynchronous ones start one and return.
 */
#ifndef CURATOR_OP_H
#define CURATOR_OP_H

#include "client/client-private.h"
#include "guards.h"

typedef struct _CuratorOp CuratorOp;

/* @locks none; runs on whichever thread brought the outcome. Exactly one of result and error is
 * set, except that a success without a value has neither. result is transferred. */
typedef void (*CuratorOpDone) (CuratorOp *op, gpointer result, const GError *error, gpointer data);

typedef struct
{
  /* @locks client mutex held; never called after the op finished. Must finish it with reason
   * (transfer full), leaving nothing behind. */
  void (*cancel) (CuratorOp *op, GError *reason);
  void (*finalize) (CuratorOp *op); /* frees the members, not the op itself */
  GDestroyNotify free_result;       /* for a result that nobody takes */
} CuratorOpClass;

struct _CuratorOp
{
  CuratorRefs refs;
  gint connected;                    /* atomic: a cancellable may cancel it */
  gboolean finished CURATOR_GUARDED; /* guarded by the client's mutex */
  const CuratorOpClass *klass;
  CuratorClient *client;
  gint64 deadline_us; /* monotonic; G_MAXINT64 for none */
  CuratorTimer *deadline_timer CURATOR_GUARDED;
  CuratorOpDone done;
  gpointer data;
  gpointer result;
  GError *error;
  GList link; /* in client->ops_running */
};

/* Allocates size bytes, zeroed, with the op at their head. One reference for the caller, one for
 * the op itself until it is done. @locks client mutex NOT required. */
gpointer curator_op_alloc (gsize size, const CuratorOpClass *klass, CuratorClient *client,
                           gint64 deadline_us, CuratorOpDone done, gpointer data);
/* Registers the op with the client and arms its deadline, whose
 * passing cancels it with TIMED_OUT. FALSE: the client is not running; the op has been finished. */
gboolean curator_op_begin (CuratorOp *op) CURATOR_LOCKED;
/* Takes result and error. */
void curator_op_finish (CuratorOp *op, gpointer result, GError *error) CURATOR_LOCKED;
/* The deadline no longer counts: the op is about to finish. */
void curator_op_stop_deadline (CuratorOp *op) CURATOR_LOCKED;
/* @locks none. Takes reason. Nothing happens if the op has finished. */
void curator_op_cancel (CuratorOp *op, GError *reason) CURATOR_UNLOCKED;
/* @locks none. Cancelling cancellable cancels op; disconnect the handler when op is done, but not
 * from inside it. 0 if it was cancelled already (op then is, too). */
gulong curator_op_connect (CuratorOp *op, GCancellable *cancellable);
CuratorOp *curator_op_ref (CuratorOp *op);
void curator_op_unref (CuratorOp *op);

/* Every operation under way ends with CLOSED, or with rc's error. */
void curator_client_cancel_ops (CuratorClient *client, int rc) CURATOR_LOCKED;

#endif
