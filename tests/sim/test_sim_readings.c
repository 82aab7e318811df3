/* How often the calls of a lock that nobody else wants read a clock, from the call to the last
 * answer.
 *
 * SIM_TEST=test_free_lock runs one scene.
 */
#include "sim_scene.h"

#define MOST_OF_ACQUIRE 8
#define MOST_OF_RELEASE 4
#define TIMEOUT_MS      10000
#define OTHER_PATH      "/sim/other"

static guint
readings_of_acquire (Scene *scene, CuratorLock *lock, gint64 timeout_ms)
{
  const guint before = scene->machines[0]->process->n_readings;
  EXPECT (scene, curator_lock_acquire (lock, timeout_ms, NULL, NULL));
  return scene->machines[0]->process->n_readings - before;
}

/* Until the server has answered, whether or not the call waits for that. */
static guint
readings_of_release (Scene *scene, CuratorLock *lock, gint64 timeout_ms)
{
  const guint before = scene->machines[0]->process->n_readings;
  EXPECT (scene, curator_lock_release (lock, timeout_ms, NULL, NULL));
  sim_sleep_ms (scene->world, 20);
  return scene->machines[0]->process->n_readings - before;
}

/* A deadline costs a reading of its own: when the call began. */
static void
expect_few_readings (Scene *scene, CuratorLock *lock)
{
  EXPECT (scene, readings_of_acquire (scene, lock, CURATOR_WAIT_FOREVER) <= MOST_OF_ACQUIRE - 1);
  EXPECT (scene, readings_of_acquire (scene, lock, CURATOR_WAIT_FOREVER) <= 1);
  EXPECT (scene, readings_of_release (scene, lock, CURATOR_WAIT_FOREVER) == 0);
  EXPECT (scene, readings_of_release (scene, lock, TIMEOUT_MS) <= MOST_OF_RELEASE);
  EXPECT (scene, readings_of_acquire (scene, lock, TIMEOUT_MS) <= MOST_OF_ACQUIRE);
  EXPECT (scene, readings_of_release (scene, lock, CURATOR_WAIT_FOREVER) <= MOST_OF_RELEASE);
}

/* The parent of the nodes exists, and the session's timers are set. */
static void
warm_up (Scene *scene, Machine *me)
{
  EXPECT (scene, curator_lock_acquire (me->lock, CURATOR_WAIT_FOREVER, NULL, NULL));
  EXPECT (scene, curator_lock_release (me->lock, CURATOR_WAIT_FOREVER, NULL, NULL));
}

static void
acquire_and_release (Scene *scene, Machine *me)
{
  warm_up (scene, me);
  expect_few_readings (scene, me->lock);
}

SCENE_TEST (test_free_lock, .roles = { acquire_and_release })

/* The session holds something else, which its heartbeat proves. */
static void
acquire_another (Scene *scene, Machine *machine)
{
  g_autoptr (CuratorLock) other = curator_mutex_new (machine->client, OTHER_PATH, NULL);

  EXPECT (scene, curator_lock_acquire (other, CURATOR_WAIT_FOREVER, NULL, NULL));
  acquire_and_release (scene, machine);
  EXPECT (scene, curator_lock_release (other, CURATOR_WAIT_FOREVER, NULL, NULL));
}

SCENE_TEST (test_second_lock, .roles = { acquire_another })

/* No timer is set any more: those of the heartbeat and of the deadline come on top, each of two
 * clocks. */
static void
acquire_after_a_while (Scene *scene, Machine *me)
{
  warm_up (scene, me);
  sim_sleep_ms (scene->world, 45000);
  EXPECT (scene,
          readings_of_acquire (scene, me->lock, CURATOR_WAIT_FOREVER) <= MOST_OF_ACQUIRE - 1 + 6);
  EXPECT (scene, readings_of_release (scene, me->lock, CURATOR_WAIT_DEFAULT) <= MOST_OF_RELEASE);
}

SCENE_TEST (test_idle_session, .roles = { acquire_after_a_while })

SIM_SUITE ("test_sim_readings")
