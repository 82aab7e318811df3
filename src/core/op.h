/* An asynchronous operation: it may be cancelled, and ends exactly once.
 *
 * Every acquire, release, read and write is one; the acquire of a recipe may start further ones. A
 * blocking call starts an operation and waits (curator_await_*), an asynchronous call starts one
 * and returns.
 */
#pragma once

#include "base/guards.h"
#include "core/client-record.h"
#include "core/monitor.h"

typedef struct _CuratorOp CuratorOp;

/* Called without a lock, on the thread on which the operation ended. Exactly one of result and
 * error is set, except that a success without a value has neither. result is transferred. */
typedef void (*CuratorOpDone) (CuratorOp *op, gpointer result, const GError *error, gpointer data);

typedef struct
{
  /* Called with the client's mutex held, never after the op finished. Must finish it with reason
   * (transfer full) and leave nothing behind; it may take a while if the thread must not go on
   * before. May be called again meanwhile. */
  void (*cancel) (CuratorOp *op, GError *reason);
  /* Called with the client's mutex held when the deadline has passed: the reason to cancel the op
   * with. NULL: what the op waits for has the same deadline and ends the op. May be NULL itself:
   * TIMED_OUT. */
  GError *(*timed_out) (CuratorOp *op);
  void (*finalize) (CuratorOp *op); /* frees the members, not the op itself */
} CuratorOpClass;

struct _CuratorOp
{
  CuratorRefs refs;
  gint connected; /* atomic: a cancellable may cancel it */
  gboolean finished CURATOR_GUARDED;
  const CuratorOpClass *klass;
  CuratorClient *client;
  gint64 deadline_us;                           /* monotonic; G_MAXINT64 for none */
  gint64 begun_us;                              /* monotonic */
  gboolean contender_was_shown CURATOR_GUARDED; /* by a server, in front of one of its nodes */
  CuratorTimer *deadline_timer CURATOR_GUARDED;
  CuratorLast no_time CURATOR_GUARDED; /* in place of the timer: for #CURATOR_NO_TIME_US */
  CuratorOpDone done;
  gpointer data;
  gpointer result;
  GError *error;
  GList link CURATOR_GUARDED; /* in client->ops_running; without data until it has begun */
};

/* Allocates size bytes, zeroed, that begin with the op. One reference is the caller's, one the op's
 * own until it is done. */
gpointer curator_op_alloc (gsize size, const CuratorOpClass *klass, CuratorClient *client,
                           gint64 deadline_us, CuratorOpDone done, gpointer data);
/* Registers the op with the client and starts its deadline, which cancels it. FALSE:
 * the client is not running, and the op has been finished. */
gboolean curator_op_begin (CuratorOp *op) CURATOR_LOCKED;
/* op continues the call of a longer one. */
void curator_op_continue (CuratorOp *op, gint64 begun_us,
                          gboolean contender_was_shown) CURATOR_LOCKED;
/* The deadline alone, for an op that neither the client's close nor a refused login ends. */
void curator_op_start_deadline (CuratorOp *op) CURATOR_LOCKED;
/* Takes result and error. */
void curator_op_finish (CuratorOp *op, gpointer result, GError *error) CURATOR_LOCKED;
/* Drops the deadline: the op is about to finish. */
void curator_op_stop_deadline (CuratorOp *op) CURATOR_LOCKED;
/* Takes reason. Does nothing if the op has finished. */
void curator_op_cancel (CuratorOp *op, GError *reason) CURATOR_UNLOCKED;
/* Cancelling cancellable cancels op. Disconnect the handler when op is done, but not from inside
 * it. 0 if cancellable was already cancelled; op then is, too. */
gulong curator_op_connect (CuratorOp *op, GCancellable *cancellable);
CuratorOp *curator_op_ref (CuratorOp *op);
void curator_op_unref (CuratorOp *op);

/* Cancels all running operations: with CLOSED for ZCLOSING, otherwise with rc's error. */
void curator_client_cancel_ops (CuratorClient *client, int rc) CURATOR_LOCKED;
