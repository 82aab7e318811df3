/* Looking at locks from outside: who holds, who waits, since when, and what is wrong with a path.
 *
 * For tools and health checks; nothing here takes part in a lock or writes to the server. A look is
 * a snapshot made of several reads: what it shows may have changed meanwhile, and a server that lags
 * behind shows the past. Curator has getParticipantNodes() and no more.
 *
 * What others wrote is untrusted: names and payloads may hold any byte. Show them with
 * curator_escape_name(). All functions are thread-safe; those that take a client wait for the server
 * as its retry policy says.
 */
#ifndef CURATOR_INSPECT_H
#define CURATOR_INSPECT_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Which recipe the children of a path belong to. Values may be added. */
typedef enum
{
  /** No lock node is there: the lock is free, or the path is none. */
  CURATOR_LOCK_KIND_NONE,
  /** InterProcessMutex. */
  CURATOR_LOCK_KIND_MUTEX,
  /** InterProcessReadWriteLock. */
  CURATOR_LOCK_KIND_READ_WRITE,
  /** InterProcessSemaphoreV2 and InterProcessSemaphoreMutex. */
  CURATOR_LOCK_KIND_SEMAPHORE
} CuratorLockKind;

/** What one lock node is for. Values may be added. */
typedef enum
{
  /** Of a mutex. */
  CURATOR_PARTICIPANT_MUTEX,
  /** A reader of a read-write lock. */
  CURATOR_PARTICIPANT_READ,
  /** A writer of a read-write lock. */
  CURATOR_PARTICIPANT_WRITE,
  /** A lease of a semaphore. */
  CURATOR_PARTICIPANT_LEASE,
  /** A contender that queues for its turn to take leases of a semaphore. */
  CURATOR_PARTICIPANT_TURN
} CuratorParticipantKind;

/** One look at one lock path. Immutable. */
typedef struct _CuratorInspection CuratorInspection;
/** One lock node, as it was at that look. Belongs to its inspection. */
typedef struct _CuratorParticipant CuratorParticipant;

/** Looks at the lock at @p path. A path that does not exist is of kind NONE and has no
 *  participants.
 *  @param path  absolute, without namespace
 *  @return a new inspection; NULL with INVALID_ARGUMENT, CONNECTION_LOST ..., #CURATOR_ZK_ERROR */
CURATOR_API
CuratorInspection *curator_inspect (CuratorClient *client, const char *path, GError **error);

/** Paths of the locks that are held or waited for at or below a path, in byte order. A lock that
 *  nobody wants has no nodes and is not found.
 *  @param path       absolute; "/" for all
 *  @param max_nodes  how many nodes to list at most; 0 for 100000
 *  @param complete   out, may be NULL: FALSE if that was not enough, or a node could not be read
 *  @return a NULL-terminated array for g_strfreev(); NULL with an error */
CURATOR_API
char **curator_find_locks (CuratorClient *client, const char *path, guint max_nodes,
                           gboolean *complete, GError **error);

/** The path looked at. Owned by the inspection. */
CURATOR_API
const char *curator_inspection_get_path (const CuratorInspection *inspection);

/** The recipe that most of the lock nodes belong to. */
CURATOR_API
CuratorLockKind curator_inspection_get_kind (const CuratorInspection *inspection);

/** Name of a kind: "none", "mutex", "read-write", "semaphore"; "unknown" for others. Static. */
CURATOR_API
const char *curator_lock_kind_to_string (CuratorLockKind kind);

/** How many participants hold. */
CURATOR_API
guint curator_inspection_get_n_holders (const CuratorInspection *inspection);

/** How many contenders wait. A contender for a semaphore counts once. */
CURATOR_API
guint curator_inspection_get_n_waiting (const CuratorInspection *inspection);

/** How many participants there are. */
CURATOR_API
guint curator_inspection_get_n_participants (const CuratorInspection *inspection);

/** A participant, holders first, then those who wait, in the order of their turns.
 *  @param i  from 0
 *  @return borrowed; NULL beyond the end */
CURATOR_API
const CuratorParticipant *curator_inspection_get_participant (const CuratorInspection *inspection,
                                                              guint i);

/** Names of children that are not nodes of the lock's recipe. This library ignores them; programs
 *  on Java Curator may wait for them for ever. Of a path of kind NONE: all its children.
 *  @return borrowed, NULL-terminated */
CURATOR_API
const char *const *curator_inspection_get_foreign_children (const CuratorInspection *inspection);

/** The number that the next node will get, of a semaphore the larger of its two. */
CURATOR_API
gint64 curator_inspection_get_next_number (const CuratorInspection *inspection);

/** The part of the counter that is used up, 0 to 1. At 1 nothing can be acquired until the path is
 *  deleted and made anew: see #CURATOR_ERROR_SEQUENCE_EXHAUSTED. */
CURATOR_API
double curator_inspection_get_counter_used (const CuratorInspection *inspection);

/** Adds a reference and returns @p inspection. */
CURATOR_API
CuratorInspection *curator_inspection_ref (CuratorInspection *inspection);

/** Drops a reference; the last one frees, participants included. */
CURATOR_API
void curator_inspection_unref (CuratorInspection *inspection);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorInspection, curator_inspection_unref)

/** What the node is for. */
CURATOR_API
CuratorParticipantKind curator_participant_get_kind (const CuratorParticipant *participant);

/** Name of a kind: "mutex", "read", "write", "lease", "turn"; "unknown" for others. Static. */
CURATOR_API
const char *curator_participant_kind_to_string (CuratorParticipantKind kind);

/** Whether it holds. The lease that a contender of a semaphore has made but may not have yet does
 *  not count. */
CURATOR_API
gboolean curator_participant_is_holder (const CuratorParticipant *participant);

/** Place among those who wait, from 1; 0 for a holder. */
CURATOR_API
guint curator_participant_get_position (const CuratorParticipant *participant);

/** Full path of the node, without namespace. Borrowed. */
CURATOR_API
const char *curator_participant_get_node_path (const CuratorParticipant *participant);

/** Id of the session that owns the node; 0 if none does, so that only a person can delete it. */
CURATOR_API
gint64 curator_participant_get_session_id (const CuratorParticipant *participant);

/** Whether its payload and figures could be read; without READ permission they are empty. */
CURATOR_API
gboolean curator_participant_is_readable (const CuratorParticipant *participant);

/** Milliseconds since the node was created, by the server's clock then and ours now; never
 *  negative. For a holder: since it began to queue, not since it was granted. */
CURATOR_API
gint64 curator_participant_get_age_ms (const CuratorParticipant *participant);

/** The node's czxid: a holder's fencing token. */
CURATOR_API
guint64 curator_participant_get_token (const CuratorParticipant *participant);

/** The number that the server gave the node. */
CURATOR_API
gint64 curator_participant_get_number (const CuratorParticipant *participant);

/** The payload; what people call the label. Borrowed, never NULL. */
CURATOR_API
GBytes *curator_participant_get_data (const CuratorParticipant *participant);

/** Bytes from a server, for people: whatever is not printable UTF-8, and the backslash, becomes
 *  \\xNN, so that the result has no newline and no escape sequence.
 *  @param bytes   may be NULL if @p length is 0
 *  @param length  -1 for a NUL-terminated string
 *  @return a new string */
CURATOR_API
char *curator_escape_name (const char *bytes, gssize length);

G_END_DECLS

#endif
