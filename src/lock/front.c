/* What is in front of one node in its queue: watches, and the steps from one to the next.
 *
 * Mirrors the wait of LockInternals.internalLockLoop, which watches one node and lists at its end.
 * Threads: answers and watch events arrive on ZooKeeper's thread, timers fire on the timer thread;
 * guarded by the client's mutex.
 *
 * NOTES: our turn cannot come while a node with a lower number exists. So it is safe to wait for
 * any such node and to list at its end, whatever else has happened. A node with a higher number may
 * wait for ours, and must not be waited for: the numbers restart when the parent is recreated. The
 * end of a node of this session grants nothing: it may be the first sign of the session's own end.
 */
#include "lock/front.h"

#include "base/path.h"
#include "core/log.h"

#define BIT(state) (1U << CURATOR_FRONT_##state)
/* What a list shows, at any time. */
#define SHOWN (BIT (PARENT) | BIT (FAR) | BIT (LAST))

/* The states that may follow, as bits. NOTHING always may. LAST becomes FAR if the node turns out
 * to be our session's. */
/* clang-format off */
static const struct { const char *name; guint next; } rows[] = {
  [CURATOR_FRONT_NOTHING]   = { "NOTHING",   SHOWN | BIT (NEIGHBOUR) },
  [CURATOR_FRONT_NEIGHBOUR] = { "NEIGHBOUR", SHOWN }, /* FAR: it has left, and its node may exist */
  [CURATOR_FRONT_PARENT]    = { "PARENT",    SHOWN }, /* NOTHING: the parent has gone */
  [CURATOR_FRONT_FAR]       = { "FAR",       SHOWN }, /* NOTHING: the first node has gone */
  [CURATOR_FRONT_LAST]      = { "LAST",      SHOWN }, /* NOTHING: it has gone */
};
/* clang-format on */

static CURATOR_LOCKED void
set_state (CuratorFront *front, CuratorFrontState state)
{
  if (front->state != state) {
    g_assert (state == CURATOR_FRONT_NOTHING || (rows[front->state].next & (1U << state)) != 0);
    curator_debug ("front of a node in %s: %s -> %s", front->own->internals->base,
                   rows[front->state].name, rows[state].name);
    front->state = state;
  }
}

/* The end of a node of our session may be the first sign of the session's own end. */
static CURATOR_LOCKED gboolean
is_ours (const CuratorFront *front, const CuratorWatch *watch)
{
  return curator_watch_is_own (watch)
         || curator_session_has_stake (front->own->session, curator_watch_get_path (watch));
}

void
curator_front_stop (CuratorFront *front)
{
  set_state (front, CURATOR_FRONT_NOTHING);
  g_clear_pointer (&front->first, curator_watch_release);
  g_clear_pointer (&front->second, curator_watch_release);
}

/* --- events ----------------------------------------------------------------------------------- */

/* A list of this session has shown the node: deleted before or after the watch was set, it is gone.
 * The second watch stays, for its node is probably the next one in front. */
static CURATOR_LOCKED void
on_first_gone (CuratorFront *front)
{
  const gboolean was_last = front->state == CURATOR_FRONT_LAST;

  curator_watch_release (g_steal_pointer (&front->first));
  set_state (front, CURATOR_FRONT_NOTHING);
  if (was_last)
    front->klass->clear (front);
  else
    front->klass->list (front, NULL);
}

/* A change of data is ignored. A change of children is followed by ARMED with the new ones: those
 * of the parent may have changed since the list. */
static CURATOR_LOCKED void
on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  CuratorFront *front = data;
  const gboolean is_first = watch == front->first;

  if (event == CURATOR_WATCH_ARMED && front->state == CURATOR_FRONT_LAST
      && curator_watch_is_own (watch)) {
    set_state (front, CURATOR_FRONT_FAR);
  } else if (event == CURATOR_WATCH_ARMED && is_first && front->state == CURATOR_FRONT_PARENT) {
    front->klass->list (front, reply != NULL ? reply->children : NULL);
  } else if (event == CURATOR_WATCH_GONE && is_first) {
    on_first_gone (front);
  } else if (event == CURATOR_WATCH_FAILED && is_first) {
    curator_front_stop (front);
    front->klass->failed (front, rc);
  } else if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED) {
    curator_watch_release (g_steal_pointer (&front->second));
    /* A list shows the next one in front now, while the first one still holds the lock. */
    if (event == CURATOR_WATCH_GONE && front->state == CURATOR_FRONT_FAR)
      front->klass->list_early (front);
  }
}

/* --- what is waited for ----------------------------------------------------------------------- */

/* leaf: NULL for the parent itself. */
static char *
path_of (const CuratorFront *front, const char *leaf)
{
  const char *base = front->own->internals->base;
  return leaf != NULL ? curator_path_join (base, leaf) : g_strdup (base);
}

static CURATOR_LOCKED gboolean
is_watching (const CuratorFront *front, const CuratorWatch *watch, const char *leaf)
{
  const char *watched = watch != NULL ? curator_watch_get_path (watch) : NULL;
  g_autofree char *path = path_of (front, leaf);
  return g_strcmp0 (watched, path) == 0;
}

static CURATOR_LOCKED CuratorWatch *
watch_node (CuratorFront *front, const char *leaf, CuratorWatchNeed need)
{
  g_autofree char *path = path_of (front, leaf);
  return curator_watch_add (front->own->session, path,
                            leaf != NULL ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD, need, on_watch,
                            front);
}

static CURATOR_LOCKED CuratorFrontState
state_by (const CuratorFront *front, const CuratorFrontView *view)
{
  if (view->first == NULL)
    return CURATOR_FRONT_PARENT;
  return view->is_last && !is_ours (front, front->first) ? CURATOR_FRONT_LAST : CURATOR_FRONT_FAR;
}

/* No watch is released before the new first one is set, so that it is not removed from the server
 * in between: the second may be on the node that is now the first. The second is optional, as every
 * further watch: without it nothing fails. */
gboolean
curator_front_wait (CuratorFront *front, const CuratorFrontView *view, CuratorWatchNeed need)
{
  if (!is_watching (front, front->first, view->first)) {
    CuratorWatch *before = g_steal_pointer (&front->first);
    front->first = watch_node (front, view->first, need);
    g_clear_pointer (&before, curator_watch_release);
  }
  if (front->first == NULL)
    return FALSE;
  if (view->second == NULL || !is_watching (front, front->second, view->second)) {
    g_clear_pointer (&front->second, curator_watch_release);
    front->second =
        view->second != NULL ? watch_node (front, view->second, CURATOR_WATCH_OPTIONAL) : NULL;
  }
  set_state (front, state_by (front, view));
  return TRUE;
}

void
curator_front_wait_for_neighbour (CuratorFront *front)
{
  curator_front_stop (front);
  set_state (front, CURATOR_FRONT_NEIGHBOUR);
}
