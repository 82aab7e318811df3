/* The servers of a secured connection: their names, addresses and order.
 *
 * Mirrors StaticHostProvider. Used by one thread; no lock. The order is shuffled for each list.
 * Names are looked up elsewhere: a list has the addresses that are known.
 */
#pragma once

#include "base/server_list.h"

#include <glib.h>

typedef struct _CuratorEndpoints CuratorEndpoints;

/* servers: of CuratorServer, at least one; copied. */
CuratorEndpoints *curator_endpoints_new (GPtrArray *servers);
void curator_endpoints_free (CuratorEndpoints *endpoints);

/* Another list; copied. FALSE: the address whose turn it was is not in it, and a new round begins.
 * TRUE: its turn goes on. */
gboolean curator_endpoints_update (CuratorEndpoints *endpoints, GPtrArray *servers);

/* The server whose turn it is, borrowed. */
const CuratorServer *curator_endpoints_server (CuratorEndpoints *endpoints);
/* The address whose turn it is, borrowed. NULL: none is known of the server. */
const CuratorAddress *curator_endpoints_address (CuratorEndpoints *endpoints);
/* Why none is known, borrowed. */
const char *curator_endpoints_why (CuratorEndpoints *endpoints);

/* On to the next address of this host, or to the next host. TRUE if every host had its turn since
 * the last call of curator_endpoints_start_round(). */
gboolean curator_endpoints_advance (CuratorEndpoints *endpoints);
void curator_endpoints_start_round (CuratorEndpoints *endpoints);

/* The time that one server has at most. libzookeeper itself leaves after 2/3 of the timeout. */
gint64 curator_endpoints_patience_us (CuratorEndpoints *endpoints, gint32 timeout_ms);
/* Of all hosts. */
guint curator_endpoints_n_addresses (CuratorEndpoints *endpoints);
/* The pause after that many rounds without an answer. */
gint64 curator_endpoints_pause_us (guint n_rounds, gint32 timeout_ms);
