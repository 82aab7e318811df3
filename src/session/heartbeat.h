/* The quorum heartbeat of a session. Guarded by the client's mutex. */
#pragma once

#include "session/lease_clock.h"

/* The heartbeat checks the stake's node until curator_stake_unregister(). */
void curator_stake_register (CuratorStake *stake, CuratorSession *session,
                             CuratorStakeKind kind) CURATOR_LOCKED;
/* A waiting stake has moved up or back in its queue. Harmless when it is held or not registered. */
void curator_stake_set_near (CuratorStake *stake, gboolean near) CURATOR_LOCKED;
/* Replaces from, held or waiting, by to, which is held. from need not be registered. */
void curator_stake_move (CuratorStake *from, CuratorStake *to,
                         CuratorSession *session) CURATOR_LOCKED;

/* A server has answered a ping of the library, sent at sent_us or later. */
void curator_heartbeat_pinged (CuratorSession *session, gint64 sent_us,
                               gint64 answered_us) CURATOR_LOCKED;
void curator_heartbeat_connected (CuratorSession *session) CURATOR_LOCKED;
void curator_heartbeat_suspended (CuratorSession *session) CURATOR_LOCKED;
void curator_heartbeat_died (CuratorSession *session) CURATOR_LOCKED;
