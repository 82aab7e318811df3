/* The machine of a process sleeps: see machine_sleep.c. */
#ifndef CURATOR_TEST_MACHINE_SLEEP_H
#define CURATOR_TEST_MACHINE_SLEEP_H

#include <glib.h>

/* From now on the process's clock lags by the number in that file: see chaos_slept_open(). */
gboolean machine_sleep_begin (const char *path);

#endif
