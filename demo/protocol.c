/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol.h"

static const struct
{
  const char *word;
  WorkerEventType type;
  guint n_words;
} grammar[] = {
  { "QUEUED", WORKER_QUEUED, 3 },
  { "GRANTED", WORKER_GRANTED, 5 },
  { "RELEASED", WORKER_RELEASED, 3 },
  { "DONE", WORKER_DONE, 1 },
};

gboolean
worker_event_parse (const char *line, WorkerEvent *event)
{
  g_auto (GStrv) words = g_strsplit (line, " ", -1);
  const guint n = g_strv_length (words);
  guint64 thread = 0;
  gsize i = 0;

  *event = (WorkerEvent){ .type = WORKER_ERROR };
  if (g_str_has_prefix (line, "ERROR ")) {
    event->text = g_strdup (line + strlen ("ERROR "));
    return TRUE;
  }
  while (i < G_N_ELEMENTS (grammar)
         && (n != grammar[i].n_words || !g_str_equal (words[0], grammar[i].word)))
    i++;
  if (i == G_N_ELEMENTS (grammar)
      || (n > 1 && !g_ascii_string_to_unsigned (words[1], 10, 1, G_MAXUINT, &thread, NULL))
      || (n > 1 && !g_ascii_string_to_signed (words[2], 10, 0, G_MAXINT64, &event->time_ns, NULL))
      || (n > 3 && !g_ascii_string_to_unsigned (words[4], 10, 1, G_MAXUINT64, &event->token, NULL)))
    return FALSE;
  event->type = grammar[i].type;
  event->thread = (guint) thread;
  event->text = n > 3 ? g_strdup (words[3]) : NULL;
  return TRUE;
}

void
worker_event_clear (WorkerEvent *event)
{
  g_clear_pointer (&event->text, g_free);
}
