/* What is in front of one node in its queue: watches, and the steps from one to the next.
 *
 * Mirrors the wait of LockInternals.internalLockLoop, which watches one node and lists at its end. Threads: answers
 * and watch events arrive on ZooKeeper's thread, timers fire on the timer thread; guarded by the client's mutex.
 *
 * NOTES: our turn cannot come while a node with a lower number exists. So it is safe to wait for any such node and to
 * list at its end, whatever else has happened: RETURN waits for one that an earlier list has shown. A node with a
 * higher number may wait for ours, and must not be waited for: the numbers restart when the parent is recreated.
 * The end of a node of this session grants nothing: it may be the first sign of the session's own end.
 */
#include "lock/front.h"

#include "base/container.h"
#include "base/path.h"
#include "core/log.h"
#include "session/heartbeat.h"

/* Others that have come back probably wait behind a node that is this far in front, too: its end would make
 * all of them list. */
#define MAX_DISTANCE 16

#define BIT(state) (1U << CURATOR_FRONT_##state)
/* What a list shows, at any time. */
#define SHOWN (BIT (PARENT) | BIT (FAR) | BIT (FEW) | BIT (LAST))

/* The states that may follow, as bits. NOTHING always may. A list leads from any to those SHOWN. FEW and LAST become FAR
 * if a node turns out to be our session's, or cannot be watched. */
/* clang-format off */
static const struct { const char *name; guint next; } rows[] = {
  [CURATOR_FRONT_NOTHING]   = { "NOTHING",   SHOWN | BIT (NEIGHBOUR) | BIT (RETURN) },
  [CURATOR_FRONT_NEIGHBOUR] = { "NEIGHBOUR", SHOWN },                   /* FAR: it has left, and its node may exist */
  [CURATOR_FRONT_PARENT]    = { "PARENT",    SHOWN },                   /* NOTHING: the parent has gone */
  [CURATOR_FRONT_FAR]       = { "FAR",       SHOWN },                   /* NOTHING: the first node has gone */
  [CURATOR_FRONT_FEW]       = { "FEW",       SHOWN },                   /* LAST: the others have gone */
  [CURATOR_FRONT_LAST]      = { "LAST",      SHOWN | BIT (UNSEEN) },    /* UNSEEN: it has gone */
  [CURATOR_FRONT_UNSEEN]    = { "UNSEEN",    SHOWN },                   /* NOTHING: our own node was read */
  [CURATOR_FRONT_RETURN]    = { "RETURN",    SHOWN | BIT (NEIGHBOUR) }, /* NOTHING: the known node has gone */
};
/* clang-format on */

static void on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc,
                      const CuratorZkReply *reply, gpointer data) CURATOR_LOCKED;

static CURATOR_LOCKED void
set_state (CuratorFront *front, CuratorFrontState state)
{
  if (front->state != state)
    {
      g_assert (state == CURATOR_FRONT_NOTHING || (rows[front->state].next & (1U << state)) != 0);
      curator_debug ("front of a node in %s: %s -> %s",
                     curator_own_node_internals (front->own)->base, rows[front->state].name,
                     rows[state].name);
      front->state = state;
    }
}

static CURATOR_LOCKED gboolean
is_looking (const CuratorFront *front)
{
  return *curator_own_node_in_flight (front->own) != NULL;
}

static CURATOR_LOCKED void
forget_look (CuratorFront *front)
{
  if (curator_own_node_path (front->own) != NULL)
    g_clear_pointer (curator_own_node_in_flight (front->own), curator_request_forget);
  front->is_unseen = FALSE;
}

/* If the read has failed, the owner checks the node before the grant. */
static CURATOR_LOCKED void
clear_if_answered (CuratorFront *front)
{
  if (front->state == CURATOR_FRONT_UNSEEN && !is_looking (front))
    {
      set_state (front, CURATOR_FRONT_NOTHING);
      front->klass->clear (front, !front->is_unseen);
    }
}

static CURATOR_LOCKED void
on_own_node_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorFront *front = data;

  *curator_own_node_in_flight (front->own) = NULL;
  front->is_unseen = rc != ZOK;
  if (rc == ZNONODE
      || (rc == ZOK && reply->stat->czxid != curator_own_node_stake (front->own)->czxid))
    {
      front->klass->own_gone (front);
      return;
    }
  clear_if_answered (front);
}

/* Before our turn, so that the answer is here when that comes. */
static CURATOR_LOCKED void
look_at_own_node (CuratorFront *front)
{
  front->is_unseen = TRUE;
  *curator_own_node_in_flight (front->own) =
      curator_request_exists (curator_own_node_session (front->own),
                              curator_own_node_path (front->own), FALSE, on_own_node_read, front);
}

/* --- watches ---------------------------------------------------------------------------------- */

static CURATOR_LOCKED void
release_watch (gpointer watch)
{
  g_clear_pointer (&watch, curator_watch_release); /* NULL if it was taken out */
}

/* The end of a node of our session may be the first sign of the session's own end. */
static CURATOR_LOCKED gboolean
is_ours (const CuratorFront *front, const CuratorWatch *watch)
{
  return curator_watch_is_own (watch)
         || curator_session_has_stake (curator_own_node_session (front->own),
                                       curator_watch_get_path (watch));
}

/* leaf: NULL for the parent itself. */
static char *
path_of (const CuratorFront *front, const char *leaf)
{
  const char *base = curator_own_node_internals (front->own)->base;
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
  return curator_watch_add (curator_own_node_session (front->own), path,
                            leaf != NULL ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD, need, on_watch,
                            front);
}

static CURATOR_LOCKED void
forget_rest (CuratorFront *front)
{
  g_clear_pointer (&front->rest, g_ptr_array_unref);
  g_clear_pointer (&front->rest_watches, g_ptr_array_unref);
}

static CURATOR_LOCKED void
forget_known (CuratorFront *front)
{
  if (front->known != NULL)
    {
      curator_timer_cancel (curator_own_node_internals (front->own)->client, &front->known->pause);
      curator_known_node_free (g_steal_pointer (&front->known));
    }
}

void
curator_front_stop (CuratorFront *front)
{
  set_state (front, CURATOR_FRONT_NOTHING);
  g_clear_pointer (&front->first, curator_watch_release);
  g_clear_pointer (&front->second, curator_watch_release);
  forget_rest (front);
  forget_known (front);
  forget_look (front);
}

/* FALSE when it cannot be watched. The second watch may be on the node that is now the first: no watch is released
 * before the new one is set, so that it is not removed from the server in between. */
static CURATOR_LOCKED gboolean
watch_first (CuratorFront *front, const char *leaf, CuratorWatchNeed need)
{
  if (!is_watching (front, front->first, leaf))
    {
      CuratorWatch *before = g_steal_pointer (&front->first);
      front->first = watch_node (front, leaf, need);
      g_clear_pointer (&before, curator_watch_release);
    }
  return front->first != NULL;
}

/* Optional, as every further watch: without it nothing fails. */
static CURATOR_LOCKED void
watch_second (CuratorFront *front, const char *leaf)
{
  if (leaf == NULL || !is_watching (front, front->second, leaf))
    {
      g_clear_pointer (&front->second, curator_watch_release);
      front->second = leaf != NULL ? watch_node (front, leaf, CURATOR_WATCH_OPTIONAL) : NULL;
    }
}

static CURATOR_LOCKED CuratorFrontState
state_by (const CuratorFront *front, const CuratorFrontView *view)
{
  if (view->first == NULL)
    return CURATOR_FRONT_PARENT;
  if (view->is_last && !is_ours (front, front->first))
    return CURATOR_FRONT_LAST;
  return view->is_all && front->second != NULL && !is_ours (front, front->first)
                 && !is_ours (front, front->second)
             ? CURATOR_FRONT_FEW
             : CURATOR_FRONT_FAR;
}

gboolean
curator_front_wait (CuratorFront *front, const CuratorFrontView *view, CuratorWatchNeed need)
{
  g_autoptr (GPtrArray) rest = view->rest;

  forget_look (front);
  forget_known (front);
  if (!watch_first (front, view->first, need))
    return FALSE;
  watch_second (front, view->second);
  forget_rest (front);
  set_state (front, state_by (front, view));
  front->has_looked = FALSE;
  if (front->state == CURATOR_FRONT_FEW)
    {
      front->rest = g_steal_pointer (&rest);
      if (view->is_long && front->rest == NULL)
        look_at_own_node (front);
    }
  return TRUE;
}

void
curator_front_wait_for_neighbour (CuratorFront *front)
{
  curator_front_stop (front);
  set_state (front, CURATOR_FRONT_NEIGHBOUR);
}

/* The reads are sent together: one round trip shows which of them have gone. */
static CURATOR_LOCKED void
watch_rest (CuratorFront *front, const GPtrArray *names)
{
  front->rest_watches = g_ptr_array_new_full (names->len, release_watch);
  for (guint i = 0; i < names->len && front->state == CURATOR_FRONT_FEW; i++)
    {
      CuratorWatch *watch =
          watch_node (front, g_ptr_array_index (names, i), CURATOR_WATCH_OPTIONAL);
      if (watch != NULL)
        g_ptr_array_add (front->rest_watches, watch);
      if (watch == NULL || is_ours (front, watch))
        set_state (front, CURATOR_FRONT_FAR);
    }
}

/* One of those that are known to be in front has ended. No list will show whether our own node still exists: a read
 * does, whose answer is newer than that end. From then on heartbeats check our node. */
static CURATOR_LOCKED void
go_on (CuratorFront *front)
{
  g_autoptr (GPtrArray) names = g_steal_pointer (&front->rest);

  if (names != NULL)
    watch_rest (front, names);
  if (!front->has_looked && !is_looking (front))
    look_at_own_node (front);
  front->has_looked = TRUE;
  curator_stake_set_near (curator_own_node_stake (front->own), TRUE);
  if (front->state == CURATOR_FRONT_FEW
      && (front->rest_watches == NULL || front->rest_watches->len == 0))
    {
      set_state (front, CURATOR_FRONT_LAST);
    }
}

/* --- coming back ------------------------------------------------------------------------------ */

gboolean
curator_front_return (CuratorFront *front, CuratorKnownNode *known)
{
  front->known = known;
  front->is_there = FALSE;
  front->is_placed = FALSE;
  front->first = watch_node (front, known->leaf, CURATOR_WATCH_OPTIONAL);
  if (front->first == NULL)
    {
      forget_known (front);
      return FALSE;
    }
  set_state (front, CURATOR_FRONT_RETURN);
  return TRUE;
}

static CURATOR_LOCKED gboolean
waits_behind_known (const CuratorFront *front)
{
  return front->is_placed && front->is_there;
}

/* The read has been sent behind the create: what it finds is in front, unless its number is higher. */
static CURATOR_LOCKED void
note_known (CuratorFront *front, gboolean is_placed, gboolean is_there)
{
  const gboolean did_wait = waits_behind_known (front);

  front->is_placed = is_placed;
  front->is_there = is_there;
  if (waits_behind_known (front) && !did_wait)
    {
      curator_stake_set_near (curator_own_node_stake (front->own), FALSE);
      front->klass->waits (front);
    }
}

gboolean
curator_front_place (CuratorFront *front, gint64 number)
{
  const gint64 distance = front->known != NULL ? number - front->known->number : 0;

  if (distance <= 0 || distance > MAX_DISTANCE)
    {
      curator_front_stop (front);
      return FALSE;
    }
  front->known->distance = distance;
  note_known (front, TRUE, front->is_there);
  return TRUE;
}

static CURATOR_LOCKED void
list_now (gpointer data)
{
  CuratorFront *front = data;

  front->known->pause = NULL;
  curator_front_stop (front);
  front->klass->list (front, NULL);
}

/* If our own node is not there yet, a list follows its creation. */
static CURATOR_LOCKED void
on_known_gone (CuratorFront *front)
{
  const CuratorKnownNode *known = front->known;
  const gint64 pause_us = waits_behind_known (front)
                              ? curator_return_guess_pause_us (&known->guess, known->distance)
                              : 0;

  if (!front->is_placed)
    {
      curator_front_stop (front);
    }
  else if (pause_us == 0)
    {
      list_now (front);
    }
  else
    {
      front->known->pause = curator_timer_after (curator_own_node_internals (front->own)->client,
                                                 pause_us, list_now, front);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

/* A list of this session has shown the node: deleted before or after the watch was set, it is gone. The second
 * watch stays, for its node is probably the next one in front. */
static CURATOR_LOCKED void
on_first_gone (CuratorFront *front)
{
  curator_watch_release (g_steal_pointer (&front->first));
  if (front->state == CURATOR_FRONT_FEW)
    {
      front->first = front->second != NULL ? g_steal_pointer (&front->second)
                                           : curator_take_first (front->rest_watches);
      go_on (front);
    }
  else if (front->state == CURATOR_FRONT_LAST)
    {
      set_state (front, CURATOR_FRONT_UNSEEN);
      clear_if_answered (front);
    }
  else if (front->state == CURATOR_FRONT_RETURN)
    {
      on_known_gone (front);
    }
  else
    {
      forget_look (front);
      set_state (front, CURATOR_FRONT_NOTHING);
      front->klass->list (front, NULL);
    }
}

/* The parent's children may have changed since the list; the read that set the watch has them. */
static CURATOR_LOCKED void
on_first_armed (CuratorFront *front, const CuratorZkReply *reply)
{
  if (front->state == CURATOR_FRONT_PARENT)
    front->klass->list (front, reply != NULL ? reply->children : NULL);
  else if (front->state == CURATOR_FRONT_RETURN)
    note_known (front, front->is_placed, TRUE);
}

/* The watch on a known node is optional until our node waits behind it. */
static CURATOR_LOCKED void
on_first_failed (CuratorFront *front, int rc)
{
  if (front->state == CURATOR_FRONT_RETURN && !waits_behind_known (front))
    {
      on_first_gone (front);
      return;
    }
  curator_front_stop (front);
  front->klass->failed (front, rc);
}

/* If other nodes may be in front, a list shows them now, while the first one still holds the lock. */
static CURATOR_LOCKED void
on_further_ended (CuratorFront *front, CuratorWatch *watch, CuratorWatchEvent event)
{
  if (watch == front->second)
    curator_watch_release (g_steal_pointer (&front->second));
  else
    g_ptr_array_remove (front->rest_watches, watch);
  if (event == CURATOR_WATCH_FAILED && front->state == CURATOR_FRONT_FEW)
    set_state (front, CURATOR_FRONT_FAR);
  else if (front->state == CURATOR_FRONT_FEW)
    go_on (front);
  else if (event == CURATOR_WATCH_GONE && front->state == CURATOR_FRONT_FAR)
    front->klass->list_early (front);
}

/* A change of data is ignored. A change of children is followed by ARMED with the new ones. */
static void
on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  CuratorFront *front = data;
  const gboolean is_first = watch == front->first;

  if (event == CURATOR_WATCH_ARMED && curator_watch_is_own (watch)
      && (front->state == CURATOR_FRONT_FEW || front->state == CURATOR_FRONT_LAST))
    {
      set_state (front, CURATOR_FRONT_FAR);
    }
  else if (event == CURATOR_WATCH_ARMED && is_first)
    {
      on_first_armed (front, reply);
    }
  else if (event == CURATOR_WATCH_GONE && is_first)
    {
      on_first_gone (front);
    }
  else if (event == CURATOR_WATCH_FAILED && is_first)
    {
      on_first_failed (front, rc);
    }
  else if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED)
    {
      on_further_ended (front, watch, event);
    }
}
