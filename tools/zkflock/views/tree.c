/* tree: every lock at or below a path, one line each. */
#include "views/views.h"

#include "base/connect.h"
#include "base/outcome.h"
#include "output/json.h"
#include "output/text.h"

#include <stdio.h>

#define KIND_WIDTH  10
#define COUNT_WIDTH 7

static void
unref_inspection (gpointer inspection)
{
  curator_inspection_unref (inspection);
}

GPtrArray *
inspect_below (CuratorClient *client, const char *path, gboolean *complete, GError **error)
{
  g_auto (GStrv) paths = curator_find_locks (client, path, 0, complete, error);
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (unref_inspection);

  if (paths == NULL)
    {
      return NULL;
    }
  for (char **one = paths; *one != NULL; one++)
    {
      g_autoptr (GError) local = NULL;
      CuratorInspection *inspection = curator_inspect (client, *one, &local);
      if (inspection != NULL)
        {
          g_ptr_array_add (found, inspection);
        }
      else if (g_error_matches (local, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return NULL;
        }
      else if (complete != NULL)
        {
          *complete = FALSE;
        }
    }
  return g_steal_pointer (&found);
}

static void
append_line (GString *out, const CuratorInspection *inspection, int path_width)
{
  const CuratorParticipant *first = curator_inspection_get_participant (inspection, 0);
  g_autofree char *path = curator_escape_name (curator_inspection_get_path (inspection), -1);
  g_autofree char *waiting = g_strdup_printf ("%u", curator_inspection_get_n_waiting (inspection));
  const guint n_holders = curator_inspection_get_n_holders (inspection);
  g_autofree char *label =
      n_holders > 0 ? text_label (curator_participant_get_data (first)) : g_strdup ("nobody");

  text_fit (out, path, path_width, FALSE);
  g_string_append (out, "  ");
  text_fit (out, curator_lock_kind_to_string (curator_inspection_get_kind (inspection)), KIND_WIDTH,
            FALSE);
  g_string_append (out, "  ");
  text_fit (out, waiting, COUNT_WIDTH, TRUE);
  g_string_append_printf (out, "  %s", label);
  if (n_holders > 1)
    {
      g_string_append_printf (out, " and %u more", n_holders - 1);
    }
  g_string_append_c (out, '\n');
}

static void
append_text (GString *out, GPtrArray *found)
{
  int width = text_width ("PATH");

  for (guint i = 0; i < found->len; i++)
    {
      g_autofree char *path =
          curator_escape_name (curator_inspection_get_path (g_ptr_array_index (found, i)), -1);
      width = MAX (width, text_width (path));
    }
  if (found->len > 0)
    {
      text_fit (out, "PATH", width, FALSE);
      g_string_append_printf (out, "  %-*s  %*s  HELD BY\n", KIND_WIDTH, "KIND", COUNT_WIDTH,
                              "WAITING");
    }
  for (guint i = 0; i < found->len; i++)
    {
      append_line (out, g_ptr_array_index (found, i), width);
    }
}

static void
append_paths (GString *out, GPtrArray *found)
{
  for (guint i = 0; i < found->len; i++)
    {
      g_autofree char *path =
          curator_escape_name (curator_inspection_get_path (g_ptr_array_index (found, i)), -1);
      g_string_append_printf (out, "%s\n", path);
    }
}

int
tree_run (const Options *options)
{
  int code = 0;
  gboolean complete = TRUE;
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (CuratorClient) client = connect_and_wait (options, &code);

  if (client == NULL)
    {
      return code;
    }
  g_autoptr (GPtrArray) found = inspect_below (client, options->paths[0], &complete, &error);
  if (found == NULL)
    {
      return fail_with (options, error);
    }
  if (options->json)
    {
      json_begin_array (out, NULL);
      for (guint i = 0; i < found->len; i++)
        {
          who_append_json (out, g_ptr_array_index (found, i));
        }
      json_end_array (out);
      g_string_append_c (out, '\n');
    }
  else if (options->only_paths)
    {
      append_paths (out, found);
    }
  else
    {
      append_text (out, found);
    }
  fputs (out->str, stdout);
  if (!complete)
    {
      print_error (options->paths[0], "not everything below it could be read");
    }
  return 0;
}
