/* A host with IPv6 only: 127.0.0.1 is there, and no other address of IPv4. */
#pragma once

#include <glib.h>

/* This thread, and those that it starts, enter a network of their own, with loopback addresses
 * alone. FALSE: the system does not allow it. */
gboolean ipv6_only_enter (void);
/* Gives that network an address of IPv6. */
void ipv6_only_begin (void);
