/* Judges a history: was anybody granted what another one still believed to hold, did the fencing
 * tokens rise, was every "no" true, did every call end?
 *
 * Belief is what counts, not what the server knows: a holder believes from the moment acquire
 * returned to it until it called release, was told LOST, saw its own deadline pass, or died.
 */
#ifndef CURATOR_TEST_CHECKER_H
#define CURATOR_TEST_CHECKER_H

#include "recorder.h"

typedef enum
{
  CHECK_TWO_HOLDERS,        /* earlier grant, later grant */
  CHECK_TOO_MANY_PERMITS,   /* oldest hold, the grant that was too much */
  CHECK_TOKEN_NOT_RISING,   /* grant with the higher token, later grant with a lower one */
  CHECK_TOKEN_TWICE,        /* both grants */
  CHECK_NO_TOKEN,           /* call, grant */
  CHECK_REENTRY_TOKEN,      /* first grant, re-entry with another token */
  CHECK_DEAD_SESSION,       /* end of the session, grant */
  CHECK_AFTER_DEATH,        /* death, what the dead process did */
  CHECK_FALSE_BUSY,         /* call, return */
  CHECK_EARLY_TIMEOUT,      /* call, return */
  CHECK_LATE_RETURN,        /* call, return */
  CHECK_NEVER_RETURNED,     /* call, last event of the history */
  CHECK_RELEASE_OF_NOTHING, /* release called, release returned */
  CHECK_STALE_WRITE,        /* write with the higher token, later write with a lower one */
  CHECK_FORGED_TOKEN,       /* what used a token that nobody was granted; twice the same event */
  CHECK_MALFORMED,          /* the recording itself makes no sense */
  CHECK_CONFIDENT_LOSER,    /* loss, a sample of the same hold that claims time left */
  CHECK_N_KINDS
} CheckKind;

typedef struct
{
  CheckKind kind;
  guint first; /* indices into the events */
  guint second;
  char *text; /* both events in words */
} CheckViolation;

typedef struct
{
  /* How much later than its time-out a call may return. 0: not checked. */
  gint64 max_overrun_ms;
  /* How long the node of a call that gave up may still be in others' way. */
  gint64 residue_ms;
} CheckerRules;

/* events: sorted (recorder_sort). Returns violations, empty when the history is good. */
GPtrArray *checker_run (const GArray *events, const CheckerRules *rules);
/* All of it on stderr. Returns the number of violations. */
guint checker_print (const GPtrArray *violations);

const char *check_kind_to_string (CheckKind kind);

#endif
