#include "chaos_actors.h"

#include "security.h"
#include "support/waiting.h"

CuratorClient *
chaos_client_new (const char *connect_string, gint64 session_ms, int tick_ms)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
  CuratorClient *client = security_client_new (connect_string, policy);
  curator_client_set_session_timeout (client, session_ms);
  curator_client_set_connection_timeout (client, session_ms);
  curator_client_set_server_tick (client, tick_ms);
  return client;
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
chaos_actor_is_chosen (const ChaosActor *actor, ChaosKind kind)
{
  return (chaos_cell (&actor->cells->chosen) & (1U << kind)) != 0;
}

void
chaos_actor_wait (const ChaosActor *actor)
{
  while (chaos_cell (&actor->cells->phase) == CHAOS_CONNECT)
    wait_ms (5);
}

gboolean
chaos_actor_runs (const ChaosActor *actor)
{
  return chaos_cell (&actor->cells->phase) == CHAOS_RUN;
}
