/* When the heartbeats of a session are due. Guarded by the client's mutex. */
#pragma once

#include "session/lease_clock.h"

/* All times by CLOCK_BOOTTIME. */
/* When the stake, which has just joined its queue, needs the next one. */
gint64 curator_beat_due_us (const CuratorSession *session,
                            const CuratorStake *stake) CURATOR_LOCKED;
/* When the session needs the next one; G_MAXINT64 if nothing does. */
gint64 curator_beat_next_due_us (const CuratorSession *session) CURATOR_LOCKED;

/* Before the stake joins the far ones: the first brings a moment of its own along. */
void curator_beat_note_far (CuratorSession *session, const CuratorStake *stake) CURATOR_LOCKED;
/* Far ones are checked by the heartbeat that is being sent; is_all: there was space for all. */
void curator_beat_note_far_sent (CuratorSession *session, gboolean is_all) CURATOR_LOCKED;
/* What has become due while there was no connection is due at any moment of a session timeout. */
void curator_beat_spread_far (CuratorSession *session) CURATOR_LOCKED;
