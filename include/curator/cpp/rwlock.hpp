/* Many readers or one writer. */
#pragma once

#include <curator/cpp/lock.hpp>
#include <curator/rwlock.h>

CURATOR_CPP_BEGIN

/** Many readers or one writer. Wraps CuratorRwLock; see rwlock.h. It is a SharedTimedMutex:
 *  std::unique_lock writes, std::shared_lock reads. A thread that holds the writer's side can lock
 *  the readers' side too and keeps it when it unlocks the writer's side. The reverse, an upgrade,
 *  throws UNSUPPORTED. */
class [[nodiscard]] rw_lock
    : public handle<rw_lock, CuratorRwLock, curator_rw_lock_ref, curator_rw_lock_unref>
{
public:
  /** An empty handle. */
  rw_lock () noexcept = default;

  /** Sends no request. @throws error  INVALID_ARGUMENT, LIMIT_EXCEEDED
   *  @param data  payload of the lock nodes; nullopt for the client's default */
  [[nodiscard]] rw_lock (const client &client, const std::string &path,
                         unlock_mode mode = unlock_mode::wait,
                         const std::optional<std::string> &data = std::nullopt)
      : rw_lock (detail::create (curator_rw_lock_new, client, path, data ? data->data () : nullptr,
                                 data ? data->size () : 0),
                 mode)
  {
  }

  /** Takes over a reference. */
  [[nodiscard]] explicit rw_lock (CuratorRwLock *lock,
                                  unlock_mode mode = unlock_mode::wait) noexcept
      : handle (lock)
  {
    if (lock != nullptr) {
      reader_ = lockable (curator_lock_ref (curator_rw_lock_get_read_lock (lock)), mode);
      writer_ = lockable (curator_lock_ref (curator_rw_lock_get_write_lock (lock)), mode);
    }
  }

  /** The readers' side as a lock. Locks nothing. */
  [[nodiscard]] lockable &reader () noexcept { return reader_; }

  /** The writer's side as a lock. Locks nothing. */
  [[nodiscard]] lockable &writer () noexcept { return writer_; }

  /** Locks the writer's side if no other contender is ahead. */
  [[nodiscard]] result<bool> try_lock () { return writer_.try_lock (); }

  /** Locks the writer's side within a timeout. */
  [[nodiscard]] result<bool> try_lock_for (limit timeout, GCancellable *cancellable = nullptr)
  {
    return writer_.try_lock_for (timeout, cancellable);
  }

  /** Locks the writer's side within a timeout. */
  [[nodiscard]] result<bool> try_lock_until (deadline time, GCancellable *cancellable = nullptr)
  {
    return writer_.try_lock_until (time, cancellable);
  }

  /** Unlocks the writer's side; lockable::unlock(). */
  void unlock () noexcept { writer_.unlock (); }

  /** Locks the readers' side if no writer is ahead. */
  [[nodiscard]] result<bool> try_lock_shared () { return reader_.try_lock (); }

  /** Locks the readers' side within a timeout. */
  [[nodiscard]] result<bool> try_lock_shared_for (limit timeout,
                                                  GCancellable *cancellable = nullptr)
  {
    return reader_.try_lock_for (timeout, cancellable);
  }

  /** Locks the readers' side within a timeout. */
  [[nodiscard]] result<bool> try_lock_shared_until (deadline time,
                                                    GCancellable *cancellable = nullptr)
  {
    return reader_.try_lock_until (time, cancellable);
  }

  /** Unlocks the readers' side; lockable::unlock(). */
  void unlock_shared () noexcept { reader_.unlock (); }

  /** Another handle of the same pair of locks, holds included. */
  rw_lock share () const noexcept
  {
    rw_lock other = handle::share ();
    other.reader_ = reader_.share ();
    other.writer_ = writer_.share ();
    return other;
  }

#ifdef __cpp_exceptions
  /** Locks the writer's side; lockable::lock(). */
  void lock (GCancellable *cancellable = nullptr)
  {
    writer_.lock (cancellable);
  }

  /** Locks the readers' side; lockable::lock(). */
  void lock_shared (GCancellable *cancellable = nullptr)
  {
    reader_.lock (cancellable);
  }
#else
  /** See lockable::lock(). */
  void lock (GCancellable *cancellable = nullptr) = delete;
  /** See lockable::lock(). */
  void lock_shared (GCancellable *cancellable = nullptr) = delete;
#endif

private:
  lockable reader_;
  lockable writer_;
};

CURATOR_CPP_END
