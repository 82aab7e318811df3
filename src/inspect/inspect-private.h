/* Inspects one lock within the limits of a longer call. Any thread; takes the client's mutex. */
#pragma once

#include "base/guards.h"
#include "core/async.h"
#include "curator/inspect.h"

/* As curator_client_inspect(). path: the user's. */
CuratorInspection *curator_inspect_within (const CuratorLimits *limits, const char *path,
                                           GError **error) CURATOR_UNLOCKED;
