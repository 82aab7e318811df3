/* The in-flight table: every request to ZooKeeper, from the moment it is asked for until somebody,
 * the library or we, has settled it.
 *
 * libzookeeper loses completions at expiry and at close, so a request's memory belongs to its
 * session: it is settled by the completion or by the session's death, whichever is first, and freed
 * by the completion or by the close of the handle. Guarded by the client's mutex.
 */
#ifndef CURATOR_REQUEST_H
#define CURATOR_REQUEST_H

#include "client/session.h"

/* @locks client mutex held. sent_us: CLOCK_BOOTTIME when it was handed to the library. */
typedef void (*CuratorRequestDone) (int rc, const CuratorZkReply *reply, gint64 sent_us,
                                    gpointer data);

/* @locks client mutex required, all of them. done runs exactly once unless the request was
 * forgotten, never inside the call that asks. path is the full one. */
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
CuratorRequest *curator_request_remove_watches (CuratorSession *session, const char *path,
                                                ZooWatcherType type, CuratorRequestDone done,
                                                gpointer user_data) CURATOR_LOCKED;

/* The asker is no longer interested: done will not run. The request itself goes on. */
void curator_request_forget (CuratorRequest *request) CURATOR_LOCKED;
/* Hands the answer to somebody else. */
void curator_request_redirect (CuratorRequest *request, CuratorRequestDone done,
                               gpointer user_data) CURATOR_LOCKED;

/* Whether a get brought exactly payload. */
gboolean curator_reply_has_payload (const CuratorZkReply *reply, GBytes *payload) CURATOR_LOCKED;

/* For session.c. settle_all answers everything under way; free_all frees what no completion will
 * come for any more, after the handle was closed. */
void curator_request_settle_all (CuratorSession *session, int rc) CURATOR_LOCKED;
void curator_request_free_all (CuratorSession *session) CURATOR_LOCKED;

#endif
