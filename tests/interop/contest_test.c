#include "contest_test.h"

static int
count_sequential (RawZk *raw, const char *path)
{
  g_auto (GStrv) names = raw_zk_children (raw, path);
  int n = 0;
  for (char **name = names; name != NULL && *name != NULL; name++) {
    g_autofree char *child = g_strconcat (path, "/", *name, NULL);
    n += g_regex_match_simple ("[0-9]{10}$", *name, 0, 0) + count_sequential (raw, child);
  }
  return n;
}

GArray *
assert_contest (RawZk *raw, const ContestPlan *plan)
{
  GArray *events = NULL;
  g_autofree char *parent = g_path_get_dirname (plan->path);
  g_autofree char *problem = contest_run (plan, &events);
  if (problem != NULL)
    fail_msg ("%s: %s", plan->path, problem);
  assert_int_equal (count_sequential (raw, parent), 0);
  return events;
}
