/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

const char *
language_name (Language language)
{
  return language == LANGUAGE_C ? "C" : "Java";
}

gint64
scene_now_ns (void)
{
  return g_get_monotonic_time () * 1000;
}

static void
process_free (gpointer data)
{
  Process *process = data;

  g_ptr_array_unref (process->threads);
  g_free (process->pid);
  g_free (process->failure);
  g_free (process);
}

static void
contender_free (gpointer data)
{
  Contender *contender = data;

  g_free (contender->node);
  g_free (contender);
}

Scene *
scene_new (const char *connect, const char *path)
{
  Scene *scene = g_new0 (Scene, 1);

  scene->connect = g_strdup (connect);
  scene->path = g_strdup (path);
  scene->processes = g_ptr_array_new_with_free_func (process_free);
  scene->contenders = g_ptr_array_new_with_free_func (contender_free);
  scene->check = hold_check_new ();
  scene->granted = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  scene->created_ns = scene_now_ns ();
  return scene;
}

void
scene_free (Scene *scene)
{
  g_ptr_array_unref (scene->processes);
  g_ptr_array_unref (scene->contenders);
  hold_check_free (scene->check);
  g_hash_table_unref (scene->granted);
  g_free (scene->connect);
  g_free (scene->path);
  g_free (scene);
}

Process *
scene_add_process (Scene *scene, Language language, guint n_threads)
{
  Process *process = g_new0 (Process, 1);

  process->language = language;
  process->threads = g_ptr_array_new ();
  g_ptr_array_add (scene->processes, process);
  for (guint i = 0; i < n_threads; i++)
    {
      Contender *contender = g_new0 (Contender, 1);

      contender->process = process;
      contender->index = scene->contenders->len;
      contender->number = i + 1;
      g_ptr_array_add (scene->contenders, contender);
      g_ptr_array_add (process->threads, contender);
    }
  return process;
}

void
process_fail (Process *process, const char *format, ...)
{
  va_list args;

  /* Keep the first failure, which explains later ones. */
  if (process->failure == NULL)
    {
      va_start (args, format);
      process->failure = g_strdup_vprintf (format, args);
      va_end (args);
    }
}

static void
set_node (Contender *contender, const char *node, guint64 token)
{
  if (g_strcmp0 (contender->node, node) != 0)
    {
      g_free (contender->node);
      contender->node = g_strdup (node);
    }
  contender->token = token;
}

static void
apply_queued (Contender *contender, const WorkerEvent *event)
{
  contender->state = CONTENDER_WAITS;
  contender->queued_ns = event->time_ns;
  contender->process->began = TRUE;
}

static void
apply_granted (Scene *scene, Contender *contender, const WorkerEvent *event)
{
  contender->state = CONTENDER_HOLDS;
  contender->granted_ns = event->time_ns;
  set_node (contender, event->text, event->token);
  g_hash_table_add (scene->granted, g_strdup (event->text));
  scene->grants[contender->process->language]++;
}

static void
apply_released (Scene *scene, Contender *contender, const WorkerEvent *event)
{
  HoldRecord hold = { .owner = contender->index,
                      .queued_ns = contender->queued_ns,
                      .granted_ns = contender->granted_ns,
                      .released_ns = event->time_ns,
                      .token = contender->token };

  hold_check_add (scene->check, &hold);
  contender->state = CONTENDER_RESTS;
  set_node (contender, NULL, 0);
}

/* Whether the event may follow in the state of the contender. */
static gboolean
is_expected (const Contender *contender, WorkerEventType type)
{
  switch (type)
    {
    case WORKER_QUEUED:
      return contender->state == CONTENDER_RESTS;
    case WORKER_GRANTED:
      return contender->state == CONTENDER_WAITS;
    case WORKER_RELEASED:
      return contender->state == CONTENDER_HOLDS;
    case WORKER_DONE:
    case WORKER_ERROR:
      break;
    }
  return FALSE;
}

Contender *
scene_apply (Scene *scene, Process *process, const WorkerEvent *event)
{
  if (event->type == WORKER_DONE)
    {
      process->done = TRUE;
      return NULL;
    }
  if (event->type == WORKER_ERROR)
    {
      process_fail (process, "%s", event->text);
      return NULL;
    }
  Contender *contender = event->thread <= process->threads->len
                             ? g_ptr_array_index (process->threads, event->thread - 1)
                             : NULL;
  if (contender == NULL || !is_expected (contender, event->type))
    {
      process_fail (process, "printed an unexpected event of thread %u", event->thread);
      return NULL;
    }
  if (event->type == WORKER_QUEUED)
    apply_queued (contender, event);
  else if (event->type == WORKER_GRANTED)
    apply_granted (scene, contender, event);
  else
    apply_released (scene, contender, event);
  return contender;
}

static void
learn_sessions (Scene *scene, GPtrArray *queue)
{
  for (guint i = 0; i < queue->len; i++)
    {
      const QueueNode *node = g_ptr_array_index (queue, i);

      for (guint j = 0; j < scene->contenders->len; j++)
        {
          Contender *contender = g_ptr_array_index (scene->contenders, j);

          if (contender->state == CONTENDER_HOLDS && g_str_equal (contender->node, node->name))
            contender->process->session = node->session;
        }
    }
}

static int
compare_queued (gconstpointer a, gconstpointer b)
{
  const Contender *left = *(Contender *const *) a;
  const Contender *right = *(Contender *const *) b;

  return (left->queued_ns > right->queued_ns) - (left->queued_ns < right->queued_ns);
}

static void
place_waiters_of (Scene *scene, Process *process, GPtrArray *queue)
{
  g_autoptr (GPtrArray) waiters = g_ptr_array_new ();
  guint next = 0;

  for (guint i = 0; i < process->threads->len; i++)
    {
      Contender *contender = g_ptr_array_index (process->threads, i);

      if (contender->state == CONTENDER_WAITS)
        {
          set_node (contender, NULL, 0);
          g_ptr_array_add (waiters, contender);
        }
    }
  g_ptr_array_sort (waiters, compare_queued);
  for (guint i = 0; i < queue->len && next < waiters->len; i++)
    {
      const QueueNode *node = g_ptr_array_index (queue, i);

      /* The queue may be out of date: a granted node belongs to no waiter. */
      if (node->session == process->session && !g_hash_table_contains (scene->granted, node->name))
        set_node (g_ptr_array_index (waiters, next++), node->name, node->token);
    }
}

void
scene_place_waiters (Scene *scene, GPtrArray *queue)
{
  learn_sessions (scene, queue);
  for (guint i = 0; i < scene->processes->len; i++)
    {
      Process *process = g_ptr_array_index (scene->processes, i);

      if (process->session != 0)
        place_waiters_of (scene, process, queue);
    }
}

static guint64
rank (const Contender *contender)
{
  switch (contender->state)
    {
    case CONTENDER_HOLDS:
      return 0;
    case CONTENDER_WAITS:
      return contender->token != 0 ? contender->token : G_MAXUINT64 - 1;
    case CONTENDER_RESTS:
      break;
    }
  return G_MAXUINT64;
}

static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  const Contender *left = *(Contender *const *) a;
  const Contender *right = *(Contender *const *) b;
  guint64 ranks[2] = { rank (left), rank (right) };

  if (ranks[0] != ranks[1])
    return ranks[0] < ranks[1] ? -1 : 1;
  if (left->state == CONTENDER_WAITS && left->queued_ns != right->queued_ns)
    return left->queued_ns < right->queued_ns ? -1 : 1;
  return left->index < right->index ? -1 : 1;
}

GPtrArray *
scene_ranking (Scene *scene)
{
  GPtrArray *ranking = g_ptr_array_new ();

  for (guint i = 0; i < scene->contenders->len; i++)
    g_ptr_array_add (ranking, g_ptr_array_index (scene->contenders, i));
  g_ptr_array_sort (ranking, compare_ranks);
  return ranking;
}

gboolean
scene_all_began (Scene *scene)
{
  for (guint i = 0; i < scene->processes->len; i++)
    {
      if (!((Process *) g_ptr_array_index (scene->processes, i))->began)
        return FALSE;
    }
  return TRUE;
}

gboolean
scene_all_done (Scene *scene)
{
  for (guint i = 0; i < scene->processes->len; i++)
    {
      if (!((Process *) g_ptr_array_index (scene->processes, i))->done)
        return FALSE;
    }
  return TRUE;
}
