/* Programmer errors: every public function with every argument invalid in turn, and with objects that
 * are not started, ended, closed, or of the parent process.
 *
 * A misuse logs one critical message, returns the null value and does nothing; an invalid argument is
 * an error. attack_headers writes the calls, this file judges them. A crash names the call.
 */
#include "attack.h"
#include "fixture.h"
#include "support/sanitized.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN_KIND   3  /* curator_mutex_new () */
#define CALL_SECONDS 60 /* less than the limit of the test */

static struct
{
  World *world;
  char text[256];
  GError *stale;
  gboolean must_fail_later;
  gint n_criticals;  /* atomic */
  gint n_foreign;    /* atomic; criticals of other libraries */
  const char *other; /* what attack_other () gave last; "" */
} now = { .other = "" };

static struct
{
  gint n; /* atomic; set last */
  gboolean is_null;
  GError *error;
} answer;

static guint n_failures;
static guint n_calls;

/* --- judging ------------------------------------------------------------------------------------ */

static GLogWriterOutput
count_criticals (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  if ((level & G_LOG_LEVEL_CRITICAL) == 0)
    {
      return G_LOG_WRITER_HANDLED;
    }
  gboolean is_ours = FALSE;
  for (gsize i = 0; i < n_fields; i++)
    {
      is_ours |=
          strcmp (fields[i].key, "GLIB_DOMAIN") == 0 && strcmp (fields[i].value, "curator") == 0;
    }
  g_atomic_int_inc (is_ours ? &now.n_criticals : &now.n_foreign);
  if (!is_ours)
    {
      g_log_writer_standard_streams (level, fields, n_fields, data);
    }
  return G_LOG_WRITER_HANDLED;
}

/* Async-signal-safe. */
static void
name_the_call (int number)
{
  static const char text[] = "\ncrashed or hung: ";
  G_GNUC_UNUSED ssize_t n = write (STDERR_FILENO, text, sizeof text - 1);
  n = write (STDERR_FILENO, now.text, strlen (now.text));
  n = write (STDERR_FILENO, "\n", 1);
  signal (number, SIG_DFL);
  raise (number);
}

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM };

static void
watch_for_crashes (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (crashes); i++)
    {
      signal (crashes[i], name_the_call);
    }
}

static void
complain (const char *what, const GError *error)
{
  static const char *const states[N_STATES] = { "live",  "latent", "unstarted",
                                                "ended", "closed", "forked" };
  n_failures++;
  print_error ("%s, %s objects, lock kind %u: %s; %d criticals, %d of other libraries, error: %s\n",
               now.text, states[now.world->state], now.world->lock_kind, what, now.n_criticals,
               now.n_foreign, error != NULL ? error->message : "none");
}

void
attack_begin (World *world, const char *function, const char *argument, const char *value)
{
  now.world = world;
  now.must_fail_later = FALSE;
  g_snprintf (now.text, sizeof now.text, "%s (%s: %s%s%s)", function, argument, value,
              *now.other != 0 ? ", " : "", now.other);
  g_atomic_int_set (&now.n_criticals, 0);
  g_atomic_int_set (&now.n_foreign, 0);
  g_atomic_int_set (&answer.n, 0);
  n_calls++;
  alarm (CALL_SECONDS);
}

static gboolean
is_code (const GError *error, guint64 codes)
{
  if (error->domain == G_IO_ERROR)
    {
      return error->code == G_IO_ERROR_CANCELLED && (codes & CODE_CANCELLED) != 0;
    }
  return error->domain == CURATOR_ERROR && (codes & (G_GUINT64_CONSTANT (1) << error->code)) != 0;
}

static gboolean
is_as_expected (Expectation expectation, guint64 codes, gboolean is_null, const GError *error)
{
  const gint n_criticals = g_atomic_int_get (&now.n_criticals);
  const gboolean is_critical = n_criticals == 1 && is_null && error == NULL;
  const gboolean is_silent = n_criticals == 0;
  const gboolean is_refused = is_critical
                              || (is_silent && is_null && error != NULL
                                  && is_code (error, CODE_INVALID_ARGUMENT | CODE_LIMIT_EXCEEDED));
  switch (expectation)
    {
    case EXPECT_CRITICAL:
      return is_critical;
    case EXPECT_STALE:
      return n_criticals == 1 && is_null && error == now.stale
             && strcmp (error->message, "of an earlier call") == 0;
    case EXPECT_REFUSED:
      return is_refused;
    case EXPECT_FAILS:
      return is_silent && is_null && error != NULL && is_code (error, codes);
    case EXPECT_LATER:
      now.must_fail_later = is_silent && error == NULL;
      return is_refused || now.must_fail_later;
    case EXPECT_ALLOWED:
      return is_silent && error == NULL;
    case EXPECT_SETTING:
      return is_silent || is_critical;
    case EXPECT_NULLISH:
      return is_silent && is_null;
    case EXPECT_STRANGE:
    case EXPECT_HARMLESS:
      return is_silent;
    default:
      return FALSE;
    }
}

void
attack_end (World *world, Expectation expectation, guint64 codes, gboolean is_null, GError **error)
{
  alarm (0);
  now.other = "";
  if (!is_as_expected (expectation, codes, is_null, *error)
      || g_atomic_int_get (&now.n_foreign) != 0)
    {
      complain (is_null ? "returned nothing" : "returned something", *error);
    }
}

void
attack_answer (const GError *error, gboolean is_null)
{
  answer.error = error != NULL ? g_error_copy (error) : NULL;
  answer.is_null = is_null;
  g_atomic_int_inc (&answer.n);
}

static gboolean
is_answered (gpointer data)
{
  return g_atomic_int_get (&answer.n) != 0;
}

void
attack_answered (World *world, Expectation expectation, guint64 codes, gboolean is_null,
                 GError **error)
{
  if (g_atomic_int_get (&now.n_criticals) == 0)
    {
      if (!wait_until (is_answered, NULL, LONG_MS))
        {
          complain ("never answered", NULL);
          return;
        }
      is_null = answer.is_null;
      *error = g_steal_pointer (&answer.error);
    }
  attack_end (world, expectation, codes, is_null, error);
}

static void
judge_later (gboolean success, GError **error)
{
  if (success || !is_code (*error, CODE_INVALID_ARGUMENT | CODE_LIMIT_EXCEEDED | CODE_UNSUPPORTED)
      || g_atomic_int_get (&now.n_foreign) != 0)
    {
      complain ("was accepted, and by the first use, too", *error);
    }
  g_clear_error (error);
}

void
attack_later_CuratorClient (CuratorClient *client)
{
  GError *error = NULL;
  if (now.must_fail_later)
    {
      judge_later (curator_client_start (client, &error), &error);
    }
}

void
attack_use_CuratorClient (CuratorClient *client)
{
  GError *error = NULL;
  if (g_atomic_int_get (&now.n_criticals) != 0)
    {
      return;
    }
  const gboolean is_used = curator_client_start (client, &error);
  const gboolean is_good =
      is_used ? curator_client_block_until_connected (client, LONG_MS, NULL, &error)
              : is_code (error, CODE_INVALID_ARGUMENT);
  if (!is_good)
    {
      complain ("neither refused nor of any use", error);
    }
  g_clear_error (&error);
}

void
attack_later_CuratorSemaphore (CuratorSemaphore *semaphore)
{
  GError *error = NULL;
  if (now.must_fail_later)
    {
      g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
      judge_later (lease != NULL, &error);
    }
}

void
attack_later_CuratorNodeRequest (CuratorNodeRequest *request)
{
  /* run_in_driver () looks at the acquire. */
}

/* --- values ------------------------------------------------------------------------------------- */

const char *
attack_long_path (void)
{
  static char path[5000];
  memset (path, 'a', sizeof path - 1);
  path[0] = '/';
  return path;
}

const void *
attack_bytes (void)
{
  static const char bytes[4097];
  return bytes;
}

GCancellable *
attack_cancelled (void)
{
  static GCancellable *cancelled;
  if (cancelled == NULL)
    {
      cancelled = g_cancellable_new ();
      g_cancellable_cancel (cancelled);
    }
  return cancelled;
}

GError *
attack_stale_error (void)
{
  now.stale = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_FAILED, "of an earlier call");
  return now.stale;
}

GPtrArray *
attack_no_leases (void)
{
  static GPtrArray *leases;
  leases = leases != NULL ? leases : g_ptr_array_new ();
  return leases;
}

GPtrArray *
attack_null_leases (void)
{
  static GPtrArray *leases;
  if (leases == NULL)
    {
      leases = g_ptr_array_new ();
      g_ptr_array_add (leases, NULL);
    }
  return leases;
}

zhandle_t *
attack_foreign_handle (void)
{
  static char nothing[64];
  return (gpointer) nothing;
}

static void
lead_and_inspect (World *world)
{
  if (world->led != NULL || world->is_over)
    {
      return;
    }
  world->led = curator_leader_latch_new (world->client, "/attack/led", "one", NULL);
  assert_true (curator_leader_latch_start (world->led, NULL));
  assert_true (curator_leader_latch_await (world->led, LONG_MS, NULL, NULL));
  world->leader = curator_leader_latch_get_leader (world->led, NULL);
  world->inspection = curator_inspect (world->client, "/attack/led", NULL);
  assert_non_null (world->leader);
  assert_int_not_equal (curator_inspection_get_n_participants (world->inspection), 0);
}

const CuratorTraceEvent *
attack_borrow_CuratorTraceEvent (World *world)
{
  return world->event;
}

const CuratorParticipant *
attack_borrow_CuratorParticipant (World *world)
{
  lead_and_inspect (world);
  return curator_inspection_get_participant (world->inspection, 0);
}

const CuratorLeaderParticipant *
attack_borrow_CuratorLeaderParticipant (World *world)
{
  lead_and_inspect (world);
  return world->leader;
}

/* --- objects of another kind -------------------------------------------------------------------- */

/* Objects of other libraries, and memory that is none. */
typedef enum
{
  OTHER_CANCELLABLE,
  OTHER_OBJECT,
  OTHER_ARRAY,
  OTHER_MEMORY,
  N_OTHERS
} OtherObject;

static gpointer
foreign_object (OtherObject which, const char **kind)
{
  static const char *const kinds[N_OTHERS] = { "GCancellable", "GObject", "GPtrArray", "zeros" };
  static gpointer objects[N_OTHERS];
  static char zeros[1024];

  if (objects[0] == NULL)
    {
      objects[OTHER_CANCELLABLE] = g_cancellable_new ();
      objects[OTHER_OBJECT] = g_object_new (G_TYPE_OBJECT, NULL);
      objects[OTHER_ARRAY] = g_ptr_array_new ();
      objects[OTHER_MEMORY] = zeros;
    }
  *kind = kinds[which];
  return objects[which];
}

gpointer
attack_other (World *world, const char *kind)
{
  const guint i = world->other;
  if (i < n_attack_objects)
    {
      now.other = attack_objects[i].kind;
      return strcmp (attack_objects[i].kind, kind) == 0 ? NULL : attack_objects[i].obtain (world);
    }
  /* What is not ours can be told from what is ours, but not from each other. */
  const OtherObject which = i - n_attack_objects;
  const gboolean can_be_told = g_str_has_prefix (kind, "Curator")
                               || (strcmp (kind, "GCancellable") == 0 && which == OTHER_OBJECT);
  return can_be_told ? foreign_object (which, &now.other) : NULL;
}

GPtrArray *
attack_array_of_other (World *world, const char *kind)
{
  static GPtrArray *array;
  gpointer object = attack_other (world, kind);
  g_clear_pointer (&array, g_ptr_array_unref);
  if (object != NULL)
    {
      array = g_ptr_array_new ();
      g_ptr_array_add (array, object);
    }
  return array;
}

CuratorClient *
obtain_CuratorClient (World *world)
{
  return world->client;
}

CuratorLock *
attack_plain_lock (World *world)
{
  if (world->plain_lock == NULL && !world->is_over)
    {
      world->plain_lock = curator_mutex_new (world->client, "/attack/plain", NULL);
    }
  return world->plain_lock;
}

CuratorLease *
obtain_CuratorLease (World *world)
{
  if (world->lease == NULL && !world->is_over && world->state != STATE_LATENT)
    {
      world->lease = curator_lock_acquire_lease (obtain_CuratorLock (world), LONG_MS, NULL, NULL);
    }
  return world->lease;
}

CuratorNodeRequest *
obtain_CuratorNodeRequest (World *world)
{
  return world->request;
}

CuratorClient *
attack_fresh_CuratorClient (World *world)
{
  return client_new (world->address);
}

CuratorSemaphore *
attack_fresh_CuratorSemaphore (World *world)
{
  return curator_semaphore_new (world->client, "/attack/fresh", 1, NULL);
}

/* --- worlds ------------------------------------------------------------------------------------- */

static World *
world_new (Fixture *fixture, AttackState state, guint lock_kind)
{
  World *world = g_new0 (World, 1);
  world->state = state;
  world->lock_kind = lock_kind;
  world->address = fixture_server (fixture);
  world->client = client_new (world->address);
  curator_client_set_session_timeout (world->client, LONG_SESSION_MS);
  if (state != STATE_LATENT)
    {
      client_start (world->client);
    }
  if (state != STATE_LIVE)
    {
      obtain_CuratorLease (world);
      attack_obtain_all (world);
    }
  if (state == STATE_ENDED)
    {
      curator_lease_release (world->lease, NULL);
      attack_end_all (world);
    }
  if (state == STATE_CLOSED)
    {
      curator_client_close (world->client);
    }
  return world;
}

static void
world_free (World *world)
{
  g_clear_pointer (&world->lease, curator_lease_unref);
  g_clear_pointer (&world->leader, curator_leader_participant_unref);
  g_clear_pointer (&world->inspection, curator_inspection_unref);
  g_clear_pointer (&world->led, curator_leader_latch_unref);
  attack_drop_all (world);
  g_clear_pointer (&world->plain_lock, curator_lock_unref);
  curator_client_unref (world->client);
  g_free (world);
}

/* Each object of another kind, from the first on, in each place of an object. */
static void
attack_with_others (World *world, guint first, guint n)
{
  for (guint i = 0; i < n_attacks; i++)
    {
      for (guint k = first; attacks[i].of_other && k < first + n; k++)
        {
          world->other = k;
          attacks[i].run (world);
        }
    }
}

static guint
attack_all (World *world)
{
  guint n_lacking = 0;
  for (guint i = 0; i < n_attacks; i++)
    {
      const Attack *attack = &attacks[i];
      if (attack->state == world->state && !attack->in_driver && !attack->of_other
          && (attack->on_locks || world->lock_kind == PLAIN_KIND))
        {
          n_lacking += attack->run (world) ? 0 : 1;
        }
    }
  return n_lacking;
}

/* Fails if the child did, and if it did not come to its end. */
static void
attack_in_child (World *world)
{
  pid_t pid = fork ();
  if (pid == 0)
    {
      n_failures = 0;
      attack_all (world);
      world_free (world);
      _exit (n_failures == 0 ? 0 : 1);
    }
  int status = -1;
  assert_true (pid > 0);
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_true (WIFEXITED (status));
  assert_int_equal (WEXITSTATUS (status), 0);
}

static void
attack_state (Fixture *fixture, AttackState state)
{
  n_failures = 0;
  n_calls = 0;
  watch_for_crashes ();
  for (guint kind = 0; kind < attack_n_lock_kinds; kind++)
    {
      World *world = world_new (fixture, state, kind);
      if (state == STATE_FORKED)
        {
          attack_in_child (world);
        }
      else
        {
          attack_all (world);
        }
      if (state == STATE_LIVE || state == STATE_FORKED)
        {
          assert_int_equal (curator_lease_get_state (world->lease), CURATOR_LEASE_HELD);
        }
      world_free (world);
    }
  if (state != STATE_FORKED)
    {
      print_message ("%u calls\n", n_calls);
    }
  assert_int_equal (n_failures, 0);
}

static void
test_live_objects (void **state)
{
  print_message ("%u functions, %u kinds of locks\n", n_attacked_functions, attack_n_lock_kinds);
  attack_state (*state, STATE_LIVE);
}

static void
test_objects_of_a_client_that_is_not_started (void **state)
{
  attack_state (*state, STATE_LATENT);
}

static void
test_objects_that_are_not_started (void **state)
{
  attack_state (*state, STATE_UNSTARTED);
}

static void
test_objects_that_have_ended (void **state)
{
  attack_state (*state, STATE_ENDED);
}

static void
test_objects_of_a_closed_client (void **state)
{
  attack_state (*state, STATE_CLOSED);
}

static void
test_objects_of_the_parent_process (void **state)
{
  attack_state (*state, STATE_FORKED);
}

/* --- objects of another kind, all of which are refused ------------------------------------------ */

static void
test_objects_of_another_kind (void **state)
{
  World *world = world_new (*state, STATE_LIVE, PLAIN_KIND);
  n_failures = 0;
  n_calls = 0;
  watch_for_crashes ();
  attack_with_others (world, 0, n_attack_objects + N_OTHERS);
  print_message ("%u calls\n", n_calls);
  assert_int_equal (n_failures, 0);
  assert_int_equal (curator_lease_get_state (obtain_CuratorLease (world)), CURATOR_LEASE_HELD);
  world_free (world);
}

static guint
number_of_kind (const char *kind)
{
  guint i = 0;
  while (i < n_attack_objects && strcmp (attack_objects[i].kind, kind) != 0)
    {
      i++;
    }
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
  if (curator_trace_event_get_kind (event) == CURATOR_TRACE_GRANTED && n_calls == 0)
    {
      world->event = event;
      attack_with_others (world, number_of_kind ("CuratorTraceEvent"), 1);
      world->event = NULL;
    }
}

/* These exist only while a function of the program runs. */
static void
test_passing_objects_as_another_kind (void **state)
{
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = attack_with_request };
  World *world = world_new (*state, STATE_LIVE, PLAIN_KIND);
  n_failures = 0;
  n_calls = 0;
  watch_for_crashes ();
  CuratorLockDriver *driver = curator_lock_driver_new (&funcs, world, NULL);
  CuratorLock *lock =
      curator_mutex_new_with_driver (world->client, "/attack/passing", "lock-", 1, driver, NULL);
  assert_true (curator_lock_acquire (lock, LONG_MS, NULL, NULL));
  assert_true (n_calls > 100);

  n_calls = 0;
  CuratorClient *traced = client_new (world->address);
  curator_client_set_trace (traced, attack_with_event, world, NULL);
  client_start (traced);
  CuratorLock *traced_lock = curator_mutex_new (traced, "/attack/traced", NULL);
  assert_true (curator_lock_acquire (traced_lock, LONG_MS, NULL, NULL));
  curator_client_close (traced); /* after the last event */
  assert_true (n_calls > 100);
  assert_int_equal (n_failures, 0);
  curator_lock_unref (traced_lock);
  curator_client_unref (traced);
  curator_lock_unref (lock);
  curator_lock_driver_unref (driver);
  world_free (world);
}

/* --- inside a driver ---------------------------------------------------------------------------- */

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

static void
test_node_requests (void **state)
{
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = run_in_driver };
  World *world = world_new (*state, STATE_LIVE, PLAIN_KIND);
  n_failures = 0;
  n_calls = 0;
  watch_for_crashes ();
  for (guint i = 0; i < n_attacks; i++)
    {
      if (!attacks[i].in_driver || attacks[i].of_other)
        {
          continue;
        }
      InDriver in_driver = { world, &attacks[i] };
      CuratorLockDriver *driver = curator_lock_driver_new (&funcs, &in_driver, NULL);
      g_autoptr (CuratorLock) lock =
          curator_mutex_new_with_driver (world->client, "/attack/driver", "lock-", 1, driver, NULL);
      g_autoptr (GError) error = NULL;
      const gboolean acquired = curator_lock_acquire (lock, LONG_MS, NULL, &error);
      curator_lock_driver_unref (driver);
      if (now.must_fail_later ? acquired : !acquired)
        {
          complain (acquired ? "was accepted, and by the server, too" : "was refused twice", error);
        }
    }
  print_message ("%u calls\n", n_calls);
  assert_int_equal (n_failures, 0);
  world_free (world);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_live_objects),
    heal_and_test (test_objects_of_a_client_that_is_not_started),
    heal_and_test (test_objects_that_are_not_started),
    heal_and_test (test_objects_that_have_ended),
    heal_and_test (test_objects_of_a_closed_client),
    heal_and_test (test_objects_of_the_parent_process),
    heal_and_test (test_objects_of_another_kind),
    heal_and_test (test_passing_objects_as_another_kind),
    heal_and_test (test_node_requests),
  };

  /* Elsewhere a critical message ends the test. */
  g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_writer_func (count_criticals, NULL, NULL);
  return cmocka_run_group_tests_name ("adversary", tests, fixture_start_slow, fixture_stop);
}
