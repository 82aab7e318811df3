/* Scenes: a few machines with a client each, and sequential roles, under many seeds.
 *
 * Expectations are checked on an actor's thread, where cmocka cannot assert: a failed one fails the
 * world, and so the scene. The baton protects data that roles share.
 */
#pragma once

#include "sim_machine.h"

#define SCENE_MACHINES 3
#define SCENE_PATH     "/sim/scene"

typedef struct
{
  SimWorld *world;
  Machine *machines[SCENE_MACHINES]; /* each with a mutex at SCENE_PATH */
  /* Shared by the roles. */
  gboolean held;
  gboolean waited;
  gboolean over;
  int n_holders;
  int n_refused;
  GString *order;
  GCancellable *cancellable; /* a role's */
  gint64 lost_us;            /* when a hold was lost */
  gint64 ends_us;            /* not before */
} Scene;

/* On an actor's thread of its machine. */
typedef void (*SceneRole) (Scene *scene, Machine *me);

typedef struct
{
  SceneRole roles[SCENE_MACHINES]; /* of each machine; NULL: none */
  void (*set_up) (Scene *scene);   /* called before they begin; may be NULL, like the next */
  void (*check) (Scene *scene);    /* called when all roles have returned */
  gint64 session_ms;               /* 0: the default, long */
  gint64 heartbeat_ms;             /* 0: the client's default, like the next */
  gint64 server_tick_ms;           /* that the client assumes */
  guint n_seeds;                   /* 0: the default, a few */
} ScenePlay;

/* A hold, however long that takes. */
CuratorLease *scene_hold (Scene *scene, CuratorLock *lock);
/* By that lock. */
void scene_expect_refused (Scene *scene, CuratorLock *lock, gint64 timeout_ms, CuratorError code);
/* A role: holds the mutex until another role is over. */
void scene_hold_until_over (Scene *scene, Machine *me);
/* A check: no watches are left. */
void scene_expect_no_watches (Scene *scene);
/* Asserts that nothing failed under any seed. */
void scene_play (const ScenePlay *play);
/* A test that plays one scene: the fields of its ScenePlay. */
#define SCENE_TEST(name, ...)                                                                      \
  static void name (void **state)                                                                  \
  {                                                                                                \
    const ScenePlay play = { __VA_ARGS__ };                                                        \
    scene_play (&play);                                                                            \
  }                                                                                                \
  SUITE_ADD (name, name, NULL)

gboolean scene_has_error (GError **error, CuratorError code);
guint scene_n_children (Scene *scene, const char *path);

#define EXPECT(scene, expectation)                                                                 \
  G_STMT_START                                                                                     \
  {                                                                                                \
    if (!(expectation))                                                                            \
      sim_world_fail ((scene)->world, "%s: expectation failed: %s", G_STRFUNC, #expectation);      \
  }                                                                                                \
  G_STMT_END

/* Waits, in virtual time, until the condition holds; the scene hangs if it never does. */
#define AWAIT(scene, expectation)                                                                  \
  G_STMT_START                                                                                     \
  {                                                                                                \
    for (int wait_ms = 0; wait_ms < 120000 && !(expectation); wait_ms++)                           \
      sim_sleep_ms ((scene)->world, 1);                                                            \
    EXPECT (scene, expectation);                                                                   \
  }                                                                                                \
  G_STMT_END
