/* Waits for the end of a client, in a blocking call or for a function that is called then.
 *
 * Mirrors CuratorFramework.close, which waits in place. Threads: any; guarded by the client's mutex.
 */
#include "core/closing.h"

#include "base/fork_gate.h"
#include "base/thread_role.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/task.h"

#include <errno.h>
#include <time.h>

void
curator_closing_init (CuratorClient *client)
{
  pthread_condattr_t monotonic;

  pthread_condattr_init (&monotonic);
  pthread_condattr_setclock (&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init (&client->closing.changed, &monotonic);
  pthread_condattr_destroy (&monotonic);
}

void
curator_closing_clear (CuratorClient *client)
{
  pthread_cond_destroy (&client->closing.changed);
}

static CURATOR_LOCKED void
run_all (CuratorClient *client)
{
  CuratorTask *task;

  while ((task = g_queue_pop_head (&client->closing.waiting)) != NULL)
    {
      curator_client_after_unlock (client, task->func, task->data);
      g_free (task);
    }
}

static CURATOR_LOCKED void
run_if_ended (CuratorClient *client)
{
  if (client->sessions_open == 0 && client->closing.n_lanes == 0)
    run_all (client);
}

void
curator_closing_lane_started (CuratorClient *client)
{
  client->closing.n_lanes++;
}

static CURATOR_LOCKED void
changed (CuratorClient *client)
{
  client->ops->wake (client->ops, &client->closing.changed);
  run_if_ended (client);
}

void
curator_closing_lane_ended (CuratorClient *client)
{
  client->closing.n_lanes--;
  changed (client);
}

void
curator_closing_session_ended (CuratorClient *client)
{
  client->sessions_open--;
  changed (client);
}

/* A thread that serves another client waits for no callback: two of them could close each other's.
 * The end of a session waits for no callback either; a program may close its own handle next, also
 * where it has closed the client in one. */
static CURATOR_LOCKED gboolean
must_wait (const CuratorClient *client)
{
  const CuratorClient *served = curator_thread_role ().client;
  return (client->sessions_open > 0 && (served != client || client->ops->is_shared))
         || (client->closing.n_lanes > 0 && served == NULL);
}

/* Called with the client's mutex held, which is given back while waiting. FALSE: it is too late. */
static CURATOR_LOCKED gboolean
wait_for_change (CuratorClient *client, gint64 until_us)
{
  const struct timespec until = { until_us / G_USEC_PER_SEC, until_us % G_USEC_PER_SEC * 1000 };
  pthread_cond_t *cond = &client->closing.changed;

  curator_locked_forget_clocks (client);
  if (!client->ops->threads)
    {
      client->ops->wait (client->ops, cond, &client->mutex);
      return TRUE;
    }
  return curator_gate_cond_wait (cond, &client->mutex, &until) != ETIMEDOUT;
}

static CURATOR_LOCKED void
warn_of_patience (const CuratorClient *client)
{
  curator_warn ("close does not wait any longer: %s", client->sessions_open > 0
                                                          ? "the session is not closed yet"
                                                          : "a callback has not returned");
}

void
curator_closing_join (CuratorClient *client)
{
  const gint64 until_us = curator_client_now_us (client) + CURATOR_CLOSE_PATIENCE_US;

  while (must_wait (client))
    {
      if (!wait_for_change (client, until_us))
        {
          warn_of_patience (client);
          return;
        }
    }
}

void
curator_closing_then (CuratorClient *client, CuratorWork func, gpointer data)
{
  g_queue_push_tail (&client->closing.waiting, curator_task_new (func, data, NULL));
  run_if_ended (client);
}

gboolean
curator_closing_is_awaited (CuratorClient *client, guint n_lanes)
{
  return client->closing.waiting.length > 0
         && (client->sessions_open > 0 || client->closing.n_lanes > n_lanes);
}

void
curator_closing_give_up (CuratorClient *client)
{
  if (client->closing.waiting.length > 0)
    warn_of_patience (client);
  run_all (client);
}
