/* Programmer errors: every public function with every argument invalid in turn, and with objects
 * that are not started, ended, closed, or of the parent process.
 *
 * A misuse logs one critical message, returns the null value and does nothing; an invalid argument
 * is an error. attack_headers writes the calls, attack.c judges them.
 */
#include "attack.h"
#include "support/sanitized.h"

#include <string.h>

static void
begin_attacks (void)
{
  attack_n_failures = 0;
  attack_n_calls = 0;
  attack_watch_for_crashes ();
}

static void
end_attacks (void)
{
  print_message ("%u calls of %u functions\n", attack_n_calls, n_attacked_functions);
  assert_int_equal (attack_n_failures, 0);
}

static void
attack_state (Fixture *fixture, AttackState state)
{
  begin_attacks ();
  for (guint kind = 0; kind < attack_n_lock_kinds; kind++) {
    World *world = attack_world_new (fixture, state, kind);
    if (state == STATE_FORKED)
      attack_in_child (world, !IS_SANITIZED); /* ThreadSanitizer misses the unlock */
    else
      attack_all (world);
    if (state == STATE_LIVE || state == STATE_FORKED)
      assert_int_equal (curator_lease_get_state (world->lease), CURATOR_LEASE_STATE_HELD);
    attack_world_free (world);
  }
  end_attacks ();
}

#define STATE_TEST(name, state)                                                                    \
  TEST (name)                                                                                      \
  {                                                                                                \
    attack_state (fixture, (state));                                                               \
  }

STATE_TEST (test_live_objects, STATE_LIVE)
STATE_TEST (test_objects_of_a_client_that_is_not_started, STATE_LATENT)
STATE_TEST (test_objects_that_are_not_started, STATE_UNSTARTED)
STATE_TEST (test_objects_that_have_ended, STATE_ENDED)
STATE_TEST (test_objects_of_a_closed_client, STATE_CLOSED)
STATE_TEST (test_p32_objects_of_the_parent_process, STATE_FORKED)

/* --- calls of a thread that is cancelled ------------------------------------------------------ */

typedef struct
{
  Fixture *fixture;
  AttackState state;
  gboolean returned; /* from all calls */
} Cancelled;

/* Ends at the first cancellation point: no call may have one. */
static void *
attack_while_cancelled (void *data)
{
  Cancelled *cancelled = data;

  pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, NULL);
  pthread_cancel (pthread_self ());
  World *world = attack_world_new (cancelled->fixture, cancelled->state, ATTACK_PLAIN_KIND);
  attack_is_cancellable = TRUE;
  attack_all (world);
  attack_is_cancellable = FALSE;
  attack_world_free (world);
  cancelled->returned = TRUE;
  pthread_setcancelstate (PTHREAD_CANCEL_ENABLE, NULL);
  pthread_testcancel ();
  return NULL;
}

TEST (test_calls_of_a_cancelled_thread)
{
  begin_attacks ();
  for (AttackState of = STATE_LIVE; of < STATE_FORKED; of++) {
    Cancelled cancelled = { .fixture = fixture, .state = of };
    pthread_t thread;
    void *result;
    assert_int_equal (pthread_create (&thread, NULL, attack_while_cancelled, &cancelled), 0);
    assert_int_equal (pthread_join (thread, &result), 0);
    if (!cancelled.returned)
      fail_msg ("the thread ended in %s", attack_now ());
    assert_ptr_equal (result, PTHREAD_CANCELED);
  }
  end_attacks ();
}

/* --- objects of another kind, all of which are refused ---------------------------------------- */

TEST (test_objects_of_another_kind)
{
  World *world = attack_world_new (fixture, STATE_LIVE, ATTACK_PLAIN_KIND);
  begin_attacks ();
  attack_with_others (world, 0, n_attack_objects + attack_n_others);
  end_attacks ();
  assert_int_equal (curator_lease_get_state (obtain_CuratorLease (world)),
                    CURATOR_LEASE_STATE_HELD);
  attack_world_free (world);
}

static guint
number_of_kind (const char *kind)
{
  guint i = 0;
  while (i < n_attack_objects && strcmp (attack_objects[i].kind, kind) != 0)
    i++;
  assert_true (i < n_attack_objects);
  return i;
}

static void
attack_with_request (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data)
{
  World *world = data;
  world->request = request;
  attack_with_others (world, number_of_kind ("CuratorNodeRequest"), 1);
  world->request = NULL;
}

static void
attack_with_event (const CuratorTraceEvent *event, gpointer data)
{
  World *world = data;
  if (curator_trace_event_get_kind (event) == CURATOR_TRACE_KIND_GRANTED && attack_n_calls == 0) {
    world->event = event;
    attack_with_others (world, number_of_kind ("CuratorTraceEvent"), 1);
    world->event = NULL;
  }
}

/* These exist only while a function of the program runs. */
TEST (test_passing_objects_as_another_kind)
{
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = attack_with_request };
  World *world = attack_world_new (fixture, STATE_LIVE, ATTACK_PLAIN_KIND);
  begin_attacks ();
  CuratorLockDriver *driver = curator_lock_driver_new (&funcs, world, NULL);
  CuratorLock *lock =
      curator_mutex_new_with_driver (world->client, "/attack/passing", "lock-", 1, driver, NULL);
  assert_true (curator_lock_acquire (lock, LONG_MS, NULL, NULL));
  assert_true (attack_n_calls > 100);

  attack_n_calls = 0;
  CuratorClient *traced = client_new (world->address);
  curator_client_set_trace (traced, attack_with_event, world, NULL);
  client_start (traced);
  CuratorLock *traced_lock = curator_mutex_new (traced, "/attack/traced", NULL);
  assert_true (curator_lock_acquire (traced_lock, LONG_MS, NULL, NULL));
  curator_client_close (traced); /* after the last event */
  assert_true (attack_n_calls > 100);
  assert_int_equal (attack_n_failures, 0);
  curator_lock_unref (traced_lock);
  curator_client_unref (traced);
  curator_lock_unref (lock);
  curator_lock_driver_unref (driver);
  attack_world_free (world);
}

/* --- inside a driver -------------------------------------------------------------------------- */

typedef struct
{
  World *world;
  const Attack *attack;
} InDriver;

static void
run_in_driver (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data)
{
  const InDriver *in_driver = data;
  in_driver->world->request = request;
  in_driver->attack->run (in_driver->world);
  in_driver->world->request = NULL;
}

TEST (test_node_requests)
{
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = run_in_driver };
  World *world = attack_world_new (fixture, STATE_LIVE, ATTACK_PLAIN_KIND);
  begin_attacks ();
  for (guint i = 0; i < n_attacks; i++) {
    if (!attacks[i].in_driver || attacks[i].of_other)
      continue;
    InDriver in_driver = { world, &attacks[i] };
    CuratorLockDriver *driver = curator_lock_driver_new (&funcs, &in_driver, NULL);
    g_autoptr (CuratorLock) lock =
        curator_mutex_new_with_driver (world->client, "/attack/driver", "lock-", 1, driver, NULL);
    g_autoptr (GError) error = NULL;
    const gboolean acquired = curator_lock_acquire (lock, LONG_MS, NULL, &error);
    curator_lock_driver_unref (driver);
    if (attack_must_fail_later () ? acquired : !acquired) {
      attack_complain (acquired ? "was accepted, and by the server, too" : "was refused twice",
                       error);
    }
  }
  end_attacks ();
  attack_world_free (world);
}

int
main (void)
{
  /* Elsewhere a critical message ends the test. */
  g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_writer_func (attack_count_criticals, NULL, NULL);
  return suite_run ("adversary", fixture_start_calm, fixture_stop);
}
