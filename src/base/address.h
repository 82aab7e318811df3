/* The address of a server: one type, one writer, one reader.
 *
 * Mirrors InetSocketAddress. Threads: any; pure, no lock.
 */
#pragma once

#include <glib.h>
#include <sys/socket.h>

/* What the system leaves open is 0, so equal addresses have equal bytes. */
typedef struct
{
  struct sockaddr_storage name;
  gsize length; /* no bytes between the members */
} CuratorAddress;

/* name: of the C library. */
CuratorAddress curator_address_new (gconstpointer name, socklen_t length);
/* A host that is an IPv4 address, or an IPv6 address without brackets. FALSE: it is a name. */
gboolean curator_address_of_host (const char *host, guint16 port, CuratorAddress *address);
/* "127.0.0.1:2181", "[::1]:2181" or, as libzookeeper takes it, "::1:2181". */
gboolean curator_address_read (const char *text, CuratorAddress *address);

/* "127.0.0.1:2181" or "[::1]:2181" */
char *curator_address_write (const CuratorAddress *address);
/* The same for a host that may be a name. */
char *curator_address_join (const char *host, const char *port);
/* Without the port and without brackets. */
char *curator_address_dup_host (const CuratorAddress *address);
guint16 curator_address_port (const CuratorAddress *address);
void curator_address_set_port (CuratorAddress *address, guint16 port);

gboolean curator_address_equal (gconstpointer one, gconstpointer other);
/* For g_ptr_array_sort(). */
int curator_address_compare (gconstpointer one, gconstpointer other);
/* Adds a copy to an array with free function g_free, unless it is there. */
void curator_address_add_once (GPtrArray *addresses, const CuratorAddress *address);
