/* A resolver in place of the C library's, for all libraries of the program: what the names
 * "zk-0.test" to "zk-2.test" mean, is said by the numbers below, which another process may change.
 * Other names are the C library's. connect () is replaced, too, and counts what goes to the absent
 * host. */
#pragma once

#include "support/net.h"

#define RESOLVER_NOBODY "127.255.255.1" /* where nobody is */

typedef enum
{
  RESOLVER_RIGHT,
  RESOLVER_SEVERAL, /* also addresses where nobody is */
  RESOLVER_UNKNOWN,
  RESOLVER_HANGS, /* there is no answer for half a minute */
  RESOLVER_WRONG  /* the address of another host */
} ResolverMode;

/* Addresses are IPv4, big-endian. */
typedef struct
{
  guint32 mode;
  guint32 hosts[3];
  guint32 wrong;
  guint32 absent; /* the host in the list of servers that does not serve; 0: there is none */
  guint32 dials;  /* of the processes to it, since these have been counted */
} ResolverNames;

/* Before the first look-up. */
void resolver_begin (ResolverNames *names);

/* Of "a.b.c.d:port". */
static inline guint32
resolver_host (const char *address)
{
  struct sockaddr_in name;
  net_parse (address, &name);
  return name.sin_addr.s_addr;
}
