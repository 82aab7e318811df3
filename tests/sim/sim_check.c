/* Who believes to hold a lock, and may they all be right? See sim_check.h. */
#include "sim_check.h"

typedef struct
{
  guint id;
  SimProcess *process;
  char *who;
  gpointer lease;
  gint64 since;
  guint n_kills;
  gboolean in_vain; /* over before it began */
} SimBelief;

struct _SimCheck
{
  SimWorld *world;
  char *name;
  SimStillHeld still_held;
  GPtrArray *beliefs;
  guint64 token;
  guint n_grants;
};

static void
belief_free (gpointer data)
{
  SimBelief *belief = data;

  g_free (belief->who);
  g_free (belief);
}

SimCheck *
sim_check_new (SimWorld *world, const char *name, SimStillHeld still_held)
{
  SimCheck *check = g_new0 (SimCheck, 1);

  check->world = world;
  check->name = g_strdup (name);
  check->still_held = still_held;
  check->beliefs = g_ptr_array_new_with_free_func (belief_free);
  return check;
}

void
sim_check_free (SimCheck *check)
{
  g_ptr_array_unref (check->beliefs);
  g_free (check->name);
  g_free (check);
}

static gboolean
is_believed (SimCheck *check, SimBelief *belief)
{
  return !belief->in_vain && !sim_process_is_dead (belief->process)
         && sim_process_n_kills (belief->process) == belief->n_kills
         && check->still_held (belief->lease);
}

guint
sim_check_granted (SimCheck *check, SimProcess *process, const char *who, gpointer lease,
                   guint64 token)
{
  SimBelief *belief;
  gboolean holds;

  sim_trace (check->world, "%s: GRANTED to %s, token %" G_GINT64_MODIFIER "x", check->name, who,
             token);
  holds = !sim_process_is_dead (process) && !sim_process_is_deceived (process)
          && check->still_held (lease);
  if (!holds)
    {
      sim_trace (check->world, "%s: but %s can tell that it is over, or never could", check->name,
                 who);
    }
  for (guint i = 0; holds && i < check->beliefs->len; i++)
    {
      SimBelief *other = check->beliefs->pdata[i];

      if (is_believed (check, other))
        {
          sim_world_fail (check->world,
                          "%s: %s was granted while %s believes to hold (for %.3f ms)", check->name,
                          who, other->who,
                          (double) (sim_world_now_us (check->world) - other->since) / 1000.0);
        }
    }
  if (holds && token <= check->token)
    {
      sim_world_fail (check->world,
                      "%s: token %" G_GINT64_MODIFIER "x of %s is not above %" G_GINT64_MODIFIER
                      "x",
                      check->name, token, who, check->token);
    }
  check->token = holds ? token : check->token;
  belief = g_new0 (SimBelief, 1);
  belief->id = ++check->n_grants;
  belief->process = process;
  belief->who = g_strdup (who);
  belief->lease = lease;
  belief->n_kills = sim_process_n_kills (process);
  belief->in_vain = !holds;
  belief->since = sim_world_now_us (check->world);
  g_ptr_array_add (check->beliefs, belief);
  return belief->id;
}

void
sim_check_released (SimCheck *check, guint id)
{
  for (guint i = 0; i < check->beliefs->len; i++)
    {
      SimBelief *belief = check->beliefs->pdata[i];

      if (belief->id == id)
        {
          sim_trace (check->world, "%s: released by %s", check->name, belief->who);
          g_ptr_array_remove_index (check->beliefs, i);
          return;
        }
    }
  sim_world_fail (check->world, "%s: released twice", check->name);
}

guint
sim_check_n_grants (SimCheck *check)
{
  return check->n_grants;
}

guint
sim_check_n_holders (SimCheck *check)
{
  guint n = 0;

  for (guint i = 0; i < check->beliefs->len; i++)
    {
      n += is_believed (check, check->beliefs->pdata[i]) ? 1 : 0;
    }
  return n;
}
