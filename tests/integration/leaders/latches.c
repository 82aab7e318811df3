/* See latches.h. */
#include "latches.h"

static void
on_change (CuratorLeaderLatch *changed, gboolean is_leader, gpointer user_data)
{
  Latch *latch = user_data;
  pthread_mutex_lock (&latch->mutex);
  g_string_append_c (latch->changes, is_leader ? '+' : '-');
  pthread_mutex_unlock (&latch->mutex);
}

static void
on_destroyed (gpointer user_data)
{
  Latch *latch = user_data;
  pthread_mutex_lock (&latch->mutex);
  latch->destroyed = TRUE;
  pthread_mutex_unlock (&latch->mutex);
}

static gboolean
is_destroyed (Latch *latch)
{
  pthread_mutex_lock (&latch->mutex);
  const gboolean destroyed = latch->destroyed;
  pthread_mutex_unlock (&latch->mutex);
  return destroyed;
}

Latch *
latch_new (CuratorClient *client, const char *path, const char *id)
{
  g_autoptr (GError) error = NULL;
  Latch *latch = g_new0 (Latch, 1);
  pthread_mutex_init (&latch->mutex, NULL);
  latch->changes = g_string_new (NULL);
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

void
latches_start (Fixture *fixture, CuratorClient *client, const char *path, Latch **latches, int n)
{
  for (int i = 0; i < n; i++)
    {
      latches[i] = latch_start_new (client, path, NULL);
      assert_children (fixture, path, i + 1, LONG_MS);
    }
}

void
latch_assert_leads (Latch *latch)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_leader_latch_await (latch->latch, LONG_MS, NULL, &error), &error);
}

gboolean
latch_leads (gpointer latch)
{
  return curator_leader_latch_has_leadership (((Latch *) latch)->latch);
}

gboolean
latch_leads_not (gpointer latch)
{
  return !latch_leads (latch);
}

char *
latch_heard (Latch *latch)
{
  pthread_mutex_lock (&latch->mutex);
  char *changes = g_strdup (latch->changes->str);
  pthread_mutex_unlock (&latch->mutex);
  return changes;
}

void
latch_assert_heard (Latch *latch, const char *changes)
{
  g_autofree char *heard = NULL;
  if (!holds_within ((g_free (heard), g_str_equal (heard = latch_heard (latch), changes)), LONG_MS))
    assert_string_equal (heard, changes);
}

int
latches_leading (Latch **latches, int n)
{
  int leading = 0;
  for (int i = 0; i < n; i++)
    leading += latch_leads (latches[i]);
  return leading;
}

static Latch *
leading_now (Latch **latches, int n)
{
  int i = 0;
  while (i < n && !latch_leads (latches[i]))
    i++;
  return i < n ? latches[i] : NULL;
}

Latch *
latches_wait (Latch **latches, int n)
{
  Latch *leader = NULL;
  assert_soon ((leader = leading_now (latches, n)) != NULL);
  return leader;
}

void
latch_free (Latch *latch)
{
  curator_leader_latch_close (latch->latch, CURATOR_LEADER_LATCH_SILENT);
  curator_leader_latch_unref (latch->latch);
  assert_soon (is_destroyed (latch));
  g_string_free (latch->changes, TRUE);
  pthread_mutex_destroy (&latch->mutex);
  g_free (latch);
}

void
latches_free (Latch **latches, int n)
{
  for (int i = 0; i < n; i++)
    latch_free (latches[i]);
}
