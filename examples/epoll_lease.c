/* SPDX-License-Identifier: Apache-2.0
 * A program on epoll that never waits for a lock. A callback writes into a pipe which job has an
 * answer, the descriptor of a lease wakes the loop when the hold ends, and a timer does the work
 * and shows how long the loop is away. The same works with libevent and libev.
 *
 * usage: epoll_lease CONNECT-STRING [LOCKS ROUNDS]
 */
#include <curator/curator.h>

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK_MS    5
#define WORK_TICKS 20

typedef struct
{
  CuratorLock *lock;
  CuratorLease *lease; /* written before the pipe */
  int ticks;           /* of work left in this round */
  int rounds;          /* left */
} Job;

static CuratorClient *client;
static Job *jobs;
static int n_jobs = 1, n_busy;
static int epoll, timer;
static int answers[2]; /* a pipe of Job *; NULL: the client is closed */
static gint64 ticked_us, longest_us;
static int status;

/* The callbacks run on a thread of the library, and only pass on who has an answer. */
static void
pass_on (Job *job)
{
  if (write (answers[1], &job, sizeof job) < 0)
    abort ();
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Job *job = user_data;
  if (lease == NULL)
    g_printerr ("epoll_lease: %s\n", error->message);
  job->lease = lease;
  pass_on (job);
}

static void
on_closed (CuratorClient *closed, gpointer user_data)
{
  pass_on (NULL);
}

/* All that follows runs in the loop. */
static void
begin_round (Job *job)
{
  if (job->rounds-- > 0)
    curator_lock_acquire_then (job->lock, 60000, NULL, on_acquired, job);
  else if (--n_busy == 0)
    curator_client_close_then (client, on_closed, NULL);
}

static void
watch (int fd, gpointer what)
{
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };
  epoll_ctl (epoll, EPOLL_CTL_ADD, fd, &event);
}

static void
granted (Job *job)
{
  if (job->lease == NULL) {
    status = 1;
    return begin_round (job);
  }
  g_print ("held: %s\n", curator_lease_get_node_path (job->lease));
  job->ticks = WORK_TICKS;
  watch (curator_lease_get_fd (job->lease), job);
}

static void
tick (void)
{
  guint64 times;
  if (read (timer, &times, sizeof times) < 0)
    abort ();
  const gint64 now_us = g_get_monotonic_time ();
  if (now_us - ticked_us > longest_us) {
    longest_us = now_us - ticked_us;
    g_print ("away: %d ms\n", (int) (longest_us / 1000));
  }
  ticked_us = now_us;
  for (Job *job = jobs; job < jobs + n_jobs; job++)
    if (job->ticks > 0 && --job->ticks == 0)
      curator_lease_release_then (job->lease, CURATOR_WAIT_DEFAULT, NULL, NULL, NULL);
}

/* The hold is over: RELEASED by us, or LOST. */
static void
ended (Job *job)
{
  const CuratorLeaseState state = curator_lease_get_state (job->lease);
  g_print ("ended: %s\n", curator_lease_state_to_string (state));
  if (state != CURATOR_LEASE_STATE_RELEASED)
    status = 1;
  job->ticks = 0;
  epoll_ctl (epoll, EPOLL_CTL_DEL, curator_lease_get_fd (job->lease), NULL);
  g_clear_pointer (&job->lease, curator_lease_unref);
  begin_round (job);
}

/* Handles one event. Returns FALSE at the end. */
static gboolean
handle_event (void)
{
  struct epoll_event event;
  Job *job = NULL;
  if (epoll_wait (epoll, &event, 1, -1) < 1)
    return TRUE;
  if (event.data.ptr == &timer)
    tick ();
  else if (event.data.ptr != answers)
    ended (event.data.ptr);
  else if (read (answers[0], &job, sizeof job) > 0 && job != NULL)
    granted (job);
  else
    return FALSE;
  return TRUE;
}

static gboolean
open_loop (void)
{
  const struct itimerspec period = { { 0, TICK_MS * 1000000 }, { 0, TICK_MS * 1000000 } };
  epoll = epoll_create1 (EPOLL_CLOEXEC);
  timer = timerfd_create (CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (pipe (answers) != 0 || timerfd_settime (timer, 0, &period, NULL) != 0)
    return FALSE;
  watch (answers[0], answers);
  watch (timer, &timer);
  ticked_us = g_get_monotonic_time ();
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  client = curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  if (!open_loop () || !curator_client_start (client, &error)) {
    g_printerr ("epoll_lease: %s\n", error != NULL ? error->message : "no descriptors");
    return 1;
  }
  n_busy = n_jobs = argc > 2 ? atoi (argv[2]) : 1;
  jobs = g_new0 (Job, n_jobs);
  for (Job *job = jobs; job < jobs + n_jobs; job++) {
    g_autofree char *path = g_strdup_printf ("/examples/epoll-%d", (int) (job - jobs));
    job->lock = curator_mutex_new (client, path, NULL);
    job->rounds = argc > 3 ? atoi (argv[3]) : 1;
    begin_round (job);
  }
  while (handle_event ()) {
  }
  for (Job *job = jobs; job < jobs + n_jobs; job++)
    curator_lock_unref (job->lock);
  g_free (jobs);
  curator_client_unref (client);
  return status;
}
