/* The objects that the calls of extreme_headers get, and their arguments. */
#include "extremes.h"

#include <string.h>

#define ROOM        4097
#define MAX_HOLD_MS 600000

struct _Scene
{
  Fixture *fixture;
  CuratorClient *client; /* behind the proxy */
  CuratorClient *other;  /* holds what is in the way */
  CuratorClient *nowhere;
  Program *program;
  CuratorClient *adopted;
  CuratorLease *their_lease;
  CuratorLock *held_lock;
  CuratorLock *free_lock;
  CuratorLease *lease;
  CuratorLease *limited_lease;
  GPtrArray *their_leases;
  CuratorSemaphore *full_semaphore;
  CuratorSemaphore *free_semaphore;
  CuratorLeaderLatch *their_latch;
  CuratorLeaderLatch *waiting_latch;
  CuratorLeaderLatch *leading_latch;
  CuratorLeaderSelector *waiting_selector;
  CuratorLeaderSelector *leading_selector;
  CuratorLeaderSelector *selector;
  CuratorLeaderSelector *their_selector;
  CuratorSharedCount *count;
  CuratorRetryPolicy *policy;
  CuratorLockDriver *driver;
  CuratorInspection *inspection;
  CuratorTls *tls;
};

gint extreme_n_criticals;

/* --- arguments -------------------------------------------------------------------------------- */

const char *extreme_base = "/extremes/new";

const char *
extreme_path (Stage *stage)
{
  static gint number;
  g_snprintf (stage->path, sizeof stage->path, "%s/%d", extreme_base,
              g_atomic_int_add (&number, 1));
  return stage->path;
}

const void *
extreme_bytes (void)
{
  static const char bytes[ROOM] = "ab";
  return bytes;
}

guint64 *
extreme_counters (void)
{
  static guint64 counters[ROOM];
  return counters;
}

void
extreme_answer (Outcome *outcome, gpointer result, GDestroyNotify drop, const GError *error)
{
  outcome->result = result;
  outcome->drop = drop;
  outcome->succeeded = drop != NULL ? result != NULL : error == NULL;
  outcome->error = error != NULL ? g_error_copy (error) : NULL;
  g_atomic_int_inc (&outcome->answered);
}

void
extreme_await (const Extreme *extreme, Outcome *outcome)
{
  if (extreme->is_then
      && !holds_within (g_atomic_int_get (&outcome->answered) > 0
                            || g_atomic_int_get (&extreme_n_criticals) > 0,
                        2 * LONG_MS))
    g_error ("the callback of %s () was not called", extreme->function);
}

/* --- the scene -------------------------------------------------------------------------------- */

static void
take_what_is_in_the_way (Scene *scene)
{
  GError *error = NULL;

  g_autoptr (CuratorLock) lock = mutex_new (scene->other, "/extremes/held");
  scene->their_lease = lease_of (lock);
  g_autoptr (CuratorSemaphore) full =
      curator_semaphore_new (scene->other, "/extremes/full", 2, NULL);
  scene->their_leases = curator_semaphore_acquire_n (full, 2, LONG_MS, NULL, &error);
  assert_ok (scene->their_leases != NULL, &error);
  scene->their_latch = curator_leader_latch_new (scene->other, "/extremes/waiting", "one", &error);
  assert_ok (curator_leader_latch_start (scene->their_latch, &error), &error);
  assert_ok (curator_leader_latch_await (scene->their_latch, LONG_MS, NULL, &error), &error);
}

static void
make_what_waits (Scene *scene)
{
  GError *error = NULL;

  scene->held_lock = mutex_new (scene->client, "/extremes/held");
  scene->full_semaphore = curator_semaphore_new (scene->client, "/extremes/full", 2, &error);
  scene->waiting_latch =
      curator_leader_latch_new (scene->client, "/extremes/waiting", "two", &error);
  assert_ok (curator_leader_latch_start (scene->waiting_latch, &error), &error);
  assert_ok (curator_client_start (scene->nowhere, &error), &error);
}

static void
make_what_is_free (Scene *scene)
{
  GError *error = NULL;
  CuratorClient *client = scene->client;

  scene->free_lock = mutex_new (client, "/extremes/free");
  g_autoptr (CuratorLock) limited = mutex_new (client, "/extremes/limited");
  curator_lock_set_max_hold (limited, MAX_HOLD_MS);
  scene->limited_lease = lease_of (limited);
  g_autoptr (CuratorLock) mine = mutex_new (client, "/extremes/mine");
  scene->lease = lease_of (mine);
  scene->free_semaphore = curator_semaphore_new (client, "/extremes/semaphore", 2, &error);
  scene->leading_latch = curator_leader_latch_new (client, "/extremes/leading", "one", &error);
  assert_ok (curator_leader_latch_start (scene->leading_latch, &error), &error);
  assert_ok (curator_leader_latch_await (scene->leading_latch, LONG_MS, NULL, &error), &error);
  scene->count = curator_shared_count_new (client, "/extremes/count", 0, &error);
  assert_ok (curator_shared_count_start (scene->count, LONG_MS, NULL, &error), &error);
  /* The first call deletes it; to the others it is gone. */
  raw_zk_make_path (scene->fixture->raw, "/extremes/ownerless");
  raw_zk_create (scene->fixture->raw, "/extremes/ownerless/lock-0000000000", NULL, ZOO_PERSISTENT,
                 NULL);
  scene->inspection = curator_client_inspect (client, "/extremes/ownerless", LONG_MS, NULL, &error);
  assert_ok (scene->inspection != NULL, &error);
  assert_int_equal (curator_inspection_get_n_participants (scene->inspection), 1);
}

static void
lead_nothing (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
              gpointer data)
{
}

static void
lead_on (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
         gpointer data)
{
  while (!g_cancellable_is_cancelled (cancellable))
    wait_ms (10);
}

static CuratorLeaderSelector *
start_selector (CuratorClient *client, const char *path)
{
  CuratorLeaderSelector *selector =
      curator_leader_selector_new (client, path, lead_on, NULL, NULL, NULL);
  curator_leader_selector_set_until_lost (selector, TRUE); /* the proxy is a hole at times */
  curator_leader_selector_set_auto_requeue (selector, TRUE);
  assert_true (curator_leader_selector_start (selector, NULL));
  return selector;
}

static void
make_selectors (Scene *scene)
{
  scene->selector = curator_leader_selector_new (scene->client, "/extremes/selector", lead_nothing,
                                                 NULL, NULL, NULL);
  scene->their_selector = start_selector (scene->other, "/extremes/selector");
  scene->leading_selector = start_selector (scene->client, "/extremes/led");
  assert_soon (curator_leader_selector_has_leadership (scene->their_selector)
               && curator_leader_selector_has_leadership (scene->leading_selector));
  scene->waiting_selector = start_selector (scene->client, "/extremes/selector");
}

Scene *
scene_new (Fixture *fixture, int connection_timeout_ms)
{
  Scene *scene = g_new0 (Scene, 1);
  scene->fixture = fixture;
  scene->other = client_connect (fixture_server (fixture));
  scene->client = client_new (fixture_proxy (fixture));
  scene->nowhere = client_new ("127.0.0.1:1");
  curator_client_set_connection_timeout (scene->client, connection_timeout_ms);
  curator_client_set_connection_timeout (scene->nowhere, connection_timeout_ms);
  client_start (scene->client);
  take_what_is_in_the_way (scene);
  make_what_waits (scene);
  make_what_is_free (scene);
  scene->program = program_open (fixture_server (fixture));
  assert_true (program_wait_connected (scene->program, LONG_MS));
  scene->adopted = program_client (scene->program);
  curator_client_set_connection_timeout (scene->adopted, connection_timeout_ms);
  make_selectors (scene);
  scene->policy = curator_retry_policy_new_n_times (3, 1);
  scene->driver = curator_lock_driver_new (NULL, NULL, NULL);
  scene->tls = curator_tls_new ();
  return scene;
}

void
scene_free (Scene *scene)
{
  curator_tls_unref (scene->tls);
  curator_lock_driver_unref (scene->driver);
  curator_retry_policy_unref (scene->policy);
  curator_leader_selector_unref (scene->selector);
  curator_leader_selector_unref (scene->waiting_selector);
  curator_leader_selector_unref (scene->leading_selector);
  curator_leader_selector_close (scene->their_selector);
  curator_leader_selector_unref (scene->their_selector);
  curator_inspection_unref (scene->inspection);
  curator_shared_count_unref (scene->count);
  curator_leader_latch_unref (scene->leading_latch);
  curator_leader_latch_unref (scene->waiting_latch);
  curator_leader_latch_unref (scene->their_latch);
  g_ptr_array_unref (scene->their_leases);
  curator_semaphore_unref (scene->free_semaphore);
  curator_semaphore_unref (scene->full_semaphore);
  curator_lease_unref (scene->limited_lease);
  curator_lease_unref (scene->lease);
  curator_lease_unref (scene->their_lease);
  curator_lock_unref (scene->free_lock);
  curator_lock_unref (scene->held_lock);
  curator_client_unref (scene->adopted);
  program_close (scene->program);
  curator_client_unref (scene->nowhere);
  curator_client_unref (scene->client);
  curator_client_unref (scene->other);
  g_free (scene);
}

/* --- one call --------------------------------------------------------------------------------- */

static gboolean
is_setter (const Extreme *extreme)
{
  return g_str_has_prefix (extreme->function, "curator_client_set_")
         || g_str_has_prefix (extreme->function, "curator_client_add_a"); /* auth, acl */
}

static gboolean
has_own_latch (const Extreme *extreme)
{
  return strstr (extreme->function, "_latch_set_until_lost") != NULL
         || strstr (extreme->function, "_latch_close") != NULL;
}

static CuratorClient *
client_for (const Scene *scene, const Extreme *extreme, Obstacle obstacle)
{
  if (is_setter (extreme))
    return client_new (fixture_server (scene->fixture));
  if (strcmp (extreme->function, "curator_client_forward_event") == 0)
    return scene->adopted;
  return obstacle != OBSTACLE_NONE
                 && g_str_has_prefix (extreme->function, "curator_client_block_until_connected")
             ? scene->nowhere
             : scene->client;
}

static CuratorLeaderLatch *
latch_for (const Scene *scene, Stage *stage, const Extreme *extreme, gboolean is_blocked)
{
  return has_own_latch (extreme)
             ? curator_leader_latch_new (scene->client, extreme_path (stage), "", NULL)
         : is_blocked ? scene->waiting_latch
                      : scene->leading_latch;
}

static CuratorLeaderSelector *
selector_for (const Scene *scene, const Extreme *extreme, gboolean is_blocked)
{
  if (strstr (extreme->function, "_selector_await") == NULL)
    return scene->selector;
  return is_blocked ? scene->waiting_selector : scene->leading_selector;
}

static gboolean
has_own_count (const Extreme *extreme)
{
  return g_str_has_prefix (extreme->function, "curator_shared_count_start");
}

static CuratorSharedCount *
count_for (const Scene *scene, Stage *stage, const Extreme *extreme)
{
  if (has_own_count (extreme))
    return curator_shared_count_new (scene->client, extreme_path (stage), 0, NULL);
  if (extreme->rule == RULE_VERSION || extreme->rule == RULE_COUNT) {
    G_GNUC_UNUSED const gboolean started =
        curator_shared_count_start (scene->count, LONG_MS, NULL, NULL);
    curator_shared_count_get_versioned (scene->count, NULL, &stage->version);
  }
  return scene->count;
}

static gboolean
has_own_lock (const Extreme *extreme)
{
  return extreme->rule == RULE_MAX_HOLD;
}

static void
hold (Stage *stage)
{
  GError *error = NULL;

  assert_acquired (stage->lock);
  g_autoptr (CuratorLock) other = mutex_new (stage->client, extreme_path (stage));
  stage->held_lease = lease_of (other);
  stage->held_leases = curator_semaphore_acquire_n (stage->semaphore, 2, LONG_MS, NULL, &error);
  assert_ok (stage->held_leases != NULL, &error);
}

static void
let_go (Stage *stage)
{
  if (curator_lock_is_owned_by_current_thread (stage->lock))
    curator_lock_release (stage->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  g_clear_pointer (&stage->held_lease, curator_lease_unref);
  g_clear_pointer (&stage->held_leases, g_ptr_array_unref);
}

gboolean
extreme_asks_only_server (const char *function)
{
  static const char *const parts[] = { "_get_participant", "_get_leader",
                                       "_get_data",        "_attempt_revoke",
                                       "_shared_count",    "curator_client_inspect",
                                       "_find_locks",      "_delete_ownerless" };

  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    if (strstr (function, parts[i]) != NULL)
      return TRUE;
  return FALSE;
}

/* After that a call finds no server that answers, or none. */
static void
enter_outage (Scene *scene, Obstacle obstacle)
{
  proxy_set_mode (scene->fixture->proxy,
                  obstacle == OBSTACLE_NO_SERVER ? PROXY_REFUSE : PROXY_HOLE);
  if (obstacle == OBSTACLE_NO_SERVER)
    assert_soon (curator_client_get_connection_state (scene->client)
                 == CURATOR_CONNECTION_STATE_SUSPENDED);
}

void
scene_enter (Scene *scene, Stage *stage, const Extreme *extreme, Obstacle obstacle)
{
  const gboolean asks_server = extreme_asks_only_server (extreme->function);
  const gboolean meets_holder = obstacle == OBSTACLE_HOLDER && !asks_server;
  const gboolean waits = obstacle != OBSTACLE_NONE && !asks_server;

  stage->cancellable = g_cancellable_new ();
  stage->client = client_for (scene, extreme, obstacle);
  stage->lock = has_own_lock (extreme) ? mutex_new (scene->client, extreme_path (stage))
                : meets_holder         ? scene->held_lock
                                       : scene->free_lock;
  stage->locks[0] = scene->free_lock;
  stage->locks[1] = scene->held_lock;
  stage->lease = extreme->rule == RULE_LIMITED ? scene->limited_lease : scene->lease;
  stage->semaphore = extreme->rule == RULE_NODE_DATA
                         ? curator_semaphore_new (scene->client, extreme_path (stage), 1, NULL)
                     : meets_holder ? scene->full_semaphore
                                    : scene->free_semaphore;
  stage->count = count_for (scene, stage, extreme);
  stage->latch = latch_for (scene, stage, extreme, waits);
  stage->selector = selector_for (scene, extreme, waits);
  stage->policy = scene->policy;
  stage->driver = scene->driver;
  stage->inspection = scene->inspection;
  stage->tls = scene->tls;
  stage->zh = scene->program->zh;
  stage->node = curator_lease_get_node_path (scene->lease);
  if (extreme->rule == RULE_RELEASE)
    hold (stage);
  if (obstacle > OBSTACLE_HOLDER || (obstacle == OBSTACLE_HOLDER && asks_server))
    enter_outage (scene, obstacle);
}

void
scene_leave (Scene *scene, Stage *stage, const Extreme *extreme)
{
  proxy_set_mode (scene->fixture->proxy, PROXY_PASS);
  assert_true (curator_client_block_until_connected (scene->client, LONG_MS, NULL, NULL));
  if (extreme->rule == RULE_RELEASE)
    let_go (stage);
  g_object_unref (stage->cancellable);
  if (is_setter (extreme))
    curator_client_unref (stage->client);
  if (has_own_latch (extreme))
    curator_leader_latch_unref (stage->latch);
  if (has_own_count (extreme))
    curator_shared_count_unref (stage->count);
  if (has_own_lock (extreme))
    curator_lock_unref (stage->lock);
  if (extreme->rule == RULE_NODE_DATA)
    curator_semaphore_unref (stage->semaphore);
}
