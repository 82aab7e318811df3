/* Curator has no counterpart. Pure functions of their arguments: no clock, no lock, no request, no
 * library but C's own, so that the bounds can be proven on this code and every rule tested against a
 * model of the servers.
 *
 * All times are microseconds. Points in time are of one clock that goes on while the machine sleeps
 * (lease_time.h); zero means "never".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Inputs beyond these bounds are clamped or never occur; within them nothing overflows. */
#define CURATOR_MAX_TERM_MS   2147483647          /* of a session timeout, a tick, an interval */
#define CURATOR_MAX_MOMENT_US ((int64_t) 1 << 61) /* of a point in time: 73,000 years */

/* What the client and the servers have agreed on. */
typedef struct
{
  int64_t session_us;   /* the session timeout, T */
  int64_t half_tick_us; /* a follower reports to the leader every half tick */
  int64_t period_us;    /* of the heartbeat */
} CuratorLeaseTerms;

#define CURATOR_N_MARKS 16U

/* An answer of a server, whatever it said. */
typedef struct
{
  int64_t sent_us;     /* when the request was sent */
  int64_t answered_us; /* when the answer came */
} CuratorMark;

/* What has been heard. All zero: nothing. */
typedef struct
{
  int64_t proof_us; /* when the newest prompt proof was sent */
  int64_t known_us; /* the leader is known to count the session from then on, or later */
  CuratorMark marks[CURATOR_N_MARKS]; /* some answers, a ring */
  unsigned n_marks;                   /* ever noted */
  int64_t stepped_us;                 /* the clocks were seen to jump then, last */
} CuratorLeaseEvidence;

/* What scripts/proof shows of this code, for all arguments within the bounds. A moment at which the leader
 * was told of the session is one from which it counts the session timeout, by its own clock. */
/*@ predicate is_moment (integer t) = 0 <= t <= CURATOR_MAX_MOMENT_US;
    predicate are_terms (CuratorLeaseTerms t) =
      0 <= t.session_us <= CURATOR_MAX_TERM_MS * 1000
      && 0 <= t.half_tick_us <= CURATOR_MAX_TERM_MS * 500
      && 0 <= t.period_us <= t.session_us / 4;
    predicate is_evidence{L} (CuratorLeaseEvidence *e) =
      is_moment (e->proof_us) && is_moment (e->known_us) && is_moment (e->stepped_us)
      && e->n_marks < 2 * CURATOR_N_MARKS
      && \forall integer i; 0 <= i < CURATOR_N_MARKS
           ==> is_moment (e->marks[i].sent_us) && is_moment (e->marks[i].answered_us);
    predicate is_told{L} (CuratorLeaseEvidence *e, integer i, integer until_us) =
      0 <= i < e->n_marks && i < CURATOR_N_MARKS && e->marks[i].answered_us <= until_us;
    // What was answered so long before a proof was sent, the leader was told.
    logic integer telling (CuratorLeaseTerms t) = t.half_tick_us + t.session_us / 30;
    // The leader expires a session no sooner after it was told, by the clock of the client.
    logic integer lifetime (CuratorLeaseTerms t) = t.session_us - t.session_us / 100;
    // How long before a proof the leader was told last, if every interval had its heartbeat.
    logic integer untold (CuratorLeaseTerms t) =
      t.period_us + t.half_tick_us + t.session_us / 10;
*/

/* A term of 0 ms was not set: then the tick is taken for 2 s, and no more than half of the session
 * timeout, and the heartbeat is sent every T/6. A heartbeat is sent every T/4 or more often. */
/*@ requires 0 <= session_ms;
    assigns \nothing;
    ensures bounded: are_terms (\result);
    ensures session: \result.session_us == session_ms * 1000;
    ensures tick: \result.half_tick_us == (tick_ms > 0 ? tick_ms * 500 : \min (1000000, session_ms * 250));
    ensures period: heartbeat_ms <= 0 ==> \result.period_us == session_ms * 1000 / 6;
    ensures period: heartbeat_ms > 0 ==> \result.period_us == \min (heartbeat_ms * 1000, session_ms * 250);
*/
CuratorLeaseTerms curator_lease_terms (int session_ms, int tick_ms, int heartbeat_ms);
/* What to believe for the rest of the session when a reconnect grants another session timeout: a server
 * may still tell the leader the earlier one. 0: none was granted before. */
/*@ assigns \nothing;
    ensures shorter: \result <= granted_ms && (believed_ms > 0 ==> \result <= believed_ms);
    ensures one: \result == granted_ms || \result == believed_ms;
*/
int curator_lease_session_ms (int believed_ms, int granted_ms);
/* An interval so short that the servers' ticks leave nothing of the session timeout. */
/*@ requires \valid_read (terms) && are_terms (*terms);
    assigns \nothing;
*/
bool curator_lease_terms_are_too_short (const CuratorLeaseTerms *terms);

/* A server has answered a request. */
/*@ requires \valid (evidence) && \valid_read (terms) && \separated (evidence, terms);
    requires is_evidence (evidence) && are_terms (*terms);
    requires is_moment (sent_us) && is_moment (now_us);
    assigns evidence->marks[evidence->n_marks % CURATOR_N_MARKS], evidence->n_marks;
    ensures few: evidence->n_marks < 2 * CURATOR_N_MARKS;
    ensures first: \old (evidence->n_marks) == 0 ==> evidence->n_marks == 1;
    ensures full: \old (evidence->n_marks) >= CURATOR_N_MARKS ==> evidence->n_marks >= CURATOR_N_MARKS;
    ensures next: evidence->n_marks != \old (evidence->n_marks)
      ==> (evidence->n_marks - \old (evidence->n_marks) - 1) % CURATOR_N_MARKS == 0
          && evidence->marks[\old (evidence->n_marks) % CURATOR_N_MARKS].sent_us == sent_us
          && evidence->marks[\old (evidence->n_marks) % CURATOR_N_MARKS].answered_us == now_us;
    ensures ignored: evidence->n_marks == \old (evidence->n_marks)
      ==> evidence->marks[\old (evidence->n_marks) % CURATOR_N_MARKS]
            == \old (evidence->marks[evidence->n_marks % CURATOR_N_MARKS]);
*/
void curator_lease_note_answer (CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                                int64_t sent_us, int64_t now_us);
/* The request was a transaction, which a quorum has committed. FALSE: the answer took too long, or a
 * newer one was there already; it proves nothing more. */
/*@ requires \valid (evidence) && \valid_read (terms) && \separated (evidence, terms);
    requires is_evidence (evidence) && are_terms (*terms);
    requires is_moment (sent_us) && is_moment (now_us);
    assigns evidence->proof_us, evidence->known_us;
    ensures bounded: is_moment (evidence->proof_us) && is_moment (evidence->known_us);
    ensures refused: !\result ==> evidence->proof_us == \old (evidence->proof_us)
                                  && evidence->known_us == \old (evidence->known_us);
    ensures prompt: \result ==> now_us - sent_us <= terms->session_us / 10;
    ensures newer: \result ==> evidence->proof_us == sent_us && sent_us > \old (evidence->proof_us);
    ensures rises: evidence->known_us >= \old (evidence->known_us);
    ensures told: evidence->known_us == \old (evidence->known_us)
      || \exists integer i; \old (is_told (evidence, i, sent_us - telling (*terms)))
           && evidence->known_us == \old (evidence->marks[i].sent_us);
    ensures all: \result ==> \forall integer i;
      \old (is_told (evidence, i, sent_us - telling (*terms)))
        ==> \old (evidence->marks[i].sent_us) <= evidence->known_us;
*/
bool curator_lease_note_proof (CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                               int64_t sent_us, int64_t now_us);
/* The leader itself has done something for the session that was asked for then. */
/*@ requires \valid (evidence) && is_evidence (evidence) && is_moment (asked_us);
    assigns evidence->known_us;
    ensures bounded: is_moment (evidence->known_us);
    ensures asked: evidence->known_us == \max (\old (evidence->known_us), asked_us);
*/
void curator_lease_note_leader (CuratorLeaseEvidence *evidence, int64_t asked_us);

/* The clocks have jumped: a hold is suspect, and nothing is granted, until a proof that was sent later. */
/*@ requires \valid (evidence) && is_evidence (evidence) && is_moment (stepped_us);
    assigns evidence->stepped_us;
    ensures bounded: is_moment (evidence->stepped_us);
    ensures newest: evidence->stepped_us == \max (\old (evidence->stepped_us), stepped_us);
*/
void curator_lease_note_step (CuratorLeaseEvidence *evidence, int64_t stepped_us);

/* Until when a hold is provable: no server can have expired the session before. 0 without a proof. */
/*@ requires \valid_read (evidence) && \valid_read (terms);
    requires is_evidence (evidence) && are_terms (*terms);
    assigns \nothing;
    ensures none: evidence->proof_us == 0 ==> \result == 0;
    ensures by_leader: evidence->proof_us != 0 ==> \forall integer told_us;
      evidence->known_us <= told_us ==> \result <= told_us + lifetime (*terms);
    ensures by_proof: evidence->proof_us != 0 ==> \forall integer told_us;
      evidence->proof_us - untold (*terms) <= told_us ==> \result <= told_us + lifetime (*terms);
    ensures no_sooner: evidence->proof_us != 0 ==> \result - lifetime (*terms)
      == \min (evidence->known_us, evidence->proof_us - untold (*terms));
*/
int64_t curator_lease_deadline (const CuratorLeaseEvidence *evidence,
                                const CuratorLeaseTerms *terms);
/* How old the newest proof is; INT64_MAX without one. */
/*@ requires \valid_read (evidence) && is_evidence (evidence) && is_moment (now_us);
    assigns \nothing;
    ensures age: \result == (evidence->proof_us == 0 ? INT64_MAX : now_us - evidence->proof_us);
*/
int64_t curator_lease_proof_age (const CuratorLeaseEvidence *evidence, int64_t now_us);
/* After how long a hold is suspect if no further proof comes; 0 or less: it is. */
/*@ requires \valid_read (evidence) && \valid_read (terms);
    requires is_evidence (evidence) && are_terms (*terms);
    requires is_moment (now_us);
    assigns \nothing;
    ensures none: evidence->proof_us == 0 ==> \result == 0;
    ensures stepped: evidence->stepped_us > evidence->proof_us ==> \result == 0;
    ensures slow: evidence->proof_us != 0 && evidence->stepped_us <= evidence->proof_us ==> \result + now_us - evidence->proof_us
      >= terms->period_us * 3 / 2 + terms->session_us / 10;
*/
int64_t curator_lease_until_suspect (const CuratorLeaseEvidence *evidence,
                                     const CuratorLeaseTerms *terms, int64_t now_us);
/* How old evidence may be to grant something on it. */
/*@ requires \valid_read (terms) && are_terms (*terms);
    assigns \nothing;
    ensures age: \result
      == \max (2 * terms->period_us, terms->period_us + terms->session_us / 10);
*/
int64_t curator_lease_newest_us (const CuratorLeaseTerms *terms);
/* The evidence is new enough to grant something on it without asking the server again. */
/*@ requires \valid_read (evidence) && \valid_read (terms);
    requires is_evidence (evidence) && are_terms (*terms);
    requires is_moment (now_us);
    assigns \nothing;
    ensures steady: \result ==> evidence->stepped_us <= evidence->proof_us;
    ensures left: \result ==> evidence->proof_us != 0
      && now_us < evidence->known_us + lifetime (*terms)
      && now_us < evidence->proof_us - untold (*terms) + lifetime (*terms);
    ensures recent: \result ==> now_us - evidence->proof_us
      <= \max (2 * terms->period_us, terms->period_us + terms->session_us / 10);
*/
bool curator_lease_is_fresh (const CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                             int64_t now_us);

/* How long a server's host may leave data unacknowledged. resend_us: after which the kernel sends them
 * again. */
/*@ requires 0 <= session_us <= CURATOR_MAX_TERM_MS * 1000 && 0 <= resend_us <= CURATOR_MAX_TERM_MS * 1000;
    assigns \nothing;
    ensures share: \result >= session_us / 8 && \result >= 3 * resend_us;
    ensures bounded: \result <= 3 * CURATOR_MAX_TERM_MS * 1000;
*/
int64_t curator_lease_unacked_us (int64_t session_us, int64_t resend_us);
/* How long a server may leave a heartbeat unanswered that it has acknowledged. left_us: until the
 * deadline, less what other servers that are away may cost. */
/*@ requires \valid_read (terms) && are_terms (*terms);
    requires -CURATOR_MAX_MOMENT_US <= left_us <= CURATOR_MAX_MOMENT_US;
    assigns \nothing;
    ensures bounded: terms->session_us / 10 <= \result <= terms->session_us / 3;
    ensures reserve: \result <= \max (left_us - terms->session_us / 5, terms->session_us / 10);
*/
int64_t curator_lease_silence_us (const CuratorLeaseTerms *terms, int64_t left_us);
/* A hold is kept when its server goes away at any moment while others serve: the last proof is good
 * until the next heartbeat was not answered, the server was left, and another one has answered.
 * dial_us: how long that one may take to be found. So neither a lease nor a patience changes alone. */
/*@ requires \valid_read (terms) && are_terms (*terms);
    requires 0 <= dial_us <= CURATOR_MAX_TERM_MS * 1000;
    assigns \nothing;
*/
bool curator_lease_outlives_server (const CuratorLeaseTerms *terms, int64_t dial_us);

/* What the leader is known to have been told ends a hold sooner than the newest proof does. Another
 * proof helps as soon as the leader has been told more. */
/*@ requires \valid_read (evidence) && \valid_read (terms);
    requires is_evidence (evidence) && are_terms (*terms);
    assigns \nothing;
    ensures bound: \result ==> evidence->known_us + untold (*terms) < evidence->proof_us;
*/
bool curator_lease_is_bound_by_leader (const CuratorLeaseEvidence *evidence,
                                       const CuratorLeaseTerms *terms);
/* After how long a further proof shows that the leader was told of one more answer. */
/*@ requires \valid_read (evidence) && \valid_read (terms);
    requires is_evidence (evidence) && are_terms (*terms);
    requires is_moment (now_us);
    assigns \nothing;
    ensures soon: 1000 <= \result <= telling (*terms) + 1000;
*/
int64_t curator_lease_until_told (const CuratorLeaseEvidence *evidence,
                                  const CuratorLeaseTerms *terms, int64_t now_us);
/* The same if that alone keeps the evidence from being fresh; 0 if it does not. */
/*@ requires \valid_read (evidence) && \valid_read (terms);
    requires is_evidence (evidence) && are_terms (*terms);
    requires is_moment (now_us);
    assigns \nothing;
    ensures soon: \result == 0 || 1000 <= \result <= telling (*terms) + 1000;
*/
int64_t curator_lease_until_fresh (const CuratorLeaseEvidence *evidence,
                                   const CuratorLeaseTerms *terms, int64_t now_us);
