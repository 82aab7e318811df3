#include "chaos_kinds.h"

#include <string.h>

static const struct
{
  const char *name;
  const char *effect; /* NULL: the disturbance itself */
} KINDS[CHAOS_KINDS] = { { "servers", NULL },
                         { "paths", NULL },
                         { "processes", NULL },
                         { "sessions", "session timeouts that changed under a session" },
                         { "rolling", "members restarted with another configuration" },
                         { "reconfig", "members that left and joined again" },
                         { "disk", "servers that stopped serving" },
                         { "sleep", "holds that ended in a sleep" },
                         { "deletion", "nodes of a believing holder" },
                         { "recreation", "nodes of a believing holder" },
                         { "acl", "calls that were refused" },
                         { "quota", "calls that were refused" },
                         { "moves", "moved servers that were found again" },
                         { "hostile", "connections with hostile bytes" },
                         { "absent", "connects to an address without a server" },
                         { "forks", "children that have acquired and released a lock" },
                         { "blocks", "user functions that have blocked" },
                         { "ends", "clients that ended with a call under way" } };

gboolean
chaos_kinds_choose (ChaosKinds *kinds, const char *names)
{
  g_auto (GStrv) words = names != NULL ? g_strsplit (names, ",", -1) : NULL;
  kinds->chosen = words == NULL ? (1U << CHAOS_KINDS) - 1 : 0;
  for (char **word = words; word != NULL && *word != NULL; word++)
    {
      int kind = 0;
      while (kind < CHAOS_KINDS && strcmp (KINDS[kind].name, *word) != 0)
        kind++;
      if (kind == CHAOS_KINDS)
        return FALSE;
      kinds->chosen |= 1U << kind;
    }
  return kinds->chosen != 0;
}

gboolean
chaos_kinds_has (const ChaosKinds *kinds, ChaosKind kind)
{
  return (kinds->chosen & (1U << kind)) != 0;
}

void
chaos_kinds_leave_out (ChaosKinds *kinds, ChaosKind kind, const char *reason)
{
  if (chaos_kinds_has (kinds, kind))
    {
      g_print ("chaos: without %s: %s\n", KINDS[kind].name, reason);
      kinds->chosen &= ~(1U << kind);
    }
}

ChaosKind
chaos_kinds_pick (const ChaosKinds *kinds, GRand *rand, guint among)
{
  ChaosKind found[CHAOS_KINDS];
  int n = 0;
  for (int kind = 0; kind < CHAOS_KINDS; kind++)
    if ((kinds->chosen & among & (1U << kind)) != 0)
      found[n++] = (ChaosKind) kind;
  /* A number is drawn in any case: the same seed means the same faults. */
  const int drawn = g_rand_int_range (rand, 0, 1000000);
  return n > 0 ? found[drawn % n] : CHAOS_KINDS;
}

ChaosKind
chaos_kinds_pick_rarest (const ChaosKinds *kinds, guint among)
{
  ChaosKind found = CHAOS_KINDS;
  for (int kind = 0; kind < CHAOS_KINDS; kind++)
    if ((kinds->chosen & among & (1U << kind)) != 0
        && (found == CHAOS_KINDS || kinds->happened[kind] < kinds->happened[found]))
      found = (ChaosKind) kind;
  return found;
}

void
chaos_kinds_count (ChaosKinds *kinds, ChaosKind kind)
{
  kinds->happened[kind]++;
}

void
chaos_kinds_count_several (ChaosKinds *kinds, ChaosKind kind, guint n)
{
  kinds->happened[kind] += n;
}

void
chaos_kinds_add_effects (ChaosKinds *kinds, ChaosKind kind, guint n)
{
  kinds->took_effect[kind] += n;
}

guint
chaos_kinds_report (const ChaosKinds *kinds, Figures *figures)
{
  guint missing = 0;
  for (int kind = 0; kind < CHAOS_KINDS; kind++)
    {
      const guint effects =
          KINDS[kind].effect != NULL ? kinds->took_effect[kind] : kinds->happened[kind];
      g_autofree char *figure = g_strconcat ("kind_", KINDS[kind].name, NULL);
      g_autofree char *effect = g_strconcat ("effect_", KINDS[kind].name, NULL);
      if (!chaos_kinds_has (kinds, (ChaosKind) kind))
        continue;
      figures_add (figures, figure, kinds->happened[kind]);
      figures_add (figures, effect, effects);
      g_print ("chaos: %-10s %4u times%s%s%s", KINDS[kind].name, kinds->happened[kind],
               KINDS[kind].effect != NULL ? "; " : "\n",
               KINDS[kind].effect != NULL ? KINDS[kind].effect : "",
               KINDS[kind].effect != NULL ? ": " : "");
      if (KINDS[kind].effect != NULL)
        g_print ("%u\n", effects);
      missing += effects == 0;
    }
  return missing;
}

char *
chaos_kinds_list (void)
{
  GString *list = g_string_new (NULL);
  for (int kind = 0; kind < CHAOS_KINDS; kind++)
    g_string_append_printf (list, "%s%s", kind > 0 ? ", " : "", KINDS[kind].name);
  return g_string_free (list, FALSE);
}
