/* Frees what a program has given to the library together with a function. Curator has no
 * counterpart.
 *
 * Threads: any; no lock is held.
 */
#include "core/user_data.h"

#include "base/fork_gate.h"
#include "base/thread_role.h"
#include "core/dispatch.h"
#include "core/monitor.h"

void
curator_user_data_destroy (CuratorClient *client, GDestroyNotify destroy, gpointer data)
{
  if (destroy == NULL)
    return;
  if (!curator_thread_role ().is_ours) {
    CURATOR_INSIDE_GATE;
    const guint depth = curator_gate_suspend ();
    destroy (data);
    curator_gate_resume (depth);
    return;
  }
  curator_client_lock (client);
  curator_dispatch_push (client, CURATOR_LANE_CALLS, NULL, data, destroy);
  curator_client_unlock (client);
}
