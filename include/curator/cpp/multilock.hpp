/* Several locks as one. */
#pragma once

#include <curator/cpp/lock.hpp>
#include <curator/multilock.h>

CURATOR_CPP_BEGIN

/** The order in which a multi_lock acquires its members. */
enum class lock_order
{
  given, /**< as given, as in Java and C; all callers must use the same order */
  sorted /**< in byte order of their paths: callers that all do so cannot deadlock */
};

/** Several locks as one: curator_multi_lock_new(). Locks all members or none, unlocks in
 *  reverse. */
class [[nodiscard]] multi_lock : public recipe<multi_lock>
{
public:
  /** An empty handle. */
  multi_lock () noexcept = default;

  /** Creates a lock of mutexes, one for each path; no path twice. @throws error
   *  INVALID_ARGUMENT */
  [[nodiscard]] multi_lock (const curator::client &client, const std::vector<std::string> &paths,
                            lock_order order = lock_order::given,
                            unlock_mode mode = unlock_mode::wait)
      : recipe (make (client, paths, order), mode)
  {
  }

  /** Creates a lock of these locks, of any recipe and any client, in this order. Their handles may
   *  be destroyed first. */
  [[nodiscard]] explicit multi_lock (
      std::initializer_list<std::reference_wrapper<const lockable>> members,
      unlock_mode mode = unlock_mode::wait)
      : recipe (make (members), mode)
  {
  }

private:
  static CuratorLock *make (const curator::client &client, const std::vector<std::string> &paths,
                            lock_order order)
  {
    detail::outcome outcome;
    CuratorClient *const owner = detail::require (client.native_handle ());
    std::vector<const char *> texts;
    bool taken = true;
    for (const std::string &path : paths) {
      taken = taken && outcome.takes (path);
      texts.push_back (path.c_str ());
    }
    texts.push_back (nullptr);
    const auto create = order == lock_order::sorted ? curator_multi_lock_new_for_paths_sorted
                                                    : curator_multi_lock_new_for_paths;
    CuratorLock *const lock = taken ? create (owner, texts.data (), outcome) : nullptr;
    outcome.built (lock != nullptr);
    return lock;
  }

  static CuratorLock *make (std::initializer_list<std::reference_wrapper<const lockable>> members)
  {
    std::vector<CuratorLock *> locks;
    locks.reserve (members.size ());
    for (const lockable &member : members)
      locks.push_back (detail::require (member.native_handle ()));
    return detail::require (curator_multi_lock_new (locks.data (), locks.size ()));
  }
};

CURATOR_CPP_END
