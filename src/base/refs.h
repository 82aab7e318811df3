/* Atomic reference counts that ThreadSanitizer understands. Threads: any; no lock.
 *
 * g_atomic_ref_count_* are functions inside GLib, where ThreadSanitizer sees nothing: it would
 * report the last owner's free as a race with an earlier owner's use. The g_atomic_int_* macros are
 * compiled into our own code.
 */
#pragma once

#include <glib.h>

typedef gint CuratorRefs; /* atomic */

static inline void
curator_refs_init (CuratorRefs *refs)
{
  g_atomic_int_set (refs, 1);
}

static inline void
curator_refs_inc (CuratorRefs *refs)
{
  g_atomic_int_inc (refs);
}

/* TRUE if this was the last reference. */
static inline gboolean
curator_refs_dec (CuratorRefs *refs)
{
  return g_atomic_int_dec_and_test (refs);
}

/* Takes a reference of an object that may be losing its last one. FALSE if it has lost it. */
static inline gboolean
curator_refs_try_inc (CuratorRefs *refs)
{
  gint count = g_atomic_int_get (refs);
  while (count > 0 && !g_atomic_int_compare_and_exchange (refs, count, count + 1))
    count = g_atomic_int_get (refs);
  return count > 0;
}

/* A GDestroyNotify that calls func, whose parameter has a type. */
#define CURATOR_DESTROY_FUNC(name, func)                                                           \
  static void name (gpointer object)                                                               \
  {                                                                                                \
    func (object);                                                                                 \
  }
