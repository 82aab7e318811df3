/* Lists of servers, and their addresses as a look-up finds them. */
#pragma once

#include "base/address.h"
#include "base/connect_string.h"
#include "base/server_list.h"

static inline GPtrArray *
servers_of (const char *connect_string)
{
  g_autoptr (CuratorConnectString) parsed = curator_connect_string_parse (connect_string, NULL);

  g_assert_nonnull (parsed);
  return curator_servers_new (parsed->hosts);
}

/* words: "127.0.0.1 ::1"; why: there is none, or NULL. */
static inline void
resolve (GPtrArray *servers, guint i, const char *words, const char *why)
{
  g_auto (GStrv) each = g_strsplit (words, " ", -1);
  g_autoptr (GPtrArray) addresses = g_ptr_array_new_with_free_func (g_free);

  for (char **word = each; *word != NULL; word++) {
    CuratorAddress address;
    if (curator_address_of_host (*word, 0, &address))
      curator_address_add_once (addresses, &address);
  }
  curator_server_resolved (servers->pdata[i], addresses, why);
}
