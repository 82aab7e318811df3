/* Callbacks in the program's own GMainContext.
 *
 * Curator has no counterpart: its executors have threads of their own. Threads: whichever owns the
 * context runs them, so that only one at a time does; any queues them. Guarded by the client's
 * mutex.
 */
#include "core/turns.h"

#include "base/fork_gate.h"
#include "core/client-record.h"
#include "core/monitor.h"

typedef struct
{
  CuratorClient *client; /* a memory reference */
  CuratorTask *task;     /* NULL: has run */
  GSource *source;       /* which owns this */
  GList link CURATOR_GUARDED;
} Turn;

/* How many turns this thread runs, one inside the other. */
static _Thread_local guint n_running;

/* FALSE: another one has. */
static CURATOR_LOCKED gboolean
take (Turn *turn)
{
  if (turn->link.data == NULL)
    return FALSE;
  g_queue_unlink (&turn->client->turns.queued, &turn->link);
  turn->link.data = NULL;
  return TRUE;
}

/* func: runs the task before it is freed, or NULL. The callback may end its thread. */
static CURATOR_UNLOCKED void
end_task (Turn *turn, gboolean (*func) (gpointer task))
{
  CuratorTask *task = g_steal_pointer (&turn->task);

  n_running++;
  pthread_cleanup_push (curator_task_free, task);
  if (func != NULL)
    func (task);
  pthread_cleanup_pop (TRUE);
  n_running--;
}

static CURATOR_UNLOCKED gboolean
on_turn (gpointer data)
{
  Turn *turn = data;
  if (CURATOR_WITH_MUTEX (turn->client, take (turn)))
    end_task (turn, curator_task_run);
  return G_SOURCE_REMOVE;
}

/* It has run, or the context has ended before. */
static CURATOR_UNLOCKED void
turn_free (gpointer data)
{
  Turn *turn = data;
  CuratorClient *client = turn->client;

  curator_client_lock (client);
  take (turn);
  curator_client_unlock (client);
  if (turn->task != NULL)
    end_task (turn, NULL);
  curator_client_lock (client);
  client->turns.n_left--;
  client->ops->wake (client->ops, &client->ended);
  curator_client_unlock (client);
  curator_client_memory_unref (client);
  g_free (turn);
}

void
curator_turns_push (CuratorClient *client, CuratorTask *task)
{
  Turn *turn = g_new (Turn, 1);

  curator_client_memory_ref (client);
  *turn = (Turn){ .client = client, .task = task, .source = g_idle_source_new () };
  turn->link.data = turn;
  g_queue_push_tail_link (&client->turns.queued, &turn->link);
  client->turns.n_left++;
  g_source_set_priority (turn->source, G_PRIORITY_DEFAULT);
  g_source_set_callback (turn->source, on_turn, turn, turn_free);
  g_source_attach (turn->source, client->settings.callback_context);
  g_source_unref (turn->source);
  /* Who closes the client on the context's thread runs it. */
  client->ops->wake (client->ops, &client->ended);
}

gboolean
curator_turns_left (CuratorClient *client)
{
  return n_running == 0 && client->turns.n_left > 0;
}

gboolean
curator_turns_run (CuratorClient *client)
{
  GMainContext *context = client->settings.callback_context;
  Turn *turn;

  if (n_running > 0 || g_queue_is_empty (&client->turns.queued)
      || !g_main_context_acquire (context))
    return FALSE;
  while ((turn = g_queue_peek_head (&client->turns.queued)) != NULL) {
    GSource *source = g_source_ref (turn->source);
    take (turn);
    curator_client_unlock (client);
    end_task (turn, curator_task_run);
    g_source_destroy (source);
    curator_client_lock (client);
    g_source_unref (source);
  }
  g_main_context_release (context);
  return TRUE;
}
