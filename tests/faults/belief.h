/* What the holders of a process believe, recorded as it changes.
 *
 * A thread of its own looks at every hold again and again: how long is it still provable, in which
 * state is it? Belief begins with a look that finds time left, and ends when the holder gives the
 * lock back, is told LOST, or the time runs out, whichever comes first. A process that is stopped
 * cannot look; the first look after it goes on tells what it believes then.
 *
 * Recorded are SUSPECT and LOST as the listener is told, DEADLINE with the time at which the last
 * proof ran out, and SAMPLE: the first look, and the first after each pause.
 */
#ifndef CURATOR_TEST_BELIEF_H
#define CURATOR_TEST_BELIEF_H

#include "support/recorder.h"

#include <curator/curator.h>

typedef struct _BeliefKeeper BeliefKeeper;
typedef struct _Belief Belief;

/* Looks every period_us. Its logs are those of threads 1000 and 1001 of that process, which records
 * no others under these numbers. */
BeliefKeeper *belief_keeper_new (const char *directory, int process, int period_us,
                                 gsize capacity);
void belief_keeper_free (BeliefKeeper *keeper);

/* Begins to look after a hold. event: lock, kind, permits and limit of what is recorded; token and
 * session are filled in, and the time from which on it is believed. NULL if the lease has run out
 * before it could be believed at all. */
Belief *belief_begin (BeliefKeeper *keeper, CuratorLease *lease, RecordEvent *event);
/* Just before the hold is given back. TRUE if it had ended before. Frees the belief. */
gboolean belief_end (Belief *belief);

/* Looks now. TRUE, and when that was, if the hold was still provable. */
gboolean belief_look (Belief *belief, gint64 *at_ns);
gboolean belief_is_over (Belief *belief);

#endif
