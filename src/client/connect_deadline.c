/* A deadline for each attempt to reconnect.
 *
 * Mirrors nothing. Threads: the timer thread; guarded by the client's mutex.
 *
 * NOTES: if a server accepts a connection and does not answer, the library waits 2/3 of the session
 * timeout, which is longer than a lease lasts. Later attempts get more time than the first ones, in case
 * all servers are slow. A first connection has no such deadline: ending it could leave a session behind.
 */
#include "client/connect_deadline.h"

#include "core/client-record.h"
#include "core/log.h"

/* An attempt gets 1/10 of the session timeout, from the third on 1/5. */
#define FIRST_SHARE 10
#define N_FIRST     2
#define LATER_SHARE 5
/* The attempt is checked every 1/50 of the session timeout. */
#define CHECK_SHARE 50

static void check (gpointer data) CURATOR_LOCKED;

static CURATOR_LOCKED void
check_later (CuratorSession *session)
{
  const gint64 pause_us = (gint64) session->timeout_ms * 1000 / CHECK_SHARE;
  session->attempt_timer = curator_timer_after (session->client, pause_us, check, session);
}

/* Runs on the timer thread. */
static void
check (gpointer data)
{
  CuratorSession *session = data;
  CuratorZkOps *ops = session->client->ops;
  const int share = session->attempts_ended < N_FIRST ? FIRST_SHARE : LATER_SHARE;
  const gint64 deadline_ms = session->timeout_ms / share;

  session->attempt_timer = NULL;
  if (ops->end_attempt (ops, session->handle, deadline_ms * 1000))
    {
      session->attempts_ended++;
      curator_info ("no server has answered within %" G_GINT64_FORMAT " ms: connecting again",
                    deadline_ms);
    }
  check_later (session);
}

void
curator_connect_deadline_start (CuratorSession *session)
{
  session->attempts_ended = 0;
  if (session->client->ops->end_attempt != NULL && session->attempt_timer == NULL)
    check_later (session);
}

void
curator_connect_deadline_stop (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->attempt_timer);
}
