/* Jobs of the channel on the program's own thread. Link the file in front of the library, in place
 * of channel_job.c. */
#pragma once

#include <glib.h>

typedef struct
{
  gboolean are_held;   /* until lab_jobs_finish(); otherwise each is done at once */
  gboolean next_fails; /* to start */
} LinkLabJobs;

extern LinkLabJobs lab_jobs;

void lab_jobs_finish (void);
