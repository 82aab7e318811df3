/* Recognizes lock nodes, and the recipe they belong to, by their names. Any thread; pure. */
#pragma once

#include "curator/inspect.h"
#include "lock/queue.h"
#include "lock/wire.h"

/* The CuratorQueueKeyFunc of each recipe; user_data is not used. */
const char *curator_grammar_mutex_key (const char *name, gpointer user_data);
const char *curator_grammar_rw_key (const char *name, gpointer user_data);
const char *curator_grammar_latch_key (const char *name, gpointer user_data);
const char *curator_grammar_lease_key (const char *name, gpointer user_data);

gboolean curator_grammar_is_writer (const char *name);

/* The recipe that most of these children belong to. A semaphore has a child "leases". */
CuratorLockKind curator_grammar_kind (const char *const *children, gsize n);
/* The number of children that are nodes of the recipe with that key. */
gsize curator_grammar_count (const char *const *children, gsize n, CuratorQueueKeyFunc key);

/* Names as recipes of other libraries have them: ten digits of a sequence, or 32 of a UUID, at the
 * end. */
gboolean curator_grammar_may_queue (const char *name);
/* The number of such a name; 0 if it has none. */
gint64 curator_grammar_number_of (const char *name);

/* A number for a set of names, whatever their order; 0 for none. */
guint64 curator_grammar_digest (const GPtrArray *names);
