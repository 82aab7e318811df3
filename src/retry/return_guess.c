/* What a contender that comes back guesses: who is still in the queue, and how long a turn lasts.
 *
 * Curator has no counterpart: its contenders list at each arrival. Pure; any thread.
 */
#include "retry/return_guess.h"

static gint64
turn_us (const CuratorReturnGuess *guess)
{
  return (guess->left_us - guess->listed_us) / (guess->n_in_front + 1);
}

/* The last one behind our node is there for certain only if we have come back before half of them can have
 * had their turns, if a turn lasts as long as those before. */
gboolean
curator_return_guess_is_likely (const CuratorReturnGuess *guess, gint64 now_us)
{
  const gint64 away_us = now_us - guess->left_us;
  return away_us <= CURATOR_RETURN_US && away_us <= turn_us (guess) * (guess->n_behind / 2);
}

/* If a turn takes about as long as a reply, so that the list arrives in time. Not if replies are slow because the
 * processors are busy, so that they take much longer than the quickest one: then fewer requests are better. */
gboolean
curator_return_guess_is_farther (const CuratorReturnGuess *guess)
{
  const gint64 turn = turn_us (guess);
  return turn < 2 * guess->reply_us && guess->reply_us < turn * 3 / 2
         && guess->reply_us < guess->least_reply_us * 5 / 4;
}

/* No longer than a list takes, for the turns may be shorter this time. */
gint64
curator_return_guess_pause_us (const CuratorReturnGuess *guess, gint64 distance)
{
  const gint64 until_one_is_left =
      turn_us (guess) * (distance - CURATOR_RETURN_PLACES) - guess->reply_us / 2;
  const gboolean is_worth_it = until_one_is_left > guess->reply_us / 4;
  return is_worth_it && !curator_return_guess_is_farther (guess)
             ? MIN (until_one_is_left, guess->reply_us)
             : 0;
}
