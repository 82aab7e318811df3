#pragma once

#include <glib.h>

/* Takes a copy of the descriptor, which the command does not inherit. FALSE with errno, also if
 * nobody can write to it. */
gboolean status_open (int fd);
gboolean status_is_wanted (void);

/* Begins an event, to which json.h adds members; status_send() writes it if somebody wants it, and
 * frees it. */
GString *status_begin (const char *event);
void status_send (GString *event);
/* An event without members. */
void status_event (const char *event);

/* Tells, if it was not told yet, that the hold is in doubt, or proven again: before anything is done
 * about it. */
void status_note_hold (gboolean is_in_doubt, gint64 left_ms);

/* Why zkflock ends, if the exit code does not tell. The last one counts. Static. */
void status_set_verdict (const char *verdict);
/* How the command ended: its exit code, or the signal that ended it. */
void status_note_command (gboolean by_signal, int number);
/* The last event: the verdict of zkflock's own, the exit code, and how the command ended. Gives what
 * is still to be written, there and elsewhere, a short time. */
void status_finish (int exit_code);
