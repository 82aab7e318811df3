/* Follows the data of a node: read again after each change, each reconnect and in each new session. A
 * node that is missing is waited for.
 *
 * Mirrors the watcher of SharedValue. Threads: any; guarded by the client's mutex.
 *
 * NOTES: one watch follows the node. The read that sets it again brings the new data, so only what
 * came and went in between is missed.
 */
#include "session/follow.h"

#include "base/container.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/zk_error.h"

#define AGAIN_US G_USEC_PER_SEC

static void watch_node (CuratorFollower *follower) CURATOR_LOCKED;

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_again_due (gpointer data)
{
  CuratorFollower *follower = data;
  follower->again_timer = NULL;
  watch_node (follower);
}

static CURATOR_LOCKED void
watch_again_later (CuratorFollower *follower)
{
  follower->again_timer = curator_timer_after (follower->client, AGAIN_US, on_again_due, follower);
}

static CURATOR_LOCKED void
on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  CuratorFollower *follower = data;

  if (event == CURATOR_WATCH_ARMED) {
    follower->told (follower, ZOK, reply);
    follower->is_anew = follower->is_anew && reply == NULL;
  } else if (event == CURATOR_WATCH_ABSENT) {
    follower->told (follower, ZNONODE, NULL);
  } else if (event == CURATOR_WATCH_FAILED) {
    g_clear_pointer (&follower->watch, curator_watch_release);
    watch_again_later (follower);
    if (!curator_zk_is_retryable (rc))
      follower->told (follower, rc, NULL);
  }
}

static void
watch_node (CuratorFollower *follower)
{
  follower->watch = curator_watch_follow (follower->hook.session, follower->path, follower->need,
                                          on_watch, follower);
  if (follower->watch == NULL)
    watch_again_later (follower);
}

static CURATOR_LOCKED void
on_connected (CuratorSessionHook *hook)
{
  CuratorFollower *follower = CURATOR_CONTAINER (hook, CuratorFollower, hook);

  follower->is_anew = TRUE;
  if (follower->watch != NULL)
    curator_watch_reread (follower->watch);
}

void
curator_follower_stop (CuratorFollower *follower)
{
  curator_session_remove_hook (&follower->hook);
  curator_timer_cancel (follower->client, &follower->again_timer);
  g_clear_pointer (&follower->watch, curator_watch_release);
}

/* The next session is already there, unless the client ends. */
static CURATOR_LOCKED void
on_died (CuratorSessionHook *hook)
{
  CuratorFollower *follower = CURATOR_CONTAINER (hook, CuratorFollower, hook);

  curator_follower_stop (follower);
  curator_follower_start (follower);
}

void
curator_follower_start (CuratorFollower *follower)
{
  CuratorSession *session = follower->client->session;

  if (follower->hook.session != NULL || session == NULL
      || !curator_client_is_running (follower->client))
    return;
  follower->hook.connected = on_connected;
  follower->hook.died = on_died;
  curator_session_add_hook (session, &follower->hook);
  watch_node (follower);
}
