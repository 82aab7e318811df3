/* Work that may block, on a thread of its own: the steps of SASL.
 *
 * Threads: the owner starts and drops a job and asks for its end; its function runs on the job's
 * thread. No lock. A dropped job goes on until its function returns, and frees its data then.
 */
#pragma once

#include <glib.h>

typedef struct _CuratorJob CuratorJob;

/* At the end 1 is added to the eventfd wake_fd. Takes data; NULL with an error, data freed. */
CuratorJob *curator_job_start (void (*run) (gpointer data), gpointer data, GDestroyNotify destroy,
                               int wake_fd, GError **error);
gboolean curator_job_is_done (CuratorJob *job);
void curator_job_drop (CuratorJob *job);
