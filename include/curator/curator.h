/* Everything: locks for processes on many machines, kept in ZooKeeper and shared with Java programs
 * that use Apache Curator.
 *
 * Conventions of all headers
 *   - Objects are reference-counted and opaque; g_autoptr() works with every one of them.
 *   - A result FALSE or NULL of a function with a GError ** means that the error is set, TRUE or
 *     another pointer that it is not.
 *   - Time is in milliseconds. One time-out covers the whole call. CURATOR_WAIT_FOREVER (-1) waits
 *     without end, 0 tries once.
 *   - Functions are thread-safe unless their comment says otherwise. Pointers called "borrowed"
 *     belong to the object they come from; strings given to the library are copied.
 *   - An object that is NULL or of the wrong kind is a programmer's error: a critical message and a
 *     neutral result, as in GLib.
 */
#ifndef CURATOR_CURATOR_H
#define CURATOR_CURATOR_H

#include <curator/client.h>
#include <curator/error.h>
#include <curator/inspect.h>
#include <curator/lease.h>
#include <curator/lock.h>
#include <curator/lock_internals.h>
#include <curator/multilock.h>
#include <curator/mutex.h>
#include <curator/retry.h>
#include <curator/rwlock.h>
#include <curator/semaphore.h>
#include <curator/shared_count.h>
#include <curator/stats.h>
#include <curator/types.h>
#include <curator/version.h>
#include <curator/visibility.h>

#endif
