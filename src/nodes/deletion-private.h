/* The record of a node to delete, or of a search for such nodes. Any thread; guarded by the
 * client's mutex. */
#pragma once

#include "base/guards.h"
#include "core/timers.h"
#include "nodes/deletion.h"

typedef struct _CuratorDeletionBatch CuratorDeletionBatch;

struct _CuratorDeletion
{
  GList link;
  CuratorClient *client;
  CuratorRequestDone listed; /* of a search: takes the children of path; else NULL */
  GPtrArray *prefixes;       /* of a search: how the nodes' names begin, which nobody else uses */
  char *sequential_name;     /* of another search: the name before the sequence number */
  gint64 owner;              /* ephemeralOwner, 0 for a persistent node; in a search by prefixes
                              * the session of the newest create */
  gint64 czxid;              /* 0 if only the payload is known, or nobody else uses the name */
  GBytes *payload;
  CuratorRequest *request CURATOR_GUARDED;
  gboolean deleting CURATOR_GUARDED;           /* the request deletes a node that was read before */
  gboolean by_exists CURATOR_GUARDED;          /* the node may not be read: ask whether it exists */
  gboolean is_refused CURATOR_GUARDED;         /* for lack of a permission, which was reported */
  CuratorDeletionBatch *batch CURATOR_GUARDED; /* that deletes it; or NULL */
  GList batch_link CURATOR_GUARDED;
  CuratorTimer *pause CURATOR_GUARDED;
  gboolean is_idle CURATOR_GUARDED; /* of a search: nothing is there, but may still come */
  gint64 pause_us CURATOR_GUARDED;
  CuratorOp *release CURATOR_GUARDED; /* a reference; or NULL */
  char path[];                        /* of the node; in a search, of its parent */
};

void curator_deletion_end (CuratorDeletion *deletion, GError *error) CURATOR_LOCKED;
void curator_deletion_retry_later (CuratorDeletion *deletion) CURATOR_LOCKED;
/* The search by prefixes below the path, or NULL. */
CuratorDeletion *curator_deletions_search (CuratorClient *client, const char *path) CURATOR_LOCKED;
/* One without prefixes yet; then to be started. */
CuratorDeletion *curator_search_new (CuratorClient *client, const char *path,
                                     CuratorRequestDone listed) CURATOR_LOCKED;
/* Looks again after a pause, which doubles each time: within a second when a node there or beside
 * is deleted, and with each connection. */
void curator_search_idle (CuratorDeletion *search) CURATOR_LOCKED;
/* Looks again soon, at once if it is idle. */
void curator_search_wake (CuratorDeletion *search) CURATOR_LOCKED;
/* Takes error, which is logged and reported once. A permission may be granted again. */
void curator_deletion_refused (CuratorDeletion *deletion, int rc, GError *error) CURATOR_LOCKED;
