/* The retry loop of one step of an operation (RetryLoop), without a thread that sleeps.
 *
 * It waits up to the connection timeout for a connection, then calls run. The step reports a
 * retryable failure with curator_retry_loop_again(), which asks the policy and sleeps on the timer
 * thread. When the policy refuses, give_up gets the code. The operation checks its own deadline.
 * Retries are counted anew in each session, whose connection ends a sleep.
 */
#pragma once

#include "base/guards.h"
#include "base/link.h"
#include "core/client-record.h"

typedef struct _CuratorRetryQuestion CuratorRetryQuestion;

typedef struct
{
  CuratorClient *client;
  void (*run) (gpointer data);
  void (*give_up) (gpointer data, int rc);
  gpointer data;
  guint count CURATOR_GUARDED;
  guint epoch CURATOR_GUARDED; /* of the session that it ran in last; 0: none */
  gboolean sleeps CURATOR_GUARDED;
  gint64 start_us CURATOR_GUARDED;
  CuratorTimer *timer CURATOR_GUARDED;            /* the sleep, or the connection timeout */
  CuratorRetryQuestion *question CURATOR_GUARDED; /* a custom policy is being asked */
  CuratorLink place CURATOR_GUARDED; /* in client->connection_waiters, while it waits or sleeps */
} CuratorRetryLoop;

/* run may be called inside begin, give_up inside again. Stop the loop before its memory is
 * freed. */
void curator_retry_loop_init (CuratorRetryLoop *loop, CuratorClient *client,
                              void (*run) (gpointer data), void (*give_up) (gpointer data, int rc),
                              gpointer data) CURATOR_LOCKED;
void curator_retry_loop_begin (CuratorRetryLoop *loop) CURATOR_LOCKED;
void curator_retry_loop_again (CuratorRetryLoop *loop, int rc) CURATOR_LOCKED;
/* Runs the step again after a pause, without asking the policy: nothing has failed. */
void curator_retry_loop_after (CuratorRetryLoop *loop, gint64 pause_us) CURATOR_LOCKED;
void curator_retry_loop_stop (CuratorRetryLoop *loop) CURATOR_LOCKED;
/* For session_states.c: the client has connected. */
void curator_retry_loop_connected (CuratorClient *client) CURATOR_LOCKED;
