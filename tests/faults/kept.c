#include "kept.h"

#include "support/waiting.h"

static void
acquire (CuratorLock *lock, const char *what)
{
  g_autoptr (GError) error = NULL;
  if (!curator_lock_acquire (lock, KEPT_PATIENCE_MS, NULL, &error))
    fail_msg ("%s: %s", what, error->message);
}

void
kept_begin (Kept *kept, const char *name, CuratorClient *client, int session_ms)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_strconcat ("/kept/", name, NULL);

  *kept = (Kept){ .name = name, .client = client };
  curator_client_set_session_timeout (client, session_ms);
  if (!curator_client_start (client, &error))
    fail_msg ("%s: %s", name, error->message);
  kept->lock = curator_mutex_new (client, path, NULL);
  acquire (kept->lock, name);
  kept->lease = curator_lock_dup_lease (kept->lock);
  kept->session = curator_lease_get_session_id (kept->lease);
}

void
kept_end (Kept *kept)
{
  curator_lease_unref (kept->lease);
  curator_lock_unref (kept->lock);
  curator_client_close (kept->client);
  curator_client_unref (kept->client);
}

gboolean
kept_is_lost (const Kept *kept)
{
  assert_true (holds_within (curator_lease_get_state (kept->lease) != CURATOR_LEASE_STATE_SUSPECT,
                             KEPT_PATIENCE_MS));
  return curator_lease_get_state (kept->lease) == CURATOR_LEASE_STATE_LOST;
}

void
kept_check (const Kept *kept)
{
  assert_false (kept_is_lost (kept));
  assert_true (curator_client_get_session_id (kept->client) == kept->session);
}

void
kept_acquire_other (const Kept *kept, const char *when)
{
  g_autoptr (CuratorLock) other = curator_mutex_new (kept->client, "/kept/other", NULL);
  acquire (other, when);
  assert_true (curator_lock_release (other, CURATOR_WAIT_DEFAULT, NULL, NULL));
}
