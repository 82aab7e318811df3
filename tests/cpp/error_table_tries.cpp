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

#define TRY(name, object, result)                                                                  \
  gboolean name (Stage *stage, GError **error)                                                     \
  {                                                                                                \
    return attempt (error, [stage] {                                                               \
      object;                                                                                      \
      return result;                                                                               \
    });                                                                                            \
  }

TRY (cpp_try_lock, curator::lockable lock (curator_lock_ref (stage->lock)),
     std::unique_lock (lock, std::try_to_lock).owns_lock ())
TRY (cpp_try_lock_for, curator::lockable lock (curator_lock_ref (stage->lock)),
     std::unique_lock (lock, time_of (stage)).owns_lock ())
/* Of the lock that this thread holds, or has lost. */
TRY (cpp_try_lock_held, curator::lockable lock (curator_lock_ref (stage->held)),
     std::unique_lock (lock, std::try_to_lock).owns_lock ())
TRY (cpp_try_acquire_for, curator::semaphore semaphore (curator_semaphore_ref (stage->semaphore)),
     semaphore.try_acquire_for (time_of (stage)).has_value ())
TRY (cpp_try_await_for, curator::leader_latch latch (curator_leader_latch_ref (stage->latch)),
     latch.try_await_for (time_of (stage)))
TRY (cpp_block_until_connected, curator::client client (curator_client_ref (stage->client)),
     client.block_until_connected (time_of (stage)))
