/* The quorum heartbeat of a session. Guarded by the client's mutex. */
#ifndef CURATOR_HEARTBEAT_H
#define CURATOR_HEARTBEAT_H

#include "client/lease_clock.h"

/* @locks client mutex required, all of them. */
/* From now on the heartbeat looks after the stake; curator_stake_unregister() ends that. */
void curator_stake_register (CuratorStake *stake, CuratorSession *session, gboolean held);

void curator_heartbeat_connected (CuratorSession *session);
void curator_heartbeat_suspended (CuratorSession *session);
void curator_heartbeat_died (CuratorSession *session);

#endif
