/* How often the calls of a lock that nobody else wants read a clock, from the call to the last
 * answer.
 *
 * SIM_TEST=test_free_lock runs one scene.
 */
#include "core/client-record.h"
#include "core/dispatch.h"
#include "sim_scene.h"

#define MOST_OF_ACQUIRE 8
#define MOST_OF_RELEASE 4
#define TIMEOUT_MS      10000
#define OTHER_PATH      "/sim/other"

typedef gint64 (*Clock) (CuratorZkOps *ops);

static Clock monotonic;
static Clock boottime;
static guint n_readings;
/* The world asks a lane when it has work, which a thread that sleeps is not asked. */
static gboolean is_asked;

static gint64
read_monotonic (CuratorZkOps *ops)
{
  n_readings += is_asked ? 0 : 1;
  return monotonic (ops);
}

static gint64
read_boottime (CuratorZkOps *ops)
{
  n_readings += is_asked ? 0 : 1;
  return boottime (ops);
}

static gint64
ready_at (gpointer client, int lane)
{
  is_asked = TRUE;
  const gint64 when = curator_dispatch_ready_at (client, (CuratorLane) lane);
  is_asked = FALSE;
  return when;
}

static gboolean
step (gpointer client, int lane)
{
  return curator_dispatch_step (client, (CuratorLane) lane);
}

static void
count_readings (SceneMachine *machine)
{
  static const SimLanes lanes = { ready_at, step };
  CuratorZkOps *ops = machine->client->ops;

  monotonic = ops->monotonic_us;
  boottime = ops->boottime_us;
  ops->monotonic_us = read_monotonic;
  ops->boottime_us = read_boottime;
  sim_process_set_client (machine->process, &lanes, machine->client);
}

static guint
readings_of_acquire (Scene *scene, CuratorLock *lock, gint64 timeout_ms)
{
  n_readings = 0;
  EXPECT (scene, curator_lock_acquire (lock, timeout_ms, NULL, NULL));
  return n_readings;
}

/* Until the server has answered, whether or not the call waits for that. */
static guint
readings_of_release (Scene *scene, CuratorLock *lock, gint64 timeout_ms)
{
  n_readings = 0;
  EXPECT (scene, curator_lock_release (lock, timeout_ms, NULL, NULL));
  sim_sleep_ms (scene->world, 20);
  return n_readings;
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
warm_up (Scene *scene)
{
  SceneMachine *machine = &scene->machines[0];
  EXPECT (scene, curator_lock_acquire (machine->mutex, CURATOR_WAIT_FOREVER, NULL, NULL));
  EXPECT (scene, curator_lock_release (machine->mutex, CURATOR_WAIT_FOREVER, NULL, NULL));
  count_readings (machine);
}

static void
acquire_and_release (Scene *scene, SceneMachine *me)
{
  warm_up (scene);
  expect_few_readings (scene, me->mutex);
}

TEST (test_free_lock)
{
  scene_play (&(ScenePlay){ .roles = { acquire_and_release } });
}

/* The session holds something else, which its heartbeat proves. */
static void
acquire_another (Scene *scene, SceneMachine *machine)
{
  g_autoptr (CuratorLock) other = curator_mutex_new (machine->client, OTHER_PATH, NULL);

  EXPECT (scene, curator_lock_acquire (other, CURATOR_WAIT_FOREVER, NULL, NULL));
  warm_up (scene);
  expect_few_readings (scene, machine->mutex);
  EXPECT (scene, curator_lock_release (other, CURATOR_WAIT_FOREVER, NULL, NULL));
}

TEST (test_second_lock)
{
  scene_play (&(ScenePlay){ .roles = { acquire_another } });
}

/* No timer is set any more: those of the heartbeat and of the deadline come on top, each of two
 * clocks. */
static void
acquire_after_a_while (Scene *scene, SceneMachine *me)
{
  warm_up (scene);
  sim_sleep_ms (scene->world, 45000);
  EXPECT (scene,
          readings_of_acquire (scene, me->mutex, CURATOR_WAIT_FOREVER) <= MOST_OF_ACQUIRE - 1 + 6);
  EXPECT (scene, readings_of_release (scene, me->mutex, CURATOR_WAIT_DEFAULT) <= MOST_OF_RELEASE);
}

TEST (test_idle_session)
{
  scene_play (&(ScenePlay){ .roles = { acquire_after_a_while } });
}

SIM_SUITE ("test_sim_readings")
