/* tree: every lock at or below a path, one line each. */
#include "views/views.h"

#include "base/json.h"
#include "base/outcome.h"
#include "output/text.h"
#include "views/who.h"

#include <stdio.h>

#define KIND_WIDTH  10
#define COUNT_WIDTH 7
#define MIN_PATH    10
#define MIN_HOLDER  20

static void
append_line (GString *out, CuratorClient *client, const CuratorInspection *inspection,
             int path_width, int holder_width)
{
  g_autofree char *path = who_path (inspection);
  g_autofree char *waiting = g_strdup_printf ("%u", curator_inspection_get_n_waiting (inspection));

  text_fit_end (out, path, path_width);
  g_string_append (out, "  ");
  text_fit (out, curator_lock_kind_to_string (curator_inspection_get_kind (inspection)), KIND_WIDTH,
            FALSE);
  g_string_append (out, "  ");
  text_fit (out, waiting, COUNT_WIDTH, TRUE);
  g_autofree char *holders = who_holder (inspection, FALSE);
  g_string_append (out, "  ");
  text_fit (out, holders, MIN (holder_width, text_width (holders)), FALSE);
  g_string_append_c (out, '\n');
  g_autofree char *others = who_other_kinds (client, inspection);
  if (others != NULL)
    g_string_append_printf (out, "%s: %s\n", path, others);
}

static void
append_text (GString *out, CuratorClient *client, GPtrArray *found)
{
  const int terminal = text_terminal_width ();
  const int fixed = 2 + KIND_WIDTH + 2 + COUNT_WIDTH + 2;
  int width = text_width ("PATH");

  for (guint i = 0; i < found->len; i++) {
    g_autofree char *path = who_path (g_ptr_array_index (found, i));
    width = MAX (width, text_width (path));
  }
  const int room = MAX (terminal - fixed - MIN_HOLDER, MIN_PATH);
  width = terminal > 0 ? MIN (width, room) : width;
  const int holder_width = terminal > 0 ? MAX (terminal - fixed - width, 1) : G_MAXINT;
  if (found->len > 0) {
    text_fit (out, "PATH", width, FALSE);
    g_string_append_printf (out, "  %-*s  %*s  HELD BY\n", KIND_WIDTH, "KIND", COUNT_WIDTH,
                            "WAITING");
  }
  for (guint i = 0; i < found->len; i++)
    append_line (out, client, g_ptr_array_index (found, i), width, holder_width);
}

int
tree_run (const Options *options, CuratorClient *client)
{
  gboolean complete = TRUE;
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GPtrArray) found = curator_client_inspect_all (client, options->paths[0], NULL,
                                                            &complete, WALK_MS, NULL, &error);
  if (found == NULL)
    return fail_with (options, error);
  if (options->json) {
    json_begin (out, NULL, '[');
    for (guint i = 0; i < found->len; i++) {
      CuratorInspection *one = g_ptr_array_index (found, i);
      who_append_json (out, one, who_find_other_kinds (client, one));
    }
    json_end (out, ']');
    g_string_append_c (out, '\n');
  } else if (options->only_paths) {
    for (guint i = 0; i < found->len; i++) {
      g_autofree char *path = who_path (g_ptr_array_index (found, i));
      g_string_append_printf (out, "%s\n", path);
    }
  } else {
    append_text (out, client, found);
  }
  fputs (out->str, stdout);
  if (!complete)
    print_error (options->paths[0], "not everything below it could be read");
  return 0;
}
