/* systemd's notification protocol; nothing happens without NOTIFY_SOCKET. */
#ifndef ZKFLOCK_NOTIFY_H
#define ZKFLOCK_NOTIFY_H

#include <glib.h>

gboolean notify_is_wanted (void);
/* Lines of NAME=value. */
void notify_send (const char *state);
/* From now on the manager hears that the main loop turns, if it wants to (WATCHDOG_USEC). */
void notify_watchdog (void);
void notify_status (const char *format, ...) G_GNUC_PRINTF (1, 2);

#endif
