/* revoke: asks the holders of a lock to release it. Each holder decides for itself. */
#include "views/views.h"

#include "base/outcome.h"
#include "output/text.h"
#include "views/wait.h"

#include <string.h>

#define REVOKE_MESSAGE "__REVOKE__"

/* The node of a revocable hold is empty until the first request, with Curator too. Other payloads
 * are labels: nothing reads a request there, and it would replace the label. */
static gboolean
is_revocable (const CuratorParticipant *one)
{
  gsize length;
  const char *payload = g_bytes_get_data (curator_participant_get_data (one), &length);

  return !curator_participant_is_readable (one) || length == 0
         || (length == strlen (REVOKE_MESSAGE) && memcmp (payload, REVOKE_MESSAGE, length) == 0);
}

/* data: GPtrArray of the nodes that were asked. */
static gboolean
have_let_go (CuratorClient *client, CuratorInspection *inspection, gpointer data)
{
  for (guint i = 0; i < curator_inspection_get_n_participants (inspection); i++) {
    const CuratorParticipant *one = curator_inspection_get_participant (inspection, i);
    if (g_ptr_array_find_with_equal_func (data, curator_participant_get_node_path (one),
                                          g_str_equal, NULL))
      return FALSE;
  }
  return TRUE;
}

int
revoke_run (const Options *options, CuratorClient *client)
{
  g_autoptr (GPtrArray) asked = g_ptr_array_new_with_free_func (g_free);
  guint holders = 0;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorInspection) inspection = curator_client_inspect (
      client, options->paths[0], outcome_answer_ms (options, options->connect_timeout_ms), NULL,
      &error);
  if (inspection == NULL)
    return fail_with (options, error);
  for (guint i = 0; i < curator_inspection_get_n_participants (inspection); i++) {
    const CuratorParticipant *one = curator_inspection_get_participant (inspection, i);
    if (!curator_participant_is_holder (one))
      continue;
    holders++;
    if (!is_revocable (one)) {
      g_autofree char *label = text_label (curator_participant_get_data (one));
      print_error (options->paths[0], "%s holds it and has not made it revocable: not asked",
                   label);
      continue;
    }
    const char *node = curator_participant_get_node_path (one);
    if (!curator_client_attempt_revoke (
            client, node, outcome_answer_ms (options, options->connect_timeout_ms), NULL, &error))
      return fail_with (options, error);
    g_autofree char *shown = curator_escape_name (node, -1);
    print_verbose (options, "asked %s", shown);
    g_ptr_array_add (asked, g_strdup (node));
  }
  if (holders == 0)
    print_error (options->paths[0], "nobody is known to hold it");
  if (asked->len == 0)
    return options->conflict_code;
  return options->waits ? wait_until (options, client, have_let_go, asked) : 0;
}
