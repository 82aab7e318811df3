/* The callbacks of a client that wait for the program's GMainContext.
 *
 * Guarded by the client's mutex. The context runs them in order; close runs what is left.
 */
#pragma once

#include "base/guards.h"
#include "core/task.h"
#include "curator/client.h"

typedef struct
{
  GQueue queued; /* that nobody has begun to run */
  guint n_left;  /* that have not ended */
} CuratorTurns;

/* Takes task. */
void curator_turns_push (CuratorClient *client, CuratorTask *task) CURATOR_LOCKED;
/* Whether close waits for one: not in a callback of the context. */
gboolean curator_turns_left (CuratorClient *client) CURATOR_LOCKED;
/* Runs those that are queued, with the mutex unlocked, if this thread owns the context or can have
 * it. FALSE: there is nothing to do here. */
gboolean curator_turns_run (CuratorClient *client) CURATOR_LOCKED;
