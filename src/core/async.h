/* Delivers the result of an operation on the callback lane: the base of the _then calls. */
#pragma once

#include "core/op.h"

#include <gio/gio.h>

typedef struct _CuratorAsync CuratorAsync;

/* Calls the user's callback with the result, which it takes, on the callback lane, without a
 * lock. */
typedef void (*CuratorDeliver) (GCallback callback, gpointer owner, gpointer result,
                                const GError *error, gpointer user_data);

/* owner: a reference to the object that the call was made on, which unref_owner drops.
 *
 * Pass curator_async_done and the async as an op's done and data, then call curator_async_started.
 * The callback runs once. Without a client (NULL) there is no op, and a thread of its own runs the
 * callback. */
CuratorAsync *curator_async_new (CuratorClient *client, gpointer owner, GDestroyNotify unref_owner,
                                 CuratorDeliver deliver, GCallback callback, gpointer user_data);
void curator_async_done (CuratorOp *op, gpointer result, const GError *error, gpointer async);
/* Takes the caller's reference of op or, if that is NULL, error, which may be NULL. */
void curator_async_started (CuratorAsync *async, CuratorOp *op, GCancellable *cancellable,
                            GError *error);
/* The end of a call that has no op. Takes error, which may be NULL. */
void curator_async_end (CuratorAsync *async, GError *error);

/* Checks a call that can wait before it starts. */
gboolean curator_check_call (CuratorClient *client, GCancellable *cancellable, GError **error);
/* The deadline of an acquire. Without any time it is a single try: that waits for no holder, but
 * its requests may take up to the connection timeout. */
gint64 curator_acquire_deadline (CuratorClient *client, gint64 timeout_ms, gboolean *once);

/* How long a blocking call may take in all, however many requests it sends. */
typedef struct
{
  CuratorClient *client;
  gint64 deadline_us;
  GCancellable *cancellable; /* or NULL */
} CuratorLimits;

/* FALSE with an error as curator_check_call(). */
gboolean curator_limits_init (CuratorLimits *limits, CuratorClient *client, gint64 timeout_ms,
                              GCancellable *cancellable, GError **error);
