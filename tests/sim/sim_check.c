/* Tracks which contenders believe that they hold a lock, and fails if two exclude each other. See
 * sim_check.h. */
#include "sim_check.h"

#include "support/history.h"

#include <string.h>

struct _SimBelief
{
  SimGrant grant;
  guint id;
  gint64 since;
  guint n_kills;
  gboolean in_vain;    /* ended before it was recorded */
  gboolean in_history; /* has no end there yet */
};

struct _SimCheck
{
  SimWorld *world;
  char *name;
  SimStillHeld still_held;
  GPtrArray *beliefs;
  guint64 alone_token; /* the highest of an exclusive hold */
  guint64 read_token;  /* the highest of ordinary readers */
  GHashTable *permit_tokens;
  GHashTable *deleted; /* token of a node that a third party has deleted -> when */
  gint64 patience_us;  /* for which a holder may not know of that */
  gint64 quiet_from;   /* when everybody knows of every such deletion */
  guint n_grants;
  char *history_name; /* no other check of the run has it */
};

SimCheck *
sim_check_new (SimWorld *world, const char *name, SimStillHeld still_held)
{
  static guint n_checks;
  SimCheck *check = g_new0 (SimCheck, 1);

  check->world = world;
  check->history_name = g_strdup_printf ("%s%s/%u", g_get_prgname (), name, ++n_checks);
  check->name = g_strdup (name);
  check->still_held = still_held;
  check->beliefs = g_ptr_array_new_with_free_func (g_free);
  check->deleted = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  check->permit_tokens = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  return check;
}

void
sim_check_free (SimCheck *check)
{
  g_hash_table_unref (check->deleted);
  g_hash_table_unref (check->permit_tokens);
  g_ptr_array_unref (check->beliefs);
  g_free (check->history_name);
  g_free (check->name);
  g_free (check);
}

/* --- the history ------------------------------------------------------------------------------ */

static void
add_to_history (SimCheck *check, const SimBelief *belief, const char *op, gint64 start, gint64 end)
{
  static const char *const kinds[] = { "mutex", "read", "read", "permit" };
  const HistoryOp line = { .op = op,
                           .kind = kinds[belief->grant.kind],
                           .lock = check->history_name,
                           .process = belief->grant.who,
                           .hold = belief->id,
                           .start = start,
                           .end = end,
                           .token = belief->grant.token,
                           .permits = 1,
                           .limit = (int) belief->grant.limit };

  history_add (&line);
}

/* The server releases it now or later. */
static void
end_in_history (SimCheck *check, SimBelief *belief)
{
  if (belief->in_history) {
    add_to_history (check, belief, "release", check->world->now, HISTORY_OPEN);
    belief->in_history = FALSE;
  }
}

static gboolean
is_believed (SimCheck *check, SimBelief *belief)
{
  return !belief->in_vain && !sim_process_is_dead (belief->grant.process)
         && belief->grant.process->n_kills == belief->n_kills
         && check->still_held (belief->grant.lease);
}

void
sim_check_node_deleted (SimCheck *check, guint64 token, gint64 patience_us)
{
  const gint64 now = check->world->now;

  check->patience_us = patience_us;
  check->quiet_from = now + patience_us;
  g_hash_table_replace (check->deleted, g_memdup2 (&token, sizeof token),
                        g_memdup2 (&now, sizeof now));
  for (guint i = 0; i < check->beliefs->len; i++) {
    SimBelief *belief = check->beliefs->pdata[i];

    if (belief->grant.token == token)
      end_in_history (check, belief);
  }
}

void
sim_check_expect_known (SimCheck *check, guint64 token)
{
  for (guint i = 0; i < check->beliefs->len; i++) {
    SimBelief *belief = check->beliefs->pdata[i];

    if (belief->grant.token == token && is_believed (check, belief)) {
      sim_world_fail (check->world, "%s: %s believes to hold a node that is long gone", check->name,
                      belief->grant.who);
    }
  }
}

/* The node is gone, and its holder may not know yet. Where names are not unique, the node that took
 * its place may have been deleted for it. */
static gboolean
is_excused (SimCheck *check, guint64 token)
{
  const gint64 *deleted_at = g_hash_table_lookup (check->deleted, &token);
  const gint64 now = check->world->now;

  return (deleted_at != NULL && now <= *deleted_at + check->patience_us)
         || (now < check->quiet_from && check->world->config.plain_nodes);
}

static gboolean
may_meet (const SimGrant *grant, const SimBelief *other)
{
  switch (grant->kind) {
  case SIM_HOLD_READ:
    return other->grant.kind == SIM_HOLD_READ || other->grant.kind == SIM_HOLD_DOWNGRADE;
  case SIM_HOLD_DOWNGRADE:
    return other->grant.kind != SIM_HOLD_ALONE || strcmp (grant->who, other->grant.who) == 0;
  case SIM_HOLD_PERMIT:
    return other->grant.kind == SIM_HOLD_PERMIT;
  case SIM_HOLD_ALONE:
    break;
  }
  return FALSE;
}

/* A client that knows an older, higher limit is granted a permit behind those that know the new
 * one. So the highest limit among the holders counts. */
static void
judge_company (SimCheck *check, const SimGrant *grant)
{
  guint n_permits = 1;
  guint limit = grant->limit;

  for (guint i = 0; i < check->beliefs->len; i++) {
    SimBelief *other = check->beliefs->pdata[i];

    if (!is_believed (check, other) || is_excused (check, other->grant.token))
      continue;
    n_permits += other->grant.kind == SIM_HOLD_PERMIT ? 1 : 0;
    limit = MAX (limit, other->grant.limit);
    if (!may_meet (grant, other)) {
      sim_world_fail (check->world, "%s: %s was granted while %s believes to hold (for %.3f ms)",
                      check->name, grant->who, other->grant.who,
                      (double) (check->world->now - other->since) / 1000.0);
    }
  }
  if (grant->kind == SIM_HOLD_PERMIT && n_permits > limit) {
    sim_world_fail (check->world, "%s: %s was granted permit %u of %u", check->name, grant->who,
                    n_permits, limit);
  }
}

/* The node of a downgraded reader may have been created after that of a writer that waits behind
 * it. */
static void
judge_token (SimCheck *check, const SimGrant *grant)
{
  guint64 above = check->alone_token;

  if (grant->kind == SIM_HOLD_PERMIT) {
    if (!g_hash_table_add (check->permit_tokens, g_memdup2 (&grant->token, sizeof (guint64)))) {
      sim_world_fail (check->world, "%s: token %" G_GINT64_MODIFIER "x of %s was used before",
                      check->name, grant->token, grant->who);
    }
    return;
  }
  if (grant->kind == SIM_HOLD_ALONE) {
    above = MAX (above, check->read_token);
    check->alone_token = MAX (check->alone_token, grant->token);
  } else if (grant->kind == SIM_HOLD_READ) {
    check->read_token = MAX (check->read_token, grant->token);
  }
  if (grant->token <= above) {
    sim_world_fail (check->world,
                    "%s: token %" G_GINT64_MODIFIER "x of %s is not above %" G_GINT64_MODIFIER "x",
                    check->name, grant->token, grant->who, above);
  }
}

static void
record_grant (SimCheck *check, SimBelief *belief)
{
  const gint64 now = check->world->now;
  const gint64 called_at = belief->grant.called_at;

  for (guint i = 0; i < check->beliefs->len; i++)
    if (!is_believed (check, check->beliefs->pdata[i]))
      end_in_history (check, check->beliefs->pdata[i]);
  if (!belief->in_vain && !is_excused (check, belief->grant.token)) {
    add_to_history (check, belief, "acquire", called_at != 0 ? called_at : now, now);
    belief->in_history = TRUE;
  }
}

SimBelief *
sim_check_granted (SimCheck *check, const SimGrant *grant)
{
  static const char *const kinds[] = { "", " to read", " to read on", " one" };
  SimBelief *belief = g_new0 (SimBelief, 1);

  sim_trace (check->world, "%s: GRANTED%s to %s, token %" G_GINT64_MODIFIER "x", check->name,
             kinds[grant->kind], grant->who, grant->token);
  gboolean holds = !sim_process_is_dead (grant->process) && grant->process->killed == NULL
                   && check->still_held (grant->lease);
  if (holds && !is_excused (check, grant->token)) {
    judge_company (check, grant);
    if (grant->token != 0)
      judge_token (check, grant);
  } else if (!holds) {
    sim_trace (check->world, "%s: but %s can tell that it is over, or never could", check->name,
               grant->who);
  }
  belief->grant = *grant;
  belief->id = ++check->n_grants;
  belief->n_kills = grant->process->n_kills;
  belief->in_vain = !holds;
  belief->since = check->world->now;
  if (history_is_wanted ())
    record_grant (check, belief);
  g_ptr_array_add (check->beliefs, belief);
  return belief;
}

void
sim_check_released (SimCheck *check, SimBelief *belief)
{
  if (!g_ptr_array_find (check->beliefs, belief, NULL)) {
    sim_world_fail (check->world, "%s: released twice", check->name);
    return;
  }
  sim_trace (check->world, "%s: released by %s", check->name, belief->grant.who);
  end_in_history (check, belief);
  g_ptr_array_remove (check->beliefs, belief);
}

guint
sim_check_n_holders (SimCheck *check)
{
  guint n = 0;

  for (guint i = 0; i < check->beliefs->len; i++)
    n += is_believed (check, check->beliefs->pdata[i]) ? 1 : 0;
  return n;
}
