#ifndef ZKFLOCK_ERRANDS_H
#define ZKFLOCK_ERRANDS_H

#include <glib.h>

typedef void (*Errand) (gpointer data);

/* Starts the thread. FALSE with errno: none can be started. */
gboolean errands_start (void);
/* Runs run on that thread, after the errands before it, and then done in the main loop. One that may take
 * long must end soon when it is cancelled. */
void errands_run (Errand run, Errand done, gpointer data);

#endif
