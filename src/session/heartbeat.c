/* The quorum heartbeat: one transaction of checks over what a session holds and waits with.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex; due on the timer thread,
 * answered on ZooKeeper's thread. What an answer proves, and for how long, is lease_clock.c's.
 *
 * NOTES: a session that holds something sends one every period of the lease clock. One that only
 * waits needs a proof when its turn comes. Right behind a holder that may be any moment, so that
 * session sends four for each session timeout. Further back it sends one, at a random moment, to
 * find a node that was deleted; a turn that comes without warning is confirmed first, see
 * attempt_confirm.c. A reconnect does not bring that one forward, because an election disconnects
 * all sessions at once.
 */
#include "session/heartbeat.h"

#include "base/server_list.h"
#include "channel/patience.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/stats-private.h"
#include "session/lease_clock.h"
#include "session/request.h"

#include <string.h>

#define MAX_CHECKS_A_BEAT 1000
/* Of waiting nodes. More take turns. A server refuses requests of 1 MiB. */
#define MAX_WAITING_A_BEAT       1000
#define MAX_WAITING_BYTES_A_BEAT (256 * 1024)
/* After T/4 without a request one is sent, before the library would ping. Where its pings have
 * dates, one is sent only after T/2 without them: they come every T/3. */
#define IDLE_SHARE  4
#define PINGS_SHARE 2
/* The next node to be granted is checked so often in the session timeout. */
#define NEAR_SHARE 4
/* The heartbeats of far nodes spread over an eighth of the session timeout more with each. */
#define FAR_SPREAD_SHARE 8
/* Clients leave a silent server over 1/20 of the session timeout. */
#define SILENCE_SPREAD 20
#define LOOK_US        (25 * 1000)

static void beat_send (CuratorSession *session) CURATOR_LOCKED;
static void on_beat_due (gpointer session) CURATOR_LOCKED;

/* Less than most_us. */
static CURATOR_LOCKED gint64
random_us (const CuratorSession *session, gint64 most_us)
{
  CuratorZkOps *ops = session->client->ops;
  guint16 bits = 0;
  ops->random (ops, (guint8 *) &bits, sizeof bits);
  return most_us * bits >> 16;
}

static CURATOR_LOCKED gint64
held_due_us (const CuratorSession *session)
{
  const CuratorLeaseTerms *terms = curator_session_terms (session);
  const CuratorLeaseEvidence *evidence = curator_session_evidence (session);
  const gint64 now = curator_locked_boottime_us (session->client);
  const gint64 period = terms->period_us;
  const gint64 age = MIN (curator_lease_proof_age (evidence, now), period);
  const gint64 pause = curator_lease_is_bound_by_leader (evidence, terms)
                           ? MAX (curator_lease_until_told (evidence, terms, now), period / 5)
                           : MAX (period - age, period / 2);
  return now + MIN (pause, period);
}

/* When the stake, which has just joined its queue, needs the next one. */
static CURATOR_LOCKED gint64
due_us (const CuratorSession *session, const CuratorStake *stake)
{
  const CuratorLeaseTerms *terms = curator_session_terms (session);
  const gint64 proof_us = curator_session_evidence (session)->proof_us;

  if (stake->kind == CURATOR_STAKE_FAR)
    return session->beat.far_due_us;
  if (stake->kind == CURATOR_STAKE_HELD) {
    /* A new hold may begin with an older proof than a heartbeat leaves. */
    const gint64 now = curator_locked_boottime_us (session->client);
    return MIN (held_due_us (session), MAX (proof_us + terms->period_us, now));
  }
  /* A near node and the session are checked again before the evidence is too old for a grant. */
  return MAX (MIN (stake->checked_us, proof_us), session->beat.sent_us)
         + MIN (terms->session_us / NEAR_SHARE, terms->period_us * 3 / 2);
}

/* When the session needs the next one; G_MAXINT64 if nothing does. */
static CURATOR_LOCKED gint64
next_due_us (const CuratorSession *session)
{
  if (curator_session_holds (session))
    return held_due_us (session);
  gint64 due =
      session->stakes[CURATOR_STAKE_FAR].length > 0 ? session->beat.far_due_us : G_MAXINT64;
  for (GList *link = session->stakes[CURATOR_STAKE_NEAR].head; link != NULL; link = link->next)
    due = MIN (due, due_us (session, link->data));
  return due;
}

/* Unless a heartbeat is due sooner, or in flight: its answer is followed by the next. */
static CURATOR_LOCKED void
beat_arm (CuratorSession *session, gint64 when_us)
{
  if (session->beat.request != NULL || session->state != CURATOR_SESSION_CONNECTED
      || (session->beat.timer != NULL && session->beat.due_us <= when_us))
    return;
  curator_timer_cancel (session->client, &session->beat.timer);
  session->beat.due_us = when_us;
  /* By the clock of leases: after a jump of it a proof is asked for at once. */
  session->beat.timer =
      curator_timer_add (session->client, CURATOR_CLOCK_ALWAYS, when_us, on_beat_due, session);
}

static CURATOR_LOCKED void
enqueue (CuratorStake *stake, CuratorStakeKind kind)
{
  CuratorSession *session = stake->session;
  if (kind == CURATOR_STAKE_FAR && session->stakes[CURATOR_STAKE_FAR].length == 0) {
    /* The first brings a moment of its own along. */
    const gint64 half = curator_session_terms (session)->session_us / 2;
    session->beat.far_due_us =
        MAX (stake->checked_us + half, curator_locked_boottime_us (session->client))
        + random_us (session, half);
  }
  stake->kind = kind;
  g_queue_push_tail_link (curator_stake_queue (stake), &stake->link);
  beat_arm (session, due_us (session, stake));
}

void
curator_stake_register (CuratorStake *stake, CuratorSession *session, CuratorStakeKind kind)
{
  stake->link = (GList){ .data = stake };
  stake->session = session;
  stake->state = CURATOR_LEASE_STATE_HELD;
  stake->read = NULL;
  enqueue (stake, kind);
  if (kind == CURATOR_STAKE_HELD)
    curator_lease_clock_note_hold (session);
}

void
curator_stake_set_near (CuratorStake *stake, gboolean near)
{
  const CuratorStakeKind kind = near ? CURATOR_STAKE_NEAR : CURATOR_STAKE_FAR;

  if (stake->session != NULL && stake->kind != kind && stake->kind != CURATOR_STAKE_HELD) {
    g_queue_unlink (curator_stake_queue (stake), &stake->link);
    enqueue (stake, kind);
  }
}

void
curator_stake_move (CuratorStake *from, CuratorStake *to, CuratorSession *session)
{
  curator_stake_replace_in_beat (session, from, to);
  curator_stake_unlink (from);
  to->checked_us = from->checked_us;
  curator_stake_register (to, session, CURATOR_STAKE_HELD);
}

/* The node is gone although the session lives. It is unregistered at once, because it would fail
 * every further heartbeat. */
static CURATOR_LOCKED void
on_stake_deleted (CuratorStake *stake)
{
  curator_stake_unregister (stake);
  if (stake->kind == CURATOR_STAKE_HELD)
    stake->state = CURATOR_LEASE_STATE_LOST;
  stake->loss = CURATOR_LOST_REASON_DELETED;
  stake->changed (stake, CURATOR_LEASE_STATE_LOST);
}

/* The server has not answered. What is not seen yet, or is the kernel's, is seen to again. */
static CURATOR_LOCKED void
leave_silent (gpointer data)
{
  CuratorSession *session = data;
  CuratorZkOps *ops = session->client->ops;

  ops->bound_silence (ops, session->handle, session->beat.silence_us);
  session->beat.silence_timer =
      curator_timer_after (session->client, LOOK_US, leave_silent, session);
}

/* A process that was stopped finds the answer before it looks. */
static CURATOR_LOCKED void
on_silence (gpointer data)
{
  CuratorSession *session = data;
  session->beat.silence_timer =
      curator_timer_after (session->client, LOOK_US, leave_silent, session);
}

static CURATOR_LOCKED void
tell_if_bound_to_server (CuratorSession *session, gint64 away_us, gboolean is_seen)
{
  if (session->beat.is_told
      || (is_seen && curator_lease_outlives_server (curator_session_terms (session), away_us)))
    return;
  session->beat.is_told = TRUE;
  curator_info ("session 0x%" G_GINT64_MODIFIER
                "x: its holds may be lost with its server, although others serve: %s",
                session->id,
                is_seen ? "the session timeout is too short for the servers' tick"
                        : "the library does not know the socket of the connection");
}

/* As late as the holds allow: what is left then is for another server, and for its answer. Where
 * nothing is held there is no hurry. */
static CURATOR_LOCKED void
watch_silence (CuratorSession *session)
{
  CuratorClient *client = session->client;
  const CuratorLeaseTerms *terms = curator_session_terms (session);

  if (!curator_session_holds (session))
    return;
  const gboolean is_seen = client->ops->bound_silence != NULL
                           && client->ops->bound_silence (client->ops, session->handle, 0);
  const gint64 away_us =
      is_seen ? curator_patience_away_us (curator_servers_n_addresses (client->known)) : 0;
  tell_if_bound_to_server (session, away_us, is_seen);
  if (!is_seen)
    return;
  const gint64 left_us = curator_lease_deadline (curator_session_evidence (session), terms)
                         - curator_locked_boottime_us (client) - away_us
                         - random_us (session, terms->session_us / SILENCE_SPREAD);
  const gint64 wait_us = curator_lease_silence_us (terms, left_us);
  session->beat.silence_us = wait_us - wait_us / 10;
  session->beat.silence_timer = curator_timer_after (client, wait_us, on_silence, session);
}

/* An answer of this session comes after all that a quorum had committed before the heartbeat's. */
static CURATOR_LOCKED void
on_stake_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  g_autofree CuratorStakeRead *read = data;
  CuratorStake *stake = read->stake;

  if (stake == NULL)
    return;
  stake->read = NULL;
  if (rc == ZNONODE || (rc == ZOK && stake->czxid != 0 && reply->stat->czxid != stake->czxid))
    on_stake_deleted (stake);
  else if (rc == ZOK)
    stake->checked_us =
        MAX (stake->checked_us, curator_session_evidence (stake->session)->proof_us);
}

/* A check proves that a node of that name exists. If the name is not unique, another client may
 * have created that node. */
static CURATOR_LOCKED void
read_if_needed (CuratorSession *session, CuratorStake *stake)
{
  if (!stake->needs_read || stake->read != NULL)
    return;
  stake->read = g_new (CuratorStakeRead, 1);
  stake->read->stake = stake;
  curator_request_exists (session, stake->path, FALSE, on_stake_read, stake->read);
}

static CURATOR_LOCKED void
beat_arm_next (CuratorSession *session)
{
  const gint64 due = next_due_us (session);
  if (due != G_MAXINT64)
    beat_arm (session, due);
}

/* The request has noted the proof already. */
static CURATOR_LOCKED void
on_beat (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorSession *session = data;
  g_autoptr (GPtrArray) stakes = g_steal_pointer (&session->beat.stakes);
  const gint64 trip_us = curator_locked_boottime_us (session->client) - sent_us;
  const gboolean in_time = rc == ZOK && curator_session_evidence (session)->proof_us >= sent_us;

  session->beat.request = NULL;
  curator_timer_cancel (session->client, &session->beat.silence_timer);
  curator_count (session->client,
                 in_time ? CURATOR_COUNTER_HEARTBEATS : CURATOR_COUNTER_HEARTBEATS_MISSED, 1);
  curator_trace (session->client, CURATOR_TRACE_KIND_HEARTBEAT, "", trip_us, session->id);
  if ((rc == ZNONODE || rc == ZNOAUTH) && reply->failed_index >= 0
      && reply->failed_index < (int) stakes->len) {
    /* A failed transaction proves nothing for the other nodes. They are checked again without the
     * one that made it fail, unless that has left since. */
    CuratorStake *failed = stakes->pdata[reply->failed_index];
    if (failed != NULL && rc == ZNONODE) {
      on_stake_deleted (failed);
    } else if (failed != NULL) {
      /* A check needs READ, which its ACL does not grant. Before ZOOKEEPER-2590 exists does not. */
      failed->needs_read = TRUE;
      failed->refuses_check = TRUE;
    }
    beat_send (session);
    return;
  }
  for (guint i = 0; rc == ZOK && i < stakes->len; i++) {
    /* Where a stake has left, there is NULL. A name that is not unique is checked by a read. */
    CuratorStake *stake = stakes->pdata[i];
    if (stake != NULL && !stake->needs_read)
      stake->checked_us = sent_us;
  }
  /* If the answer came too late to prove anything, and the hold has little time left: after an
   * outage the next one proves it. Only once, until one is in time: a server that is always late
   * gets no more requests. */
  const gboolean is_first = !session->beat.was_late;
  session->beat.was_late = rc == ZOK && !in_time;
  if (session->beat.was_late && is_first && curator_session_holds (session))
    beat_send (session);
  else
    beat_arm_next (session);
}

/* The nodes of one heartbeat, and how many more it may have. */
typedef struct
{
  GPtrArray *stakes;
  GPtrArray *checked; /* those of them that the transaction checks */
  GPtrArray *paths;   /* in the order of checked */
  guint n_left;
  gsize bytes_left;
} Beat;

/* FALSE: there was not enough space for all that were checked last at that moment or before. */
static CURATOR_LOCKED gboolean
add_stakes (Beat *beat, GQueue *queue, gint64 before_us)
{
  for (guint n = queue->length; n > 0; n--) {
    CuratorStake *stake = g_queue_peek_head (queue);
    const gsize bytes = strlen (stake->path) + CURATOR_STEP_BYTES;
    const gboolean is_due = stake->checked_us <= before_us;
    if (is_due && (beat->n_left == 0 || (beat->bytes_left < bytes && beat->stakes->len > 0)))
      return FALSE;
    /* To the end of the queue, so that each stake has its turn. */
    g_queue_push_tail_link (queue, g_queue_pop_head_link (queue));
    if (!is_due)
      continue;
    g_ptr_array_add (beat->stakes, stake);
    beat->n_left--;
    beat->bytes_left -= MIN (bytes, beat->bytes_left);
    if (!stake->refuses_check) {
      g_ptr_array_add (beat->checked, stake);
      g_ptr_array_add (beat->paths, g_strdup (stake->path));
    }
  }
  return TRUE;
}

/* Far ones are checked by the heartbeat that is being sent; is_all: there was space for all. */
static CURATOR_LOCKED void
note_far_sent (CuratorSession *session, gboolean is_all)
{
  const gint64 period = curator_session_terms (session)->session_us;
  session->beat.far_due_us = curator_locked_boottime_us (session->client)
                             + (is_all ? period + random_us (session, period / FAR_SPREAD_SHARE)
                                       : curator_session_terms (session)->period_us);
}

static void
beat_send (CuratorSession *session)
{
  if (session->beat.request != NULL || session->state != CURATOR_SESSION_CONNECTED)
    return;
  const gint64 now = curator_locked_boottime_us (session->client);
  g_autoptr (GPtrArray) stakes = g_ptr_array_new ();
  g_autoptr (GPtrArray) checked = g_ptr_array_new ();
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  Beat beat = { stakes, checked, paths, MAX_CHECKS_A_BEAT,
                curator_request_room (session, G_MAXSIZE) };
  add_stakes (&beat, &session->stakes[CURATOR_STAKE_HELD], G_MAXINT64);
  beat.n_left = MAX_WAITING_A_BEAT;
  beat.bytes_left = MIN (beat.bytes_left, MAX_WAITING_BYTES_A_BEAT);
  add_stakes (&beat, &session->stakes[CURATOR_STAKE_NEAR], G_MAXINT64);
  /* Of the far ones those that were not checked lately, with whatever heartbeat is sent. */
  const guint n_before = stakes->len;
  const gboolean is_all = add_stakes (&beat, &session->stakes[CURATOR_STAKE_FAR],
                                      now - curator_session_terms (session)->session_us / 2);
  if (session->beat.far_due_us <= now || stakes->len > n_before)
    note_far_sent (session, is_all);
  if (stakes->len == 0) {
    beat_arm_next (session);
    return;
  }
  if (paths->len == 0) {
    /* The session is proven by any transaction. The parent is what its ACL most likely lets us
     * read. */
    const CuratorStake *stake = g_ptr_array_index (stakes, 0);
    g_ptr_array_add (paths, g_path_get_dirname (stake->path));
  }
  session->beat.sent_us = now;
  session->beat.stakes = g_steal_pointer (&checked);
  session->beat.request =
      curator_request_check (session, g_steal_pointer (&paths), on_beat, session);
  watch_silence (session);
  /* Behind the transaction: the answer to these is newer. */
  for (guint i = 0; i < stakes->len; i++)
    read_if_needed (session, stakes->pdata[i]);
}

static void
on_beat_due (gpointer data)
{
  CuratorSession *session = data;
  session->beat.timer = NULL;
  if (curator_session_holds (session)
      || next_due_us (session) <= curator_locked_boottime_us (session->client))
    beat_send (session);
  else
    beat_arm_next (session);
}

/* Runs on the timer thread. Nothing depends on the answer, which counts when it comes. */
static CURATOR_LOCKED void
on_idle (gpointer data)
{
  CuratorSession *session = data;
  session->beat.idle_timer = NULL;
  const gboolean has_pings = session->client->ops->report_pings != NULL;
  const gint64 period =
      curator_session_terms (session)->session_us / (has_pings ? PINGS_SHARE : IDLE_SHARE);
  const gint64 now = curator_locked_boottime_us (session->client);
  const gint64 idle = now - MAX (session->asked_us, curator_session_evidence (session)->known_us);

  if (idle >= period)
    curator_request_exists (session, "/", FALSE, NULL, NULL);
  session->beat.idle_timer = curator_timer_after (
      session->client, idle >= period ? period : period - idle, on_idle, session);
}

/* Like the answer to a read: the server has heard from the session, but may have no quorum. */
void
curator_heartbeat_pinged (CuratorSession *session, gint64 sent_us, gint64 answered_us)
{
  if (session->state == CURATOR_SESSION_CONNECTED) {
    curator_lease_clock_note_answer (session, sent_us, answered_us);
    session->asked_us = MAX (session->asked_us, sent_us);
  }
}

static CURATOR_LOCKED void
stop_timers (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->beat.idle_timer);
  curator_timer_cancel (session->client, &session->beat.timer);
  curator_timer_cancel (session->client, &session->beat.silence_timer);
  g_clear_pointer (&session->beat.request, curator_request_forget);
  g_clear_pointer (&session->beat.stakes, g_ptr_array_unref);
}

void
curator_heartbeat_connected (CuratorSession *session)
{
  curator_lease_clock_connected (session);
  stop_timers (session);
  session->asked_us = 0;
  const gint64 now = curator_locked_boottime_us (session->client);
  /* What has become due while there was no connection is due at any moment of a session timeout. */
  if (session->beat.far_due_us <= now)
    session->beat.far_due_us =
        now + random_us (session, curator_session_terms (session)->session_us);
  if (curator_session_holds (session))
    beat_send (session);
  else
    beat_arm_next (session);
  on_idle (session);
}

void
curator_heartbeat_suspended (CuratorSession *session)
{
  stop_timers (session);
  if (curator_session_holds (session))
    curator_lease_clock_update (session);
}

void
curator_heartbeat_died (CuratorSession *session)
{
  stop_timers (session);
  curator_lease_clock_died (session);
}
