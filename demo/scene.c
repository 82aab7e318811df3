/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <string.h>

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
begin_turn (Contender *contender, guint owner)
{
  contender->turn = (HoldRecord){ owner, G_MAXINT64, G_MAXINT64, G_MAXINT64, 0 };
}

void
scene_init (Scene *scene, const guint workers[N_LANGUAGES], guint n_threads)
{
  scene->n_threads = n_threads;
  scene->n_workers = workers[LANGUAGE_C] + workers[LANGUAGE_JAVA];
  scene->n_contenders = scene->n_workers * n_threads;
  scene->workers = g_new0 (Worker, scene->n_workers);
  scene->contenders = g_new0 (Contender, scene->n_contenders);
  scene->check = hold_check_new ();
  scene->granted = g_hash_table_new (g_str_hash, g_str_equal);
  scene->created_ns = scene_now_ns ();
  for (guint i = 0; i < scene->n_contenders; i++) {
    Worker *worker = &scene->workers[i / n_threads];

    worker->language = i / n_threads < workers[LANGUAGE_C] ? LANGUAGE_C : LANGUAGE_JAVA;
    worker->first = i - i % n_threads;
    scene->contenders[i] = (Contender){ .worker = worker, .number = i % n_threads + 1 };
    begin_turn (&scene->contenders[i], i);
  }
}

void
worker_fail (Worker *worker, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  if (worker->failure == NULL)
    worker->failure = g_strdup_vprintf (format, args);
  va_end (args);
}

static void
set_node (Contender *contender, const char *node, guint64 token)
{
  g_free (contender->node);
  contender->node = g_strdup (node);
  contender->turn.token = token;
}

static void
apply_turn (Scene *scene, Contender *contender, const WorkerEvent *event)
{
  HoldRecord *turn = &contender->turn;

  if (event->type == WORKER_QUEUED) {
    turn->queued_ns = event->time_ns;
    contender->worker->began = TRUE;
  } else if (event->type == WORKER_GRANTED) {
    turn->granted_ns = event->time_ns;
    g_hash_table_add (scene->granted, g_strdup (event->text));
    scene->grants[contender->worker->language]++;
  } else {
    turn->released_ns = event->time_ns;
    hold_check_add (scene->check, turn);
    begin_turn (contender, turn->owner);
  }
  set_node (contender, event->text, event->token);
}

const Contender *
scene_apply (Scene *scene, Worker *worker, const WorkerEvent *event)
{
  static const ContenderState before[] = { [WORKER_QUEUED] = CONTENDER_RESTS,
                                           [WORKER_GRANTED] = CONTENDER_WAITS,
                                           [WORKER_RELEASED] = CONTENDER_HOLDS };

  if (event->type == WORKER_DONE)
    worker->done = TRUE;
  if (event->type == WORKER_ERROR)
    worker_fail (worker, "%s", event->text);
  if (event->type == WORKER_DONE || event->type == WORKER_ERROR)
    return NULL;
  Contender *contender = event->thread <= scene->n_threads
                             ? &scene->contenders[worker->first + event->thread - 1]
                             : NULL;
  if (contender == NULL || contender->state != before[event->type]) {
    worker_fail (worker, "printed an unexpected event of thread %u", event->thread);
    return NULL;
  }
  contender->state = (contender->state + 1) % (CONTENDER_HOLDS + 1);
  apply_turn (scene, contender, event);
  return contender;
}

void
scene_place_waiters (Scene *scene, const CuratorInspection *queue)
{
  for (guint i = 0; i < scene->n_contenders; i++)
    if (scene->contenders[i].state == CONTENDER_WAITS)
      set_node (&scene->contenders[i], NULL, 0);
  for (guint i = 0; i < curator_inspection_get_n_participants (queue); i++) {
    const CuratorParticipant *node = curator_inspection_get_participant (queue, i);
    const char *name = strrchr (curator_participant_get_node_path (node), '/') + 1;
    const gint64 session = curator_participant_get_session_id (node);
    Contender *next = NULL;

    for (guint j = 0; j < scene->n_contenders; j++) {
      Contender *contender = &scene->contenders[j];

      if (contender->state == CONTENDER_HOLDS && g_str_equal (contender->node, name))
        contender->worker->session = session;
      if (contender->state == CONTENDER_WAITS && contender->node == NULL
          && contender->worker->session == session
          && (next == NULL || contender->turn.queued_ns < next->turn.queued_ns))
        next = contender;
    }
    /* The queue may be out of date: a granted node belongs to no waiter. */
    if (next != NULL && !g_hash_table_contains (scene->granted, name))
      set_node (next, name, curator_participant_get_token (node));
  }
}

gboolean
scene_all_began (const Scene *scene)
{
  gboolean all = TRUE;

  for (guint i = 0; i < scene->n_workers; i++)
    all = all && scene->workers[i].began;
  return all;
}

guint
scene_count (const Scene *scene, ContenderState state)
{
  guint n = 0;

  for (guint i = 0; i < scene->n_contenders; i++)
    n += scene->contenders[i].state == state;
  return n;
}
