/* Curator's RetryLoop, without a thread to sleep in: wait to be connected, try, ask the policy.
 *
 * Each step of an operation has one. It waits up to the connection timeout for a connection, then
 * calls go; the step reports a retryable failure with curator_retry_loop_again(), which asks the
 * policy and sleeps on the timer lane. When the policy refuses, give_up gets the code. The call's
 * own deadline is the operation's business. Guarded by the client's mutex.
 */
#ifndef CURATOR_RETRY_LOOP_H
#define CURATOR_RETRY_LOOP_H

#include "client/client-private.h"
#include "guards.h"

typedef struct
{
  CuratorClient *client;
  void (*run) (gpointer data);
  void (*give_up) (gpointer data, int rc);
  gpointer data;
  int count CURATOR_GUARDED;
  gboolean waiting CURATOR_GUARDED;
  gint64 start_us CURATOR_GUARDED;
  CuratorTimer *timer CURATOR_GUARDED; /* the sleep, or the limit of the wait for a connection */
  GList link;                          /* in client->connection_waiters while waiting */
} CuratorRetryLoop;

/* @locks client mutex required, all of them. go may run inside begin. */
void curator_retry_loop_init (CuratorRetryLoop *loop, CuratorClient *client,
                              void (*run) (gpointer data), void (*give_up) (gpointer data, int rc),
                              gpointer data) CURATOR_LOCKED;
void curator_retry_loop_begin (CuratorRetryLoop *loop) CURATOR_LOCKED;
void curator_retry_loop_again (CuratorRetryLoop *loop, int rc) CURATOR_LOCKED;
/* Once more after a pause. Nothing has failed, so the policy is not asked. */
void curator_retry_loop_after (CuratorRetryLoop *loop, gint64 pause_us) CURATOR_LOCKED;
void curator_retry_loop_stop (CuratorRetryLoop *loop) CURATOR_LOCKED;
/* For session.c: the connection is there. */
void curator_retry_loop_connected (CuratorClient *client) CURATOR_LOCKED;

#endif
