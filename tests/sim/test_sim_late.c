/* A create is lost with its connection, and the server carries it out late or never: whoever should
 * get the lock does, and its node stays in nobody's way. Every recipe, every moment, every end.
 *
 * A loses the create. C is in front where A is to give up. B comes when A is through: it must get
 * the lock although A's session lives on.
 */
#include "sim_scene.h"

#define PATIENCE_MS 5000  /* well below the session timeout of a scene */
#define LONG_MS     15000 /* the session looks by itself after 13 s, and again after 25 s */
#define WAIT_MS     1500  /* of an attempt that is given up */
#define MAX_HOLD_MS 1200
#define N_SEEDS     4

typedef enum
{
  NEVER,
  BEFORE_SEARCH,
  BEFORE_SECOND, /* create of the session */
  BEHIND_SECOND,
  LATER, /* while the lock has been held for long, or is waited for */
  AFTER_END,
  LONG_AFTER, /* A comes again, and only then B */
  N_MOMENTS
} Moment;

typedef enum
{
  RELEASED,
  MAX_HOLD,
  TIMED_OUT,
  CANCELLED,
  N_ENDS
} End;

typedef struct
{
  const char *name;
  CuratorLock *(*open) (CuratorClient *client);  /* A's, and C's unless there is another */
  CuratorLock *(*rival) (CuratorClient *client); /* B's and C's; NULL: the same */
  guint nth;                                     /* create of A is lost */
  const char *paths[2];                          /* of nodes */
} Recipe;

typedef struct
{
  const Recipe *recipe;
  Moment moment;
  End end;
} Case;

static const Case *playing;
static guint n_carried_out;

/* --- recipes ---------------------------------------------------------------------------------- */

static CuratorLock *
open_mutex (CuratorClient *client)
{
  return curator_mutex_new (client, "/late/a", NULL);
}

static CuratorLock *
open_semaphore (CuratorClient *client)
{
  return curator_semaphore_mutex_new (client, "/late/s", NULL);
}

static CuratorLock *
open_multi (CuratorClient *client)
{
  static const char *const paths[] = { "/late/a", "/late/b", NULL };
  return curator_multi_lock_new_for_paths (client, paths, NULL);
}

static CuratorLock *
open_reader (CuratorClient *client)
{
  g_autoptr (CuratorRwLock) pair = curator_rw_lock_new (client, "/late/a", NULL, 0, NULL);
  return curator_lock_ref (curator_rw_lock_get_read_lock (pair));
}

static CuratorLock *
open_writer (CuratorClient *client)
{
  g_autoptr (CuratorRwLock) pair = curator_rw_lock_new (client, "/late/a", NULL, 0, NULL);
  return curator_lock_ref (curator_rw_lock_get_write_lock (pair));
}

static const Recipe recipes[] = {
  { "mutex", open_mutex, NULL, 1, { "/late/a" } },
  { "writer", open_writer, open_reader, 1, { "/late/a" } },
  { "reader", open_reader, open_writer, 1, { "/late/a" } },
  { "turn of a semaphore", open_semaphore, NULL, 1, { "/late/s/locks", "/late/s/leases" } },
  { "lease of a semaphore", open_semaphore, NULL, 2, { "/late/s/locks", "/late/s/leases" } },
  { "first of a multi-lock", open_multi, NULL, 1, { "/late/a", "/late/b" } },
  { "second of a multi-lock", open_multi, NULL, 2, { "/late/a", "/late/b" } },
  { "latch", NULL, NULL, 1, { "/late/a" } },
};

/* A latch has no maximum. */
static gboolean
exists (const Recipe *recipe, End end)
{
  return recipe->open != NULL || end != MAX_HOLD;
}

/* --- who takes part --------------------------------------------------------------------------- */

typedef struct
{
  CuratorLock *lock;
  CuratorLeaderLatch *latch;
  CuratorLease *lease;
} Claim;

static Claim
claim_new (Machine *me, gboolean is_rival)
{
  const Recipe *recipe = playing->recipe;
  Claim claim = { NULL };

  if (recipe->open == NULL)
    claim.latch = curator_leader_latch_new (me->client, "/late/a", "", NULL);
  else
    claim.lock = (is_rival && recipe->rival != NULL ? recipe->rival : recipe->open) (me->client);
  return claim;
}

static gboolean
claim_take (Claim *claim, gint64 timeout_ms, GCancellable *cancellable, GError **error)
{
  if (claim->latch != NULL)
    return curator_leader_latch_start (claim->latch, error)
           && curator_leader_latch_await (claim->latch, timeout_ms, cancellable, error);
  claim->lease = curator_lock_acquire_lease (claim->lock, timeout_ms, cancellable, error);
  return claim->lease != NULL;
}

static void
claim_end (Claim *claim)
{
  if (claim->lease != NULL)
    (void) !curator_lease_release (claim->lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
  g_clear_pointer (&claim->lease, curator_lease_unref);
  g_clear_pointer (&claim->lock, curator_lock_unref);
  if (claim->latch != NULL)
    curator_leader_latch_close (claim->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  g_clear_pointer (&claim->latch, curator_leader_latch_unref);
}

static void
sleep_some (Scene *scene, gint32 most_ms)
{
  sim_sleep_ms (scene->world, g_rand_int_range (scene->world->rand, 0, most_ms));
}

static gboolean
gives_up (void)
{
  return playing->end == TIMED_OUT || playing->end == CANCELLED;
}

static void
script (Scene *scene, Machine *me)
{
  SimWorld *world = scene->world;

  sim_world_script (world, me->process, SIM_OP_CREATE, playing->recipe->nth, ZCONNECTIONLOSS,
                    SIM_BEFORE_EFFECT);
  if (playing->moment == BEFORE_SEARCH)
    sim_world_carry_out_with (world, SIM_OP_CHECK, TRUE);
  else if (playing->moment == BEFORE_SECOND || playing->moment == BEHIND_SECOND)
    sim_world_carry_out_with (world, SIM_OP_CREATE, playing->moment == BEFORE_SECOND);
}

static void
hold (Scene *scene, Claim *claim)
{
  g_autoptr (GError) error = NULL;

  if (playing->end == MAX_HOLD)
    curator_lock_set_max_hold (claim->lock, MAX_HOLD_MS + (playing->moment == LATER ? LONG_MS : 0));
  if (!claim_take (claim, PATIENCE_MS, NULL, &error)) {
    sim_world_fail (scene->world, "not granted: %s", error->message);
    return;
  }
  if (playing->moment == LATER) {
    sim_sleep_ms (scene->world, LONG_MS);
    EXPECT (scene, sim_world_carry_out (scene->world));
  }
  if (playing->end == MAX_HOLD)
    AWAIT (scene, curator_lease_get_state (claim->lease) == CURATOR_LEASE_STATE_LOST);
  else
    sleep_some (scene, 1000);
}

static void
cancel_later (gpointer data)
{
  Scene *scene = data;
  sim_sleep_ms (scene->world, WAIT_MS);
  g_cancellable_cancel (scene->cancellable);
}

static void
give_up (Scene *scene, Machine *me, Claim *claim)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();

  scene->cancellable = cancellable;
  if (playing->end == CANCELLED)
    sim_actor_new (scene->world, me->process, "canceller", cancel_later, scene);
  EXPECT (scene, !claim_take (claim, playing->end == CANCELLED ? PATIENCE_MS : WAIT_MS, cancellable,
                              &error));
  EXPECT (scene, playing->end == CANCELLED
                     ? g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)
                     : scene_has_error (&error, CURATOR_ERROR_TIMED_OUT));
}

static void
come_again (Scene *scene, Machine *me)
{
  g_autoptr (GError) error = NULL;

  n_carried_out += scene->world->lost_create == NULL ? 1 : 0;
  Claim claim = claim_new (me, TRUE);
  if (!claim_take (&claim, PATIENCE_MS, NULL, &error))
    sim_world_fail (scene->world, "hindered: %s", error->message);
  claim_end (&claim);
  for (gsize i = 0; i < G_N_ELEMENTS (playing->recipe->paths); i++)
    if (playing->recipe->paths[i] != NULL)
      AWAIT (scene, scene_n_children (scene, playing->recipe->paths[i]) == 0);
}

/* A */
static void
lose_the_create (Scene *scene, Machine *me)
{
  AWAIT (scene, scene->held || !gives_up ());
  Claim claim = claim_new (me, FALSE);
  script (scene, me);
  if (gives_up ())
    give_up (scene, me, &claim);
  else
    hold (scene, &claim);
  claim_end (&claim);
  EXPECT (scene, scene->world->lost_by != NULL);
  if (playing->moment == AFTER_END)
    sleep_some (scene, 2000);
  else if (playing->moment == LONG_AFTER)
    sim_sleep_ms (scene->world, LONG_MS);
  if (playing->moment >= AFTER_END)
    EXPECT (scene, sim_world_carry_out (scene->world));
  scene->waited = TRUE;
  AWAIT (scene, !scene->held);
  if (playing->moment == LONG_AFTER)
    come_again (scene, me);
  scene->over = TRUE;
}

/* B */
static void
come_afterwards (Scene *scene, Machine *me)
{
  AWAIT (scene, scene->over);
  come_again (scene, me);
}

/* C */
static void
be_in_front (Scene *scene, Machine *me)
{
  if (!gives_up ())
    return;
  Claim claim = claim_new (me, TRUE);
  EXPECT (scene, claim_take (&claim, PATIENCE_MS, NULL, NULL));
  scene->held = TRUE;
  if (playing->moment == LATER) {
    sim_sleep_ms (scene->world, WAIT_MS / 2);
    EXPECT (scene, sim_world_carry_out (scene->world));
  }
  AWAIT (scene, scene->waited);
  claim_end (&claim);
  scene->held = FALSE;
}

/* So that the parents are no creates of A's. */
static void
make_parents (Scene *scene)
{
  static const char *const parents[] = { "/late",   "/late/a",       "/late/b",
                                         "/late/s", "/late/s/locks", "/late/s/leases" };
  for (gsize i = 0; i < G_N_ELEMENTS (parents); i++)
    assert_true (sim_world_put (scene->world, parents[i], "", 0));
}

TEST (test_p43_late_creates)
{
  static const ScenePlay play = { .roles = { lose_the_create, come_afterwards, be_in_front },
                                  .set_up = make_parents,
                                  .n_seeds = N_SEEDS };

  for (gsize i = 0; i < G_N_ELEMENTS (recipes); i++)
    for (guint moment = 0; moment < N_MOMENTS; moment++) {
      n_carried_out = 0;
      for (guint end = 0; end < N_ENDS; end++) {
        const Case now = { &recipes[i], (Moment) moment, (End) end };
        playing = &now;
        if (!exists (&recipes[i], (End) end))
          continue;
        print_message ("%s, carried out at %u, ended by %u\n", recipes[i].name, moment, end);
        scene_play (&play);
      }
      assert_int_equal (n_carried_out > 0, moment != NEVER);
    }
}

SIM_SUITE ("test_sim_late")
