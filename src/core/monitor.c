/* The mutex of a client, its memory references and its clocks.
 *
 * Stands where Java has synchronized. Threads: any. It depends on no other part of the client: the
 * function that frees it, and those that run after an unlock, are passed in. A thread of the
 * program's that is cancelled ends after the unlock and what it runs: others wait for both.
 */
#include "core/monitor.h"

#include "base/fork_gate.h"
#include "base/tag.h"
#include "base/threads.h"
#include "core/client-record.h"

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
  const CuratorAfter first = client->unlock.first;
  client->unlock = (CuratorUnlock){ 0 };
  locked_client = NULL;
  pthread_mutex_unlock (&client->mutex);

  n_unlocking++;
  if (first.func != NULL)
    first.func (first.data);
  for (CuratorAfter *after = first.next; after != NULL;) {
    CuratorAfter *next = after->next;
    after->func (after->data);
    g_free (after);
    after = next;
  }
  n_unlocking--;
  for (CuratorLast *last; n_unlocking == 0 && (last = lasts) != NULL;) {
    lasts = last->next;
    last->func (last);
  }
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
  CuratorAfter *after = &client->unlock.first;
  if (after->func != NULL) {
    after = g_new (CuratorAfter, 1);
    client->unlock.tail->next = after;
  }
  *after = (CuratorAfter){ .func = func, .data = data };
  client->unlock.tail = after;
}

gboolean
curator_client_check_forked (CuratorClient *client, GError **error)
{
  if (G_UNLIKELY (client->fork_generation != curator_fork_generation ()))
    return CURATOR_REFUSE (error, CURATOR_ERROR_FORKED,
                           "this client belongs to the parent process");
  return TRUE;
}

gboolean
curator_client_check_usable (CuratorClient *client, GError **error)
{
  if (!curator_client_check_forked (client, error))
    return FALSE;
  const CuratorLife life = (CuratorLife) g_atomic_int_get (&client->life);
  if (life == CURATOR_LIFE_LATENT)
    return CURATOR_REFUSE (error, CURATOR_ERROR_NOT_STARTED, "the client has not been started");
  if (life != CURATOR_LIFE_STARTED)
    return CURATOR_REFUSE (error, CURATOR_ERROR_CLOSED, "the client is closed");
  return TRUE;
}

gboolean
curator_client_is_running (CuratorClient *client)
{
  return client->life == CURATOR_LIFE_STARTED;
}

gint64
curator_client_now_us (CuratorClient *client)
{
  return client->ops->clocks.monotonic_us (client->ops);
}

gint64
curator_client_boottime_us (CuratorClient *client)
{
  return client->ops->clocks.boottime_us (client->ops);
}

gint64
curator_locked_now_us (CuratorClient *client)
{
  if (client->unlock.now_us == 0)
    client->unlock.now_us = client->ops->clocks.monotonic_us (client->ops);
  return client->unlock.now_us;
}

gint64
curator_locked_boottime_us (CuratorClient *client)
{
  return client->unlock.boottime_us != 0 ? client->unlock.boottime_us
                                         : curator_locked_reread_us (client);
}

gint64
curator_locked_reread_us (CuratorClient *client)
{
  return client->unlock.boottime_us = client->ops->clocks.boottime_us (client->ops);
}

void
curator_locked_forget_clocks (CuratorClient *client)
{
  client->unlock.now_us = 0;
  client->unlock.boottime_us = 0;
}

/* The analysis does not know whether the calling thread holds the mutex. */
gint64 CURATOR_NOT_ANALYSED
curator_client_deadline (CuratorClient *client, gint64 timeout_ms)
{
  const gint64 wait_ms =
      timeout_ms == CURATOR_WAIT_DEFAULT ? client->settings.connection_timeout_ms : timeout_ms;
  if (wait_ms <= 0)
    return CURATOR_NO_TIME_US;
  const gint64 now_us =
      locked_client == client ? curator_locked_now_us (client) : curator_client_now_us (client);
  return wait_ms > (G_MAXINT64 - now_us) / 1000 ? G_MAXINT64 : now_us + wait_ms * 1000;
}
