/* The inside of a retry policy: a function, and what it works on.
 *
 * Pure: no clock, no waiting. retry_count and elapsed_ms arrive checked, never negative.
 */
#ifndef CURATOR_RETRY_POLICY_H
#define CURATOR_RETRY_POLICY_H

#include "curator/retry.h"
#include "refs.h"

struct _CuratorRetryPolicy
{
  CuratorRefs ref_count;
  /* Constant from here on. */
  CuratorRetryFunc func;
  gpointer user_data;
  GDestroyNotify destroy;
};

/* For tests: makes the random numbers of an exponential policy repeatable. FALSE if it has none. */
gboolean curator_retry_policy_seed (CuratorRetryPolicy *policy, guint32 seed);

#endif
