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

static gboolean
parse_fields (char **words, guint n_words, WorkerEvent *event)
{
  guint64 value;

  if (n_words > 1)
    {
      if (!g_ascii_string_to_unsigned (words[1], 10, 1, G_MAXUINT, &value, NULL))
        return FALSE;
      event->thread = (guint) value;
      if (!g_ascii_string_to_signed (words[2], 10, 0, G_MAXINT64, &event->time_ns, NULL))
        return FALSE;
    }
  if (n_words > 3)
    {
      if (!g_ascii_string_to_unsigned (words[4], 10, 1, G_MAXUINT64, &event->token, NULL))
        return FALSE;
      event->text = g_strdup (words[3]);
    }
  return TRUE;
}

gboolean
worker_event_parse (const char *line, WorkerEvent *event)
{
  *event = (WorkerEvent){ .type = WORKER_ERROR };
  if (g_str_has_prefix (line, "ERROR "))
    {
      event->text = g_strdup (line + strlen ("ERROR "));
      return TRUE;
    }
  g_auto (GStrv) words = g_strsplit (line, " ", -1);
  for (guint i = 0; i < G_N_ELEMENTS (grammar); i++)
    {
      if (words[0] != NULL && g_str_equal (words[0], grammar[i].word)
          && g_strv_length (words) == grammar[i].n_words)
        {
          event->type = grammar[i].type;
          return parse_fields (words, grammar[i].n_words, event);
        }
    }
  return FALSE;
}

void
worker_event_clear (WorkerEvent *event)
{
  g_clear_pointer (&event->text, g_free);
}
