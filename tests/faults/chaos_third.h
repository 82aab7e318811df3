/* Third parties of the chaos test: sessions that are no users of the locks, and delete the locks'
 * nodes, create others of the same names, take away permissions, and set quotas.
 *
 * Each deletion is recorded for the checker, by czxid and session. A node that stands in a
 * fixed-node lock's place is recorded as a hold of that lock: nobody else may be granted it. */
#pragma once

#include "chaos_kinds.h"

#define CHAOS_THIRD_KINDS                                                                          \
  (1U << CHAOS_KIND_DELETION | 1U << CHAOS_KIND_RECREATION | 1U << CHAOS_KIND_ACL                  \
   | 1U << CHAOS_KIND_QUOTA)

typedef struct _ChaosThird ChaosThird;

/* For an epoch, whose records are in that directory. */
ChaosThird *chaos_third_new (ChaosKinds *kinds, guint32 seed, const char *connect_string,
                             const char *directory);
/* How many of its nodes others have deleted long after the node was theirs. */
guint chaos_third_free (ChaosThird *third);

/* One disturbance of that kind, if the servers answer. */
void chaos_third_disturb (ChaosThird *third, ChaosKind kind);
/* Restores permissions and quotas, and removes its nodes; some may stay if not all. FALSE if that
 * did not succeed in time. */
gboolean chaos_third_heal (ChaosThird *third, gboolean all, int timeout_ms);
