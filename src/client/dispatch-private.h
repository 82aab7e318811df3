/* The lanes' insides, for client.c, which makes and ends them. */
#ifndef CURATOR_DISPATCH_PRIVATE_H
#define CURATOR_DISPATCH_PRIVATE_H

#include "client/client-private.h"

CuratorDispatch *curator_dispatch_new (void) CURATOR_LOCKED;
void curator_dispatch_free (CuratorDispatch *dispatch) CURATOR_LOCKED;
/* Starts the threads, if the ops want threads. */
gboolean curator_dispatch_start (CuratorClient *client, GError **error) CURATOR_LOCKED;
/* The lanes finish what they have and end. */
void curator_dispatch_stop (CuratorClient *client) CURATOR_LOCKED;
/* @locks client mutex required, given back while waiting. Until the lanes have ended; at once on a
 * thread that serves this client. */
void curator_dispatch_join (CuratorClient *client) CURATOR_LOCKED;
/* Whether this thread serves any client. */
gboolean curator_dispatch_is_inside (void);

#endif
