/* The schedules of one recipe, until the first that fails; for libraries that have a bug on purpose.
 *
 * plants.cmake says which recipe runs and judge.cmake what the failure has to look like. SIM_SEED
 * replays one schedule.
 */
#include "sim_runner.h"

#include <stdio.h>
#include <stdlib.h>

/* Fewer than any test of a recipe runs. */
#define MOST_SCHEDULES 5000

int
main (void)
{
  const char *seed = g_getenv ("SIM_SEED");

  g_set_prgname (SIM_PROGRAM);
  sim_runner_prepare ();
  if (seed != NULL)
    {
      return sim_run_schedule (&SIM_RECIPE, (guint32) strtoul (seed, NULL, 10)) ? 0 : 1;
    }
  for (guint32 i = 0; i < MOST_SCHEDULES; i++)
    {
      if (!sim_run_schedule (&SIM_RECIPE, i))
        {
          fprintf (stderr, "found after %u schedules\n", i + 1);
          return 1;
        }
    }
  fprintf (stderr, "nothing was found in %d schedules\n", MOST_SCHEDULES);
  return 0;
}
