/* The order of the servers; see endpoints.h. Threads: one; no lock. */
#include "channel/endpoints.h"

#include "base/connect_string.h"

#define FIRST_PAUSE_US 50000
#define LAST_PAUSE_US  G_USEC_PER_SEC
#define LOOK_UP_US     G_USEC_PER_SEC
/* All servers together get 0.6 of the session timeout, one server at most 0.2 of it. */
#define ALL_SHARE      0.6
#define MIN_PARTS      3
#define MIN_TIMEOUT_MS 100

struct _CuratorEndpoints
{
  GPtrArray *hosts; /* CuratorHostPort */
  guint at;
  guint n_tried;        /* hosts of this round */
  GPtrArray *addresses; /* CuratorAddress of the host, or NULL */
  guint at_address;
  GHashTable *former; /* CuratorHostPort to the addresses that it had last */
};

static void
host_free (gpointer data)
{
  CuratorHostPort *host = data;
  g_free (host->host);
  g_free (host);
}

static void
shuffle (GPtrArray *array)
{
  for (guint i = array->len; i > 1; i--)
    {
      const guint j = (guint) g_random_int_range (0, (gint32) i);
      gpointer last = array->pdata[i - 1];
      array->pdata[i - 1] = array->pdata[j];
      array->pdata[j] = last;
    }
}

CuratorEndpoints *
curator_endpoints_new (GPtrArray *hosts)
{
  CuratorEndpoints *endpoints = g_new0 (CuratorEndpoints, 1);

  endpoints->hosts = g_ptr_array_new_with_free_func (host_free);
  for (guint i = 0; i < hosts->len; i++)
    {
      const CuratorHostPort *host = hosts->pdata[i];
      CuratorHostPort *copy = g_new0 (CuratorHostPort, 1);
      copy->host = g_strdup (host->host);
      copy->port = host->port;
      g_ptr_array_add (endpoints->hosts, copy);
    }
  shuffle (endpoints->hosts);
  endpoints->former = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  return endpoints;
}

void
curator_endpoints_free (CuratorEndpoints *endpoints)
{
  g_ptr_array_unref (endpoints->hosts);
  g_clear_pointer (&endpoints->addresses, g_ptr_array_unref);
  g_hash_table_unref (endpoints->former);
  g_free (endpoints);
}

static const CuratorHostPort *
current (CuratorEndpoints *endpoints)
{
  return endpoints->hosts->pdata[endpoints->at];
}

const char *
curator_endpoints_host (CuratorEndpoints *endpoints)
{
  return current (endpoints)->host;
}

guint16
curator_endpoints_port (CuratorEndpoints *endpoints)
{
  return current (endpoints)->port;
}

const CuratorAddress *
curator_endpoints_address (CuratorEndpoints *endpoints)
{
  return endpoints->addresses != NULL ? endpoints->addresses->pdata[endpoints->at_address] : NULL;
}

void
curator_endpoints_set_addresses (CuratorEndpoints *endpoints, GPtrArray *addresses)
{
  g_clear_pointer (&endpoints->addresses, g_ptr_array_unref);
  shuffle (addresses);
  endpoints->addresses = addresses;
  endpoints->at_address = 0;
  g_hash_table_insert (endpoints->former, endpoints->hosts->pdata[endpoints->at],
                       g_ptr_array_ref (addresses));
}

gboolean
curator_endpoints_recall_addresses (CuratorEndpoints *endpoints)
{
  GPtrArray *former =
      g_hash_table_lookup (endpoints->former, endpoints->hosts->pdata[endpoints->at]);

  if (former != NULL)
    {
      curator_endpoints_set_addresses (endpoints, g_ptr_array_ref (former));
    }
  return former != NULL;
}

gboolean
curator_endpoints_advance (CuratorEndpoints *endpoints)
{
  if (endpoints->addresses != NULL && endpoints->at_address + 1 < endpoints->addresses->len)
    {
      endpoints->at_address++;
      return FALSE;
    }
  g_clear_pointer (&endpoints->addresses, g_ptr_array_unref);
  endpoints->at = (endpoints->at + 1) % endpoints->hosts->len;
  return ++endpoints->n_tried >= endpoints->hosts->len;
}

void
curator_endpoints_start_round (CuratorEndpoints *endpoints)
{
  endpoints->n_tried = 0;
}

gint64
curator_endpoints_patience_us (CuratorEndpoints *endpoints, gint32 timeout_ms)
{
  const guint n_addresses = endpoints->addresses != NULL ? endpoints->addresses->len : 1;
  const guint parts = endpoints->hosts->len + n_addresses - 1;
  return (gint64) (ALL_SHARE * 1000 * MAX (timeout_ms, MIN_TIMEOUT_MS) / MAX (parts, MIN_PARTS));
}

gint64
curator_endpoints_look_up_us (CuratorEndpoints *endpoints, gint32 timeout_ms)
{
  const gint64 patience_us = curator_endpoints_patience_us (endpoints, timeout_ms);
  return g_hash_table_size (endpoints->former) > 0 ? MIN (patience_us, LOOK_UP_US) : patience_us;
}

gint64
curator_endpoints_pause_us (guint n_rounds, gint32 timeout_ms)
{
  const gint64 pause_us = MIN ((gint64) FIRST_PAUSE_US << MIN (n_rounds, 10), LAST_PAUSE_US);
  return MIN (pause_us, (gint64) MAX (timeout_ms, MIN_TIMEOUT_MS) * 1000 / 20);
}
