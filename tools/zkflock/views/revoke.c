/* revoke: asks the holders of a lock to release it. Each holder decides for itself. */
#include "views/views.h"

#include "base/connect.h"
#include "base/outcome.h"

int
revoke_run (const Options *options)
{
  int code = 0;
  guint asked = 0;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = connect_and_wait (options, &code);

  if (client == NULL)
    {
      return code;
    }
  g_autoptr (CuratorInspection) inspection = curator_inspect (client, options->paths[0], &error);
  if (inspection == NULL)
    {
      return fail_with (options, error);
    }
  for (guint i = 0; i < curator_inspection_get_n_participants (inspection); i++)
    {
      const CuratorParticipant *one = curator_inspection_get_participant (inspection, i);
      const char *node = curator_participant_get_node_path (one);
      if (!curator_participant_is_holder (one))
        {
          continue;
        }
      if (!curator_attempt_revoke (client, node, &error))
        {
          return fail_with (options, error);
        }
      g_autofree char *shown = curator_escape_name (node, -1);
      print_verbose (options, "asked %s", shown);
      asked++;
    }
  if (asked == 0)
    {
      print_error (options->paths[0], "nobody holds it");
      return options->conflict_code;
    }
  return 0;
}
