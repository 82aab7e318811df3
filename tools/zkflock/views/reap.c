/* reap: deletes the lock nodes that no session owns, after showing them. */
#include "views/views.h"

#include "base/outcome.h"
#include "output/text.h"
#include "views/who.h"

#include <stdio.h>
#include <unistd.h>

#define LEFT_CODE 1 /* there are such nodes, and they were not deleted */

/* The participants without a session, borrowed from the inspections. *others: how many of them an
 * application may have created: their names are not those of Curator's recipes. */
static GPtrArray *
find_ownerless (GPtrArray *locks, guint *others)
{
  GPtrArray *found = g_ptr_array_new ();

  for (guint i = 0; i < locks->len; i++) {
    const CuratorInspection *lock = g_ptr_array_index (locks, i);
    for (guint k = 0; k < curator_inspection_get_n_participants (lock); k++) {
      const CuratorParticipant *one = curator_inspection_get_participant (lock, k);
      if (!curator_participant_is_readable (one) || curator_participant_get_session_id (one) != 0)
        continue;
      if (who_is_by_recipe (one)) {
        g_ptr_array_add (found, (gpointer) one);
      } else {
        g_autofree char *node = who_node_path (one);
        print_error (node, "no session owns it, and its name is none that Curator's recipes "
                           "give: it may be an application's, and is left alone");
        ++*others;
      }
    }
  }
  return found;
}

static gboolean
ask (guint n)
{
  char answer[16] = "";

  if (!isatty (STDIN_FILENO))
    return FALSE;
  fprintf (stderr, "Delete %s? [y/N] ", n == 1 ? "this node" : "these nodes");
  return fgets (answer, sizeof answer, stdin) != NULL && (*answer == 'y' || *answer == 'Y');
}

int
reap_run (const Options *options, CuratorClient *client)
{
  gboolean complete = TRUE;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) locks = curator_client_inspect_all (client, options->paths[0], NULL,
                                                            &complete, WALK_MS, NULL, &error);
  if (locks == NULL)
    return fail_with (options, error);
  guint others = 0;
  g_autoptr (GPtrArray) found = find_ownerless (locks, &others);
  for (guint i = 0; i < found->len; i++) {
    const CuratorParticipant *one = g_ptr_array_index (found, i);
    g_autofree char *node = who_node_path (one);
    g_autofree char *label = text_label (curator_participant_get_data (one));
    g_autofree char *age = text_age (curator_participant_get_age_ms (one));
    printf ("%s  %s  %s\n", node, label, age);
  }
  fflush (stdout);
  if (!complete)
    print_error (options->paths[0], "not everything below it could be read");
  if (found->len > 0 && !options->agreed && !ask (found->len)) {
    print_error (options->paths[0], "nothing was deleted; --yes deletes without a question");
    return LEFT_CODE;
  }
  for (guint i = 0; i < found->len; i++)
    if (!curator_client_delete_ownerless (client, g_ptr_array_index (found, i),
                                          CURATOR_WAIT_DEFAULT, NULL, &error))
      return fail_with (options, error);
  return others > 0 ? LEFT_CODE : 0;
}
