/* User code that blocks for longer than a session lives: listeners, callbacks and destroy functions
 * of a client that holds a lock meanwhile. The hold must last, unless something else is wrong. */
#include "chaos_actors.h"
#include "support/waiting.h"

#define LOOK_MS      5
#define ACQUIRE_MS   3000
#define RELEASE_MS   1000
#define MOST_AT_ONCE 3

struct _ChaosBlocks
{
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLock *other; /* that callbacks and destroy functions belong to */
};

/* What the functions that block during one hold share. */
typedef struct
{
  const ChaosProcess *process;
  ChaosBlocks *blocks;
  CuratorLease *lease;
  gint64 held_ns; /* for so long it was certainly held */
  gboolean is_lost;
  gint n_left; /* atomic; calls that have not ended */
} Hold;

static void
block (gpointer data)
{
  Hold *hold = data;
  wait_ms ((int) hold->process->session_ms * 3 / 2);
  shared_add (&hold->process->cells->blocks, 1);
  g_atomic_int_add (&hold->n_left, -1);
}

/* --- some of the ways in which the library gets to user code; test_user_code has all ------------ */

static void
ignore_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
}

static void
ignore_lease_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
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
lease_listener (Hold *hold)
{
  const guint id = curator_lease_add_listener (hold->lease, ignore_lease_state, hold, block);
  curator_lease_remove_listener (hold->lease, id);
}

static void
acquire_callback (Hold *hold)
{
  curator_lock_acquire_then (hold->blocks->other, ACQUIRE_MS, NULL, block_with_lease, hold);
}

static void
release_callback (Hold *hold)
{
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (hold->blocks->other, ACQUIRE_MS, NULL, NULL);
  if (lease != NULL)
    curator_lease_release_then (lease, CURATOR_WAIT_DEFAULT, NULL, block_released, hold);
  else
    g_atomic_int_add (&hold->n_left, -1);
}

static void (*const WAYS[]) (Hold *hold) = { state_listener, lease_listener, acquire_callback,
                                             release_callback };

/* --- the actor -------------------------------------------------------------------------------- */

ChaosBlocks *
chaos_blocks_open (const ChaosProcess *process)
{
  if (!chaos_is_chosen (process, CHAOS_KIND_BLOCKS))
    return NULL;
  ChaosBlocks *blocks = g_new0 (ChaosBlocks, 1);
  g_autofree char *path = g_strdup_printf (CHAOS_ROOT "/blocked-%d", process->number);
  g_autofree char *other = g_strconcat (path, "-other", NULL);
  blocks->client = chaos_client_new (process);
  blocks->lock = curator_mutex_new (blocks->client, path, NULL);
  blocks->other = curator_mutex_new (blocks->client, other, NULL);
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
  curator_lock_unref (blocks->other);
  curator_client_unref (blocks->client);
  g_free (blocks);
}

void
chaos_blocks_tell (const ChaosBlocks *blocks)
{
  if (blocks != NULL)
    chaos_client_tell (blocks->client, "whose user code blocks");
}

static void
note_loss (const Hold *hold)
{
  ChaosCells *cells = hold->process->cells;
  const guint32 n = shared_add (&cells->n_losses, 1);
  if (n < CHAOS_LOSSES)
    cells->losses[n] = (ChaosLoss){ hold->held_ns, wait_now_ns (), hold->process->number };
  g_printerr ("%s is lost; the client has session 0x%" G_GINT64_MODIFIER "x\n",
              curator_lease_get_node_path (hold->lease),
              curator_client_get_session_id (hold->blocks->client));
}

static void
look (Hold *hold)
{
  const gint64 now_ns = wait_now_ns ();
  const gboolean was_lost = hold->is_lost;
  hold->is_lost = curator_lease_get_state (hold->lease) == CURATOR_LEASE_STATE_LOST;
  if (!hold->is_lost)
    hold->held_ns = now_ns;
  else if (!was_lost)
    note_loss (hold);
}

/* Functions of different kinds block threads of the client at the same time. */
static void
hold_and_block (Hold *hold, GRand *rand)
{
  const int n = g_rand_int_range (rand, 1, MOST_AT_ONCE + 1);
  hold->n_left = n;
  hold->held_ns = wait_now_ns ();
  for (int i = 0; i < n; i++) {
    WAYS[g_rand_int_range (rand, 0, G_N_ELEMENTS (WAYS))](hold);
    look (hold);
  }
  while (g_atomic_int_get (&hold->n_left) > 0) {
    wait_ms (LOOK_MS);
    look (hold);
  }
}

void
chaos_blocks_once (const ChaosProcess *process, GRand *rand)
{
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (process->blocks->lock, ACQUIRE_MS, NULL, NULL);
  if (lease == NULL)
    return;
  hold_and_block (&(Hold){ .process = process, .blocks = process->blocks, .lease = lease }, rand);
  curator_lease_release (lease, RELEASE_MS, NULL, NULL);
}
