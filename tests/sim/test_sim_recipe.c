/* One recipe under seeded schedules; which one, the build says. */
#include "sim_runner.h"

int
main (void)
{
  g_set_prgname (SIM_PROGRAM);
  return sim_runner_main (&SIM_RECIPE);
}
