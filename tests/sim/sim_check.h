/* A small check of the beliefs of lock holders: at most one at a time, with rising tokens.
 *
 * A belief begins when an acquire returns and ends with the first of: release is called, the lease
 * says that it is over, the process dies, a server ends its session by force. What the lease says is asked at the moment when somebody
 * else begins to believe. Called with the baton.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "sim.h"

typedef struct _SimCheck SimCheck;

/* FALSE once the holder itself could know that its hold is over. */
typedef gboolean (*SimStillHeld) (gpointer lease);

SimCheck *sim_check_new (SimWorld *world, const char *name, SimStillHeld still_held);
void sim_check_free (SimCheck *check);
/* Returns a number for sim_check_released(). */
guint sim_check_granted (SimCheck *check, SimProcess *process, const char *who, gpointer lease,
                         guint64 token);
void sim_check_released (SimCheck *check, guint belief);
guint sim_check_n_grants (SimCheck *check);
/* Beliefs not released yet that still hold. */
guint sim_check_n_holders (SimCheck *check);

#endif
