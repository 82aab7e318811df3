#include "contest_test.h"

#include "support/raw_zk.h"

int
contest_server_start (void **state)
{
  *state = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  return *state != NULL ? 0 : -1;
}

int
contest_server_stop (void **state)
{
  zk_server_stop (*state);
  return 0;
}

void
assert_good_history (const GArray *events)
{
  const CheckerRules rules = { .residue_ms = 1000 };
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  assert_int_equal (checker_print (violations), 0);
}

GArray *
contest_three (ZkServer *server, const char *path, const char *c_recipe, const char *java_recipe,
               int threads, int acquisitions, int hold_ms, int limit)
{
  const ContestProcess processes[] = { { c_recipe, FALSE, threads, acquisitions },
                                       { c_recipe, FALSE, threads, acquisitions },
                                       { java_recipe, TRUE, threads, acquisitions },
                                       { NULL, FALSE, 0, 0 } };
  const ContestPlan plan = { .connect_string = zk_server_address (server),
                             .path = path,
                             .processes = processes,
                             .hold_ms = hold_ms,
                             .limit = limit };
  GArray *events = contest_run (&plan, 90000);
  assert_non_null (events);
  assert_good_history (events);
  assert_int_equal (contest_grants (events, 0), 3 * threads * acquisitions);
  return events;
}

void
assert_none_below (ZkServer *server, const char *path)
{
  g_autoptr (RawZk) raw = raw_zk_open (zk_server_address (server));
  assert_true (raw_zk_count_children (raw, path) <= 0);
}

void
assert_semaphore_is_free (ZkServer *server, const char *path)
{
  g_autofree char *leases = g_strconcat (path, "/leases", NULL);
  g_autofree char *locks = g_strconcat (path, "/locks", NULL);
  assert_none_below (server, leases);
  assert_none_below (server, locks);
}
