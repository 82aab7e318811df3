#pragma once

#include <glib.h>

/* Milliseconds that are left of the hold, each at most the one before. */
typedef struct
{
  gint64 doubt; /* --on-suspend acts, if the lease has not become SUSPECT earlier */
  gint64 term;
  gint64 kill;
} Moments;

/* most_left_ms: the most that was ever left of this hold, right after an answer. */
Moments moments_of (gint64 session_timeout_ms, gint64 kill_after_ms, gint64 most_left_ms);
