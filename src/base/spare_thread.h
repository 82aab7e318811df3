/* A thread of the process that starts others as soon as the system has a thread for them. */
#pragma once

#include <glib.h>

/* While anybody holds it, it is there, or is tried for with each call here. */
void curator_spare_hold (void);
void curator_spare_drop (void);
/* FALSE: it is needed, but the system has no thread for it either. */
gboolean curator_spare_is_there (void);

/* Starts a detached thread of ours, now or as soon as the system has one. FALSE: not yet. */
gboolean curator_spare_start (const char *name, void *(*run) (void *data), void *data);
