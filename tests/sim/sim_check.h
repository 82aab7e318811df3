/* A small check of the beliefs of lock holders: whom may they meet, and do the tokens rise?
 *
 * A belief begins when an acquire returns and ends with the first of: release is called, the lease
 * says that it is over, the process dies, a server ends its session by force. What the lease says is
 * asked at the moment when somebody else begins to believe. Called with the baton.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "sim.h"

typedef struct _SimCheck SimCheck;

/* FALSE once the holder itself could know that its hold is over. */
typedef gboolean (*SimStillHeld) (gpointer lease);

SimCheck *sim_check_new (SimWorld *world, const char *name, SimStillHeld still_held);
void sim_check_free (SimCheck *check);
typedef enum
{
  SIM_HOLD_ALONE,     /* with nobody else */
  SIM_HOLD_READ,      /* with other readers */
  SIM_HOLD_DOWNGRADE, /* the same, and with the holder's own write hold */
  SIM_HOLD_PERMIT     /* with so many others that there are at most limit */
} SimHoldKind;

typedef struct
{
  SimProcess *process;
  const char *who;
  gpointer lease;
  SimHoldKind kind;
  guint64 token; /* 0: not known */
  guint limit;
} SimGrant;

/* Returns a number for sim_check_released(). */
guint sim_check_granted (SimCheck *check, const SimGrant *grant);
void sim_check_released (SimCheck *check, guint belief);
guint sim_check_n_grants (SimCheck *check);
/* Beliefs not released yet that still hold. */
guint sim_check_n_holders (SimCheck *check);

#endif
