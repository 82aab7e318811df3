#pragma once

#include <glib.h>
#include <signal.h>

typedef void (*SignalHandler) (int signal, gpointer data);

/* Blocks the handled signals; call it before any thread exists. A signal that was ignored at the
 * start (nohup) stays ignored. */
void signals_block (void);
/* Restores the signal mask from the start of the program; for a child, right before exec. */
void signals_restore (void);
/* From now on the main loop delivers signals, those pending included. */
gboolean signals_start (void);
/* As process 1, all ended children are reaped but these. */
void signals_keep_children (pid_t first, pid_t second);
/* Sets the only handler; NULL drops signals. */
void signals_set_handler (SignalHandler handler, gpointer data);

/* Whether the signal is TERM, INT, HUP or QUIT. */
gboolean signal_stops (int signal);
/* A handler: sets the gboolean that data points to when a signal stops. */
void signals_note_stop (int signal, gpointer data);
