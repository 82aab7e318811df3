#include "timeline.h"

#include "base/lease_math.h"
#include "base/moments.h"

#define KILL_AFTER_MS 2000

gint64
timeline_proven_ms (gint64 session_ms)
{
  const CuratorLeaseTerms terms = curator_lease_terms ((int) session_ms, 0, 0);
  const CuratorLeaseEvidence evidence = { .proof_us = terms.session_us,
                                          .known_us = terms.session_us };

  return (curator_lease_deadline (&evidence, &terms) - evidence.proof_us) / 1000;
}

static gint64
suspect_ms (gint64 session_ms)
{
  const CuratorLeaseTerms terms = curator_lease_terms ((int) session_ms, 0, 0);
  const CuratorLeaseEvidence evidence = { .proof_us = terms.session_us };

  return curator_lease_until_suspect (&evidence, &terms, evidence.proof_us) / 1000;
}

Timeline
timeline_of (int session_seconds)
{
  const gint64 session_ms = (gint64) session_seconds * 1000;
  const gint64 end_ms = timeline_proven_ms (session_ms);
  const gint64 beat_ms = curator_lease_terms ((int) session_ms, 0, 0).period_us / 1000;
  const Moments moments = moments_of (session_ms, KILL_AFTER_MS, end_ms);

  return (Timeline){ .session_ms = session_ms,
                     .doubt_ms = MIN (end_ms - moments.doubt, suspect_ms (session_ms)),
                     .term_ms = end_ms - moments.term,
                     .kill_ms = end_ms - moments.kill,
                     .end_ms = end_ms,
                     .grant_ms = session_ms,
                     .beat_ms = beat_ms,
                     .survived_ms = end_ms - moments.term - beat_ms };
}
