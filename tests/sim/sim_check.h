/* Checks the beliefs of lock holders: do those overlap that must not, and do the tokens rise?
 *
 * A belief begins when an acquire returns. It ends when release is called, the lease is lost, the
 * process dies, or a server kills the session, whichever is first. The lease is queried when
 * another belief begins. Called with the baton.
 */
#pragma once

#include "sim.h"

typedef struct _SimCheck SimCheck;

/* FALSE as soon as the holder could know that its hold is over. */
typedef gboolean (*SimStillHeld) (gpointer lease);

SimCheck *sim_check_new (SimWorld *world, const char *name, SimStillHeld still_held);
void sim_check_free (SimCheck *check);
typedef enum
{
  SIM_HOLD_ALONE,     /* exclusive */
  SIM_HOLD_READ,      /* with other readers */
  SIM_HOLD_DOWNGRADE, /* with other readers and the holder's own write hold */
  SIM_HOLD_PERMIT     /* with others, up to the limit */
} SimHoldKind;

typedef struct
{
  SimProcess *process;
  const char *who; /* not copied */
  gpointer lease;
  SimHoldKind kind;
  guint64 token; /* 0: not known */
  guint limit;
  gint64 called_at; /* 0: not known */
} SimGrant;

/* Returns what sim_check_released() ends. */
typedef struct _SimBelief SimBelief;
SimBelief *sim_check_granted (SimCheck *check, const SimGrant *grant);
/* A third party has deleted the node with that token. Its holder need not know for patience_us. */
void sim_check_node_deleted (SimCheck *check, guint64 token, gint64 patience_us);
/* From now on the holder has to know. */
void sim_check_expect_known (SimCheck *check, guint64 token);
void sim_check_released (SimCheck *check, SimBelief *belief);
/* Beliefs that have not ended. */
guint sim_check_n_holders (SimCheck *check);
