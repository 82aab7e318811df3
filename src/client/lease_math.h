/* What the answers of the servers prove about a session, and for how long: arithmetic only.
 *
 * Curator has no counterpart. Pure functions of their arguments: no clock, no lock, no request, no
 * library but C's own, so that the bounds can be proven on this code and every rule tested against a
 * model of the servers.
 *
 * All times are microseconds. Points in time are of one clock that goes on while the machine sleeps
 * (CLOCK_BOOTTIME); zero means "never".
 */
#ifndef CURATOR_LEASE_MATH_H
#define CURATOR_LEASE_MATH_H

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
} CuratorLeaseEvidence;

/* A term of 0 ms was not set: then the tick is taken for 2 s, and no more than half of the session
 * timeout, and the heartbeat is sent every T/6. A heartbeat is sent every T/4 or more often. */
CuratorLeaseTerms curator_lease_terms (int session_ms, int tick_ms, int heartbeat_ms);
/* An interval so short that the servers' ticks leave nothing of the session timeout. */
bool curator_lease_terms_are_too_short (const CuratorLeaseTerms *terms);

/* A server has answered a request. */
void curator_lease_note_answer (CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                                int64_t sent_us, int64_t now_us);
/* The request was a transaction, which a quorum has committed. FALSE: the answer took too long, or a
 * newer one was there already; it proves nothing more. */
bool curator_lease_note_proof (CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                               int64_t sent_us, int64_t now_us);
/* The leader itself has done something for the session that was asked for then. */
void curator_lease_note_leader (CuratorLeaseEvidence *evidence, int64_t asked_us);

/* Until when a hold is provable: no server can have expired the session before. 0 without a proof. */
int64_t curator_lease_deadline (const CuratorLeaseEvidence *evidence,
                                const CuratorLeaseTerms *terms);
/* How old the newest proof is; INT64_MAX without one. */
int64_t curator_lease_proof_age (const CuratorLeaseEvidence *evidence, int64_t now_us);
/* After how long a hold is suspect if no further proof comes; 0 or less: it is. */
int64_t curator_lease_until_suspect (const CuratorLeaseEvidence *evidence,
                                     const CuratorLeaseTerms *terms, int64_t now_us);
/* The evidence is new enough to grant something on it without asking the server again. */
bool curator_lease_is_fresh (const CuratorLeaseEvidence *evidence, const CuratorLeaseTerms *terms,
                             int64_t now_us);

/* What the leader is known to have been told ends a hold sooner than the newest proof does. Another
 * proof helps as soon as the leader has been told more. */
bool curator_lease_is_bound_by_leader (const CuratorLeaseEvidence *evidence,
                                       const CuratorLeaseTerms *terms);
/* After how long a further proof shows that the leader was told of one more answer. */
int64_t curator_lease_until_told (const CuratorLeaseEvidence *evidence,
                                  const CuratorLeaseTerms *terms, int64_t now_us);
/* The same if that alone keeps the evidence from being fresh; 0 if it does not. */
int64_t curator_lease_until_fresh (const CuratorLeaseEvidence *evidence,
                                   const CuratorLeaseTerms *terms, int64_t now_us);

#endif
