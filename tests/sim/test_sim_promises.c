/* Promises that random schedules rarely exercise, each in a small scene.
 *
 * SIM_TEST=test_foreign_children runs one.
 */
#include "sim_scene.h"

#include "core/client-record.h"

#include <string.h>

/* --- a lost connection makes a hold suspect --------------------------------------------------- */

static void
hold_over_an_outage (Scene *scene, SceneMachine *a)
{
  g_autoptr (CuratorLease) lease = scene_hold (scene, a->mutex);
  sim_world_strike (scene->world, SIM_FAULT_OUTAGE, a->process, G_USEC_PER_SEC);
  AWAIT (scene,
         curator_client_get_connection_state (a->client) == CURATOR_CONNECTION_STATE_SUSPENDED);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_SUSPECT);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) > 0);
  AWAIT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_HELD);
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

SCENE_TEST (test_suspended_makes_suspect, .roles = { hold_over_an_outage })

/* --- an abandoned attempt leaves no watch ----------------------------------------------------- */

static void
hold_until_over (Scene *scene, SceneMachine *a)
{
  G_GNUC_UNUSED g_autoptr (CuratorLease) lease = scene_hold (scene, a->mutex);
  scene->held = TRUE;
  AWAIT (scene, scene->over);
}

static void
give_up_often (Scene *scene, SceneMachine *b)
{
  AWAIT (scene, scene->held);
  for (int i = 0; i < 5; i++)
    {
      g_autoptr (GError) error = NULL;
      EXPECT (scene, !curator_lock_acquire (b->mutex, 50, NULL, &error));
      EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_TIMED_OUT));
    }
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, scene_n_children (scene, SCENE_PATH) == 1);
  EXPECT (scene, sim_process_server_watches (b->process) == 0);
  EXPECT (scene, sim_process_client_watches (b->process) == 0);
  scene->over = TRUE;
}

SCENE_TEST (test_no_watch_after_timeout, .roles = { hold_until_over, give_up_often })

/* --- a waiter keeps its place ----------------------------------------------------------------- */

static void
take_turn (Scene *scene, int i)
{
  SceneMachine *machine = &scene->machines[i];
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (machine->mutex, -1, NULL, &error);

  EXPECT (scene, lease != NULL);
  g_string_append_c (scene->order, (char) ('A' + i));
  sim_sleep_ms (scene->world, 10);
}

static void
hold_until_both_wait (Scene *scene, SceneMachine *me)
{
  g_autoptr (CuratorLease) lease G_GNUC_UNUSED =
      curator_lock_acquire_lease (me->mutex, -1, NULL, NULL);

  scene->held = TRUE;
  AWAIT (scene, scene->waited);
  sim_sleep_ms (scene->world, 5000);
  EXPECT (scene, scene_n_children (scene, SCENE_PATH) == 3);
}

static void
wait_first (Scene *scene, SceneMachine *me)
{
  AWAIT (scene, scene->held);
  take_turn (scene, 1);
}

static void
wait_second (Scene *scene, SceneMachine *me)
{
  AWAIT (scene, scene->held && scene_n_children (scene, SCENE_PATH) == 2);
  scene->waited = TRUE;
  take_turn (scene, 2);
}

static void
expect_order (Scene *scene)
{
  EXPECT (scene, strcmp (scene->order->str, "BC") == 0);
}

SCENE_TEST (test_waiters_keep_their_place,
            .roles = { hold_until_both_wait, wait_first, wait_second }, .check = expect_order)

/* --- at the end of the counter: refused, never two holders ------------------------------------ */

static void
take_until_refused (Scene *scene, SceneMachine *me)
{
  for (int round = 0; round < 10; round++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (me->mutex, -1, NULL, &error);

      if (lease == NULL)
        {
          EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_SEQUENCE_EXHAUSTED));
          scene->n_refused++;
          continue;
        }
      scene->n_holders++;
      EXPECT (scene, scene->n_holders == 1);
      sim_sleep_ms (scene->world, 5);
      scene->n_holders--;
    }
}

static void
reach_the_end_first (Scene *scene, SceneMachine *me)
{
  EXPECT (scene, curator_lock_acquire (me->mutex, -1, NULL, NULL));
  EXPECT (scene, curator_lock_release (me->mutex, CURATOR_WAIT_DEFAULT, NULL, NULL));
  sim_world_set_counter (scene->world, SCENE_PATH, G_MAXINT32 - 2);
  scene->held = TRUE;
  take_until_refused (scene, me);
}

static void
reach_the_end (Scene *scene, SceneMachine *me)
{
  AWAIT (scene, scene->held);
  take_until_refused (scene, me);
}

static void
expect_refusals (Scene *scene)
{
  EXPECT (scene, scene->n_refused > 0);
}

SCENE_TEST (test_end_of_the_counter, .roles = { reach_the_end_first, reach_the_end, reach_the_end },
            .check = expect_refusals)

/* --- foreign children are ignored ------------------------------------------------------------- */

static void
put_foreign_children (Scene *scene, const char *path)
{
  static const char *const names[] = { "notes", "lock-", "lease-12", "lease-00000000x1", "%n" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *child = g_strconcat (path, "/", names[i], NULL);
      EXPECT (scene, sim_world_put (scene->world, child, "", 0));
    }
}

static void
acquire_among_foreign (Scene *scene, SceneMachine *a)
{
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new (a->client, SCENE_PATH "/s", 2, NULL);

  for (int round = 0; round < 2; round++)
    {
      g_autoptr (GPtrArray) leases = curator_semaphore_acquire_n (semaphore, 2, 5000, NULL, NULL);

      EXPECT (scene, leases != NULL);
      EXPECT (scene, curator_lock_acquire (a->mutex, 5000, NULL, NULL));
      curator_lock_release (a->mutex, CURATOR_WAIT_DEFAULT, NULL, NULL);
      if (round == 0)
        {
          put_foreign_children (scene, SCENE_PATH "/s/locks");
          put_foreign_children (scene, SCENE_PATH "/s/leases");
          put_foreign_children (scene, SCENE_PATH);
        }
    }
}

SCENE_TEST (test_foreign_children, .roles = { acquire_among_foreign })

/* --- raising the limit admits the next waiter at once ----------------------------------------- */

static void
share_a_count (Scene *scene, SceneMachine *a)
{
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (a->client, SCENE_PATH "/n", 1, NULL);

  EXPECT (scene, curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, NULL));
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (a->client, SCENE_PATH "/s", count, NULL);
  g_autoptr (CuratorLease) only = curator_semaphore_acquire (semaphore, -1, NULL, NULL);
  EXPECT (scene, only != NULL);
  scene->held = TRUE;
  AWAIT (scene, scene_n_children (scene, SCENE_PATH "/s/leases") == 2);
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, !scene->over);
  EXPECT (scene, curator_shared_count_set (count, 2, CURATOR_WAIT_DEFAULT, NULL, NULL));
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, scene->over);
}

static void
wait_for_a_larger_count (Scene *scene, SceneMachine *b)
{
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (b->client, SCENE_PATH "/n", 1, NULL);

  AWAIT (scene, scene->held);
  EXPECT (scene, curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, NULL));
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (b->client, SCENE_PATH "/s", count, NULL);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, -1, NULL, NULL);
  EXPECT (scene, lease != NULL);
  scene->over = TRUE;
}

SCENE_TEST (test_more_leases_at_once, .roles = { share_a_count, wait_for_a_larger_count })

/* --- a callback may block --------------------------------------------------------------------- */

static void
on_acquired_take_another (CuratorLock *lock, CuratorLease *lease, const GError *error,
                          gpointer data)
{
  Scene *scene = data;
  g_autoptr (CuratorLease) owned = lease;
  g_autoptr (CuratorLock) other = curator_mutex_new (scene->machines[0].client, "/sim/other", NULL);

  EXPECT (scene, owned != NULL);
  EXPECT (scene, curator_lock_acquire (other, -1, NULL, NULL));
  EXPECT (scene, curator_lock_release (other, CURATOR_WAIT_DEFAULT, NULL, NULL));
  scene->over = TRUE;
}

static void
acquire_with_callback (Scene *scene, SceneMachine *me)
{
  curator_lock_acquire_then (me->mutex, -1, NULL, on_acquired_take_another, scene);
  AWAIT (scene, scene->over);
}

SCENE_TEST (test_callbacks_may_block, .roles = { acquire_with_callback })

/* --- a release that cannot be confirmed still ends the hold ----------------------------------- */

static void
release_in_an_outage (Scene *scene, SceneMachine *a)
{
  g_autoptr (GError) error = NULL;

  EXPECT (scene, curator_lock_acquire (a->mutex, -1, NULL, NULL));
  sim_world_strike (scene->world, SIM_FAULT_OUTAGE, a->process, 20 * G_USEC_PER_SEC);
  AWAIT (scene,
         curator_client_get_connection_state (a->client) == CURATOR_CONNECTION_STATE_SUSPENDED);
  EXPECT (scene, !curator_lock_release (a->mutex, CURATOR_WAIT_DEFAULT, NULL, &error));
  EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_RELEASE_PENDING));
  EXPECT (scene, !curator_lock_is_owned_by_current_thread (a->mutex));
  EXPECT (scene, !curator_lock_is_acquired_in_this_process (a->mutex));
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 0);
  EXPECT (scene, curator_lock_acquire (a->mutex, -1, NULL, NULL));
  EXPECT (scene, curator_lock_release (a->mutex, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

SCENE_TEST (test_release_in_an_outage, .roles = { release_in_an_outage })

/* --- a release waits no longer than it was told, whatever the servers do ---------------------- */

#define BOUND_MS         300
#define LATE_MS          50
#define ASYNC_BOUND_MS   15000 /* the connection timeout */
#define STOPPED_S        20
#define PERMITS_PATH     SCENE_PATH "-permits"
#define WAITING_RELEASES 3

typedef struct
{
  Scene *scene;
  CuratorLock *other;
  CuratorLease *lease;
  CuratorLease *by_callback;
  CuratorSemaphore *semaphore;
  GPtrArray *permits;
  gint64 answered_us;
  GError *answer;
} Bounded;

static void
on_bounded_release (CuratorLease *lease, const GError *error, gpointer data)
{
  Bounded *bounded = data;
  bounded->answer = error != NULL ? g_error_copy (error) : NULL;
  bounded->answered_us = sim_world_now_us (bounded->scene->world);
}

static void
expect_pending (Scene *scene, gboolean released, GError **error, gint64 took_us, gint64 bound_ms)
{
  EXPECT (scene, !released && scene_has_error (error, CURATOR_ERROR_RELEASE_PENDING));
  EXPECT (scene, took_us >= bound_ms * 1000 && took_us <= (bound_ms + LATE_MS) * 1000);
}

static gboolean
release_one (Bounded *bounded, guint which, GError **error)
{
  return which == 0
             ? curator_lock_release (bounded->scene->machines[0].mutex, BOUND_MS, NULL, error)
         : which == 1 ? curator_lease_release (bounded->lease, BOUND_MS, NULL, error)
                      : curator_semaphore_return_all (bounded->semaphore, bounded->permits,
                                                      BOUND_MS, NULL, error);
}

static void
hold_everything (Bounded *bounded)
{
  Scene *scene = bounded->scene;
  SceneMachine *a = &scene->machines[0];

  bounded->other = curator_mutex_new (a->client, SCENE_PATH "-other", NULL);
  bounded->semaphore = curator_semaphore_new (a->client, PERMITS_PATH, 3, NULL);
  EXPECT (scene, curator_lock_acquire (a->mutex, -1, NULL, NULL));
  bounded->lease = curator_lock_acquire_lease (bounded->other, -1, NULL, NULL);
  bounded->permits = curator_semaphore_acquire_n (bounded->semaphore, 2, -1, NULL, NULL);
  bounded->by_callback = curator_semaphore_acquire (bounded->semaphore, -1, NULL, NULL);
}

static void
let_go (Bounded *bounded)
{
  g_clear_error (&bounded->answer);
  g_ptr_array_unref (bounded->permits);
  curator_lease_unref (bounded->lease);
  curator_lease_unref (bounded->by_callback);
  curator_semaphore_unref (bounded->semaphore);
  curator_lock_unref (bounded->other);
}

/* The servers take what is sent and answer nothing, until they go on. */
static void
release_from_a_stopped_server (Scene *scene, SceneMachine *me)
{
  Bounded bounded = { .scene = scene };
  hold_everything (&bounded);

  const gint64 session = curator_client_get_session_id (me->client);
  sim_world_strike (scene->world, SIM_FAULT_FREEZE, NULL, STOPPED_S * G_USEC_PER_SEC);
  const gint64 asked_us = sim_world_now_us (scene->world);
  curator_lease_release_then (bounded.by_callback, CURATOR_WAIT_DEFAULT, NULL, on_bounded_release,
                              &bounded);
  for (guint i = 0; i < WAITING_RELEASES; i++)
    {
      g_autoptr (GError) error = NULL;
      const gint64 start_us = sim_world_now_us (scene->world);
      const gboolean released = release_one (&bounded, i, &error);
      expect_pending (scene, released, &error, sim_world_now_us (scene->world) - start_us,
                      BOUND_MS);
    }
  AWAIT (scene, bounded.answered_us != 0);
  expect_pending (scene, bounded.answer == NULL, &bounded.answer, bounded.answered_us - asked_us,
                  ASYNC_BOUND_MS);
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 0
                    && scene_n_children (scene, SCENE_PATH "-other") == 0
                    && scene_n_children (scene, PERMITS_PATH "/leases") == 0);
  EXPECT (scene, curator_client_get_session_id (me->client) == session);
  let_go (&bounded);
}

SCENE_TEST (test_bounded_releases, .roles = { release_from_a_stopped_server })

/* --- expiry deletes the session's own node in front: that grants nothing ---------------------- */

static void
on_second_grant (CuratorLock *lock, CuratorLease *second, const GError *error, gpointer data)
{
  Scene *scene = data;

  EXPECT (scene, second != NULL && curator_lease_get_state (second) == CURATOR_LEASE_HELD);
  EXPECT (scene, second != NULL && scene->n_holders == 0);
  g_clear_pointer (&second, curator_lease_unref);
  scene->over = TRUE;
}

static void
expire_while_waiting (Scene *scene, SceneMachine *a)
{
  G_GNUC_UNUSED g_autoptr (CuratorLease) first = scene_hold (scene, a->mutex);
  scene->held = TRUE;
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 2);
  curator_lock_acquire_then (a->mutex, -1, NULL, on_second_grant, scene);
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 3);
  scene->waited = TRUE;
  /* The waiter between the two gives up, and another queues behind the second. */
  AWAIT (scene, scene->n_refused == 1 && scene_n_children (scene, SCENE_PATH) == 3);
  sim_sleep_ms (scene->world, 2000);
  sim_world_strike (scene->world, SIM_FAULT_EXPIRE, a->process, 0);
  AWAIT (scene, scene->over);
}

static void
stand_between (Scene *scene, SceneMachine *b)
{
  g_autoptr (GError) error = NULL;

  AWAIT (scene, scene->held);
  EXPECT (scene, !curator_lock_acquire (b->mutex, 3000, NULL, &error));
  EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_TIMED_OUT));
  scene->n_refused++;
}

/* While it holds, nobody else may be granted the lock. */
static void
hold_alone (Scene *scene, CuratorLock *mutex)
{
  g_autoptr (CuratorLease) lease = scene_hold (scene, mutex);
  scene->n_holders++;
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, !scene->over);
  scene->n_holders--;
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

static void
hold_after_the_end (Scene *scene, SceneMachine *c)
{
  AWAIT (scene, scene->n_refused == 1);
  hold_alone (scene, c->mutex);
}

SCENE_TEST (test_own_end_grants_nothing,
            .roles = { expire_while_waiting, stand_between, hold_after_the_end })

/* --- a member of a multi-lock is lost --------------------------------------------------------- */

#define LOST_PATH   "/sim/lost"
#define WAITED_PATH "/sim/waited"

static CuratorLock *
nested_lock (SceneMachine *machine)
{
  const char *const paths[] = { LOST_PATH, WAITED_PATH, NULL };
  g_autoptr (CuratorLock) inner = curator_multi_lock_new_for_paths (machine->client, paths, NULL);
  return curator_multi_lock_new (&inner, 1);
}

static void
hold_the_waited_one (Scene *scene, SceneMachine *me)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (me->client, WAITED_PATH, NULL);

  EXPECT (scene, curator_lock_acquire (lock, -1, NULL, NULL));
  scene->held = TRUE;
  AWAIT (scene,
         scene_n_children (scene, WAITED_PATH) == 2 && scene_n_children (scene, LOST_PATH) == 1);
  g_auto (GStrv) nodes = sim_world_children (scene->world, LOST_PATH);
  g_autofree char *node = g_strconcat (LOST_PATH "/", nodes[0], NULL);
  EXPECT (scene, sim_world_delete (scene->world, node));
  sim_sleep_ms (scene->world, 20000); /* a heartbeat later its holder knows */
  EXPECT (scene, curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

/* Both ways of holding take turns under the seeds. */
static void
acquire_both (Scene *scene, SceneMachine *me)
{
  g_autoptr (CuratorLock) both = nested_lock (me);

  AWAIT (scene, scene->held);
  if (g_rand_boolean (sim_world_rand (scene->world)))
    {
      EXPECT (scene, curator_lock_acquire (both, 60000, NULL, NULL));
      EXPECT (scene, curator_lock_is_owned_by_current_thread (both));
      g_autoptr (CuratorLease) held = curator_lock_dup_lease (both);
      EXPECT (scene, held != NULL && curator_lease_get_remaining_ms (held) > 0);
      EXPECT (scene, curator_lock_release (both, CURATOR_WAIT_DEFAULT, NULL, NULL));
      return;
    }
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (both, 60000, NULL, NULL);
  EXPECT (scene, lease != NULL && curator_lease_get_state (lease) == CURATOR_LEASE_HELD);
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

SCENE_TEST (test_member_lost_while_waiting, .roles = { hold_the_waited_one, acquire_both })

/* --- a shared count that a server refuses to let us follow is followed a little later --------- */

static void
follow_after_a_refusal (Scene *scene, SceneMachine *a)
{
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (a->client, "/sim/count", 1, NULL);

  /* start reads it once, and once more with a watch. */
  sim_world_script (scene->world, a->process, SIM_OP_GET, 2, ZTHROTTLEDOP, SIM_BEFORE_EFFECT);
  EXPECT (scene, curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, NULL));
  sim_sleep_ms (scene->world, 5000);
  sim_world_set_number (scene->world, "/sim/count", 5);
  AWAIT (scene, curator_shared_count_get (count) == 5);
  curator_shared_count_close (count);
}

SCENE_TEST (test_count_is_followed_after_a_refusal, .roles = { follow_after_a_refusal })

/* --- a retry timer ends with the state that it was for ---------------------------------------- */

static int n_stopped; /* schedules in which a timer had to be stopped */

static guint
n_lists (Scene *scene)
{
  return sim_world_n_requests (scene->world, scene->machines[0].process, SIM_OP_CHILDREN);
}

static void
never_told (CuratorSemaphore *semaphore, GPtrArray *leases, const GError *error, gpointer data)
{
  g_clear_pointer (&leases, g_ptr_array_unref);
}

/* The limit and the children of a waiter change: it lists, and sets its watch again. One of these
 * two reads is refused; the answer to the other lets it wait again. A timer that goes on then would
 * send one more list. Where the refusal comes last, the timer sends a list and the watch. */
static void
refuse_one_of_two_lists (Scene *scene, SceneMachine *a)
{
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (a->client, "/sim/count", 1, NULL);
  EXPECT (scene, curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, NULL));
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (a->client, "/sim/permits", count, NULL);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, -1, NULL, NULL);
  EXPECT (scene, lease != NULL);
  curator_semaphore_acquire_then (semaphore, 1, -1, NULL, never_told, NULL);
  sim_sleep_ms (scene->world, 1000);

  GRand *rand = sim_world_rand (scene->world);
  const guint before = n_lists (scene);
  sim_world_script (scene->world, a->process, SIM_OP_CHILDREN,
                    (guint) g_rand_int_range (rand, 1, 3), ZTHROTTLEDOP, SIM_BEFORE_EFFECT);
  sim_world_set_number (scene->world, "/sim/count", 0);
  sim_sleep_us (scene->world, g_rand_int_range (rand, 0, 3000));
  sim_world_put (scene->world, "/sim/permits/leases/foreign", "", 0);
  sim_sleep_ms (scene->world, 100);
  const guint soon = n_lists (scene) - before;
  sim_sleep_ms (scene->world, 5000);
  const guint later = n_lists (scene) - before;
  sim_trace (scene->world, "%u lists soon, %u later", soon, later);
  EXPECT (scene, later == soon || later == soon + 2);
  n_stopped += soon >= 2 && later == soon ? 1 : 0;
  curator_shared_count_close (count);
}

TEST (test_timer_ends_with_its_state)
{
  const ScenePlay play = { .roles = { refuse_one_of_two_lists }, .n_seeds = 100 };
  scene_play (&play);
  print_message ("a timer was stopped in %d of 100 schedules\n", n_stopped);
  assert_true (n_stopped > 0);
}

SIM_SUITE ("test_sim_promises")
