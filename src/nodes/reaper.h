/* The reaper: a queue of deletes and of searches for nodes whose creation reply was lost.
 *
 * An item leaves the queue only when a server confirms that the node is gone, a server refuses for
 * good, or the client closes (the session's end then deletes the node).
 */
#pragma once

#include "nodes/release.h"
#include "session/request.h"

/* path: the full path; its name is used by nobody else. session_id: of an ephemeral, else 0. Where
 * time may have passed since the node was seen (under a later session, after a missing permission),
 * it is deleted only if it is still that session's. release: ended when the node is gone, when a server refuses,
 * or with CLOSED. */
void curator_reaper_delete (CuratorClient *client, const char *path, gint64 session_id,
                            CuratorOp *release) CURATOR_LOCKED;
/* The same for a node whose name others may use: deletes it only if it has this czxid. An ephemeral
 * (session_id not 0) is deleted only in its own session, whose end deletes it anyway. */
void curator_reaper_delete_owned (CuratorClient *client, const char *path, gint64 session_id,
                                  gint64 czxid, CuratorOp *release) CURATOR_LOCKED;

/* Deletes a node when so much time has passed. czxid: 0 if its name is used by nobody else. */
void curator_reaper_delete_later (CuratorClient *client, const char *path, gint64 session_id,
                                  gint64 czxid, gint64 pause_us) CURATOR_LOCKED;

/* From now on deletes by path alone wait for send_gathered(), which sends them as one transaction.
 * The mutex is held in between. */
void curator_reaper_gather (CuratorReaper *reaper) CURATOR_LOCKED;
void curator_reaper_send_gathered (CuratorReaper *reaper) CURATOR_LOCKED;

/* A create whose outcome may stay unknown. */
typedef struct
{
  const char *parent;
  const char *prefix;     /* "_c_<uuid>-" if the name begins with it, else NULL */
  const char *name;       /* the name after the prefix */
  gboolean sequential;    /* the server appends a number */
  gboolean identifiable;  /* no other client can have created an equal node */
  gboolean wants_parents; /* makes the parents if they are missing: a create will follow */
  gint64 session_id;      /* of the create; 0 for a persistent node */
  GBytes *payload;
} CuratorUnknownCreate;

/* The outcome is unknown: deletes every child with the prefix. Without a prefix, deletes the node
 * of that name, or each one with a number, if owner and payload match and no hold here uses it. A
 * node that is not identifiable stays, with a warning: it may be a hold of another client. */
void curator_reaper_delete_unknown (CuratorClient *client,
                                    const CuratorUnknownCreate *unknown) CURATOR_LOCKED;
/* The create is in flight and its caller gave up: deletes the node that it creates. */
void curator_reaper_adopt_create (CuratorClient *client, CuratorRequest *request,
                                  const CuratorUnknownCreate *unknown) CURATOR_LOCKED;

/* TRUE if the node of this path, stat and payload is about to be deleted. */
gboolean curator_reaper_is_deleting (CuratorReaper *reaper, const char *path,
                                     const struct Stat *stat, GBytes *payload) CURATOR_LOCKED;

/* The same of a node that only its path is known of, if nobody else uses such a name. */
gboolean curator_reaper_will_delete (CuratorReaper *reaper, const char *path) CURATOR_LOCKED;

CuratorReaper *curator_reaper_new (CuratorClient *client);
void curator_reaper_connected (CuratorReaper *reaper) CURATOR_LOCKED;
void curator_reaper_close (CuratorReaper *reaper) CURATOR_LOCKED;
void curator_reaper_free (CuratorReaper *reaper) CURATOR_LOCKED;
guint curator_reaper_pending (CuratorReaper *reaper) CURATOR_LOCKED;
