/* Inspects locks from outside: who holds, who waits, since when, and what is wrong with a path.
 *
 * For tools and health checks. Nothing here joins a lock's queue, and only
 * curator_client_delete_ownerless() writes to the server. An inspection combines several reads, so
 * parts of it may be out of date, more so if the server lags behind. Curator has only
 * getParticipantNodes() for this; the functions have no Java counterpart.
 *
 * Names and payloads from the server are untrusted and may hold any byte; print them with
 * curator_escape_name(). All functions are thread-safe. Those that take a client ask the server
 * under its retry policy, and wait for it unless their name ends in _then; without an answer in
 * time they fail with NO_ANSWER or CONNECTION_LOST, cancelled with G_IO_ERROR_CANCELLED.
 */
#ifndef CURATOR_INSPECT_H
#define CURATOR_INSPECT_H

#include <curator/types.h>
#include <curator/visibility.h>

#include <gio/gio.h>

G_BEGIN_DECLS

/** Which recipe the children of a path belong to. Values may be added. */
typedef enum
{
  /** There is no lock node: the lock is free, or the path is not a lock. */
  CURATOR_LOCK_KIND_NONE,
  /** InterProcessMutex. */
  CURATOR_LOCK_KIND_MUTEX,
  /** InterProcessReadWriteLock. */
  CURATOR_LOCK_KIND_READ_WRITE,
  /** InterProcessSemaphoreV2 and InterProcessSemaphoreMutex. */
  CURATOR_LOCK_KIND_SEMAPHORE,
  /** LeaderLatch. A LeaderSelector is a mutex. */
  CURATOR_LOCK_KIND_LEADER_LATCH,
  /** None of these, but in use: sessions own children that end in ten digits, or in the 32 of a
   *  UUID, as the recipes of other libraries name theirs. All participants are OTHER. */
  CURATOR_LOCK_KIND_OTHER
} CuratorLockKind;

/** What one lock node is for. Values may be added. */
typedef enum
{
  /** Of a mutex. */
  CURATOR_PARTICIPANT_KIND_MUTEX,
  /** A reader of a read-write lock. */
  CURATOR_PARTICIPANT_KIND_READ,
  /** A writer of a read-write lock. */
  CURATOR_PARTICIPANT_KIND_WRITE,
  /** A lease of a semaphore. */
  CURATOR_PARTICIPANT_KIND_LEASE,
  /** A contender that queues for its turn to take leases of a semaphore. */
  CURATOR_PARTICIPANT_KIND_TURN,
  /** A candidate of a leader latch; its payload is its id. */
  CURATOR_PARTICIPANT_KIND_LATCH,
  /** A node of another recipe or library that a session owns, or that may not be read. Whether it
   *  holds is not known: it is no holder, and its position is 0. */
  CURATOR_PARTICIPANT_KIND_OTHER
} CuratorParticipantKind;

/** The result of one inspection of a lock path. Immutable. */
typedef struct _CuratorInspection CuratorInspection;
/** One lock node at the time of the inspection. Owned by its inspection. */
typedef struct _CuratorParticipant CuratorParticipant;

/** Receives the result of curator_client_inspect_then(), once. Runs as a callback; see client.h.
 *  @param inspection  transfer full; NULL on error
 *  @param error       NULL on success; borrowed */
typedef void (*CuratorInspectCallback) (CuratorClient *client, CuratorInspection *inspection,
                                        const GError *error, gpointer user_data);

/** Inspects the lock at @p path. A path that does not exist is of kind NONE and has no
 *  participants.
 *  @param path  absolute, without namespace
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return a new inspection; NULL with INVALID_ARGUMENT, CONNECTION_LOST ..., #CURATOR_ZK_ERROR */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorInspection *curator_client_inspect (CuratorClient *client, const char *path,
                                           gint64 timeout_ms, GCancellable *cancellable,
                                           GError **error);

/** Like curator_client_inspect(), but returns at once. The callback runs exactly once, never inside
 *  this call, also when the client is closed. No Java counterpart. */
CURATOR_API
void curator_client_inspect_then (CuratorClient *client, const char *path, gint64 timeout_ms,
                                  GCancellable *cancellable, CuratorInspectCallback callback,
                                  gpointer user_data);

/** Paths of the locks that are held or waited for at or below a path, in byte order, also of those
 *  of other libraries. An idle lock has no nodes and is not found.
 *  @param path       absolute; "/" for all
 *  @param max_nodes  how many nodes to list at most; 0 for 100000
 *  @param complete   out, may be NULL: FALSE if there were more nodes, or one could not be read
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return a NULL-terminated array for g_strfreev(); NULL with an error */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
char **curator_client_find_locks (CuratorClient *client, const char *path, guint max_nodes,
                                  gboolean *complete, gint64 timeout_ms, GCancellable *cancellable,
                                  GError **error);

/** Inspects every lock that curator_client_find_locks() finds at or below a path, in byte order of
 *  the paths. Given the result of the last call, it reads again only the locks whose nodes have
 *  changed, whatever the number of participants. It watches what has not changed between two calls,
 *  and then needs no request for it; within two minutes after the last call these watches are
 *  removed. The payload of a participant is as it was when its lock was last read.
 *  @param path      absolute; "/" for all
 *  @param previous  may be NULL: an array of CuratorInspection, which is not changed
 *  @param complete  out, may be NULL: FALSE if not everything could be read
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return an array of CuratorInspection for g_ptr_array_unref(); NULL with an error */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
GPtrArray *curator_client_inspect_all (CuratorClient *client, const char *path, GPtrArray *previous,
                                       gboolean *complete, gint64 timeout_ms,
                                       GCancellable *cancellable, GError **error);

/** The inspected path. Owned by the inspection. */
CURATOR_API
const char *curator_inspection_get_path (const CuratorInspection *inspection);

/** The recipe that most of the lock nodes belong to. */
CURATOR_API
CuratorLockKind curator_inspection_get_kind (const CuratorInspection *inspection);

/** Name of a kind: "none", "mutex", "read-write", "semaphore", "latch", "other"; "unknown" for
 *  those of later versions. Static. */
CURATOR_API
const char *curator_lock_kind_to_string (CuratorLockKind kind);

/** Number of holders. */
CURATOR_API
guint curator_inspection_get_n_holders (const CuratorInspection *inspection);

/** Number of waiting contenders. A contender for a semaphore counts once. */
CURATOR_API
guint curator_inspection_get_n_waiting (const CuratorInspection *inspection);

/** Number of participants. */
CURATOR_API
guint curator_inspection_get_n_participants (const CuratorInspection *inspection);

/** The participant at an index: holders first, then the waiting ones in queue order, then those of
 *  other kinds in the order of their numbers.
 *  @param i  from 0
 *  @return borrowed; NULL beyond the end */
CURATOR_API
const CuratorParticipant *curator_inspection_get_participant (const CuratorInspection *inspection,
                                                              guint i);

/** Names of children that are not nodes of the lock's recipe. This library ignores them; programs
 *  that use Java Curator may wait for them without end. For kinds NONE and OTHER: all children.
 *  @return borrowed, NULL-terminated */
CURATOR_API
const char *const *curator_inspection_get_foreign_children (const CuratorInspection *inspection);

/** The sequence number of the next node; for a semaphore, the larger of its two counters. */
CURATOR_API
gint64 curator_inspection_get_next_number (const CuratorInspection *inspection);

/** The share of the sequence counter that is used up, 0 to 1. At 1 nothing can be acquired until
 *  the path is deleted and recreated: see #CURATOR_ERROR_SEQUENCE_EXHAUSTED. */
CURATOR_API
double curator_inspection_get_counter_used (const CuratorInspection *inspection);

/** Adds a reference and returns @p inspection. */
CURATOR_API
CuratorInspection *curator_inspection_ref (CuratorInspection *inspection);

/** Drops a reference; dropping the last one frees the inspection and its participants. */
CURATOR_API
void curator_inspection_unref (CuratorInspection *inspection);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorInspection, curator_inspection_unref)

/** The purpose of the node. */
CURATOR_API
CuratorParticipantKind curator_participant_get_kind (const CuratorParticipant *participant);

/** Name of a kind: "mutex", "read", "write", "lease", "turn", "latch", "other"; "unknown" for those
 *  of later versions. Static. */
CURATOR_API
const char *curator_participant_kind_to_string (CuratorParticipantKind kind);

/** Whether the participant holds the lock. FALSE for a semaphore's lease node that is not granted
 *  yet. */
CURATOR_API
gboolean curator_participant_is_holder (const CuratorParticipant *participant);

/** Position in the queue, from 1; 0 for a holder, and for kind OTHER. */
CURATOR_API
guint curator_participant_get_position (const CuratorParticipant *participant);

/** Full path of the node, without namespace. Borrowed. */
CURATOR_API
const char *curator_participant_get_node_path (const CuratorParticipant *participant);

/** Id of the session that owns the node; 0 if none does, so that the node stays until it is deleted
 *  by hand. */
CURATOR_API
gint64 curator_participant_get_session_id (const CuratorParticipant *participant);

/** Whether the payload and the metadata of the node could be read; without READ permission they are
 *  empty. */
CURATOR_API
gboolean curator_participant_is_readable (const CuratorParticipant *participant);

/** Milliseconds since the node was created: this host's time now less the server's time then;
 *  never negative. A holder's node was created when it joined the queue, not when the lock was
 *  granted. */
CURATOR_API
gint64 curator_participant_get_age_ms (const CuratorParticipant *participant);

/** The node's czxid, which is a holder's fencing token. */
CURATOR_API
guint64 curator_participant_get_token (const CuratorParticipant *participant);

/** The sequence number that the server gave the node; 0 for a node of kind OTHER that has none. */
CURATOR_API
gint64 curator_participant_get_number (const CuratorParticipant *participant);

/** The payload of the node, which tools show as its label. Borrowed, never NULL. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
GBytes *curator_participant_get_data (const CuratorParticipant *participant);

/** Deletes the lock node of @p participant if no session owns it: such a node stays until somebody
 *  deletes it. The node is read again first; neither the node of a session nor a later node of the
 *  same path is deleted. A node that is gone is a success.
 *
 *  A driver of your own may create lock nodes without a session on purpose; do not use this there.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return FALSE with INVALID_ARGUMENT if a session owns the node or it could not be read,
 *          #CURATOR_ZK_ERROR; if no server answered in time, the node may or may not be deleted */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_delete_ownerless (CuratorClient *client,
                                          const CuratorParticipant *participant, gint64 timeout_ms,
                                          GCancellable *cancellable, GError **error);

/** Escapes bytes from a server for printing: the backslash and all that is not printable UTF-8
 *  become \\xNN, so that the result contains no newline and no escape sequence.
 *  @param bytes   may be NULL if @p length is 0
 *  @param length  -1, or any negative number, for a NUL-terminated string
 *  @return a new string */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
char *curator_escape_name (const char *bytes, gssize length);

G_END_DECLS

#endif
