/* SPDX-License-Identifier: Apache-2.0 */
#include "hold_check.h"

struct _HoldCheck
{
  GArray *holds; /* of HoldRecord */
};

HoldCheck *
hold_check_new (void)
{
  HoldCheck *check = g_new0 (HoldCheck, 1);

  check->holds = g_array_new (FALSE, FALSE, sizeof (HoldRecord));
  return check;
}

void
hold_check_free (HoldCheck *check)
{
  g_array_unref (check->holds);
  g_free (check);
}

void
hold_check_add (HoldCheck *check, const HoldRecord *hold)
{
  g_array_append_val (check->holds, *hold);
}

static int
compare_grants (gconstpointer a, gconstpointer b)
{
  const HoldRecord *left = a;
  const HoldRecord *right = b;

  return (left->granted_ns > right->granted_ns) - (left->granted_ns < right->granted_ns);
}

const HoldRecord *
hold_check_get_holds (HoldCheck *check, guint *n_holds)
{
  g_array_sort (check->holds, compare_grants);
  *n_holds = check->holds->len;
  return (const HoldRecord *) (gconstpointer) check->holds->data;
}

HoldVerdict
hold_check_get_verdict (HoldCheck *check)
{
  HoldVerdict verdict = { 0, 0 };
  guint n;
  const HoldRecord *holds = hold_check_get_holds (check, &n);
  /* The latest end so far, not the last one: a long hold may outlast its successors. */
  gint64 free_from_ns = G_MININT64;

  for (guint i = 0; i < n; i++) {
    verdict.overlaps += holds[i].granted_ns < free_from_ns;
    verdict.token_errors += i > 0 && holds[i].token <= holds[i - 1].token;
    free_from_ns = MAX (free_from_ns, holds[i].released_ns);
  }
  return verdict;
}
