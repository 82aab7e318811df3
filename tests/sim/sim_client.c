/* Ties a client of the library to its process: the world steps its lanes.
 *
 * In a file of its own so that a test of the simulator alone does not link the library.
 */
#include "core/dispatch.h"
#include "sim-private.h"
#include "sim.h"

static gint64
ready_at (gpointer client, int lane)
{
  return curator_dispatch_ready_at (client, (CuratorLane) lane);
}

static gboolean
step (gpointer client, int lane)
{
  return curator_dispatch_step (client, (CuratorLane) lane);
}

void
sim_world_add_client (SimWorld *world, SimProcess *process, CuratorClient *client)
{
  static const SimLanes lanes = { ready_at, step };

  (void) world;
  G_STATIC_ASSERT (CURATOR_LANE_TIMERS == 0 && CURATOR_N_LANES == SIM_N_LANES);
  sim_process_set_client (process, &lanes, client);
}
