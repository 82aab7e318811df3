/* SPDX-License-Identifier: Apache-2.0
 * A lock in a libuv loop: an async handle passes the result of the acquire to the loop, a poll
 * handle watches the end of the hold, and no thread of the program waits.
 *
 * usage: uv_lock CONNECT-STRING
 */
#include <curator/curator.h>

#include <uv.h>

typedef struct
{
  uv_async_t acquired;
  uv_poll_t ended;
  uv_timer_t work;
  CuratorLease *lease; /* written before the signal of acquired */
  int status;
} Program;

/* Runs on a thread of the library, where of libuv only uv_async_send() may be called. */
static void
on_result (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Program *program = user_data;
  if (lease == NULL)
    g_printerr ("uv_lock: %s\n", error->message);
  program->lease = lease;
  uv_async_send (&program->acquired);
}

/* The hold is over: RELEASED by us, or LOST. */
static void
on_ended (uv_poll_t *handle, int status, int events)
{
  Program *program = handle->data;
  const CuratorLeaseState state = curator_lease_get_state (program->lease);
  g_print ("ended: %s\n", curator_lease_state_to_string (state));
  program->status = state == CURATOR_LEASE_RELEASED ? 0 : 1;
  uv_close ((uv_handle_t *) &program->ended, NULL);
  uv_close ((uv_handle_t *) &program->work, NULL);
  g_clear_pointer (&program->lease, curator_lease_unref);
}

/* A release waits for the server: a thread of libuv's pool does it, with a reference of its own. */
static void
release (uv_work_t *task)
{
  curator_lease_release (task->data, CURATOR_WAIT_DEFAULT, NULL, NULL);
  curator_lease_unref (task->data);
}

static void
on_work_done (uv_timer_t *timer)
{
  static uv_work_t task;
  Program *program = timer->data;
  task.data = curator_lease_ref (program->lease);
  uv_queue_work (timer->loop, &task, release, NULL);
}

static void
on_acquired (uv_async_t *handle)
{
  Program *program = handle->data;
  uv_close ((uv_handle_t *) &program->acquired, NULL);
  if (program->lease == NULL)
    return;
  g_print ("held: %s\n", curator_lease_get_node_path (program->lease));
  program->ended.data = program->work.data = program;
  uv_poll_init (handle->loop, &program->ended, curator_lease_get_fd (program->lease));
  uv_poll_start (&program->ended, UV_READABLE, on_ended);
  uv_timer_init (handle->loop, &program->work);
  uv_timer_start (&program->work, on_work_done, 100, 0);
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/uv", &error);
  if (lock == NULL || !curator_client_start (client, &error))
    {
      g_printerr ("uv_lock: %s\n", error->message);
      return 1;
    }
  Program program = { .acquired = { .data = &program }, .status = 1 };
  uv_async_init (uv_default_loop (), &program.acquired, on_acquired);
  curator_lock_acquire_then (lock, 10000, NULL, on_result, &program);
  uv_run (uv_default_loop (), UV_RUN_DEFAULT);
  uv_loop_close (uv_default_loop ());
  return program.status;
}
