/* When the command is stopped, asked to end and killed, for every session timeout. Pure. */
#include "base/moments.h"

#define MOST_MARGIN_MS 250
#define MARGIN_SHARE   16
#define ENDING_SHARE   5 /* of the session timeout, for a command to act on TERM */
#define DOUBT_SHARE    16
#define BEAT_SHARE     6 /* the library's heartbeats */

/* Shares of the session timeout: with a short one, a single late heartbeat must not end the
 * command. Below about 10 s TERM is due before the lease becomes SUSPECT, so doubt begins by the
 * time that is left: before TERM, and no earlier than halfway between a heartbeat that is due and
 * TERM. */
Moments
moments_of (gint64 session_timeout_ms, gint64 kill_after_ms, gint64 most_left_ms)
{
  const gint64 kill = MIN (MOST_MARGIN_MS, session_timeout_ms / MARGIN_SHARE);
  const gint64 term = kill + MIN (kill_after_ms, session_timeout_ms / ENDING_SHARE);
  const gint64 room = most_left_ms - session_timeout_ms / BEAT_SHARE - term;

  return (Moments){ .doubt = term + CLAMP (room / 2, 0, session_timeout_ms / DOUBT_SHARE),
                    .term = term,
                    .kill = kill };
}
