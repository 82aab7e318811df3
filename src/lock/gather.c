/* Collects the results of several releases (InterProcessMultiLock.release loses all but two).
 *
 * Threads: any; each member reports on a thread of its own client. Guarded by its own mutex.
 */
#include "lock/gather.h"

#include "client/client-private.h"
#include "client/monitor.h"
#include "guards.h"
#include "lock/lease-private.h"

struct _CuratorGather
{
  pthread_mutex_t mutex;
  guint pending;
  GError *error; /* domain and code of the first failure, all messages */
  CuratorReleaseDone done;
  gpointer data;
};

static void
call_done (CuratorReleaseDone done, const GError *error, gpointer data)
{
  if (done != NULL)
    {
      done (error, data);
    }
}

CuratorGather *
curator_gather_new (guint n, CuratorReleaseDone done, gpointer data)
{
  if (n == 0)
    {
      call_done (done, NULL, data);
      return NULL;
    }
  CuratorGather *gather = g_new0 (CuratorGather, 1);
  pthread_mutex_init (&gather->mutex, NULL);
  gather->pending = n;
  gather->done = done;
  gather->data = data;
  return gather;
}

static void
add_error (CuratorGather *gather, const GError *error)
{
  if (gather->error == NULL)
    {
      gather->error = g_error_copy (error);
      return;
    }
  char *message = g_strconcat (gather->error->message, "; ", error->message, NULL);
  g_free (gather->error->message);
  gather->error->message = message;
}

void
curator_gather_one (const GError *error, gpointer data)
{
  CuratorGather *gather = data;

  pthread_mutex_lock (&gather->mutex);
  if (error != NULL)
    {
      add_error (gather, error);
    }
  const gboolean last = --gather->pending == 0;
  pthread_mutex_unlock (&gather->mutex);
  if (last)
    {
      call_done (gather->done, gather->error, gather->data);
      pthread_mutex_destroy (&gather->mutex);
      g_clear_error (&gather->error);
      g_free (gather);
    }
}

/* Ends the leases from first to end, which are of one client. */
static CURATOR_UNLOCKED void
release_of_client (CuratorGather *gather, GPtrArray *leases, guint first, guint end)
{
  CuratorClient *client = curator_lease_get_client (g_ptr_array_index (leases, first));
  const gint64 patience_us = curator_client_release_patience_us (client);
  guint n_over = 0;

  curator_client_lock (client);
  curator_reaper_gather (client->reaper);
  for (guint i = first; i < end; i++)
    {
      CuratorLease *lease = g_ptr_array_index (leases, i);
      n_over +=
          curator_lease_end (lease, patience_us, gather != NULL ? curator_gather_one : NULL, gather)
              ? 0
              : 1;
    }
  curator_reaper_send_gathered (client->reaper);
  curator_client_unlock (client);
  for (guint i = 0; gather != NULL && i < n_over; i++)
    {
      curator_gather_one (NULL, gather);
    }
}

void
curator_gather_release (CuratorGather *gather, GPtrArray *leases)
{
  guint first = 0;

  for (guint i = 1; i <= leases->len; i++)
    {
      if (i == leases->len
          || curator_lease_get_client (g_ptr_array_index (leases, i))
                 != curator_lease_get_client (g_ptr_array_index (leases, first)))
        {
          release_of_client (gather, leases, first, i);
          first = i;
        }
    }
}
