/* Creating, starting and stopping the lanes; for client.c. Guarded by the client's mutex. */
#pragma once

#include "core/client-record.h"

CuratorDispatch *curator_dispatch_new (void) CURATOR_LOCKED;
void curator_dispatch_free (CuratorDispatch *dispatch) CURATOR_LOCKED;
/* Starts the threads, if ops->threads. */
gboolean curator_dispatch_start (CuratorClient *client, GError **error) CURATOR_LOCKED;
/* The lanes finish their work and end. */
void curator_dispatch_stop (CuratorClient *client) CURATOR_LOCKED;
/* Waits until the sessions are closed and the lanes have ended, with the mutex unlocked, for a
 * limited time. On a thread that serves a client it does not wait for lanes, nor for a session of
 * its own client unless that is the program's. */
void curator_dispatch_join (CuratorClient *client) CURATOR_LOCKED;
