/* What a contender that comes back guesses, case by case. */
#include "retry/return_guess.h"
#include "unit.h"

#define TURN 1000

/* A turn lasted TURN: our own and those of three in front took four of them. */
static CuratorReturnGuess
guess_with (gint64 reply_us, gint64 least_reply_us)
{
  return (CuratorReturnGuess){ .listed_us = 500,
                               .reply_us = reply_us,
                               .least_reply_us = least_reply_us,
                               .left_us = 500 + 4 * TURN,
                               .n_in_front = 3,
                               .n_behind = 8 };
}

/* Half of the eight behind have had their turns after four of them. */
static void
test_who_is_still_there (void **state)
{
  CuratorReturnGuess guess = guess_with (0, 0);
  const gint64 left_us = guess.left_us;

  assert_true (curator_return_guess_is_likely (&guess, left_us));
  assert_true (curator_return_guess_is_likely (&guess, left_us + 4 * TURN));
  assert_false (curator_return_guess_is_likely (&guess, left_us + 4 * TURN + 1));
  guess.n_behind = G_MAXINT32;
  assert_true (curator_return_guess_is_likely (&guess, left_us + CURATOR_RETURN_US));
  assert_false (curator_return_guess_is_likely (&guess, left_us + CURATOR_RETURN_US + 1));
}

static void
test_farther_if_turns_wait_for_replies (void **state)
{
  static const struct
  {
    gint64 reply_us;
    gint64 least_reply_us;
    gboolean is_farther;
  } cases[] = {
    { TURN / 2, TURN, FALSE },            /* a list takes half of a turn: in time */
    { TURN / 2 + 1, TURN, TRUE },         /* from here on it may be late */
    { TURN * 3 / 2 - 1, 2 * TURN, TRUE }, /* and up to here one place farther helps */
    { TURN * 3 / 2, 2 * TURN, FALSE },
    { TURN, TURN, TRUE },
    { TURN, TURN * 4 / 5 + 1, TRUE },
    { TURN, TURN * 4 / 5, FALSE }, /* replies wait for processors */
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const CuratorReturnGuess guess = guess_with (cases[i].reply_us, cases[i].least_reply_us);
      assert_int_equal (curator_return_guess_is_farther (&guess), cases[i].is_farther);
    }
}

/* Short replies: the pause ends half a reply before one node is left. */
static void
test_pause (void **state)
{
  static const struct
  {
    gint64 reply_us;
    gint64 least_reply_us;
    gint64 distance;
    gint64 pause_us;
  } cases[] = {
    { 100, 100, CURATOR_RETURN_PLACES, 0 },               /* one is left already */
    { 100, 100, CURATOR_RETURN_PLACES + 1, 100 },         /* never longer than a list takes */
    { 4 * TURN, 1, CURATOR_RETURN_PLACES + 2, 0 },        /* not worth it: nothing is left of it */
    { 4 * TURN, 1, CURATOR_RETURN_PLACES + 3, 0 },        /* a quarter of a reply is too little */
    { 4 * TURN, 1, CURATOR_RETURN_PLACES + 4, 2 * TURN }, /* until one is left, less half a reply */
    { 4 * TURN, 1, CURATOR_RETURN_PLACES + 9, 4 * TURN },
    { TURN, TURN, CURATOR_RETURN_PLACES + 9, 0 }, /* turns wait for replies: at once */
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const CuratorReturnGuess guess = guess_with (cases[i].reply_us, cases[i].least_reply_us);
      assert_int_equal (curator_return_guess_pause_us (&guess, cases[i].distance),
                        cases[i].pause_us);
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_who_is_still_there),
    cmocka_unit_test (test_farther_if_turns_wait_for_replies),
    cmocka_unit_test (test_pause),
  };
  return cmocka_run_group_tests (tests, NULL, NULL);
}
