/* The requests of a session, in flight or waiting to be sent (OperationAndData).
 *
 * libzookeeper loses completions at expiry and at close, so a request belongs to its session. Its
 * callback runs at the completion or at the session's death, whichever is first; it is freed at the
 * completion or at the close of the handle.
 */
#pragma once

#include "session/session.h"

/* Called with the client's mutex held. sent_us: CLOCK_BOOTTIME when the library got the request. */
typedef void (*CuratorRequestDone) (int rc, const CuratorZkReply *reply, gint64 sent_us,
                                    gpointer data);

/* path: the full path. done runs exactly once unless the request is forgotten, and never inside
 * these functions. */
CuratorRequest *curator_request_create (CuratorSession *session, const char *path, GBytes *data,
                                        int mode, CuratorRequestDone done,
                                        gpointer user_data) CURATOR_LOCKED;
CuratorRequest *curator_request_remove (CuratorSession *session, const char *path,
                                        CuratorRequestDone done, gpointer user_data) CURATOR_LOCKED;
CuratorRequest *curator_request_get (CuratorSession *session, const char *path, gboolean watch,
                                     CuratorRequestDone done, gpointer user_data) CURATOR_LOCKED;
CuratorRequest *curator_request_exists (CuratorSession *session, const char *path, gboolean watch,
                                        CuratorRequestDone done, gpointer user_data) CURATOR_LOCKED;
CuratorRequest *curator_request_get_children (CuratorSession *session, const char *path,
                                              gboolean watch, CuratorRequestDone done,
                                              gpointer user_data) CURATOR_LOCKED;
CuratorRequest *curator_request_set (CuratorSession *session, const char *path, GBytes *data,
                                     int version, CuratorRequestDone done,
                                     gpointer user_data) CURATOR_LOCKED;
/* paths: array of full paths, transfer full. */
CuratorRequest *curator_request_check (CuratorSession *session, GPtrArray *paths,
                                       CuratorRequestDone done, gpointer user_data) CURATOR_LOCKED;
/* One transaction: all are deleted or none. paths: array of full paths, transfer full. */
CuratorRequest *curator_request_remove_all (CuratorSession *session, GPtrArray *paths,
                                            CuratorRequestDone done,
                                            gpointer user_data) CURATOR_LOCKED;
CuratorRequest *curator_request_remove_watches (CuratorSession *session, const char *path,
                                                ZooWatcherType type, CuratorRequestDone done,
                                                gpointer user_data) CURATOR_LOCKED;

/* Requests wait until curator_request_send(): the library's thread, which the first one wakes, then
 * finds them all and sends them together. The mutex is not unlocked in between. */
void curator_request_collect (CuratorSession *session) CURATOR_LOCKED;
void curator_request_send (CuratorSession *session) CURATOR_LOCKED;

/* done will not run. The request itself is not cancelled. */
void curator_request_forget (CuratorRequest *request) CURATOR_LOCKED;
/* Replaces done. */
void curator_request_redirect (CuratorRequest *request, CuratorRequestDone done,
                               gpointer user_data) CURATOR_LOCKED;

/* Of one path in a transaction, besides the path. */
#define CURATOR_STEP_BYTES 17
/* How long a request may be: usual, or less where the server takes less. */
gsize curator_request_room (const CuratorSession *session, gsize usual) CURATOR_LOCKED;
/* The connection is lost. Called before its requests fail. */
void curator_request_note_loss (CuratorSession *session) CURATOR_LOCKED;

/* Whether the reply of a get has exactly this payload. */
gboolean curator_reply_has_payload (const CuratorZkReply *reply, GBytes *payload) CURATOR_LOCKED;

/* For the session's end. settle_all completes every request with rc; free_all, after the handle was
 * closed, frees the requests whose completion the library lost. */
void curator_request_settle_all (CuratorSession *session, int rc) CURATOR_LOCKED;
void curator_request_free_all (CuratorSession *session) CURATOR_LOCKED;
