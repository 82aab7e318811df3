/* Sessions that only keep what they have. Threads: the main one. */
#include "peer.h"

typedef struct
{
  GPtrArray *locks;  /* CuratorLock */
  GPtrArray *leases; /* CuratorLease */
} Fleet;

static void
on_turn (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  g_clear_pointer (&lease, curator_lease_unref);
}

static CuratorLock *
fleet_lock (Fleet *fleet, CuratorClient *client, const char *path)
{
  g_autoptr (GError) error = NULL;
  CuratorLock *lock = curator_mutex_new (client, path, &error);
  if (lock == NULL)
    peer_die (path, error);
  g_ptr_array_add (fleet->locks, lock);
  return lock;
}

static void
fleet_hold (Fleet *fleet, CuratorClient *client, const char *path)
{
  g_autoptr (GError) error = NULL;
  CuratorLease *lease = curator_lock_acquire_lease (fleet_lock (fleet, client, path),
                                                    CURATOR_WAIT_FOREVER, NULL, &error);
  if (lease == NULL)
    peer_die ("hold", error);
  g_ptr_array_add (fleet->leases, lease);
}

/* As many locks as "locks" says, of which no other session knows. */
static void
hold_all (const Request *request, Fleet *fleet, int session)
{
  const int n = (int) request_number (request, "locks");
  for (int i = 0; i < n; i++) {
    g_autofree char *path =
        g_strdup_printf ("%s-%d-%d", request_text (request, "path"), session, i);
    fleet_hold (fleet, peer_session (request, "server", session), path);
  }
}

/* The holder is a session that "observe" leads to. */
static void
wait_in_line (const Request *request, Fleet *fleet, int session)
{
  const char *path = request_text (request, "path");
  if (session == 0)
    fleet_hold (fleet, peer_session (request, "observe", 0), path);
  curator_lock_acquire_then (fleet_lock (fleet, peer_session (request, "server", session), path),
                             CURATOR_WAIT_FOREVER, NULL, on_turn, NULL);
  peer_await_queue (request, "mutex", session + 2);
}

/* fleet server= observe= path= n= role=hold|wait|idle [locks=] ms= session_ms=: ready timeout_ms=;
 * after "go" and that time "ready" again; ok. Each of the n sessions holds that many locks, or
 * waits behind the one before it, or has nothing to do. */
void
verb_fleet (const Request *request)
{
  const int n = (int) request_number (request, "n");
  const char *role = request_text (request, "role");
  Fleet fleet = { g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lock_unref),
                  g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref) };
  for (int i = 0; i < n; i++) {
    peer_session (request, "server", i);
    if (g_str_equal (role, "hold"))
      hold_all (request, &fleet, i);
    else if (g_str_equal (role, "wait"))
      wait_in_line (request, &fleet, i);
  }
  peer_ready_steady ("timeout_ms=%" G_GINT64_FORMAT,
                     curator_client_get_session_timeout_ms (peer_session (request, "server", 0)));
  g_usleep ((gulong) request_number (request, "ms") * 1000);
  peer_ready_steady ("n=%d", n);
  g_ptr_array_unref (fleet.leases);
  g_ptr_array_unref (fleet.locks);
  peer_reply ("n=%d", n);
}
