/* Disturbances of the chaos test that change servers: their configuration, their list, their disks.
 */
#pragma once

#include "chaos_faults.h"

/* Starts an ensemble as the chosen kinds need it, at random where they leave a choice. */
gboolean chaos_servers_start (ChaosScene *scene);

/* Restarts each member with another tick and another maxSessionTimeout. */
gboolean chaos_servers_roll (ChaosScene *scene);
/* A member that is not the leader leaves the ensemble and joins it again. */
gboolean chaos_servers_reconfig (ChaosScene *scene);
/* Its disk was full. */
gboolean chaos_servers_free_disk (ChaosScene *scene, int member);

/* Asks the servers which session has which timeout, and counts those that have another one. */
void chaos_servers_note_sessions (ChaosScene *scene);

/* From now on mounts of this process are its own. FALSE if it must not mount. */
gboolean chaos_servers_may_mount (void);
