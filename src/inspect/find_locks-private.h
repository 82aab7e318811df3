/* Finds locks, and shows which of them have changed. Any thread; takes the client's mutex. */
#pragma once

#include "base/guards.h"
#include "core/async.h"
#include "curator/inspect.h"

/* As curator_client_find_locks(). digests, if not NULL, receives for each full path that was listed
 * a guint64: curator_grammar_digest() of its children. keeps: the walk is one of many; unchanged
 * nodes are watched and not listed again. */
char **curator_find_locks_digests (const CuratorLimits *limits, const char *path, guint max_nodes,
                                   GHashTable *digests, gboolean keeps, gboolean *complete,
                                   GError **error) CURATOR_UNLOCKED;
