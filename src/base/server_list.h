/* The servers of a client, with the addresses that their names had last.
 *
 * Mirrors the list of StaticHostProvider. Pure, no lock: the owner's lock guards a list.
 */
#pragma once

#include "base/address.h"

#include <glib.h>

typedef struct
{
  char *host;
  guint16 port;
  gboolean is_numeric;  /* the host is an address */
  GPtrArray *addresses; /* of CuratorAddress, each once, sorted; empty: none known */
  GPtrArray *former;    /* those before, if others */
  char *why;            /* why the last look-up has found none; or NULL */
} CuratorServer;

/* hosts: of CuratorHostPort. An array of CuratorServer: only addresses are known yet. */
GPtrArray *curator_servers_new (GPtrArray *hosts);
/* with_former: the former addresses count as addresses. */
GPtrArray *curator_servers_copy (GPtrArray *servers, gboolean with_former);
/* What is known of a name is taken over from an older list. */
void curator_servers_inherit (GPtrArray *servers, GPtrArray *older);
/* The same servers, in the same order, with the same addresses. */
gboolean curator_servers_equal (GPtrArray *servers, GPtrArray *others);
gboolean curator_servers_have_names (GPtrArray *servers);

/* A look-up has ended. addresses: sorted, with any port. If there are none the server keeps those
 * it had, and why says why. */
void curator_server_resolved (CuratorServer *server, GPtrArray *addresses, const char *why);

/* Of all servers: CuratorAddress, each once. */
GPtrArray *curator_servers_dup_addresses (GPtrArray *servers);
/* "host:port" of the server that has this address, or "address:port". */
char *curator_servers_dup_name_of (GPtrArray *servers, const CuratorAddress *address);
/* "address:port,…" for libzookeeper, whose IPv6 addresses have no brackets, with an odd number of
 * entries: of an even one it would try every other only. NULL if none is known. */
char *curator_servers_join (GPtrArray *servers);
guint curator_servers_n_addresses (GPtrArray *servers);
/* Why no address is known: "name: cause", of the first name. */
char *curator_servers_dup_why (GPtrArray *servers);
