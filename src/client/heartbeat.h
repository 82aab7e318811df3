/* The quorum heartbeat of a session. Guarded by the client's mutex. */
#ifndef CURATOR_HEARTBEAT_H
#define CURATOR_HEARTBEAT_H

#include "client/lease_clock.h"

/* From now on the heartbeat looks after the stake; curator_stake_unregister() ends that. */
void curator_stake_register (CuratorStake *stake, CuratorSession *session,
                             gboolean held) CURATOR_LOCKED;
/* What from stood for, held or waiting, is held by to now. from may not be registered. */
void curator_stake_move (CuratorStake *from, CuratorStake *to,
                         CuratorSession *session) CURATOR_LOCKED;

void curator_heartbeat_connected (CuratorSession *session) CURATOR_LOCKED;
void curator_heartbeat_suspended (CuratorSession *session) CURATOR_LOCKED;
void curator_heartbeat_died (CuratorSession *session) CURATOR_LOCKED;

#endif
