/* Readers and writers exclude each other; a writer may become a reader, a reader never a writer. */
#include "sim_contender.h"

static void
open_pair (SimMember *member)
{
  member->data = curator_rw_lock_new (member->client, member->contest->recipe->path, NULL, 0, NULL);
}

static void
close_pair (SimMember *member)
{
  curator_rw_lock_unref (member->data);
}

static gboolean
is_reader (SimContender *contender)
{
  return contender->lock == curator_rw_lock_get_read_lock (contender->member->data);
}

static CuratorLock *
choose_side (SimContender *contender)
{
  CuratorRwLock *pair = contender->member->data;

  return sim_contender_below (contender, 5) < 3 ? curator_rw_lock_get_read_lock (pair)
                                                : curator_rw_lock_get_write_lock (pair);
}

static void
believe_side (SimContender *contender, CuratorLease *lease)
{
  contender->beliefs[0] = sim_contender_believe (
      contender, 0, lease, is_reader (contender) ? SIM_HOLD_READ : SIM_HOLD_ALONE,
      curator_lease_get_fencing_token (lease), 0);
}

/* Refused, and at once. */
static void
try_to_upgrade (SimContender *contender)
{
  CuratorLock *write = curator_rw_lock_get_write_lock (contender->member->data);
  const gint64 before = contender->world->now;
  const guint n_pauses = contender->process->n_pauses;
  g_autoptr (GError) error = NULL;

  if (curator_lock_acquire (write, CURATOR_WAIT_FOREVER, NULL, &error)) {
    sim_contender_fail (contender, "a reader became a writer");
    curator_lock_release (write, CURATOR_WAIT_DEFAULT, NULL, NULL);
  } else if (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED)
             && !contender->member->closed)
    sim_contender_fail (contender, "an upgrade failed: %s", error->message);
  if (contender->world->now > before && n_pauses == contender->process->n_pauses)
    sim_contender_fail (contender, "an upgrade was refused late");
}

/* A writer acquires the read lock; then one hold ends, then the other. TRUE if both have ended. */
static gboolean
read_while_writing (SimContender *contender)
{
  CuratorLock *read = curator_rw_lock_get_read_lock (contender->member->data);
  g_autoptr (GError) error = NULL;
  const gboolean stays = sim_contender_below (contender, 3) != 0;

  sim_contender_begin_call (contender);
  contender->may_be_lost = TRUE;
  const gboolean done =
      curator_lock_acquire (read, contender->timeout_ms, contender->cancellable, &error);
  sim_contender_judge (contender, error);
  contender->may_be_lost = FALSE;
  if (!done)
    return FALSE;
  if (stays) {
    g_autoptr (CuratorLease) lease = curator_lock_dup_lease (read);
    SimBelief *belief = sim_contender_believe (contender, 0, lease, SIM_HOLD_DOWNGRADE,
                                               curator_lease_get_fencing_token (lease), 0);

    sim_contender_hold (contender, lease);
    sim_contender_stop_believing (contender);
    contender->beliefs[0] = belief;
    sim_contender_release (contender, contender->lock);
    sim_contender_hold (contender, lease);
    sim_contender_stop_believing (contender);
  }
  sim_contender_release (contender, read);
  return stays;
}

static gboolean
inside_side (SimContender *contender, CuratorLease *lease)
{
  if (sim_contender_below (contender, 3) == 0)
    sim_contender_enter_again (contender, contender->lock, lease);
  else if (is_reader (contender))
    try_to_upgrade (contender);
  else
    return read_while_writing (contender);
  return FALSE;
}

const SimRecipe sim_recipe_rwlock = { .path = "/sim/rwlock",
                                      .n_checks = 1,
                                      .open = open_pair,
                                      .close = close_pair,
                                      .choose = choose_side,
                                      .believe = believe_side,
                                      .inside = inside_side };
