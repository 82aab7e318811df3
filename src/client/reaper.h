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
typedef void (*CuratorReleaseDone) (const GError *error, gpointer data);

/* @locks client mutex required, all of them. Paths are full ones. done may be NULL. */
void curator_reaper_delete (CuratorClient *client, const char *path, gint64 timeout_us,
                            CuratorReleaseDone done, gpointer data) CURATOR_LOCKED;
/* The same for a node whose name others may use too: it is deleted only while it is the one with
 * that czxid, and an ephemeral (session_id not 0) only in its session, whose end takes it anyhow. */
void curator_reaper_delete_owned (CuratorClient *client, const char *path, gint64 session_id,
                                  gint64 czxid, gint64 timeout_us, CuratorReleaseDone done,
                                  gpointer data) CURATOR_LOCKED;

/* A create that was asked for in the session of that id, below parent. */
typedef struct
{
  const char *parent;
  const char *prefix;  /* "_c_<uuid>-" if the name begins so, else NULL */
  const char *name;    /* what follows */
  gboolean sequential; /* and then a number of the server's */
  gint64 session_id;   /* 0 for a persistent node */
  GBytes *payload;
} CuratorUnknownCreate;

/* Its outcome is unknown: every child with the prefix is deleted. Without one, the node of the name,
 * or every numbered one, if it is that session's, has that payload and is used by nobody here. */
void curator_reaper_delete_unknown (CuratorClient *client,
                                    const CuratorUnknownCreate *unknown) CURATOR_LOCKED;
/* It is under way and its asker left: its node, if any, is deleted. */
void curator_reaper_adopt_create (CuratorClient *client, CuratorRequest *request,
                                  const CuratorUnknownCreate *unknown) CURATOR_LOCKED;

CuratorReaper *curator_reaper_new (CuratorClient *client);
void curator_reaper_connected (CuratorReaper *reaper) CURATOR_LOCKED;
void curator_reaper_close (CuratorReaper *reaper) CURATOR_LOCKED;
void curator_reaper_free (CuratorReaper *reaper) CURATOR_LOCKED;
guint curator_reaper_pending (CuratorReaper *reaper) CURATOR_LOCKED;

#endif
