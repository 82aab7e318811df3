/* Which children of a path are nodes of which recipe. Pure. */
#ifndef CURATOR_GRAMMAR_H
#define CURATOR_GRAMMAR_H

#include "curator/inspect.h"
#include "lock/queue.h"
#include "lock/wire.h"

/* CuratorQueueKeyFunc of each recipe; user_data is not used. */
const char *curator_grammar_mutex_key (const char *name, gpointer user_data);
const char *curator_grammar_rw_key (const char *name, gpointer user_data);
const char *curator_grammar_lease_key (const char *name, gpointer user_data);

gboolean curator_grammar_is_writer (const char *name);

/* The recipe that most of these children belong to. A semaphore is known by its child "leases",
 * which may be empty. */
CuratorLockKind curator_grammar_kind (const char *const *children, gsize n);
/* How many of them are nodes that key accepts. */
gsize curator_grammar_count (const char *const *children, gsize n, CuratorQueueKeyFunc key);

#endif
