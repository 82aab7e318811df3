#include "chaos_actors.h"

#include "security.h"

CuratorClient *
chaos_client_new (const ChaosProcess *process)
{
  return security_client_for (process->connect_string, process->session_ms, CHAOS_TICK_MS);
}

void
chaos_client_tell (CuratorClient *client, const char *what)
{
  g_autofree char *metrics = curator_client_format_metrics (client);
  g_printerr ("client %s: session 0x%" G_GINT64_MODIFIER "x, state %d\n%s\n", what,
              curator_client_get_session_id (client),
              (int) curator_client_get_connection_state (client), metrics);
}

gboolean
chaos_is_chosen (const ChaosProcess *process, ChaosKind kind)
{
  return (shared_get (&process->cells->chosen) & (1U << kind)) != 0;
}
