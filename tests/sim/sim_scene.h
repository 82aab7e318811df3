/* Scenes: a few machines with a client each, and straight-line roles, under many seeds.
 *
 * What a role expects is checked on its actor's thread, where CMocka cannot assert: a failed
 * expectation fails the world, and the scene with it. The baton guards what roles share.
 */
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include "sim.h"

#include "curator/curator.h"

#define SCENE_MACHINES 3
#define SCENE_PATH     "/sim/scene"

typedef struct
{
  SimWorld *world;
  SimProcess *process;
  CuratorClient *client;
  CuratorLock *mutex; /* at SCENE_PATH */
} SceneMachine;

typedef struct
{
  SimWorld *world;
  SceneMachine machines[SCENE_MACHINES];
  /* What the roles tell each other. */
  gboolean held;
  gboolean waited;
  gboolean over;
  int n_holders;
  int n_refused;
  GString *order;
} Scene;

typedef struct
{
  SimActorFunc roles[SCENE_MACHINES]; /* what each machine does with its Scene; NULL: nothing */
  void (*look) (Scene *scene);        /* when all have played; may be NULL */
  gint64 session_ms;                  /* 0: long */
  guint n_seeds;                      /* 0: a few */
} ScenePlay;

/* Asserts that nothing failed under any seed. */
void scene_play (const ScenePlay *play);
/* For main: quiet, SIM_TEST=test_x runs one. */
void scene_prepare (const char *program);

gboolean scene_has_error (GError **error, CuratorError code);
guint scene_n_children (Scene *scene, const char *path);

#define EXPECT(scene, expectation)                                                                 \
  G_STMT_START                                                                                     \
  {                                                                                                \
    if (!(expectation))                                                                            \
      {                                                                                            \
        sim_world_fail ((scene)->world, "%s: not so: %s", G_STRFUNC, #expectation);                \
      }                                                                                            \
  }                                                                                                \
  G_STMT_END

/* Waits, in virtual time, for something that has to come. */
#define AWAIT(scene, expectation)                                                                  \
  G_STMT_START                                                                                     \
  {                                                                                                \
    for (int wait_ms = 0; wait_ms < 120000 && !(expectation); wait_ms++)                           \
      {                                                                                            \
        sim_sleep_ms ((scene)->world, 1);                                                          \
      }                                                                                            \
    EXPECT (scene, expectation);                                                                   \
  }                                                                                                \
  G_STMT_END

#endif
