/* Who guards what, in words that clang's thread safety analysis checks (-Wthread-safety).
 *
 * In C the analysis knows global names only, so one token stands for "the mutex of the client that this
 * is about", whichever client that is. It cannot follow a call through a pointer: the comment at such a
 * pointer says whether the mutex is held.
 */
#ifndef CURATOR_GUARDS_H
#define CURATOR_GUARDS_H

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
/* A function that takes the client's mutex, waits, or runs code of the user's: the mutex must not be
 * held. */
#define CURATOR_UNLOCKED CURATOR_GUARD (locks_excluded (curator_client_mutex))
/* The functions that take it and give it back. */
#define CURATOR_LOCKS   CURATOR_GUARD (acquire_capability (curator_client_mutex))
#define CURATOR_UNLOCKS CURATOR_GUARD (release_capability (curator_client_mutex))
/* From here to the end of its caller the analysis takes the mutex for held. */
#define CURATOR_TAKEN_AS_LOCKED CURATOR_GUARD (assert_capability (curator_client_mutex))
/* A function that the analysis cannot follow; a comment says why. */
#define CURATOR_NOT_ANALYSED CURATOR_GUARD (no_thread_safety_analysis)

/* What was just made, or is about to be freed, is known to no other thread. */
static inline void CURATOR_TAKEN_AS_LOCKED
curator_not_shared (void)
{
}

#endif
