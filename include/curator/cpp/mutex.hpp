/* Mutexes. */
#ifndef CURATOR_CPP_MUTEX_HPP
#define CURATOR_CPP_MUTEX_HPP

#include <curator/cpp/client.hpp>
#include <curator/cpp/detail.hpp>
#include <curator/cpp/lock.hpp>
#include <curator/cpp/lock_internals.hpp>
#include <curator/mutex.h>

#include <string>

namespace curator
{
inline namespace CURATOR_CPP_NAMESPACE
{
/** A fair, re-entrant mutex: curator_mutex_new(). */
class [[nodiscard]] mutex : public lockable
{
public:
  /** An empty handle. */
  mutex () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT */
  [[nodiscard]] mutex (const client &client, const std::string &path,
                       unlock_mode mode = unlock_mode::wait)
      : mutex (make (client, path), mode)
  {
  }

  /** Creates a lock with a driver: curator_mutex_new_with_driver(). @throws error  INVALID_ARGUMENT
   *  @param lock_name   what the names of its nodes begin with, for example "lock-"
   *  @param max_leases  passed to the driver */
  [[nodiscard]] mutex (const client &client, const std::string &path, const std::string &lock_name,
                       guint max_leases, const lock_driver &driver,
                       unlock_mode mode = unlock_mode::wait)
      : mutex (make (client, path, lock_name, max_leases, driver), mode)
  {
  }

  /** Another handle of the same lock object, holds included. */
  mutex
  share () const noexcept
  {
    return mutex (new_ref (), mode ());
  }

private:
  [[nodiscard]] mutex (CuratorLock *lock, unlock_mode mode) noexcept : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::string &path)
  {
    detail::outcome outcome;
    CuratorClient *const owner = detail::require (client.native_handle ());
    CuratorLock *const lock =
        outcome.takes (path) ? curator_mutex_new (owner, path.c_str (), outcome) : nullptr;
    outcome.built (lock != nullptr);
    return lock;
  }

  static CuratorLock *
  make (const client &client, const std::string &path, const std::string &lock_name,
        guint max_leases, const lock_driver &driver)
  {
    detail::outcome outcome;
    CuratorClient *const owner = detail::require (client.native_handle ());
    CuratorLockDriver *const decides = detail::require (driver.native_handle ());
    CuratorLock *const lock =
        outcome.takes (path, lock_name) ? curator_mutex_new_with_driver (
            owner, path.c_str (), lock_name.c_str (), max_leases, decides, outcome)
                                        : nullptr;
    outcome.built (lock != nullptr);
    return lock;
  }
};

/** A lock that is one ephemeral node, without a queue: curator_fixed_node_lock_new(). */
class [[nodiscard]] fixed_node_lock : public lockable
{
public:
  /** An empty handle. */
  fixed_node_lock () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param node_path  path of the node itself */
  [[nodiscard]] fixed_node_lock (const client &client, const std::string &node_path,
                                 unlock_mode mode = unlock_mode::wait)
      : fixed_node_lock (make (client, node_path), mode)
  {
  }

  /** Another handle of the same lock object, holds included. */
  fixed_node_lock
  share () const noexcept
  {
    return fixed_node_lock (new_ref (), mode ());
  }

private:
  [[nodiscard]] fixed_node_lock (CuratorLock *lock, unlock_mode mode) noexcept
      : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::string &path)
  {
    detail::outcome outcome;
    CuratorClient *const owner = detail::require (client.native_handle ());
    CuratorLock *const lock = outcome.takes (path)
                                  ? curator_fixed_node_lock_new (owner, path.c_str (), outcome)
                                  : nullptr;
    outcome.built (lock != nullptr);
    return lock;
  }
};

/** A fair mutex that is not re-entrant and that any thread may unlock:
 *  curator_semaphore_mutex_new(). */
class [[nodiscard]] semaphore_mutex : public lockable
{
public:
  /** An empty handle. */
  semaphore_mutex () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT */
  [[nodiscard]] semaphore_mutex (const client &client, const std::string &path,
                                 unlock_mode mode = unlock_mode::wait)
      : semaphore_mutex (make (client, path), mode)
  {
  }

  /** Another handle of the same lock object, its hold included. */
  semaphore_mutex
  share () const noexcept
  {
    return semaphore_mutex (new_ref (), mode ());
  }

private:
  [[nodiscard]] semaphore_mutex (CuratorLock *lock, unlock_mode mode) noexcept
      : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::string &path)
  {
    detail::outcome outcome;
    CuratorClient *const owner = detail::require (client.native_handle ());
    CuratorLock *const lock = outcome.takes (path)
                                  ? curator_semaphore_mutex_new (owner, path.c_str (), outcome)
                                  : nullptr;
    outcome.built (lock != nullptr);
    return lock;
  }
};
}
}

#endif
