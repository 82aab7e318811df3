/* Waiting for others to let go, by looking again and again. */
#pragma once

#include "base/options.h"

#include <curator/curator.h>

/* Whether what is waited for has come. */
typedef gboolean (*WaitCondition) (CuratorClient *client, CuratorInspection *inspection,
                                   gpointer data);

/* Waits until the condition holds of the first path. Returns 0, or the exit code after printing
 * why; after options->wait_ms that of a conflict. */
int wait_until (const Options *options, CuratorClient *client, WaitCondition condition,
                gpointer data);
