/* The node of an attempt (CreateBuilder): wanted, perhaps there, there, given away or discarded. */
#pragma once

#include "base/guards.h"
#include "lock/lease-private.h"
#include "lock/lock_internals-private.h"
#include "session/request.h"
#include "session/stakes.h"

typedef struct _CuratorOwnNode CuratorOwnNode;

/* What a node tells its owner, with the client's mutex held. */
typedef struct
{
  /* It exists: it was created, or the search has found it. number: -1 if it has none, and for a
   * user's driver, which is never called with the mutex held; one beyond CURATOR_QUEUE_LAST_NUMBER
   * if the counter broke. */
  void (*there) (CuratorOwnNode *node, gint64 number);
  /* rc: ZNONODE without a parent, ZNODEEXISTS if the name is taken. See may_exist. */
  void (*not_created) (CuratorOwnNode *node, int rc);
  /* The search has shown that it does not exist. */
  void (*absent) (CuratorOwnNode *node);
  /* The search has found a node of another owner under its name. is_litter: this client is deleting
   * that one. */
  void (*name_taken) (CuratorOwnNode *node, const char *leaf, gboolean is_litter);
  /* A quorum has carried out all that was sent before: it and its session were alive then. */
  void (*confirmed) (CuratorOwnNode *node);
  /* what: the search or the confirmation that has failed. ZNONODE: the node was deleted, whatever
   * an earlier list showed; a heartbeat or the confirmation has found that. */
  void (*failed) (CuratorOwnNode *node, int rc, const char *what);
} CuratorOwnNodeClass;

/* The owner sets the first three fields and frees the request; own_node.c writes the rest. All may
 * be read. */
struct _CuratorOwnNode
{
  const CuratorOwnNodeClass *klass;
  CuratorLockInternals *internals;         /* the owner has a reference */
  CuratorNodeRequest *request;             /* its own, or the shared default */
  CuratorSession *session CURATOR_GUARDED; /* the one that it belongs to: a reference; or NULL */
  char *prefix CURATOR_GUARDED;            /* "_c_<uuid>-", if protected; NULL once it exists */
  GBytes *payload CURATOR_GUARDED;
  char *path CURATOR_GUARDED;                /* full; NULL until it exists */
  CuratorRequest *in_flight CURATOR_GUARDED; /* never more than one; or NULL */
  GPtrArray *candidates CURATOR_GUARDED;     /* full paths; the first one is being read; or NULL */
  CuratorStake stake CURATOR_GUARDED;
  CuratorOwnWatch *own_watch CURATOR_GUARDED;
  guint n_lost CURATOR_GUARDED; /* creates in a row with which the connection was lost */
  unsigned is_creating : 1 CURATOR_GUARDED; /* the create is in flight */
  unsigned may_exist : 1 CURATOR_GUARDED;   /* a create of this session may have succeeded unseen */
};

/* FALSE with an error if its payload is too large. */
gboolean curator_own_node_check_payload (CuratorOwnNode *node, GError **error) CURATOR_LOCKED;
void curator_own_node_join (CuratorOwnNode *node, CuratorSession *session) CURATOR_LOCKED;
void curator_own_node_leave (CuratorOwnNode *node) CURATOR_LOCKED;
void curator_own_node_create (CuratorOwnNode *node) CURATOR_LOCKED;
/* After a create of unknown outcome: looks for the node by its GUID, or by its payload. */
void curator_own_node_search (CuratorOwnNode *node) CURATOR_LOCKED;
/* Its name exists: reads whether that node is ours. */
void curator_own_node_check_owner (CuratorOwnNode *node) CURATOR_LOCKED;
/* A quorum confirms that it and its session are alive. */
void curator_own_node_confirm (CuratorOwnNode *node) CURATOR_LOCKED;
/* TRUE if that is known already, by the clock as it is now. */
gboolean curator_own_node_is_proven (CuratorOwnNode *node) CURATOR_LOCKED;
/* The heartbeat checks it from now on, and a revocable lock watches it. */
void curator_own_node_register (CuratorOwnNode *node, CuratorStakeKind kind) CURATOR_LOCKED;

/* The reaper deletes whatever exists or may exist. Returns the path, transfer full; NULL if it had
 * none. wants_parents: another node will be created there soon. */
char *curator_own_node_discard (CuratorOwnNode *node, gboolean wants_parents) CURATOR_LOCKED;
/* The caller deletes it: returns the path, transfer full. */
char *curator_own_node_steal (CuratorOwnNode *node) CURATOR_LOCKED;
/* The lease of the node, which is its from now on, and of the owner's place in the queue. */
CuratorLease *curator_own_node_give (CuratorOwnNode *node, CuratorQueueSlot *slot) CURATOR_LOCKED;
/* Drops the references to payloads. */
void curator_own_node_forget_data (CuratorOwnNode *node) CURATOR_LOCKED;

/* Its ephemeralOwner. */
gint64 curator_own_node_owner (const CuratorOwnNode *node) CURATOR_LOCKED;
/* A node without a number has no place in a queue: creating it is the grant, unless a driver wants
 * to see the children. */
gboolean curator_own_node_has_queue (const CuratorOwnNode *node);
/* TRUE if waiters of one session with consecutive numbers hand the lock over directly. */
gboolean curator_own_node_has_neighbours (const CuratorOwnNode *node) CURATOR_LOCKED;
