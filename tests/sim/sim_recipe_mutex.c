/* The recipes that are one lock with one holder: mutex, fixed node, semaphore mutex. */
#include "sim_contender.h"

static void
open_mutex (SimMember *member)
{
  member->lock = curator_mutex_new (member->client, member->contest->recipe->path, NULL);
}

static void
open_fixed_node (SimMember *member)
{
  member->lock = curator_fixed_node_lock_new (member->client, member->contest->recipe->path, NULL);
}

static void
open_semaphore_mutex (SimMember *member)
{
  member->lock = curator_semaphore_mutex_new (member->client, member->contest->recipe->path, NULL);
}

static gboolean
inside_semaphore_mutex (SimContender *contender, CuratorLease *lease)
{
  sim_contender_enter_in_vain (contender, lease);
  return FALSE;
}

const SimRecipe sim_recipe_mutex = {
  .name = "mutex", .path = "/sim/mutex", .n_checks = 1, .open = open_mutex
};

const SimRecipe sim_recipe_fixed_node = { .name = "fixed_node",
                                          .path = "/sim/fixed/node",
                                          .n_checks = 1,
                                          .plain_nodes = TRUE,
                                          .open = open_fixed_node };

const SimRecipe sim_recipe_semaphore_mutex = { .name = "semaphore_mutex",
                                               .path = "/sim/semaphore-mutex",
                                               .n_checks = 1,
                                               .shared_hold = TRUE,
                                               .open = open_semaphore_mutex,
                                               .inside = inside_semaphore_mutex };
