/* The address of a server; see address.h. Threads: any; no lock. */
#include "base/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>

CuratorAddress
curator_address_new (gconstpointer name, socklen_t length)
{
  CuratorAddress address = { .length = length };

  memcpy (&address.name, name, length);
  return address;
}

/* Of an IPv6 address, too. */
static in_port_t *
port_of (CuratorAddress *address)
{
  G_STATIC_ASSERT (G_STRUCT_OFFSET (struct sockaddr_in, sin_port)
                   == G_STRUCT_OFFSET (struct sockaddr_in6, sin6_port));
  return &((struct sockaddr_in *) &address->name)->sin_port;
}

gboolean
curator_address_of_host (const char *host, guint16 port, CuratorAddress *address)
{
  struct sockaddr_in ipv4 = { .sin_family = AF_INET };
  struct sockaddr_in6 ipv6 = { .sin6_family = AF_INET6 };
  const char *zone = strchr (host, '%');
  g_autofree char *digits = g_strndup (host, strcspn (host, "%"));
  guint64 number = 0;

  if (zone != NULL && !g_ascii_string_to_unsigned (zone + 1, 10, 1, G_MAXUINT32, &number, NULL))
    number = if_nametoindex (zone + 1);
  ipv6.sin6_scope_id = (guint32) number;
  if (inet_pton (AF_INET, host, &ipv4.sin_addr) == 1)
    *address = curator_address_new (&ipv4, sizeof ipv4);
  else if (inet_pton (AF_INET6, digits, &ipv6.sin6_addr) == 1
           && (zone == NULL || ipv6.sin6_scope_id != 0))
    *address = curator_address_new (&ipv6, sizeof ipv6);
  else
    return FALSE;
  curator_address_set_port (address, port);
  return TRUE;
}

gboolean
curator_address_read (const char *text, CuratorAddress *address)
{
  const char *colon = strrchr (text, ':');
  guint64 port = 0;

  if (colon == NULL || !g_ascii_string_to_unsigned (colon + 1, 10, 0, G_MAXUINT16, &port, NULL))
    return FALSE;
  const gsize bracket = *text == '[' && colon[-1] == ']' ? 1 : 0;
  g_autofree char *host = g_strndup (text + bracket, (gsize) (colon - text) - 2 * bracket);
  return curator_address_of_host (host, (guint16) port, address);
}

char *
curator_address_dup_host (const CuratorAddress *address)
{
  char digits[NI_MAXHOST] = "";

  getnameinfo ((const struct sockaddr *) &address->name, address->length, digits, sizeof digits,
               NULL, 0, NI_NUMERICHOST);
  return g_strdup (digits);
}

guint16
curator_address_port (const CuratorAddress *address)
{
  CuratorAddress copy = *address;
  return ntohs (*port_of (&copy));
}

void
curator_address_set_port (CuratorAddress *address, guint16 port)
{
  *port_of (address) = htons (port);
}

char *
curator_address_join (const char *host, const char *port)
{
  return g_strdup_printf (strchr (host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
}

char *
curator_address_write (const CuratorAddress *address)
{
  g_autofree char *host = curator_address_dup_host (address);
  g_autofree char *port = g_strdup_printf ("%u", curator_address_port (address));
  return curator_address_join (host, port);
}

gboolean
curator_address_equal (gconstpointer one, gconstpointer other)
{
  return memcmp (one, other, sizeof (CuratorAddress)) == 0;
}

int
curator_address_compare (gconstpointer one, gconstpointer other)
{
  return memcmp (*(const gconstpointer *) one, *(const gconstpointer *) other,
                 sizeof (CuratorAddress));
}

void
curator_address_add_once (GPtrArray *addresses, const CuratorAddress *address)
{
  if (g_ptr_array_find_with_equal_func (addresses, address, curator_address_equal, NULL))
    return;
  CuratorAddress *copy = g_new (CuratorAddress, 1);
  *copy = *address;
  g_ptr_array_add (addresses, copy);
}
