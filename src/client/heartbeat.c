/* The quorum heartbeat: one transaction of checks over what a session holds and waits with.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex; due on the timer lane,
 * answered on ZooKeeper's thread. What an answer proves, and for how long, is lease_clock.c's.
 */
#include "client/heartbeat.h"

#include "client/client-private.h"
#include "client/lease_clock.h"
#include "client/monitor.h"
#include "client/request.h"
#include "client/stats-private.h"

#define MAX_CHECKS_A_BEAT 1000
/* Waiting nodes take turns, so that a deleted one is found and recreated in time. */
#define MAX_WAITING_A_BEAT 16
/* After T/4 without a request one is sent, before the library would ping. Where its pings have dates,
 * one is sent only after T/2 without them: they come every T/3. */
#define IDLE_SHARE  4
#define PINGS_SHARE 2

static void beat_arm (CuratorSession *session) CURATOR_LOCKED;
static void beat_send (CuratorSession *session) CURATOR_LOCKED;

void
curator_stake_register (CuratorStake *stake, CuratorSession *session, gboolean held)
{
  stake->link = (GList){ .data = stake };
  stake->session = session;
  stake->held = held;
  stake->state = CURATOR_LEASE_HELD;
  stake->read = NULL;
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

/* The node is gone although the session lives. It is unregistered at once, because it would fail every
 * further heartbeat. */
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

/* An answer of this session comes after all that a quorum had committed before the heartbeat's. */
static CURATOR_LOCKED void
on_stake_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  g_autofree CuratorStakeRead *read = data;
  CuratorStake *stake = read->stake;

  if (stake == NULL)
    {
      return;
    }
  stake->read = NULL;
  if (rc == ZNONODE || (rc == ZOK && stake->czxid != 0 && reply->stat->czxid != stake->czxid))
    {
      on_stake_deleted (stake);
    }
}

/* A check proves that a node of that name exists. If the name is not unique, another client may have
 * created that node. */
static CURATOR_LOCKED void
read_stake (CuratorSession *session, CuratorStake *stake)
{
  if (stake->read != NULL)
    {
      return;
    }
  stake->read = g_new (CuratorStakeRead, 1);
  stake->read->stake = stake;
  curator_request_exists (session, stake->path, FALSE, on_stake_read, stake->read);
}

/* The stake whose check failed, or NULL if it has left since. */
static CuratorStake *
failed_stake (const CuratorZkReply *reply, GPtrArray *stakes)
{
  return reply->failed_index >= 0 && reply->failed_index < (int) stakes->len
             ? stakes->pdata[reply->failed_index]
             : NULL;
}

/* A failed transaction proves nothing for the other nodes. They are checked again without the one that
 * made it fail. */
static CURATOR_LOCKED void
on_beat_failed (CuratorSession *session, CuratorStake *failed, int rc)
{
  if (failed != NULL && rc == ZNONODE)
    {
      on_stake_deleted (failed);
    }
  else if (failed != NULL)
    {
      /* A check needs READ, which its ACL does not grant. exists needs no permission. */
      failed->needs_read = TRUE;
      failed->refuses_check = TRUE;
    }
  beat_send (session);
}

/* The request has noted the proof already. */
static CURATOR_LOCKED void
on_beat (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorSession *session = data;
  g_autoptr (GPtrArray) stakes = g_steal_pointer (&session->beat_stakes);
  const gint64 trip_us = curator_client_boottime_us (session->client) - sent_us;
  const gboolean in_time = rc == ZOK && session->evidence.proof_us >= sent_us;

  session->beat = NULL;
  curator_count (session->client,
                 in_time ? CURATOR_COUNTER_HEARTBEATS : CURATOR_COUNTER_HEARTBEATS_MISSED, 1);
  curator_trace (session->client, CURATOR_TRACE_HEARTBEAT, "", trip_us, session->id);
  if ((rc == ZNONODE || rc == ZNOAUTH) && reply->failed_index >= 0
      && reply->failed_index < (int) stakes->len)
    {
      on_beat_failed (session, failed_stake (reply, stakes), rc);
      return;
    }
  beat_arm (session);
}

static CURATOR_LOCKED void
add_stakes (GPtrArray *stakes, GPtrArray *paths, GQueue *queue, guint most)
{
  for (guint n = MIN (queue->length, most); n > 0; n--)
    {
      /* To the end of the queue, so that each stake has its turn. */
      GList *link = g_queue_pop_head_link (queue);
      CuratorStake *stake = link->data;
      g_queue_push_tail_link (queue, link);
      g_ptr_array_add (stakes, stake);
      if (!stake->refuses_check)
        {
          g_ptr_array_add (paths, g_strdup (stake->path));
        }
    }
}

/* Sent behind the transaction: its answer is newer. */
static CURATOR_LOCKED void
read_stakes (CuratorSession *session, GPtrArray *stakes)
{
  for (guint i = 0; i < stakes->len; i++)
    {
      CuratorStake *stake = stakes->pdata[i];
      if (stake->needs_read)
        {
          read_stake (session, stake);
        }
    }
}

/* Of the stakes, those that the transaction checks, in the order of its paths. */
static CURATOR_LOCKED GPtrArray *
checked_stakes (GPtrArray *stakes)
{
  GPtrArray *checked = g_ptr_array_new ();
  for (guint i = 0; i < stakes->len; i++)
    {
      CuratorStake *stake = stakes->pdata[i];
      if (!stake->refuses_check)
        {
          g_ptr_array_add (checked, stake);
        }
    }
  return checked;
}

static void
beat_send (CuratorSession *session)
{
  if (session->beat != NULL || session->state != CURATOR_SESSION_CONNECTED)
    {
      return;
    }
  g_autoptr (GPtrArray) stakes = g_ptr_array_new ();
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  add_stakes (stakes, paths, &session->held, MAX_CHECKS_A_BEAT);
  add_stakes (stakes, paths, &session->waiting, MAX_WAITING_A_BEAT);
  if (stakes->len == 0)
    {
      g_ptr_array_unref (paths);
      return;
    }
  if (paths->len == 0)
    {
      /* The session is proven by any transaction. The parent is what its ACL most likely lets us read. */
      const CuratorStake *stake = g_ptr_array_index (stakes, 0);
      g_ptr_array_add (paths, g_path_get_dirname (stake->path));
    }
  session->beat_stakes = checked_stakes (stakes);
  session->beat = curator_request_check (session, paths, on_beat, session);
  read_stakes (session, stakes);
}

static CURATOR_LOCKED void
on_beat_due (gpointer data)
{
  CuratorSession *session = data;
  session->beat_timer = NULL;
  beat_send (session);
}

/* The next heartbeat, unless nothing needs one. */
static CURATOR_LOCKED void
beat_arm (CuratorSession *session)
{
  const CuratorLeaseTerms *terms = &session->terms;
  const CuratorLeaseEvidence *evidence = &session->evidence;
  const gint64 now = curator_client_boottime_us (session->client);
  const gint64 period = terms->period_us;

  if (session->beat_timer != NULL || session->beat != NULL
      || session->state != CURATOR_SESSION_CONNECTED
      || (session->held.length == 0 && session->waiting.length == 0))
    {
      return;
    }
  const gint64 age = MIN (curator_lease_proof_age (evidence, now), period);
  const gint64 pause = curator_lease_is_bound_by_leader (evidence, terms)
                           ? MAX (curator_lease_until_told (evidence, terms, now), period / 5)
                           : MAX (period - age, period / 2);
  session->beat_timer =
      curator_timer_after (session->client, MIN (pause, period), on_beat_due, session);
}

/* Runs on the timer thread. Nothing depends on the answer, which counts when it comes. */
static CURATOR_LOCKED void
on_idle (gpointer data)
{
  CuratorSession *session = data;
  const gboolean has_pings = session->client->ops->report_pings != NULL;
  const gint64 period = session->terms.session_us / (has_pings ? PINGS_SHARE : IDLE_SHARE);
  const gint64 now = curator_client_boottime_us (session->client);
  const gint64 idle = now - MAX (session->asked_us, session->evidence.known_us);

  if (idle >= period)
    {
      curator_request_exists (session, "/", FALSE, NULL, NULL);
    }
  session->idle_timer = curator_timer_after (
      session->client, idle >= period ? period : period - idle, on_idle, session);
}

/* Like the answer to a read: the server has heard from the session, but may have no quorum. */
void
curator_heartbeat_pinged (CuratorSession *session, gint64 sent_us, gint64 answered_us)
{
  if (session->state == CURATOR_SESSION_CONNECTED)
    {
      curator_lease_clock_note_answer (session, sent_us, answered_us);
      session->asked_us = MAX (session->asked_us, sent_us);
    }
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
  curator_lease_clock_connected (session);
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
