/* A deadline for each attempt to connect again.
 *
 * Threads: timer lane; guarded by the client's mutex.
 *
 * NOTES: the library waits 2/3 of the session timeout for a server that accepts a connection and does not
 * answer, which is longer than a lease lasts. The first attempts get less time than later ones: a server
 * that is only slow is not to be asked again and again.
 */
#include "client/connect_deadline.h"

#include "client/client-private.h"
#include "client/log.h"

/* An attempt gets 1/10 of the session timeout, from the third on 1/5. */
#define FIRST_SHARE 10
#define N_FIRST     2
#define LATER_SHARE 5
/* How often the attempt is looked at. */
#define LOOK_SHARE 50

static void look (gpointer data) CURATOR_LOCKED;

static CURATOR_LOCKED void
look_later (CuratorSession *session)
{
  const gint64 pause_us = (gint64) session->timeout_ms * 1000 / LOOK_SHARE;
  session->attempt_timer = curator_timer_after (session->client, pause_us, look, session);
}

/* @locks client mutex held (timer lane). */
static void
look (gpointer data)
{
  CuratorSession *session = data;
  CuratorZkOps *ops = session->client->ops;
  const int share = session->attempts_ended < N_FIRST ? FIRST_SHARE : LATER_SHARE;
  const gint64 deadline_ms = session->timeout_ms / share;

  session->attempt_timer = NULL;
  if (ops->end_attempt (ops, session->handle, deadline_ms * 1000))
    {
      session->attempts_ended++;
      curator_info ("a server did not answer for %" G_GINT64_FORMAT " ms: connecting anew",
                    deadline_ms);
    }
  look_later (session);
}

void
curator_connect_deadline_start (CuratorSession *session)
{
  session->attempts_ended = 0;
  if (session->client->ops->end_attempt != NULL && session->attempt_timer == NULL)
    {
      look_later (session);
    }
}

void
curator_connect_deadline_stop (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->attempt_timer);
}
