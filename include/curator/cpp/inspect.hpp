/* Who holds a lock and who waits for it. */
#ifndef CURATOR_CPP_INSPECT_HPP
#define CURATOR_CPP_INSPECT_HPP

#include <curator/cpp/client.hpp>
#include <curator/cpp/detail.hpp>
#include <curator/cpp/time.hpp>
#include <curator/inspect.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace curator
{
inline namespace CURATOR_CPP_NAMESPACE
{
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
  return curator_lock_kind_to_string (static_cast<CuratorLockKind> (kind));
}

/** What one lock node is for: CuratorParticipantKind. Values may be added. */
enum class participant_kind
{
  mutex = CURATOR_PARTICIPANT_MUTEX,
  read = CURATOR_PARTICIPANT_READ,
  write = CURATOR_PARTICIPANT_WRITE,
  lease = CURATOR_PARTICIPANT_LEASE,
  turn = CURATOR_PARTICIPANT_TURN,
  latch = CURATOR_PARTICIPANT_LATCH,
  other = CURATOR_PARTICIPANT_OTHER
};

/** Name of a kind, for example "write". */
inline const char *
to_string (participant_kind kind) noexcept
{
  return curator_participant_kind_to_string (static_cast<CuratorParticipantKind> (kind));
}

/** One lock node at the time of an inspection; inspect.h describes the members. */
struct participant
{
  participant_kind kind;         /**< of lock that the node is for */
  bool is_holder;                /**< the node holds the lock */
  unsigned position;             /**< in the queue of those who wait, from 1; 0 for a holder and an other */
  std::string node_path;         /**< of the lock node */
  std::int64_t session_id;       /**< that owns the node */
  bool is_readable;              /**< the node could be read */
  std::chrono::milliseconds age; /**< of the node, by the clock of this host */
  std::uint64_t token;           /**< the fencing token */
  std::int64_t number;           /**< the sequence number */
  std::string data;              /**< the payload */
};

/** Who holds a lock and who waits for it. Wraps CuratorInspection; see inspect.h. Immutable. */
class [[nodiscard]] inspection
{
public:
  /** An empty handle. */
  inspection () noexcept = default;

  /** Inspects the lock at @p path. Waits for the server.
   *  @param timeout  for the whole call; 0: up to the connection timeout
   *  @throws error  see curator_inspect() */
  [[nodiscard]] inspection (const client &client, const std::string &path,
                            detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
  {
    detail::outcome outcome;
    if (outcome.takes (path))
      {
        handle_ =
            inspection_handle (curator_inspect (detail::require (client.native_handle ()),
                                                path.c_str (), timeout, cancellable, outcome));
      }
    outcome.built (native_handle () != nullptr);
  }

  /** Takes over a reference. */
  [[nodiscard]] explicit inspection (CuratorInspection *object) noexcept : handle_ (object)
  {
  }

  /** The inspected path. */
  std::string
  path () const
  {
    return curator_inspection_get_path (detail::require (native_handle ()));
  }

  /** The recipe that most of the lock nodes belong to. */
  lock_kind
  kind () const
  {
    return static_cast<lock_kind> (
        curator_inspection_get_kind (detail::require (native_handle ())));
  }

  /** Number of holders. */
  unsigned
  n_holders () const
  {
    return curator_inspection_get_n_holders (detail::require (native_handle ()));
  }

  /** Number of waiting contenders. */
  unsigned
  n_waiting () const
  {
    return curator_inspection_get_n_waiting (detail::require (native_handle ()));
  }

  /** Holders first, then the waiting ones in queue order. */
  std::vector<participant>
  participants () const
  {
    CuratorInspection *const object = detail::require (native_handle ());
    const guint n = curator_inspection_get_n_participants (object);
    std::vector<participant> all;
    all.reserve (n);
    for (guint i = 0; i < n; i++)
      all.push_back (copy (curator_inspection_get_participant (object, i)));
    return all;
  }

  /** Names of children that are not nodes of the lock's recipe. */
  std::vector<std::string>
  foreign_children () const
  {
    std::vector<std::string> names;
    const char *const *name =
        curator_inspection_get_foreign_children (detail::require (native_handle ()));
    for (; *name != nullptr; name++)
      names.emplace_back (*name);
    return names;
  }

  /** The sequence number of the next node. */
  std::int64_t
  next_number () const
  {
    return curator_inspection_get_next_number (detail::require (native_handle ()));
  }

  /** Deletes the node of the participant at that index if no session owns it:
   *  curator_delete_ownerless(). @throws std::out_of_range  there is no such participant */
  result<void>
  delete_ownerless (const client &client, unsigned i, detail::timeout timeout = {},
                    GCancellable *cancellable = nullptr) const
  {
    const CuratorParticipant *one =
        curator_inspection_get_participant (detail::require (native_handle ()), i);
    if (one == nullptr)
      detail::misuse<std::out_of_range> ("no such participant");
    detail::outcome outcome;
    return outcome.check (curator_delete_ownerless (detail::require (client.native_handle ()), one,
                                                    timeout, cancellable, outcome)
                          != FALSE);
  }

  /** The share of the sequence counter that is used up, 0 to 1. */
  double
  counter_used () const
  {
    return curator_inspection_get_counter_used (detail::require (native_handle ()));
  }

  /** Another handle of the same inspection. */
  inspection
  share () const noexcept
  {
    return inspection (handle_.new_ref ());
  }

  /** The inspection for the C functions; borrowed. */
  CuratorInspection *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  using inspection_handle =
      detail::handle<CuratorInspection, curator_inspection_ref, curator_inspection_unref>;

  static participant
  copy (const CuratorParticipant *one)
  {
    gsize size = 0;
    const void *data = g_bytes_get_data (curator_participant_get_data (one), &size);
    return { static_cast<participant_kind> (curator_participant_get_kind (one)),
             curator_participant_is_holder (one) != FALSE,
             curator_participant_get_position (one),
             curator_participant_get_node_path (one),
             curator_participant_get_session_id (one),
             curator_participant_is_readable (one) != FALSE,
             std::chrono::milliseconds (curator_participant_get_age_ms (one)),
             curator_participant_get_token (one),
             curator_participant_get_number (one),
             size > 0 ? std::string (static_cast<const char *> (data), size) : std::string () };
  }

  inspection_handle handle_;
};

/** The result of find_locks(). */
struct found_locks
{
  std::vector<std::string> paths; /**< in byte order */
  bool complete;                  /**< false if there were more nodes, or one was not readable */
};

/** Paths of the locks that are held or waited for at or below a path: curator_find_locks().
 *  @param max_nodes  how many nodes to list at most; 0 for 100000
 *  @param timeout    for the whole call; 0: up to the connection timeout */
inline result<found_locks>
find_locks (const client &client, const std::string &path, unsigned max_nodes = 0,
            detail::timeout timeout = {}, GCancellable *cancellable = nullptr)
{
  detail::outcome outcome;
  gboolean complete = FALSE;
  char **paths = outcome.takes (path)
                     ? curator_find_locks (detail::require (client.native_handle ()), path.c_str (),
                                           max_nodes, &complete, timeout, cancellable, outcome)
                     : nullptr;
  return outcome.give (paths != nullptr,
                       found_locks{ detail::take_strings (paths), complete != FALSE });
}

/** Every lock at or below a path: curator_inspect_all().
 *  @param previous  the result of the last call: locks that have not changed are not read again */
inline result<std::vector<inspection>>
inspect_all (const client &client, const std::string &path,
             const std::vector<inspection> &previous = {}, detail::timeout timeout = {},
             GCancellable *cancellable = nullptr)
{
  detail::outcome outcome;
  const std::unique_ptr<GPtrArray, void (*) (GPtrArray *)> old (g_ptr_array_new (),
                                                                g_ptr_array_unref);
  for (const inspection &one : previous)
    g_ptr_array_add (old.get (), detail::require (one.native_handle ()));
  GPtrArray *all =
      outcome.takes (path)
          ? curator_inspect_all (detail::require (client.native_handle ()), path.c_str (),
                                 old.get (), nullptr, timeout, cancellable, outcome)
          : nullptr;
  return outcome.give (all != nullptr, detail::take_array (all, [] (gpointer one) {
                         return inspection (
                             curator_inspection_ref (static_cast<CuratorInspection *> (one)));
                       }));
}

/** Escapes bytes from a server for printing: curator_escape_name(). */
inline std::string
escape_name (std::string_view bytes)
{
  const std::unique_ptr<char, void (*) (gpointer)> text (
      curator_escape_name (bytes.data (), static_cast<gssize> (bytes.size ())), g_free);
  return text.get ();
}
}
}

#endif
