/* How functions are declared.
 *
 * A result that must not be dropped has G_GNUC_WARN_UNUSED_RESULT: a pointer, since a lease that is
 * dropped at once is never released and a getter does nothing else, and whether a function with a
 * GError succeeded, since what follows relies on it. Releases have none: the hold has ended
 * whatever they return. Nor has a reference that is only added, as by curator_lock_ref().
 */
#ifndef CURATOR_VISIBILITY_H
#define CURATOR_VISIBILITY_H

#include <glib.h>

/** Marks a function that the shared library exports; all others are hidden. */
#if defined(__GNUC__)
#define CURATOR_API __attribute__ ((visibility ("default")))
#else
#define CURATOR_API
#endif

#endif
