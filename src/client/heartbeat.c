/* The quorum heartbeat: one transaction that checks the nodes which a session holds or waits with.
 *
 * Mirrors nothing: Curator has no heartbeat. Threads: sent on the timer lane, answered on
 * ZooKeeper's thread; guarded by the client's mutex. lease_clock.c decides what an answer proves.
 */
#include "client/heartbeat.h"

#include "client/client-private.h"
#include "client/lease_clock.h"
#include "client/monitor.h"
#include "client/request.h"
#include "client/stats-private.h"

#define MAX_CHECKS_A_BEAT 1000
/* Waiting nodes take turns. A waiting node that somebody else deleted is recreated. */
#define MAX_WAITING_A_BEAT 16
/* After 1/4 of the session timeout without a request one is sent, before the library would ping. */
#define IDLE_SHARE 4

static void beat_arm (CuratorSession *session) CURATOR_LOCKED;
static void beat_send (CuratorSession *session) CURATOR_LOCKED;

void
curator_stake_register (CuratorStake *stake, CuratorSession *session, gboolean held)
{
  stake->link = (GList){ .data = stake };
  stake->session = session;
  stake->held = held;
  stake->state = CURATOR_LEASE_HELD;
  g_queue_push_tail_link (held ? &session->held : &session->waiting, &stake->link);
  if (session->beat_timer == NULL && session->beat == NULL)
    {
      beat_arm (session);
    }
  if (held && session->lapse_timer == NULL)
    {
      session->suspect = FALSE;
      curator_lease_clock_update (session);
    }
}

void
curator_stake_move (CuratorStake *from, CuratorStake *to, CuratorSession *session)
{
  guint index;

  if (session->beat_stakes != NULL && g_ptr_array_find (session->beat_stakes, from, &index))
    {
      session->beat_stakes->pdata[index] = to;
    }
  curator_stake_unlink (from);
  curator_stake_register (to, session, TRUE);
}

/* A node is gone although its session lives. If registered, it would fail every later heartbeat. */
static CURATOR_LOCKED void
on_stake_deleted (CuratorStake *stake)
{
  curator_stake_unregister (stake);
  if (stake->held)
    {
      stake->state = CURATOR_LEASE_LOST;
    }
  stake->loss = CURATOR_COUNTER_LOST_DELETED;
  stake->changed (stake, CURATOR_LEASE_LOST);
}

/* request.c has already noted the proof. */
static CURATOR_LOCKED void
on_beat (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorSession *session = data;
  g_autoptr (GPtrArray) stakes = g_steal_pointer (&session->beat_stakes);
  const gint64 trip_us = curator_client_boottime_us (session->client) - sent_us;
  const gboolean in_time = rc == ZOK && session->proof_us >= sent_us;

  session->beat = NULL;
  curator_count (session->client,
                 in_time ? CURATOR_COUNTER_HEARTBEATS : CURATOR_COUNTER_HEARTBEATS_MISSED, 1);
  curator_trace (session->client, CURATOR_TRACE_HEARTBEAT, "", trip_us, session->id);
  if (rc == ZNONODE && reply->failed_index >= 0 && reply->failed_index < (int) stakes->len)
    {
      CuratorStake *gone = stakes->pdata[reply->failed_index];
      if (gone != NULL)
        {
          on_stake_deleted (gone);
        }
      /* A multi that failed proves nothing about the other nodes. */
      beat_send (session);
      return;
    }
  beat_arm (session);
}

static void
add_stakes (GPtrArray *stakes, GPtrArray *paths, GQueue *queue, guint most)
{
  for (guint n = MIN (queue->length, most); n > 0; n--)
    {
      /* It moves to the end of the queue, so that each gets its turn. */
      GList *link = g_queue_pop_head_link (queue);
      CuratorStake *stake = link->data;
      g_queue_push_tail_link (queue, link);
      g_ptr_array_add (stakes, stake);
      g_ptr_array_add (paths, g_strdup (stake->path));
    }
}

static void
beat_send (CuratorSession *session)
{
  if (session->beat != NULL || session->state != CURATOR_SESSION_CONNECTED)
    {
      return;
    }
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  GPtrArray *stakes = g_ptr_array_new ();
  add_stakes (stakes, paths, &session->held, MAX_CHECKS_A_BEAT);
  add_stakes (stakes, paths, &session->waiting, MAX_WAITING_A_BEAT);
  if (stakes->len == 0)
    {
      g_ptr_array_unref (paths);
      g_ptr_array_unref (stakes);
      return;
    }
  session->beat_stakes = stakes;
  session->beat = curator_request_check (session, paths, on_beat, session);
}

static CURATOR_LOCKED void
on_beat_due (gpointer data)
{
  CuratorSession *session = data;
  session->beat_timer = NULL;
  beat_send (session);
}

/* Schedules the next heartbeat if anything is held or waiting. */
static CURATOR_LOCKED void
beat_arm (CuratorSession *session)
{
  const gint64 period = curator_lease_clock_period_us (session);

  if (session->beat_timer != NULL || session->beat != NULL
      || session->state != CURATOR_SESSION_CONNECTED
      || (session->held.length == 0 && session->waiting.length == 0))
    {
      return;
    }
  const gint64 age = MIN (curator_lease_clock_proof_age_us (session), period);
  const gint64 pause = curator_lease_clock_is_bound_by_leader (session)
                           ? MAX (curator_lease_clock_until_told_us (session), period / 5)
                           : MAX (period - age, period / 2);
  session->beat_timer =
      curator_timer_after (session->client, MIN (pause, period), on_beat_due, session);
}

/* Runs on the timer lane. Nothing waits for the answer; request.c notes it. */
static CURATOR_LOCKED void
on_idle (gpointer data)
{
  CuratorSession *session = data;
  const gint64 period = curator_lease_clock_session_us (session) / IDLE_SHARE;
  const gint64 now = curator_client_boottime_us (session->client);
  const gint64 idle = now - MAX (session->asked_us, session->known_us);

  if (idle >= period)
    {
      curator_request_exists (session, "/", FALSE, NULL, NULL);
    }
  session->idle_timer = curator_timer_after (
      session->client, (idle >= period ? period : period - idle), on_idle, session);
}

static CURATOR_LOCKED void
stop_timers (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->idle_timer);
  curator_timer_cancel (session->client, &session->beat_timer);
  if (session->beat != NULL)
    {
      curator_request_forget (session->beat);
      session->beat = NULL;
      g_clear_pointer (&session->beat_stakes, g_ptr_array_unref);
    }
}

void
curator_heartbeat_connected (CuratorSession *session)
{
  /* The leader itself creates a session. It also moves one to another connection, but how long ago
   * is not known when the event arrives. */
  if (session->connecting_us != 0)
    {
      session->known_us = MAX (session->known_us, session->connecting_us);
      session->connecting_us = 0;
    }
  stop_timers (session);
  session->asked_us = 0;
  beat_send (session);
  on_idle (session);
}

void
curator_heartbeat_suspended (CuratorSession *session)
{
  stop_timers (session);
  if (session->held.length > 0)
    {
      curator_lease_clock_update (session);
    }
}

void
curator_heartbeat_died (CuratorSession *session)
{
  stop_timers (session);
  curator_lease_clock_died (session);
}
