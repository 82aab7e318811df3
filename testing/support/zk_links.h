/* The links between the members of an ensemble, controlled by the test.
 *
 * Each ordered pair of members has a proxy on its quorum port and one on its election port, through
 * which the first one reaches the second. All traffic between members passes through these.
 */
#pragma once

#include "proxy.h"

typedef struct _ZkLinks ZkLinks;

/* quorum, election: the n members' own addresses, "host:port". */
ZkLinks *zk_links_new (int n, const char *const *quorum, const char *const *election);
void zk_links_free (ZkLinks *links); /* NULL is allowed */

/* The address at which a member finds another: "host:quorum port:election port". */
const char *zk_links_peer (ZkLinks *links, int from, int to);

/* Sets the mode of all traffic between two members: PROXY_HOLE is silence, PROXY_REFUSE resets. */
void zk_links_set (ZkLinks *links, int a, int b, ProxyMode mode);
/* The same between one member and all others. */
void zk_links_set_all (ZkLinks *links, int a, ProxyMode mode);
/* Drops the traffic from one member to the other, but not the other way. */
void zk_links_mute (ZkLinks *links, int from, int to);
/* A leader's followers lose it at once, while it sees only silence. */
void zk_links_depose (ZkLinks *links, int leader);
void zk_links_delay (ZkLinks *links, int a, int b, int ms);
void zk_links_heal (ZkLinks *links);
