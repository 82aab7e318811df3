/* Creating, starting and stopping the lanes; for client.c. Guarded by the client's mutex. */
#pragma once

#include "core/client-record.h"

CuratorDispatch *curator_dispatch_new (void) CURATOR_LOCKED;
void curator_dispatch_free (CuratorDispatch *dispatch) CURATOR_LOCKED;
/* Starts the threads, if ops->threads. */
gboolean curator_dispatch_start (CuratorClient *client, GError **error) CURATOR_LOCKED;
/* The lanes finish their work and end. */
void curator_dispatch_stop (CuratorClient *client) CURATOR_LOCKED;
/* curator_closing_join(), and a warning if it was in vain. */
void curator_dispatch_join (CuratorClient *client) CURATOR_LOCKED;
/* Runs func (data) once, right after an unlock, when the sessions are closed and the lanes have
 * ended, or when curator_closing_join() would not wait any longer. */
void curator_dispatch_end_then (CuratorClient *client, CuratorWork func,
                                gpointer data) CURATOR_LOCKED;
