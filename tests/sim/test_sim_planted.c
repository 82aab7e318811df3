/* Runs the schedules of one recipe until the first failure, against a library with a planted bug.
 *
 * plants.cmake selects the recipe and the expected failure, which judge.cmake checks. SIM_SEED
 * replays one schedule.
 */
#include "sim_contest.h"

#include <stdio.h>
#include <stdlib.h>

/* As many as the test of a recipe runs. */
#define MOST_SCHEDULES 20000

int
main (int argc, char **argv)
{
  const char *seed = g_getenv ("SIM_SEED");
  g_autofree char *program = g_path_get_basename (argv[0]);

  sim_prepare (program);
  if (seed != NULL)
    return sim_run_schedule (&SIM_RECIPE, (guint32) strtoul (seed, NULL, 10)) ? 0 : 1;
  for (guint32 i = 0; i < MOST_SCHEDULES; i++) {
    if (!sim_run_schedule (&SIM_RECIPE, i)) {
      fprintf (stderr, "found after %u schedules\n", i + 1);
      return 1;
    }
  }
  fprintf (stderr, "nothing was found in %d schedules\n", MOST_SCHEDULES);
  return 0;
}
