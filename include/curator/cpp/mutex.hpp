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
inline namespace v0_3
{
/** A fair, re-entrant mutex: curator_mutex_new(). */
class mutex : public lockable
{
public:
  /** An empty handle. */
  mutex () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT */
  mutex (const client &client, const std::string &path, unlock_mode mode = unlock_mode::wait)
      : mutex (make (client, path), mode)
  {
  }

  /** Creates a lock with a driver: curator_mutex_new_with_driver(). @throws error  INVALID_ARGUMENT
   *  @param lock_name   what the names of its nodes begin with, for example "lock-"
   *  @param max_leases  passed to the driver */
  mutex (const client &client, const std::string &path, const std::string &lock_name,
         int max_leases, const lock_driver &driver, unlock_mode mode = unlock_mode::wait)
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
  mutex (CuratorLock *lock, unlock_mode mode) noexcept : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::string &path)
  {
    detail::outcome outcome;
    CuratorLock *lock = curator_mutex_new (detail::require (client.native_handle ()),
                                           detail::c_text (path), outcome);
    outcome.check (lock);
    return lock;
  }

  static CuratorLock *
  make (const client &client, const std::string &path, const std::string &lock_name, int max_leases,
        const lock_driver &driver)
  {
    detail::outcome outcome;
    return outcome.check (curator_mutex_new_with_driver (
        detail::require (client.native_handle ()), detail::c_text (path),
        detail::c_text (lock_name), max_leases, detail::require (driver.native_handle ()),
        outcome));
  }
};

/** A lock that is one ephemeral node, without a queue: curator_fixed_node_lock_new(). */
class fixed_node_lock : public lockable
{
public:
  /** An empty handle. */
  fixed_node_lock () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param node_path  path of the node itself */
  fixed_node_lock (const client &client, const std::string &node_path,
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
  fixed_node_lock (CuratorLock *lock, unlock_mode mode) noexcept : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::string &path)
  {
    detail::outcome outcome;
    return outcome.check (curator_fixed_node_lock_new (detail::require (client.native_handle ()),
                                                       detail::c_text (path), outcome));
  }
};

/** A fair mutex that is not re-entrant and that any thread may unlock:
 *  curator_semaphore_mutex_new(). */
class semaphore_mutex : public lockable
{
public:
  /** An empty handle. */
  semaphore_mutex () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT */
  semaphore_mutex (const client &client, const std::string &path,
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
  semaphore_mutex (CuratorLock *lock, unlock_mode mode) noexcept : lockable (lock, mode)
  {
  }

  static CuratorLock *
  make (const client &client, const std::string &path)
  {
    detail::outcome outcome;
    CuratorLock *lock = curator_semaphore_mutex_new (detail::require (client.native_handle ()),
                                                     detail::c_text (path), outcome);
    outcome.check (lock);
    return lock;
  }
};
}
}

#endif
