/* The result of an inspection: filled by inspect.c, then constant: any thread, no lock.
 * curator_inspect_within () takes the client's mutex and waits. */
#pragma once

#include "base/guards.h"
#include "base/refs.h"
#include "core/async.h"
#include "curator/inspect.h"

struct _CuratorParticipant
{
  CuratorTag tag;
  CuratorParticipantKind kind;
  char *node_path; /* the user's path */
  gint64 number;
  gboolean is_readable;
  gint64 session_id;
  gint64 ctime_ms; /* by the server's clock */
  gint64 czxid;
  GBytes *data;
  gboolean is_holder;
  guint position;
};

struct _CuratorInspection
{
  CuratorTag tag;
  CuratorRefs refs;
  char *path;
  CuratorLockKind kind;
  GPtrArray *participants; /* CuratorParticipant, owned */
  guint n_holders;
  guint n_waiting;
  GPtrArray *foreign; /* names, NULL-terminated */
  gint64 next_number;
  guint64 digest; /* of the names of all its nodes: curator_grammar_digest() */
};

/* As curator_client_inspect(), within the limits of a longer call. path: the user's. */
CuratorInspection *curator_inspect_within (const CuratorLimits *limits, const char *path,
                                           GError **error) CURATOR_UNLOCKED;
