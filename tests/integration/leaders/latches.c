/* See latches.h. */
#include "latches.h"

static void
on_change (CuratorLeaderLatch *changed, gboolean is_leader, gpointer user_data)
{
  Latch *latch = user_data;
  g_assert (latch->n_changes < (gint) sizeof latch->changes);
  latch->changes[latch->n_changes] = is_leader ? '+' : '-';
  g_atomic_int_inc (&latch->n_changes);
}

static void
on_destroyed (gpointer user_data)
{
  g_atomic_int_set (&((Latch *) user_data)->destroyed, TRUE);
}

Latch *
latch_new (CuratorClient *client, const char *path, const char *id)
{
  g_autoptr (GError) error = NULL;
  Latch *latch = g_new0 (Latch, 1);
  latch->latch = curator_leader_latch_new (client, path, id, &error);
  assert_ok (latch->latch != NULL, &error);
  curator_leader_latch_add_listener (latch->latch, on_change, latch, on_destroyed);
  return latch;
}

void
latch_start (Latch *latch)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_leader_latch_start (latch->latch, &error), &error);
}

Latch *
latch_start_new (CuratorClient *client, const char *path, const char *id)
{
  Latch *latch = latch_new (client, path, id);
  latch_start (latch);
  return latch;
}

Latches
latches_start (Fixture *fixture, CuratorClient *client, const char *path, int n)
{
  Latches latches = { .n = n };
  for (int i = 0; i < n; i++) {
    latches.of[i] = latch_start_new (client, path, NULL);
    assert_children (fixture, path, i + 1, LONG_MS);
  }
  return latches;
}

void
latch_assert_leads (Latch *latch)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_leader_latch_await (latch->latch, LONG_MS, NULL, &error), &error);
}

gboolean
latch_leads (Latch *latch)
{
  return curator_leader_latch_has_leadership (latch->latch);
}

static char *
heard (Latch *latch)
{
  return g_strndup (latch->changes, (gsize) g_atomic_int_get (&latch->n_changes));
}

void
latch_assert_heard (Latch *latch, const char *changes)
{
  g_autofree char *all = NULL;
  if (!holds_within ((g_free (all), g_str_equal (all = heard (latch), changes)), LONG_MS))
    assert_string_equal (all, changes);
}

int
latches_leading (const Latches *latches)
{
  int leading = 0;
  for (int i = 0; i < latches->n; i++)
    leading += latch_leads (latches->of[i]);
  return leading;
}

void
latch_free (Latch *latch)
{
  curator_leader_latch_close (latch->latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  curator_leader_latch_unref (latch->latch);
  assert_soon (g_atomic_int_get (&latch->destroyed));
  g_free (latch);
}

void
latches_clear (Latches *latches)
{
  for (int i = 0; i < latches->n; i++)
    latch_free (latches->of[i]);
}
