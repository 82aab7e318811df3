/* Runs a step of an operation when connected, and again as often as the retry policy allows.
 *
 * Mirrors RetryLoop. Threads: any; guarded by the client's mutex. It sleeps by a timer and never
 * blocks.
 */
#include "client/retry_loop.h"

#include "client/client-private.h"
#include "client/monitor.h"
#include "client/session.h"

static void try_now (CuratorRetryLoop *loop) CURATOR_LOCKED;

static CURATOR_LOCKED void
on_connect_timeout (gpointer data)
{
  CuratorRetryLoop *loop = data;
  loop->timer = NULL;
  curator_retry_loop_stop (loop);
  curator_retry_loop_again (loop, ZCONNECTIONLOSS);
}

static CURATOR_LOCKED void
on_slept (gpointer data)
{
  CuratorRetryLoop *loop = data;
  loop->timer = NULL;
  try_now (loop);
}

static void
try_now (CuratorRetryLoop *loop)
{
  CuratorClient *client = loop->client;

  if (curator_client_is_connected (client))
    {
      loop->run (loop->data);
      return;
    }
  loop->waiting = TRUE;
  g_queue_push_tail_link (&client->connection_waiters, &loop->link);
  loop->timer = curator_timer_after (client, (gint64) client->connection_timeout_ms * 1000,
                                     on_connect_timeout, loop);
}

void
curator_retry_loop_init (CuratorRetryLoop *loop, CuratorClient *client, void (*run) (gpointer data),
                         void (*give_up) (gpointer data, int rc), gpointer data)
{
  *loop = (CuratorRetryLoop){
    .client = client, .run = run, .give_up = give_up, .data = data, .link = { .data = loop }
  };
}

void
curator_retry_loop_begin (CuratorRetryLoop *loop)
{
  curator_retry_loop_stop (loop);
  loop->count = 0;
  loop->start_us = curator_client_now_us (loop->client);
  try_now (loop);
}

void
curator_retry_loop_again (CuratorRetryLoop *loop, int rc)
{
  const gint64 now = curator_client_now_us (loop->client);
  gint64 sleep_ms = 0;

  curator_retry_loop_stop (loop);
  if (!curator_retry_policy_allow_retry (loop->client->retry_policy, loop->count++,
                                         (now - loop->start_us) / 1000, &sleep_ms))
    {
      loop->give_up (loop->data, rc);
      return;
    }
  loop->timer = curator_timer_add (loop->client, now + MAX (sleep_ms, 0) * 1000, on_slept, loop);
}

void
curator_retry_loop_after (CuratorRetryLoop *loop, gint64 pause_us)
{
  curator_retry_loop_stop (loop);
  loop->timer = curator_timer_after (loop->client, pause_us, on_slept, loop);
}

void
curator_retry_loop_stop (CuratorRetryLoop *loop)
{
  curator_timer_cancel (loop->client, &loop->timer);
  if (loop->waiting)
    {
      loop->waiting = FALSE;
      g_queue_unlink (&loop->client->connection_waiters, &loop->link);
    }
}

void
curator_retry_loop_connected (CuratorClient *client)
{
  /* run may add or remove waiters: take one at a time, and only as many as waited for this
   * connection. */
  for (guint n = client->connection_waiters.length; n > 0; n--)
    {
      CuratorRetryLoop *loop = g_queue_peek_head (&client->connection_waiters);
      if (loop == NULL || !curator_client_is_connected (client))
        {
          return;
        }
      curator_retry_loop_stop (loop);
      loop->run (loop->data);
    }
}
