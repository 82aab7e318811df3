#pragma once

#include "base/options.h"

#include <curator/curator.h>

/* Runs once, in the main loop. conflict: what is used there, and what to do about it; NULL if there
 * is nothing. error: why it is not known, else NULL. Both are borrowed. */
typedef void (*KindsDone) (const char *conflict, const GError *error, gpointer data);

/* Looks at all paths of the options. options and data must outlive it; done does
 * not run once cancellable is cancelled. is_waiting: also finds a zkflock around this one that
 * holds the lock, so that the wait would never end. Behind done, it compares the counts of a
 * semaphore. */
void kinds_look (const Options *options, CuratorClient *client, gboolean is_waiting,
                 GCancellable *cancellable, KindsDone done, gpointer data);

/* A look that was cancelled, or is only about counts, ends soon. */
gboolean kinds_is_looking (void);

/* Says once that others have come to the semaphore with another count than the options have. */
void kinds_compare_counts (const Options *options, const CuratorInspection *lock);
