/* Threads that await the leadership of a candidate. */
#pragma once

#include "leader/candidate.h"

/* FALSE with TIMED_OUT, NOT_STARTED, CLOSED or G_IO_ERROR_CANCELLED. */
gboolean curator_leader_await (CuratorCandidate *candidate, gint64 timeout_ms,
                               GCancellable *cancellable, GError **error) CURATOR_UNLOCKED;
/* It leads, or never will because its owner is closed. */
void curator_leader_await_end (CuratorCandidate *candidate) CURATOR_LOCKED;
