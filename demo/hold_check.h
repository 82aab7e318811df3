/* SPDX-License-Identifier: Apache-2.0
 * Checks afterwards whether an exclusive lock was exclusive.
 *
 * Holders report the beginning and the end of each hold, on one clock; reports may arrive late and
 * in any order. A hold that begins before an earlier one has ended is an overlap. A fencing token
 * that is not greater than that of the previous hold is a token error. Independent of ZooKeeper and
 * of processes, so tests use it too. Not thread-safe.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint owner;        /* a number that the caller gives each contender */
  gint64 queued_ns;   /* when acquire was called */
  gint64 granted_ns;  /* when acquire returned */
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

/* All holds in the order of their grants. Owned by the check, valid until the next hold is
 * added. */
const HoldRecord *hold_check_get_holds (HoldCheck *check, guint *n_holds);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HoldCheck, hold_check_free)
