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
  g_auto (GStrv) words = g_strsplit (names != NULL ? names : "", ",", -1);
  guint n_found = 0;
  kinds->chosen = 0;
  for (int kind = 0; kind < CHAOS_KINDS; kind++)
    if (names == NULL || g_strv_contains ((const char *const *) words, KINDS[kind].name)) {
      kinds->chosen |= 1U << kind;
      n_found++;
    }
  if (names == NULL || n_found == g_strv_length (words))
    return TRUE;
  for (int kind = 0; kind < CHAOS_KINDS; kind++)
    g_printerr ("chaos: a kind is %s\n", KINDS[kind].name);
  return FALSE;
}

gboolean
chaos_kinds_has (const ChaosKinds *kinds, ChaosKind kind)
{
  return (kinds->chosen & (1U << kind)) != 0;
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

guint
chaos_kinds_report (const ChaosKinds *kinds, FILE *figures)
{
  guint missing = 0;
  for (int kind = 0; kind < CHAOS_KINDS; kind++) {
    const char *effect = KINDS[kind].effect;
    const guint n = kinds->happened[kind];
    const guint effects = effect != NULL ? kinds->took_effect[kind] : n;
    g_autofree char *times_figure = g_strconcat ("kind_", KINDS[kind].name, NULL);
    g_autofree char *effect_figure = g_strconcat ("effect_", KINDS[kind].name, NULL);
    if (!chaos_kinds_has (kinds, (ChaosKind) kind))
      continue;
    figures_add (figures, times_figure, n);
    figures_add (figures, effect_figure, effects);
    g_print ("chaos: %-10s %4u times; %s: %u\n", KINDS[kind].name, n,
             effect != NULL ? effect : "all of them", effects);
    missing += effects == 0;
  }
  return missing;
}
