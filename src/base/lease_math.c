/* What the answers of the servers prove about a session, and for how long: arithmetic only.
 *
 * Threads: any; nothing guards it, since nothing is shared.
 *
 * NOTES: a transaction is committed by a quorum, so its answer proves that the session lived when
 * the request was sent. The leader, however, expires a session by what it was told of it. A
 * follower tells it every half tick which sessions it has heard from, as long as it is connected to
 * the leader. What a follower answered before that moment, a proof sent later shows to have been
 * told.
 */
#include "base/lease_math.h"

#define DEFAULT_HALF_TICK_US 1000000
/* An answer that takes longer than 1/10 of the session timeout proves nothing. */
#define PROMPT_SHARE 10
/* The leader's pings may be late by 1/30 of the session timeout. */
#define LATE_PING_SHARE 30
/* Clocks may run at rates that differ by 1 %. */
#define DRIFT_SHARE 100
/* So many heartbeats fit into the session timeout, unless the interval was set. */
#define BEAT_SHARE 6
/* The longest interval that may be set. */
#define LONGEST_BEAT_SHARE 4
/* A host may leave data unacknowledged for 1/8 of the session timeout, and for three times as long
 * as the kernel waits before it sends them again; on short paths that is 250 ms. */
#define UNACKED_SHARE    8
#define UNACKED_LEAST_US 500000
#define UNACKED_RESENDS  3
#define USUAL_RESEND_US  250000
/* A server may leave a heartbeat unanswered until 1/5 of the session timeout is left, for another
 * one, and so long at least and at most. */
#define RESERVE_SHARE          5
#define SHORTEST_SILENCE_SHARE 10
#define LONGEST_SILENCE_SHARE  3

static int64_t
least (int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static int64_t
most (int64_t a, int64_t b)
{
  return a > b ? a : b;
}

CuratorLeaseTerms
curator_lease_terms (int session_ms, int tick_ms, int heartbeat_ms)
{
  const int64_t session_us = (int64_t) session_ms * 1000;
  const CuratorLeaseTerms terms = {
    .session_us = session_us,
    .half_tick_us =
        tick_ms > 0 ? (int64_t) tick_ms * 500 : least (DEFAULT_HALF_TICK_US, session_us / 4),
    .period_us = heartbeat_ms > 0
                     ? least ((int64_t) heartbeat_ms * 1000, session_us / LONGEST_BEAT_SHARE)
                     : session_us / BEAT_SHARE,
  };
  return terms;
}

int
curator_lease_session_ms (int believed_ms, int granted_ms)
{
  return believed_ms > 0 && believed_ms < granted_ms ? believed_ms : granted_ms;
}

static int64_t
prompt_us (const CuratorLeaseTerms *terms)
{
  return terms->session_us / PROMPT_SHARE;
}

/* Within that time a follower has told the leader what it has answered. */
static int64_t
telling_us (const CuratorLeaseTerms *terms)
{
  return terms->half_tick_us + terms->session_us / LATE_PING_SHARE;
}

/* One lost heartbeat, what a follower may not have told yet, the slowest answer that still counts
 * (a leader that pauses for so long is told later), and clocks that differ. */
static int64_t
guard_us (const CuratorLeaseTerms *terms)
{
  return terms->period_us + terms->half_tick_us + prompt_us (terms)
         + terms->session_us / DRIFT_SHARE;
}

/* For how long a proof is good. */
static int64_t
usable_us (const CuratorLeaseTerms *terms)
{
  return terms->session_us - guard_us (terms);
}

bool
curator_lease_terms_are_too_short (const CuratorLeaseTerms *terms)
{
  return usable_us (terms) < telling_us (terms) + prompt_us (terms);
}

/* Between two marks. A mark must not be overwritten before a proof can show that it was told: the
 * ring reaches back over that time, an answer and a proof of which each takes as long as may be,
 * and the distance to the next mark. */
static int64_t
spacing_us (const CuratorLeaseTerms *terms)
{
  const int64_t reach = telling_us (terms) + terms->session_us / 4;
  return most (terms->half_tick_us / 4, reach / CURATOR_N_MARKS);
}

static unsigned
n_marks (const CuratorLeaseEvidence *evidence)
{
  return evidence->n_marks < CURATOR_N_MARKS ? evidence->n_marks : CURATOR_N_MARKS;
}

void
curator_lease_note_answer (CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                           int64_t sent_us, int64_t now_us)
{
  if (evidence->n_marks > 0
      && sent_us - evidence->marks[(evidence->n_marks - 1) % CURATOR_N_MARKS].sent_us
             < spacing_us (terms))
    return;
  const CuratorMark mark = { sent_us, now_us };
  evidence->marks[evidence->n_marks % CURATOR_N_MARKS] = mark;
  /* Stays at or above the size of the ring once it is full. */
  evidence->n_marks =
      evidence->n_marks < 2 * CURATOR_N_MARKS - 1 ? evidence->n_marks + 1 : CURATOR_N_MARKS;
}

bool
curator_lease_note_proof (CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                          int64_t sent_us, int64_t now_us)
{
  /* A slow answer may have been committed by a leader that paused just before it expires us. */
  if (now_us - sent_us > prompt_us (terms) || sent_us <= evidence->proof_us)
    return false;
  int64_t known_us = evidence->known_us;
  /*@ loop invariant 0 <= i <= CURATOR_N_MARKS && i <= evidence->n_marks;
      loop invariant rises: is_moment (known_us) && known_us >= evidence->known_us;
      loop invariant told: known_us == evidence->known_us
        || \exists integer k; is_told (evidence, k, sent_us - telling (*terms))
             && known_us == evidence->marks[k].sent_us;
      loop invariant all: \forall integer k;
        k < i && is_told (evidence, k, sent_us - telling (*terms))
          ==> evidence->marks[k].sent_us <= known_us;
      loop assigns i, known_us;
      loop variant CURATOR_N_MARKS - i;
  */
  for (unsigned i = 0; i < n_marks (evidence); i++)
    if (evidence->marks[i].answered_us <= sent_us - telling_us (terms))
      known_us = most (known_us, evidence->marks[i].sent_us);
  evidence->known_us = known_us;
  evidence->proof_us = sent_us;
  return true;
}

void
curator_lease_note_leader (CuratorLeaseEvidence *evidence, int64_t asked_us)
{
  evidence->known_us = most (evidence->known_us, asked_us);
}

void
curator_lease_note_step (CuratorLeaseEvidence *evidence, int64_t stepped_us)
{
  evidence->stepped_us = most (evidence->stepped_us, stepped_us);
}

/* Nobody has been heard since the clocks jumped. */
static bool
is_doubtful (const CuratorLeaseEvidence *evidence)
{
  return evidence->proof_us == 0 || evidence->stepped_us > evidence->proof_us;
}

int64_t
curator_lease_deadline (const CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms)
{
  if (evidence->proof_us == 0)
    return 0;
  const int64_t by_proof = evidence->proof_us + usable_us (terms);
  const int64_t by_leader =
      evidence->known_us + terms->session_us - terms->session_us / DRIFT_SHARE;
  return least (by_proof, by_leader);
}

int64_t
curator_lease_proof_age (const CuratorLeaseEvidence *evidence, int64_t now_us)
{
  return evidence->proof_us == 0 ? INT64_MAX : now_us - evidence->proof_us;
}

int64_t
curator_lease_until_suspect (const CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                             int64_t now_us)
{
  /* Two heartbeats in a row that brought nothing, or one that is answered as slowly as may be. */
  const int64_t patience =
      most (5 * terms->period_us / 2, 3 * terms->period_us / 2 + prompt_us (terms));
  return is_doubtful (evidence) ? 0 : patience - (now_us - evidence->proof_us);
}

bool
curator_lease_is_bound_by_leader (const CuratorLeaseEvidence *evidence,
                                  const CuratorLeaseTerms *terms)
{
  return evidence->known_us + guard_us (terms) < evidence->proof_us;
}

/* Enough for the next heartbeat to be answered in time, however slowly. Where the session timeout
 * is too short for that, half of what there can be. */
static int64_t
enough_us (const CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms)
{
  const int64_t pause =
      curator_lease_is_bound_by_leader (evidence, terms) ? telling_us (terms) : terms->period_us;
  return most (least (pause + prompt_us (terms), usable_us (terms) / 2), 0);
}

int64_t
curator_lease_newest_us (const CuratorLeaseTerms *terms)
{
  /* With short intervals the answer of the newest heartbeat may take longer than two of them. */
  return most (2 * terms->period_us, terms->period_us + prompt_us (terms));
}

bool
curator_lease_is_fresh (const CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                        int64_t now_us)
{
  return !is_doubtful (evidence) && now_us - evidence->proof_us <= curator_lease_newest_us (terms)
         && curator_lease_deadline (evidence, terms) - now_us > enough_us (evidence, terms);
}

int64_t
curator_lease_until_told (const CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                          int64_t now_us)
{
  int64_t first = now_us + telling_us (terms);

  /*@ loop invariant 0 <= i <= CURATOR_N_MARKS;
      loop invariant 0 <= first <= now_us + telling (*terms);
      loop assigns i, first;
      loop variant CURATOR_N_MARKS - i;
  */
  for (unsigned i = 0; i < n_marks (evidence); i++)
    if (evidence->marks[i].sent_us > evidence->known_us)
      first = least (first, evidence->marks[i].answered_us + telling_us (terms));
  return most (first - now_us, 0) + 1000;
}

int64_t
curator_lease_until_fresh (const CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                           int64_t now_us)
{
  const bool by_proof =
      evidence->proof_us != 0
      && evidence->proof_us + usable_us (terms) - now_us > enough_us (evidence, terms);
  return by_proof && curator_lease_is_bound_by_leader (evidence, terms)
             ? curator_lease_until_told (evidence, terms, now_us)
             : 0;
}

int64_t
curator_lease_unacked_us (int64_t session_us, int64_t resend_us)
{
  return most (most (session_us / UNACKED_SHARE, UNACKED_LEAST_US), resend_us * UNACKED_RESENDS);
}

int64_t
curator_lease_silence_us (const CuratorLeaseTerms *terms, int64_t left_us)
{
  const int64_t most_us = least (left_us - terms->session_us / RESERVE_SHARE,
                                 terms->session_us / LONGEST_SILENCE_SHARE);
  return most (most_us, terms->session_us / SHORTEST_SILENCE_SHARE);
}

bool
curator_lease_outlives_server (const CuratorLeaseTerms *terms, int64_t dial_us)
{
  const int64_t unacked_us = curator_lease_unacked_us (terms->session_us, USUAL_RESEND_US);
  /* Between two heartbeats, of which the first is answered as slowly as may be. */
  const int64_t beat_us = most (terms->period_us, terms->period_us / 2 + prompt_us (terms));
  return beat_us + unacked_us + dial_us + prompt_us (terms) < usable_us (terms);
}
