/* Locks for processes on many machines, kept in ZooKeeper and shared with Java programs that use
 * Apache Curator. Includes all headers but lock_internals.h (drivers of your own), zookeeper.h
 * (programs with a handle of ZooKeeper's) and testing.h (servers for tests).
 *
 * Conventions of all headers
 *   - Objects are reference-counted and opaque; g_autoptr() works with all of them.
 *   - A function with a GError ** sets the error if and only if it returns FALSE or NULL.
 *   - Time is in milliseconds. One timeout covers the whole call. CURATOR_WAIT_FOREVER waits
 *     without a limit, CURATOR_WAIT_DEFAULT as long as the connection timeout, 0 does not; see
 *     types.h.
 *   - Functions are thread-safe unless their comment says otherwise. A pointer called "borrowed"
 *     belongs to the object it comes from. Strings given to the library are copied.
 *   - An object that is NULL or of the wrong kind is a programming error: it logs a critical
 *     message and returns FALSE, 0 or NULL, as in GLib.
 */
#ifndef CURATOR_CURATOR_H
#define CURATOR_CURATOR_H

#include <curator/client.h>
#include <curator/error.h>
#include <curator/inspect.h>
#include <curator/leader.h>
#include <curator/lease.h>
#include <curator/lock.h>
#include <curator/multilock.h>
#include <curator/mutex.h>
#include <curator/retry.h>
#include <curator/rwlock.h>
#include <curator/semaphore.h>
#include <curator/shared_count.h>
#include <curator/stats.h>
#include <curator/tls.h>
#include <curator/types.h>
#include <curator/version.h>
#include <curator/visibility.h>

#endif
