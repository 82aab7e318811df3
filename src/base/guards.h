/* Macros for fields and functions that need a client's mutex; clang -Wthread-safety checks them.
 *
 * In C the analysis knows global names only, so one name stands for the mutex of every client. The
 * analysis cannot follow a call through a pointer: the comment at such a pointer says whether the
 * mutex is held.
 */
#pragma once

#ifdef __clang__
#define CURATOR_GUARD(attribute) __attribute__ ((attribute))
#else
#define CURATOR_GUARD(attribute)
#endif

typedef struct CURATOR_GUARD (capability ("mutex"))
{
  char unused;
} CuratorGuard;

/* The mutex of a client. Never defined: it is only a name for the analysis. */
extern CuratorGuard curator_client_mutex;

/* A field that is read and written with the client's mutex held. */
#define CURATOR_GUARDED CURATOR_GUARD (guarded_by (curator_client_mutex))
/* A function that is called with the client's mutex held. */
#define CURATOR_LOCKED CURATOR_GUARD (requires_capability (curator_client_mutex))
/* A function that takes the client's mutex, waits, or runs user code: the mutex must not be
 * held. */
#define CURATOR_UNLOCKED CURATOR_GUARD (locks_excluded (curator_client_mutex))
/* The functions that lock and unlock it. */
#define CURATOR_LOCKS   CURATOR_GUARD (acquire_capability (curator_client_mutex))
#define CURATOR_UNLOCKS CURATOR_GUARD (release_capability (curator_client_mutex))
/* After a call of this function the analysis assumes that its caller holds the mutex. */
#define CURATOR_TAKEN_AS_LOCKED CURATOR_GUARD (assert_capability (curator_client_mutex))
/* A function that the analysis cannot follow; a comment says why. */
#define CURATOR_NOT_ANALYSED CURATOR_GUARD (no_thread_safety_analysis)

/* Called where no other thread knows the object: just after its creation, or before its end. */
static inline void CURATOR_TAKEN_AS_LOCKED
curator_not_shared (void)
{
}
