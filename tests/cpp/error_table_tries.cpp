/* The rows of the table in docs/errors.md that are C++. */
#include <curator/curator.hpp>

#include <mutex>

extern "C"
{
#include "cpp/error_table.h"
}

namespace
{
template <class Try>
gboolean
attempt (GError **error, Try &&call)
{
  try
    {
      return call () ? TRUE : FALSE;
    }
  catch (const curator::error &thrown)
    {
      g_set_error_literal (error, thrown.domain (), thrown.code (), thrown.what ());
      return FALSE;
    }
}

std::chrono::milliseconds
time_of (const Stage *stage)
{
  return std::chrono::milliseconds (stage->time_ms);
}
}

gboolean
cpp_try_lock (Stage *stage, GError **error)
{
  return attempt (error, [stage] {
    curator::lockable lock (curator_lock_ref (stage->lock));
    return std::unique_lock (lock, std::try_to_lock).owns_lock ();
  });
}

gboolean
cpp_try_lock_for (Stage *stage, GError **error)
{
  return attempt (error, [stage] {
    curator::lockable lock (curator_lock_ref (stage->lock));
    return std::unique_lock (lock, time_of (stage)).owns_lock ();
  });
}

/* Of the lock that this thread holds, or has lost. */
gboolean
cpp_try_lock_held (Stage *stage, GError **error)
{
  return attempt (error, [stage] {
    curator::lockable lock (curator_lock_ref (stage->held));
    return std::unique_lock (lock, std::try_to_lock).owns_lock ();
  });
}

gboolean
cpp_try_acquire_for (Stage *stage, GError **error)
{
  return attempt (error, [stage] {
    curator::semaphore semaphore (curator_semaphore_ref (stage->semaphore));
    return semaphore.try_acquire_for (time_of (stage)).has_value ();
  });
}

gboolean
cpp_try_await_for (Stage *stage, GError **error)
{
  return attempt (error, [stage] {
    curator::leader_latch latch (curator_leader_latch_ref (stage->latch));
    return latch.try_await_for (time_of (stage));
  });
}

gboolean
cpp_block_until_connected (Stage *stage, GError **error)
{
  return attempt (error, [stage] {
    curator::client client (curator_client_ref (stage->client));
    return client.block_until_connected (time_of (stage));
  });
}
