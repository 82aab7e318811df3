/* How late this machine is: a thread that sleeps in small steps notes by how much each was too
 * long. Any thread may call. */
#pragma once

#include <glib.h>

/* Starts the thread, once; it runs until the program's end. */
void metronome_start (void);
/* The sum of the delays of the steps that ended since then (CLOCK_MONOTONIC); -1 where there is no
 * such thread: before the start, and in a child after fork (). */
gint64 metronome_stalled_us (gint64 since_us);
