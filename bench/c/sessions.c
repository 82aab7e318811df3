/* Many sessions of one process, opened side by side, that keep what they have. Threads: the main
 * one; the clients' own run the callbacks.
 */
#include "peer.h"

static gint granted;
static gint interrupted; /* how often a session has lost its connection */

/* The lease is kept, and so is the hold. */
static void
on_grant (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  if (lease == NULL)
    peer_die ("grant", error);
  g_atomic_int_inc (&granted);
}

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  if (state == CURATOR_CONNECTION_STATE_SUSPENDED || state == CURATOR_CONNECTION_STATE_LOST)
    g_atomic_int_inc (&interrupted);
}

/* All connect at the same time. */
static void
connect_all (const Request *request, int first, int n)
{
  for (int i = first; i < first + n; i++) {
    curator_client_add_state_listener (peer_start_session (request, "server", i), on_state, NULL,
                                       NULL);
  }
  for (int i = first; i < first + n; i++)
    peer_session (request, "server", i);
}

/* Returns when all nodes exist and the first of each queue has its grant. The locks stay. */
static void
queue_all (const Request *request, int first, int n, int queue)
{
  g_autoptr (GPtrArray) locks = g_ptr_array_new ();
  for (int i = first; i < first + n; i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *path = g_strdup_printf ("%s-%d", request_text (request, "path"), i / queue);
    CuratorLock *lock = curator_mutex_new (peer_session (request, "server", i), path, &error);
    if (lock == NULL)
      peer_die (path, error);
    g_ptr_array_add (locks, lock);
    curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_grant, NULL);
  }
  for (int i = 0; i < n; i += queue)
    peer_await_nodes (g_ptr_array_index (locks, i), queue);
  while (g_atomic_int_get (&granted) < n / queue)
    g_usleep (10000);
}

/* sessions server= path= first= n= [queue=] session_ms=: ready timeout_ms=; ok granted=
 * interrupted= (since ready). With queue= the sessions form queues of that length for a mutex each;
 * without it they are idle. first is the number of the first session: other processes have other
 * numbers. What it opens stays until the process ends: once a process. */
void
verb_sessions (const Request *request)
{
  const int first = (int) request_number (request, "first");
  const int n = (int) request_number (request, "n");
  connect_all (request, first, n);
  if (request_flag (request, "queue"))
    queue_all (request, first, n, (int) request_number (request, "queue"));
  g_atomic_int_set (&interrupted, 0);
  peer_ready_steady ("timeout_ms=%" G_GINT64_FORMAT, curator_client_get_session_timeout_ms (
                                                         peer_session (request, "server", first)));
  peer_reply ("granted=%d interrupted=%d", g_atomic_int_get (&granted),
              g_atomic_int_get (&interrupted));
}
