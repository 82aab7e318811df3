/* The servers of a secured connection: their names, addresses and order.
 *
 * Mirrors StaticHostProvider. Used by one thread; no lock. The order is shuffled once. A name is
 * resolved when its turn comes, and again each time, by the caller.
 */
#ifndef CURATOR_ENDPOINTS_H
#define CURATOR_ENDPOINTS_H

#include "base/lookup.h"

#include <glib.h>

typedef struct _CuratorEndpoints CuratorEndpoints;

/* hosts: of CuratorHostPort (base/connect_string.h). */
CuratorEndpoints *curator_endpoints_new (GPtrArray *hosts);
void curator_endpoints_free (CuratorEndpoints *endpoints);

/* The host whose turn it is. */
const char *curator_endpoints_host (CuratorEndpoints *endpoints);
guint16 curator_endpoints_port (CuratorEndpoints *endpoints);

/* The address whose turn it is, borrowed. NULL: the host has to be resolved first. */
const CuratorAddress *curator_endpoints_address (CuratorEndpoints *endpoints);
/* addresses: of CuratorAddress, at least one; transfer full. */
void curator_endpoints_set_addresses (CuratorEndpoints *endpoints, GPtrArray *addresses);

/* The addresses that were set last for this host. FALSE: there are none. */
gboolean curator_endpoints_recall_addresses (CuratorEndpoints *endpoints);

/* On to the next address of this host, or to the next host. TRUE if every host had its turn since the
 * last call of curator_endpoints_start_round(). */
gboolean curator_endpoints_advance (CuratorEndpoints *endpoints);
void curator_endpoints_start_round (CuratorEndpoints *endpoints);

/* The time that one server has for an answer. libzookeeper itself leaves after 2/3 of the timeout. */
gint64 curator_endpoints_patience_us (CuratorEndpoints *endpoints, gint32 timeout_ms);
/* The time that the name servers have: less if some host has an address already. The look-up goes on
 * afterwards. */
gint64 curator_endpoints_look_up_us (CuratorEndpoints *endpoints, gint32 timeout_ms);
/* The pause after that many rounds without an answer. */
gint64 curator_endpoints_pause_us (guint n_rounds, gint32 timeout_ms);

#endif
