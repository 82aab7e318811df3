/* A mutex with a user's driver: every kind of node, with and without a prefix, a predicate, data.
 *
 * The driver and the retry policy call back into the library.
 */
#include "sim_contender.h"

#include <curator/lock_internals.h>

#include <string.h>

typedef struct
{
  gboolean lasts;
  CuratorCreateMode mode;
  gboolean protected_;
  gboolean has_predicate;
  gboolean has_data;
  gboolean nothing_overtakes;
} Plan;

static gboolean
some_chance (SimContest *contest)
{
  return g_rand_boolean (contest->world->rand);
}

/* A persistent node stays when its client is closed or dies, and then nobody is granted
 * anything. */
static void
make_plan (SimContest *contest)
{
  static const CuratorCreateMode modes[2][2] = {
    { CURATOR_CREATE_MODE_EPHEMERAL, CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL },
    { CURATOR_CREATE_MODE_PERSISTENT, CURATOR_CREATE_MODE_PERSISTENT_SEQUENTIAL }
  };
  SimConfig *config = &contest->world->config;
  const gboolean may_last = !contest->rules.closing && config->weights[SIM_FAULT_CRASH] == 0;
  const gboolean lasts = some_chance (contest) && may_last;
  const gboolean is_numbered = some_chance (contest);
  Plan *plan = g_new0 (Plan, 1);

  plan->lasts = lasts;
  plan->mode = modes[lasts][is_numbered];
  plan->protected_ = some_chance (contest);
  plan->has_predicate = some_chance (contest);
  plan->has_data = some_chance (contest) && !lasts;
  plan->nothing_overtakes = some_chance (contest) && is_numbered;
  contest->data = plan;
  config->private_nodes = plan->mode == CURATOR_CREATE_MODE_EPHEMERAL;
  sim_trace (contest->world, "driver: mode %d, protected %d, predicate %d, data %d", plan->mode,
             plan->protected_, plan->has_predicate, plan->has_data);
}

/* Waits for nothing, so any user code may do it. */
static void
call_back (SimMember *member)
{
  G_GNUC_UNUSED g_autoptr (CuratorLock) lock =
      curator_mutex_new (member->client, "/sim/other", NULL);

  curator_client_get_connection_state (member->client);
  curator_client_get_session_id (member->client);
  if (member->lock != NULL)
    curator_lock_is_acquired_in_this_process (member->lock);
}

static void
describe (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data)
{
  SimMember *member = data;
  const Plan *plan = member->contest->data;

  call_back (member);
  curator_node_request_set_mode (request, plan->mode);
  curator_node_request_set_protected (request, plan->protected_);
  if (plan->has_data)
    curator_node_request_set_data (request, "same", 4);
}

/* As in Java, where the index of our own node is taken for granted. */
static void
decide (CuratorLockDriver *driver, const char *const *children, gsize n_children, const char *own,
        guint max_leases, CuratorPredicateResults *results, gpointer data)
{
  SimMember *member = data;
  gsize index = 0;

  call_back (member);
  while (index < n_children && strcmp (children[index], own) != 0)
    index++;
  if (index == n_children) {
    sim_world_fail (member->world, "the driver does not see its own node");
    return;
  }
  results->gets_the_lock = index == 0;
  results->path_to_watch = index == 0 ? NULL : children[index - 1];
}

static void
open_driver (SimMember *member)
{
  const Plan *plan = member->contest->data;
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = describe,
                                         .gets_the_lock = plan->has_predicate ? decide : NULL };
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (&funcs, member, NULL);

  curator_lock_driver_set_nothing_overtakes (driver, plan->nothing_overtakes);
  member->lock = curator_mutex_new_with_driver (member->client, member->contest->recipe->path,
                                                "lock-", 1, driver, NULL);
}

/* Allows three retries, as the contests of other recipes do. */
static gboolean
allow_some (guint retry_count, gint64 elapsed_ms, const GError *error, gint64 *sleep_ms,
            gpointer data)
{
  static const gint64 sleeps[] = { G_MININT64, -1, 0, 1, 300 };
  SimMember *member = data;
  GRand *rand = member->world->rand;

  call_back (member);
  *sleep_ms = sleeps[g_rand_int_range (rand, 0, G_N_ELEMENTS (sleeps))];
  if (member->contest->rules.closing && g_rand_int_range (rand, 0, 10) == 0) {
    member->closed = TRUE;
    curator_client_close (member->client);
  }
  return retry_count < 3;
}

static CuratorRetryPolicy *
make_policy (SimMember *member)
{
  return curator_retry_policy_new_custom (allow_some, member, NULL);
}

static void
expect_nothing_left (SimMember *member)
{
  g_auto (GStrv) children = sim_world_children (member->world, member->contest->recipe->path);
  const Plan *plan = member->contest->data;

  if (plan->lasts && !member->contest->rules.may_leave && children[0] != NULL)
    sim_world_fail (member->world, "residue: a node is left, %s", children[0]);
}

const SimRecipe sim_recipe_driver = { .path = "/sim/driver",
                                      .n_checks = 1,
                                      .set_up = make_plan,
                                      .policy = make_policy,
                                      .open = open_driver,
                                      .close = expect_nothing_left };
