/* What a contender that comes back to a queue guesses from its last turn there. Pure; any thread. */
#pragma once

#include <glib.h>

/* A contender that was away for longer lists at its arrival: those that were behind it may have gone
 * meanwhile, and finding that out costs a round trip. */
#define CURATOR_RETURN_US G_USEC_PER_SEC
/* A contender that comes back waits behind a node that is probably so many places ahead: one node is then
 * still in front when it lists. Farther ahead it would know more nodes in front, and read each of them. */
#define CURATOR_RETURN_PLACES 2

/* Microseconds, by one clock. */
typedef struct
{
  gint64 listed_us;      /* when the last list of the turn was sent */
  gint64 reply_us;       /* how long its reply took */
  gint64 least_reply_us; /* the quickest reply of the session */
  gint64 left_us;        /* when the turn was over */
  guint n_in_front;      /* of the own node, by that list */
  guint n_behind;
} CuratorReturnGuess;

/* Whether the last nodes of that list are still in the queue. */
gboolean curator_return_guess_is_likely (const CuratorReturnGuess *guess, gint64 now_us);
/* Whether to wait one place further back. */
gboolean curator_return_guess_is_farther (const CuratorReturnGuess *guess);
/* The node that was waited for, so many numbers ahead, has ended: how long to wait with the list, so that it
 * probably shows one node in front. */
gint64 curator_return_guess_pause_us (const CuratorReturnGuess *guess, gint64 distance);
