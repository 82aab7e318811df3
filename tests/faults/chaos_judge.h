/* Judges the history of an epoch of chaos: violations, figures, and the effects that it shows. */
#ifndef CURATOR_TEST_CHAOS_JUDGE_H
#define CURATOR_TEST_CHAOS_JUDGE_H

#include "chaos_faults.h"

/* Adds to the deletions by third parties for how long their holders may believe. Returns the number
 * of violations, which are printed. */
guint chaos_judge (GArray *events, ChaosScene *scene);

#endif
