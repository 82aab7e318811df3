/* Parses and checks connect strings: "host:port,host/chroot" or
 * "tls://host:port,tls://host/chroot".
 *
 * Mirrors ZooKeeper's ConnectStringParser. libzookeeper's own parser refuses the Java form of IPv6
 * addresses and explains nothing, so it only gets what was parsed here. Threads: any; pure, no
 * lock.
 */
#pragma once

#include <glib.h>

#define CURATOR_DEFAULT_PORT 2181
/* With TLS. */
#define CURATOR_DEFAULT_SECURE_PORT 2281

typedef struct
{
  char *host; /* a name, an IPv4 address, or an IPv6 address without brackets */
  guint16 port;
  gboolean has_port; /* FALSE: port is the default */
} CuratorHostPort;

typedef struct
{
  GPtrArray *hosts; /* of CuratorHostPort, in the order given; at least one */
  char *chroot;     /* "/app", or NULL */
  gboolean is_tls;  /* every server is written "tls://" */
} CuratorConnectString;

/* Accepts "name:2181", "10.0.0.1:2181" and "[::1]:2181"; the port is optional. "::1:2181" is
 * refused: it is an address as well. Spaces around servers are ignored. "tls://" stands before
 * every server or before none. NULL with CURATOR_ERROR_INVALID_ARGUMENT. */
CuratorConnectString *curator_connect_string_parse (const char *connect_string, GError **error);

void curator_connect_string_free (CuratorConnectString *parsed);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorConnectString, curator_connect_string_free)
