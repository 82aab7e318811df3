/* Until when a session's holds are provable, by a clock of our own.
 *
 * Curator has no counterpart: its holders learn of a loss from the connection state, which a server
 * that is cut off from its quorum keeps up for seconds after another client was granted the lock.
 *
 * Threads: any. Guarded by the client's mutex, except that the deadline is published: reading the
 * remaining time takes no lock. A loss is found on the timer thread, which needs neither a reply
 * nor a thread of ZooKeeper's, and by a clock that goes on while the machine sleeps.
 *
 * NOTES: what an answer proves is in lease_math.c. Only transactions prove something: a server that
 * cannot reach a quorum still answers reads, pings and sync. The library's own pings count for
 * nothing where nobody knows when they were sent: there a session without requests sends a read of
 * ours instead. The channel of a secured client knows it. The answer to a ping is then worth as
 * much as the answer to a read: it is no proof, but a later proof shows that the leader was told of
 * it.
 *
 * A deadline that somebody has seen pass is final: holds must not come back to life by a proof that
 * was late by a moment. So a reader that sees it pass replaces it by 0, which a writer notices when
 * it publishes the next one: the holds are LOST before that. Whoever asks for a hold therefore
 * reads the deadline first, and then whether the hold is over.
 */
#include "session/lease_clock.h"

#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "session/connection.h"

#include <stdatomic.h>

gint64
curator_deadline_remaining_ms (_Atomic gint64 *deadline_us, CuratorClient *client)
{
  gint64 deadline = atomic_load (deadline_us);
  while (deadline != G_MAXINT64) {
    const gint64 left_us = deadline - curator_client_boottime_us (client);
    if (left_us >= 1000)
      return left_us / 1000;
    if (deadline == 0 || atomic_compare_exchange_strong (deadline_us, &deadline, 0))
      return 0;
  }
  return G_MAXINT64;
}

gint64
curator_lease_clock_remaining_ms (CuratorSession *session)
{
  return curator_deadline_remaining_ms (&session->clock.deadline_us, session->client);
}

/* Read after the clock, which may just have found it. */
static CURATOR_LOCKED void
note_step (CuratorSession *session)
{
  CuratorZkOps *ops = session->client->ops;
  if (ops->clocks.stepped_us != NULL)
    curator_lease_note_step (&session->clock.evidence, ops->clocks.stepped_us (ops));
}

gboolean
curator_lease_clock_is_fresh (CuratorSession *session, gint64 now_us)
{
  note_step (session);
  return session->state == CURATOR_SESSION_CONNECTED
         && curator_lease_is_fresh (&session->clock.evidence, &session->clock.terms, now_us);
}

gboolean
curator_stake_is_checked (const CuratorStake *stake, gint64 now_us)
{
  return stake->session != NULL
         && now_us - stake->checked_us <= curator_lease_newest_us (&stake->session->clock.terms);
}

void
curator_lease_clock_note_answer (CuratorSession *session, gint64 sent_us, gint64 now_us)
{
  curator_lease_note_answer (&session->clock.evidence, &session->clock.terms, sent_us, now_us);
}

static CURATOR_LOCKED void
notify_holds (CuratorSession *session, CuratorLeaseState state, CuratorLostReason loss)
{
  GList *next;
  for (GList *link = session->stakes[CURATOR_STAKE_HELD].head; link != NULL; link = next) {
    CuratorStake *stake = link->data;
    next = link->next;
    if (state == CURATOR_LEASE_STATE_LOST)
      curator_stake_unregister (stake);
    stake->state = state;
    stake->loss = loss;
    stake->changed (stake, state);
  }
}

/* The connection state follows, as Curator tells LOST by a clock of its own. */
static CURATOR_LOCKED void
lapse (CuratorSession *session)
{
  curator_warn ("session 0x%" G_GINT64_MODIFIER
                "x: no quorum has confirmed it in time: its holds are lost",
                session->id);
  session->clock.suspect = FALSE;
  session->clock.end_seen = FALSE;
  session->clock.lapsed = TRUE;
  curator_client_set_state (session->client, CURATOR_CONNECTION_STATE_LOST);
  notify_holds (session, CURATOR_LEASE_STATE_LOST, CURATOR_LOST_REASON_CLOCK);
}

static CURATOR_LOCKED void
publish (CuratorSession *session, gint64 now_us)
{
  const gint64 deadline = curator_lease_deadline (&session->clock.evidence, &session->clock.terms);
  gint64 old = atomic_load (&session->clock.deadline_us);

  if (now_us < old && atomic_compare_exchange_strong (&session->clock.deadline_us, &old, deadline))
    return;
  /* The old deadline has passed, or somebody saw it pass. */
  if (curator_session_holds (session) || session->clock.end_seen) {
    curator_timer_cancel (session->client, &session->clock.lapse_timer);
    lapse (session);
  }
  atomic_store (&session->clock.deadline_us, deadline);
}

/* Runs on the timer thread, or where something has changed. */
static CURATOR_LOCKED void
on_lapse_timer (gpointer data)
{
  CuratorSession *session = data;
  session->clock.lapse_timer = NULL;
  if (!curator_session_holds (session) && !session->clock.end_seen)
    return;
  const gint64 now = curator_locked_boottime_us (session->client);
  note_step (session);
  const gint64 deadline = atomic_load (&session->clock.deadline_us);
  if (now >= deadline || session->clock.end_seen) {
    lapse (session);
    return;
  }
  const gint64 until_suspect =
      curator_lease_until_suspect (&session->clock.evidence, &session->clock.terms, now);
  const gboolean suspect = session->state != CURATOR_SESSION_CONNECTED || until_suspect <= 0;
  if (suspect != session->clock.suspect) {
    session->clock.suspect = suspect;
    notify_holds (session, suspect ? CURATOR_LEASE_STATE_SUSPECT : CURATOR_LEASE_STATE_HELD,
                  CURATOR_LOST_REASON_CLOCK);
  }
  /* Whoever was notified may have set it, because the hold has ended meanwhile. */
  if (session->clock.lapse_timer == NULL)
    session->clock.lapse_timer = curator_timer_add (
        session->client, CURATOR_CLOCK_ALWAYS,
        suspect ? deadline : MIN (deadline, now + until_suspect), on_lapse_timer, session);
}

void
curator_lease_clock_update (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->clock.lapse_timer);
  on_lapse_timer (session);
}

void
curator_lease_clock_note_hold (CuratorSession *session)
{
  if (session->clock.lapse_timer == NULL) {
    session->clock.suspect = FALSE;
    curator_lease_clock_update (session);
  }
}

void
curator_lease_clock_note_end (CuratorSession *session)
{
  if (session->state != CURATOR_SESSION_DEAD) {
    session->clock.end_seen = TRUE;
    curator_timer_cancel (session->client, &session->clock.lapse_timer);
    session->clock.lapse_timer = curator_timer_after (session->client, 0, on_lapse_timer, session);
  }
}

void
curator_lease_clock_note_proof (CuratorSession *session, gint64 sent_us, gint64 now_us)
{
  if (session->state == CURATOR_SESSION_DEAD
      || !curator_lease_note_proof (&session->clock.evidence, &session->clock.terms, sent_us,
                                    now_us))
    return;
  publish (session, now_us);
  if (session->clock.suspect)
    curator_lease_clock_update (session);
  if (session->clock.lapsed && session->state == CURATOR_SESSION_CONNECTED) {
    session->clock.lapsed = FALSE;
    curator_client_set_state (session->client, CURATOR_CONNECTION_STATE_RECONNECTED);
  }
}

void
curator_lease_clock_set_timeout (CuratorSession *session, int timeout_ms)
{
  const CuratorSettings *settings = &session->client->settings;
  const int believed_ms = session->clock.terms.session_us != 0 ? session->timeout_ms : 0;

  if (timeout_ms < believed_ms)
    curator_warn ("session 0x%" G_GINT64_MODIFIER
                  "x: the server shortens the session timeout from %d ms to %d ms",
                  session->id, session->timeout_ms, timeout_ms);
  session->timeout_ms = curator_lease_session_ms (believed_ms, timeout_ms);
  session->clock.terms = curator_lease_terms (session->timeout_ms, settings->server_tick_ms,
                                              settings->has_heartbeat ? settings->heartbeat_ms : 0);
  if (believed_ms == 0 && curator_lease_terms_are_too_short (&session->clock.terms))
    curator_warn ("the session timeout of %d ms is too short for servers that tick every %d ms: "
                  "holds are lost, or cannot be had, while all is well",
                  session->timeout_ms, (int) (session->clock.terms.half_tick_us / 500));
  publish (session, curator_locked_reread_us (session->client));
  if (curator_session_holds (session))
    curator_lease_clock_update (session);
}

void
curator_lease_clock_connecting (CuratorSession *session)
{
  session->clock.connecting_us = curator_client_boottime_us (session->client);
}

gboolean
curator_lease_clock_has_lapsed (const CuratorSession *session)
{
  return session->clock.lapsed;
}

void
curator_lease_clock_connected (CuratorSession *session)
{
  session->clock.lapsed = FALSE;
  /* Creating a session is the leader's own work. So is moving it to another connection, but nobody
   * knows how long before the answer that was. */
  if (session->clock.connecting_us != 0) {
    curator_lease_note_leader (&session->clock.evidence, session->clock.connecting_us);
    session->clock.connecting_us = 0;
  }
  if (curator_session_holds (session))
    curator_lease_clock_update (session);
}

void
curator_lease_clock_died (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->clock.lapse_timer);
  atomic_store (&session->clock.deadline_us, 0);
  notify_holds (session, CURATOR_LEASE_STATE_LOST,
                curator_client_is_running (session->client) ? CURATOR_LOST_REASON_SESSION
                                                            : CURATOR_LOST_REASON_CLOSED);
}
