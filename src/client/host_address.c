/* Looks up this host's address, the default payload of lock nodes.
 *
 * Mirrors InetAddress.getLocalHost(). Threads: a detached one for each client, which owns a memory
 * reference of it. A resolver may take many seconds, and neither start nor close waits for it.
 */
#include "client/host_address.h"

#include "base/fork_gate.h"
#include "base/lookup.h"
#include "base/thread_start.h"
#include "base/threads.h"
#include "client/session_servers.h"
#include "core/monitor.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* NULL if this host's name has no address. */
static GBytes *
host_address (void)
{
  char name[256] = "";
  char text[NI_MAXHOST] = "";
  const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
  struct addrinfo *found = NULL;

  if (gethostname (name, sizeof name - 1) != 0)
    return NULL;
  curator_lookup_enter (CURATOR_LOOKUP_BY_US);
  const int failed = getaddrinfo (name, NULL, &hints, &found);
  curator_lookup_leave (CURATOR_LOOKUP_BY_US);
  if (failed != 0)
    return NULL;
  getnameinfo (found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
  freeaddrinfo (found);
  CURATOR_INSIDE_GATE;
  return g_bytes_new (text, strlen (text));
}

static CURATOR_LOCKED void
store (CuratorClient *client, GBytes *address)
{
  if (address != NULL) {
    g_bytes_unref (client->default_data);
    client->default_data = address;
  }
}

static CURATOR_UNLOCKED void *
look_up (void *data)
{
  CuratorClient *client = data;
  GBytes *address = host_address ();
  const CuratorThreadRole before = curator_thread_change_role (client, TRUE);

  curator_client_lock (client);
  store (client, address);
  client->opening.address_pending = FALSE;
  curator_session_servers_hurry (client);
  curator_client_unlock (client);
  curator_client_memory_unref (client);
  curator_thread_change_role (before.client, before.is_ours);
  return NULL;
}

/* Without a thread to be had, the host's name stays the payload. */
void
curator_host_address_look_up (CuratorClient *client)
{
  if (!client->settings.wants_address)
    return;
  if (!client->ops->threads) {
    store (client, host_address ());
    return;
  }
  curator_client_memory_ref (client);
  client->opening.address_pending =
      curator_thread_start_detached ("curator-host", look_up, client) == 0;
  if (!client->opening.address_pending)
    curator_client_memory_unref (client);
}
