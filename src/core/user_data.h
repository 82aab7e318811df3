/* Frees what a program has given to the library together with a function. Any thread; no lock is
 * held. */
#pragma once

#include "base/guards.h"
#include "curator/types.h"

#include <glib.h>

/* Calls destroy (may be NULL), which is the program's: at once where its functions may run, else as
 * a callback of the client's. */
void curator_user_data_destroy (CuratorClient *client, GDestroyNotify destroy,
                                gpointer data) CURATOR_UNLOCKED;
