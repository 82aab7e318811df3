#include "zk_links.h"

#include "zk_address.h"

#include <string.h>

typedef struct
{
  Proxy *quorum;
  Proxy *election;
  char *peer;
} Link;

struct _ZkLinks
{
  int n;
  Link *links; /* from * n + to */
};

static Link *
link_of (ZkLinks *links, int from, int to)
{
  return &links->links[from * links->n + to];
}

static void
open_link (Link *link, const char *quorum, const char *election)
{
  g_autofree char *host = zk_server_new_host ();
  link->quorum = proxy_new_raw (quorum, host);
  link->election = proxy_new_raw (election, host);
  link->peer = g_strdup_printf ("%s%s", proxy_address (link->quorum),
                                strchr (proxy_address (link->election), ':'));
}

ZkLinks *
zk_links_new (int n, const char *const *quorum, const char *const *election)
{
  ZkLinks *links = g_new0 (ZkLinks, 1);
  links->n = n;
  links->links = g_new0 (Link, (gsize) (n * n));
  for (int i = 0; i < n * n; i++)
    if (i / n != i % n)
      open_link (&links->links[i], quorum[i % n], election[i % n]);
  for (int i = 0; i < n * n; i++) {
    if (i / n != i % n) {
      proxy_set_call_back (links->links[i].election,
                           proxy_address (link_of (links, i % n, i / n)->election));
    }
  }
  return links;
}

void
zk_links_free (ZkLinks *links)
{
  if (links != NULL) {
    for (int i = 0; i < links->n * links->n; i++) {
      proxy_free (links->links[i].quorum);
      proxy_free (links->links[i].election);
      g_free (links->links[i].peer);
    }
    g_free (links->links);
    g_free (links);
  }
}

const char *
zk_links_peer (ZkLinks *links, int from, int to)
{
  return link_of (links, from, to)->peer;
}

static void
set_one (ZkLinks *links, int from, int to, ProxyMode mode)
{
  proxy_set_mode (link_of (links, from, to)->quorum, mode);
  proxy_set_mode (link_of (links, from, to)->election, mode);
}

void
zk_links_set (ZkLinks *links, int a, int b, ProxyMode mode)
{
  set_one (links, a, b, mode);
  set_one (links, b, a, mode);
}

void
zk_links_set_all (ZkLinks *links, int a, ProxyMode mode)
{
  for (int b = 0; b < links->n; b++)
    if (b != a)
      zk_links_set (links, a, b, mode);
}

void
zk_links_mute (ZkLinks *links, int from, int to)
{
  set_one (links, from, to, PROXY_HOLE_TO_SERVER);
  set_one (links, to, from, PROXY_HOLE_TO_CLIENT);
}

void
zk_links_depose (ZkLinks *links, int leader)
{
  for (int i = 0; i < links->n; i++) {
    if (i != leader) {
      set_one (links, leader, i, PROXY_HOLE);
      set_one (links, i, leader, PROXY_DESERT);
    }
  }
}

static void
delay_one (ZkLinks *links, int from, int to, int ms)
{
  proxy_set_delay (link_of (links, from, to)->quorum, ms, ms);
  proxy_set_delay (link_of (links, from, to)->election, ms, ms);
}

void
zk_links_delay (ZkLinks *links, int a, int b, int ms)
{
  delay_one (links, a, b, ms);
  delay_one (links, b, a, ms);
}

void
zk_links_heal (ZkLinks *links)
{
  for (int a = 0; a < links->n; a++) {
    for (int b = 0; b < a; b++) {
      zk_links_delay (links, a, b, 0);
      zk_links_set (links, a, b, PROXY_PASS);
    }
  }
}
