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
  CuratorBatchReport *report = g_new0 (CuratorBatchReport, 1);
  pthread_mutex_init (&report->mutex, NULL);
  report->pending = n;
  report->done = done;
  report->data = data;
  return report;
}

static void
add_error (CuratorBatchReport *report, const GError *error)
{
  if (report->error == NULL)
    {
      report->error = g_error_copy (error);
      return;
    }
  char *message = g_strconcat (report->error->message, "; ", error->message, NULL);
  g_free (report->error->message);
  report->error->message = message;
}

void
curator_batch_report_one (const GError *error, gpointer data)
{
  CuratorBatchReport *report = data;

  pthread_mutex_lock (&report->mutex);
  if (error != NULL)
    add_error (report, error);
  const gboolean last = --report->pending == 0;
  pthread_mutex_unlock (&report->mutex);
  if (last)
    {
      call_done (report->done, report->error, report->data);
      pthread_mutex_destroy (&report->mutex);
      g_clear_error (&report->error);
      g_free (report);
    }
}
