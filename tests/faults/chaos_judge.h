/* Judges the history of an epoch of chaos: violations, and figures. */
#ifndef CURATOR_TEST_CHAOS_JUDGE_H
#define CURATOR_TEST_CHAOS_JUDGE_H

#include "chaos.h"
#include "figures.h"

typedef enum
{
  CHAOS_AT_SERVERS, /* or between them */
  CHAOS_PATH_SILENT,
  CHAOS_PATH_BAD,
  CHAOS_STOPPED,
  CHAOS_KILLED
} ChaosFaultKind;

typedef struct
{
  ChaosFaultKind kind;
  int process; /* 0: servers */
  gint64 from_ns;
  gint64 to_ns;
} ChaosFault;

/* session_ms: of each process, by number. Returns the number of violations, which are printed. */
guint chaos_judge (const GArray *events, const GArray *faults, const int *session_ms,
                   Figures *figures);

#endif
