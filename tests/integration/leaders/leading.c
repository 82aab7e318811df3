/* See leading.h. */
#include "leading.h"

static void
begin (Leading *leading, CuratorLeaderSelector *selector, CuratorLease *lease,
       GCancellable *cancellable)
{
  const guint64 token = curator_lease_get_fencing_token (lease);
  Reign *reign = leading->reign;
  if (reign != NULL
      && (g_atomic_int_add (&reign->now, 1) != 0
          || __atomic_exchange_n (&reign->token, token, __ATOMIC_SEQ_CST) >= token))
    g_atomic_int_inc (&reign->mistakes);
  g_clear_pointer (&leading->lease, curator_lease_unref);
  leading->lease = curator_lease_ref (lease);
  g_set_object (&leading->cancellable, cancellable);
  leading->led_at_entry = curator_leader_selector_has_leadership (selector);
  g_atomic_int_inc (&leading->entered);
}

static void
end (Leading *leading, CuratorLease *lease, gboolean cancelled)
{
  if (leading->reign != NULL)
    g_atomic_int_add (&leading->reign->now, -1);
  if (cancelled) {
    leading->held_at_cancellation = curator_lease_get_state (lease) < CURATOR_LEASE_STATE_LOST;
    g_atomic_int_inc (&leading->cancelled);
  }
  g_atomic_int_set (&leading->told, FALSE);
  g_atomic_int_inc (&leading->left);
}

static void
take_leadership (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
                 gpointer user_data)
{
  Leading *leading = user_data;
  begin (leading, selector, lease, cancellable);
  (void) holds_within (leading->at_once || g_atomic_int_get (&leading->told)
                           || g_cancellable_is_cancelled (cancellable),
                       10 * LONG_MS);
  end (leading, lease, g_cancellable_is_cancelled (cancellable));
}

static void
on_destroyed (gpointer data)
{
  g_atomic_int_set (&((Leading *) data)->destroyed, TRUE);
}

Leading *
leading_new (CuratorClient *client, const char *path, const char *id, Reign *reign)
{
  Leading *leading = g_new0 (Leading, 1);
  leading->reign = reign;
  leading->selector =
      curator_leader_selector_new (client, path, take_leadership, leading, on_destroyed, NULL);
  g_assert (leading->selector != NULL);
  if (id != NULL)
    curator_leader_selector_set_id (leading->selector, id);
  return leading;
}

void
leading_start (Leading *leading)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_leader_selector_start (leading->selector, &error), &error);
}

Leading *
leading_start_new (CuratorClient *client, const char *path, const char *id, Reign *reign)
{
  Leading *leading = leading_new (client, path, id, reign);
  leading_start (leading);
  return leading;
}

gboolean
leading_leads (Leading *leading)
{
  return curator_leader_selector_has_leadership (leading->selector);
}

gboolean
leading_is_inside (Leading *leading)
{
  return g_atomic_int_get (&leading->entered) > g_atomic_int_get (&leading->left);
}

void
leading_free (Leading *leading)
{
  curator_leader_selector_close (leading->selector);
  curator_leader_selector_unref (leading->selector);
  if (!holds_within (g_atomic_int_get (&leading->destroyed), LONG_MS))
    g_error ("the function of a selector that is freed may still be called");
  g_clear_pointer (&leading->lease, curator_lease_unref);
  g_clear_object (&leading->cancellable);
  g_free (leading);
}
