/* Blocks a thread until a release has been confirmed. Unlike an operation, the release goes on when the
 * wait for it is cancelled. */
#pragma once

#include "core/client-record.h"

#include <gio/gio.h>

typedef struct _CuratorConfirmation CuratorConfirmation;

/* Pass curator_confirmation_done and the confirmation as the done and the data of one release, then call
 * curator_confirmation_await, which frees it; the thread is the same. */
CuratorConfirmation *curator_confirmation_new (CuratorClient *client);
/* A CuratorReleaseDone. Called once, from any thread, also after the wait was cancelled. */
void curator_confirmation_done (const GError *error, gpointer confirmation);
/* FALSE with the release's error or G_IO_ERROR_CANCELLED. What was confirmed before stays so. */
gboolean curator_confirmation_await (CuratorConfirmation *confirmation, GCancellable *cancellable,
                                     GError **error);
