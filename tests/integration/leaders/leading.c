/* See leading.h. */
#include "leading.h"

static void
reign_begin (Reign *reign)
{
  if (reign != NULL)
    {
      const int now = g_atomic_int_add (&reign->now, 1) + 1;
      int most = g_atomic_int_get (&reign->most);
      while (now > most && !g_atomic_int_compare_and_exchange (&reign->most, most, now))
        most = g_atomic_int_get (&reign->most);
    }
}

static void
reign_end (Reign *reign)
{
  if (reign != NULL)
    g_atomic_int_add (&reign->now, -1);
}

static void
begin (Leading *leading, CuratorLeaderSelector *selector, CuratorLease *lease,
       GCancellable *cancellable)
{
  const guint64 token = curator_lease_get_fencing_token (lease);
  pthread_mutex_lock (&leading->mutex);
  g_clear_pointer (&leading->lease, curator_lease_unref);
  g_clear_object (&leading->cancellable);
  leading->lease = curator_lease_ref (lease);
  leading->cancellable = g_object_ref (cancellable);
  g_array_append_val (leading->tokens, token);
  leading->led_at_entry = curator_leader_selector_has_leadership (selector);
  leading->entered++;
  pthread_cond_broadcast (&leading->changed);
  pthread_mutex_unlock (&leading->mutex);
}

static void
end (Leading *leading, CuratorLease *lease, gboolean cancelled)
{
  pthread_mutex_lock (&leading->mutex);
  if (cancelled)
    {
      leading->cancelled++;
      leading->held_at_cancellation = curator_lease_get_state (lease) < CURATOR_LEASE_LOST;
    }
  leading->told = FALSE;
  leading->left++;
  pthread_cond_broadcast (&leading->changed);
  pthread_mutex_unlock (&leading->mutex);
}

static gboolean
is_told (Leading *leading)
{
  pthread_mutex_lock (&leading->mutex);
  const gboolean told = leading->told || leading->at_once;
  pthread_mutex_unlock (&leading->mutex);
  return told;
}

static void
take_leadership (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
                 gpointer user_data)
{
  Leading *leading = user_data;
  reign_begin (leading->reign);
  begin (leading, selector, lease, cancellable);
  (void) holds_within (is_told (leading) || g_cancellable_is_cancelled (cancellable), 10 * LONG_MS);
  reign_end (leading->reign);
  end (leading, lease, g_cancellable_is_cancelled (cancellable));
}

static void
on_destroyed (gpointer data)
{
  Leading *leading = data;
  pthread_mutex_lock (&leading->mutex);
  leading->destroyed = TRUE;
  pthread_cond_broadcast (&leading->changed);
  pthread_mutex_unlock (&leading->mutex);
}

Leading *
leading_new (CuratorClient *client, const char *path, const char *id, Reign *reign)
{
  g_autoptr (GError) error = NULL;
  Leading *leading = g_new0 (Leading, 1);
  pthread_mutex_init (&leading->mutex, NULL);
  pthread_cond_init (&leading->changed, NULL);
  leading->tokens = g_array_new (FALSE, FALSE, sizeof (guint64));
  leading->reign = reign;
  leading->selector =
      curator_leader_selector_new (client, path, take_leadership, leading, on_destroyed, &error);
  assert_ok (leading->selector != NULL, &error);
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

/* Waits until *counter, a field of leading, is at least n. */
static gboolean
wait_for (Leading *leading, const int *counter, int n)
{
  struct timespec until;
  clock_gettime (CLOCK_REALTIME, &until);
  until.tv_sec += LONG_MS / 1000;
  int failed = 0;
  pthread_mutex_lock (&leading->mutex);
  while (*counter < n && failed == 0)
    failed = pthread_cond_timedwait (&leading->changed, &leading->mutex, &until);
  const gboolean reached = *counter >= n;
  pthread_mutex_unlock (&leading->mutex);
  return reached;
}

static int
read_counter (Leading *leading, const int *counter)
{
  pthread_mutex_lock (&leading->mutex);
  const int n = *counter;
  pthread_mutex_unlock (&leading->mutex);
  return n;
}

void
leading_assert_entered (Leading *leading, int n)
{
  assert_true (wait_for (leading, &leading->entered, n));
}

void
leading_assert_left (Leading *leading, int n)
{
  assert_true (wait_for (leading, &leading->left, n));
}

int
leading_entered (Leading *leading)
{
  return read_counter (leading, &leading->entered);
}

int
leading_left (Leading *leading)
{
  return read_counter (leading, &leading->left);
}

int
leading_cancelled (Leading *leading)
{
  return read_counter (leading, &leading->cancelled);
}

guint64
leading_token (Leading *leading, int n)
{
  pthread_mutex_lock (&leading->mutex);
  const guint64 token = g_array_index (leading->tokens, guint64, n - 1);
  pthread_mutex_unlock (&leading->mutex);
  return token;
}

void
leading_tell_return (Leading *leading)
{
  pthread_mutex_lock (&leading->mutex);
  leading->told = TRUE;
  pthread_mutex_unlock (&leading->mutex);
}

CuratorLease *
leading_lease (Leading *leading)
{
  return leading->lease;
}

GCancellable *
leading_cancellable (Leading *leading)
{
  return leading->cancellable;
}

void
leading_free (Leading *leading)
{
  curator_leader_selector_close (leading->selector);
  curator_leader_selector_unref (leading->selector);
  pthread_mutex_lock (&leading->mutex);
  while (!leading->destroyed)
    pthread_cond_wait (&leading->changed, &leading->mutex);
  pthread_mutex_unlock (&leading->mutex);
  g_clear_pointer (&leading->lease, curator_lease_unref);
  g_clear_object (&leading->cancellable);
  g_array_unref (leading->tokens);
  pthread_cond_destroy (&leading->changed);
  pthread_mutex_destroy (&leading->mutex);
  g_free (leading);
}

char *
leading_join_ids (GPtrArray *participants)
{
  GString *ids = g_string_new (NULL);
  for (guint i = 0; i < participants->len; i++)
    {
      CuratorLeaderParticipant *participant = g_ptr_array_index (participants, i);
      assert_int_equal (curator_leader_participant_is_leader (participant), i == 0);
      g_string_append_printf (ids, "%s%s", i > 0 ? "," : "",
                              curator_leader_participant_get_id (participant));
    }
  g_ptr_array_unref (participants);
  return g_string_free (ids, FALSE);
}
