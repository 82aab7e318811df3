/* A host name to its addresses; see lookup.c. */
#pragma once

#include "base/address.h"

#include <glib.h>
#include <netdb.h>

/* CuratorAddress, each once, with port 0. Empty: failed says why, for gai_strerror(). Blocks for as
 * long as the name servers do, up to minutes. */
GPtrArray *curator_lookup (const char *host, int *failed);

/* Whether libzookeeper can connect to that address: not if the host has addresses of the other family
 * only, loopback apart. Asks no name server. */
gboolean curator_lookup_takes (const char *number);

typedef enum
{
  CURATOR_LOOKUP_BY_US,
  CURATOR_LOOKUP_BY_LIBRARY, /* by libzookeeper's own thread */
  CURATOR_N_LOOKUPS
} CuratorLookupKind;

/* Makes fork() wait for look-ups; called before all else that fork() waits for. */
void curator_lookup_watch_forks (void);
/* getaddrinfo(), and whatever else calls it, is called between these two, of any thread. */
void curator_lookup_enter (CuratorLookupKind kind);
void curator_lookup_leave (CuratorLookupKind kind);
