/* Collects the results of several releases (InterProcessMultiLock.release loses all but two).
 *
 * Threads: any; each member reports on a thread of its own client. Guarded by its own mutex.
 */
#include "lock/batch_report.h"

struct _CuratorBatchReport
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

CuratorBatchReport *
curator_batch_report_new (guint n, CuratorReleaseDone done, gpointer data)
{
  if (n == 0)
    {
      call_done (done, NULL, data);
      return NULL;
    }
  CuratorBatchReport *gather = g_new0 (CuratorBatchReport, 1);
  pthread_mutex_init (&gather->mutex, NULL);
  gather->pending = n;
  gather->done = done;
  gather->data = data;
  return gather;
}

static void
add_error (CuratorBatchReport *gather, const GError *error)
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
curator_batch_report_one (const GError *error, gpointer data)
{
  CuratorBatchReport *gather = data;

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
