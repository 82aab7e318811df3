/* Sets up a scene, runs it and tears it down. See sim_scene.h. */
#include "sim_scene.h"

#define FEW_SEEDS       20
#define LONG_SESSION_MS 30000

typedef struct
{
  Scene *scene;
  Machine *machine;
  SceneRole role;
} Cast;

static void
play_role (gpointer data)
{
  const Cast *cast = data;
  cast->role (cast->scene, cast->machine);
}

static Machine *
machine_open (SimWorld *world, int i, const ScenePlay *play, gint64 session_ms)
{
  const char name[] = { (char) ('A' + i), '\0' };
  Machine *machine = machine_new_latent (world, name, NULL);

  curator_client_set_session_timeout (machine->client, session_ms);
  if (play->heartbeat_ms > 0)
    curator_client_set_heartbeat_interval (machine->client, play->heartbeat_ms);
  if (play->server_tick_ms > 0)
    curator_client_set_server_tick (machine->client, play->server_tick_ms);
  assert_true (curator_client_start (machine->client, NULL));
  machine->lock = curator_mutex_new (machine->client, SCENE_PATH, NULL);
  return machine;
}

static void
play_once (const ScenePlay *play, guint32 seed)
{
  const gint64 session_ms = play->session_ms > 0 ? play->session_ms : LONG_SESSION_MS;
  GOOD_WORLD world = sim_world_new_calm (seed, 3);
  Scene scene = { .world = world, .order = g_string_new (NULL) };
  Cast cast[SCENE_MACHINES];

  world->config.tick_ms = MIN (world->config.tick_ms, session_ms / 2);
  for (int i = 0; i < SCENE_MACHINES; i++)
    scene.machines[i] = machine_open (world, i, play, session_ms);
  if (play->set_up != NULL)
    play->set_up (&scene);
  for (int i = 0; i < SCENE_MACHINES && play->roles[i] != NULL; i++) {
    cast[i] = (Cast){ &scene, scene.machines[i], play->roles[i] };
    sim_actor_new (world, scene.machines[i]->process, "role", play_role, &cast[i]);
  }
  sim_world_run (world);
  if (play->check != NULL)
    play->check (&scene);
  sim_world_heal (world);
  for (int i = 0; i < SCENE_MACHINES; i++)
    machine_free (scene.machines[i]);
  g_string_free (scene.order, TRUE);
}

void
scene_play (const ScenePlay *play)
{
  for (guint32 seed = 0; seed < (play->n_seeds > 0 ? play->n_seeds : FEW_SEEDS); seed++)
    play_once (play, seed);
}

CuratorLease *
scene_hold (Scene *scene, CuratorLock *lock)
{
  CuratorLease *lease = curator_lock_acquire_lease (lock, CURATOR_WAIT_FOREVER, NULL, NULL);
  EXPECT (scene, lease != NULL && curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD);
  return lease;
}

void
scene_hold_until_over (Scene *scene, Machine *me)
{
  G_GNUC_UNUSED g_autoptr (CuratorLease) lease = scene_hold (scene, me->lock);

  scene->held = TRUE;
  AWAIT (scene, scene->over);
}

void
scene_expect_refused (Scene *scene, CuratorLock *lock, gint64 timeout_ms, CuratorError code)
{
  g_autoptr (GError) error = NULL;

  EXPECT (scene, !curator_lock_acquire (lock, timeout_ms, NULL, &error));
  EXPECT (scene, scene_has_error (&error, code));
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
  EXPECT (scene, sim_process_server_watches (scene->machines[0]->process) == 0);
  EXPECT (scene, sim_process_server_watches (scene->machines[1]->process) == 0);
}
