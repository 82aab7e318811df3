/* Judges the history of an epoch of chaos: violations, and figures. */
#ifndef CURATOR_TEST_CHAOS_JUDGE_H
#define CURATOR_TEST_CHAOS_JUDGE_H

#include "chaos.h"
#include "chaos_kinds.h"
#include "figures.h"

/* What any process asks for, and any server grants. */
#define CHAOS_LONGEST_SESSION_MS 6000

typedef enum
{
  CHAOS_AT_SERVERS, /* or between them */
  CHAOS_PATH_SILENT,
  CHAOS_PATH_BAD,
  CHAOS_STOPPED,
  CHAOS_ASLEEP,
  CHAOS_KILLED,
  CHAOS_ACL,
  CHAOS_QUOTA,
  CHAOS_THIRD_PARTY /* any */
} ChaosFaultKind;

typedef struct
{
  ChaosFaultKind kind;
  int process; /* 0: servers */
  gint64 from_ns;
  gint64 to_ns;
} ChaosFault;

typedef struct
{
  const GArray *faults;  /* ChaosFault */
  const int *session_ms; /* the timeout of each process's sessions, by number */
  const ChaosCells *cells;
  gboolean unequal; /* servers may have granted less or more */
  Figures *figures;
  ChaosKinds *kinds; /* gets the effects that the history shows */
} ChaosCase;

/* Adds to the deletions by third parties for how long their holders may believe. Returns the number
 * of violations, which are printed. */
guint chaos_judge (GArray *events, const ChaosCase *of);

#endif
