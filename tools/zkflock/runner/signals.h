/* Signals as events of the main loop: blocked from the first moment, so that none is ever missed. */
#ifndef ZKFLOCK_SIGNALS_H
#define ZKFLOCK_SIGNALS_H

#include <glib.h>
#include <signal.h>

typedef void (*SignalHandler) (int signal, gpointer data);

/* Blocks what is handled here, before any thread exists. A stop signal that whoever started us has
 * ignored (nohup) stays so. */
void signals_block (void);
/* In a child, right before exec: what was blocked when the program started. */
void signals_restore (void);
/* From now on signals are delivered in the main loop; those that came before, too. */
gboolean signals_start (void);
/* Whose they are. */
void signals_set_handler (SignalHandler handler, gpointer data);

/* TERM, INT, HUP or QUIT. */
gboolean signal_stops (int signal);

#endif
