/* The records of the reaper and of a node to delete. Any thread; guarded by the client's mutex. */
#pragma once

#include "base/guards.h"
#include "core/timers.h"
#include "nodes/batch_delete.h"
#include "nodes/reaper.h"

typedef struct
{
  GList link;
  CuratorClient *client;
  char *prefix;          /* search by prefix: how the node's name begins */
  gboolean must_be_ours; /* others may use the name: check owner, czxid, payload */
  gboolean is_unique;    /* nobody else uses the name: the owner suffices as a proof */
  gint64 owner;          /* ephemeralOwner, 0 for a persistent node */
  gint64 czxid;          /* 0 if only the payload is known */
  GBytes *payload;
  char *sequential_name; /* search by name: the name before the sequence number */
  CuratorRequest *request CURATOR_GUARDED;
  gboolean deleting CURATOR_GUARDED;          /* the request deletes a node that was read before */
  gboolean by_exists CURATOR_GUARDED;         /* the node may not be read: ask whether it exists */
  gboolean is_refused CURATOR_GUARDED;        /* for lack of a permission, which was reported */
  CuratorBatchedNode batched CURATOR_GUARDED; /* in a batch that is deleted */
  CuratorTimer *pause CURATOR_GUARDED;
  gint64 pause_us CURATOR_GUARDED;
  CuratorOp *release CURATOR_GUARDED; /* a reference; or NULL */
  char path[];                        /* of the node; in a search, of its parent */
} CuratorReaperItem;

struct _CuratorReaper
{
  CuratorClient *client;
  GQueue items CURATOR_GUARDED;
  gboolean closed CURATOR_GUARDED;
  CuratorBatchDelete *gathering CURATOR_GUARDED; /* takes the next deletes; or NULL */
};

/* prefix: of a search, or NULL. */
CuratorReaperItem *curator_reaper_item_new (CuratorClient *client, const char *path,
                                            const char *prefix) CURATOR_LOCKED;
void curator_reaper_item_start (CuratorReaperItem *item, CuratorOp *release) CURATOR_LOCKED;
void curator_reaper_item_start_later (CuratorReaperItem *item, gint64 pause_us) CURATOR_LOCKED;
/* Deletes the node if its owner and its payload are these. */
void curator_reaper_delete_alike (CuratorClient *client, const char *path, gint64 session_id,
                                  GBytes *payload) CURATOR_LOCKED;
