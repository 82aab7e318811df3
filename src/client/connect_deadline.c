/* A deadline for each attempt to connect.
 *
 * Mirrors nothing. Threads: the timer thread; guarded by the client's mutex.
 *
 * NOTES: a server that is away costs libzookeeper 2/3 of the session timeout, which is longer than
 * a lease lasts, and than users wait. channel/patience.h says how long an attempt may take instead.
 * If a session is to be saved, a share of its timeout is the most.
 */
#include "client/connect_deadline.h"

#include "base/server_list.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"

/* An attempt to reconnect gets 1/10 of the session timeout, from the third on 1/5. */
#define FIRST_SHARE 10
#define N_FIRST     2
#define LATER_SHARE 5
/* The first pause of libzookeeper that is cut short; then twice as long each time. */
#define PAUSE_US      (100 * 1000)
#define PAUSE_DOUBLES 10
/* An attempt is checked that often, later in an outage less, each 1/50 of the session timeout at
 * least. */
#define CHECK_US      (25 * 1000)
#define OUTAGE_SHARE  40
#define SESSION_SHARE 50

static void check (gpointer data) CURATOR_LOCKED;

static CURATOR_LOCKED void
check_later (CuratorSession *session)
{
  CuratorClient *client = session->client;
  const gint64 since_us = curator_client_now_us (client) - session->attempts.since_us;
  const gint64 most_us = (gint64) session->timeout_ms * 1000 / SESSION_SHARE;

  session->attempts.timer = curator_timer_after (
      client, MIN (MAX (since_us / OUTAGE_SHARE, CHECK_US), most_us), check, session);
}

static CURATOR_LOCKED void
set_patience (CuratorSession *session, gint64 patience_us[CURATOR_N_STAGES])
{
  const CuratorPatience *spent = &session->attempts.spent;
  const guint n_addresses = curator_servers_n_addresses (session->client->known);
  const guint n_ended = spent->n_unconnected + spent->n_unanswered;
  const gint64 timeout_us = (gint64) session->timeout_ms * 1000;
  const gint64 most_us = session->ever_connected
                             ? timeout_us / (n_ended < N_FIRST ? FIRST_SHARE : LATER_SHARE)
                             : G_MAXINT64;

  patience_us[CURATOR_STAGE_PAUSED] = (gint64) PAUSE_US
                                      << MIN (session->attempts.n_pauses, PAUSE_DOUBLES);
  patience_us[CURATOR_STAGE_CONNECTING] =
      MIN (curator_patience_connect_us (spent, n_addresses), most_us);
  patience_us[CURATOR_STAGE_ASKING] =
      MIN (curator_patience_answer_us (spent, n_addresses), most_us);
}

/* Runs on the timer thread. */
static void
check (gpointer data)
{
  CuratorSession *session = data;
  CuratorZkOps *ops = session->client->ops;
  CuratorPatience *spent = &session->attempts.spent;
  gint64 patience_us[CURATOR_N_STAGES];
  CuratorStage ended;

  session->attempts.timer = NULL;
  set_patience (session, patience_us);
  if (ops->end_attempt (ops, session->handle, patience_us, &ended)) {
    session->attempts.n_pauses += ended == CURATOR_STAGE_PAUSED ? 1 : 0;
    spent->n_unconnected += ended == CURATOR_STAGE_CONNECTING ? 1 : 0;
    spent->n_unanswered += ended == CURATOR_STAGE_ASKING ? 1 : 0;
    if (ended != CURATOR_STAGE_PAUSED)
      curator_info ("no server has %s within %" G_GINT64_FORMAT " ms: connecting again",
                    ended == CURATOR_STAGE_ASKING ? "answered" : "been reached",
                    patience_us[ended] / 1000);
  }
  check_later (session);
}

void
curator_connect_deadline_start (CuratorSession *session)
{
  curator_connect_deadline_stop (session);
  session->attempts = (CuratorAttempts){ .since_us = curator_client_now_us (session->client) };
  if (session->client->ops->end_attempt != NULL && session->handle != NULL)
    check_later (session);
}

void
curator_connect_deadline_restart (CuratorSession *session)
{
  if (session->attempts.timer != NULL)
    curator_connect_deadline_start (session);
}

void
curator_connect_deadline_stop (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->attempts.timer);
}
