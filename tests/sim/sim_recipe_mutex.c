/* The recipes that are one lock with one holder: mutex, fixed node, semaphore mutex. */
#include "sim_contender.h"

#define OPEN(function)                                                                             \
  static void open_##function (SimMember *member)                                                  \
  {                                                                                                \
    member->lock = function (member->client, member->contest->recipe->path, NULL);                 \
  }

OPEN (curator_mutex_new)
OPEN (curator_fixed_node_lock_new)
OPEN (curator_semaphore_mutex_new)

static gboolean
inside_semaphore_mutex (SimContender *contender, CuratorLease *lease)
{
  sim_contender_enter_in_vain (contender, lease);
  return FALSE;
}

const SimRecipe sim_recipe_mutex = { .path = "/sim/mutex",
                                     .n_checks = 1,
                                     .open = open_curator_mutex_new };

const SimRecipe sim_recipe_fixed_node = { .path = "/sim/fixed/node",
                                          .n_checks = 1,
                                          .plain_nodes = TRUE,
                                          .open = open_curator_fixed_node_lock_new };

const SimRecipe sim_recipe_semaphore_mutex = { .path = "/sim/semaphore-mutex",
                                               .n_checks = 1,
                                               .shared_hold = TRUE,
                                               .open = open_curator_semaphore_mutex_new,
                                               .inside = inside_semaphore_mutex };
