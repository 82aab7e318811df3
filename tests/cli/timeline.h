/* What happens to a command under a lock when no server answers any more, as the library's lease
 * clock and zkflock compute it. Pure. */
#pragma once

#include <glib.h>

/* Milliseconds since the last request that was confirmed, for servers that tick every two seconds
 * and --kill-after 2. */
typedef struct
{
  gint64 session_ms;
  gint64 doubt_ms, term_ms, kill_ms, end_ms;
  gint64 grant_ms;    /* the next one, at the earliest */
  gint64 beat_ms;     /* the next request */
  gint64 survived_ms; /* the longest outage, if it begins when that request is due */
} Timeline;

Timeline timeline_of (int session_seconds);
/* How long a confirmed request proves a hold. */
gint64 timeline_proven_ms (gint64 session_ms);
