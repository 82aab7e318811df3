/* Whom a lock was not granted for. */
#include "conflict.h"

#include "base/json.h"
#include "base/outcome.h"
#include "base/status.h"
#include "kinds.h"
#include "output/text.h"

#define READ_MS 2000 /* the answer to whoever waits for the exit code comes first */

void
conflict_report (const Options *options, CuratorClient *client)
{
  if (!options->verbose && !options->syslog && !status_is_wanted ()
      && options->mode != MODE_SEMAPHORE)
    return;
  /* The first path that somebody holds. */
  g_autoptr (CuratorInspection) held = NULL;
  for (char **one = options->paths; held == NULL && *one != NULL; one++) {
    held = curator_client_inspect (client, *one, outcome_answer_ms (options, READ_MS), NULL, NULL);
    if (held != NULL && curator_inspection_get_n_holders (held) == 0)
      g_clear_pointer (&held, curator_inspection_unref);
  }
  if (held != NULL)
    kinds_compare_counts (options, held);
  const char *path = options->paths[0];
  g_autofree char *text = g_strdup ("not granted: nobody is known to hold it any more");
  GString *event = status_begin ("conflict");
  if (held != NULL) {
    const CuratorParticipant *holder = curator_inspection_get_participant (held, 0);
    g_autofree char *label = text_label (curator_participant_get_data (holder));
    path = curator_inspection_get_path (held);
    json_string (event, "path", path, -1);
    json_string (event, "holder", label, -1);
    json_string (event, "node", curator_participant_get_node_path (holder), -1);
    json_int (event, "waiting", curator_inspection_get_n_waiting (held));
    g_free (text);
    text = g_strdup_printf ("not granted: held by %s", label);
  }
  status_send (event);
  if (options->verbose)
    print_note (path, "%s", text); /* goes to syslog, too */
  else
    log_note (path, "%s", text);
}
