/* SPDX-License-Identifier: Apache-2.0
 * Judges, after the event, whether an exclusive lock was exclusive.
 *
 * Holders report when each hold began and ended on one clock; the reports may arrive late and in any order. A hold
 * that begins before an earlier one has ended is an overlap. A fencing token that is not greater than that of the hold
 * before it is a token error. Knows nothing of ZooKeeper or of processes, so tests use it as well. Not thread-safe.
 */
#ifndef CURATOR_DEMO_HOLD_CHECK_H
#define CURATOR_DEMO_HOLD_CHECK_H

#include <glib.h>

typedef struct
{
  guint owner;        /* whatever number the user gives a contender */
  gint64 queued_ns;   /* acquire called */
  gint64 granted_ns;  /* acquire returned */
  gint64 released_ns; /* just before release was called */
  guint64 token;
} HoldRecord;

typedef struct
{
  guint overlaps;
  guint token_errors;
} HoldVerdict;

typedef struct _HoldCheck HoldCheck;

HoldCheck *hold_check_new (void);
void hold_check_free (HoldCheck *check);
void hold_check_add (HoldCheck *check, const HoldRecord *hold);
HoldVerdict hold_check_get_verdict (HoldCheck *check);

/* All holds by time of grant; owned by the check, valid until the next one is added. */
const HoldRecord *hold_check_get_holds (HoldCheck *check, guint *n_holds);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HoldCheck, hold_check_free)

#endif
