/* User code that blocks for longer than a session lives: listeners, callbacks and destroy functions
 * of a client that holds a lock meanwhile. The hold must last, unless something else is wrong. */
#include "chaos_actors.h"
#include "support/waiting.h"

#define LOOK_MS       5
#define ACQUIRE_MS    3000
#define RELEASE_MS    1000
#define MOST_AT_ONCE  3
#define LONGEST_PAUSE 1000

struct _ChaosBlocks
{
  CuratorClient *client;
  CuratorLock *lock;
  char *other; /* path of a lock that callbacks and destroy functions belong to */
};

/* What the functions that block during one hold share. */
typedef struct
{
  ChaosBlocks *blocks;
  ChaosCells *cells;
  CuratorLease *lease;
  int block_ms;
  gint64 held_ns; /* for so long it was certainly held */
  gboolean is_lost;
  gint n_left; /* atomic; calls that have not ended */
} Hold;

static void
block (gpointer data)
{
  Hold *hold = data;
  wait_ms (hold->block_ms);
  chaos_cell_add (&hold->cells->blocks, 1);
  g_atomic_int_add (&hold->n_left, -1);
}

/* --- the ways in which the library gets to user code ------------------------------------------ */

static void
ignore_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
}

static void
ignore_error (CuratorClient *client, const GError *error, gpointer data)
{
}

static void
ignore_lease_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
}

static void
ignore_revocation (CuratorLock *lock, gpointer data)
{
}

static void
ignore_leadership (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
                   gpointer data)
{
}

static void
block_with_lease (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  block (data);
  g_clear_pointer (&lease, curator_lease_unref);
}

static void
block_released (CuratorLease *lease, const GError *error, gpointer data)
{
  block (data);
}

static void
state_listener (Hold *hold)
{
  CuratorClient *client = hold->blocks->client;
  const guint id = curator_client_add_state_listener (client, ignore_state, hold, block);
  curator_client_remove_state_listener (client, id);
}

static void
error_listener (Hold *hold)
{
  CuratorClient *client = hold->blocks->client;
  const guint id = curator_client_add_connection_error_listener (client, ignore_error, hold, block);
  curator_client_remove_connection_error_listener (client, id);
}

static void
lease_listener (Hold *hold)
{
  const guint id = curator_lease_add_listener (hold->lease, ignore_lease_state, hold, block);
  curator_lease_remove_listener (hold->lease, id);
}

static void
acquire_callback (Hold *hold)
{
  g_autoptr (CuratorLock) lock =
      curator_mutex_new (hold->blocks->client, hold->blocks->other, NULL);
  curator_lock_acquire_then (lock, ACQUIRE_MS, NULL, block_with_lease, hold);
}

static void
release_callback (Hold *hold)
{
  g_autoptr (CuratorLock) lock =
      curator_mutex_new (hold->blocks->client, hold->blocks->other, NULL);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (lock, ACQUIRE_MS, NULL, NULL);
  if (lease == NULL)
    {
      g_atomic_int_add (&hold->n_left, -1);
      return;
    }
  curator_lease_release_then (lease, CURATOR_WAIT_DEFAULT, NULL, block_released, hold);
}

static void
revocation_listener (Hold *hold)
{
  g_autoptr (CuratorLock) lock =
      curator_mutex_new (hold->blocks->client, hold->blocks->other, NULL);
  g_assert_true (curator_lock_make_revocable (lock, ignore_revocation, hold, block, NULL));
}

static void
leader_function (Hold *hold)
{
  CuratorLeaderSelector *selector = curator_leader_selector_new (
      hold->blocks->client, hold->blocks->other, ignore_leadership, hold, block, NULL);
  curator_leader_selector_unref (selector);
}

static void (*const WAYS[]) (Hold *hold) = { state_listener,   error_listener,
                                             lease_listener,   acquire_callback,
                                             release_callback, revocation_listener,
                                             leader_function };

/* --- the actor -------------------------------------------------------------------------------- */

ChaosBlocks *
chaos_blocks_open (const ChaosActor *actor)
{
  if (!chaos_actor_is_chosen (actor, CHAOS_KIND_BLOCKS))
    return NULL;
  ChaosBlocks *blocks = g_new0 (ChaosBlocks, 1);
  g_autofree char *path = g_strdup_printf (CHAOS_ROOT "/blocked-%d", actor->process);
  blocks->other = g_strdup_printf (CHAOS_ROOT "/blocked-%d-other", actor->process);
  blocks->client = chaos_client_new (actor->connect_string, actor->session_ms, actor->tick_ms);
  blocks->lock = curator_mutex_new (blocks->client, path, NULL);
  g_assert_true (curator_client_start (blocks->client, NULL));
  G_GNUC_UNUSED const gboolean connected =
      curator_client_block_until_connected (blocks->client, CURATOR_WAIT_FOREVER, NULL, NULL);
  return blocks;
}

void
chaos_blocks_close (ChaosBlocks *blocks)
{
  if (blocks == NULL)
    return;
  curator_client_close (blocks->client);
  curator_lock_unref (blocks->lock);
  curator_client_unref (blocks->client);
  g_free (blocks->other);
  g_free (blocks);
}

void
chaos_blocks_tell (const ChaosBlocks *blocks)
{
  if (blocks != NULL)
    chaos_client_tell (blocks->client, "whose user code blocks");
}

static void
note_loss (const ChaosActor *actor, const Hold *hold, gint64 lost_ns)
{
  ChaosCells *cells = actor->cells;
  const guint32 n = __atomic_fetch_add (&cells->n_losses, 1, __ATOMIC_SEQ_CST);
  if (n < CHAOS_LOSSES)
    cells->losses[n] = (ChaosLoss){ hold->held_ns, lost_ns, actor->process };
  g_printerr ("%s is lost; the client has session 0x%" G_GINT64_MODIFIER "x\n",
              curator_lease_get_node_path (hold->lease),
              curator_client_get_session_id (hold->blocks->client));
}

static void
look (const ChaosActor *actor, Hold *hold)
{
  const gint64 now_ns = wait_now_ns ();
  if (curator_lease_get_state (hold->lease) != CURATOR_LEASE_LOST)
    {
      hold->held_ns = now_ns;
    }
  else if (!hold->is_lost)
    {
      hold->is_lost = TRUE;
      note_loss (actor, hold, wait_now_ns ());
    }
}

/* Functions of different kinds block threads of the client at the same time. */
static void
hold_and_block (const ChaosActor *actor, ChaosBlocks *blocks, CuratorLease *lease, GRand *rand)
{
  const int n = g_rand_int_range (rand, 1, MOST_AT_ONCE + 1);
  Hold hold = { .blocks = blocks,
                .cells = actor->cells,
                .lease = lease,
                .block_ms = (int) actor->session_ms * 3 / 2,
                .held_ns = wait_now_ns (),
                .n_left = n };
  for (int i = 0; i < n; i++)
    {
      WAYS[g_rand_int_range (rand, 0, G_N_ELEMENTS (WAYS))](&hold);
      look (actor, &hold);
    }
  while (g_atomic_int_get (&hold.n_left) > 0)
    {
      wait_ms (LOOK_MS);
      look (actor, &hold);
    }
}

void
chaos_blocks_run (const ChaosActor *actor, ChaosBlocks *blocks)
{
  GRand *rand = g_rand_new_with_seed (actor->seed);
  chaos_actor_wait (actor);
  while (blocks != NULL && chaos_actor_runs (actor))
    {
      g_autoptr (CuratorLease) lease =
          curator_lock_acquire_lease (blocks->lock, ACQUIRE_MS, NULL, NULL);
      if (lease != NULL)
        {
          hold_and_block (actor, blocks, lease, rand);
          curator_lease_release (lease, RELEASE_MS, NULL, NULL);
        }
      wait_ms (g_rand_int_range (rand, 0, LONGEST_PAUSE));
    }
  g_rand_free (rand);
}
