/* Deletes nodes. A deletion ends only when a server confirms that the node is gone, a server
 * refuses for good, or the client closes (the session's end then deletes the node).
 */
#pragma once

#include "nodes/release.h"
#include "session/request.h"

typedef struct _CuratorDeletion CuratorDeletion;

/* path: the full path. owner: the session of an ephemeral, else 0. czxid: 0 if nobody else uses the
 * name: where time may have passed since the node was seen (under a later session, after a missing
 * permission), it is deleted only if it is still that session's. Otherwise only the node with this
 * czxid is deleted, and an ephemeral only in its own session, whose end deletes it anyway. */
CuratorDeletion *curator_deletion_new (CuratorClient *client, const char *path, gint64 owner,
                                       gint64 czxid) CURATOR_LOCKED;
/* release: ended with the server's refusal, too, or with CLOSED; may be NULL. The deletion may have
 * ended when this returns. */
void curator_deletion_start (CuratorDeletion *deletion, CuratorOp *release) CURATOR_LOCKED;
/* The same when so much time has passed. */
void curator_deletion_start_later (CuratorDeletion *deletion, gint64 pause_us) CURATOR_LOCKED;

/* From now on deletes by path alone wait for send_gathered(), which sends them as one transaction.
 * The mutex is held in between. */
void curator_deletions_gather (CuratorClient *client) CURATOR_LOCKED;
void curator_deletions_send_gathered (CuratorClient *client) CURATOR_LOCKED;

/* TRUE if the node of this path, stat and payload is about to be deleted. */
gboolean curator_deletions_has (CuratorClient *client, const char *path, const struct Stat *stat,
                                GBytes *payload) CURATOR_LOCKED;
/* The same of a node that only its path is known of, if nobody else uses such a name. */
gboolean curator_deletions_has_path (CuratorClient *client, const char *path) CURATOR_LOCKED;

CuratorDeletions *curator_deletions_new (void);
void curator_deletions_connected (CuratorClient *client) CURATOR_LOCKED;
void curator_deletions_close (CuratorClient *client) CURATOR_LOCKED;
void curator_deletions_free (CuratorDeletions *deletions) CURATOR_LOCKED;
/* Without searches that are idle. */
guint curator_deletions_pending (CuratorClient *client) CURATOR_LOCKED;
