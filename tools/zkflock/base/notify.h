#pragma once

#include <glib.h>

gboolean notify_is_wanted (void);
/* Before outlets_start (). */
void notify_open (void);
/* state: lines of NAME=value. */
void notify_send (const char *state);
/* Sends watchdog heartbeats from the main loop if the service manager asks for them
 * (WATCHDOG_USEC). */
void notify_watchdog (void);
void notify_status (const char *format, ...) G_GNUC_PRINTF (1, 2);
