/* SPDX-License-Identifier: Apache-2.0
 * Locks in a libuv loop that never waits for them: an async handle passes the answer to the loop, a
 * poll handle watches the end of the hold, and a timer shows how long the loop is away.
 *
 * usage: uv_lock CONNECT-STRING [LOCKS ROUNDS]
 */
#include <curator/curator.h>

#include <stdlib.h>
#include <uv.h>

#define TICK_MS 5
#define WORK_MS 100

typedef struct
{
  CuratorLock *lock;
  CuratorLease *lease; /* written before the signal of answered */
  uv_async_t answered;
  uv_poll_t ended;
  uv_timer_t work;
  int rounds; /* left */
} Job;

static CuratorClient *client;
static uv_loop_t loop;
static uv_async_t closed;
static uv_timer_t tick;
static int n_busy;
static gint64 ticked_us, longest_us;
static int status;

/* Callbacks run on a thread of the library, where only uv_async_send() of libuv may be called. */
static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Job *job = user_data;
  if (lease == NULL)
    g_printerr ("uv_lock: %s\n", error->message);
  job->lease = lease;
  uv_async_send (&job->answered);
}

static void
on_client_closed (CuratorClient *that, gpointer user_data)
{
  uv_async_send (&closed);
}

/* All that follows runs in the loop. */
static void
begin_round (Job *job)
{
  if (job->rounds-- > 0)
    return curator_lock_acquire_then (job->lock, 60000, NULL, on_acquired, job);
  uv_close ((uv_handle_t *) &job->answered, NULL);
  uv_close ((uv_handle_t *) &job->work, NULL);
  if (--n_busy == 0)
    curator_client_close_then (client, on_client_closed, NULL);
}

static void
on_poll_closed (uv_handle_t *handle)
{
  Job *job = handle->data;
  g_clear_pointer (&job->lease, curator_lease_unref);
  begin_round (job);
}

/* The hold is over: RELEASED by us, or LOST. */
static void
on_ended (uv_poll_t *handle, int error, int events)
{
  Job *job = handle->data;
  const CuratorLeaseState state = curator_lease_get_state (job->lease);
  g_print ("ended: %s\n", curator_lease_state_to_string (state));
  if (state != CURATOR_LEASE_STATE_RELEASED)
    status = 1;
  uv_timer_stop (&job->work);
  uv_close ((uv_handle_t *) handle, on_poll_closed);
}

static void
on_work_done (uv_timer_t *timer)
{
  Job *job = timer->data;
  curator_lease_release_then (job->lease, CURATOR_WAIT_DEFAULT, NULL, NULL, NULL);
}

static void
on_answered (uv_async_t *handle)
{
  Job *job = handle->data;
  if (job->lease == NULL) {
    status = 1;
    return begin_round (job);
  }
  g_print ("held: %s\n", curator_lease_get_node_path (job->lease));
  uv_poll_init (&loop, &job->ended, curator_lease_get_fd (job->lease));
  uv_poll_start (&job->ended, UV_READABLE, on_ended);
  uv_timer_start (&job->work, on_work_done, WORK_MS, 0);
}

static void
on_tick (uv_timer_t *timer)
{
  const gint64 now_us = g_get_monotonic_time ();
  if (now_us - ticked_us > longest_us) {
    longest_us = now_us - ticked_us;
    g_print ("away: %d ms\n", (int) (longest_us / 1000));
  }
  ticked_us = now_us;
}

static void
on_closed (uv_async_t *handle)
{
  uv_close ((uv_handle_t *) &closed, NULL);
  uv_close ((uv_handle_t *) &tick, NULL);
}

static void
start_job (Job *job, int number, int rounds)
{
  g_autofree char *path = g_strdup_printf ("/examples/uv-%d", number);
  job->lock = curator_mutex_new (client, path, NULL);
  job->answered.data = job->ended.data = job->work.data = job;
  job->rounds = rounds;
  uv_async_init (&loop, &job->answered, on_answered);
  uv_timer_init (&loop, &job->work);
  begin_round (job);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  client = curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  if (!curator_client_start (client, &error)) {
    g_printerr ("uv_lock: %s\n", error->message);
    return 1;
  }
  const int n_jobs = n_busy = argc > 2 ? atoi (argv[2]) : 1;
  Job *jobs = g_new0 (Job, n_jobs);
  uv_loop_init (&loop);
  uv_async_init (&loop, &closed, on_closed);
  uv_timer_init (&loop, &tick);
  uv_timer_start (&tick, on_tick, TICK_MS, TICK_MS);
  ticked_us = g_get_monotonic_time ();
  for (int i = 0; i < n_jobs; i++)
    start_job (&jobs[i], i, argc > 3 ? atoi (argv[3]) : 1);
  uv_run (&loop, UV_RUN_DEFAULT);
  uv_loop_close (&loop);
  for (int i = 0; i < n_jobs; i++)
    curator_lock_unref (jobs[i].lock);
  g_free (jobs);
  curator_client_unref (client);
  return status;
}
