/* SPDX-License-Identifier: Apache-2.0 */
#include "hold_check.h"

#include "support/suite.h"

static void
add (HoldCheck *check, gint64 granted_ns, gint64 released_ns, guint64 token)
{
  HoldRecord hold = { .granted_ns = granted_ns, .released_ns = released_ns, .token = token };

  hold_check_add (check, &hold);
}

TEST (no_holds_are_no_violation)
{
  g_autoptr (HoldCheck) check = hold_check_new ();
  HoldVerdict verdict = hold_check_get_verdict (check);

  assert_int_equal (verdict.overlaps, 0);
  assert_int_equal (verdict.token_errors, 0);
}

TEST (holds_may_touch_and_come_late)
{
  g_autoptr (HoldCheck) check = hold_check_new ();
  guint n;

  add (check, 30, 40, 7);
  add (check, 10, 20, 5);
  add (check, 20, 30, 6);
  HoldVerdict verdict = hold_check_get_verdict (check);
  const HoldRecord *holds = hold_check_get_holds (check, &n);

  assert_int_equal (verdict.overlaps, 0);
  assert_int_equal (verdict.token_errors, 0);
  assert_int_equal (n, 3);
  assert_int_equal (holds[0].token, 5);
  assert_int_equal (holds[2].token, 7);
}

TEST (an_overlap_by_a_nanosecond_counts)
{
  g_autoptr (HoldCheck) check = hold_check_new ();

  add (check, 10, 20, 1);
  add (check, 19, 30, 2);
  assert_int_equal (hold_check_get_verdict (check).overlaps, 1);
}

TEST (a_long_hold_overlaps_all_within_it)
{
  g_autoptr (HoldCheck) check = hold_check_new ();

  add (check, 20, 21, 2);
  add (check, 30, 31, 3);
  assert_int_equal (hold_check_get_verdict (check).overlaps, 0);
  add (check, 10, 100, 1);
  assert_int_equal (hold_check_get_verdict (check).overlaps, 2);
}

TEST (tokens_must_rise)
{
  g_autoptr (HoldCheck) check = hold_check_new ();

  add (check, 10, 11, 5);
  add (check, 20, 21, 5);
  add (check, 30, 31, 4);
  add (check, 40, 41, 6);
  assert_int_equal (hold_check_get_verdict (check).token_errors, 2);
}

SUITE ("hold check", NULL, NULL)
