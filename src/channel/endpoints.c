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
  guint n_tried; /* servers of this round */
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
go_to (CuratorEndpoints *endpoints, guint at)
{
  endpoints->at = at;
  endpoints->at_address = 0;
  shuffle (curator_endpoints_server (endpoints)->addresses);
}

static void
set_servers (CuratorEndpoints *endpoints, GPtrArray *servers)
{
  g_clear_pointer (&endpoints->servers, g_ptr_array_unref);
  endpoints->servers = curator_servers_copy (servers, FALSE);
  shuffle (endpoints->servers);
  endpoints->n_tried = 0;
  go_to (endpoints, 0);
}

CuratorEndpoints *
curator_endpoints_new (GPtrArray *servers)
{
  CuratorEndpoints *endpoints = g_new0 (CuratorEndpoints, 1);

  set_servers (endpoints, servers);
  return endpoints;
}

void
curator_endpoints_free (CuratorEndpoints *endpoints)
{
  g_ptr_array_unref (endpoints->servers);
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
  for (guint i = 0; i < endpoints->servers->len; i++) {
    go_to (endpoints, i);
    const CuratorServer *server = curator_endpoints_server (endpoints);
    if (g_str_equal (server->host, host)
        && g_ptr_array_find_with_equal_func (server->addresses, &before, curator_address_equal,
                                             &endpoints->at_address)) {
      endpoints->n_tried = n_tried;
      return TRUE;
    }
  }
  go_to (endpoints, 0);
  return FALSE;
}

const CuratorAddress *
curator_endpoints_address (CuratorEndpoints *endpoints)
{
  GPtrArray *addresses = curator_endpoints_server (endpoints)->addresses;
  return endpoints->at_address < addresses->len ? addresses->pdata[endpoints->at_address] : NULL;
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
  if (endpoints->at_address + 1 < curator_endpoints_server (endpoints)->addresses->len) {
    endpoints->at_address++;
    return FALSE;
  }
  go_to (endpoints, (endpoints->at + 1) % endpoints->servers->len);
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
  const guint n_addresses = curator_endpoints_server (endpoints)->addresses->len;
  const guint parts = endpoints->servers->len + MAX (n_addresses, 1) - 1;
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
