/* Counts and traces (TracerDriver). */
#pragma once

#include "core/client-record.h"
#include "curator/stats.h"

void curator_count (CuratorClient *client, CuratorCounter counter, guint64 n) CURATOR_LOCKED;
void curator_count_duration (CuratorClient *client, CuratorDuration kind,
                             gint64 duration_us) CURATOR_LOCKED;
/* One more or one less of the attempts that found another contender ahead. */
void curator_count_waiting (CuratorClient *client, int change) CURATOR_LOCKED;
extern const CuratorScale curator_duration_scales[CURATOR_N_DURATIONS];
/* path: the full path. Does nothing without a trace function. */
void curator_trace (CuratorClient *client, CuratorTraceKind kind, const char *path,
                    gint64 duration_us, gint64 session_id) CURATOR_LOCKED;
