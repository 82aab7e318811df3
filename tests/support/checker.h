/* Judges a history: no lock is granted while another holder believes to hold it, fencing tokens
 * rise, every refusal is justified, and every call returns.
 *
 * It judges beliefs, not the server's state: a holder believes from the return of acquire until it
 * calls release, receives LOST, sees its own deadline pass, or dies. When a third party has deleted
 * the holder's node, another may be granted the lock while the holder does not know yet; for how
 * long that may be is said by the deletion's record.
 */
#pragma once

#include "recorder.h"

typedef enum
{
  CHECK_TWO_HOLDERS,        /* earlier grant, later grant */
  CHECK_TOO_MANY_PERMITS,   /* oldest hold, the grant beyond the limit */
  CHECK_TOKEN_NOT_RISING,   /* grant with the higher token, later grant with a lower one */
  CHECK_TOKEN_TWICE,        /* both grants */
  CHECK_NO_TOKEN,           /* call, grant */
  CHECK_REENTRY_TOKEN,      /* first grant, re-entry with another token */
  CHECK_DEAD_SESSION,       /* end of the session, grant */
  CHECK_AFTER_DEATH,        /* death, a later event of the dead process */
  CHECK_FALSE_BUSY,         /* call, return */
  CHECK_EARLY_TIMEOUT,      /* call, return */
  CHECK_LATE_RETURN,        /* call, return */
  CHECK_NEVER_RETURNED,     /* call, last event of the history */
  CHECK_RELEASE_OF_NOTHING, /* release called, release returned */
  CHECK_STALE_WRITE,        /* write with the higher token, later write with a lower one */
  CHECK_FORGED_TOKEN,       /* the use of a token that was never granted; twice the same event */
  CHECK_MALFORMED,          /* the recording itself is inconsistent */
  CHECK_CONFIDENT_LOSER,    /* loss, a sample of the same hold that claims time left */
  CHECK_LATE_LOSS,          /* deletion by a third party, the late end of the belief */
  CHECK_N_KINDS
} CheckKind;

typedef struct
{
  CheckKind kind;
  guint first; /* indices into the events */
  guint second;
  char *text; /* describes both events */
} CheckViolation;

typedef struct
{
  /* How much later than its timeout a call may return. 0: not checked. */
  gint64 max_overrun_ms;
  /* How long the node of an abandoned call may still block others. */
  gint64 residue_ms;
} CheckerRules;

/* events: sorted (recorder_sort). Returns violations, empty when the history is good. */
GPtrArray *checker_run (const GArray *events, const CheckerRules *rules);
/* Prints all violations on stderr. Returns their number. */
guint checker_print (const GPtrArray *violations);

const char *check_kind_to_string (CheckKind kind);
