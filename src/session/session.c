/* The record of one session: its references and its hooks.
 *
 * Mirrors HandleHolder. Threads: any; guarded by the client's mutex. session_states.c and
 * session_close.c change the session's state.
 */
#include "session/session.h"

#include "core/client-record.h"
#include "core/monitor.h"

CuratorSession *
curator_session_ref (CuratorSession *session)
{
  curator_refs_inc (&session->refs);
  return session;
}

void
curator_session_unref (CuratorSession *session)
{
  curator_not_shared ();
  if (curator_refs_dec (&session->refs)) {
    g_assert (session->handle == NULL);
    g_free (session->server);
    g_hash_table_unref (session->watches);
    curator_attached_free (session->attached);
    curator_client_memory_unref (session->client);
    g_free (session);
  }
}

void
curator_session_add_hook (CuratorSession *session, CuratorSessionHook *hook)
{
  curator_link_place (&hook->place, &session->hooks, hook);
  hook->session = session;
}

void
curator_session_remove_hook (CuratorSessionHook *hook)
{
  curator_link_place (&hook->place, NULL, hook);
  hook->session = NULL;
}

gboolean
curator_client_is_connected (CuratorClient *client)
{
  return client->session != NULL && client->session->state == CURATOR_SESSION_CONNECTED;
}
