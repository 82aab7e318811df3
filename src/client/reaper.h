/* The only deleter: guaranteed deletes and nodes whose creation has an unknown outcome.
 *
 * Mirrors Curator's FailedDeleteManager and FindAndDeleteProtectedNodeInBackground in one queue of
 * its own, independent of caller, object and retry policy. An item leaves it only when a server has
 * said that the node is gone, or refused for good, or the client closed (the session's end then
 * takes the node). Guarded by the client's mutex.
 */
#ifndef CURATOR_REAPER_H
#define CURATOR_REAPER_H

#include "client/request.h"

/* @locks none; runs after the mutex was given back. error: NULL when the node is gone,
 * RELEASE_PENDING when patience ran out (the item goes on), CLOSED, or the server's refusal. */
typedef void (*CuratorReaperDone) (const GError *error, gpointer data);

/* @locks client mutex required, all of them. Paths are full ones. done may be NULL. */
void curator_reaper_delete (CuratorClient *client, const char *path, gint64 patience_us,
                            CuratorReaperDone done, gpointer data);
/* A create of name below parent, in the session of that id, has an unknown outcome. prefix
 * "_c_<uuid>-": every child whose name begins so is deleted. NULL: the node of exactly that name is
 * deleted, if it is an ephemeral of that session. */
void curator_reaper_delete_unknown (CuratorClient *client, const char *parent, const char *prefix,
                                    const char *name, gint64 session_id);
/* Takes over a create under way whose asker left: its node, if any, is deleted. */
void curator_reaper_adopt_create (CuratorClient *client, CuratorRequest *request,
                                  const char *parent, const char *prefix, const char *name,
                                  gint64 session_id);

CuratorReaper *curator_reaper_new (CuratorClient *client);
void curator_reaper_connected (CuratorReaper *reaper);
void curator_reaper_close (CuratorReaper *reaper);
void curator_reaper_free (CuratorReaper *reaper);
guint curator_reaper_pending (CuratorReaper *reaper);

#endif
