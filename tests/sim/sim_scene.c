/* Sets up a scene, runs it and tears it down. See sim_scene.h. */
#include "sim_scene.h"

#include "core/client-record.h"
#include "retry/retry_policy.h"

#define FEW_SEEDS       20
#define LONG_SESSION_MS 30000

static void
machine_open (Scene *scene, int i, const ScenePlay *play, gint64 session_ms)
{
  SceneMachine *machine = &scene->machines[i];
  const char name[] = { (char) ('A' + i), '\0' };
  CuratorRetryPolicy *policy = curator_retry_policy_new_exponential_backoff (200, 3);

  curator_retry_policy_seed (policy, g_rand_int (sim_world_rand (scene->world)));
  machine->world = scene->world;
  machine->process = sim_process_new (scene->world, name);
  machine->client =
      curator_client_new_with_ops ("127.0.0.1:2181", policy, sim_process_ops (machine->process));
  curator_retry_policy_unref (policy);
  curator_client_set_session_timeout (machine->client, session_ms);
  if (play->heartbeat_ms > 0)
    curator_client_set_heartbeat_interval (machine->client, play->heartbeat_ms);
  if (play->server_tick_ms > 0)
    curator_client_set_server_tick (machine->client, play->server_tick_ms);
  sim_world_add_client (scene->world, machine->process, machine->client);
  assert_true (curator_client_start (machine->client, NULL));
  machine->mutex = curator_mutex_new (machine->client, SCENE_PATH, NULL);
}

static void
close_machine (gpointer data)
{
  SceneMachine *machine = data;
  curator_client_close (machine->client);
}

static void
clear_away (Scene *scene)
{
  sim_world_heal (scene->world);
  for (int i = 0; i < SCENE_MACHINES; i++)
    {
      sim_actor_new (scene->world, scene->machines[i].process, "closer", close_machine,
                     &scene->machines[i]);
    }
  sim_world_run (scene->world);
  for (int i = 0; i < SCENE_MACHINES; i++)
    {
      sim_world_add_client (scene->world, scene->machines[i].process, NULL);
      curator_lock_unref (scene->machines[i].mutex);
      curator_client_unref (scene->machines[i].client);
    }
  g_string_free (scene->order, TRUE);
}

typedef struct
{
  Scene *scene;
  SceneMachine *machine;
  SceneRole role;
} Cast;

static void
play_role (gpointer data)
{
  const Cast *cast = data;
  cast->role (cast->scene, cast->machine);
}

static gboolean
play_once (const ScenePlay *play, guint32 seed)
{
  const gint64 session_ms = play->session_ms > 0 ? play->session_ms : LONG_SESSION_MS;
  SimConfig config;
  Scene scene = { 0 };
  Cast cast[SCENE_MACHINES];

  sim_config_calm (&config);
  config.tick_ms = MIN (config.tick_ms, session_ms / 2);
  scene.world = sim_world_new (seed, &config);
  scene.order = g_string_new (NULL);
  for (int i = 0; i < SCENE_MACHINES; i++)
    machine_open (&scene, i, play, session_ms);
  for (int i = 0; i < SCENE_MACHINES && play->roles[i] != NULL; i++)
    {
      cast[i] = (Cast){ &scene, &scene.machines[i], play->roles[i] };
      sim_actor_new (scene.world, scene.machines[i].process, "role", play_role, &cast[i]);
    }
  sim_world_run (scene.world);
  if (play->check != NULL)
    play->check (&scene);
  clear_away (&scene);
  const gboolean good = !sim_world_failed (scene.world);
  sim_world_free (scene.world);
  return good;
}

void
scene_play (const ScenePlay *play)
{
  for (guint32 seed = 0; seed < (play->n_seeds > 0 ? play->n_seeds : FEW_SEEDS); seed++)
    assert_true (play_once (play, seed));
}

CuratorLease *
scene_hold (Scene *scene, CuratorLock *lock)
{
  CuratorLease *lease = curator_lock_acquire_lease (lock, CURATOR_WAIT_FOREVER, NULL, NULL);
  EXPECT (scene, lease != NULL && curator_lease_get_state (lease) == CURATOR_LEASE_HELD);
  return lease;
}

gboolean
scene_has_error (GError **error, CuratorError code)
{
  const gboolean has = g_error_matches (*error, CURATOR_ERROR, code);
  g_clear_error (error);
  return has;
}

guint
scene_n_children (Scene *scene, const char *path)
{
  g_auto (GStrv) children = sim_world_children (scene->world, path);
  return g_strv_length (children);
}

void
scene_expect_no_watches (Scene *scene)
{
  sim_world_run_for (scene->world, 1000);
  EXPECT (scene, sim_process_server_watches (scene->machines[0].process) == 0);
  EXPECT (scene, sim_process_server_watches (scene->machines[1].process) == 0);
}
