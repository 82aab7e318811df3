/* Who holds a lock and who waits for it. */
#pragma once

#include <curator/cpp/client.hpp>
#include <curator/inspect.h>

CURATOR_CPP_BEGIN

/** Which recipe the children of a path belong to: CuratorLockKind. Values may be added. */
enum class lock_kind
{
  none = CURATOR_LOCK_KIND_NONE,
  mutex = CURATOR_LOCK_KIND_MUTEX,
  read_write = CURATOR_LOCK_KIND_READ_WRITE,
  semaphore = CURATOR_LOCK_KIND_SEMAPHORE,
  leader_latch = CURATOR_LOCK_KIND_LEADER_LATCH,
  other = CURATOR_LOCK_KIND_OTHER
};

/** Name of a kind, for example "read-write". */
inline const char *
to_string (lock_kind kind) noexcept
{
  return curator_lock_kind_to_string (CuratorLockKind (kind));
}

/** What one lock node is for: CuratorParticipantKind. Values may be added. */
enum class participant_kind
{
  mutex = CURATOR_PARTICIPANT_KIND_MUTEX,
  read = CURATOR_PARTICIPANT_KIND_READ,
  write = CURATOR_PARTICIPANT_KIND_WRITE,
  lease = CURATOR_PARTICIPANT_KIND_LEASE,
  turn = CURATOR_PARTICIPANT_KIND_TURN,
  latch = CURATOR_PARTICIPANT_KIND_LATCH,
  other = CURATOR_PARTICIPANT_KIND_OTHER
};

/** Name of a kind, for example "write". */
inline const char *
to_string (participant_kind kind) noexcept
{
  return curator_participant_kind_to_string (CuratorParticipantKind (kind));
}

/** One lock node at the time of an inspection; inspect.h describes the members. */
struct participant
{
  participant_kind kind;   /**< of lock that the node is for */
  bool is_holder;          /**< the node holds the lock */
  unsigned position;       /**< in the queue that waits, from 1; 0 for a holder and an other */
  std::string node_path;   /**< of the lock node */
  std::int64_t session_id; /**< that owns the node */
  bool is_readable;        /**< the node could be read */
  std::chrono::milliseconds age; /**< of the node, by the clock of this host */
  std::uint64_t token;           /**< the fencing token */
  std::int64_t number;           /**< the sequence number */
  std::string data;              /**< the payload */
};

/** Who holds a lock and who waits for it. Wraps CuratorInspection; see inspect.h. Immutable. */
class [[nodiscard]] inspection
    : public handle<inspection, CuratorInspection, curator_inspection_ref, curator_inspection_unref>
{
public:
  /** An empty handle. */
  inspection () noexcept = default;

  /** Inspects the lock at @p path. Waits for the server.
   *  @param timeout  for the whole call; without one, the connection timeout; 0 does not wait
   *  @throws error  see curator_client_inspect() */
  [[nodiscard]] inspection (const client &client, const std::string &path,
                            detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
      : handle (detail::create (curator_client_inspect, client, path, timeout, cancellable))
  {
  }

  using handle::handle;

  /** The inspected path. */
  std::string path () const { return curator_inspection_get_path (object ()); }

  /** The recipe that most of the lock nodes belong to. */
  lock_kind kind () const { return get<lock_kind> (curator_inspection_get_kind); }

  /** Number of holders. */
  unsigned n_holders () const { return curator_inspection_get_n_holders (object ()); }

  /** Number of waiting contenders. */
  unsigned n_waiting () const { return curator_inspection_get_n_waiting (object ()); }

  /** Holders first, then the waiting ones in queue order. */
  std::vector<participant> participants () const
  {
    std::vector<participant> all (curator_inspection_get_n_participants (object ()));
    for (guint i = 0; i < all.size (); i++) {
      const CuratorParticipant *one = curator_inspection_get_participant (object (), i);
      all[i] = { participant_kind (curator_participant_get_kind (one)),
                 curator_participant_is_holder (one) != FALSE,
                 curator_participant_get_position (one),
                 curator_participant_get_node_path (one),
                 curator_participant_get_session_id (one),
                 curator_participant_is_readable (one) != FALSE,
                 std::chrono::milliseconds (curator_participant_get_age_ms (one)),
                 curator_participant_get_token (one),
                 curator_participant_get_number (one),
                 detail::copy_of (curator_participant_get_data (one)) };
    }
    return all;
  }

  /** Names of children that are not nodes of the lock's recipe. */
  std::vector<std::string> foreign_children () const
  {
    const char *const *names = curator_inspection_get_foreign_children (object ());
    return std::vector<std::string> (names, names + g_strv_length (const_cast<char **> (names)));
  }

  /** The sequence number of the next node. */
  std::int64_t next_number () const { return curator_inspection_get_next_number (object ()); }

  /** Deletes the node of the participant at that index if no session owns it:
   *  curator_client_delete_ownerless(). @throws std::out_of_range  there is no such participant */
  result<void> delete_ownerless (const client &client, unsigned i, detail::timeout timeout = {},
                                 GCancellable *cancellable = nullptr) const
  {
    const CuratorParticipant *one = curator_inspection_get_participant (object (), i);
    if (one == nullptr)
      detail::misuse<std::out_of_range> ("no such participant");
    return detail::call<void> (curator_client_delete_ownerless, client, one, timeout, cancellable);
  }

  /** The share of the sequence counter that is used up, 0 to 1. */
  double counter_used () const { return curator_inspection_get_counter_used (object ()); }
};

/** The result of find_locks(). */
struct found_locks
{
  std::vector<std::string> paths; /**< in byte order */
  bool complete;                  /**< false if there were more nodes, or one was not readable */
};

/** Paths of the locks that are held or waited for at or below a path: curator_client_find_locks().
 *  @param max_nodes  how many nodes to list at most; 0 for 100000
 *  @param timeout    for the whole call; without one, the connection timeout; 0 does not wait */
inline result<found_locks>
find_locks (const client &client, const std::string &path, unsigned max_nodes = 0,
            detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
{
  detail::outcome outcome;
  gboolean complete = FALSE;
  char **paths = outcome.of (curator_client_find_locks, client, path, max_nodes, &complete, timeout,
                             cancellable);
  return outcome.give (
      paths, found_locks{ detail::take<std::vector<std::string>> (paths), complete != FALSE });
}

/** Inspects a lock without waiting: curator_client_inspect_then().
 *  @param timeout  for the whole call, or curator::forever; 0 does not wait
 *  @param done     called as done (inspection, const error *), once: an inspection and NULL, or an
 *                  empty handle and an error, which is borrowed
 *  @throws error  INVALID_ARGUMENT for a path with a NUL inside, and done is not called */
template <class F>
result<void>
inspect_then (const client &client, const std::string &path, detail::limit timeout, F &&done,
              GCancellable *cancellable = nullptr)
{
  detail::outcome outcome;
  const bool taken = outcome.takes (path);
  if (taken)
    detail::begin<inspection> (std::forward<F> (done), curator_client_inspect_then, client, path,
                               timeout, cancellable);
  return outcome.check (taken);
}

/** Every lock at or below a path: curator_client_inspect_all().
 *  @param previous  the result of the last call: locks that have not changed are not read again */
inline result<std::vector<inspection>>
inspect_all (const client &client, const std::string &path,
             const std::vector<inspection> &previous = {}, detail::timeout timeout = {},
             GCancellable *cancellable = nullptr)
{
  const std::unique_ptr<GPtrArray, void (*) (GPtrArray *)> old (g_ptr_array_new (),
                                                                g_ptr_array_unref);
  for (const inspection &one : previous)
    g_ptr_array_add (old.get (), detail::for_c (one));
  return detail::call<std::vector<inspection>> (curator_client_inspect_all, client, path,
                                                old.get (), nullptr, timeout, cancellable);
}

/** Escapes bytes from a server for printing: curator_escape_name(). */
inline std::string
escape_name (std::string_view bytes)
{
  return detail::take<std::string> (
      curator_escape_name (bytes.data (), static_cast<gssize> (bytes.size ())));
}

CURATOR_CPP_END
