/* The library for C++17 and later: owning handles, exceptions, lambdas, and the standard's lock
 * types.
 *
 * Inline functions over curator.h, whose comments have the details: each class names the C type
 * that it wraps, and native_handle() returns the C object. Programs link only the C library. The
 * ABI of this header is not stable: compile it into each program and keep it out of the interfaces
 * of your own shared libraries. curator/cpp/ has a header for each noun, and this one includes them
 * all.
 *
 *   curator::client client ("zk1:2181,zk2:2181");
 *   client.start ();
 *   curator::mutex nightly (client, "/jobs/nightly");
 *   std::unique_lock hold (nightly, 5s);
 *   if (hold)
 *     write_result (nightly.current_lease ()->fencing_token ());
 *
 * Conventions
 *   - Handles are move-only and own one reference; share() returns another handle of the same
 *     object. A default-constructed or moved-from handle is empty. An operation on it throws
 *     std::logic_error, except that share() gives another empty handle, close() and the functions
 *     that remove a listener do nothing, and unlock() logs a critical message.
 *   - Errors throw curator::error. The functions whose names begin with try_, and
 *     client::block_until_connected(), throw only what a retry cannot mend: for what may pass, as
 *     error::is_temporary() says, they return false or an empty optional. shared_count::try_set()
 *     throws that, too. A call that the C library refuses as a misuse throws std::logic_error. A
 *     std::string with a NUL inside, given as a path or another text, is INVALID_ARGUMENT. The
 *     compiler warns where a handle, a lease or the answer of a try_ function is dropped.
 *   - A timeout is any std::chrono::duration, rounded up to milliseconds. Zero or less tries once;
 *     curator::forever, or a century and more, waits without a limit. Times of settings and retry
 *     policies are any duration, too; what milliseconds cannot count is the nearest that they can.
 *   - Functions that wait take a GCancellable *, for example a curator::cancellable. A cancelled
 *     call throws an error with G_IO_ERROR and G_IO_ERROR_CANCELLED.
 *   - Callbacks are lambdas or other callables. The library moves them in and destroys them. They
 *     run on the threads that client.h describes. An exception in a callback is caught and logged
 *     as a critical message. A callback and the function of a leader selector may end their thread
 *     with pthread_exit(), or be cancelled there: what they own is destroyed, and another thread
 *     goes on. What answers a question (a retry policy, a driver) and destructors have to return.
 *   - In C++20, coroutines await the calls that do not wait: curator/cpp/coroutine.hpp.
 *   - Compiled with -fno-exceptions, a function that throws curator::error here gives a
 *     curator::result: it converts to true if the call succeeded, * and -> give the value, and
 *     error () says why it failed. That of a try_ function is false without an error after what
 *     may pass. A misuse, and a constructor that fails, end the program with a message;
 *     curator::make<curator::mutex> (client, path) gives the error of a constructor. There is no
 *     lock(), which std::unique_lock would not see fail: std::unique_lock hold (nightly,
 *     curator::forever). A callback must not end its thread.
 *   - Functions are as thread-safe as those of C; handles are not: two threads may lock one mutex
 *     object, but not while a third assigns to it or destroys it.
 */
#pragma once

#include <curator/cpp/cancellable.hpp>
#include <curator/cpp/client.hpp>
#include <curator/cpp/coroutine.hpp>
#include <curator/cpp/error.hpp>
#include <curator/cpp/handle.hpp>
#include <curator/cpp/inspect.hpp>
#include <curator/cpp/leader.hpp>
#include <curator/cpp/lease.hpp>
#include <curator/cpp/lock.hpp>
#include <curator/cpp/lock_internals.hpp>
#include <curator/cpp/multilock.hpp>
#include <curator/cpp/mutex.hpp>
#include <curator/cpp/result.hpp>
#include <curator/cpp/retry.hpp>
#include <curator/cpp/rwlock.hpp>
#include <curator/cpp/semaphore.hpp>
#include <curator/cpp/shared_count.hpp>
#include <curator/cpp/stats.hpp>
#include <curator/cpp/time.hpp>
#include <curator/cpp/tls.hpp>
#include <curator/curator.h>
