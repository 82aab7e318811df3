/* A recipe under seeded schedules: many short histories, each with one profile of faults.
 *
 * SIM_SCHEDULES sets their number, SIM_SHARE=4 runs one of four of the usual number, SIM_BASE_SEED
 * sets the first seed; SIM_SEED replays one, SIM_TRACE=1 prints all of it; SIM_TEST=test_calm runs
 * one profile. The seed alone decides the profile and
 * everything else.
 */
#ifndef SIM_RUNNER_H
#define SIM_RUNNER_H

#include "sim_contest.h"

/* The main function of a test of one recipe. */
int sim_runner_main (const SimRecipe *recipe, const char *program);
/* FALSE if the checker has found something. */
gboolean sim_run_schedule (const SimRecipe *recipe, guint32 seed);

#endif
