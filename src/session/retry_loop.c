/* Runs a step of an operation when connected, and again as often as the retry policy allows.
 *
 * Mirrors RetryLoop. Threads: any; guarded by the client's mutex, except that a custom policy is
 * asked without it. It sleeps by a timer and never blocks.
 */
#include "session/retry_loop.h"

#include "core/client-record.h"
#include "core/monitor.h"
#include "retry/retry_policy.h"
#include "session/connection_error.h"
#include "session/session.h"

/* A year: longer than anybody waits, and far from where a time overflows. */
#define MAX_SLEEP_MS (G_GINT64_CONSTANT (366) * 24 * 60 * 60 * 1000)

static CURATOR_LOCKED void
on_connect_timeout (gpointer data)
{
  CuratorRetryLoop *loop = data;
  loop->timer = NULL;
  curator_retry_loop_again (loop, ZCONNECTIONLOSS);
}

/* Until the client is connected, or the time is over. */
static CURATOR_LOCKED void
wait_for (CuratorRetryLoop *loop, gint64 time_us, CuratorWork over)
{
  curator_link_place (&loop->place, &loop->client->connection_waiters, loop);
  loop->timer = curator_timer_after (loop->client, time_us, over, loop);
}

static CURATOR_LOCKED gboolean
is_in_new_session (const CuratorRetryLoop *loop)
{
  return curator_client_is_connected (loop->client) && loop->epoch != loop->client->session->epoch;
}

static CURATOR_LOCKED void
try_now (CuratorRetryLoop *loop)
{
  CuratorClient *client = loop->client;

  curator_retry_loop_stop (loop);
  if (!curator_client_is_connected (client)) {
    wait_for (loop, (gint64) client->settings.connection_timeout_ms * 1000, on_connect_timeout);
    return;
  }
  if (is_in_new_session (loop)) {
    loop->epoch = client->session->epoch;
    loop->count = 0;
    loop->start_us = curator_locked_now_us (client);
  }
  loop->run (loop->data);
}

static CURATOR_LOCKED void
on_slept (gpointer data)
{
  CuratorRetryLoop *loop = data;
  loop->timer = NULL;
  try_now (loop);
}

void
curator_retry_loop_init (CuratorRetryLoop *loop, CuratorClient *client, void (*run) (gpointer data),
                         void (*give_up) (gpointer data, int rc), gpointer data)
{
  *loop = (CuratorRetryLoop){ .client = client, .run = run, .give_up = give_up, .data = data };
}

void
curator_retry_loop_begin (CuratorRetryLoop *loop)
{
  loop->count = 0;
  loop->start_us = curator_locked_now_us (loop->client);
  try_now (loop);
}

/* A question to a user's policy, which is asked without our mutex. */
struct _CuratorRetryQuestion
{
  CuratorClient *client;                  /* a memory reference, which keeps the policy, too */
  CuratorRetryLoop *loop CURATOR_GUARDED; /* NULL: stopped, and nobody wants the answer */
  guint count;
  gint64 elapsed_ms;
  GError *error;
  int rc;
};

static CURATOR_LOCKED void
obey (CuratorRetryLoop *loop, gboolean allowed, gint64 sleep_ms, int rc)
{
  if (allowed)
    curator_retry_loop_after (
        loop, is_in_new_session (loop) ? 0 : CLAMP (sleep_ms, 0, MAX_SLEEP_MS) * 1000);
  else
    loop->give_up (loop->data, rc);
}

static CURATOR_UNLOCKED void
ask_user (gpointer data)
{
  CuratorRetryQuestion *question = data;
  CuratorClient *client = question->client;
  gint64 sleep_ms = 0;
  const gboolean allowed =
      curator_retry_policy_allow_retry (client->settings.retry_policy, question->count,
                                        question->elapsed_ms, question->error, &sleep_ms);

  curator_client_lock (client);
  CuratorRetryLoop *loop = question->loop;
  if (loop != NULL) {
    loop->question = NULL;
    obey (loop, allowed, sleep_ms, question->rc);
  }
  curator_client_unlock (client);
  curator_client_memory_unref (client);
  g_error_free (question->error);
  g_free (question);
}

void
curator_retry_loop_again (CuratorRetryLoop *loop, int rc)
{
  CuratorRetryPolicy *policy = loop->client->settings.retry_policy;
  const gint64 elapsed_ms = (curator_locked_now_us (loop->client) - loop->start_us) / 1000;
  const guint count = loop->count;

  curator_retry_loop_stop (loop);
  loop->count += count < G_MAXUINT ? 1 : 0;
  if (policy->is_builtin) {
    gint64 sleep_ms = 0;
    const gboolean allowed =
        curator_retry_policy_allow_retry (policy, count, elapsed_ms, NULL, &sleep_ms);
    obey (loop, allowed, sleep_ms, rc);
    return;
  }
  loop->question = g_new (CuratorRetryQuestion, 1);
  *loop->question = (CuratorRetryQuestion){ .client = loop->client,
                                            .loop = loop,
                                            .count = count,
                                            .elapsed_ms = elapsed_ms,
                                            .error = curator_request_error (
                                                loop->client, rc, "a request to",
                                                loop->client->connect_string, loop->start_us),
                                            .rc = rc };
  curator_client_memory_ref (loop->client);
  curator_dispatch_push (loop->client, CURATOR_LANE_QUESTIONS, ask_user, loop->question, NULL);
}

void
curator_retry_loop_after (CuratorRetryLoop *loop, gint64 pause_us)
{
  curator_retry_loop_stop (loop);
  loop->sleeps = TRUE;
  wait_for (loop, pause_us, on_slept);
}

void
curator_retry_loop_stop (CuratorRetryLoop *loop)
{
  curator_timer_cancel (loop->client, &loop->timer);
  if (loop->question != NULL) {
    loop->question->loop = NULL;
    loop->question = NULL;
  }
  loop->sleeps = FALSE;
  curator_link_place (&loop->place, NULL, loop);
}

void
curator_retry_loop_connected (CuratorClient *client)
{
  /* run may add or remove waiters: take one at a time, and only as many as waited for this
   * connection. */
  for (guint n = client->connection_waiters.length; n > 0; n--) {
    CuratorRetryLoop *loop = g_queue_peek_head (&client->connection_waiters);
    if (loop == NULL || !curator_client_is_connected (client))
      return;
    if (loop->sleeps && !is_in_new_session (loop))
      curator_link_place (&loop->place, &client->connection_waiters, loop);
    else
      try_now (loop);
  }
}
