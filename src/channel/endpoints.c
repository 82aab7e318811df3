/* The order of the servers; see endpoints.h. Threads: one; no lock. */
#include "channel/endpoints.h"

#define FIRST_PAUSE_US 50000
#define LAST_PAUSE_US  G_USEC_PER_SEC
/* All servers together get 0.6 of the session timeout, one server at most 0.2 of it. */
#define ALL_SHARE      0.6
#define MIN_PARTS      3
#define MIN_TIMEOUT_MS 100

struct _CuratorEndpoints
{
  GPtrArray *servers; /* CuratorServer */
  guint at;
  guint n_tried;        /* servers of this round */
  GPtrArray *addresses; /* CuratorAddress of the server whose turn it is */
  guint at_address;
};

static void
shuffle (GPtrArray *array)
{
  for (guint i = array->len; i > 1; i--) {
    const guint j = (guint) g_random_int_range (0, (gint32) i);
    gpointer last = array->pdata[i - 1];
    array->pdata[i - 1] = array->pdata[j];
    array->pdata[j] = last;
  }
}

const CuratorServer *
curator_endpoints_server (CuratorEndpoints *endpoints)
{
  return endpoints->servers->pdata[endpoints->at];
}

/* The turn of a server begins. */
static void
take_addresses (CuratorEndpoints *endpoints)
{
  const CuratorServer *server = curator_endpoints_server (endpoints);

  g_ptr_array_set_size (endpoints->addresses, 0);
  endpoints->at_address = 0;
  for (guint i = 0; i < server->addresses->len; i++)
    curator_address_add_once (endpoints->addresses, server->addresses->pdata[i]);
  shuffle (endpoints->addresses);
}

static void
set_servers (CuratorEndpoints *endpoints, GPtrArray *servers)
{
  g_clear_pointer (&endpoints->servers, g_ptr_array_unref);
  endpoints->servers = curator_servers_copy (servers, FALSE);
  shuffle (endpoints->servers);
  endpoints->at = endpoints->n_tried = 0;
  take_addresses (endpoints);
}

CuratorEndpoints *
curator_endpoints_new (GPtrArray *servers)
{
  CuratorEndpoints *endpoints = g_new0 (CuratorEndpoints, 1);

  endpoints->addresses = g_ptr_array_new_with_free_func (g_free);
  set_servers (endpoints, servers);
  return endpoints;
}

void
curator_endpoints_free (CuratorEndpoints *endpoints)
{
  g_ptr_array_unref (endpoints->servers);
  g_ptr_array_unref (endpoints->addresses);
  g_free (endpoints);
}

gboolean
curator_endpoints_update (CuratorEndpoints *endpoints, GPtrArray *servers)
{
  const CuratorAddress *address = curator_endpoints_address (endpoints);
  const CuratorAddress before = address != NULL ? *address : (CuratorAddress){ 0 };
  g_autofree char *host = g_strdup (curator_endpoints_server (endpoints)->host);
  const guint n_tried = endpoints->n_tried;

  set_servers (endpoints, servers);
  for (; endpoints->at < endpoints->servers->len; endpoints->at++) {
    take_addresses (endpoints);
    if (g_str_equal (curator_endpoints_server (endpoints)->host, host)
        && g_ptr_array_find_with_equal_func (endpoints->addresses, &before, curator_address_equal,
                                             &endpoints->at_address)) {
      endpoints->n_tried = n_tried;
      return TRUE;
    }
  }
  endpoints->at = 0;
  take_addresses (endpoints);
  return FALSE;
}

const CuratorAddress *
curator_endpoints_address (CuratorEndpoints *endpoints)
{
  return endpoints->at_address < endpoints->addresses->len
             ? endpoints->addresses->pdata[endpoints->at_address]
             : NULL;
}

const char *
curator_endpoints_why (CuratorEndpoints *endpoints)
{
  const CuratorServer *server = curator_endpoints_server (endpoints);
  return server->why != NULL ? server->why : "no name server has answered yet";
}

gboolean
curator_endpoints_advance (CuratorEndpoints *endpoints)
{
  if (endpoints->at_address + 1 < endpoints->addresses->len) {
    endpoints->at_address++;
    return FALSE;
  }
  endpoints->at = (endpoints->at + 1) % endpoints->servers->len;
  take_addresses (endpoints);
  return ++endpoints->n_tried >= endpoints->servers->len;
}

void
curator_endpoints_start_round (CuratorEndpoints *endpoints)
{
  endpoints->n_tried = 0;
}

gint64
curator_endpoints_patience_us (CuratorEndpoints *endpoints, gint32 timeout_ms)
{
  const guint parts = endpoints->servers->len + MAX (endpoints->addresses->len, 1) - 1;
  return (gint64) (ALL_SHARE * 1000 * MAX (timeout_ms, MIN_TIMEOUT_MS) / MAX (parts, MIN_PARTS));
}

guint
curator_endpoints_n_addresses (CuratorEndpoints *endpoints)
{
  return curator_servers_n_addresses (endpoints->servers);
}

gint64
curator_endpoints_pause_us (guint n_rounds, gint32 timeout_ms)
{
  const gint64 pause_us = MIN ((gint64) FIRST_PAUSE_US << MIN (n_rounds, 10), LAST_PAUSE_US);
  return MIN (pause_us, (gint64) MAX (timeout_ms, MIN_TIMEOUT_MS) * 1000 / 20);
}
