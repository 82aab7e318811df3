/* A retry policy (RetryPolicy): a function and its data. Any thread; no lock.
 *
 * func has no clock and does not wait. Its retry_count and elapsed_ms are never negative.
 */
#pragma once

#include "base/refs.h"
#include "base/tag.h"
#include "curator/retry.h"

struct _CuratorRetryPolicy
{
  CuratorTag tag;
  CuratorRefs refs;
  /* Constant from here on. */
  gboolean is_builtin; /* func is the library's own and may run under the client's mutex */
  CuratorRetryFunc func;
  gpointer user_data;
  GDestroyNotify destroy;
};

/* A policy of the library's: func never calls the user. */
CuratorRetryPolicy *curator_retry_policy_new_builtin (CuratorRetryFunc func, gpointer user_data,
                                                      GDestroyNotify destroy);

/* For tests: makes the random numbers of an exponential policy repeatable. FALSE if it has none. */
gboolean curator_retry_policy_seed (CuratorRetryPolicy *policy, guint32 seed);
