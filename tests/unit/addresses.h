/* Addresses for lists of servers, as a look-up finds them. */
#pragma once

#include "base/address.h"

/* words: "127.0.0.1 ::1" */
static inline GPtrArray *
addresses_of (const char *words)
{
  g_auto (GStrv) each = g_strsplit (words, " ", -1);
  GPtrArray *addresses = g_ptr_array_new_with_free_func (g_free);

  for (char **word = each; *word != NULL; word++)
    {
      CuratorAddress address;
      if (curator_address_of_host (*word, 0, &address))
        curator_address_add_once (addresses, &address);
    }
  return addresses;
}
