/* wait: until a lock is free. */
#include "views/wait.h"

#include "base/outcome.h"
#include "views/views.h"
#include "views/who.h"

/* Quick at first, for a lock that is about to be free. */
#define FIRST_PAUSE_MS 20
#define LAST_PAUSE_MS  500

static int
report_timeout (const Options *options, CuratorInspection *inspection)
{
  const CuratorParticipant *first = curator_inspection_get_participant (inspection, 0);
  g_autofree char *label = first != NULL ? who_label (first) : g_strdup ("somebody");

  print_error (options->paths[0], "still %s by %s",
               curator_inspection_get_n_holders (inspection) > 0 ? "held" : "used", label);
  return options->conflict_code;
}

int
wait_until (const Options *options, CuratorClient *client, WaitCondition condition, gpointer data)
{
  for (gint64 pause_ms = FIRST_PAUSE_MS;; pause_ms = MIN (2 * pause_ms, LAST_PAUSE_MS)) {
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorInspection) inspection = curator_client_inspect (
        client, options->paths[0], outcome_answer_ms (options, options->connect_timeout_ms), NULL,
        &error);
    if (inspection == NULL)
      return fail_with (options, error);
    if (condition (client, inspection, data))
      return 0;
    const gint64 left_ms = outcome_left_ms (options);
    if (options->wait_ms == 0 || left_ms <= 0)
      return report_timeout (options, inspection);
    g_usleep ((gulong) MIN (pause_ms, left_ms) * 1000);
  }
}

static gboolean
is_free (CuratorClient *client, CuratorInspection *inspection, gpointer data)
{
  return who_is_free (inspection);
}

int
wait_run (const Options *options, CuratorClient *client)
{
  return wait_until (options, client, is_free, NULL);
}
