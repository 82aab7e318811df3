/* The thread that starts servers.
 *
 * The kernel kills a server when the thread that started it ends, also if the program is killed. A
 * test may start its server on a thread that ends sooner, so one thread, which ends with the
 * program, starts them all. */
#pragma once

#include <glib.h>

typedef void (*KeeperWork) (gpointer data);

/* FALSE in a child of fork(), where that thread is not. */
gboolean keeper_is_here (void);

/* Runs work on that thread and waits for its end; one at a time. Nothing but a critical message
 * where the thread is not. */
void keeper_run (KeeperWork work, gpointer data);
