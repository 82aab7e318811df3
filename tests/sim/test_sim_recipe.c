/* One recipe, selected by the build, under seeded schedules. */
#include "sim_runner.h"

int
main (void)
{
  g_set_prgname (SIM_PROGRAM);
  return sim_runner_main (&SIM_RECIPE);
}
