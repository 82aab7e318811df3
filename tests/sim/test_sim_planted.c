/* A bug was planted in a copy of one source file: the simulator has to find it.
 *
 * The schedules run in a process of their own, because a hang ends it. The build says which recipe
 * runs and what the failure has to look like; SIM_SEED replays one schedule.
 */
#include "sim_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Fewer than any test of a recipe runs. */
#define MOST_SCHEDULES 5000

static int
run_schedules (void)
{
  g_set_prgname (SIM_PROGRAM);
  sim_runner_prepare ();
  for (guint32 seed = 0; seed < MOST_SCHEDULES; seed++)
    {
      if (!sim_run_schedule (&SIM_RECIPE, seed))
        {
          return 1;
        }
    }
  return 0;
}

static void
test_planted_bug_is_found (void **state)
{
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "SIM_PLANTED", "1", TRUE);
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  char *argv[] = { self, NULL };
  g_autofree char *text = NULL;
  g_autofree char *what = NULL;
  g_autoptr (GRegex) wanted = g_regex_new ("^--- (?!trace)(.*(" SIM_EXPECTED ").*)$",
                                           G_REGEX_MULTILINE, (GRegexMatchFlags) 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  const char *seed;
  int status;

  (void) state;
  assert_true (g_spawn_sync (NULL, argv, environment, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                             &text, &status, NULL));
  seed = strstr (text, "SIM_SEED=");
  if (seed == NULL)
    {
      fprintf (stderr, "nothing was found in %d schedules\n", MOST_SCHEDULES);
    }
  else if (!g_regex_match (wanted, text, (GRegexMatchFlags) 0, &match))
    {
      const char *from = strstr (text, "--- trace of");

      fprintf (stderr, "%s\nsomething else was found\n", from == NULL ? text : from);
    }
  else
    {
      what = g_match_info_fetch (match, 1);
      fprintf (stderr, "found after %lu schedules: %s\n",
               strtoul (seed + strlen ("SIM_SEED="), NULL, 10) + 1, what);
    }
  assert_non_null (what);
  assert_false (g_spawn_check_wait_status (status, NULL));
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_planted_bug_is_found) };

  if (g_getenv ("SIM_SEED") != NULL)
    {
      g_set_prgname (SIM_PROGRAM);
      sim_runner_prepare ();
      return sim_run_schedule (&SIM_RECIPE, (guint32) strtoul (g_getenv ("SIM_SEED"), NULL, 10))
                 ? 0
                 : 1;
    }
  if (g_getenv ("SIM_PLANTED") != NULL)
    {
      return run_schedules ();
    }
  return cmocka_run_group_tests (tests, NULL, NULL);
}
