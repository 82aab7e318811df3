/* A retry policy. Each built-in policy is a custom one with a function of ours.
 *
 * Mirrors RetryPolicy. Threads: any; no lock: a policy is constant, its reference count atomic.
 */
#include "retry/retry_policy.h"
#include "base/tag.h"

CuratorRetryPolicy *
curator_retry_policy_new_builtin (CuratorRetryFunc func, gpointer user_data, GDestroyNotify destroy)
{
  CuratorRetryPolicy *policy = g_new0 (CuratorRetryPolicy, 1);

  policy->tag = CURATOR_TAG_RETRY_POLICY;
  curator_refs_init (&policy->refs);
  policy->func = func;
  policy->user_data = user_data;
  policy->destroy = destroy;
  policy->is_builtin = TRUE;
  return policy;
}

CuratorRetryPolicy *
curator_retry_policy_new_custom (CuratorRetryFunc func, gpointer user_data, GDestroyNotify destroy)
{
  g_return_val_if_fail (func != NULL, NULL);
  CuratorRetryPolicy *policy = curator_retry_policy_new_builtin (func, user_data, destroy);

  policy->is_builtin = FALSE;
  return policy;
}

gboolean
curator_retry_policy_allow_retry (CuratorRetryPolicy *policy, guint retry_count, gint64 elapsed_ms,
                                  const GError *error, gint64 *sleep_ms)
{
  g_return_val_if_fail (CURATOR_IS_RETRY_POLICY (policy), FALSE);

  gint64 sleep = 0;
  gboolean allowed =
      policy->func (retry_count, MAX (elapsed_ms, 0), error, &sleep, policy->user_data);

  if (sleep_ms != NULL)
    *sleep_ms = MAX (sleep, 0);
  return allowed ? TRUE : FALSE;
}

CURATOR_REF_FUNC (curator_retry_policy_ref, CuratorRetryPolicy, RETRY_POLICY)

void
curator_retry_policy_unref (CuratorRetryPolicy *policy)
{
  g_return_if_fail (CURATOR_IS_RETRY_POLICY (policy));
  if (curator_refs_dec (&policy->refs)) {
    if (policy->destroy != NULL)
      policy->destroy (policy->user_data);
    curator_tag_clear (policy);
    g_free (policy);
  }
}
