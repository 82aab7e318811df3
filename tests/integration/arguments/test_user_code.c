/* Where the functions of a program run: never on a thread that the holds of its client depend on.
 *
 * user_code_headers finds every parameter that is a function. Each world registers all of them with
 * one client, has each of them called, and ends the registrations in one way. Threads are told
 * apart by their names, as /proc shows them. In other worlds one function blocks for one and a half
 * session timeouts, and a hold of the client has to survive that. */
#include "user_code.h"

#include "integration/fixture.h"

#include <sys/prctl.h>

#define HOLD_SESSION_MS 10000 /* a busy machine does not lose it */
#define BLOCK_MS        (HOLD_SESSION_MS * 3 / 2)
#define IN_FLIGHT_MS    50

typedef enum
{
  END_DROPPED,
  END_CLEARED,
  END_REPLACED,
  END_BY_CALLBACK,
  END_IN_FLIGHT, /* while requests that need the objects are in flight */
  END_BY_TIMER,  /* by deadlines of calls that need them */
  END_CLOSED,    /* the client is closed first */
  N_ENDS
} End;

typedef struct
{
  World objects; /* first: the library's side knows no more */
  const char *server;
  Proxy *proxy;
  int number;
  End end;
  gboolean has_context;
  const char *blocks; /* the registering function whose function blocks, or NULL */
  const char *blocking_kind;
  gint blocked; /* atomic */

  pthread_t thread;
  GMainContext *context;
  pthread_t context_thread;
  gint context_ends; /* atomic */
  CuratorLock *hold_lock;
  CuratorLease *hold;
  CuratorLock *aside; /* of the standard driver, on the path of lock */
  CuratorLock *multi;
  CuratorLease *permit;
  gint dropped; /* atomic: by the callback */
  GPtrArray *registrations;
  pthread_mutex_t mutex;
  GHashTable *paths;
  GHashTable *misplaced; /* functions that ran where they must not */
  char *fault;           /* the first one that ended the world early, or a lost hold */
} Stage;

static _Thread_local gboolean is_programs;    /* created by this test */
static _Thread_local Stage *iterates_context; /* of this stage */

static void
note_fault (Stage *stage, char *fault)
{
  pthread_mutex_lock (&stage->mutex);
  if (stage->fault == NULL)
    stage->fault = g_steal_pointer (&fault);
  pthread_mutex_unlock (&stage->mutex);
  g_free (fault);
}

#define require(stage, condition)                                                                  \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      note_fault (stage, g_strdup_printf ("line %d: %s", __LINE__, #condition));                   \
      return;                                                                                      \
    }                                                                                              \
  } while (0)

static guint
index_of (const UserCode *code, const char *kind)
{
  guint i = 0;
  while (i < USER_CODE_MAX - 1 && code->kinds[i] != NULL && strcmp (code->kinds[i], kind) != 0)
    i++;
  return i;
}

static gboolean
is_one_of (const char *name, const char *names)
{
  g_auto (GStrv) all = g_strsplit (names, " ", -1);
  return g_strv_contains ((const char *const *) all, name);
}

static gboolean
is_allowed (Stage *stage, Place place, const char *name)
{
  switch (place) {
  case PLACE_CALLBACK:
    return stage->has_context ? iterates_context == stage
                              : !is_programs && is_one_of (name, "curator-calls curator-states");
  case PLACE_QUESTION:
    return is_programs || is_one_of (name, "curator-asks");
  case PLACE_SORTING:
    return is_programs || is_one_of (name, "curator-asks curator-calls");
  case PLACE_LEADER:
    return is_one_of (name, "curator-leader");
  case PLACE_DESTROY:
  default:
    return is_programs
           || is_one_of (name, "curator-calls curator-states curator-asks curator-leader");
  }
}

void
user_code_arrive (gpointer data, const char *kind, Place place)
{
  Registration *registration = data;
  Stage *stage = (Stage *) registration->world;
  const guint index = index_of (registration->code, kind);
  char name[16] = "";

  prctl (PR_GET_NAME, name);
  if (!is_allowed (stage, place, is_programs ? "" : name)) {
    /* Their numbers differ. */
    const char *thread = is_programs                        ? "of the program"
                         : g_str_has_prefix (name, "zk-io") ? "zk-io"
                                                            : name;
    pthread_mutex_lock (&stage->mutex);
    g_hash_table_add (stage->misplaced, g_strdup_printf ("%s of %s () on the thread %s", kind,
                                                         registration->code->function, thread));
    pthread_mutex_unlock (&stage->mutex);
  }
  g_atomic_int_inc (&registration->calls[index]);
  if (g_strcmp0 (stage->blocks, registration->code->function) == 0
      && strcmp (stage->blocking_kind, kind) == 0
      && g_atomic_int_compare_and_exchange (&stage->blocked, FALSE, TRUE))
    wait_ms (BLOCK_MS);
  g_atomic_int_inc (&registration->ended[index]);
}

void
user_code_destroy (gpointer registration)
{
  user_code_arrive (registration, "GDestroyNotify", PLACE_DESTROY);
}

const char *
user_code_path (World *world, const char *name)
{
  Stage *stage = (Stage *) world;
  char *path = g_strdup_printf ("/user-code/%d/%s", stage->number, name);
  const char *known = g_hash_table_lookup (stage->paths, path);
  if (known != NULL) {
    g_free (path);
    return known;
  }
  g_hash_table_add (stage->paths, path);
  return path;
}

void
user_code_standard_predicate (const char *const *children, gsize n_children, const char *own,
                              guint max_leases, CuratorPredicateResults *results)
{
  gsize index = 0;
  while (index < n_children && strcmp (children[index], own) != 0)
    index++;
  results->gets_the_lock = index < (gsize) max_leases;
  results->path_to_watch = results->gets_the_lock ? NULL : children[index - (gsize) max_leases];
}

const char *
user_code_standard_key (const char *name)
{
  const gsize length = strlen (name);
  return length > 10 ? name + length - 10 : name;
}

/* --- registering ------------------------------------------------------------------------------ */

static void
register_one (Stage *stage, const UserCode *code)
{
  Registration *registration = g_new0 (Registration, 1);
  registration->code = code;
  registration->world = &stage->objects;
  g_ptr_array_add (stage->registrations, registration);
  code->registers (&stage->objects, registration);
}

static void
register_all (Stage *stage, Moment moment)
{
  for (guint i = 0; i < n_user_codes; i++)
    if (user_codes[i].moment == moment)
      register_one (stage, &user_codes[i]);
}

/* Those of this moment that there are now: a setting before the start, the rest after it. */
static void
end_early (Stage *stage, Moment moment, gboolean is_started)
{
  const guint n = stage->registrations->len;
  for (guint i = 0; i < n; i++) {
    Registration *registration = g_ptr_array_index (stage->registrations, i);
    const UserCode *code = registration->code;
    const gboolean is_setting = moment == REGISTER_BEFORE_START && code->is_replaced;
    if (code->moment != moment || code->clear == NULL || is_setting == is_started)
      continue;
    if (stage->end == END_CLEARED)
      code->clear (&stage->objects, registration);
    else if (stage->end == END_REPLACED && code->is_replaced)
      register_one (stage, code);
  }
}

/* --- waiting ---------------------------------------------------------------------------------- */

static gboolean
is_of_the_client (const UserCode *code)
{
  return code->moment == REGISTER_BEFORE_START || strstr (code->function, "retry_policy") != NULL;
}

typedef struct
{
  Stage *stage;
  const char *function; /* NULL: any */
  gboolean destroys;
  gboolean with_settings;
  gboolean begun; /* a call may still run */
  const Registration *missing;
  const char *missing_kind;
} Wanted;

/* Cleared and replaced before the start, a trace function sees nothing. */
static gboolean
cannot_be_called (Stage *stage, const Registration *registration)
{
  return registration->code->moment == REGISTER_BEFORE_START && registration->code->is_replaced
         && (stage->end == END_CLEARED || stage->end == END_REPLACED);
}

static gboolean
has_come (Wanted *wanted, Registration *registration)
{
  const UserCode *code = registration->code;
  if ((wanted->function != NULL && strcmp (wanted->function, code->function) != 0)
      || (is_of_the_client (code) && !wanted->with_settings))
    return TRUE;
  for (guint i = 0; i < USER_CODE_MAX && code->kinds[i] != NULL; i++) {
    const gboolean destroys = strcmp (code->kinds[i], "GDestroyNotify") == 0;
    const gint *times = wanted->begun ? registration->calls : registration->ended;
    if (destroys == wanted->destroys && g_atomic_int_get (&times[i]) == 0
        && (destroys || !cannot_be_called (wanted->stage, registration))) {
      wanted->missing = registration;
      wanted->missing_kind = code->kinds[i];
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
have_come (gpointer data)
{
  Wanted *wanted = data;
  gboolean all = TRUE;
  for (guint i = 0; i < wanted->stage->registrations->len && all; i++)
    all = has_come (wanted, g_ptr_array_index (wanted->stage->registrations, i));
  return all || wanted->stage->fault != NULL;
}

static gboolean
is_lost (Stage *stage)
{
  return stage->hold != NULL && stage->end != END_CLOSED
         && curator_lease_get_state (stage->hold) == CURATOR_LEASE_STATE_LOST;
}

static void
wait_for (Stage *stage, Wanted wanted)
{
  wanted.stage = stage;
  if (!wait_until (have_come, &wanted, LONG_MS)) {
    note_fault (stage, g_strdup_printf ("%s of %s () has not come%s", wanted.missing_kind,
                                        wanted.missing->code->function,
                                        is_lost (stage) ? ", and the hold is lost" : ""));
  }
}

/* --- a world ---------------------------------------------------------------------------------- */

static void *
iterate (void *data)
{
  Stage *stage = data;
  is_programs = TRUE;
  iterates_context = stage;
  while (!g_atomic_int_get (&stage->context_ends) || g_main_context_pending (stage->context))
    if (!g_main_context_iteration (stage->context, FALSE))
      wait_ms (1);
  return NULL;
}

static void
create (Stage *stage)
{
  World *world = &stage->objects;

  register_all (stage, REGISTER_BEFORE_CLIENT);
  world->closed = curator_client_new (proxy_address (stage->proxy), NULL);
  world->no_leases = g_ptr_array_new ();
  world->client = curator_client_new (proxy_address (stage->proxy), world->policy);
  g_clear_pointer (&world->policy, curator_retry_policy_unref);
  curator_client_set_session_timeout (world->client, HOLD_SESSION_MS);
  curator_client_set_connection_timeout (world->client, SESSION_MS);
  if (stage->has_context) {
    stage->context = g_main_context_new ();
    curator_client_set_callback_context (world->client, stage->context);
    curator_client_set_callback_context (world->closed, stage->context);
    pthread_create (&stage->context_thread, NULL, iterate, stage);
  }
  register_all (stage, REGISTER_BEFORE_START);
  end_early (stage, REGISTER_BEFORE_START, FALSE);
  require (stage, curator_client_start (world->client, NULL));
  require (stage, curator_client_start (world->closed, NULL));
  stage->hold_lock = curator_mutex_new (world->client, user_code_path (world, "hold"), NULL);
  stage->hold = curator_lock_acquire_lease (stage->hold_lock, LONG_MS, NULL, NULL);
  require (stage, stage->hold != NULL);
}

static void
create_objects (Stage *stage)
{
  World *world = &stage->objects;
  CuratorClient *client = world->client;
  const char *path = user_code_path (world, "lock");

  world->lock = curator_mutex_new_with_driver (client, path, "lock-", 1, world->driver, NULL);
  stage->aside = curator_mutex_new (client, path, NULL);
  g_autoptr (CuratorLock) first = curator_mutex_new (client, user_code_path (world, "first"), NULL);
  g_autoptr (CuratorLock) second = curator_mutex_new_with_driver (
      client, user_code_path (world, "second"), "lock-", 1, world->driver, NULL);
  stage->multi = curator_multi_lock_new ((CuratorLock *const[]){ first, second }, 2);
  g_clear_pointer (&world->driver, curator_lock_driver_unref);
  world->semaphore = curator_semaphore_new (client, user_code_path (world, "semaphore"), 2, NULL);
  world->count = curator_shared_count_new (client, user_code_path (world, "count"), 1, NULL);
  world->latch = curator_leader_latch_new (client, user_code_path (world, "latch"), "id", NULL);
  register_all (stage, REGISTER_WITH_OBJECTS);
}

/* A request that fails, so that the policy is asked, and no server for a while. */
static void
break_connection (Stage *stage)
{
  g_autoptr (CuratorLease) lease = NULL;

  /* Not a heartbeat's, which asks no policy. */
  proxy_arm (stage->proxy, PROXY_CREATE2, 1, 1, PROXY_CUT_BEFORE_REPLY);
  lease = curator_lock_acquire_lease (stage->multi, LONG_MS, NULL, NULL);
  require (stage, lease != NULL);
  proxy_disarm (stage->proxy);
  proxy_set_mode (stage->proxy, PROXY_REFUSE);
  wait_for (stage, (Wanted){ .function = "curator_client_add_connection_error_listener",
                             .with_settings = TRUE,
                             .begun = TRUE });
  proxy_set_mode (stage->proxy, PROXY_PASS);
}

/* The listeners of a connection and the policies are called only there. */
static gboolean
breaks (Stage *stage)
{
  return stage->blocks == NULL || strstr (stage->blocks, "connection_error") != NULL
         || strstr (stage->blocks, "retry_policy") != NULL;
}

static void
have_all_called (Stage *stage)
{
  World *world = &stage->objects;

  world->lease = curator_lock_acquire_lease (world->lock, LONG_MS, NULL, NULL);
  stage->permit = curator_semaphore_acquire (world->semaphore, LONG_MS, NULL, NULL);
  require (stage, world->lease != NULL && stage->permit != NULL);
  register_all (stage, REGISTER_WITH_LEASE);
  g_auto (GStrv) nodes =
      curator_lock_get_participant_nodes (world->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  require (stage, nodes != NULL);
  require (stage, curator_client_attempt_revoke (world->client, nodes[0], CURATOR_WAIT_DEFAULT,
                                                 NULL, NULL));
  require (stage, curator_client_attempt_revoke (world->client,
                                                 curator_lease_get_node_path (stage->permit),
                                                 CURATOR_WAIT_DEFAULT, NULL, NULL));
  require (stage, curator_leader_selector_start (world->selector, NULL));
  require (stage, curator_leader_latch_start (world->latch, NULL));
  require (stage, curator_shared_count_start (world->count, CURATOR_WAIT_DEFAULT, NULL, NULL));
  require (stage, curator_shared_count_set (world->count, 2, CURATOR_WAIT_DEFAULT, NULL, NULL));
  require (stage, curator_leader_latch_await (world->latch, LONG_MS, NULL, NULL));
  require (stage, curator_lease_release (world->lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  g_autoptr (CuratorLease) both = curator_lock_acquire_lease (stage->multi, LONG_MS, NULL, NULL);
  require (stage, both != NULL);
  g_clear_pointer (&both, curator_lease_unref);
  require (stage, curator_lock_acquire (world->lock, LONG_MS, NULL, NULL));
  register_all (stage, REGISTER_LAST);
  if (breaks (stage))
    break_connection (stage);
  wait_for (stage, (Wanted){ .with_settings = breaks (stage) });
  if (stage->blocks != NULL)
    wait_for (stage, (Wanted){ .function = stage->blocks, .with_settings = TRUE });
}

/* --- the ends --------------------------------------------------------------------------------- */

static void
drop_all (Stage *stage)
{
  World *world = &stage->objects;

  g_clear_pointer (&world->lease, curator_lease_unref);
  g_clear_pointer (&stage->permit, curator_lease_unref);
  g_clear_pointer (&world->selector, curator_leader_selector_unref);
  g_clear_pointer (&world->latch, curator_leader_latch_unref);
  g_clear_pointer (&world->count, curator_shared_count_unref);
  g_clear_pointer (&world->semaphore, curator_semaphore_unref);
  g_clear_pointer (&stage->multi, curator_lock_unref);
  g_clear_pointer (&world->lock, curator_lock_unref);
}

static void
on_acquired_drop (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Stage *stage = user_data;
  g_clear_pointer (&lease, curator_lease_unref);
  drop_all (stage);
  g_atomic_int_set (&stage->dropped, TRUE);
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  g_clear_pointer (&lease, curator_lease_unref);
}

/* A hold of this thread, with a listener on its lease that only the library still references. */
static void
hold_again (Stage *stage)
{
  World *world = &stage->objects;

  g_clear_pointer (&world->lease, curator_lease_unref);
  require (stage, curator_lock_acquire (world->lock, LONG_MS, NULL, NULL));
  world->lease = curator_lock_dup_lease (world->lock);
  register_all (stage, REGISTER_WITH_LEASE);
  g_clear_pointer (&world->lease, curator_lease_unref);
}

static void
end_in_flight (Stage *stage)
{
  World *world = &stage->objects;

  hold_again (stage);
  proxy_set_delay (stage->proxy, 0, IN_FLIGHT_MS);
  curator_leader_selector_requeue (world->selector);
  wait_ms (IN_FLIGHT_MS / 2);
  curator_lock_acquire_then (stage->multi, LONG_MS, NULL, on_acquired, NULL);
  curator_lock_release_then (world->lock, CURATOR_WAIT_DEFAULT, NULL, NULL, NULL);
  drop_all (stage);
}

static void
end_by_timer (Stage *stage)
{
  World *world = &stage->objects;
  g_autoptr (CuratorLease) blocker = curator_lock_acquire_lease (stage->aside, LONG_MS, NULL, NULL);

  require (stage, blocker != NULL);
  curator_lock_acquire_then (world->lock, 100, NULL, on_acquired, NULL);
  drop_all (stage);
  wait_for (stage, (Wanted){ .destroys = TRUE });
}

static void
end_objects (Stage *stage)
{
  switch (stage->end) {
  case END_CLEARED:
  case END_REPLACED:
    for (Moment moment = REGISTER_BEFORE_START; moment < N_MOMENTS; moment++)
      end_early (stage, moment, TRUE);
    drop_all (stage);
    break;
  case END_BY_CALLBACK:
    curator_lock_acquire_then (stage->aside, LONG_MS, NULL, on_acquired_drop, stage);
    require (stage, holds_within (g_atomic_int_get (&stage->dropped), LONG_MS));
    break;
  case END_IN_FLIGHT:
    end_in_flight (stage);
    break;
  case END_BY_TIMER:
    end_by_timer (stage);
    break;
  case END_CLOSED:
    curator_client_close (stage->objects.client);
    drop_all (stage);
    break;
  case END_DROPPED:
  case N_ENDS:
  default:
    drop_all (stage);
    break;
  }
  wait_for (stage, (Wanted){ .destroys = TRUE });
}

static void
end_world (Stage *stage)
{
  g_clear_pointer (&stage->hold, curator_lease_unref);
  g_clear_pointer (&stage->hold_lock, curator_lock_unref);
  g_clear_pointer (&stage->aside, curator_lock_unref);
  drop_all (stage);
  curator_client_close (stage->objects.client);
  g_clear_pointer (&stage->objects.client, curator_client_unref);
  g_clear_pointer (&stage->objects.closed, curator_client_unref);
  g_ptr_array_unref (stage->objects.no_leases);
  if (stage->fault == NULL)
    wait_for (stage, (Wanted){ .destroys = TRUE, .with_settings = TRUE });
  if (stage->has_context) {
    g_atomic_int_set (&stage->context_ends, TRUE);
    pthread_join (stage->context_thread, NULL);
    g_main_context_unref (stage->context);
  }
  for (guint i = 0; i < stage->registrations->len; i++) {
    const Registration *registration = g_ptr_array_index (stage->registrations, i);
    const guint index = registration->code->moment == REGISTER_LAST
                            ? 0
                            : index_of (registration->code, "GDestroyNotify");
    if (g_atomic_int_get (&registration->calls[index]) > 1) {
      note_fault (stage, g_strdup_printf ("%s () has called back, or destroyed its data, twice",
                                          registration->code->function));
    }
  }
  if (stage->blocks != NULL && !g_atomic_int_get (&stage->blocked))
    note_fault (stage, g_strdup ("nothing has blocked"));
}

static void *
run_stage (void *data)
{
  Stage *stage = data;
  is_programs = TRUE;
  create (stage);
  if (stage->fault == NULL) {
    create_objects (stage);
    have_all_called (stage);
  }
  if (stage->fault == NULL)
    end_objects (stage);
  if (is_lost (stage))
    note_fault (stage, g_strdup ("the hold is lost"));
  end_world (stage);
  return NULL;
}

static Stage *
stage_start (Fixture *fixture, const Stage *pattern)
{
  static int number;
  Stage *stage = g_new (Stage, 1);

  *stage = *pattern;
  stage->number = ++number;
  stage->proxy = proxy_new (fixture_server (fixture));
  stage->registrations = g_ptr_array_new_with_free_func (g_free);
  stage->paths = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  stage->misplaced = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  pthread_mutex_init (&stage->mutex, NULL);
  pthread_create (&stage->thread, NULL, run_stage, stage);
  return stage;
}

/* Prints what was wrong. A bad stage is not freed: late calls need it. */
static gboolean
stage_is_good (Stage *stage)
{
  static const char *const ends[N_ENDS] = {
    "dropped", "cleared", "replaced", "dropped by a callback", "in flight", "by timer", "closed"
  };
  pthread_join (stage->thread, NULL);
  if (stage->fault != NULL || g_hash_table_size (stage->misplaced) > 0) {
    g_autofree char **functions = (char **) g_hash_table_get_keys_as_array (stage->misplaced, NULL);
    g_autofree char *list = g_strjoinv ("; ", functions);
    print_error ("--- %s%s, %s %s blocks: %s; misplaced: %s\n", ends[stage->end],
                 stage->has_context ? ", in a context" : "",
                 stage->blocks != NULL ? stage->blocking_kind : "nothing",
                 stage->blocks != NULL ? stage->blocks : "",
                 stage->fault != NULL ? stage->fault : "no fault", list);
    return FALSE;
  }
  proxy_free (stage->proxy);
  g_ptr_array_unref (stage->registrations);
  g_hash_table_unref (stage->paths);
  g_hash_table_unref (stage->misplaced);
  pthread_mutex_destroy (&stage->mutex);
  g_free (stage);
  return TRUE;
}

static void
assert_all_good (GPtrArray *stages)
{
  guint n_bad = 0;
  for (guint i = 0; i < stages->len; i++)
    n_bad += stage_is_good (g_ptr_array_index (stages, i)) ? 0 : 1;
  if (n_bad > 0) {
    fail_msg ("%u of %u worlds saw a function of the program where none may run, or lost a hold",
              n_bad, stages->len);
  }
}

TEST (test_ends)
{
  g_autoptr (GPtrArray) stages = g_ptr_array_new ();
  for (End end = 0; end < N_ENDS; end++) {
    g_ptr_array_add (stages, stage_start (fixture, &(Stage){ .end = end }));
#ifndef __SANITIZE_THREAD__ /* does not see the mutex of a GMainContext, which GLib does not instrument */
    g_ptr_array_add (stages, stage_start (fixture, &(Stage){ .end = end, .has_context = TRUE }));
#endif
  }
  assert_all_good (stages);
}

TEST (test_blocked)
{
  g_autoptr (GPtrArray) stages = g_ptr_array_new ();
  for (guint i = 0; i < n_user_codes; i++) {
    for (guint k = 0; k < USER_CODE_MAX && user_codes[i].kinds[k] != NULL; k++) {
      const Stage pattern = { .end = END_IN_FLIGHT,
                              .blocks = user_codes[i].function,
                              .blocking_kind = user_codes[i].kinds[k] };
      g_ptr_array_add (stages, stage_start (fixture, &pattern));
    }
  }
  print_message ("%u functions block for %d ms each\n", stages->len, BLOCK_MS);
  assert_all_good (stages);
}

/* A call that fails leaves the data to its caller. */
TEST (test_failed_call)
{
  Stage stage = { .fault = NULL };
  Registration registration = { .code = user_codes, .world = &stage.objects };
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (CuratorLock) multi = curator_multi_lock_new (NULL, 0);
  g_autoptr (GError) error = NULL;

  assert_null (curator_leader_selector_new (client, "relative", (CuratorTakeLeadershipFunc) abort,
                                            &registration, user_code_destroy, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_false (curator_lock_make_revocable (multi, (CuratorRevocationListener) abort,
                                             &registration, user_code_destroy, &error));
  assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
  assert_int_equal (registration.calls[index_of (user_codes, "GDestroyNotify")], 0);
}

static int
start (void **state)
{
  return fixture_start_for_sessions (state, HOLD_SESSION_MS);
}

int
main (void)
{
  /* Where GIO's functions would call back. */
  g_autoptr (GMainContext) context = g_main_context_new ();

  is_programs = TRUE;
  g_main_context_push_thread_default (context);
  const int n_failed = suite_run ("user_code", start, fixture_stop);
  const gboolean is_used = g_main_context_pending (context);
  g_main_context_pop_thread_default (context);
  return n_failed + (is_used ? 1 : 0);
}
