/* Recognizes lock nodes, and the recipe they belong to, by their names. Any thread; pure. */
#pragma once

#include "curator/inspect.h"
#include "lock/queue.h"
#include "lock/wire.h"

/* A CuratorQueueKeyFunc. kind: a CuratorParticipantKind other than OTHER, by GINT_TO_POINTER(); READ
 * stands for both nodes of a read-write lock. */
const char *curator_grammar_key (const char *name, gpointer kind);
gboolean curator_grammar_is_node (const char *name, CuratorParticipantKind kind);

/* The recipe that most of these children belong to. A semaphore has a child "leases". */
CuratorLockKind curator_grammar_kind (const char *const *children, gsize n);

/* Names as recipes of other libraries have them: ten digits of a sequence, or 32 of a UUID, at the
 * end. */
gboolean curator_grammar_may_queue (const char *name);
/* The number of such a name; 0 if it has none. */
gint64 curator_grammar_number_of (const char *name);

/* A number for a set of names, whatever their order; 0 for none. */
guint64 curator_grammar_digest (const GPtrArray *names);
