/* When a handle of libzookeeper may be closed. */
#include "unit.h"

#include "zk/zk_rest.h"

#include <pthread.h>

#define DELIVERY_US 50000

typedef struct
{
  CuratorZkRest rest;
  atomic_int has_begun;
} World;

static void *
deliver (void *data)
{
  World *world = data;

  curator_zk_rest_enter (&world->rest);
  atomic_store (&world->has_begun, 1);
  g_usleep (DELIVERY_US);
  curator_zk_rest_leave (&world->rest);
  return NULL;
}

/* The thread that delivers would rest otherwise, and the close with it. */
TEST (a_delivery_ends_before_the_close)
{
  World world = { .has_begun = 0 };
  pthread_t thread;

  assert_int_equal (pthread_create (&thread, NULL, deliver, &world), 0);
  while (atomic_load (&world.has_begun) == 0)
    g_usleep (1000);
  curator_zk_rest_close (&world.rest);
  assert_int_equal (atomic_load (&world.rest.n_ended), 1);
  pthread_join (thread, NULL);
}

SUITE ("zk_rest", NULL, NULL)
