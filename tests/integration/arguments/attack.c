/* Makes the calls of attack_headers and judges them; see attack.h. A crash names the call. */
#include "attack.h"

#include "base/fork_gate.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "integration/crashes.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
  pthread_t caller;
  guint gate_depth; /* before the call */
} now = { .other = "" };

static struct
{
  gint n; /* atomic; set last */
  gboolean is_null;
  GError *error;
} answer;

guint attack_n_failures;
guint attack_n_calls;
gboolean attack_is_cancellable;

/* --- judging ---------------------------------------------------------------------------------- */

GLogWriterOutput
attack_count_criticals (GLogLevelFlags level, const GLogField *fields, gsize n_fields,
                        gpointer data)
{
  if ((level & G_LOG_LEVEL_CRITICAL) == 0)
    return G_LOG_WRITER_HANDLED;
  gboolean is_ours = FALSE;
  for (gsize i = 0; i < n_fields; i++) {
    is_ours |=
        strcmp (fields[i].key, "GLIB_DOMAIN") == 0 && strcmp (fields[i].value, "curator") == 0;
  }
  g_atomic_int_inc (is_ours ? &now.n_criticals : &now.n_foreign);
  if (!is_ours)
    g_log_writer_standard_streams (level, fields, n_fields, data);
  return G_LOG_WRITER_HANDLED;
}

const char *
attack_now (void)
{
  return now.text;
}

void
attack_watch_for_crashes (void)
{
  crashes_watch (now.text);
}

void
attack_complain (const char *what, const GError *error)
{
  static const char *const states[N_STATES] = { "live",  "latent", "unstarted",
                                                "ended", "closed", "forked" };
  attack_n_failures++;
  print_error ("%s, %s objects, lock kind %u: %s; %d criticals, %d of other libraries, error: %s\n",
               now.text, states[now.world->state], now.world->lock_kind, what, now.n_criticals,
               now.n_foreign, error != NULL ? error->message : "none");
}

static guint
gate_depth (void)
{
  const guint depth = curator_gate_suspend ();
  curator_gate_resume (depth);
  return depth;
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
  attack_n_calls++;
  now.caller = pthread_self ();
  now.gate_depth = gate_depth ();
  alarm (CALL_SECONDS);
  pthread_setcancelstate (attack_is_cancellable ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE,
                          NULL);
}

static gboolean
is_code (const GError *error, guint64 codes)
{
  if (error->domain == G_IO_ERROR)
    return error->code == G_IO_ERROR_CANCELLED && (codes & CODE_CANCELLED) != 0;
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
  switch (expectation) {
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
  case EXPECT_NULLISH:
    return is_silent && is_null;
  case EXPECT_STRANGE:
  case EXPECT_HARMLESS:
    return is_silent;
  default:
    return FALSE;
  }
}

gboolean
attack_must_fail_later (void)
{
  return now.must_fail_later;
}

void
attack_end (World *world, Expectation expectation, guint64 codes, gboolean is_null, GError **error)
{
  pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, NULL);
  alarm (0);
  now.other = "";
  if (!is_as_expected (expectation, codes, is_null, *error)
      || g_atomic_int_get (&now.n_foreign) != 0)
    attack_complain (is_null ? "returned nothing" : "returned something", *error);
}

void
attack_answer (const GError *error, gboolean is_null)
{
  answer.error = error != NULL ? g_error_copy (error) : NULL;
  answer.is_null = is_null;
  /* A callback may fork again. */
  if (now.world->state == STATE_FORKED && gate_depth () != now.gate_depth)
    attack_complain ("called back inside the gate", error);
  if (now.world->state != STATE_FORKED && pthread_equal (pthread_self (), now.caller))
    attack_complain ("called back inside the call", error);
  g_atomic_int_inc (&answer.n);
}

void
attack_answered (World *world, Expectation expectation, guint64 codes, gboolean is_null,
                 GError **error)
{
  pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, NULL);
  if (g_atomic_int_get (&now.n_criticals) == 0) {
    if (!holds_within (g_atomic_int_get (&answer.n) != 0, LONG_MS)) {
      attack_complain ("never answered", NULL);
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
    attack_complain ("was accepted, and by the first use, too", *error);
  g_clear_error (error);
}

void
attack_later_CuratorClient (CuratorClient *client)
{
  GError *error = NULL;
  if (now.must_fail_later)
    judge_later (curator_client_start (client, &error), &error);
}

void
attack_later_CuratorSemaphore (CuratorSemaphore *semaphore)
{
  GError *error = NULL;
  if (now.must_fail_later) {
    g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
    judge_later (lease != NULL, &error);
  }
}

void
attack_later_CuratorNodeRequest (CuratorNodeRequest *request)
{
  /* run_in_driver () looks at the acquire. */
}

/* --- values ----------------------------------------------------------------------------------- */

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
  if (cancelled == NULL) {
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
  if (leases == NULL) {
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
    return;
  world->led = curator_leader_latch_new (world->client, "/attack/led", "one", NULL);
  assert_true (curator_leader_latch_start (world->led, NULL));
  assert_true (curator_leader_latch_await (world->led, LONG_MS, NULL, NULL));
  world->leader = curator_leader_latch_get_leader (world->led, LONG_MS, NULL, NULL);
  world->inspection = curator_client_inspect (world->client, "/attack/led", LONG_MS, NULL, NULL);
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

/* --- objects of another kind ------------------------------------------------------------------ */

/* Objects of other libraries, and memory that is none. */
typedef enum
{
  OTHER_CANCELLABLE,
  OTHER_OBJECT,
  OTHER_ARRAY,
  OTHER_MEMORY,
  N_OTHERS
} OtherObject;

const guint attack_n_others = N_OTHERS;

static gpointer
foreign_object (OtherObject which, const char **kind)
{
  static const char *const kinds[N_OTHERS] = { "GCancellable", "GObject", "GPtrArray", "zeros" };
  static gpointer objects[N_OTHERS];
  static char zeros[1024];

  if (objects[0] == NULL) {
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
  if (i < n_attack_objects) {
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
  if (object != NULL) {
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
    world->plain_lock = curator_mutex_new (world->client, "/attack/plain", NULL);
  return world->plain_lock;
}

CuratorLease *
obtain_CuratorLease (World *world)
{
  if (world->lease == NULL && !world->is_over && world->state != STATE_LATENT)
    world->lease = curator_lock_acquire_lease (obtain_CuratorLock (world), LONG_MS, NULL, NULL);
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

/* --- worlds ----------------------------------------------------------------------------------- */

World *
attack_world_new (Fixture *fixture, AttackState state, guint lock_kind)
{
  World *world = g_new0 (World, 1);
  world->state = state;
  world->lock_kind = lock_kind;
  world->address = fixture_server (fixture);
  world->client = client_new (world->address);
  curator_client_set_session_timeout (world->client, LONG_SESSION_MS);
  if (state != STATE_LATENT)
    client_start (world->client);
  if (state == STATE_FORKED)
    lead_and_inspect (world); /* the child ends no leadership */
  if (state != STATE_LIVE) {
    obtain_CuratorLease (world);
    attack_obtain_all (world);
  }
  if (state == STATE_ENDED) {
    curator_lease_release (world->lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
    attack_end_all (world);
  }
  if (state == STATE_CLOSED)
    curator_client_close (world->client);
  return world;
}

void
attack_world_free (World *world)
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
void
attack_with_others (World *world, guint first, guint n)
{
  for (guint i = 0; i < n_attacks; i++) {
    for (guint k = first; attacks[i].of_other && k < first + n; k++) {
      world->other = k;
      attacks[i].run (world);
    }
  }
}

guint
attack_all (World *world)
{
  guint n_lacking = 0;
  for (guint i = 0; i < n_attacks; i++) {
    const Attack *attack = &attacks[i];
    if (attack->state == world->state && !attack->in_driver && !attack->of_other
        && (attack->on_locks || world->lock_kind == ATTACK_PLAIN_KIND))
      n_lacking += attack->run (world) ? 0 : 1;
  }
  return n_lacking;
}

CURATOR_NOT_ANALYSED void
attack_in_child (World *world, gboolean hold_mutex)
{
  const gint64 session = curator_client_get_session_id (world->client);
  if (hold_mutex)
    curator_client_lock (world->client);
  const pid_t pid = fork ();
  if (pid == 0) {
    attack_n_failures = 0;
    attack_all (world);
    attack_world_free (world);
    _exit (attack_n_failures == 0 ? 0 : 1);
  }
  if (hold_mutex)
    curator_client_unlock (world->client);
  int status = -1;
  assert_true (pid > 0);
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_true (WIFEXITED (status));
  assert_int_equal (WEXITSTATUS (status), 0);
  assert_int_equal (curator_client_get_session_id (world->client), session);
  assert_int_equal (curator_lease_get_state (world->lease), CURATOR_LEASE_STATE_HELD);
  assert_true (curator_leader_latch_has_leadership (world->led));
}
