/* Judges the history of an epoch of chaos: violations, figures, and the effects that it shows. */
#pragma once

#include "chaos_faults.h"

/* Adds to the deletions by third parties for how long their holders may believe. Returns the number
 * of violations, which are printed. */
guint chaos_judge (GArray *events, ChaosScene *scene);
