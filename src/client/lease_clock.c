/* The lease clock of a session: what the servers' answers prove, and when a hold is lost.
 *
 * Mirrors nothing: Curator's holders learn of a loss from the connection state. A server that is
 * cut off from its quorum keeps that state CONNECTED for seconds after another client got the lock.
 * Threads: any; guarded by the client's mutex. A loss is noticed on the timer lane, without any
 * reply.
 *
 * NOTES: a check is a transaction, so a server without a quorum cannot answer it; it would answer a
 * read, a ping or a sync. But a proof only says that the session had not ended. The leader expires
 * a session by what its followers report: every half tick, whom they have heard from. A proof sent
 * later shows that the follower was still connected to the leader, so that the report arrived. The
 * library's own pings prove nothing, since we do not know when they were sent; an idle session
 * sends a read instead.
 */
#include "client/lease_clock.h"

#include "client/client-private.h"
#include "client/log.h"
#include "client/monitor.h"

#define DEFAULT_TICK_MS 2000
/* An answer that takes longer than 1/10 of the session timeout proves nothing. */
#define PROMPT_SHARE 10
/* The leader's pings may be late by 1/30 of the session timeout. */
#define LATE_PING_SHARE 30

gint64
curator_lease_clock_session_us (const CuratorSession *session)
{
  return (gint64) session->timeout_ms * 1000;
}

gint64
curator_lease_clock_period_us (const CuratorSession *session)
{
  const CuratorClient *client = session->client;
  return client->has_heartbeat ? MIN ((gint64) client->heartbeat_ms * 1000,
                                      curator_lease_clock_session_us (session) / 4)
                               : curator_lease_clock_session_us (session) / 6;
}

/* If the tick was not set: by default servers grant no session timeout under two ticks. */
static CURATOR_LOCKED gint64
half_tick_us (const CuratorSession *session)
{
  const CuratorClient *client = session->client;
  return client->has_server_tick
             ? (gint64) client->server_tick_ms * 500
             : MIN (DEFAULT_TICK_MS * 500, curator_lease_clock_session_us (session) / 4);
}

/* Within that time a follower has told the leader what it has answered. */
static CURATOR_LOCKED gint64
telling_us (const CuratorSession *session)
{
  return half_tick_us (session) + curator_lease_clock_session_us (session) / LATE_PING_SHARE;
}

/* One lost heartbeat, what a follower may not have told yet, the slowest answer that still counts
 * (a leader that pauses for so long is told later), and clocks that differ by 1 %. */
static CURATOR_LOCKED gint64
guard_us (const CuratorSession *session)
{
  const gint64 t = curator_lease_clock_session_us (session);
  return curator_lease_clock_period_us (session) + half_tick_us (session) + t / PROMPT_SHARE
         + t / 100;
}

/* For how long a proof is good. */
static CURATOR_LOCKED gint64
usable_us (const CuratorSession *session)
{
  return curator_lease_clock_session_us (session) - guard_us (session);
}

gint64
curator_lease_clock_proof_age_us (CuratorSession *session)
{
  return session->proof_us == 0 ? G_MAXINT64
                                : curator_client_boottime_us (session->client) - session->proof_us;
}

gint64
curator_lease_clock_remaining_us (CuratorSession *session)
{
  if (session->proof_us == 0 || session->state == CURATOR_SESSION_DEAD)
    {
      return 0;
    }
  const gint64 t = curator_lease_clock_session_us (session);
  const gint64 by_proof = session->proof_us + usable_us (session);
  const gint64 by_leader = session->known_us + t - t / 100;
  return MAX (MIN (by_proof, by_leader) - curator_client_boottime_us (session->client), 0);
}

/* A new proof shows that the leader was told of every answer that is old enough. */
static CURATOR_LOCKED void
note_leader_knows (CuratorSession *session)
{
  const gint64 until = session->proof_us - telling_us (session);

  for (guint i = 0; i < MIN (session->n_marks, CURATOR_N_MARKS); i++)
    {
      const CuratorMark *mark = &session->marks[i];
      if (mark->answered_us <= until)
        {
          session->known_us = MAX (session->known_us, mark->sent_us);
        }
    }
}

/* There may be thousands of answers: a few for each half tick are kept. */
void
curator_lease_clock_note_answer (CuratorSession *session, gint64 sent_us)
{
  const gint64 newest =
      session->n_marks > 0 ? session->marks[(session->n_marks - 1) % CURATOR_N_MARKS].sent_us : 0;
  if (sent_us - newest >= half_tick_us (session) / 4)
    {
      session->marks[session->n_marks++ % CURATOR_N_MARKS] =
          (CuratorMark){ sent_us, curator_client_boottime_us (session->client) };
    }
}

/* What the leader is known to have been told ends a hold sooner than the newest proof does: another
 * proof is due as soon as the leader has been told more. */
gboolean
curator_lease_clock_is_bound_by_leader (CuratorSession *session)
{
  return session->known_us + guard_us (session) < session->proof_us;
}

/* After how long a further proof shows that the leader was told of one more answer. */
gint64
curator_lease_clock_until_told_us (CuratorSession *session)
{
  const gint64 now = curator_client_boottime_us (session->client);
  gint64 first = now + telling_us (session);

  for (guint i = 0; i < MIN (session->n_marks, CURATOR_N_MARKS); i++)
    {
      const CuratorMark *mark = &session->marks[i];
      if (mark->sent_us > session->known_us)
        {
          first = MIN (first, mark->answered_us + telling_us (session));
        }
    }
  return MAX (first - now, 0) + 1000;
}

/* Enough for the next heartbeat to be answered in time, however slowly. Where the session timeout
 * is too short for that, half of what there can be. */
static CURATOR_LOCKED gint64
enough_us (CuratorSession *session)
{
  const gint64 pause = curator_lease_clock_is_bound_by_leader (session)
                           ? telling_us (session)
                           : curator_lease_clock_period_us (session);
  return MIN (pause + curator_lease_clock_session_us (session) / PROMPT_SHARE,
              usable_us (session) / 2);
}

gboolean
curator_lease_clock_is_fresh (CuratorSession *session)
{
  return session->state == CURATOR_SESSION_CONNECTED
         && curator_lease_clock_proof_age_us (session)
                <= 2 * curator_lease_clock_period_us (session)
         && curator_lease_clock_remaining_us (session) > MAX (enough_us (session), 0);
}

gint64
curator_lease_clock_until_fresh_us (CuratorSession *session)
{
  const gint64 by_proof = usable_us (session) - curator_lease_clock_proof_age_us (session);
  return curator_lease_clock_is_bound_by_leader (session) && by_proof > enough_us (session)
             ? curator_lease_clock_until_told_us (session)
             : 0;
}

static CURATOR_LOCKED void
set_held_state (CuratorSession *session, CuratorLeaseState state, CuratorCounter loss)
{
  GList *next;
  for (GList *link = session->held.head; link != NULL; link = next)
    {
      CuratorStake *stake = link->data;
      next = link->next;
      if (state == CURATOR_LEASE_LOST)
        {
          curator_stake_unregister (stake);
        }
      stake->state = state;
      stake->loss = loss;
      stake->changed (stake, state);
    }
}

/* A hold is suspect after two heartbeats in a row without a proof, or without a connection. */
static CURATOR_LOCKED gint64
until_suspect_us (CuratorSession *session)
{
  return 5 * curator_lease_clock_period_us (session) / 2
         - curator_lease_clock_proof_age_us (session);
}

static CURATOR_LOCKED void
on_lapse (gpointer data)
{
  CuratorSession *session = data;
  session->lapse_timer = NULL;
  if (session->held.length == 0)
    {
      return;
    }
  const gint64 remaining = curator_lease_clock_remaining_us (session);
  const gboolean suspect =
      session->state != CURATOR_SESSION_CONNECTED || until_suspect_us (session) <= 0;

  if (remaining == 0)
    {
      curator_warn ("no quorum confirmed session 0x%" G_GINT64_MODIFIER
                    "x in time: its holds are lost",
                    session->id);
      session->suspect = FALSE;
      set_held_state (session, CURATOR_LEASE_LOST, CURATOR_COUNTER_LOST_CLOCK);
      return;
    }
  if (suspect != session->suspect)
    {
      session->suspect = suspect;
      set_held_state (session, suspect ? CURATOR_LEASE_SUSPECT : CURATOR_LEASE_HELD,
                      CURATOR_COUNTER_LOST_CLOCK);
    }
  const gint64 next = suspect ? remaining : MIN (remaining, until_suspect_us (session));
  session->lapse_timer = curator_timer_after (session->client, next, on_lapse, session);
}

void
curator_lease_clock_update (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->lapse_timer);
  on_lapse (session);
}

void
curator_lease_clock_note_proof (CuratorSession *session, gint64 sent_us)
{
  const gint64 now = curator_client_boottime_us (session->client);

  /* A slow answer may have been committed by a leader that paused just before it expires us. */
  if (session->state == CURATOR_SESSION_DEAD
      || now - sent_us > curator_lease_clock_session_us (session) / PROMPT_SHARE
      || sent_us <= session->proof_us)
    {
      return;
    }
  session->proof_us = sent_us;
  note_leader_knows (session);
  if (session->suspect)
    {
      curator_lease_clock_update (session);
    }
}

static CURATOR_LOCKED void
forget_beat_stake (CuratorSession *session, CuratorStake *stake)
{
  guint index;
  if (session->beat_stakes != NULL && g_ptr_array_find (session->beat_stakes, stake, &index))
    {
      session->beat_stakes->pdata[index] = NULL;
    }
}

void
curator_stake_unlink (CuratorStake *stake)
{
  CuratorSession *session = stake->session;
  if (session != NULL)
    {
      stake->session = NULL;
      g_queue_unlink (stake->held ? &session->held : &session->waiting, &stake->link);
    }
}

void
curator_stake_unregister (CuratorStake *stake)
{
  CuratorSession *session = stake->session;
  if (session != NULL)
    {
      curator_stake_unlink (stake);
      forget_beat_stake (session, stake);
    }
}

gboolean
curator_session_has_stake (CuratorSession *session, const char *path)
{
  GQueue *const queues[] = { &session->held, &session->waiting };

  for (gsize i = 0; i < G_N_ELEMENTS (queues); i++)
    {
      for (GList *link = queues[i]->head; link != NULL; link = link->next)
        {
          const CuratorStake *stake = link->data;
          if (g_str_equal (stake->path, path))
            {
              return TRUE;
            }
        }
    }
  return FALSE;
}

void
curator_lease_clock_check_timeout (CuratorSession *session)
{
  if (usable_us (session)
      < telling_us (session) + curator_lease_clock_session_us (session) / PROMPT_SHARE)
    {
      curator_warn ("the session timeout of %d ms is too short for servers with a tick of %d ms: "
                    "locks may be lost, or never granted, without any fault",
                    session->timeout_ms, (int) (half_tick_us (session) / 500));
    }
}

void
curator_lease_clock_died (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->lapse_timer);
  set_held_state (session, CURATOR_LEASE_LOST,
                  curator_client_is_running (session->client) ? CURATOR_COUNTER_LOST_SESSION
                                                              : CURATOR_COUNTER_LOST_CLOSED);
}
