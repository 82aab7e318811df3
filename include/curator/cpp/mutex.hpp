/* Mutexes. */
#pragma once

#include <curator/cpp/lock.hpp>
#include <curator/cpp/lock_internals.hpp>
#include <curator/mutex.h>

CURATOR_CPP_BEGIN

/** A fair, re-entrant mutex: curator_mutex_new(). */
class [[nodiscard]] mutex : public recipe<mutex>
{
public:
  /** An empty handle. */
  mutex () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT */
  [[nodiscard]] mutex (const curator::client &client, const std::string &path,
                       unlock_mode mode = unlock_mode::wait)
      : recipe (detail::create (curator_mutex_new, client, path), mode)
  {
  }

  /** Creates a lock with a driver: curator_mutex_new_with_driver(). @throws error  INVALID_ARGUMENT
   *  @param lock_name   what the names of its nodes begin with, for example "lock-"
   *  @param max_leases  passed to the driver */
  [[nodiscard]] mutex (const curator::client &client, const std::string &path,
                       const std::string &lock_name, guint max_leases, const lock_driver &driver,
                       unlock_mode mode = unlock_mode::wait)
      : recipe (detail::create (curator_mutex_new_with_driver, client, path, lock_name, max_leases,
                                driver),
                mode)
  {
  }
};

/** A lock that is one ephemeral node, without a queue: curator_fixed_node_lock_new(). */
class [[nodiscard]] fixed_node_lock : public recipe<fixed_node_lock>
{
public:
  /** An empty handle. */
  fixed_node_lock () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT
   *  @param node_path  path of the node itself */
  [[nodiscard]] fixed_node_lock (const curator::client &client, const std::string &node_path,
                                 unlock_mode mode = unlock_mode::wait)
      : recipe (detail::create (curator_fixed_node_lock_new, client, node_path), mode)
  {
  }
};

/** A fair mutex that is not re-entrant and that any thread may unlock:
 *  curator_semaphore_mutex_new(). */
class [[nodiscard]] semaphore_mutex : public recipe<semaphore_mutex>
{
public:
  /** An empty handle. */
  semaphore_mutex () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT */
  [[nodiscard]] semaphore_mutex (const curator::client &client, const std::string &path,
                                 unlock_mode mode = unlock_mode::wait)
      : recipe (detail::create (curator_semaphore_mutex_new, client, path), mode)
  {
  }
};

CURATOR_CPP_END
