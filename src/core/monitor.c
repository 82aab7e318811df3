/* The mutex of a client, its memory references, its clocks, and who waits for its end.
 *
 * Stands where Java has synchronized. Threads: any. It depends on no other part of the client: the
 * function that frees it, and those that run after an unlock, are passed in. A thread of the
 * program's that is cancelled ends after the unlock and what it runs: others wait for both.
 */
#include "core/monitor.h"

#include "base/fork_gate.h"
#include "base/thread_role.h"
#include "base/threads.h"
#include "core/client-record.h"

#include <errno.h>
#include <time.h>

struct _CuratorAfter
{
  CuratorAfter *next;
  CuratorContinuation run;
};

/* In CuratorUnlock.clocks_read. */
#define READ_NOW      1U
#define READ_BOOTTIME 2U

/* The client whose mutex this thread holds. */
static _Thread_local CuratorClient *locked_client;
/* How many unlocks of this thread run something, one inside the other; and what comes behind it. */
static _Thread_local guint n_unlocking;
static _Thread_local CuratorLast *lasts;

void
curator_client_memory_ref (CuratorClient *client)
{
  curator_refs_inc (&client->memory);
}

void
curator_client_memory_unref (CuratorClient *client)
{
  if (curator_refs_dec (&client->memory))
    client->free (client);
}

CuratorClient *
curator_locked_client (void)
{
  return locked_client;
}

void
curator_client_at_last (CuratorLast *last, void (*func) (CuratorLast *last))
{
  if (n_unlocking == 0) {
    func (last);
    return;
  }
  last->func = func;
  last->next = lasts;
  lasts = last;
}

static void
run_lasts (void)
{
  CuratorLast *last;

  while ((last = lasts) != NULL) {
    lasts = last->next;
    last->func (last);
  }
}

/* The analysis does not know that pthread_mutex_lock() takes it. */
void CURATOR_NOT_ANALYSED
curator_client_lock (CuratorClient *client)
{
  curator_gate_enter ();
  pthread_mutex_lock (&client->mutex);
  locked_client = client;
}

void CURATOR_NOT_ANALYSED
curator_client_unlock (CuratorClient *client)
{
  CuratorLast *before;
  while ((before = client->unlock.before) != NULL) {
    client->unlock.before = before->next;
    before->func (before);
  }
  const CuratorContinuation first = client->unlock.first;
  CuratorAfter *after = client->unlock.head;
  client->unlock.first.func = NULL;
  client->unlock.head = NULL;
  client->unlock.clocks_read = 0;
  locked_client = NULL;
  pthread_mutex_unlock (&client->mutex);

  n_unlocking++;
  if (first.func != NULL)
    first.func (first.data);
  while (after != NULL) {
    CuratorAfter *next = after->next;
    after->run.func (after->run.data);
    g_free (after);
    after = next;
  }
  if (--n_unlocking == 0)
    run_lasts ();
  curator_gate_leave ();
}

void
curator_client_before_unlock (CuratorClient *client, CuratorLast *before,
                              void (*func) (CuratorLast *before))
{
  before->func = func;
  before->next = client->unlock.before;
  client->unlock.before = before;
}

void
curator_client_after_unlock (CuratorClient *client, CuratorWork func, gpointer data)
{
  const CuratorContinuation run = { .func = func, .data = data };
  if (client->unlock.first.func == NULL) {
    client->unlock.first = run;
    return;
  }
  CuratorAfter *after = g_new (CuratorAfter, 1);
  *after = (CuratorAfter){ .run = run };
  if (client->unlock.head == NULL)
    client->unlock.head = after;
  else
    client->unlock.tail->next = after;
  client->unlock.tail = after;
}

gboolean
curator_client_check_forked (CuratorClient *client, GError **error)
{
  if (G_UNLIKELY (client->fork_generation != curator_fork_generation ())) {
    g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_FORKED,
                         "this client belongs to the parent process");
    return FALSE;
  }
  return TRUE;
}

static gboolean
check_life (CuratorLife life, GError **error)
{
  if (life == CURATOR_LIFE_STARTED)
    return TRUE;
  const gboolean latent = life == CURATOR_LIFE_LATENT;
  g_set_error_literal (error, CURATOR_ERROR,
                       latent ? CURATOR_ERROR_NOT_STARTED : CURATOR_ERROR_CLOSED,
                       latent ? "the client has not been started" : "the client is closed");
  return FALSE;
}

gboolean
curator_client_check_usable (CuratorClient *client, GError **error)
{
  if (!curator_client_check_forked (client, error))
    return FALSE;
  return check_life ((CuratorLife) g_atomic_int_get (&client->life), error);
}

gboolean
curator_client_is_running (CuratorClient *client)
{
  return client->life == CURATOR_LIFE_STARTED;
}

gint64
curator_client_now_us (CuratorClient *client)
{
  return client->ops->monotonic_us (client->ops);
}

gint64
curator_client_boottime_us (CuratorClient *client)
{
  return client->ops->boottime_us (client->ops);
}

gint64
curator_locked_now_us (CuratorClient *client)
{
  if ((client->unlock.clocks_read & READ_NOW) == 0) {
    client->unlock.now_us = client->ops->monotonic_us (client->ops);
    client->unlock.clocks_read |= READ_NOW;
  }
  return client->unlock.now_us;
}

gint64
curator_locked_boottime_us (CuratorClient *client)
{
  return (client->unlock.clocks_read & READ_BOOTTIME) != 0 ? client->unlock.boottime_us
                                                           : curator_locked_reread_us (client);
}

gint64
curator_locked_reread_us (CuratorClient *client)
{
  client->unlock.clocks_read |= READ_BOOTTIME;
  return client->unlock.boottime_us = client->ops->boottime_us (client->ops);
}

void
curator_locked_forget_clocks (CuratorClient *client)
{
  client->unlock.clocks_read = 0;
}

/* Whether the calling thread holds the mutex or not. */
static CURATOR_NOT_ANALYSED gint64
now_in_any_case (CuratorClient *client)
{
  return locked_client == client ? curator_locked_now_us (client) : curator_client_now_us (client);
}

gint64
curator_client_deadline (CuratorClient *client, gint64 timeout_ms)
{
  const gint64 wait_ms =
      timeout_ms == CURATOR_WAIT_DEFAULT ? client->settings.connection_timeout_ms : timeout_ms;
  if (wait_ms == 0)
    return CURATOR_NO_TIME_US;
  const gint64 now = wait_ms < 0 ? 0 : now_in_any_case (client);
  return wait_ms < 0 || wait_ms > (G_MAXINT64 - now) / 1000 ? G_MAXINT64 : now + wait_ms * 1000;
}

/* --- the end -------------------------------------------------------------------------------- */

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

void
curator_closing_give_up (CuratorClient *client)
{
  CuratorAfter *after;

  while ((after = client->closing.waiting) != NULL) {
    client->closing.waiting = after->next;
    curator_client_after_unlock (client, after->run.func, after->run.data);
    g_free (after);
  }
}

static CURATOR_LOCKED void
run_if_ended (CuratorClient *client)
{
  if (client->sessions_open == 0 && client->closing.n_lanes == 0)
    curator_closing_give_up (client);
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
  if (!client->ops->threads) {
    client->ops->wait (client->ops, cond, &client->mutex);
    return TRUE;
  }
  return curator_gate_cond_wait (cond, &client->mutex, &until) != ETIMEDOUT;
}

gboolean
curator_closing_join (CuratorClient *client)
{
  const gint64 until_us = curator_client_now_us (client) + CURATOR_CLOSE_PATIENCE_US;
  gboolean in_time = TRUE;

  while (in_time && must_wait (client))
    in_time = wait_for_change (client, until_us);
  return in_time;
}

void
curator_closing_then (CuratorClient *client, CuratorWork func, gpointer data)
{
  CuratorAfter *after = g_new (CuratorAfter, 1);

  *after = (CuratorAfter){ .next = client->closing.waiting, .run = { func, data } };
  client->closing.waiting = after;
  run_if_ended (client);
}

gboolean
curator_closing_is_awaited (CuratorClient *client, guint n_lanes)
{
  return client->closing.waiting != NULL
         && (client->sessions_open > 0 || client->closing.n_lanes > n_lanes);
}
