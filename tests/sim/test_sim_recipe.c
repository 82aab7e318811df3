/* One recipe, selected by the build, under seeded schedules. */
#include "sim_contest.h"

int
main (void)
{
  return sim_runner_main (&SIM_RECIPE, SIM_PROGRAM);
}
