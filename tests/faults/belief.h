/* Records the beliefs of a process's holders as they change.
 *
 * A thread samples every hold periodically: its state, and for how long it is still provable. A
 * belief begins with a sample that finds time left, and ends when the holder releases the lock,
 * receives LOST, or the time runs out, whichever comes first. A stopped process takes no samples;
 * the first one after it resumes shows what it believes then.
 *
 * Records SUSPECT and LOST when the listener is called, DEADLINE with the time at which the last
 * proof ran out, and SAMPLE for the first sample and the first after each pause.
 */
#pragma once

#include "support/recorder.h"

#include <curator/curator.h>

/* Records the event with that operation and result. */
void belief_note (Recorder *recorder, RecordEvent event, RecordOp op, RecordResult result);

typedef struct _BeliefKeeper BeliefKeeper;
typedef struct _Belief Belief;

/* Samples every period_us. Its logs are those of threads 1000 and 1001 of that process, which must
 * not use these numbers itself. */
BeliefKeeper *belief_keeper_new (const char *directory, int process, int period_us, gsize capacity);
void belief_keeper_free (BeliefKeeper *keeper);

/* Starts sampling a hold. event: lock, kind, permits and limit to record; token, session and the
 * beginning of the belief are filled in. NULL if the lease has run out already. */
Belief *belief_begin (BeliefKeeper *keeper, CuratorLease *lease, RecordEvent *event);
/* The same for several leases that are one hold: it is over as soon as one of them is. */
Belief *belief_begin_all (BeliefKeeper *keeper, GPtrArray *leases, RecordEvent *event);
/* Called just before the release. TRUE if the belief had ended before. at_ns: when the holder
 * stopped believing, for the record of the release: the process may be stopped before that. Frees
 * the belief. */
gboolean belief_end (Belief *belief, gint64 *at_ns);

/* Samples now. TRUE, with the time of the sample unless that is NULL, if the hold was still
 * provable. */
gboolean belief_look (Belief *belief, gint64 *at_ns);
