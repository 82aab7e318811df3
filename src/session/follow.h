/* Follows the data of a node, whatever happens to the node, the connection and the session. */
#pragma once

#include "session/session.h"
#include "session/watches.h"

typedef struct _CuratorFollower CuratorFollower;

/* What the server has read: at first, after each change, after each connect. rc: ZOK, with the reply,
 * or NULL for a node that may not be read; ZNONODE, which may come more than once; or why it cannot
 * be followed, which is tried again. Called with the client's mutex held; may not stop the
 * follower. */
typedef void (*CuratorFollowFunc) (CuratorFollower *follower, int rc, const CuratorZkReply *reply);

struct _CuratorFollower
{
  /* Of the user, before start. */
  CuratorClient *client;
  const char *path; /* full */
  CuratorFollowFunc told;
  CuratorWatchNeed need;

  gboolean is_anew CURATOR_GUARDED; /* it connected, and this is the first data since */
  CuratorSessionHook hook CURATOR_GUARDED;
  CuratorWatch *watch CURATOR_GUARDED;
  CuratorTimer *again_timer CURATOR_GUARDED; /* without a watch */
};

/* Nothing happens if it follows already. It ends with the client. */
void curator_follower_start (CuratorFollower *follower) CURATOR_LOCKED;
void curator_follower_stop (CuratorFollower *follower) CURATOR_LOCKED;
