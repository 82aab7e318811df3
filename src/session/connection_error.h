/* Why there is no connection, and the errors of calls that no server answered. */
#pragma once

#include "base/guards.h"
#include "core/client-record.h"

/* CONNECTION_LOST, NO_ANSWER or AUTH_FAILED for a call that began at since_us and that no server
 * has answered: "what path: not connected for N ms (cause)". path: the user's. */
GError *curator_unanswered_error (CuratorClient *client, const char *what, const char *path,
                                  gint64 since_us) CURATOR_LOCKED;
/* The error of a request that failed with rc: of a connection that was lost, the cause is told. */
GError *curator_request_error (CuratorClient *client, int rc, const char *what, const char *path,
                               gint64 since_us) CURATOR_LOCKED;

/* For another error of a call: " (not connected for N ms: cause)", or "" while connected. */
char *curator_connection_error_suffix (CuratorClient *client) CURATOR_LOCKED;

/* How long there has been no connection: microseconds, 0 while there is one. */
gint64 curator_connection_down_us (CuratorClient *client) CURATOR_LOCKED;

gboolean curator_connection_error_has_listeners (CuratorClient *client) CURATOR_LOCKED;
/* For session_states.c: what the newest handle connects to, or why no handle could be opened, in
 * CURATOR_CONNECT_ERROR. Takes why. */
void curator_connection_error_opened (CuratorClient *client, GPtrArray *servers,
                                      GError *why) CURATOR_LOCKED;
/* The handle connects to these servers now. FALSE: as before. */
gboolean curator_connection_error_moved (CuratorClient *client, GPtrArray *servers) CURATOR_LOCKED;
/* For the listeners: an error that no call will return. */
void curator_connection_error_unhandled (CuratorClient *client, const GError *error) CURATOR_LOCKED;
/* A warning with the cause: the first time in an outage, and then every ten minutes. */
void curator_connection_error_warn (CuratorClient *client) CURATOR_LOCKED;
/* For session_states.c: since now there is no connection, or one again. */
void curator_connection_error_down (CuratorClient *client) CURATOR_LOCKED;
void curator_connection_error_up (CuratorClient *client) CURATOR_LOCKED;
void curator_connection_error_closed (CuratorClient *client) CURATOR_LOCKED;
/* The next two need no lock: no other thread knows the client. */
void curator_connection_error_init (CuratorClient *client);
void curator_connection_error_clear (CuratorClient *client);
