/* Whom a lock was not granted for. */
#include "conflict.h"

#include "base/json.h"
#include "base/outcome.h"
#include "base/status.h"
#include "kinds.h"
#include "output/text.h"

#define READ_MS 2000 /* the answer to whoever waits for the exit code comes first */

/* The first path that somebody holds. */
static CuratorInspection *
find_held (const Options *options, CuratorClient *client)
{
  for (char **path = options->paths; *path != NULL; path++) {
    g_autoptr (CuratorInspection) one = curator_client_inspect (client, *path, READ_MS, NULL, NULL);
    if (one != NULL && curator_inspection_get_n_holders (one) > 0)
      return g_steal_pointer (&one);
  }
  return NULL;
}

void
conflict_report (const Options *options, CuratorClient *client)
{
  if (!options->verbose && !options->syslog && !status_is_wanted ()
      && options->mode != MODE_SEMAPHORE)
    return;
  g_autoptr (CuratorInspection) held = find_held (options, client);
  if (held != NULL)
    kinds_compare_counts (options, held);
  const CuratorParticipant *holder =
      held != NULL ? curator_inspection_get_participant (held, 0) : NULL;
  g_autofree char *label =
      holder != NULL ? text_label (curator_participant_get_data (holder)) : NULL;
  GString *event = status_begin ("conflict");

  if (holder != NULL) {
    json_string (event, "path", curator_inspection_get_path (held), -1);
    json_string (event, "holder", label, -1);
    json_string (event, "node", curator_participant_get_node_path (holder), -1);
    json_int (event, "waiting", curator_inspection_get_n_waiting (held));
  }
  status_send (event);
  const char *path = held != NULL ? curator_inspection_get_path (held) : options->paths[0];
  g_autofree char *text = label != NULL
                              ? g_strdup_printf ("not granted: held by %s", label)
                              : g_strdup ("not granted: nobody is known to hold it any more");
  if (options->verbose)
    print_note (path, "%s", text); /* goes to syslog, too */
  else
    log_note (path, "%s", text);
}
