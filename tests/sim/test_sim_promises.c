/* Promises that random schedules rarely exercise, each in a small scene.
 *
 * SIM_TEST=test_foreign_children runs one.
 */
#include "sim_scene.h"

#include "core/client-record.h"

#include <string.h>

/* --- a lost connection makes a hold suspect --------------------------------------------------- */

static void
hold_over_an_outage (Scene *scene, Machine *a)
{
  g_autoptr (CuratorLease) lease = scene_hold (scene, a->lock);
  sim_world_strike (scene->world, SIM_FAULT_OUTAGE, a->process, G_USEC_PER_SEC);
  AWAIT (scene,
         curator_client_get_connection_state (a->client) == CURATOR_CONNECTION_STATE_SUSPENDED);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_SUSPECT);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) > 0);
  AWAIT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD);
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

SCENE_TEST (test_suspended_makes_suspect, .roles = { hold_over_an_outage })

/* --- an abandoned attempt leaves no watch ----------------------------------------------------- */

static void
give_up_often (Scene *scene, Machine *b)
{
  AWAIT (scene, scene->held);
  for (int i = 0; i < 5; i++)
    scene_expect_refused (scene, b->lock, 50, CURATOR_ERROR_TIMED_OUT);
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, scene_n_children (scene, SCENE_PATH) == 1);
  EXPECT (scene, sim_process_server_watches (b->process) == 0);
  EXPECT (scene, sim_process_client_watches (b->process) == 0);
  scene->over = TRUE;
}

SCENE_TEST (test_no_watch_after_timeout, .roles = { scene_hold_until_over, give_up_often })

/* A busy server has not removed the watch yet when it is wanted again, and refuses the read, too. */
static void
give_up_at_a_busy_server (Scene *scene, Machine *b)
{
  AWAIT (scene, scene->held);
  scene_expect_refused (scene, b->lock, 50, CURATOR_ERROR_TIMED_OUT);
  sim_world_script (scene->world, b->process, SIM_OP_UNWATCH, 1, ZTHROTTLEDOP, SIM_BEFORE_EFFECT);
  scene_expect_refused (scene, b->lock, 50, CURATOR_ERROR_TIMED_OUT);
  sim_world_script (scene->world, b->process, SIM_OP_GET, 1, ZTHROTTLEDOP, SIM_BEFORE_EFFECT);
  EXPECT (scene, !curator_lock_acquire (b->lock, 50, NULL, NULL));
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, sim_process_server_watches (b->process) == 0);
  EXPECT (scene, sim_process_client_watches (b->process) == 0);
  scene->over = TRUE;
}

SCENE_TEST (test_no_watch_after_a_refused_read,
            .roles = { scene_hold_until_over, give_up_at_a_busy_server })

/* --- a waiter keeps its place ----------------------------------------------------------------- */

static void
hold_until_both_wait (Scene *scene, Machine *me)
{
  G_GNUC_UNUSED g_autoptr (CuratorLease) lease = scene_hold (scene, me->lock);

  scene->held = TRUE;
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 3);
  sim_sleep_ms (scene->world, 5000);
  EXPECT (scene, scene_n_children (scene, SCENE_PATH) == 3);
}

/* The third machine after the second. */
static void
take_turn (Scene *scene, Machine *me)
{
  AWAIT (scene,
         scene->held && scene_n_children (scene, SCENE_PATH) >= (me == scene->machines[2] ? 2 : 1));
  G_GNUC_UNUSED g_autoptr (CuratorLease) lease = scene_hold (scene, me->lock);
  g_string_append (scene->order, me->process->name);
  sim_sleep_ms (scene->world, 10);
}

static void
expect_order (Scene *scene)
{
  EXPECT (scene, strcmp (scene->order->str, "BC") == 0);
}

SCENE_TEST (test_waiters_keep_their_place, .roles = { hold_until_both_wait, take_turn, take_turn },
            .check = expect_order)

/* --- at the end of the counter: refused, never two holders ------------------------------------ */

static void
reach_the_end (Scene *scene, Machine *me)
{
  if (me == scene->machines[0]) {
    EXPECT (scene, curator_lock_acquire (me->lock, CURATOR_WAIT_FOREVER, NULL, NULL));
    EXPECT (scene, curator_lock_release (me->lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
    sim_world_set_counter (scene->world, SCENE_PATH, G_MAXINT32 - 2);
    scene->held = TRUE;
  }
  AWAIT (scene, scene->held);
  for (int round = 0; round < 10; round++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorLease) lease =
        curator_lock_acquire_lease (me->lock, CURATOR_WAIT_FOREVER, NULL, &error);

    if (lease == NULL) {
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
expect_refusals (Scene *scene)
{
  EXPECT (scene, scene->n_refused > 0);
}

SCENE_TEST (test_end_of_the_counter, .roles = { reach_the_end, reach_the_end, reach_the_end },
            .check = expect_refusals)

/* --- foreign children are ignored ------------------------------------------------------------- */

static void
put_foreign_children (Scene *scene, const char *path)
{
  static const char *const names[] = { "notes", "lock-", "lease-12", "lease-00000000x1", "%n" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *child = g_strconcat (path, "/", names[i], NULL);
    EXPECT (scene, sim_world_put (scene->world, child, "", 0));
  }
}

static void
acquire_among_foreign (Scene *scene, Machine *a)
{
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new (a->client, SCENE_PATH "/s", 2, NULL);

  for (int round = 0; round < 2; round++) {
    g_autoptr (GPtrArray) leases = curator_semaphore_acquire_n (semaphore, 2, 5000, NULL, NULL);

    EXPECT (scene, leases != NULL);
    EXPECT (scene, curator_lock_acquire (a->lock, 5000, NULL, NULL));
    curator_lock_release (a->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
    if (round == 0) {
      put_foreign_children (scene, SCENE_PATH "/s/locks");
      put_foreign_children (scene, SCENE_PATH "/s/leases");
      put_foreign_children (scene, SCENE_PATH);
    }
  }
}

SCENE_TEST (test_foreign_children, .roles = { acquire_among_foreign })

/* --- raising the limit admits the next waiter at once ----------------------------------------- */

static void
share_a_count (Scene *scene, Machine *a)
{
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (a->client, SCENE_PATH "/n", 1, NULL);

  EXPECT (scene, curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, NULL));
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (a->client, SCENE_PATH "/s", count, NULL);
  g_autoptr (CuratorLease) only =
      curator_semaphore_acquire (semaphore, CURATOR_WAIT_FOREVER, NULL, NULL);
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
wait_for_a_larger_count (Scene *scene, Machine *b)
{
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (b->client, SCENE_PATH "/n", 1, NULL);

  AWAIT (scene, scene->held);
  EXPECT (scene, curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, NULL));
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (b->client, SCENE_PATH "/s", count, NULL);
  g_autoptr (CuratorLease) lease =
      curator_semaphore_acquire (semaphore, CURATOR_WAIT_FOREVER, NULL, NULL);
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
  g_autoptr (CuratorLock) other =
      curator_mutex_new (scene->machines[0]->client, "/sim/other", NULL);

  EXPECT (scene, owned != NULL);
  EXPECT (scene, curator_lock_acquire (other, CURATOR_WAIT_FOREVER, NULL, NULL));
  EXPECT (scene, curator_lock_release (other, CURATOR_WAIT_DEFAULT, NULL, NULL));
  scene->over = TRUE;
}

static void
acquire_with_callback (Scene *scene, Machine *me)
{
  curator_lock_acquire_then (me->lock, CURATOR_WAIT_FOREVER, NULL, on_acquired_take_another, scene);
  AWAIT (scene, scene->over);
}

SCENE_TEST (test_callbacks_may_block, .roles = { acquire_with_callback })

/* --- a release that cannot be confirmed still ends the hold ----------------------------------- */

static void
release_in_an_outage (Scene *scene, Machine *a)
{
  g_autoptr (GError) error = NULL;

  EXPECT (scene, curator_lock_acquire (a->lock, CURATOR_WAIT_FOREVER, NULL, NULL));
  sim_world_strike (scene->world, SIM_FAULT_OUTAGE, a->process, 20 * G_USEC_PER_SEC);
  AWAIT (scene,
         curator_client_get_connection_state (a->client) == CURATOR_CONNECTION_STATE_SUSPENDED);
  EXPECT (scene, !curator_lock_release (a->lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_RELEASE_PENDING));
  EXPECT (scene, !curator_lock_is_owned_by_current_thread (a->lock));
  EXPECT (scene, !curator_lock_is_acquired_in_this_process (a->lock));
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 0);
  EXPECT (scene, curator_lock_acquire (a->lock, CURATOR_WAIT_FOREVER, NULL, NULL));
  EXPECT (scene, curator_lock_release (a->lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

SCENE_TEST (test_release_in_an_outage, .roles = { release_in_an_outage })

/* --- expiry deletes the session's own node in front: that grants nothing ---------------------- */

static void
on_second_grant (CuratorLock *lock, CuratorLease *second, const GError *error, gpointer data)
{
  Scene *scene = data;

  EXPECT (scene, second != NULL && curator_lease_get_state (second) == CURATOR_LEASE_STATE_HELD);
  EXPECT (scene, second != NULL && scene->n_holders == 0);
  g_clear_pointer (&second, curator_lease_unref);
  scene->over = TRUE;
}

static void
expire_while_waiting (Scene *scene, Machine *a)
{
  G_GNUC_UNUSED g_autoptr (CuratorLease) first = scene_hold (scene, a->lock);
  scene->held = TRUE;
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 2);
  curator_lock_acquire_then (a->lock, CURATOR_WAIT_FOREVER, NULL, on_second_grant, scene);
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 3);
  scene->waited = TRUE;
  /* The waiter between the two gives up, and another queues behind the second. */
  AWAIT (scene, scene->n_refused == 1 && scene_n_children (scene, SCENE_PATH) == 3);
  sim_sleep_ms (scene->world, 2000);
  sim_world_strike (scene->world, SIM_FAULT_EXPIRE, a->process, 0);
  AWAIT (scene, scene->over);
}

static void
stand_between (Scene *scene, Machine *b)
{
  AWAIT (scene, scene->held);
  scene_expect_refused (scene, b->lock, 3000, CURATOR_ERROR_TIMED_OUT);
  scene->n_refused++;
}

/* While it holds, nobody else may be granted the lock. */
static void
hold_after_the_end (Scene *scene, Machine *c)
{
  AWAIT (scene, scene->n_refused == 1);
  g_autoptr (CuratorLease) lease = scene_hold (scene, c->lock);
  scene->n_holders++;
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, !scene->over);
  scene->n_holders--;
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

SCENE_TEST (test_own_end_grants_nothing,
            .roles = { expire_while_waiting, stand_between, hold_after_the_end })

/* --- a member of a multi-lock is lost --------------------------------------------------------- */

#define LOST_PATH   "/sim/lost"
#define WAITED_PATH "/sim/waited"

static void
hold_the_waited_one (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (me->client, WAITED_PATH, NULL);

  EXPECT (scene, curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, NULL));
  scene->held = TRUE;
  AWAIT (scene,
         scene_n_children (scene, WAITED_PATH) == 2 && scene_n_children (scene, LOST_PATH) == 1);
  g_auto (GStrv) nodes = sim_world_children (scene->world, LOST_PATH);
  EXPECT (scene, sim_world_delete (scene->world, nodes[0]));
  sim_sleep_ms (scene->world, 20000); /* a heartbeat later its holder knows */
  EXPECT (scene, curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

/* Both ways of holding take turns under the seeds. */
static void
acquire_both (Scene *scene, Machine *me)
{
  const char *const paths[] = { LOST_PATH, WAITED_PATH, NULL };
  g_autoptr (CuratorLock) inner = curator_multi_lock_new_for_paths (me->client, paths, NULL);
  g_autoptr (CuratorLock) both = curator_multi_lock_new (&inner, 1);

  AWAIT (scene, scene->held);
  if (g_rand_boolean (scene->world->rand)) {
    EXPECT (scene, curator_lock_acquire (both, 60000, NULL, NULL));
    EXPECT (scene, curator_lock_is_owned_by_current_thread (both));
    g_autoptr (CuratorLease) held = curator_lock_dup_lease (both);
    EXPECT (scene, held != NULL && curator_lease_get_remaining_ms (held) > 0);
    EXPECT (scene, curator_lock_release (both, CURATOR_WAIT_DEFAULT, NULL, NULL));
    return;
  }
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (both, 60000, NULL, NULL);
  EXPECT (scene, lease != NULL && curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD);
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

SCENE_TEST (test_member_lost_while_waiting, .roles = { hold_the_waited_one, acquire_both })

/* --- a shared count that a server refuses to let us follow is followed a little later --------- */

static void
follow_after_a_refusal (Scene *scene, Machine *a)
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
  return sim_world_n_requests (scene->world, scene->machines[0]->process, SIM_OP_CHILDREN);
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
refuse_one_of_two_lists (Scene *scene, Machine *a)
{
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (a->client, "/sim/count", 1, NULL);
  EXPECT (scene, curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, NULL));
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (a->client, "/sim/permits", count, NULL);
  g_autoptr (CuratorLease) lease =
      curator_semaphore_acquire (semaphore, CURATOR_WAIT_FOREVER, NULL, NULL);
  EXPECT (scene, lease != NULL);
  curator_semaphore_acquire_n_then (semaphore, 1, CURATOR_WAIT_FOREVER, NULL, never_told, NULL);
  sim_sleep_ms (scene->world, 1000);

  GRand *rand = scene->world->rand;
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
