/* Jobs of the channel on the program's own thread. Link the file in front of the library, in place
 * of channel_job.c. */
#ifndef CURATOR_TEST_LINK_LAB_JOB_H
#define CURATOR_TEST_LINK_LAB_JOB_H

#include <glib.h>

typedef struct
{
  gboolean are_held;   /* until lab_jobs_finish(); otherwise each is done at once */
  gboolean next_fails; /* to start */
} LinkLabJobs;

extern LinkLabJobs lab_jobs;

void lab_jobs_finish (void);

#endif
